#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Failures among three hosts while all of them write. What survivors have written is stored, what
# was synced is there, nothing hangs, and nothing is left. Each test does several runs, three at
# once. Seeds choose their moments and victims.

load helper
load cluster
load survivors
load pointers

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

# run_death KIND SEED: does a run. Either all nodes are directly below node 0, or the last one is
# below the second.
run_death() {
    # shellcheck disable=SC2034 # of start_writer
    local kind=$1 timeout=2 width=$((2 - $2 % 2)) victim node stays='' survivors=(0 1 2) others writers=()
    RANDOM=$2
    [ "$kind" != pause ] || timeout=6
    victim=$((RANDOM % 3))
    others=($(((victim + 1) % 3)) $(((victim + 2) % 3)))
    echo "$kind, seed $2, victim $victim, fan-out $width"

    make_hosts 3
    : >x.dat
    dealt x.dat 3 8 >x.json
    mount_hosts x.json -o "peer_timeout=$timeout,fanout=$width,log=$tmp/log" || return
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
    nothing_left || return
    "$top/tests/cluster/writer.py" check x.dat log0 log1 log2
}

# Replaces pointers.bash's give_up: prints the end of the log of a run that has failed.
give_up() {
    tail -n 20 log
}

# deaths KIND: does all runs of that kind. MPIIO_DEATHS sets their number. Two cover both fan-outs.
# Here MPI's processes do not sleep while they wait for each other: with many clusters on two
# processors, it would take seconds until each had its turn.
deaths() {
    local run seed=${MPIIO_SEED:-$RANDOM} cases=()
    for ((run = 0; run < ${MPIIO_DEATHS:-2}; run++)); do
        cases+=("run_death $1 $((seed + run))")
    done
    run_cases "${cases[@]}"
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
