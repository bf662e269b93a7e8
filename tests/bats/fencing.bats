#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Two hosts. One is frozen in the middle of a flush, is declared failed, and comes back. Data that
# the other host has stored and synced meanwhile must stay.

load helper
load cluster

# freeze_in_flush HOW OPTIONS: mounts on node0 and node1. node1 freezes in the first flush: its
# engine in a store, as HOW says, and all other processes. node0's rank 0 has four blocks in the
# flush. node1 is home of two of them. $writer writes the contents of old.
freeze_in_flush() {
    mkdir freeze
    make_hosts 2
    dealt x.dat 2 $((1 << 20)) >x.json
    : >x.dat
    make_file old $((4 << 20))
    tr '\0-\377' '\1-\377\0' <old >new
    executable engine <<END
exec env FREEZE="$tmp/freeze" LD_PRELOAD="$MPIIO_BUILD/tests/engine/libfreeze.so" \
    "$MPIIO_SBIN/mpiio-engine-mpich" "\$@"
END
    MPIIO_ENGINE=$tmp/engine mount_hosts x.json -o "$2,flush_interval=0,log=$tmp/log"
    engine=$(of_host node1 mpiio-engine-mpich)
    mapfile -t others < <(of_host node1 | grep -vxF "$engine")
    # All at once, because a daemon that sees its engine frozen soon exits.
    echo "$1 ${others[*]}" >freeze/node1.new
    mv freeze/node1.new freeze/node1
    dd if=old of=at/0/rank0 bs=1M conv=nocreat,notrunc,fsync status=none 3>&- &
    writer=$!
    await test -e freeze/node1.frozen
    await are_stopped "${others[@]}"
}

# are_stopped PROCESS...: succeeds if all threads of these processes are stopped.
are_stopped() {
    local process
    for process in "$@"; do
        ! grep -L '^State:[[:space:]]*T' "/proc/$process"/task/*/status | grep -q . || return
    done
}

# Writes data on node0 after its first fsync.
write_new() {
    wait "$writer"
    timeout -s KILL 300 dd if=new of=at/0/rank0 bs=1M conv=nocreat,notrunc,fsync status=none
}

# Succeeds if the engine has continued, or waits, and does not run.
has_gone_on() {
    [ -e freeze/node1.done ] || grep -qs '^State:[[:space:]]*S' "/proc/$engine/status"
}

# Continues all processes. They exit, and the file has the last writes.
wake_and_check() {
    kill -CONT "${others[@]}"
    gone "$engine"
    /usr/bin/python3 - <<'END'
new = open("new", "rb").read()
got = open("x.dat", "rb").read()
part = 1 << 20
assert b"".join(got[2 * i:2 * i + part] for i in range(0, len(new), part)) == new
END
    mpiio-umount at/0
    umount_hosts 1
}

@test "fencing: an engine that was stopped in a store does not store if it wakes before its daemon" {
    freeze_in_flush stop peer_timeout=3
    await are_stopped "$engine"
    write_new
    kill -CONT "$engine"
    await has_gone_on
    wake_and_check
    # Other nodes had to assume that it was in a store.
    logged log "degraded: waiting for a store of another node's engine to end"
}

@test "fencing: a store that cannot be stopped ends before others store alone" {
    freeze_in_flush hold peer_timeout=5
    await first_of_two
    if has_ended "$writer"; then
        write_new
        touch freeze/node1.go
        await test -e freeze/node1.done
    else
        touch freeze/node1.go
        await test -e freeze/node1.done
        write_new
    fi
    wake_and_check
}

# node0 waits, or has stored.
first_of_two() {
    has_ended "$writer" || grep -qsF "waiting for a store" log
}
