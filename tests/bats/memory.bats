#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Nodes that find no memory in an epoch: they take part all the same.

load helper
load nodes

@test "memory: an epoch needs none of the daemons, and ends well where they are given none" {
    spec 8
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libnomem.so" "NOMEM_FILE=$tmp/nomem"
    start_nodes 2 -o flush_interval=0
    python an_epoch_needs_none
    stop_nodes
}
