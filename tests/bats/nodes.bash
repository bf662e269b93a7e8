# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Several nodes on this machine: a daemon and a mount each, at m0, m1, ... Load it after helper.

# start_nodes COUNT [OPTION]...: mounts s.json on m0, m1, ... with options of mpiio-fused. The log
# of all nodes is ./log. $daemon is a program that is started instead of mpiio-fused, and runs that.
start_nodes() {
    local count=$1 i
    shift
    rm -f out err
    for ((i = 0; i < count; i++)); do
        mkdir -p "m$i"
    done
    timeout -s KILL 900 "$(mpich_mpiexec)" -n "$count" "$MPIIO_SBIN/mpiio-engine-mpich" --name nodes \
        ${daemon:+"--daemon=$daemon"} -- -o "log=$tmp/log" "$@" s.json "$tmp/m%n" </dev/null >out 2>err 3>&- &
    engines=$!
    await start_is_over
    grep -q ready out
}

# Succeeds once the nodes are ready, or their engines have exited.
start_is_over() {
    grep -qs ready out || ! kill -0 "$engines" 2>/dev/null
}

# run_daemons COMMAND...: makes start_nodes run daemons by this command.
run_daemons() {
    mkdir -p run
    daemon=$tmp/run/mpiio-fused
    executable "$daemon" <<END
exec $* "$MPIIO_SBIN/mpiio-fused" "\$@"
END
}

# Unmounts the nodes that are mounted. Afterwards no daemon and no engine is left.
stop_nodes() {
    local folder
    for folder in m[0-9]*; do
        if mountpoint -q "$folder"; then
            as_root umount "$folder"
        fi
    done
    nothing_left
}

# on_nodes COUNT FUNCTION [OPTION]...: runs a function of $topic while the nodes are mounted.
on_nodes() {
    start_nodes "$1" "${@:3}"
    python "$2"
    stop_nodes
}

# spec BLOCK [RANKS] [MORE]: makes f.dat, or $file, whose blocks are dealt to ranks. MORE: keys of
# the spec.
spec() {
    dealt "${file:-f.dat}" "${2:-4}" "$1" "${3:-}" >s.json
    : >>"${file:-f.dat}"
}

# has_left NODE MOUNT: succeeds once the node of a mount knows that another one is unmounted.
has_left() {
    jq -e ".cluster.peers[] | select(.node == $1 and .state == \"unmounted\")" "$2/.mpiio/stats.json"
}

# stat_sum KEY: prints the sum of a value of stats.json over the nodes.
stat_sum() {
    cat m[0-9]*/.mpiio/stats.json | jq -s "map($1) | add"
}
