#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Several nodes write back and flush together, join and leave, and show each other their data.

load helper
load nodes

@test "nodes: interleaved slices of 8-byte blocks, one fsync: stored once, in merged runs" {
    spec 8
    start_nodes 2
    python interleaved_slices_of_8_byte_blocks
    [ "$(stat_sum .cluster.stored_bytes)" -eq 1600000 ]
    [ "$(stat_sum .cluster.dirty_bytes)" -eq 1600000 ]
    [ "$(stat_sum .cluster.store_calls)" -le "$(stat_sum .cluster.merged_runs)" ]
    [ "$(stat_sum .cluster.merged_runs)" -le 2 ]
    [ "$(stat_sum .store_writes)" -eq 0 ]
    [ "$(attribute m0 epoch)" -eq 1 ]
    [ "$(attribute m1 nodes)" -eq 2 ]
    [ "$(attribute m1 state)" = ok ]
    [ "$(attribute m1 atomicity)" -eq 0 ]
    stop_nodes
}

@test "nodes: what was closed or synced on one is seen by an open or sync on another" {
    spec 512
    head -c 8192 /dev/zero >f.dat
    on_nodes 3 what_was_closed_or_synced -o flush_interval=0
}

@test "nodes: pages are kept across opens, but not across a flush, whatever the file's times are" {
    spec 512
    head -c 8192 /dev/zero >f.dat
    sleep 0.1 # until the file's times count as settled
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libstale.so" "STALE_FILE=$tmp/f.dat"
    on_nodes 2 pages_are_kept_across_opens -o flush_interval=0
}

@test "nodes: a node reads its own writes immediately, through any slice and view" {
    all_and_dealt f.dat 16 >s.json
    head -c 4096 /dev/zero >f.dat
    on_nodes 2 a_node_reads_at_once -o flush_interval=0
}

@test "nodes: data that no program syncs is stored after flush_interval" {
    spec 8
    start_nodes 2 -o flush_interval=1
    python what_nobody_syncs_is_stored_after
    [ "$(stat_sum .cluster.left_blocks)" -eq 0 ]
    stop_nodes
}

@test "nodes: writers of more than dirty_max wait, and other requests are answered meanwhile" {
    spec 4096
    start_nodes 2 -o dirty_max=4M,flush_interval=0,threads=2
    python writers_of_more_than_dirty_max_wait
    [ "$(stat_sum .cluster.stored_bytes)" -eq $((64 << 20)) ]
    [ "$(stat_of dirty_memory m0)" -eq 0 ]
    stop_nodes
}

@test "nodes: without room, a node postpones blocks that another node may complete, unless a program waits" {
    spec 8 2
    on_nodes 2 what_a_node_has_no_room -o dirty_max=8M,flush_interval=0
}

@test "nodes: a full disk is reported to writers of unsaved data; with room all is stored" {
    local how
    ram_disk 8m
    for how in auto posix mpiio; do
        rm -f disk/*
        file=disk/f.dat spec 1048576
        start_nodes 2 -o "flush_interval=0,store=$how,npy"
        head -c 5M /dev/zero >disk/filler
        python a_full_disk_is_told
        stop_nodes
    done
    run ! grep -q "not all is stored" log
}

@test "nodes: local shows each node its block of ranks" {
    spec 8 7
    head -c 56 /dev/zero >f.dat
    start_nodes 3 -o local
    [ "$(ls m0)" = $'rank0\nrank1' ]
    [ "$(ls m1)" = $'rank2\nrank3' ]
    [ "$(ls m2)" = $'rank4\nrank5\nrank6' ]
    printf 12345678 >m2/rank6
    [ "$(tail -c 8 f.dat)" = 12345678 ]
    run ! cat m0/rank2
    [ "$(PMI_RANK=3 readlink m1/self)" = rank3 ]
    run ! env PMI_RANK=4 readlink m1/self
    stop_nodes
    start_nodes 3 -o local,npy
    [ "$(PMI_RANK=3 ls m1)" = $'rank2\nrank2.npy\nrank3\nrank3.npy\nself\nself.npy' ]
    [ "$(PMI_RANK=3 readlink m1/self.npy)" = rank3.npy ]
    run ! env PMI_RANK=4 readlink m1/self.npy
    [ ! -e m0/rank2.npy ]
    [ ! -e m2/rank3.npy ]
    [ "$(tail -c 8 m2/rank6.npy)" = 12345678 ]
    stop_nodes
}

@test "nodes: behind NumPy headers: with write-back, and in atomic mode" {
    spec 8 4
    head -c 3200 /dev/zero >f.dat
    on_nodes 2 behind_numpy_headers -o npy
}

@test "nodes: hints are passed to MPI-IO and reported; times that are set stay, though data was written before" {
    spec 8 4 '"hints": {"cb_nodes": "1", "cb_buffer_size": "65536"},'
    start_nodes 2
    [ "$(jq -r .cluster.hints.cb_nodes m1/.mpiio/stats.json)" = 1 ]
    [ "$(jq -r .cluster.hints.cb_buffer_size m0/.mpiio/stats.json)" = 65536 ]
    [ "$(stat_of 'cluster.peers[0].last_heard_ms' m0)" -lt 5000 ]
    printf 'some data that is copied' >source
    touch -d '2001-02-03 04:05:06' source
    cp -p --no-preserve=mode,ownership source m0/rank1
    [ "$(stat -c %Y m1/rank1)" -eq "$(stat -c %Y source)" ]
    [ "$(stat -c %Y f.dat)" -eq "$(stat -c %Y source)" ]
    cmp source <(head -c 24 m1/rank1)
    stop_nodes
}

@test "nodes: all kinds of store, write-through, and read-only" {
    local options
    for options in store=posix store=mpiio cache=through; do
        rm -f f.dat
        spec 8
        on_nodes 2 all_kinds_of_store -o "$options"
    done
    start_nodes 2 -o ro
    cmp <(head -c 8 f.dat) <(head -c 8 m1/rank0)
    run ! sh -c 'printf x >m1/rank0'
    stop_nodes
}

@test "nodes: one that cannot mount is reported with its host, and nothing is left" {
    spec 8
    mkdir m0
    : >m1
    run ! start_nodes 2
    [ "$(cat err)" = "nodes: $(hostname): $tmp/m1: Not a directory" ]
    run ! mountpoint -q m0
    stop_nodes
    rm m1
    echo '{}' >s.json
    run ! start_nodes 2
    [ "$(wc -l <err)" -eq 1 ]
    stop_nodes
}

# allowed MOUNT: prints the descriptor limits of the mount's daemon.
allowed() {
    awk '/^Max open files/ { print $4 ":" $5 }' "/proc/$(daemon_pid "$1")/limits"
}

@test "nodes: node 0 has descriptors for all nodes, or none is mounted" {
    spec 8
    run_daemons prlimit --nofile=129:1000
    start_nodes 3 -o pool=off
    [ "$(allowed m0)" = 130:1000 ]
    [ "$(allowed m1)" = 129:1000 ]
    stop_nodes
    # Eight more for each other node of the pool, on all nodes.
    start_nodes 3
    [ "$(allowed m0)" = 146:1000 ]
    [ "$(allowed m1)" = 145:1000 ]
    stop_nodes
    run_daemons prlimit --nofile=131:1000
    start_nodes 3 -o pool=off
    [ "$(allowed m0)" = 131:1000 ]
    stop_nodes
    run_daemons prlimit --nofile=100:129
    run ! start_nodes 3
    [ "$(cat err)" = "nodes: $(hostname): node 0: its daemon needs 130 open files for 3 nodes, and may have 129 (raise the limit with ulimit -Hn)" ]
    run ! mountpoint -q m0
    run ! mountpoint -q m1
    stop_nodes
    start_nodes 2
    stop_nodes
}

@test "nodes: one is unmounted alone, with its data, and the others continue" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python one_is_unmounted_alone
    as_root umount m1
    python the_others_go_on
    [ "$(attribute m2 state)" = ok ]
    await grep -qs 'node 1 .* is unmounted' log
    kill -TERM "$(daemon_pid m2)"
    await run ! is_mounted m2
    printf 01234567 >m0/rank2
    [ "$(tail -c +17 f.dat | head -c 8)" = 01234567 ]
    stop_nodes
}

@test "nodes: signals do not make a node that is unmounted lose its data or leave the others" {
    local pid signal
    ram_disk 8m
    file=disk/f.dat spec 1048576
    start_nodes 2 -o flush_interval=0
    pid=$(daemon_pid m1)
    head -c 8M /dev/zero >disk/filler || true
    run ! sh -c 'head -c 1M /dev/urandom | tee copy >m1/rank1'
    kill -TERM "$pid"
    logged log "is unmounted"
    run ! mountpoint -q m1
    for signal in TERM INT HUP; do
        : >log
        kill "-$signal" "$pid"
        logged log "[$pid]: $tmp/m1: unmounted, and waiting for the other nodes to be: SIGKILL would lose what is not stored, 1048576 bytes held here"
    done
    [ "$(attribute m0 state)" = ok ]
    rm disk/filler
    stop_nodes
    cmp copy <(tail -c +1048577 disk/f.dat)
    run ! grep "are lost" log
}

# holds BYTES MOUNTPOINT: succeeds if that many bytes are written there and not stored.
holds() {
    [ "$(stat_of dirty_bytes "$2")" -eq "$1" ]
}

# signalled PID TEXT: sends SIGTERM again. Succeeds if the text is in the log.
signalled() {
    kill -TERM "$1"
    grep -qF -- "$2" log
}

@test "nodes: after a second signal, the log says what a daemon still waits for before it exits" {
    local ends other writer
    spec 8
    start_nodes 2 -o flush_interval=0,peer_timeout=100
    ends=$(daemon_pid m0) other=$(daemon_pid m1)
    sh -c 'printf 01234567; exec sleep 100' >m0/rank0 3>&- &
    writer=$!
    await holds 8 m0
    # Storing needs all nodes.
    stop_process "$other"
    await signalled "$ends" "still storing what was written: SIGKILL would lose what is not stored, 8 bytes held here"
    is_mounted m0
    kill -CONT "$other"
    kill "$writer"
    logged log "is unmounted"
    stop_nodes
    [ "$(cat f.dat)" = 01234567 ]
}

@test "nodes: all are unmounted from one of them, unless data is unsaved or a mount is in use" {
    ram_disk 8m
    file=disk/f.dat spec 1048576
    start_nodes 3 -o flush_interval=0
    head -c 8M /dev/zero >disk/filler || true
    exec 5<>m1/rank1
    run ! sh -c 'head -c 1M /dev/zero >&5'
    [ "$output" = "head: write error: No space left on device" ]
    run ! getfattr -n user.mpiio.unmount m0
    [[ $(attribute m0 unsaved) == *"$(hostname): $tmp/m1: not all is stored: No space left on device"* ]]
    is_mounted m0
    is_mounted m1
    rm disk/filler
    run ! getfattr -n user.mpiio.unmount m0
    [[ $(attribute m0 unsaved) == *"$tmp/m1: Device or resource busy"* ]]
    exec 5>&-
    getfattr -n user.mpiio.unmount m0
    run ! is_mounted m1
    run ! is_mounted m2
    is_mounted m0
    stop_nodes
    [ "$(stat -c %s disk/f.dat)" -eq 2097152 ]
}

@test "nodes: if an engine dies, each node continues alone with all its data; the manual names each number of stats.json" {
    spec 8
    start_nodes 3 -o flush_interval=0
    mapfile -t processes < <(marked mpiio-engine-mpich)
    [ ${#processes[@]} -eq 3 ]
    python an_engine_that_dies_leaves_each "${processes[1]}"
    await grep -qs "degraded: node .* (.*): " log
    [ "$(jq '.cluster.dead.node >= 0' m0/.mpiio/stats.json)" = true ]
    # The manual names each number.
    jq -r 'del(.requests[], .cluster.hints[]) | [paths[-1] | strings] | unique[]' \
        m0/.mpiio/stats.json >keys
    cat keys
    [ "$(grep -cx 'why\|lost_bytes\|last_heard_ms' keys)" -eq 3 ]
    sed 's/.*/_&_/' keys | while read -r key; do
        grep -qF -- "$key" "$top/man/mpiio-fused.8.scd" || echo "$key: not in the manual"
    done >bad
    empty bad
    stop_nodes
}

@test "nodes: cache=back on one: stored by close, fsync, and with age" {
    spec 8
    mount_spec s.json -o cache=back,flush_interval=1
    python cache_back_on_one
    printf ABCDEFGH >"$mnt/rank1"
    [ "$(head -c 16 f.dat)" = 01234567ABCDEFGH ]
    mpiio-umount "$mnt"
}

@test "nodes: converted slices: write-back, partial values, and atomic mode" {
    mpiio-view spec --view 'scatter on 2 of long_double as external32' -f f.dat >s.json
    : >f.dat
    on_nodes 2 converted
}

@test "nodes: in a tree, or a chain, write, change and unmount like others" {
    local width
    for width in 1 2; do
        rm -f f.dat
        spec 8 5
        start_nodes 5 -o "fanout=$width"
        # A node is connected with the one above and those below. In the end it knows all below it.
        [ "$(jq -c '[.cluster.peers[].node]' m0/.mpiio/stats.json)" = "$([ $width = 1 ] && echo '[1]' || echo '[1,2]')" ]
        [ "$(jq -c '[.cluster.peers[].node]' m1/.mpiio/stats.json)" = "$([ $width = 1 ] && echo '[0,2]' || echo '[0,3,4]')" ]
        python nodes_in_a_tree
        as_root umount m3
        await has_left 3 m$((width == 1 ? 2 : 1)) # the node above it
        mpiio-umount m4
        nothing_left
        run ! grep " $tmp/m" /proc/self/mountinfo
    done
}
