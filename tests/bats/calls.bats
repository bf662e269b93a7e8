#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A node makes all nodes unmount, or change the atomicity, while another node does the same.

load helper
load nodes

@test "calls: two nodes unmount all, while one of them still stores its data" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python unmount_from_two_nodes
    stop_nodes
    [ "$(cat f.dat)" = 01234567 ]
}

@test "calls: two nodes change the atomicity, while one of them still stores its data" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python change_from_two_nodes
    stop_nodes
}

@test "calls: if all are unmounted, a node that changes the atomicity unmounts too, or gets an error" {
    spec 8
    start_nodes 3
    python unmount_while_one_changes
    stop_nodes
}

@test "calls: a node unmounts its own mount, and no mount below it" {
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
