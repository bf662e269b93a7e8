#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Converted values that several nodes write in parts, between two flushes: no part is lost.

load helper
load nodes

# values ETYPE: makes s.json. f.dat contains ETYPEs in external32, all of them in the slice of rank
# 0.
values() {
    mpiio-view spec --view "scatter of $1 as external32" -f f.dat >s.json
    : >f.dat
}

@test "parts: two nodes write bytes of the same longs at once: all bytes are in the file" {
    values long
    on_nodes 2 two_nodes_write_the_bytes -o flush_interval=0
}

@test "parts: two nodes write bytes of the same long doubles at once: all bytes are in the file" {
    values long_double
    on_nodes 2 two_nodes_write_long_doubles -o flush_interval=0
}

@test "parts: whole values are written back, together with parts of dirty ones" {
    values long
    start_nodes 2 -o flush_interval=0
    python whole_values_are_written_back
    [ "$(stat_sum .cluster.stored_bytes)" -eq 4000 ]
    stop_nodes
}

# A mapping keeps the file open after its close. Unmapping it does not flush like a close.
@test "parts: a value whose rest is missing until the last close overwrites nothing newer" {
    values long
    on_nodes 2 a_value_that_waits -o flush_interval=0
}

@test "parts: a value that another node completes is stored and synced by the next fsync" {
    values long
    on_nodes 2 one_that_another_node_completes -o flush_interval=0
}

# Each node has its own bytes of every value, and its own whole values. Both flush at random.
@test "parts: random parts and wholes from two nodes, with flushes between, against a model" {
    values long
    on_nodes 2 parts_and_wholes_at_random -o flush_interval=0,dirty_max=1M
}
