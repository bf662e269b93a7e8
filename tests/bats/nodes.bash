# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Several nodes, all on this machine: a daemon and a mount each, at m0, m1, ... Load it after helper.

# start_nodes COUNT [OPTION]...: mounts s.json on m0, m1, ... with options of mpiio-fused; a log for
# all is in ./log. $daemon: a program in the place of mpiio-fused, which runs that.
start_nodes() {
    local count=$1 i
    shift
    rm -f out err
    for ((i = 0; i < count; i++)); do
        mkdir -p "m$i"
    done
    timeout -s KILL 900 "$(mpich_mpiexec)" -n "$count" "$MPIIO_SBIN/mpiio-engine" --name nodes \
        ${daemon:+"--daemon=$daemon"} -- -o "log=$tmp/log" "$@" s.json "$tmp/m%n" </dev/null >out 2>err 3>&- &
    engines=$!
    await start_is_over
    grep -q ready out
}

# The nodes are ready, or their engines have ended.
start_is_over() {
    grep -qs ready out || ! kill -0 "$engines" 2>/dev/null
}

# run_daemons COMMAND...: start_nodes has daemons run by that command.
run_daemons() {
    mkdir -p run
    daemon=$tmp/run/mpiio-fused
    cat >"$daemon" <<END
#!/bin/sh
exec $* "$MPIIO_SBIN/mpiio-fused" "\$@"
END
    chmod +x "$daemon"
}

# Unmounts those that are mounted; then nothing is left: no daemon, no engine.
stop_nodes() {
    local folder
    for folder in m[0-9]*; do
        if mountpoint -q "$folder"; then
            as_root umount "$folder"
        fi
    done
    nothing_left
}

# spec BLOCK [RANKS] [MORE]: f.dat, or $file, whose blocks are dealt to ranks; MORE: keys of the spec.
spec() {
    dealt "${file:-f.dat}" "${2:-4}" "$1" "${3:-}" >s.json
    : >>"${file:-f.dat}"
}

# stat_sum KEY: over the nodes, of what stats.json tells.
stat_sum() {
    cat m[0-9]*/.mpiio/stats.json | jq -s "map($1) | add"
}
