#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The report of mpiio-view check, and what it finds suspicious.

load helper

# reports COMMAND...: the command prints exactly standard input, apart from the test's directory.
reports() {
    diff - <("$@" 2>err | sed "s|$tmp/||")
}

# suspects TEXT... -- OPTION...: check prints exactly these warnings, in order. Each line contains
# its text.
suspects() {
    local text texts=()
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    mpiio-view check "$@" >out 2>err
    cat err
    [ "$(wc -l <err)" -eq "${#texts[@]}" ]
    for text in "${texts[@]}"; do
        grep -qF "mpiio-view: warning: view: $text" err
    done
}

@test "check: a partition, behind a header, with an incomplete etype" {
    make_file f.dat 3220
    reports mpiio-view check -f f.dat \
        --view 'contiguous of double at 16 + 8 * rank every 8 * ranks on 4' <<'END'
f.dat: 3220 bytes, 4 ranks, 1 view

view
  etype      double
  filetype   {"type":"resized","lb":0,"extent":"8 * ranks","oldtype":{"type":"contiguous","count":1}}
  datarep    native
  tile       8 of 32 bytes
  array      none: the ranks form no array
  ranks      0-3: 800 bytes, 100 etypes, 100 runs each
  in all     3200 of the file's 3220 bytes: 16 before the first etype, 4 in etypes that the file's end cuts
  partition  yes: each byte is in exactly one slice (period 32 bytes, coverage 100 %, closed form)
END
    [ "$(cat err)" = "mpiio-view: warning: view: the file ends inside an etype: its last 4 bytes are in no slice of it" ]
}

@test "check: overlaps and holes, several views, ranks with different shares" {
    printf 'abcdefghijklmnopqrstuvwx' >t.dat
    cat >t.json <<'END'
{ "viewspec": 1, "file": "t.dat", "ranks": 3,
  "views": {
    "all": {},
    "holes": { "disp": "4 * rank", "filetype": { "type": "resized", "lb": 0, "extent": 16,
               "oldtype": { "type": "contiguous", "count": 6 } } },
    "odd": { "filetype": { "type": "resized", "lb": 0, "extent": "7 + 4 * rank" } },
    "blocks": { "etype": "short", "filetype": { "type": "hpf_block", "size": 4 } } } }
END
    reports mpiio-view check t.json <<'END'
t.dat: 24 bytes, 3 ranks, 4 views

view all
  etype      byte
  filetype   byte
  datarep    native
  tile       1 of 1 byte
  array      all(all_record) of byte, 24
  ranks      0-2: 24 bytes, 24 etypes, 1 run each
  in all     72 bytes in slices, of a file of 24
  partition  no: 0 bytes are in no slice, 1 in several (period 1 byte, coverage 100 %, closed form)

view holes
  etype      byte
  filetype   {"type":"resized","lb":0,"extent":16,"oldtype":{"type":"contiguous","count":6}}
  datarep    native
  tile       6 of 16 bytes
  array      none: the ranks form no array
  ranks      0: 12 bytes, 12 etypes, 2 runs
             1: 10 bytes, 10 etypes, 2 runs
             2: 6 bytes, 6 etypes, 1 run
  in all     28 bytes in slices, of a file of 24
  partition  no: 2 bytes are in no slice, 4 in several (period 16 bytes, coverage 87.50 %, closed form)

view odd
  etype      byte
  filetype   {"type":"resized","lb":0,"extent":"7 + 4 * rank"}
  datarep    native
  tile       1 of 7 to 15 bytes
  array      none: the ranks form no array
  ranks      0: 4 bytes, 4 etypes, 4 runs
             1: 3 bytes, 3 etypes, 3 runs
             2: 2 bytes, 2 etypes, 2 runs
  in all     9 bytes in slices, of a file of 24
  partition  no: 840 bytes are in no slice, 31 in several (period 1155 bytes, coverage 27.27 %, walked)

view blocks
  etype      short
  filetype   {"type":"hpf_block","size":4}
  datarep    native
  tile       0 to 4 of 8 bytes
  array      blocks(blocks_record, blocks_dim_0) of short, 3 x 4 in blocks of 1 x 2
  ranks      0-1: 12 bytes, 6 etypes, 3 runs each
             2: nothing
  in all     24 of the file's 24 bytes
  partition  yes: each byte is in exactly one slice (period 8 bytes, coverage 100 %, closed form)
END
    [ ! -s err ]
}

@test "check: many ranks are summed up" {
    truncate -s 1000000 z.dat
    reports mpiio-view check -f z.dat --view 'contiguous 3*rank+1 of int at 64 on 300 every 40k' <<'END'
z.dat: 1000000 bytes, 300 ranks, 1 view

view
  etype      int
  filetype   {"type":"resized","lb":0,"extent":40960,"oldtype":{"type":"contiguous","count":"3 * rank + 1"}}
  datarep    native
  tile       4 to 3592 of 40960 bytes
  array      none: the ranks form no array
  ranks      300 ranks: 100 to 89800 bytes, 25 to 22450 etypes, 25 runs, each: least rank 0, most rank 299
  in all     13485000 bytes in slices, of a file of 1000000
  partition  no: 37368 bytes are in no slice, 3580 in several (period 40960 bytes, coverage 8.77 %, closed form)
END
    [ ! -s err ]
}

@test "check: runs are counted as map counts them" {
    local view size
    truncate -s 100000 r.dat
    for view in 'vector 4x2 stride 5 of int' 'vector 4x2 stride 5 of int every 80' \
        'darray 10x12 cyclic(3),block on 1x1 of short' 'subarray 7x9 part 3x9 from 2,0 of int' \
        'subarray 7x9 part 3x5 from 0,0 of int' 'contiguous 5' 'hpf_cyclic 100 by 7 of 3 byte on 1' \
        'vector 2x3 stride 4 of 2 short at 90'; do
        for size in 99 1000 12345; do
            truncate -s "$size" r.dat
            [ "$(mpiio-view check -f r.dat --view "$view" | sed -n 's/^  ranks  .* \([0-9]*\) runs\?$/\1/p')" = \
                "$(mpiio-view map -f r.dat -r 0 --view "$view" | wc -l)" ]
        done
    done
}

@test "check: elements that have other sizes in the file" {
    truncate -s 1000 l.dat
    mpiio-view check -f l.dat --view 'scatter 5 on 3 of long as external32' >out
    grep -qx '  datarep    external32' out
    grep -qx '  ranks      0-1: 680 bytes (340 in the file), 85 etypes, 17 runs each' out
    grep -qx '             2: 640 bytes (320 in the file), 80 etypes, 16 runs' out
}

@test "check: without a file it describes a tile, and fails" {
    run -1 --separate-stderr mpiio-view check -f none.dat --view 'scatter 2 of double on 3'
    [[ $stderr == "mpiio-view: "*"none.dat: No such file or directory" ]]
    [ "${lines[5]}" = "  array      data(record) of double, *" ]
    [ "${lines[6]}" = "  ranks      0-2: 16 bytes, 2 etypes, 1 run each, a tile" ]
}

@test "check: the file is opened once, and an error is printed once" {
    head -c 800 /dev/zero >m0
    printf '{ "viewspec": 1, "ranks": 2, "members": { "files": ["m0"], "view": { "tiles": 1, "filetype": { "type": "contiguous", "count": 800 } } }, "view": { "etype": "double", "filetype": { "type": "scatter" } } }' >m.json
    mpiio-view check m.json >want
    # Three calls open the member: two look at it, one is for the values. All others fail.
    strace -f -qq -o calls -P "$tmp/m0" -e inject=openat:error=EIO:when=4+ \
        mpiio-view check m.json >out 2>err
    diff want out
    [ ! -s err ]
    job_line 1 "mpiio-view: m.json:1:30: /members: member 0, $tmp/m0: Input/output error" \
        strace -f -qq -o calls -P "$tmp/m0" -e inject=openat:error=EIO mpiio-view check m.json
}

@test "check: byte order" {
    local type
    python fields
    for type in f8:double f4:float i4:int i8:long u8:uint64_t; do
        suspects -- --view "scatter 5 on 3 of ${type#*:}" -f "${type%:*}le"
        suspects 'the byte order looks wrong: of ' -- \
            --view "scatter 5 on 3 of ${type#*:}" -f "${type%:*}be"
        grep -q 'are of usual size, with their bytes reversed .* (is "datarep" "big-endian"?)$' err
    done
    suspects -- --view 'scatter 5 on 3 of double' -f noise
    suspects -- --view 'scatter 5 on 3 of double' -f zeros
    suspects -- --view 'scatter 5 on 20000 of double' -f f8le
}

@test "check: the array's order, an array that does not fit the file, markers of Fortran records" {
    local array='darray 40x100 block,block on 2x2 of double'
    python fields
    suspects -- --view "$array" -f f8le
    suspects -- --view "$array order Fortran" -f fortran
    suspects "the array's order looks wrong: values that are 40 elements apart differ less than those 100 apart (is \"order\" \"Fortran\"?)" \
        -- --view "$array" -f fortran
    suspects "the array's order looks wrong: values that are 100 elements apart differ less than those 40 apart (is \"order\" \"C\"?)" \
        -- --view "$array order Fortran" -f f8le
    suspects -- --view "$array" -f rows
    suspects -- --view "$array" -f columns
    suspects -- --view "$array" -f noise
    suspects -- --view "$array" -f zeros
    suspects 'the file has 64 bytes more than the array of 32000 bytes (a header? then "disp" is 64)' \
        -- --view "$array" -f header
    suspects -- --view "$array at 64" -f header
    suspects 'the file has 32 bytes more than the array of 32000 bytes behind displacement 32' \
        -- --view "$array at 32" -f header
    suspects 'the file ends inside an etype: its last 5 bytes are in no slice of it' \
        'the file ends inside the array: it has 30997 of its 32000 bytes (are its sizes right?)' \
        -- --view "$array" -f short
    suspects 'all slices are empty: the file has 32000 bytes, and the first etype begins at displacement 40000' \
        -- --view 'scatter of double at 40000 on 4' -f f8le
    suspects 'a Fortran record seems to begin at displacement 0: 32000 bytes between two markers of 4 (is "disp" 4? mpiio-view spec --from FILE lists the records)' \
        'the file has 8 bytes more' -- --view "$array" -f record
    suspects 'the file ends inside an etype' 'the file has 4 bytes more' \
        -- --view "$array at 4" -f record
    suspects 'a Fortran record seems to begin at displacement 0: 32000 bytes between two markers of 8 (is "disp" 8? mpiio-view spec --from FILE lists the records)' \
        'the file has 16 bytes more' -- --view "$array" -f long
    suspects 'a Fortran record seems to begin at displacement 0: 800 bytes between two markers of 4, which are big-endian, and more records follow (is "disp" 4? mpiio-view spec --from FILE lists the records)' \
        'the file has 320 bytes more' -- --view "$array" -f records
    # gfortran's subrecords, here of 1003 bytes.
    gfortran -fmax-subrecord-length=1003 "$top/tests/from/records.f90" -o write
    ./write parts
    suspects 'a Fortran record seems to begin at displacement 264: 8000 bytes between two markers of 4, in 8 subrecords with markers of their own, and more records follow (mpiio-view spec --from FILE joins them)' \
        -- --view 'contiguous of byte at 264' -f parts
}
