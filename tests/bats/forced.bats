#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Unmounting by force ends, whatever the filesystem and the other nodes do. Without force, a slow
# filesystem is waited for.

load helper
load nodes

# Starts three nodes. While a file hang exists, syncs do not return.
start_hanging() {
    spec 8 3
    export LD_PRELOAD=$MPIIO_BUILD/tests/engine/libfreeze.so HANG_FILE=$tmp/hang
    start_nodes 3 -o flush_interval=0,peer_timeout=3
    unset LD_PRELOAD
}

# Writes words on each node and syncs them; the syncs hang.
hang() {
    local node
    touch hang
    syncing=()
    for node in 0 1 2; do
        printf 'node%d...' $node | dd of=m$node/rank$node conv=notrunc,fsync status=none 3>&- &
        syncing+=($!)
    done
    await test -e hang.at
    for node in 0 1 2; do
        await in_sync "${syncing[node]}"
    done
}

# in_sync PID: succeeds once the process has written, and is in fsync.
in_sync() {
    as_root grep -qs fsync "/proc/$1/stack"
}

# Checks that each sync returns successfully.
all_synced() {
    local process
    for process in "${syncing[@]}"; do
        wait "$process" || return
    done
}

# force NODE: unmounts by force, and prints the mount's answer. It must come within about 20 s, plus
# a margin for slow machines.
force() {
    timeout -s KILL 300 getfattr --absolute-names --only-values -n user.mpiio.unmount_force "$tmp/m$1"
}

all_stored() {
    [ "$(head -c 24 f.dat)" = "node0...node1...node2..." ]
}

@test "forced: a filesystem that takes much longer than peer_timeout is waited for" {
    start_hanging
    hang
    sleep 12
    for process in "${syncing[@]}"; do
        kill -0 "$process"
    done
    for node in 0 1 2; do
        [ "$(getfattr --absolute-names --only-values -n user.mpiio.state "$tmp/m$node")" = ok ]
    done
    rm hang
    all_synced
    all_stored
    run ! grep degraded log
    stop_nodes
}

@test "forced: a node whose flush hangs in another node's filesystem stores its data alone" {
    start_hanging
    hang
    run force 1
    grep "is unmounted by force" log
    all_synced
    all_stored
    rm hang
    stop_nodes
}

@test "forced: a node whose own filesystem does not respond answers, and stores when it does again" {
    export HANG_ALL=yes
    start_hanging
    hang
    run force 0
    [ "$status" -ne 137 ]
    run force 1
    [ "$status" -ne 137 ]
    rm hang
    all_synced
    await all_stored
    stop_nodes
}

@test "forced: is not delayed by an attempt without force" {
    export HANG_ALL=yes
    start_hanging
    hang
    getfattr --absolute-names --only-values -n user.mpiio.unmount "$tmp/m0" 3>&- &
    waiting=$!
    await as_root grep -qs request_wait_answer "/proc/$waiting/stack"
    run force 0
    [ "$status" -ne 137 ]
    rm hang
    wait "$waiting" || true
    all_synced
    await all_stored
    stop_nodes
}
