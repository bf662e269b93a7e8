#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Partitions: all hosts work, but some do not reach each other, while all of them write. Nothing
# hangs, written data is stored, and the log names the nodes that do not reach each other. A cell is
# the number of hosts, the cuts, and the moment: before the first flush, during one, or after the
# last one. A fourth word is the number of nodes directly below a node, if it is not 16.
#
# A cut "1>2" loses all messages from host 1 to host 2. "1-2" loses both directions.

load helper
load cluster
load survivors
load pointers

# These cells are always run. MPIIO_PARTITIONS=all runs all cells of three hosts, and as many of
# four. A list such as "3 1-2 during;4 1>2,3>2 before" runs these cells.
cells=(
    "3 1-2 during" "3 1>2 during" "3 1-2 before" "3 1-2 after" "3 0-1,2>0 after"
    "3 0>1 during" "3 0-1,1-2 during"
    "4 1-2,2-3 during" "4 1>2,3>2 during" "4 1-2,0-3 before" "4 0-1,2-3 after"
    "4 1-3 during 2" "4 0>1 during 2" "4 0-3 during 2"
)

# Prints all cuts, in every direction, at every moment; for four hosts, a sample.
all_cells() {
    local hosts=$1 edges=() i j mask cuts moment
    for ((i = 0; i < hosts; i++)); do
        for ((j = 0; j < hosts; j++)); do
            [ $i -eq $j ] || edges+=("$i>$j")
        done
    done
    for ((mask = 1; mask < 1 << ${#edges[@]}; mask++)); do
        [ "$hosts" -eq 3 ] || [ $((RANDOM % 65)) -eq 0 ] || continue
        cuts=
        for i in "${!edges[@]}"; do
            [ $((mask >> i & 1)) -eq 0 ] || cuts+=,${edges[i]}
        done
        for moment in before during after; do
            echo "$hosts ${cuts#,} $moment"
        done
    done
}

# cut FROM TO: messages from FROM no longer arrive at TO.
cut() {
    at "node$1" ip route add blackhole "10.77.0.$(($2 + 1))"
}

# Makes the cuts of $cuts, all directions as nearly at once as possible.
cut_all() {
    local one
    for one in ${cuts//,/ }; do
        cut "${one:0:1}" "${one:2:1}"
        [ "${one:1:1}" = '>' ] || cut "${one:2:1}" "${one:0:1}"
    done
}

heal_all() {
    local i j
    for ((i = 0; i < count; i++)); do
        for ((j = 0; j < count; j++)); do
            at "node$i" ip route del blackhole "10.77.0.$((j + 1))" 2>/dev/null || true
        done
    done
}

# Prints a pattern for pairs of nodes that the cuts separate, in both orders.
is_cut() {
    [[ ,$cuts, == *,"$1"[-\>]"$2",* || ,$cuts, == *,"$2"[-\>]"$1",* ]]
}

# is_named LINE: succeeds if the line names nodes that do not reach each other, and no others.
is_named() {
    local pairs a b
    mapfile -t pairs < <(grep -oE 'node [0-9] \([a-z0-9]+\) (does not hear|and) node [0-9]' <<<"$1")
    [ ${#pairs[@]} -gt 0 ] || return 1
    for line in "${pairs[@]}"; do
        a=${line:5:1} b=${line: -1}
        is_cut "$a" "$b" || return 1
    done
}

# Succeeds if the cuts separate daemons that are connected with each other.
cuts_daemons() {
    local one low high
    for one in ${cuts//,/ }; do
        low=${one:0:1} high=${one:2:1}
        [ "$low" -lt "$high" ] || low=${one:2:1} high=${one:0:1}
        [ $(((high - 1) / width)) -ne "$low" ] || return 0
    done
    return 1
}

# Each degraded node has logged the reason once: the engines that do not reach each other, or, if
# daemons do not reach each other, the silent daemon.
check_log() {
    local lines line
    mapfile -t lines < <(grep "degraded: node" log)
    [ ${#lines[@]} -eq "$count" ] || return 1
    for line in "${lines[@]}"; do
        if [[ $line == *"does not come further"* || $line == *"has not come further"* ]]; then
            is_named "$line" || return 1
        else
            cuts_daemons || return 1
        fi
    done
}

# Replaces pointers.bash's give_up: prints the log of a cell that has failed.
give_up() {
    cat log
}

# run_cell SEED HOSTS CUTS MOMENT [WIDTH]: runs a cell as a case.
run_cell() {
    # shellcheck disable=SC2034 # of start_writer
    local count=$2 cuts=$3 moment=$4 width=${5:-16} timeout=2 nodes=() logs=() writers=() node
    RANDOM=$1
    for ((node = 0; node < count; node++)); do
        nodes+=("$node")
        logs+=("log$node")
    done
    make_hosts "$count"
    : >x.dat
    dealt x.dat "$count" 8 >x.json
    mount_hosts x.json -o "peer_timeout=$timeout,fanout=$width,log=$tmp/log"
    [ "$moment" != before ] || cut_all
    for node in "${nodes[@]}"; do
        start_writer "$node" "$1"
    done
    a_moment
    [ "$moment" != during ] || cut_all
    if [ "$moment" != after ]; then
        comes_to degraded $((timeout * 3 + 15)) "${nodes[@]}"
        a_moment
    fi
    touch stop
    join_writers "${nodes[@]}"
    [ "$moment" != after ] || cut_all
    for node in "${nodes[@]}"; do
        if mountpoint -q "at/$node"; then
            timeout -s KILL 300 mpiio-umount "$tmp/at/$node"
        fi
    done
    nothing_left
    heal_all
    [ "$moment" = after ] || check_log
    "$top/tests/cluster/writer.py" check x.dat "${logs[@]}"
}

@test "partition: hosts that do not reach each other degrade, name each other, and lose nothing" {
    local i seed=${MPIIO_SEED:-$RANDOM}
    case ${MPIIO_PARTITIONS:-} in
    '') ;;
    all) mapfile -t cells < <(all_cells 3 && all_cells 4) ;;
    *) IFS=';' read -r -a cells <<<"$MPIIO_PARTITIONS" ;;
    esac
    for i in "${!cells[@]}"; do
        cells[i]="run_cell $((seed + i)) ${cells[i]}"
    done
    run_cases "${cells[@]}"
}
