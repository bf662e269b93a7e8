#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tests shared file pointers and "ordered" on several hosts. One host leaves, is frozen, is cut off,
# is killed or loses its engine, and may return. tests/history/judge.py judges each case by the
# logs of all calls. history.bats has random faults.

# shellcheck disable=SC2154 # helper.bash sets tmp
load helper
load cluster
load survivors
load ordered
load pointers

# A row has the fault, its moment (before, during or after takes, appends and contributions), the
# node, and the next steps: "linger" waits for five times peer_timeout, "return" ends the fault, and
# a number unmounts that node, by force with an f. Without MPIIO_POINTERS these rows are run.
# MPIIO_POINTERS=all runs all rows; a list such as "kill during 1 0 1 2;leave after 0 1" runs these.
rows=(
    "leave during 2 0 1"
    "freeze during 0 return 0 2f 1"
    "freeze after 2 1 return 2 0"
    "blackhole during 0 1 2f return 0"
    "reject before 1 0 return 2 1"
    "link after 1 2 0 1"
    "kill during 0 2 1 0f"
    "engine before 0 2f 1f 0f"
)

all_rows() {
    local fault moment victim a b
    for fault in leave pause freeze blackhole reject link kill engine; do
        for moment in before during after; do
            for victim in 0 1 2; do
                a=$(((victim + 1) % 3)) b=$(((victim + 2) % 3))
                case $fault in
                leave) printf '%s\n' "$fault $moment $victim "{"$a $b","${b}f $a"} ;;
                pause) printf '%s\n' "$fault $moment $victim "{"$a $b $victim","${victim}f $a $b"} ;;
                kill | engine) printf '%s\n' "$fault $moment $victim "{"$a $b ${victim}f","${victim}f $b ${a}f"} ;;
                *)
                    printf '%s\n' "$fault $moment $victim "{"$a $b return $victim","return $victim ${b}f $a"} \
                        "$fault $moment $victim "{"$b return ${a}f $victim","${a}f $b ${victim}f"}
                    ;;
                esac
            done
        done
    done
}

# happen FAULT NODE: injects a fault on a node.
happen() {
    case $1 in
    leave)
        # The node's contributor finishes its round, while the others go on.
        echo 0 >"limit$2"
        : >"stop$2"
        join "$2"
        unmount "$2" --node
        ;;
    freeze) freeze "$2" ;;
    pause) hold_up "$((timeout / 2)).2" "$2" ;;
    kill) signal KILL "$2" ;;
    engine) kill -KILL "${engines[$2]}" ;;
    *) cut_off "$1" "$2" ;;
    esac
}

# finish_before NODE: ends the work before a node is unmounted. The first call ends the work on all
# nodes, except on a node that is frozen or cut off. Work on a node that is cut off ends before that
# node is unmounted.
finish_before() {
    local node ready=()
    for node in 0 1 2; do
        if [[ -n ${working[node]} && (-z $away || $node != "$victim") ]]; then
            ready+=("$node")
        fi
    done
    if [[ $1 == "$victim" && $away == cut && -n ${working[victim]} ]]; then
        ready+=("$victim")
    fi
    [ ${#ready[@]} -gt 0 ] || return 0
    finish "${ready[@]}"
    for node in "${ready[@]}"; do
        working[node]=''
    done
}

# Ends the fault. The work on the node goes on.
come_back() {
    case $fault in
    freeze) signal CONT "$victim" ;;
    *) heal "$fault" "$victim" ;;
    esac
    away=''
    if [ "$moment" = after ]; then
        start_work "$victim"
        working[victim]=yes
    fi
    go_on 3 "$victim"
    # The other nodes may have been unmounted; then the work here ends without them.
    if [ -n "$first_unmount" ]; then
        finish_before "$victim"
    fi
}

# row FAULT MOMENT NODE STEP...: runs a row of the table.
row() {
    # shellcheck disable=SC2034 # of begin_case
    local fault=$1 moment=$2 victim=$3 timeout=2 failed='' away='' working=() others node step
    shift 3
    others=($(((victim + 1) % 3)) $(((victim + 2) % 3)))
    begin_case 3 50000
    if [ "$moment" != before ]; then
        for node in 0 1 2; do
            start_work "$node"
            working[node]=yes
        done
        go_on 5 0 1 2
        if [ "$moment" = after ]; then
            finish_before 0
        fi
    fi
    happen "$fault" "$victim"
    case $fault in
    freeze) away='frozen' failed=$victim ;;
    kill) failed=$victim ;;
    blackhole | reject | link) away='cut' ;;
    leave) working[victim]='' ;;
    esac
    if [ "$moment" = before ]; then
        for node in 0 1 2; do
            [ "$fault $node" != "leave $victim" ] || continue
            start_work "$node"
            working[node]=yes
        done
    fi
    if [ "$moment" != after ]; then
        case $fault in
        pause | engine) ;;
        *) fill_in "${others[0]}" "$victim" ;;
        esac
        go_on 8 "${others[@]}"
    fi
    for step; do
        case $step in
        linger)
            sleep $((5 * timeout))
            go_on 8 "${others[@]}"
            ;;
        return) come_back || return ;;
        *f)
            finish_before "${step%f}"
            unmount "${step%f}" -f
            ;;
        *)
            finish_before "$step"
            unmount "$step"
            ;;
        esac
    done
    join 0 1 2
    end_case
}

# Checks that what fsync and close have acknowledged outlives clean unmounts of a degraded mount.
unmounts() {
    # shellcheck disable=SC2034 # of begin_case
    local timeout=10
    begin_case 3 100
    kill -KILL "${engines[0]}"
    comes_to degraded 60 0 1 2
    work 1 append --count 50 --sync 0
    join 1
    unmount 1
    unmount 0
    work 2 append --count 10 --sync 0
    join 2
    unmount 2
    end_case
}

# returns freeze|blackhole|reject: node 2 is frozen or cut off while the others append, take,
# contribute and unmount. Then it returns.
returns() {
    # shellcheck disable=SC2034 # of begin_case
    local way=$1 timeout=2 failed='' node late
    begin_case 3 200
    for node in 0 1 2; do
        work "$node" append --count 3
        work "$node" take --count 5
    done
    join 0 1 2
    work 0 contribute 0 --count 1 --sync 1 --hold zero
    await test -e zero.held
    work 2 contribute 2 --count 1 --sync 1 --hold two
    late=$workers
    await test -e two.held
    work 1 contribute 1 --count 1 --sync 1
    if [ "$way" = freeze ]; then
        freeze 2
        # shellcheck disable=SC2034 # of judge
        failed=2
    else
        cut_off "$way" 2
    fi
    : >zero
    join 0 1
    if [ "$way" = freeze ]; then
        # If this contribution is placed, the turn of node 2 is over.
        work 0 contribute 0 --count 1 --sync 1
        join 0
    else
        comes_to degraded 60 0 1
    fi
    for node in 0 1; do
        work "$node" append --count 20
        work "$node" take --count 20
    done
    join 0 1
    unmount 0
    unmount 1
    if [ "$way" = freeze ]; then signal CONT 2; else heal "$way" 2; fi
    : >two
    work 2 append --count 3
    work 2 take
    join 2
    unmount 2
    if [ "$way" = freeze ]; then
        end_case --all --absent "$late" >judged || { cat judged && return 1; }
        cat judged
        grep -qE 'node 2: (fsync|write|close) gave (EIO|ESTALE)' judged
        ! grep -E 'node 2: (append|take|open) gave' judged
    else
        end_case --all
    fi
}

# Checks that freezes shorter than peer_timeout exclude no node.
freezes() {
    # shellcheck disable=SC2034 # of begin_case
    local timeout=4 node i victims first
    begin_case 4 200000
    RANDOM=${MPIIO_SEED:-1}
    for node in 0 1 2 3; do
        start_work "$node"
    done
    go_on 5 0 1 2 3
    for ((i = 0; i < ${MPIIO_FREEZES:-6}; i++)); do
        first=$((RANDOM % 4))
        victims=("$first")
        [ $((RANDOM % 2)) -eq 0 ] || victims+=($(((first + 1 + RANDOM % 3) % 4)))
        hold_up "$((RANDOM % 2)).$((RANDOM % 10))" "${victims[@]}"
        sleep "0.$((RANDOM % 10))"
    done
    go_on 5 0 1 2 3
    finish 0 1 2 3
    for node in 3 1 0 2; do
        unmount "$node"
    done
    end_case
}

# Checks that calls end with EIO while a foreign process holds the record's lock, and go on after
# it.
locked() {
    # shellcheck disable=SC2034 # of begin_case
    local timeout=2 holder node
    begin_case 3 100000
    for node in 0 1 2; do
        work "$node" take --stop stop --pause 0.002
        work "$node" append --stop stop --pause 0.002 --sync 0
    done
    go_on 10 0 1 2
    "$top/tests/history/work.py" lock .x.dat.mpiio-pointers 3>&- &
    holder=$!
    await test -e locked
    # For each worker: one call that had begun before, and two that fail with EIO.
    go_on 3 0 1 2
    kill -KILL "$holder"
    go_on 10 0 1 2
    : >stop
    join 0 1 2
    for node in 0 1 2; do
        unmount "$node"
    done
    end_case --may-fail >judged || { cat judged && return 1; }
    cat judged
    for node in 0 1 2; do
        grep -q "node $node: take gave EIO" judged
        grep -q "node $node: append gave EIO" judged
    done
}

# Checks that a contribution that has been closed is placed although the record's lock is not
# released at its turn. Its node is frozen until the lock is held.
locked_at_turn() {
    # shellcheck disable=SC2034 # of begin_case
    local timeout=3 holder node
    begin_case 3 100
    work 0 contribute 0 --count 1 --sync 0 --hold zero
    await test -e zero.held
    work 1 contribute 1 --count 1 --sync 0
    join 1
    freeze 1
    : >zero
    join 0
    await turn_is at/0/o 1
    "$top/tests/history/work.py" lock .x.dat.mpiio-pointers 3>&- &
    holder=$!
    await test -e locked
    signal CONT 1
    await grep -q 'at/1: .*another node does not release its lock' log
    kill -KILL "$holder"
    for node in 0 1 2; do
        unmount "$node"
    done
    end_case
}

@test "pointers: clean unmounts of a degraded mount, nodes that return, short freezes, both sides of a cut" {
    run_cases freezes "row blackhole during 2 linger return 0 1 2" "row reject during 2 linger return 0 1 2" \
        "returns freeze" "returns blackhole" "returns reject" unmounts locked locked_at_turn
}

@test "pointers: a node that leaves, is frozen, cut off, killed or without its engine, at any moment, in any order" {
    case ${MPIIO_POINTERS:-} in
    '') ;;
    all) mapfile -t rows < <(all_rows) ;;
    *) IFS=';' read -r -a rows <<<"$MPIIO_POINTERS" ;;
    esac
    run_cases "${rows[@]/#/row }"
}

@test "pointers: the judge sees what is wrong" {
    python the_judge_sees_what_is_wrong
}
