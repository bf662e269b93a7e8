#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The file in the memory of all nodes (mount option pool).

load helper
load cluster
load pool

@test "pool: bytes that two to four hosts read together are read from storage once, and not again" {
    local nodes
    make_hosts 4
    mkdir f
    make_file f/x.dat $((41 * 1048576 + 4096))
    slow_stores f
    for nodes in 2 3 4; do
        dealt f/x.dat $((2 * nodes)) 8 >x.json
        reads_once x.json f/x.dat $nodes $((2 * nodes))
    done
}

@test "pool: all nodes read what is closed on one host, or written by another program" {
    make_hosts 3
    make_file x.dat $((9 * 1048576 + 8192))
    dealt x.dat 3 8 >x.json
    mount_hosts x.json -o pool=32M
    "$top/tests/pool/close_to_open.py" x.dat "${MPIIO_SEED:-$RANDOM}" "${MPIIO_ROUNDS:-60}" at/*
    [ "$(pool_sum served)" -gt 0 ]
    [ "$(pool_sum hits)" -gt 0 ]
    [ "$(pool_sum received_bytes)" -gt 0 ]
    umount_hosts 1
}

@test "pool: homes die, stop or are cut off while others read: no wrong byte, and no read hangs" {
    local round way host deaths=${MPIIO_DEATHS:-3} size=$((32 * 1048576)) seed=${MPIIO_SEED:-$RANDOM}
    make_hosts 3
    mkdir f
    make_file f/x.dat $size
    dealt f/x.dat 3 8 >x.json
    slow_stores f 40
    for ((round = 0; round < deaths; round++)); do
        way=$(((round + seed) % 3))
        mount_hosts x.json -o ro,direct,pool=64M,peer_timeout=2
        echo "round $round, way $way, seed $seed"
        /usr/bin/python3 "$call" read_everywhere f/x.dat 3 at/0 at/1 &
        sleep "0.$((RANDOM % 6))"
        case $way in
        0) of_host node2 mpiio-fused | xargs kill -KILL ;;
        1) of_host node2 mpiio-fused | xargs kill -STOP ;;
        2) at switch ip link set port2 down ;;
        esac
        timeout 300 tail --pid=$! -f /dev/null
        wait $!
        # Kills the rest of them. The next round has new ones.
        of_host node2 mpiio-fused | xargs -r kill -KILL
        at switch ip link set port2 up
        # A neighbour that was not found is not requested again for a while.
        for host in node0 node1 node2; do at $host ip neighbour flush dev eth0; done
        umount_all "$tmp/at"
        reap
    done
}

@test "pool: long runs of one rank stay on its node, bytes that all ranks see do not" {
    local size=$((40 * 1048576)) received
    make_hosts 2
    mkdir f
    make_file f/x.dat $size
    cat >x.json <<END
{ "viewspec": 1, "file": "f/x.dat", "ranks": 2, "views": {
    "half": { "filetype": { "type": "darray", "gsizes": [$size], "psizes": [2], "distribs": ["block"],
                            "dargs": [null], "order": "C" } },
    "whole": {} } }
END
    slow_stores f
    mount_hosts x.json -o ro,pool=64M
    cmp at/0/half/rank0 <(head -c $((size / 2)) f/x.dat)
    cmp at/1/half/rank1 <(tail -c $((size / 2)) f/x.dat)
    [ "$(pool_sum received_bytes)" -eq 0 ]
    [ "$(pool_sum blocks)" -eq 0 ]
    settle at/*/whole/rank0
    received=$(pool_sum received_bytes)
    cmp at/0/whole/rank0 f/x.dat
    cmp at/1/whole/rank1 f/x.dat
    [ "$(pool_sum received_bytes)" -eq $((received + size)) ]
    [ "$(pool_sum blocks)" -eq 10 ]
    umount_hosts
}

@test "pool: on one node a file on a slow filesystem is read once, in large pieces" {
    local size=$((22 * 1048576 + 96)) rank passed count=$tmp/read/one
    mkdir f read
    make_file f/x.dat $size
    dealt f/x.dat 4 24 >x.json
    "$MPIIO_BUILD/tests/pool/slowfs" f f 0 "$count" >/dev/null 2>&1 3>&- &
    await mountpoint -q f
    mount_spec x.json -o pool=32M
    settle "$mnt/rank0"
    passed=$(stat_of pool.passed) # each by a separate call
    for rank in 0 1 2 3; do
        cmp "$mnt/rank$rank" <(mpiio-view cat x.json -r "$rank")
    done
    [ "$(stat_of pool.storage_bytes)" -eq $size ]
    [ "$(stat_of pool.blocks)" -eq 6 ]
    [ "$(stat_of store_reads)" -eq $((passed + 6)) ]
    [ "$(stat_of pool.passed)" -eq "$passed" ]
    # Writes are seen, also while the file is still changing.
    printf 'something else' | dd of="$mnt/rank1" bs=1 seek=4000000 conv=notrunc status=none
    cmp "$mnt/rank1" <(mpiio-view cat x.json -r 1)
    sleep 0.1
    cmp "$mnt/rank1" <(mpiio-view cat x.json -r 1)
    # Another program's writes are seen, too.
    printf 'and more' | dd of=f/x.dat bs=1 seek=9000000 conv=notrunc status=none
    for rank in 0 1 2 3; do
        cmp "$mnt/rank$rank" <(mpiio-view cat x.json -r "$rank")
    done
    mpiio-umount "$mnt"
    umount f
    nothing_left
}

@test "pool: it is off if requested, in atomic mode, and on one node" {
    make_file x.dat 9000000
    mount_dealt x.dat 2 8
    [ "$(stat_of pool)" = null ]
    mpiio-umount "$mnt"
    mount_spec x.json -o pool=off
    [ "$(stat_of pool)" = null ]
    mpiio-umount "$mnt"
    mount_spec x.json -o pool=16M,atomic
    cat "$mnt/rank1" >/dev/null
    [ "$(stat_of pool.served)" -eq 0 ]
    [ "$(stat_of pool.blocks)" -eq 0 ]
    mpiio-umount "$mnt"
    # The pool serves a view, although the kernel could read it itself.
    echo '{ "viewspec": 1, "file": "x.dat", "view": {} }' >x.json
    mount_spec x.json -o pool=16M
    cmp "$mnt/rank0" x.dat
    [ "$(stat_of passthrough)" = false ]
    [ "$(stat_of pool.blocks)" -eq 3 ]
    mpiio-umount "$mnt"
}
