#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Flushes of several nodes: reads and syncs while others still flush, without memory, and converted
# values that several nodes write in parts.

load helper
load nodes

# start_held CALL: starts three nodes over a file whose times do not show changes. A node waits in its
# next CALL on the file, hold (a write) or sync, while the test lets it (tests/engine/freeze.c).
start_held() {
    local libraries=$MPIIO_BUILD/tests/engine
    spec 1048576 1
    head -c 12M /dev/zero >f.dat
    sleep 0.1 # until the file's times count as settled
    run_daemons env "LD_PRELOAD=$libraries/libstale.so:$libraries/libreset.so" "STALE_FILE=$tmp/f.dat" "DEAF=$tmp/deaf"
    rm -rf freeze
    mkdir freeze
    FREEZE=$tmp/freeze LD_PRELOAD=$libraries/libfreeze.so start_nodes 3 -o flush_interval=0
    echo "$1" >"freeze/$(hostname)"
}

@test "flush: an open during a flush, and another after the close, see the bytes that a home stored late" {
    # The home of the written blocks, node 1, waits in its store.
    start_held hold
    python who_opens_during_a_flush "freeze/$(hostname)"
    stop_nodes
}

@test "flush: it finishes on no node before the home stores; later opens and syncs see the new bytes" {
    local how
    for how in close fsync; do
        # The home waits in its write, or in its sync if the writer syncs.
        start_held "$([ $how = fsync ] && echo sync || echo hold)"
        python no_flush_is_over_before_the_home_has_stored "freeze/$(hostname)" "$how"
        stop_nodes
    done
}

@test "flush: an epoch allocates no memory in the daemons, and succeeds if they get none" {
    spec 8
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libnomem.so" "NOMEM_FILE=$tmp/nomem"
    start_nodes 2 -o flush_interval=0
    python an_epoch_needs_none
    stop_nodes
}

# values ETYPE: makes s.json. f.dat contains ETYPEs in external32, all of them in the slice of rank
# 0.
values() {
    mpiio-view spec --view "scatter of $1 as external32" -f f.dat >s.json
    : >f.dat
}

@test "flush: two nodes write bytes of the same longs at once: all bytes are in the file" {
    values long
    on_nodes 2 two_nodes_write_the_bytes -o flush_interval=0
}

@test "flush: two nodes write bytes of the same long doubles at once: all bytes are in the file" {
    values long_double
    on_nodes 2 two_nodes_write_long_doubles -o flush_interval=0
}

@test "flush: whole values are written back, together with parts of dirty ones" {
    values long
    start_nodes 2 -o flush_interval=0
    python whole_values_are_written_back
    [ "$(stat_sum .cluster.stored_bytes)" -eq 4000 ]
    stop_nodes
}

# A mapping keeps the file open after its close. Unmapping it does not flush like a close.
@test "flush: a value whose rest is missing until the last close overwrites nothing newer" {
    values long
    on_nodes 2 a_value_that_waits -o flush_interval=0
}

@test "flush: a value that another node completes is stored and synced by the next fsync" {
    values long
    on_nodes 2 one_that_another_node_completes -o flush_interval=0
}

# Each node has its own bytes of every value, and its own whole values. Both flush at random.
@test "flush: random parts and wholes from two nodes, with flushes between, against a model" {
    values long
    on_nodes 2 parts_and_wholes_at_random -o flush_interval=0,dirty_max=1M
}
