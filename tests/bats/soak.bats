#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scripts/soak: some rounds of it, always the same; by hand it goes on for as long as one likes.

load helper

soak() {
    MPIIO_TEST_DIR=$tmp timeout -k 5 900 "$top/scripts/soak" "$@" 3>&-
}

@test "soak: random views, options and operations are what a model says" {
    run -0 soak --seed 2026 --rounds 20
    echo "$output"
    [ "${lines[0]}" = "seed 2026" ]
    [ "${lines[-1]}" = "20 rounds, nothing found" ]
    run -1 compgen -G "$tmp/mpiio-soak.*"
}

@test "soak: --help says what it does, wrong usage is status 2" {
    run -0 soak --help
    [[ $output == "usage: soak "* && $output == *"the fuzzing of the"* ]]
    run -2 soak --frob
    run -2 soak soon
}

@test "soak: what others have mounted is not kept by tests/let_go, but for what it is to keep" {
    scatter_spec
    mount_spec s.json
    run ! as_root "$top/tests/let_go" grep -F " $mnt " /proc/self/mountinfo
    as_root "$top/tests/let_go" --keep "$tmp" grep -F " $mnt " /proc/self/mountinfo
    # Its own namespace is not the test's.
    is_mounted
}
