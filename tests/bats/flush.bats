#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Reads and syncs on nodes while other nodes still flush.

load helper
load nodes

@test "flush: an open during a flush, and another after the close, see the bytes that a home stored late" {
    spec 1048576 1
    head -c 8M /dev/zero >f.dat
    sleep 0.1 # until the file's times count as settled
    # The times do not show the change. The home of the written blocks, node 1, waits in its store.
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libstale.so" "STALE_FILE=$tmp/f.dat"
    mkdir freeze
    FREEZE=$tmp/freeze LD_PRELOAD=$MPIIO_BUILD/tests/engine/libfreeze.so start_nodes 3 -o flush_interval=0
    echo hold >"freeze/$(hostname)"
    python who_opens_during_a_flush "freeze/$(hostname)"
    stop_nodes
}

@test "flush: it finishes on no node before the home stores; later opens and syncs see the new bytes" {
    local how gate
    gate=freeze/$(hostname)
    for how in close fsync; do
        spec 1048576 1
        head -c 12M /dev/zero >f.dat
        sleep 0.1 # until the file's times count as settled
        run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libstale.so:$MPIIO_BUILD/tests/engine/libdeaf.so" \
            "STALE_FILE=$tmp/f.dat" "DEAF=$tmp/deaf"
        rm -rf freeze
        mkdir freeze
        FREEZE=$tmp/freeze LD_PRELOAD=$MPIIO_BUILD/tests/engine/libfreeze.so start_nodes 3 -o flush_interval=0
        # The home waits in its write, or in its sync if the writer syncs.
        if [ "$how" = fsync ]; then echo sync; else echo hold; fi >"$gate"
        python no_flush_is_over_before_the_home_has_stored "$gate" "$how"
        stop_nodes
    done
}
