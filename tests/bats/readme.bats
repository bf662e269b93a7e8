#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands of the README and of mpiio-cookbook(7) print what the texts say, and the README's
# picture is what mpiio-view draws.

load helper

# run_readme FILE: runs the commands of the README in an empty folder beside the sources' tests.
run_readme() {
    mkdir demo
    ln -s "$top/tests" tests
    cd demo || return
    use_module
    # Open MPI may be the one whose mpiexec has the plain name.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
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

# run_cookbook FILE [COMMAND...]: runs the recipes of a manual page in folders beside the sources'
# tests, by this command.
run_cookbook() {
    ln -sfn "$top/tests" tests
    rm -rf recipe*
    PATH=/usr/bin:$PATH run "${@:2}" /usr/bin/python3 "$top/tests/readme/run.py" "$1"
    echo "$output"
}

# cookbook LINE...: writes a page with one recipe of these lines to $tmp/page.scd.
cookbook() {
    printf '%s\n' '# BY TASK' '' '## Print' '' "$@" '' '# NOTES' >page.scd
}

@test "cookbook: every recipe prints what the page says, and leaves nothing mounted" {
    local apart=()
    # A container would keep mounts of other tests.
    [ "$EUID" -ne 0 ] || apart=("$top/tests/let_go" --keep "$tmp")
    run_cookbook "$top/man/mpiio-cookbook.7.scd" "${apart[@]}"
    [ "$status" -eq 0 ]
    # slurm.bats runs the recipe that needs Slurm. Each section of the chapters on recipes is one.
    [ "$(sed -n 's/^; needs //p' "$top/man/mpiio-cookbook.7.scd")" = slurm ]
    [ "$output" = "recipes: $(($(grep -c '^## ' "$top/man/mpiio-cookbook.7.scd") - 1))" ]
}

@test "cookbook: a recipe may have files, hidden commands, commands of several lines, and dots" {
    # shellcheck disable=SC2016 # the recipe's shell expands it
    cookbook '; $ echo hidden >before' '; file with.json' '```' '{ "a": "\*" }' '```' '' '```' \
        '$ cat before with.json' hidden '{ "a": "*" }' \
        '$ for i in 1 2; do' '>     printf "$i\\tx\\n"' '> done' \
        '1       x' '2       x' '$ echo $$' '...' '$ pwd; ls' /home/me before mnt with.json '```'
    run_cookbook page.scd
    [ "$status" -eq 0 ]
    [ "$output" = "recipes: 1" ]
}

# finds LINE...: running a cookbook of these lines must fail. Sets output and lines, as run does.
finds() {
    cookbook "$@"
    run_cookbook page.scd
    [ "$status" -eq 1 ]
}

@test "cookbook: a recipe that differs, fails, is too long or leaves a mount is found" {
    finds '```' '$ echo one' two '```'
    grep -qx -- '-two' <<<"$output"
    finds '```' '$ echo a ... b' 'a ... c' '```'
    finds '; $ echo why; false' '```' '$ echo one' one '```'
    grep -qx why <<<"$output"
    finds '```' '$ false' '```'
    grep -q 'ended with status 1' <<<"$output"
    finds '```' '$ :' '> :' '> :' '> :' '> :' '> :' '> :' '> :' '> :' '> true' '```'
    [ "${lines[0]}" = "Print: 10 lines of commands, more than 9" ]
    finds '; $ echo x >x' '```' "\$ mpiio-mount --view 'broadcast of byte' x mnt" '```'
    [ "${lines[0]}" = "Print: mnt is still mounted" ]
    mpiio-umount recipe1/mnt
    finds '; needs moon' '```' '$ true' '```'
    [ "$output" = "recipes: 0" ]
}
