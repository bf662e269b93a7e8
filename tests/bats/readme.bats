#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The README's commands print what it says, and its picture is what mpiio-view draws.

load helper

# run_readme FILE: runs the commands of the README in an empty folder beside the sources' tests.
run_readme() {
    mkdir demo
    ln -s "$top/tests" tests
    cd demo || return
    # The README's python3 is Debian's, which has NumPy.
    PATH=/usr/bin:$PATH run /usr/bin/python3 "$top/tests/readme/run.py" "$1"
    echo "$output"
}

@test "readme: every command prints what the README says" {
    run_readme "$top/README.md"
    [ "$status" -eq 0 ]
    mpiio-view draw --svg field.svg field.json
    cmp field.svg "$top/man/field.svg"
}

@test "readme: output that differs, and a command that fails, are found" {
    printf '%s\n' '```console' '$ echo one' one '$ echo two' three '```' >"$tmp/README.md"
    run_readme "$tmp/README.md"
    [ "$status" -eq 1 ]
    grep -qx -- '-three' <<<"$output"
    grep -qx -- '+two' <<<"$output"
    cd "$tmp" && rm -r demo tests
    printf '%s\n' '```console' '$ false' '```' >"$tmp/README.md"
    run_readme "$tmp/README.md"
    [ "$status" -eq 1 ]
}
