#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Daemons that are connected as a tree, with some nodes deeper than directly below node 0.

load helper
load nodes

# Succeeds once the node above has learned of the unmount.
is_told_of_3() {
    jq -e '.cluster.peers[] | select(.node == 3 and .state == "unmounted")' "$above/.mpiio/stats.json"
}

@test "fanout: nodes in a tree, or a chain, write, change and unmount like others" {
    local width
    for width in 1 2; do
        rm -f f.dat
        spec 8 5
        start_nodes 5 -o "fanout=$width"
        # A node is connected with the one above and those below. In the end it knows all below it.
        [ "$(jq -c '[.cluster.peers[].node]' m0/.mpiio/stats.json)" = "$([ $width = 1 ] && echo '[1]' || echo '[1,2]')" ]
        [ "$(jq -c '[.cluster.peers[].node]' m1/.mpiio/stats.json)" = "$([ $width = 1 ] && echo '[0,2]' || echo '[0,3,4]')" ]
        python nodes_in_a_tree
        as_root umount m3
        above=m$((width == 1 ? 2 : 1)) await is_told_of_3
        mpiio-umount m4
        nothing_left
        run ! grep " $tmp/m" /proc/self/mountinfo
    done
}
