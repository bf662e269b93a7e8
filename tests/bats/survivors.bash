# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are the tests'
# Writers on several hosts, and the hosts' states after a fault. Load it after cluster.

# state NODE: prints the state that the mount reports.
state() {
    timeout 5 getfattr --absolute-names --only-values -n user.mpiio.state "$tmp/at/$1" 2>/dev/null
}

# comes_to STATE SECONDS NODE...: succeeds once all these nodes report the state.
comes_to() {
    local wanted=$1 end=$((SECONDS + $2)) node
    shift 2
    for node in "$@"; do
        until [ "$(state "$node")" = "$wanted" ]; do
            if [ $SECONDS -ge $end ]; then
                echo "node $node: $(state "$node"), not $wanted"
                return 1
            fi
            sleep 0.2
        done
    done
}

# Sleeps for half a second to one and a half.
a_moment() {
    sleep "$((RANDOM % 2)).$((RANDOM % 5 + 5))"
}

# start_writer NODE SEED: starts tests/cluster/writer.py, which runs until a file stop exists.
start_writer() {
    "$top/tests/cluster/writer.py" write "at/$1/rank$1" "log$1" "$1" "$2" stop &
    writers[$1]=$!
}

# join_writers NODE...: waits for the writers of these nodes. None may have waited for much longer
# than $timeout, the mount's timeout in seconds.
join_writers() {
    local node slowest
    for node in "$@"; do
        if ! timeout $((timeout + 30)) tail -q --pid="${writers[node]}" -f /dev/null; then
            echo "the writer of node $node hangs"
            return 1
        fi
        slowest=$(sed -n 's/^slowest //p' "log$node")
        echo "node $node: slowest call $slowest s; $(grep error "log$node" || echo no error)"
        [ "${slowest%.*}" -lt $((timeout + 15)) ] || return 1
        ! grep error "log$node" || return 1
    done
}
