#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The options and statistics of the programs are in the manual and in bash's completion.

load helper

setup() {
    begin_test
    # shellcheck source=../../scripts/completion.bash
    source "$top/scripts/completion.bash"
    subcommands=$(mpiio-view --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    fused_help=$(mpiio-fused --help)
}

# completed WORD...: prints the completions of the last word, one a line.
completed() {
    compopt() { :; }
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    "_${1/-/_}"
    printf '%s\n' "${COMPREPLY[@]}"
}

# missing WORDS FILE TEXT: prints the words of WORDS that FILE lacks, each with TEXT. Fails if there
# are any.
missing() {
    [ -s "$1" ] || echo "$1: empty" >>bad
    sort -u "$1" | comm -23 - <(sort -u "$2") | sed "s/\$/: $3/" >>bad
}

# section FILE TITLE: prints a section of a manual page's source, without escapes.
section() {
    sed -n "/^# $2\$/,/^# /p" "$top/man/$1" | sed 's/\\//g'
}

# mount_options: prints the options that the daemon lists as its own, with '=' if they have a value.
mount_options() {
    sed -n '/^Mount options:/,/^$/s/^  \([a-z_]*=\{0,1\}\).*/\1/p' <<<"$fused_help"
}

# options COMMAND...: prints the long options that the command's help lists.
options() {
    "$@" --help | sed -nE 's/^ +(-[A-Za-z], )?(--[a-z][a-z-]+).*/\2/p' | sort -u
}

@test "man pages: every option of --help is described" {
    local command page option section sub
    for command in mpiio-mount mpiio-umount mpiio-fused mpiio-engine-mpich mpiio-view; do
        section=1
        [[ $command != mpiio-fused && $command != mpiio-engine-* ]] || section=8
        page=$top/man/${command%-mpich}.$section.scd
        if [ ! -f "$page" ]; then
            echo "$command: no man page"
            continue
        fi
        {
            options "$command"
            if [ "$command" = mpiio-view ]; then
                for sub in $subcommands; do
                    options mpiio-view "$sub"
                done
            fi
        } | sort -u | while read -r option; do
            sed 's/\\//g' "$page" | grep -qF -- "$option" || echo "$command: $option: not in man page"
        done
    done >bad
    empty bad
}

@test "manual: every mount option is in the manual and in the completion" {
    mount_options >own
    [ "$(wc -l <own)" -gt 10 ]
    section mpiio-mount.1.scd 'MOUNT OPTIONS' | grep '^\*' | grep -oE '\*[a-z][a-z_]+=?' | tr -d '*' >described
    completed mpiio-mount -o '' | sed 's/=.*/=/' >offered
    missing own described 'not in mpiio-mount(1)'
    missing own offered 'not in the completion'
    # Also the values that an option can have.
    grep -oE '^  [a-z_]+=[a-z-]+(\|[a-z-]+)+' <<<"$fused_help" |
        awk -F= '{ n = split($2, value, "|"); for (i = 1; i <= n; i++) { sub(/^ */, "", $1); print $1 "=" value[i] } }' \
            >values
    completed mpiio-mount -o '' >offered
    missing values offered 'not in the completion'
    empty bad
}

@test "manual: the manual and the completion have no unknown mount option" {
    local option
    {
        section mpiio-mount.1.scd 'MOUNT OPTIONS' | grep '^\*' | grep -oE '\*[a-z][a-z_]+=?' | tr -d '*'
        completed mpiio-mount -o ''
        sed -n '/^Those of FUSE/,/^$/p' <<<"$fused_help" | tr ',() ' '\n' | grep -E '_|^no|=NAME'
    } >named
    [ "$(wc -l <named)" -gt 30 ]
    while read -r option; do
        mpiio-fused -o "$option" 2>&1 | grep -F 'unknown mount option' || true
    done <named >bad
    empty bad
}

@test "manual: every subcommand of mpiio-view, and every option of a command, is in the manual and in the completion" {
    local command sub
    echo "$subcommands" >subcommands
    sed -n 's/^\*mpiio-view \([a-z]*\)\*.*/\1/p' "$top/man/mpiio-view.1.scd" >described
    completed mpiio-view '' | grep -v '^-' >offered
    missing subcommands described 'not in mpiio-view(1)'
    missing subcommands offered 'not in the completion'
    missing described subcommands 'no subcommand'
    missing offered subcommands 'no subcommand'
    for command in mpiio-mount mpiio-umount; do
        options "$command" >taken
        completed "$command" - | sed 's/=$//' >offered
        missing taken offered "not in the completion of $command"
    done
    for sub in $subcommands; do
        options mpiio-view "$sub" | grep -v '^--version$' >taken
        completed mpiio-view "$sub" - >offered
        missing taken offered "not in the completion of mpiio-view $sub"
    done
    empty bad
}

@test "manual: every message of a failure is in the manual, and no others" {
    /usr/bin/python3 "$top/tests/manual/messages.py" "$top" >bad || [ -s bad ]
    empty bad
}

@test "manual: every statistic is in the manual, and no others" {
    # The names of stats.json, in quotes or as an argument of print_number.
    find "$top/fusefs" -name stats.c -exec cat {} + | grep -oE '\\"[a-z_]+\\":|print_number\(out, "[^"]*", "[a-z_]+"' |
        sed 's|.*, ||' | tr -cd 'a-z_\n' >names
    [ "$(sort -u names | wc -l)" -gt 40 ]
    sed -n '/stats\.json$/,/^# /p' "$top/man/mpiio-fused.8.scd" | grep -oE '\b_[a-z_]+_' |
        sed 's/^_//; s/_$//' >described
    missing names described 'not in mpiio-fused(8)'
    # The page names the kinds of requests. One of these names stands for something else.
    find "$top/fusefs" -name stats.c -exec sed -n '/request_names\[/,/};/p' {} + |
        grep -oE '"[a-z]+"' | tr -d '"' >>names
    missing described names 'no statistic'
    empty bad
}

@test "completion: options, subcommands, views and ranks of the spec" {
    cat >v.json <<'END'
{ "viewspec": 1, "ranks": 3, "views": { "even": {}, "odd": {} } }
END
    gives check completed mpiio-view ch
    gives $'even\nodd' completed mpiio-view map v.json -v ''
    gives $'0\n1\n2' completed mpiio-view cat v.json -r ''
    gives external32 completed mpiio-view convert v.json --to e
    gives $'text\ncsv\njson' completed mpiio-view dump v.json -r 0 --format ''
    gives $'always\nauto' completed mpiio-view draw v.json --color a
    gives --output completed mpiio-view capture --o
    gives v.json completed mpiio-view capture -- mpiexec v.j
    gives $'darray\ndarray ' completed mpiio-view map -v "'dar"
    gives $'darray 4x4 block,none\ndarray 4x4 block,none ' completed mpiio-view map -v "'darray 4x4 block,n"
    gives $'scatter of double\nscatter of double_precision' completed mpiio-mount --view "'scatter of dou"
    gives spec completed mpiio-view sp
    gives --ranks completed mpiio-mount --ra
    run -0 completed mpiio-view spec --view '"scatter as '
    [ "${lines[1]}" = 'scatter as external32' ]
    run -0 completed mpiio-umount --
    [[ $output == *--force* ]]
    # Without a program that reads JSON, completion offers nothing, and nothing breaks.
    jq() {
        return 127
    }
    gives '' completed mpiio-view map v.json -v ''
}
