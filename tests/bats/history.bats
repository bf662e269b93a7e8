#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Random histories: four hosts take, append and contribute records, and read and write registers in
# atomic mode, while processes are stopped and killed, and hosts are cut off. tests/history/judge.py
# judges each history by the logs of all calls. scripts/history runs more of them by hand.

load helper
load cluster
load distributed
load survivors
load pointers

# begin_history FILESYSTEM: mounts on four hosts, and starts workers of each kind.
begin_history() {
    local node options=atomic
    if [ "$1" = glusterfs ]; then
        make_distributed 4
        # The clients' pages may be older than the file.
        file=$tmp/dfs/x.dat stored=$tmp/brick/x.dat
    fi
    [ "$mode" = atomic ] || options=cache=back
    begin_case 4 "$records" -o "$options"
    mapfile -t launcher < <(of_host switch)
    for node in 0 1 2 3; do
        start_work "$node"
        start_accesses "$node"
    done
    go_on 3 0 1 2 3
}

# start_accesses NODE: starts two workers that read and write registers, in atomic mode. One runs
# under mpiio-run, which leaves its calls to the mount.
start_accesses() {
    [ "$mode" = atomic ] || return 0
    work_on_registers "$1"
    LD_PRELOAD=$MPIIO_RUN_LIBRARY work_on_registers "$1"
}

work_on_registers() {
    work "$1" access --stop "stop$1" --pause "$pause" --seed "$seed" --ranks 4
}

# processes_of daemon|engine|node|launcher NODE: prints the processes that have not exited.
processes_of() {
    local process some=()
    case $1 in
    daemon) some=("${daemons[$2]}") ;;
    engine) some=("${engines[$2]}") ;;
    node) some=("${daemons[$2]}" "${engines[$2]}") ;;
    launcher) some=("${launcher[@]}") ;;
    esac
    for process in "${some[@]}"; do
        has_ended "$process" || echo "$process"
    done
}

# note FAULT [PROCESS]...: records a fault. Engines and the launcher exit if the mount is degraded.
note() {
    local exited=' (exited)'
    [ $# -eq 1 ] || exited=''
    echo "$1$exited" >>faults
}

# stop_and_continue WHAT NODE SECONDS: stops processes for this time.
stop_and_continue() {
    local processes
    mapfile -t processes < <(processes_of "$1" "$2")
    note "stop $1" "${processes[@]}"
    [ ${#processes[@]} -gt 0 ] || return 0
    kill -STOP "${processes[@]}" || true
    sleep "$3"
    kill -CONT "${processes[@]}" || true
}

# cut node|pair|oneway WAY NODE OTHER SECONDS: makes the network lose messages for this time.
cut() {
    note "cut $1" network
    case $1 in
    node) cut_off "$2" "$3" ;;
    *)
        lose "$2" "$3" "$4" add
        [ "$1" = oneway ] || lose "$2" "$4" "$3" add
        ;;
    esac
    sleep "$5"
    case $1 in
    node) heal "$2" "$3" ;;
    *)
        lose "$2" "$3" "$4" del
        [ "$1" = oneway ] || lose "$2" "$4" "$3" del
        ;;
    esac
}

# kill_worker NODE: kills a worker that takes or accesses registers, and starts another one.
kill_worker() {
    local worker some=()
    for worker in ${at_work[$1]}; do
        [[ ${logs[worker]} != *.@(take|access).* ]] || some+=("$worker")
    done
    worker=${some[RANDOM % ${#some[@]}]}
    kill -KILL "${pids[worker]}" || true # it may have exited
    killed+=" $worker"
    at_work[$1]=${at_work[$1]/ $worker/}
    if [[ ${logs[worker]} == *.take.* ]]; then
        work "$1" take --stop "stop$1" --pause "$pause"
    else
        work_on_registers "$1"
    fi
    note "kill worker" "$worker"
}

# kill_processes WHAT NODE: kills processes. If it kills a daemon, another node contributes for that
# node.
kill_processes() {
    local processes
    mapfile -t processes < <(processes_of "$1" "$2")
    note "kill $1" "${processes[@]}"
    [ ${#processes[@]} -gt 0 ] || return 0
    if [ "$1" = daemon ]; then
        failed+=" $2" crashed=$2
    fi
    kill -KILL "${processes[@]}" || true
    [ "$1" != daemon ] || fill_in $((($2 + 1) % 4)) "$2"
}

# inject FAULT ARGUMENT...: injects a fault of tests/history/plan.py.
inject() {
    case $1 in
    failed) failed+=" $2" ;;
    unmount) order=("${@:2}") ;;
    stop) stop_and_continue "${@:2}" ;;
    cut) cut "${@:2}" ;;
    kill) if [ "$2" = worker ]; then kill_worker "$3"; else kill_processes "$2" "$3"; fi ;;
    esac
}

# random_history FILESYSTEM MODE SEED SECONDS: runs and judges a history. MODE is atomic or cached.
# The case has its own shell, and give_up needs the variables, so they are not local.
random_history() {
    local node wait fault
    # shellcheck disable=SC2034 # of begin_case
    filesystem=$1 mode=$2 seed=$3 length=$4 timeout=2 failed='' crashed='' pause=0.02
    records=50000 file='' stored=''
    [ -z "${MPIIO_HISTORY:-}" ] || records=200000
    RANDOM=$seed
    begin_history "$filesystem"
    while read -r wait fault; do
        sleep "$wait"
        printf "%(%T)T fault: %s\n" -1 "$fault"
        # shellcheck disable=SC2086 # words
        inject $fault
    done < <("$top/tests/history/plan.py" "$seed" "$length" 4)
    finish 0 1 2 3
    for node in "${order[@]}"; do
        unmount "$node"
    done
    echo "faults: $(sort faults | uniq -c | sed 's/^ *//' | paste -sd,)"
    end_history
}

# Checks that no process is left, except those of GlusterFS, and judges all calls.
end_history() {
    local pid
    await none_serve
    for pid in "${pids[@]}"; do
        has_ended "$pid"
    done
    # A contribution waits for those of other ranks, and so for the slowest host.
    judge --may-fail --bound 600
}

# run_by_hand SECONDS SEED COUNT LENGTH FILESYSTEM MODE: runs histories until one fails. These are
# the options of scripts/history.
run_by_hand() {
    local end=$((SECONDS + $1)) next=$2 last=$(($2 + $3)) filesystems=(ext4 glusterfs) modes=(atomic cached)
    local cases i all=$tmp
    local -x tmp
    [ "$5" = both ] || filesystems=("$5")
    [ "$6" = both ] || modes=("$6")
    while [ "$SECONDS" -lt "$end" ] && [ "$next" -lt "$last" ]; do
        cases=()
        for ((i = 0; i < at_once && next < last; i++, next++)); do
            cases+=("random_history ${filesystems[next % ${#filesystems[@]}]} ${modes[next / 2 % ${#modes[@]}]} $next $4")
        done
        tmp=$all/from$next
        mkdir "$tmp"
        cd "$tmp" || return
        run_cases "${cases[@]}" # fails if a case does, so it must not be part of a condition
        cd "$all" || return
        rm -rf "$tmp"
    done
}

# keep NAME: keeps the logs of a history that has failed, and prints how to repeat it.
keep() {
    local folder=$MPIIO_HISTORY_KEEP/$1
    mkdir -p "$folder"
    cp -r calls log errors ../run* "$folder/"
    cp "${stored:-$file}" "$folder/x.dat"
    echo "scripts/history --filesystem $filesystem --mode $mode --seed $seed --length $length --count 1"
    echo "has failed. Its logs are in $folder."
}

@test "history: the checkers agree with ones that try all orders" {
    python positions_agree_with_all_orders
    python the_checker_agrees_with_a_naive_one
    python a_long_history_takes_few_steps
}

@test "history: the judge of registers sees what is wrong" {
    python the_judge_of_registers_sees_what_is_wrong
}

@test "history: scripts/history --help describes it, wrong usage is status 2" {
    run -0 "$top/scripts/history" --help
    [[ $output == "usage: history "* && $output == *"Exit status"* ]]
    run -2 "$top/scripts/history" --frob 1
    run -2 "$top/scripts/history" --seed
    run -2 "$top/scripts/history" --seed x
}

@test "history: four hosts whose processes are stopped and killed, and whose network is cut" {
    if [ -n "${MPIIO_HISTORY:-}" ]; then
        # shellcheck disable=SC2086 # words
        at_once=$MPIIO_AT_ONCE run_by_hand $MPIIO_HISTORY
        return
    fi
    at_once=2 run_cases "random_history ext4 atomic 24 1" "random_history glusterfs atomic 7 1" \
        "random_history ext4 cached 5 1"
    # Each kind of fault has occurred: stop 4, cut 3, kill 4.
    sort [0-9]*/faults | uniq -c
    [ "$(sed 's/ (exited)//' [0-9]*/faults | sort -u | wc -l)" -eq 11 ]
}
