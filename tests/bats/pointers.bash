# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # the variables are the tests' and helper.bash's
# Hosts whose workers take, append and contribute records (tests/history), and faults of these
# hosts. Load this file after cluster. Each case runs in its own folder and shell, with these
# variables:
#
#   $count     the hosts: 0, 1, ...
#   $timeout   peer_timeout, in seconds
#   $taken     the number of records to take
#   $file      the shared file; x.dat
#   $stored    where it is stored; $file
#   calls/     the logs of all workers' calls

# begin_case HOSTS RECORDS [OPTION]...: makes hosts, and mounts on them at at/0, ... with options of
# mpiio-mount.
begin_case() {
    local node
    count=$1 taken=$2
    file=${file:-x.dat} workers=0 first_unmount='' killed='' filler='' filling=''
    at_work=() logs=() pids=() daemons=() engines=()
    make_hosts "$count"
    mkdir calls
    "$top/tests/history/work.py" spec "$file" "$taken" "$count" >x.json
    mount_hosts x.json -o "peer_timeout=$timeout,log=$tmp/log" "${@:3}"
    for ((node = 0; node < count; node++)); do
        daemons[node]=$(of_host "node$node" mpiio-fused)
        engines[node]=$(of_host "node$node" mpiio-engine-mpich)
    done
}

# work NODE KIND [OPTION]...: starts a worker on a node. Its number is $workers. KIND is take,
# append, or contribute with the rank as the first option.
work() {
    local node=$1 kind=$2 name=$2
    shift 2
    if [ "$kind" = contribute ]; then
        name=$kind$1
        set -- --rank "$@"
    fi
    workers=$((workers + 1))
    logs[workers]=calls/$node.$name.$workers
    : >"${logs[workers]}"
    "$top/tests/history/work.py" "$kind" "at/$node" "${logs[workers]}" "$workers" "$@" 2>>errors 3>&- &
    pids[workers]=$!
    at_work[node]+=" $workers"
}

# start_work NODE: starts a worker of each kind, which finish ends. The last round lacks rank 0.
start_work() {
    rm -f "stop$1" "limit$1"
    work "$1" take --stop "stop$1" --pause 0.01
    work "$1" append --stop "stop$1" --pause 0.01
    work "$1" contribute "$1" --limit "limit$1" --calm calm --extra $(($1 > 0)) --sync 0.5 --pause 0.02
}

# fill_in NODE RANK: starts a worker on a node that makes empty contributions, each at its turn, for
# a rank whose own node makes none now.
fill_in() {
    work "$1" contribute "$2" --stop filled --at-turn --parts 0 --sync 0
    filler=$workers filling=$1
}

# join NODE...: waits until all workers on these nodes have exited.
join() {
    local node worker
    for node; do
        for worker in ${at_work[node]}; do
            within=200 gone "${pids[worker]}"
        done
        at_work[node]=''
    done
}

# finish NODE...: ends the work on these nodes after a common number of rounds.
finish() {
    local node rounds
    # This comes first: a worker that syncs a contribution has logged its open before.
    : >calm
    rounds=$("$top/tests/history/work.py" rounds calls/*.contribute*)
    if [ -n "$filler" ]; then
        at_work[filling]=${at_work[filling]/ $filler/}
    fi
    for node; do
        echo "$rounds" >"limit$node"
        : >"stop$node"
    done
    join "$@"
    if [ -n "$filler" ]; then
        : >filled
        at_work[filling]+=" $filler"
        filler=''
        join "$filling"
    fi
}

# have_logged CALLS NODE...: succeeds if each worker on these nodes has exited, or has logged this
# many calls since $marks.
have_logged() {
    local more=$1 node worker
    shift
    for node; do
        for worker in ${at_work[node]}; do
            [ "$worker" != "$filler" ] || continue
            [ "$(stat -c %s "${logs[worker]}")" -ge $((${marks[worker]:-0} + more * 32)) ] ||
                has_ended "${pids[worker]}" || return 1
        done
    done
}

# go_on CALLS NODE...: waits until each worker on these nodes has made this many more calls.
go_on() {
    local marks=() node worker
    for node in "${@:2}"; do
        for worker in ${at_work[node]}; do
            marks[worker]=$(stat -c %s "${logs[worker]}")
        done
    done
    within=200 await have_logged "$@"
}

# freeze NODE: stops the daemon and the engine of a node, but not while the daemon holds the
# record's lock, because then the others would wait for it.
freeze() {
    "$top/tests/history/work.py" stop "${daemons[$1]}" "${engines[$1]}"
}

# hold_up SECONDS NODE...: freezes nodes for this time.
hold_up() {
    local node processes=()
    for node in "${@:2}"; do
        processes+=("${daemons[node]}" "${engines[node]}")
    done
    "$top/tests/history/work.py" freeze "$1" "${processes[@]}"
}

# signal NAME NODE: sends a signal to the daemon and the engine of a node. The engine has exited if
# the mount is degraded.
signal() {
    kill "-$1" "${daemons[$2]}"
    kill "-$1" "${engines[$2]}" 2>/dev/null || true
}

# cut_off WAY NODE: drops all messages to and from a node. connect(2) fails with EINVAL (blackhole)
# or ECONNREFUSED (reject, which also resets connections), or waits (link).
cut_off() {
    lose_all "$1" "$2" add
    [ "$1" != link ] || at switch ip link set "port$2" down
}

# heal WAY NODE: ends that.
heal() {
    [ "$1" != link ] || at switch ip link set "port$2" up
    lose_all "$1" "$2" del
}

# lose_all WAY NODE add|del: begins or ends the loss between a node and each other one.
lose_all() {
    local other
    for ((other = 0; other < count; other++)); do
        if [ "$other" -ne "$2" ]; then
            lose "$1" "$2" "$other" "$3"
            lose "$1" "$other" "$2" "$3"
        fi
    done
}

# lose WAY FROM TO add|del: begins or ends the loss in one direction. With reject, FROM gets the
# address of TO, so FROM itself refuses the connection.
lose() {
    case $1 in
    blackhole) at "node$2" ip route "$4" blackhole "10.77.0.$(($3 + 1))" ;;
    reject) at "node$2" ip address "$4" "10.77.0.$(($3 + 1))/32" dev lo ;;
    esac
}

# unmount NODE [OPTION]...: unmounts a node. This must succeed unless the node has failed.
unmount() {
    local node=$1 status=0 started=$SECONDS
    shift
    # The node may have been unmounted together with another one.
    grep -qF " $tmp/at/$node " /proc/self/mountinfo || return 0
    [ -n "$first_unmount" ] || first_unmount=$("$top/tests/history/work.py" now)
    timeout -s KILL 200 mpiio-umount "$@" "$tmp/at/$node" || status=$?
    echo "unmounting node $node took $((SECONDS - started)) s, status $status"
    [ "$status" -eq 0 ] || [[ " ${failed:-} " == *" $node "* && $status -lt 100 ]]
}

# judge [OPTION]...: judges all calls. $failed has the nodes that were killed or silent for long.
judge() {
    cat log errors 2>/dev/null || true
    "$top/tests/history/judge.py" "${stored:-$file}" "$taken" calls/* --failed "${failed:-}" --killed "$killed" \
        --crashed "${crashed:-}" ${seed:+--seed "$seed" --ranks "$count"} \
        --bound $((timeout * 10 + 30)) --leave "${first_unmount:-9223372036854775807}" "$@"
}

# end_case [OPTION]...: checks that nothing is left, and that the judge finds no fault.
end_case() {
    nothing_left &&
    judge "$@"
}

# give_up: prints, after a case has failed, which workers have not exited, and the judge's findings.
give_up() {
    local worker
    for worker in "${!pids[@]}"; do
        has_ended "${pids[worker]}" || echo "still at work: ${logs[worker]}"
    done
    judge || true
    [ -z "${MPIIO_HISTORY_KEEP:-}" ] || keep "seed$seed"
}

# run_case NUMBER FUNCTION ARGUMENT...: runs a case in a folder of that number, until a command
# fails.
run_case() {
    local number=$1
    shift
    tmp=$tmp/$number
    mkdir "$tmp"
    cd "$tmp" || return
    export tmp MPIIO_TEST=$tmp
    # bash ends bats's redirections, which this shell has inherited, before it runs the trap.
    trap '{ [ $? -eq 0 ] || give_up || true; umount_all; reap; } >>"${tmp%/*}/run${tmp##*/}" 2>&1' EXIT
    set -E
    trap 'echo "failed: $BASH_COMMAND"' ERR
    SECONDS=0
    "$@"
    echo "took $SECONDS s"
    : >"../ok$number"
}

# run_cases CASE...: runs cases, three at once. A case is a function and its arguments, as words.
run_cases() {
    local i words failed_cases=() start=$SECONDS
    export hosts=''
    for ((i = 0; i < $#; i++)); do
        read -r -a words <<<"${@:i+1:1}"
        while [ "$(jobs -rp | wc -l)" -ge "${at_once:-3}" ]; do
            wait -n || true
        done
        (run_case "$i" "${words[@]}") >"run$i" 2>&1 3>&- &
    done
    wait || true
    for ((i = 0; i < $#; i++)); do
        if [ -e "ok$i" ]; then
            echo "--- ${*:i+1:1}: $(tail -n 1 "run$i")"
            # With MPIIO_HISTORY, print the measurements.
            [ -z "${MPIIO_HISTORY:-}" ] || { grep -E '^(slowest|[0-9]+ (records taken|writes)|node .* gave|faults|took)' "run$i" |
                paste -sd ';' | sed "s/^/# ${*:i+1:1}: /" >&3; }
        else
            failed_cases+=("${@:i+1:1}")
            echo "--- failed: ${*:i+1:1}"
            tail -n "${MPIIO_CONNECTIONS:-40}" "run$i"
        fi
    done
    echo "${#failed_cases[@]} of $# cases failed, in $((SECONDS - start)) s"
    [ ${#failed_cases[@]} -eq 0 ]
}
