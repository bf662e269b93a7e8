#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Views in shorthand: mpiio-view, mpiio-mount.
# shellcheck disable=SC2154 # stderr and top come from bats and the helper

load helper

# Makes a file of 64 bytes and 12 x 10 doubles, and its view, in JSON and in shorthand.
matrix() {
    make_file m.dat $((64 + 960))
    one_view m.dat 4 '{ "disp": 64, "etype": "double",
            "filetype": { "type": "darray", "gsizes": [12, 10], "psizes": [2, 2],
                          "distribs": ["block", "cyclic"], "dargs": [null, 3],
                          "order": "C" } }' >m.json
    shorthand='darray 12x10 block,cyclic(3) on 2x2 of double at 64'
}

@test "shorthand: every subcommand takes it in place of SPEC" {
    local rank
    matrix
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat m.json -r "$rank") \
            <(mpiio-view cat --view "$shorthand" -f m.dat -r "$rank")
        cmp <(mpiio-view map m.json -r "$rank") \
            <(mpiio-view map -v "$shorthand" -f m.dat -r "$rank")
    done
    mpiio-view cat m.json -r 3 | tr '\0-\377' '\1-\377\0' >changed
    cp m.dat other.dat
    mpiio-view put --view "$shorthand" -f other.dat -r 3 <changed
    cmp changed <(mpiio-view cat m.json -f other.dat -r 3)
    [ "$(mpiio-view owner --view "$shorthand" -f m.dat 100)" = "$(mpiio-view owner m.json 100)" ]
    [ -n "$(mpiio-view owner m.json 100)" ]
    diff <(mpiio-view check m.json) <(mpiio-view check --view "$shorthand" -f m.dat)
}

@test "shorthand: commands that need no file run without one, others report what is missing" {
    matrix
    run -0 --separate-stderr mpiio-view map --view "$shorthand" -r 1
    [ "${lines[0]}" = $'0\t88\t24' ]
    [ "$stderr" = "mpiio-view: no file (-f FILE): showing one tile (--length shows more)" ]
    [ "$(mpiio-view owner --view "$shorthand" 88)" = $'-\t1\t0' ]
    mv m.dat hidden
    cmp <(mpiio-view draw m.json | sed "s/^m.json:/$shorthand:/") \
        <(mpiio-view draw --view "$shorthand")
    mv hidden m.dat
    complains 2 'mpiio-view: --view:1:1: "file" is missing: give it with -f' mpiio-view cat --view "$shorthand" -r 1
}

@test "shorthand: mpiio-view spec prints JSON of the same spec" {
    local rank
    matrix
    mpiio-view spec --view "$shorthand" >printed.json
    [ "$(jq -c .view.filetype.dargs printed.json)" = "[null,3]" ]
    [ "$(jq -r 'has("file")' printed.json)" = false ]
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat m.json -r "$rank") <(mpiio-view cat printed.json -f m.dat -r "$rank")
    done
    mpiio-view spec m.json >resolved.json
    [ "$(jq -r .file resolved.json)" = "$tmp/m.dat" ]
    diff resolved.json <(mpiio-view spec resolved.json)
    diff resolved.json <(mpiio-view spec --view "$shorthand" -f m.dat |
        jq '.view.filetype |= {type, gsizes, psizes, distribs, dargs, order}' |
        mpiio-view spec /dev/stdin)
    [ "$(mpiio-view spec --view 'scatter n of int' -D n=2*3 -n 4 | jq -c '[.ranks, .let.n]')" = "[4,6]" ]
}

@test "shorthand: values are printed and converted" {
    matrix
    cmp <(mpiio-view dump m.json -r 2) <(mpiio-view dump -v "$shorthand" -f m.dat -r 2)
    mpiio-view convert -v "$shorthand" -f m.dat --to external32 -o e.dat --spec e.json
    cmp <(mpiio-view cat m.json -r 2) <(mpiio-view cat e.json -r 2)
    cmp e.dat <(mpiio-view cat -v "contiguous of double at 64 as big-endian" -f m.dat -r 0 |
        cat <(head -c 64 m.dat) -)
    complains 2 'mpiio-view: --to none: unknown data representation "none"' mpiio-view convert -v scatter -f m.dat --to none -o x.dat
    [ ! -e x.dat ]
}

@test "shorthand: errors report their position in it, and those of specs as well" {
    fails 2 "--view:1:18: expected block, cyclic or none, found 'blok'" \
        mpiio-view spec --view 'darray 4x4 block,blok on 2x2'
    fails 2 "--view:1:27: psizes: the product is 4, not the number of ranks, 6" \
        mpiio-view spec --view 'darray 4x4 block,block on 2x2' -n 6
    complains 2 'mpiio-view: --view:1:9: unknown name "n" (-D n=VALUE would define it)' mpiio-view spec --view 'scatter n' -D m=1
    complains 2 'mpiio-view: -D n=x: expected an integer, got "x"' mpiio-view spec --view 'scatter n' -D n=x
    matrix
    misused "-v: not an option of this subcommand where there is a SPEC" owner m.json --view scatter 5
    complains 2 'mpiio-mount: --view:1:53: "of" is said twice' mpiio-mount --view "$shorthand of int" m.dat "$mnt"
    # The error names the option that the value came from.
    complains 2 "mpiio-mount: --pieces: filetype: displacements must not decrease (blocks overlap or go back)" \
        mpiio-mount --members 'T.{member}' --pieces 'vector 4x5 stride 3 on 2 of byte' "$mnt"
    complains 1 "mpiio-mount: --members: member 0, $tmp/T.0: no such file (missing=zero reads zeros instead)" \
        mpiio-mount --members 'T.{member}' --pieces 'scatter 4 on 2 of byte' "$mnt"
    one_line 2 "mpiio-mount: --pieces: count: *" mpiio-mount --members 'T.{member}' --pieces 'scatter 4 on 70000000' "$mnt"
}

@test "shorthand: a mount" {
    local rank
    matrix
    mpiio-mount --view "$shorthand" m.dat "$mnt"
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat m.json -r "$rank") "$mnt/rank$rank"
    done
    [ "$(readlink "$mnt/.mpiio/file")" = "$tmp/m.dat" ]
    [ "$(findmnt -no SOURCE "$mnt")" = "$tmp/m.dat" ]
    diff "$mnt/.mpiio/spec.json" <(mpiio-view spec --view "$shorthand" -f m.dat)
    head -c 100 </dev/zero | dd of="$mnt/rank2" conv=notrunc status=none
    cmp -n 100 /dev/zero <(mpiio-view cat m.json -r 2)
    mpiio-umount "$mnt"
    mpiio-mount -n 6 -f m.dat --view 'scatter w of double' -D w=5 "$mnt"
    [ "$(find "$mnt" -name 'rank*' | wc -l)" -eq 6 ]
    cmp <(dd if=m.dat bs=40 skip=1 count=1 status=none) <(head -c 40 "$mnt/rank1")
    mpiio-umount "$mnt"
    complains 2 "mpiio-mount: the file is named twice, by -f and as m.dat (see --help)" mpiio-mount -f m.dat --view scatter m.dat "$mnt"
    complains 2 'mpiio-mount: --view:1:1: "file" is missing: give it with -f' mpiio-mount --view scatter "$mnt"
    run ! is_mounted
}

@test "shorthand: the file takes the place of a spec" {
    make_file w.dat 4096
    dealt w.dat 4 512 >w.json
    cmp <(mpiio-view cat --view 'scatter 512 on 4' w.dat -r 2) <(mpiio-view cat w.json -r 2)
    diff <(mpiio-view owner --view 'scatter 512 on 4' w.dat 1600) <(mpiio-view owner w.json 1600)
    diff <(mpiio-view check --view 'scatter 512 on 4' w.dat) <(mpiio-view check w.json)
    one_line 2 "mpiio-view: --view:1:13: *found 'onn'" mpiio-view cat --view 'scatter 512 onn 4' w.dat -r 2
    misused "w.dat: the file is named twice, by -f, too" cat --view 'scatter 512 on 4' -f w.dat w.dat -r 2
    # The name of a view can be a word of the shorthand.
    jq '.views = { "scatter": .view, "all": .view } | del(.view)' w.json >named.json
    cmp <(mpiio-view cat --view scatter named.json -r 2) <(mpiio-view cat w.json -r 2)
}
