#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What one node has all do, to unmount or to change the atomicity, while another has them do it too.

load helper
load nodes

@test "calls: all are unmounted from two nodes, one of which still stores what it holds" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python unmount_from_two_nodes
    stop_nodes
    [ "$(cat f.dat)" = 01234567 ]
}

@test "calls: two nodes change the atomicity, one of which still stores what it holds" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python change_from_two_nodes
    stop_nodes
}

@test "calls: a node that changes the atomicity is unmounted with all, or it is told" {
    spec 8
    start_nodes 3
    python unmount_while_one_changes
    stop_nodes
}

@test "calls: a node unmounts its own mount, not what that was mounted on" {
    spec 8
    mkdir m1
    as_root mount -t tmpfs tmpfs m1
    : >m1/below
    start_nodes 2
    exec 9<m1/rank0
    as_root umount -l m1
    run ! getfattr -n user.mpiio.unmount m0 9<&-
    [ -e m1/below ]
    getfattr -n user.mpiio.unmount_force m0 9<&-
    as_root umount m0
    nothing_left
    [ -e m1/below ]
    exec 9<&-
    stop_nodes
}
