#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view: check, map, owner, cat.
# shellcheck disable=SC2154 # stderr, stderr_lines and top come from bats and the helper

load helper

# Four ranks have 8 bytes of every 32, behind a header of 16 bytes. The last etype is incomplete.
strided_spec() {
    make_file f.dat 3220
    cat >f.json <<'END'
{ "viewspec": 1, "file": "f.dat", "ranks": 4, "let": { "header": 16 },
  "view": { "disp": "header + 8 * rank", "etype": "double",
            "filetype": { "type": "resized", "lb": 0, "extent": "8 * ranks" } } }
END
}

# Two views of a file of 24 bytes. One of them is the same for both ranks.
two_views() {
    printf 'abcdefghijklmnopqrstuvwx' >t.dat
    cat >t.json <<'END'
{ "viewspec": 1, "file": "t.dat", "ranks": 2,
  "views": {
    "all": {},
    "half": { "disp": "3 * rank", "etype": { "type": "contiguous", "oldtype": "byte", "count": 3 },
              "filetype": { "type": "resized", "lb": 0, "extent": 6 } } } }
END
}

# slice FILE DISP RANK: prints a slice of strided_spec, cut out by python.
slice() {
    /usr/bin/python3 "$call" make_slice "$@"
}

@test "view: help and version" {
    local command
    [[ $(mpiio-view --version) =~ ^mpiio-view\ [0-9]+\.[0-9]+ ]]
    mpiio-view --help | grep -q '^Usage: mpiio-view'
    for command in check map owner cat put dump convert spec; do
        mpiio-view --help | grep -q "^  $command "
        mpiio-view "$command" --help | grep -q "^Usage: mpiio-view $command SPEC"
        mpiio-view "$command" --help | grep -q '^Examples:$'
        [ "$(mpiio-view "$command" --version)" = "$(mpiio-view --version)" ]
    done
}

@test "view: wrong usage gives one line and exit status 2" {
    strided_spec
    fails 2 "a subcommand is missing (see mpiio-view --help)" mpiio-view
    fails 2 "chek: no such subcommand (see mpiio-view --help)" mpiio-view chek f.json
    misused "SPEC is missing" map -r 0
    misused "-r RANK is missing" map f.json
    misused "DISP is missing" owner f.json
    misused "x: one argument too many" check f.json x
    misused "-x: no such option" cat -x f.json
    misused "--frob=1: no such option" cat --frob=1 f.json
    misused "-r: the value is missing" cat f.json -r
    misused "-r: not an option of this subcommand" check f.json -r 0
    misused "--rank: not an option of this subcommand" check f.json --rank 3
    misused "--svg: not an option of this subcommand" check f.json --svg=x
    misused "--ran: no such option" cat f.json --ran 3
    misused "-r two: expected the number of a rank" cat f.json -r two
    fails 2 "-r 4: the ranks are 0 .. 3" mpiio-view cat f.json -r 4
    misused "-n 0: expected a number of ranks, 1 .. 2147483647" cat f.json -r 0 -n 0
    misused "--offset 5q: expected a number of bytes, such as 4096, 4k, 1M" map f.json -r 0 --offset 5q
    misused "--length 9000000T: more than 2^63-1 bytes" map f.json -r 0 --length 9000000T
}

@test "view: an invalid spec gives exit status 2, with the position" {
    printf '{ "viewspec": 1, "file": "f.dat",\n  "view": { "etype": "dubble" } }\n' >bad.json
    one_line 2 "mpiio-view: bad.json:2:22: /view/etype: *" mpiio-view cat bad.json -r 0
    one_line 2 "mpiio-view: none.json: *No such file or directory" mpiio-view check none.json
}

@test "view: -n, -f and -D override the spec" {
    strided_spec
    mv f.dat g.dat
    cmp <(slice g.dat 0 1) <(mpiio-view cat f.json -f g.dat -D header=0 -r 1)
    [ "$(mpiio-view map f.json -n 8 -f g.dat -r 7 | head -n 2)" = $'0\t72\t8\n8\t136\t8' ]
}

@test "view: map prints offset, displacement and length up to the end of the slice" {
    strided_spec
    mpiio-view map f.json -r 3 >runs
    [ "$(head -n 2 runs)" = $'0\t40\t8\n8\t72\t8' ]
    [ "$(tail -n 1 runs)" = $'792\t3208\t8' ]
    [ "$(wc -l <runs)" -eq 100 ]
    # The bytes are at the displacements that it prints.
    while read -r _ place length; do
        tail -c +$((place + 1)) f.dat | head -c "$length"
    done <runs >bytes
    cmp bytes <(mpiio-view cat f.json -r 3)
}

@test "view: map of a range, cut inside runs, adjacent runs merged; without a file one tile, or what --length says" {
    strided_spec
    two_views
    [ "$(mpiio-view map f.json -r 0 --offset 4 --length 10)" = $'4\t20\t4\n8\t48\t6' ]
    [ "$(mpiio-view map f.json -r 0 --offset 1k --length 8)" = $'1024\t4112\t8' ]
    [ "$(mpiio-view map t.json -v all -r 1)" = $'0\t0\t24' ]
    [ -z "$(mpiio-view map f.json -r 0 --offset 1M)" ]
    [ -z "$(mpiio-view map f.json -r 0 --length 0)" ]
    rm f.dat
    run -0 --separate-stderr mpiio-view map f.json -r 1
    [ "$output" = $'0\t24\t8' ]
    [[ $stderr == "mpiio-view: "*"f.dat: No such file or directory: showing one tile"* ]]
    run -0 --separate-stderr mpiio-view map f.json -r 1 --length 12
    [ "$output" = $'0\t24\t8\n8\t56\t4' ]
    [ -z "$stderr" ]
}

@test "view: owner is the inverse of map, for every byte" {
    local place rank
    two_views
    for rank in 0 1; do
        mpiio-view map t.json -v half -r "$rank" |
            awk -v rank="$rank" '{ for (i = 0; i < $3; i++)
                                       printf "%d\thalf\t%d\t%d\n", $2 + i, rank, $1 + i }'
    done | sort -n >expected
    for ((place = 0; place < 24; place++)); do
        mpiio-view owner t.json "$place" | sed "s/^/$place\t/"
    done >got
    [ "$(grep -c all got)" -eq 48 ]
    diff expected <(grep half got)
}

@test "view: owner prints - for an unnamed view, and nothing if no slice has the byte" {
    strided_spec
    [ "$(mpiio-view owner f.json 48)" = $'-\t0\t8' ]
    [ -z "$(mpiio-view owner f.json 3)" ]
    [ "$(mpiio-view owner f.json 3k)" = $'-\t2\t760' ]
    [ "$(mpiio-view owner f.json -n 100000 -D header=0 3000)" = $'-\t375\t0' ] # among 100000 ranks
    # The last etype is incomplete, so no slice shows it.
    [ -z "$(mpiio-view owner f.json 3217)" ]
    run -0 --separate-stderr mpiio-view owner f.json 5000
    [ -z "$output" ]
    [[ $stderr == "mpiio-view: "*"f.dat: displacement 5000 is behind the end of the file (3220 bytes)" ]]
    rm f.dat
    [ "$(mpiio-view owner f.json 3217)" = $'-\t0\t801' ]
}

@test "view: cat writes the slice, and fails without a file" {
    local rank
    strided_spec
    for rank in 0 1 2 3; do
        cmp <(slice f.dat 16 "$rank") <(mpiio-view cat f.json -r "$rank")
    done
    cmp <(slice f.dat 16 2 | tail -c +101 | head -c 50) \
        <(mpiio-view cat f.json -r 2 --offset 100 --length 50)
    [ -z "$(mpiio-view cat f.json -r 2 --offset 1G)" ]
    [ -z "$(mpiio-view cat f.json -r 2 --length 0)" ]
    rm f.dat
    one_line 1 "mpiio-view: *f.dat: No such file or directory" mpiio-view cat f.json -r 0
}

@test "view: cat of many megabytes, any offset; ends quietly if its reader exits, but not if a device is full" {
    strided_spec
    make_file f.dat 100000007
    slice f.dat 16 1 >expected
    cmp expected <(mpiio-view cat f.json -r 1)
    cmp <(tail -c +3000002 expected | head -c 9000001) \
        <(mpiio-view cat f.json -r 1 --offset 3000001 --length 9000001)
    cmp <(tail -c +1048577 expected) <(mpiio-view cat f.json -r 1 --offset 1M --length 1T)
    [ "$(mpiio-view cat f.json -r 0 2>err | head -c 3 | wc -c)" -eq 3 ]
    [ "$(mpiio-view map f.json -r 0 2>>err | head -n 1)" = $'0\t16\t8' ]
    (trap '' PIPE && mpiio-view cat f.json -r 0 2>>err | head -c 3 >/dev/null)
    (trap '' PIPE && mpiio-view map f.json -r 0 2>>err | head -n 1 >/dev/null)
    [ ! -s err ]
    complains 1 "mpiio-view: standard output: No space left on device" bash -c 'mpiio-view cat f.json -r 0 >/dev/full'
    complains 1 "mpiio-view: standard output: No space left on device" bash -c 'mpiio-view map f.json -r 0 >/dev/full'
    complains 1 "mpiio-view: standard output: No space left on device" bash -c 'mpiio-view --help >/dev/full'
}

@test "view: cat needs a view if there are several" {
    two_views
    [ "$(mpiio-view cat t.json -v half -r 1)" = defjklpqrvwx ]
    fails 2 "several views: choose one with -v (all, half)" mpiio-view cat t.json -r 1
    fails 2 "-v none: no such view (there are: all, half)" mpiio-view cat t.json -v none -r 1
}

@test "view: progress appears on a terminal, and only there" {
    strided_spec
    make_file f.dat 64000000
    # A slow reader makes the copy take longer than a second, after which the line appears.
    cat >slow <<'END'
mpiio-view cat f.json -r 0 | (sleep 3; cat >copy)
END
    script -qec "bash slow" /dev/null </dev/null >screen 3>&-
    grep -qE 'mpiio-view: [0-9.]+ [KM]iB, [0-9]+ %, [0-9.]+ [A-Za-z]+/s' screen
    bash slow >log 2>&1
    [ ! -s log ]
    cmp copy <(slice f.dat 16 0)
}

@test "view: check of 10^12 elements uses closed forms; it fails if the spec cannot be used" {
    strided_spec
    timeout 300 mpiio-view check --view 'darray 1000003x1000001 cyclic(3),block on 64x64 of double' f.dat >out
    grep -qx '  partition  yes: each byte is in exactly one slice (period 8000032000024 bytes, coverage 100 %, closed form)' out
    sed 's/header + /header - /' f.json >negative.json
    job_line 1 "mpiio-view: negative.json:*: /view/disp: *" mpiio-view check negative.json
}

@test "view: map and owner for elements with other sizes in the file" {
    strided_spec
    sed 's/"double",/"double", "datarep": "big-endian",/' f.json >swapped.json
    mpiio-view check swapped.json
    [ "$(mpiio-view map swapped.json -r 0 --length 8)" = $'0\t16\t8' ]
    [ "$(mpiio-view owner swapped.json 52)" = $'-\t0\t12' ]
    # A byte and a long, which has four bytes in the file. Every other record belongs to rank 0.
    one_view n.dat 2 '{ "disp": 3, "datarep": "external32",
            "etype": { "type": "struct", "blocklengths": [1, 1], "displacements": [0, 1],
                       "types": ["byte", "long"] },
            "filetype": { "type": "scatter" } }' >n.json
    make_file n.dat 1003
    mpiio-view check n.json
    [ "$(mpiio-view map n.json -r 1 --length 18)" = $'0\t8\t5\n9\t18\t5' ]
    [ "$(mpiio-view map n.json -r 1 --offset 5 --length 5)" = $'1\t9\t4\n9\t18\t1' ]
    [ "$(mpiio-view map n.json -r 0 | awk '{ n += $3 } END { print n, NR, $1 }')" = "500 100 891" ]
    [ "$(mpiio-view owner n.json 18)" = $'-\t1\t9' ]
    [ "$(mpiio-view owner n.json 21)" = $'-\t1\t10' ]
    rm n.dat
    [ "$(mpiio-view map n.json -r 1 2>/dev/null)" = $'0\t8\t5' ]
}

# Each block of JSON in viewspec(5) is a valid spec. The commands after it print what the page
# shows.
@test "view: the examples of viewspec(5) are true" {
    /usr/bin/python3 "$call" examples_are_true "$top/man/viewspec.5.scd"
}
