#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view draw: as text and as SVG. Drawings and their specs are in tests/draw.
# shellcheck disable=SC2154 # stderr, tmp and top come from bats and the helper

load helper

# owners RANKS ELEMENT SPEC OPTION...: every cell of the drawing agrees with mpiio-view map.
owners() {
    /usr/bin/python3 "$top/tests/draw/owners.py" "$@"
}

# figure SPEC OPTION...: draws into f.svg, checks that it is XML, renders it as f.png.
figure() {
    mpiio-view draw "$@" --svg f.svg
    /usr/bin/python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' f.svg
    rsvg-convert f.svg -o f.png
}

# colors < PYTHON: runs python with `cells`, the places of the cells of f.svg from left to
# right and from the top, and `pixels`, those of f.png: at(cell) is the colour near a cell's
# corner, all_of(cell) the set of its colours, and rank[n] the colour of rank n.
colors() {
    cat >check.py <<'END'
import struct, zlib, xml.etree.ElementTree as tree
import numpy

def read_png(name):
    data, place, packed = open(name, "rb").read(), 8, b""
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", data[place + 8 : place + 18])
        if kind == b"IDAT":
            packed += data[place + 8 : place + 8 + length]
        place += length + 12
    assert depth == 8 and color in (2, 6)
    n = 3 if color == 2 else 4
    raw = numpy.frombuffer(zlib.decompress(packed), "u1").reshape(height, width * n + 1)
    image, before = [], [0] * (width * n)
    for row in raw.tolist():
        kind, line = row[0], row[1:]
        if kind == 2:
            line = [(value + b) & 255 for value, b in zip(line, before)]
        elif kind:
            for i, b in enumerate(before):
                a, c = (line[i - n], before[i - n]) if i >= n else (0, 0)
                if kind == 1:
                    near = a
                elif kind == 3:
                    near = (a + b) // 2
                else:
                    p, q, r = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                    near = a if p <= q and p <= r else b if q <= r else c
                line[i] = (line[i] + near) & 255
        image.append(line)
        before = line
    return numpy.array(image).reshape(height, width, n)[:, :, :3]

pixels = read_png("f.png")
root = tree.parse("f.svg").getroot()
assert pixels.shape[:2] == (int(root.get("height")), int(root.get("width")))
cells = [tuple(float(r.get(k)) for k in ("x", "y", "width"))
         for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")]
cells = [c for c in cells if c[2] == cells[0][2]]
rank = [(0x00, 0x72, 0xB2), (0xF0, 0xE4, 0x42), (0xD5, 0x5E, 0x00), (0x56, 0xB4, 0xE9)]

def at(cell):
    return tuple(pixels[int(cell[1]) + 3, int(cell[0]) + 3])

def all_of(cell):
    x, y, side = map(int, cell)
    return set(map(tuple, pixels[y + 2 : y + side - 2, x + 2 : x + side - 2].reshape(-1, 3)))
END
    cat >>check.py
    /usr/bin/python3 check.py
}

@test "draw: drawings are as they were" {
    local name words
    cd "$top/tests/draw"
    while read -r name words; do
        echo "$name"
        # shellcheck disable=SC2086 # a list of words
        mpiio-view draw --width 80 $words | diff -u "$name.txt" -
    done <cases
}

@test "draw: cells of a line say what the map says" {
    cd "$top/tests/draw"
    owners 4 0 scatter.json --offset 0 --window 200
    owners 6 0 scatter.json -n 6 --offset 3
    owners 4 0 scatter.json --window 1000 --width 40
    owners 3 0 overlap.json --window 2000 --width 50
    owners 4 0 columns.json
    owners 3 0 columns.json -n 3 --window 1500 --width 30
    owners 3 0 gaps.json -v twice --window 2k --width 60
    owners 3 0 gaps.json -v interleaved
}

@test "draw: cells of an array say what the map says" {
    cd "$top/tests/draw"
    owners 4 8 cyclic.json
    owners 4 8 cyclic.json --width 24
    owners 3 4 fortran.json
    owners 4 8 halo.json --width 21
    owners 4 8 halo.json --offset 500 --window 300
    owners 4 8 halo.json --offset 100000
    owners 8 8 cube.json --width 22
    owners 8 8 cube.json --offset 700 --window 100
}

@test "draw: random views say what the map says" {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        /usr/bin/python3 - "$i" >r.json <<'END'
import json, random, sys
r = random.Random(int(sys.argv[1]))
blocks, at = [[], []], 0
for _ in range(r.randint(1, 5)):
    blocks[0].append(r.randint(1, 4))
    blocks[1].append(at + r.randint(0, 3))
    at = blocks[0][-1] + blocks[1][-1]
print(json.dumps({"viewspec": 1, "file": "r.dat", "ranks": 3, "view": {
    "disp": f"{r.randint(0, 9)} + {r.randint(0, 12)} * rank", "etype": "short",
    "filetype": {"type": "resized", "lb": 0, "extent": 2 * r.randint(at // 2 + 1, 2 * at),
                 "oldtype": {"type": "indexed", "blocklengths": blocks[0],
                             "displacements": blocks[1]}}}}))
END
        cat r.json
        owners 3 0 r.json --window 150
        owners 3 0 r.json --offset 4 --window 90 --width 30
    done
}

@test "draw: places that are far away" {
    local view range
    cd "$top/tests/draw"
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

@test "draw: colours only where they are wanted" {
    cd "$top/tests/draw"
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
    # Colours change nothing else.
    diff <(mpiio-view draw halo.json) \
        <(mpiio-view draw halo.json --color always | sed 's/\x1b\[[0-9;]*m//g')
}

@test "draw: the width is the terminal's, COLUMNS or what --width says" {
    cd "$top/tests/draw"
    diff <(COLUMNS=30 mpiio-view draw scatter.json) <(mpiio-view draw scatter.json --width 30)
    diff <(env -u COLUMNS mpiio-view draw scatter.json) scatter.txt
    diff <(script -qec 'stty cols 30; mpiio-view draw scatter.json --color never' /dev/null |
        tr -d '\r') scatter-narrow.txt
    [ "$(mpiio-view draw large.json --width 60 | wc -L)" -le 100 ]
    [ "$(mpiio-view draw large.json --width 60 | grep -E '^ *[0-9]+ +[0-9]+ ' | wc -L)" -le 60 ]
}

@test "draw: tells where the file ends" {
    cd "$top/tests/draw"
    truncate -s 40 "$tmp/short.dat"
    mpiio-view draw scatter.json -f "$tmp/short.dat" | grep -q 'the file ends at 40$'
    truncate -s 4000 "$tmp/short.dat"
    run ! grep -q 'the file ends' <(mpiio-view draw scatter.json -f "$tmp/short.dat")
}

@test "draw: a million ranks" {
    cd "$top/tests/draw"
    mpiio-view draw many.json -v dealt -n 1000000 --width 80 >"$tmp/many.txt"
    grep -qx 'a cell is 1 etype: 8 bytes; from displacement 4096 to 5376' "$tmp/many.txt"
    grep -qx '  4096>     0      1      2      3      4      5      6      7      8      9' \
        "$tmp/many.txt"
    mpiio-view draw many.json -v dealt -n 1000000 --offset 8004000 --window 100 --width 80 |
        grep -qx '8004000 999988 999989 999990 999991 999992 999993 999994 999995 999996 999997'
}

@test "draw: figures: darray" {
    cd "$tmp"
    figure "$top/tests/draw/cyclic.json"
    colors <<'END'
assert len(cells) == 70, len(cells)
for number, cell in enumerate(cells):
    line, column = divmod(number, 10)
    assert at(cell) == rank[line // 2 % 2 * 2 + column // 3 % 2], (line, column, at(cell))
END
    figure "$top/tests/draw/fortran.json"
    colors <<'END'
assert len(cells) == 48, len(cells)
for number, cell in enumerate(cells):
    line, column = divmod(number, 8)
    owner = [r for r in range(3)
             if 2 * (r % 2) <= column < 2 * (r % 2) + 4 and 2 * r <= line < 2 * r + 2]
    if owner:
        assert at(cell) == rank[owner[0]], (line, column, at(cell))
    else: # hatched: white and grey, no rank's colour
        seen = all_of(cell)
        assert (255, 255, 255) in seen and len(seen) > 3 and not seen & set(rank)
        assert all(max(c) - min(c) < 3 for c in seen), seen
END
}

@test "draw: figures: overlaps are striped in their owners' colours" {
    cd "$tmp"
    figure "$top/tests/draw/halo.json"
    colors <<'END'
assert len(cells) == 144, len(cells)
for number, cell in enumerate(cells):
    line, column = divmod(number, 12)
    owners = {rank[r] for r in range(4)
              if 5 * (r % 2) <= column < 5 * (r % 2) + 7
              and 5 * (r // 2) <= line < 5 * (r // 2) + 7}
    assert all_of(cell) & set(rank) == owners, (line, column)
END
}

@test "draw: figures: all specs render" {
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
}

@test "draw: figures: names that XML does not take" {
    cp "$top/tests/draw/scatter.json" $'a&b<c>\x01\xff\xc3\xa9.json'
    figure $'a&b<c>\x01\xff\xc3\xa9.json'
    /usr/bin/python3 -c 'import xml.dom.minidom as x
title = x.parse("f.svg").getElementsByTagName("title")[0].firstChild.data
assert title.startswith("a&b<c>??\u00e9.json: "), title'
}

@test "draw: figures: what cannot be written is told" {
    cd "$top/tests/draw"
    run -1 --separate-stderr mpiio-view draw scatter.json --svg "$tmp/none/f.svg"
    [ "$stderr" = "mpiio-view: $tmp/none/f.svg: No such file or directory" ]
    run -1 --separate-stderr mpiio-view draw scatter.json --svg /dev/full
    [ "$stderr" = "mpiio-view: /dev/full: No space left on device" ]
    [ -c /dev/full ]
}

@test "draw: wrong usage" {
    cd "$top/tests/draw"
    local see="(see mpiio-view draw --help)"
    fails 2 "several views: choose one with -v (sparse, interleaved, twice, same, nothing)" \
        mpiio-view draw gaps.json
    fails 2 "draw: --color: expected always, auto or never $see" mpiio-view draw scatter.json --color blue
    fails 2 "draw: --width 5: expected a number of columns, 20 .. 1000 $see" \
        mpiio-view draw scatter.json --width 5
    fails 2 "draw: --window 0: nothing to draw $see" mpiio-view draw scatter.json --window 0
    fails 2 "draw: -r: not an option of this subcommand $see" mpiio-view draw scatter.json -r 0
    fails 2 "cat: --svg: not an option of this subcommand (see mpiio-view cat --help)" \
        mpiio-view cat scatter.json -r 0 --svg f.svg
}
