#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Nodes that get no memory in an epoch still take part in it.

load helper
load nodes

@test "memory: an epoch allocates none in the daemons, and succeeds if they get none" {
    spec 8
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libnomem.so" "NOMEM_FILE=$tmp/nomem"
    start_nodes 2 -o flush_interval=0
    python an_epoch_needs_none
    stop_nodes
}
