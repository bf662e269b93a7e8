#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Converted values that several nodes write in parts, between two flushes: no part is lost.

load helper
load nodes

# values ETYPE: s.json, f.dat is ETYPEs of external32, all of them in the slice of rank 0.
values() {
    cat >s.json <<END
{ "viewspec": 1, "file": "f.dat", "ranks": 1,
  "view": { "etype": "$1", "filetype": { "type": "scatter" }, "datarep": "external32" } }
END
    : >f.dat
}

@test "parts: two nodes write the bytes of longs at once: all of them are in the file" {
    values long
    start_nodes 2 -o flush_interval=0
    python two_nodes_write_the_bytes
    stop_nodes
}

@test "parts: two nodes write the bytes of long doubles that both have: all are in the file" {
    values long_double
    start_nodes 2 -o flush_interval=0
    python two_nodes_write_long_doubles
    stop_nodes
}

@test "parts: whole values are written back, and a part of one that is dirty with it" {
    values long
    start_nodes 2 -o flush_interval=0
    python whole_values_are_written_back
    [ "$(stat_sum .cluster.stored_bytes)" -eq 4000 ]
    stop_nodes
}

# A mapping keeps the file open after its close, and its end is no close that flushes.
@test "parts: a value that waits for its rest until the last close overwrites nothing newer" {
    values long
    start_nodes 2 -o flush_interval=0
    python a_value_that_waits
    stop_nodes
}

@test "parts: one that another node's completes is stored, and synced, by the next fsync" {
    values long
    start_nodes 2 -o flush_interval=0
    python one_that_another_node_completes
    stop_nodes
}

# Each node has bytes of its own of every value, and values of its own; both flush as they like.
@test "parts: parts and wholes at random from two nodes, with flushes between, as in a model" {
    values long
    start_nodes 2 -o flush_interval=0,dirty_max=1M
    python parts_and_wholes_at_random
    stop_nodes
}
