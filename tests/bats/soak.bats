#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Runs some rounds of scripts/soak, always the same ones. By hand it can run for any time.

load helper

soak() {
    MPIIO_TEST_DIR=$tmp timeout -k 5 900 "$top/scripts/soak" "$@" 3>&-
}

@test "soak: random views, options and operations agree with a model" {
    run -0 soak --seed 2026 --rounds 20
    echo "$output"
    [ "${lines[0]}" = "seed 2026" ]
    [ "${lines[-1]}" = "20 rounds, nothing found" ]
    run -1 compgen -G "$tmp/mpiio-soak.*"
}

@test "soak: --help describes it, wrong usage is status 2" {
    run -0 soak --help
    [[ $output == "usage: soak "* && $output == *"the fuzzing of the"* ]]
    run -2 soak --frob
    run -2 soak soon
}

@test "soak: tests/let_go releases mounts of other programs, except for those that it must keep" {
    mount_new scatter
    run ! as_root "$top/tests/let_go" grep -F " $mnt " /proc/self/mountinfo
    as_root "$top/tests/let_go" --keep "$tmp" grep -F " $mnt " /proc/self/mountinfo
    # Its namespace is not the test's.
    is_mounted
}
