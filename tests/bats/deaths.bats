#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Death among three hosts while all of them write: what survivors wrote is stored, what was synced
# is there, nothing hangs, and nothing is left. Each test has several runs, at moments and with
# victims that seeds choose, three at once.

load helper
load cluster
load survivors

# With MPIIO_DEATHS each kind of death has so many runs: two have both fan-outs. MPI's processes do not sleep while they wait
# for each other: with many clusters on two processors, nobody has his turn within seconds.
runs=${MPIIO_DEATHS:-2}
at_once=3

# signal SIGNAL HOST [NAME]: to its processes, or those of a program.
signal() {
    # shellcheck disable=SC2046 # a list
    as_root kill "-$1" $(of_host "$2" "${3:-}")
}

# happen FAULT: does it to $victim. Sets survivors if a node is lost, and stays if all stay together.
happen() {
    case $1 in
    mpiexec) signal KILL switch ;;
    engine | unmount) signal KILL "node$victim" mpiio-engine ;;
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

# After it has ended, alone or together.
unmount_nodes() {
    local node
    if [ -n "$stays" ]; then
        timeout -s KILL 300 mpiio-umount "$tmp/at/$victim"
        return
    fi
    for node in "${survivors[@]}"; do
        timeout -s KILL 300 mpiio-umount "$tmp/at/$node" || return
    done
    # A host that was stopped for good is switched off, and one that was cut off is found again.
    case $kind in
    stop) signal KILL "node$victim" ;;
    link) at switch ip link set "port$victim" up ;;
    esac
    if [ ${#survivors[@]} -lt 3 ]; then
        timeout -s KILL 300 mpiio-umount --force "$tmp/at/$victim"
    fi
}

# run_death KIND SEED: in a folder of its own, and a shell of its own. All nodes are right below node
# 0, or the last one is below the second.
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

# deaths KIND: all runs of that kind.
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

@test "deaths: a host is stopped for two seconds: nothing happens" {
    deaths pause
}

@test "deaths: a host is stopped for good" {
    deaths stop
}

@test "deaths: a link is down" {
    deaths link
}

@test "deaths: unmounting while an engine's death is being dealt with" {
    deaths unmount
}
