#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tests that hang are ended, reported with their processes, and counted as failed. The run
# continues. A failed test is reported with its line.

load helper

# runs_topic VARIABLE=VALUE...: runs the tests of $tmp/tests/bats/hang.bats as a separate run.
runs_topic() {
    local file
    for file in helper.bash setup_suite.bash; do
        cp "$top/tests/bats/$file" tests/bats
    done
    cp "$top/tests/watchdog.py" tests
    run timeout 300 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "MPIIO_BUILD=$MPIIO_BUILD" MPIIO_TEST_TICK=0.1 \
        "MPIIO_TEST_DIR=$tmp" "$@" \
        bats --formatter tap --print-output-on-failure tests/bats/hang.bats 3>&-
    echo "$output"
}

# topic: reads hang.bats from stdin. It has "test" for "@test", which bats would take for a test of
# this file.
topic() {
    mkdir -p tests/bats
    { echo "load helper" && sed "s/^test /@test /"; } >tests/bats/hang.bats
}

# Succeeds once the watchdog has noticed the end of the run.
no_watchdog() {
    [ -z "$(pgrep -f "$tmp/tests/watchdog.py")" ]
}

@test "watchdog: tests that hang in a program, a mount and the shell are ended and reported; the next one runs" {
    topic <<'END_OF_TOPIC'
test "program" {
    echo "node 1 is lost" >log
    sh -c 'trap "" TERM; sleep 1000; sleep 1000'
}
test "mount" {
    mount_spec "$top/s.json"
    stop_process "$(daemon_pid)"
    cat "$mnt/rank0"
}
test "shell" {
    while :; do sleep 0.1 || true; done
}
test "stubborn" {
    trap '' TERM
    while :; do :; done
}
test "survives" {
    sleep 1000 || true
}
test "left behind" {
    (trap '' TERM; while :; do sleep 1; done) &
}
test "fine" {
    true
}
END_OF_TOPIC
    : >s.dat
    dealt s.dat 4 512 >s.json
    runs_topic MPIIO_TEST_LIMIT=8
    [ "$(grep -c '^ok' <<<"$output")" -eq 2 ]
    [[ $output == *'ok 7 fine'* ]]
    [ "$(grep -c '^not ok' <<<"$output")" -ge 4 ]
    for name in program mount shell stubborn survives; do
        [[ $output == *"watchdog: $name: runs for "* ]]
    done
    # The report names the test that hung.
    [[ $output == *' sleep S '* ]]
    [[ $output == *' cat D '* ]] || [[ $output == *' cat S '* ]]
    [[ $output =~ mpiio-fused\ T\ .*\ x[0-9] ]]
    [[ $output == *'  log: node 1 is lost'* ]]
    await no_watchdog
}

@test "watchdog: when the time for all tests is over, the remaining tests and the run are ended" {
    topic <<'END_OF_TOPIC'
test "first" {
    sleep 1000
}
test "second" {
    sleep 1000
}
END_OF_TOPIC
    runs_topic "MPIIO_TEST_END=$(($(date +%s) + 3))"
    [ "$(grep -c '^not ok' <<<"$output")" -eq 2 ]
    [[ $output == *'watchdog: second: the time for all tests is over'* ]]
}

@test "helper: a failed test is reported with its line, also if bash runs no ERR trap for it" {
    topic <<'END_OF_TOPIC'
wrong() {
    true
    [ 1 -eq 2 ]
}
test "command" {
    true
    [ 1 -eq 2 ]
}
test "function" {
    true
    wrong
}
test "subshell" {
    (wrong)
}
test "negation" {
    true
    ! true
}
test "return" {
    return 3
}
test "exit" {
    exit 3
}
test "unset" {
    set -u
    echo "$nothing"
}
END_OF_TOPIC
    runs_topic
    grep -oE 'line [0-9]+,?\)?$' <<<"$output" | tr -dc '0-9\n' >lines
    diff lines <(printf '%s\n' 8 4 12 15 19 22 25 29) # 4 is in wrong()
    [ "$(grep -c 'failed with status 3$' <<<"$output")" -eq 2 ]
}
