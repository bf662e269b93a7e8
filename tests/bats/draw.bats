#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view draw: as text and as SVG. Drawings and their specs are in tests/draw.

load helper

setup() {
    begin_test
    cd "$top/tests/draw" || return
}

# owners RANKS ELEMENT SPEC OPTION...: checks every cell of the drawing against mpiio-view map.
owners() {
    /usr/bin/python3 "$top/tests/draw/owners.py" "$@"
}

# figure SPEC OPTION...: draws f.svg, checks that it is XML, and renders it as f.png.
figure() {
    mpiio-view draw "$@" --svg f.svg
    /usr/bin/python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' f.svg
    rsvg-convert f.svg -o f.png
}

@test "draw: drawings are the same as the stored ones" {
    local name words
    while read -r name words; do
        echo "$name"
        # shellcheck disable=SC2086 # a list of words
        mpiio-view draw --width 80 $words | diff -u "$name.txt" -
    done <cases
}

@test "draw: cells of a line, and of an array, agree with the map" {
    owners 4 0 scatter.json --offset 0 --window 200
    owners 6 0 scatter.json -n 6 --offset 3
    owners 4 0 scatter.json --window 1000 --width 40
    owners 3 0 overlap.json --window 2000 --width 50
    owners 4 0 columns.json
    owners 3 0 columns.json -n 3 --window 1500 --width 30
    owners 3 0 gaps.json -v twice --window 2k --width 60
    owners 3 0 gaps.json -v interleaved
    owners 4 8 cyclic.json
    owners 4 8 cyclic.json --width 24
    owners 3 4 fortran.json
    owners 4 8 halo.json --width 21
    owners 4 8 halo.json --offset 500 --window 300
    owners 4 8 halo.json --offset 100000
    owners 8 8 cube.json --width 22
    owners 8 8 cube.json --offset 700 --window 100
}

@test "draw: random views agree with the map" {
    local i
    cd "$tmp"
    for i in 1 2 3 4 5 6 7 8; do
        /usr/bin/python3 "$call" random_views_say_what_the_map "$i" >r.json
        cat r.json
        owners 3 0 r.json --window 150
        owners 3 0 r.json --offset 4 --window 90 --width 30
    done
}

@test "draw: bytes at large displacements" {
    local view range
    for view in end lines wide tall planes external mixed; do
        for range in "--window 8000000T" "--offset 8388607T" "--width 1000" \
            "--offset 8388607T --window 8388607T" "--offset 3814697T --window 2861022T"; do
            # shellcheck disable=SC2086 # a list of words
            mpiio-view draw extreme.json -v "$view" $range >"$tmp/far.txt"
            # shellcheck disable=SC2086
            mpiio-view draw extreme.json -v "$view" $range --svg "$tmp/far.svg"
            grep -q '^a cell is ' "$tmp/far.txt"
        done
    done
}

@test "draw: colours only if they are requested" {
    local escape=$'\033'
    [[ $(mpiio-view draw scatter.json) != *"$escape"* ]]
    [[ $(mpiio-view draw scatter.json --color=never) != *"$escape"* ]]
    [[ $(mpiio-view draw scatter.json --color=always) == *"$escape"* ]]
    [[ $(NO_COLOR=1 mpiio-view draw scatter.json --color=always) == *"$escape"* ]]
    local draw="mpiio-view draw scatter.json"
    [[ $(TERM=xterm script -qec "$draw" /dev/null) == *"$escape"* ]]
    [[ $(TERM=xterm script -qec "$draw --color never" /dev/null) != *"$escape"* ]]
    [[ $(TERM=xterm NO_COLOR=1 script -qec "$draw" /dev/null) != *"$escape"* ]]
    [[ $(TERM=dumb script -qec "$draw" /dev/null) != *"$escape"* ]]
    # Colours do not change anything else.
    diff <(mpiio-view draw halo.json) \
        <(mpiio-view draw halo.json --color always | sed 's/\x1b\[[0-9;]*m//g')
}

@test "draw: the width is that of the terminal, of COLUMNS or of --width" {
    diff <(COLUMNS=30 mpiio-view draw scatter.json) <(mpiio-view draw scatter.json --width 30)
    diff <(env -u COLUMNS mpiio-view draw scatter.json) scatter.txt
    diff <(script -qec 'stty cols 30; mpiio-view draw scatter.json --color never' /dev/null |
        tr -d '\r') scatter-narrow.txt
    [ "$(mpiio-view draw large.json --width 60 | wc -L)" -le 100 ]
    [ "$(mpiio-view draw large.json --width 60 | grep -E '^ *[0-9]+ +[0-9]+ ' | wc -L)" -le 60 ]
}

@test "draw: shows where the file ends" {
    truncate -s 40 "$tmp/short.dat"
    mpiio-view draw scatter.json -f "$tmp/short.dat" | grep -q 'the file ends at 40$'
    truncate -s 4000 "$tmp/short.dat"
    run ! grep -q 'the file ends' <(mpiio-view draw scatter.json -f "$tmp/short.dat")
}

@test "draw: a million ranks" {
    mpiio-view draw many.json -v dealt -n 1000000 --width 80 >"$tmp/many.txt"
    grep -qx 'a cell is 1 etype: 8 bytes; from displacement 4096 to 5376' "$tmp/many.txt"
    grep -qx '  4096>     0      1      2      3      4      5      6      7      8      9' \
        "$tmp/many.txt"
    mpiio-view draw many.json -v dealt -n 1000000 --offset 8004000 --window 100 --width 80 |
        grep -qx '8004000 999988 999989 999990 999991 999992 999993 999994 999995 999996 999997'
}

@test "draw: figures: darray; overlaps are striped in their owners' colours" {
    cd "$tmp"
    figure "$top/tests/draw/cyclic.json"
    /usr/bin/python3 "$call" distributed
    figure "$top/tests/draw/fortran.json"
    /usr/bin/python3 "$call" fortran
    figure "$top/tests/draw/halo.json"
    /usr/bin/python3 "$call" overlapping
}

@test "draw: figures: all specs render, also with names that XML does not allow" {
    local name words
    cd "$tmp"
    cp "$top"/tests/draw/*.json .
    while read -r name words; do
        echo "$name"
        # shellcheck disable=SC2086 # a list of words
        figure $words
        [ "$(stat -c %s f.png)" -gt 2000 ]
        grep -q '<title>' f.svg
    done <"$top/tests/draw/cases"
    figure cube.json
    [ "$(grep -c '>plane [0-5]<' f.svg)" -eq 6 ]
    diff f.svg <(mpiio-view draw cube.json --svg -)
    cp "$top/tests/draw/scatter.json" $'a&b<c>\x01\xff\xc3\xa9.json'
    figure $'a&b<c>\x01\xff\xc3\xa9.json'
    /usr/bin/python3 -c 'import xml.dom.minidom as x
title = x.parse("f.svg").getElementsByTagName("title")[0].firstChild.data
assert title.startswith("a&b<c>??\u00e9.json: "), title'
}

@test "draw: figures: a file that cannot be written is reported" {
    fails 1 "$tmp/none/f.svg: No such file or directory" \
        mpiio-view draw scatter.json --svg "$tmp/none/f.svg"
    fails 1 "/dev/full: No space left on device" mpiio-view draw scatter.json --svg /dev/full
    [ -c /dev/full ]
}

@test "draw: wrong usage" {
    fails 2 "several views: choose one with -v (sparse, interleaved, twice, same, nothing)" \
        mpiio-view draw gaps.json
    misused "--color blue: expected always, auto or never" draw scatter.json --color blue
    misused "--width 5: expected a number of columns, 20 .. 1000" draw scatter.json --width 5
    misused "--window 0: nothing to draw" draw scatter.json --window 0
    misused "-r: not an option of this subcommand" draw scatter.json -r 0
    misused "--svg: not an option of this subcommand" cat scatter.json -r 0 --svg f.svg
}
