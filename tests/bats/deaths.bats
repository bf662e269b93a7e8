#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Failures among three hosts while all of them write. What survivors have written is stored, what
# was synced is there, nothing hangs, and nothing is left. Each test does several runs, three at
# once. Seeds choose their moments and victims.

load helper
load cluster
load survivors

# MPIIO_DEATHS sets the runs for each kind of failure. Two runs cover both fan-outs. Here MPI's
# processes do not sleep while they wait for each other: with many clusters on two processors, it
# would take seconds until each had its turn.
runs=${MPIIO_DEATHS:-2}
at_once=3

# signal SIGNAL HOST [NAME]: sends a signal to the host's processes, or to those of a program.
signal() {
    # shellcheck disable=SC2046 # a list
    as_root kill "-$1" $(of_host "$2" "${3:-}")
}

# happen FAULT: injects the fault on $victim. Sets survivors if a node is lost, and stays if all
# nodes stay together.
happen() {
    case $1 in
    mpiexec) signal KILL switch ;;
    engine | unmount) signal KILL "node$victim" mpiio-engine-mpich ;;
    daemon)
        signal KILL "node$victim" mpiio-fused
        survivors=("${others[@]}")
        ;;
    stop)
        signal STOP "node$victim"
        survivors=("${others[@]}")
        ;;
    link) at switch ip link set "port$victim" down ;;
    pause)
        local processes
        mapfile -t processes < <(of_host "node$victim")
        kill -STOP "${processes[@]}"
        sleep 2
        kill -CONT "${processes[@]}"
        stays=yes
        ;;
    esac
}

# Unmounts after the fault, alone or together.
unmount_nodes() {
    local node
    if [ -n "$stays" ]; then
        timeout -s KILL 300 mpiio-umount "$tmp/at/$victim"
        return
    fi
    for node in "${survivors[@]}"; do
        timeout -s KILL 300 mpiio-umount "$tmp/at/$node" || return
    done
    # Switches off a host that was stopped for good, and reconnects one that was cut off.
    case $kind in
    stop) signal KILL "node$victim" ;;
    link) at switch ip link set "port$victim" up ;;
    esac
    if [ ${#survivors[@]} -lt 3 ]; then
        timeout -s KILL 300 mpiio-umount --force "$tmp/at/$victim"
    fi
}

# run_death KIND SEED: does a run in its own directory and shell. Either all nodes are directly
# below node 0, or the last one is below the second.
run_death() {
    # shellcheck disable=SC2034 # of start_writer
    local kind=$1 timeout=2 width=$((2 - $2 % 2)) victim node stays='' survivors=(0 1 2) others writers=()
    tmp=$tmp/$1$2
    mkdir "$tmp"
    cd "$tmp" || return
    export tmp MPIIO_TEST=$tmp
    trap 'umount_all; reap' EXIT
    RANDOM=$2
    [ "$kind" != pause ] || timeout=6
    victim=$((RANDOM % 3))
    others=($(((victim + 1) % 3)) $(((victim + 2) % 3)))
    echo "$kind, seed $2, victim $victim, fan-out $width"

    make_hosts 3
    : >x.dat
    dealt x.dat 3 8 >x.json
    timeout -s KILL 300 bash -c "$(declare -f mount_hosts at as_root); mount_hosts \"\$@\"" x \
        x.json -o "peer_timeout=$timeout,fanout=$width,log=$tmp/log" || return
    for node in 0 1 2; do
        start_writer "$node" "$2"
    done
    a_moment
    happen "$kind"
    if [ "$kind" = unmount ]; then
        sleep "0.$((RANDOM % 10))"
    elif [ -n "$stays" ]; then
        a_moment
        comes_to ok 1 "${survivors[@]}" || return
    else
        comes_to degraded $((timeout + 15)) "${survivors[@]}" || return
        a_moment
    fi
    touch stop
    join_writers "${survivors[@]}" || return
    unmount_nodes || return
    cat log
    nothing_left || return
    "$top/tests/cluster/writer.py" check x.dat log0 log1 log2
}

# deaths KIND: does all runs of that kind.
deaths() {
    local run seed first=${MPIIO_SEED:-$RANDOM} failed=0 jobs=()
    export hosts=''
    for ((run = 0; run < runs; run++)); do
        seed=$((first + run))
        [ $run -lt $at_once ] || wait "${jobs[run - at_once]}" || failed=1
        (run_death "$1" $seed) >"run$run" 2>&1 3>&- &
        jobs[run]=$!
    done
    for ((run = 0; run < runs; run++)); do
        [ $((run + at_once)) -lt "$runs" ] || wait "${jobs[run]}" || failed=1
        echo "--- MPIIO_SEED=$((first + run)):"
        cat "run$run"
    done
    return $failed
}

@test "deaths: an engine is killed" {
    deaths engine
}

@test "deaths: mpiexec is killed" {
    deaths mpiexec
}

@test "deaths: a daemon is killed" {
    deaths daemon
}

@test "deaths: a host is stopped for two seconds, without consequences" {
    deaths pause
}

@test "deaths: a host is stopped for good" {
    deaths stop
}

@test "deaths: a link is down" {
    deaths link
}

@test "deaths: unmounting while the nodes handle an engine's death" {
    deaths unmount
}
