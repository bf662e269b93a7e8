#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view convert: the shared file again in another data representation.

load helper

# records: 4 ranks own records of an int and a double with gaps, behind a header. Some bytes remain
# at the end.
records() {
    python records
    one_view r.dat 4 '{ "disp": 16, "filetype": { "type": "scatter" },
          "etype": { "type": "struct", "types": ["int", "double"], "blocklengths": [1, 1],
                     "displacements": [0, 8] } }' >r.json
}

# refuses STATUS MESSAGE SPEC ARGUMENT...: mpiio-view convert must complain in this way.
refuses() {
    fails "$1" "$2" mpiio-view convert "${@:3}"
}

@test "convert: help; representations that do not exist, or lack a type" {
    mpiio-view --help | grep -q '^  convert '
    mpiio-view convert --help | grep -q '^Usage: mpiio-view convert SPEC --to DATAREP -o FILE'
    records
    misused "--to DATAREP is missing" convert r.json -o x
    misused "-o FILE is missing" convert r.json --to native
    misused "-r: not an option of this subcommand" convert r.json --to native -o x -r 0
    refuses 2 '--to vms: unknown data representation "vms"' r.json --to vms -o x.dat
    refuses 2 "--to vax=libnone.so: library $tmp/libnone.so: No such file or directory" \
        r.json --to vax=libnone.so -o x.dat
    refuses 2 "--to native=x.so: the name is taken" r.json --to native=x.so -o x.dat
    [ ! -e x.dat ]
}

@test "convert: representations of the same size keep every byte in place: header, gaps and tail" {
    records
    chmod 640 r.dat
    mpiio-view convert r.json --to big-endian -o b.dat --spec b.json
    [ "$(stat -c %a b.dat)" = 640 ]
    python representations_of_one_size_keep_every
    [ "$(jq -r '.file, .view.datarep' b.json | paste -sd ' ')" = "$tmp/b.dat big-endian" ]
    mpiio-view convert b.json --to native -o n.dat
    cmp n.dat r.dat
    mpiio-view convert b.json --to little-endian -o l.dat
    cmp l.dat r.dat
}

@test "convert: to external32 and back; bytes of no view are omitted, except for the header" {
    records
    mpiio-view convert r.json --to external32 -o e.dat --spec e.json
    python to_external32_and_back
    mpiio-view convert e.json --to native -o n.dat --spec n.json
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat r.json -r "$rank") <(mpiio-view cat e.json -r "$rank")
        cmp <(mpiio-view cat r.json -r "$rank") <(mpiio-view cat n.json -r "$rank")
    done
}

# A third of the vectors, converted and back. The slices must be the same, and so must each byte of
# the file that a view has, by mpiio-view map.
@test "convert: the vectors, through every representation" {
    python vectors "$top/tests/vectors/cases.jsonl"
}

@test "convert: a value that does not fit is named, and no file is left" {
    py '
data = np.arange(3 * 100000, dtype="<i8")
data[3 * 77777 + 1] = 2**31
data.tofile("l.dat")'
    cat >l.json <<'END'
{ "viewspec": 1, "file": "l.dat", "ranks": 3,
  "views": { "all": { "etype": "long", "filetype": { "type": "scatter" } } } }
END
    mkdir out
    refuses 1 "out/e.dat: view all, rank 1: a value does not fit at slice offset 622216" \
        l.json --to external32 -o out/e.dat --spec out/e.json
    [ -z "$(ls -A out)" ]
    mpiio-view convert l.json --to external32 -o out/e.dat --spec out/e.json --narrow truncate
    py 'assert (np.fromfile("out/e.dat", ">i4") == np.fromfile("l.dat", "<i8").astype(">i4")).all()'
}

@test "convert: overwrites only with --force, and never its source" {
    records
    cp r.dat before.dat
    echo precious >p.dat
    ln -s p.dat link.dat
    refuses 1 "p.dat: the file is there already (--force overwrites it)" r.json --to native -o p.dat
    refuses 1 "link.dat: is there already, and not a regular file" r.json --to native -o link.dat --force
    refuses 1 "p.dat: the file is there already (--force overwrites it)" \
        r.json --to native -o new.dat --spec p.dat
    [ "$(cat p.dat)" = precious ]
    [ ! -e new.dat ]
    ln r.dat same.dat
    refuses 2 "-o r.dat: the file that is to be converted" r.json --to big-endian -o r.dat --force
    refuses 2 "-o ./same.dat: the file that is to be converted" r.json --to big-endian -o ./same.dat --force
    refuses 2 "-o r.json: the spec of the file that is to be converted" \
        r.json --to big-endian -o r.json --force
    refuses 2 "--spec r.dat: one of the data files" r.json --to big-endian -o x.dat --spec r.dat --force
    refuses 2 "--spec x.dat: one of the data files" r.json --to big-endian -o x.dat --spec x.dat --force
    cmp r.dat before.dat
    mpiio-view convert r.json --to native -o p.dat --force
    cmp p.dat r.dat
    [ -z "$(find . -name '.*.dat*')" ]
    refuses 1 "none/x.dat: No such file or directory" r.json --to native -o none/x.dat
    refuses 1 "$tmp/gone.dat: No such file or directory" r.json --to native -o x.dat -f gone.dat
    [ ! -e x.dat ]
}

@test "convert: to a user-defined representation and back" {
    install -m 755 "$MPIIO_BUILD/tests/datarep/libvax.so" .
    py '(np.arange(999, dtype="<f4") / 8).tofile("f.dat")'
    echo '{ "viewspec": 1, "file": "f.dat", "ranks": 3,
            "view": { "etype": "real", "filetype": { "type": "scatter" } } }' >f.json
    mkdir below
    # All paths are relative to the working directory.
    (cd below && mpiio-view convert ../f.json --to vax=../libvax.so -o v.dat --spec v.json)
    # 1/8 as an F_floating number: exponent -2 in excess 128, significand 0.5.
    [ "$(od -An -v -t x1 -j 4 -N 4 below/v.dat)" = " 00 3f 00 00" ]
    mpiio-view convert below/v.json --to native -o n.dat
    cmp n.dat f.dat
}

@test "convert: views that share bytes, with the same types and with others" {
    py 'np.arange(1000, dtype="<i4").tofile("v.dat")'
    cat >same.json <<'END'
{ "viewspec": 1, "file": "v.dat", "ranks": 2,
  "views": { "all": { "etype": "int" }, "half": { "disp": "4 * rank", "etype": "int",
             "filetype": { "type": "resized", "lb": 0, "extent": 8 } } } }
END
    mpiio-view convert same.json --to external32 -o s.dat
    py 'assert (np.fromfile("s.dat", ">i4") == np.arange(1000)).all()'
    refuses 2 "--narrow truncate: not with views that share bytes of the file" \
        same.json --to external32 -o x.dat --narrow truncate
    sed '0,/"int"/s//"short"/' same.json >other.json
    refuses 2 "view all, rank 0: slice offset 4: another view holds these bytes of the file as other types" \
        other.json --to big-endian -o x.dat
    one_view v.dat 1 '{ "etype": "int", "filetype": { "type": "indexed_block", "blocklength": 1,
                                        "displacements": [0, 0] } }' >twice.json
    refuses 2 "rank 0: the view would hold bytes of the file twice" twice.json --to big-endian -o x.dat
    [ ! -e x.dat ]
}

@test "convert: a file's overrides, a spec from a pipe" {
    records
    mv r.dat other.dat
    sed "s|\"ranks\": 4|\"ranks\": 9, \"let\": { \"head\": 0 }|; s|\"disp\": 16|\"disp\": \"head\"|;
         s|r.dat|$tmp/none.dat|" r.json >o.json
    mpiio-view convert <(cat o.json) -n 4 -D head=16 -f other.dat --to big-endian -o b.dat \
        --spec b.json
    [ "$(jq -c '[.ranks, .let.head]' b.json)" = '[4,16]' ]
    cmp <(mpiio-view cat o.json -n 4 -D head=16 -f other.dat -r 3) <(mpiio-view cat b.json -r 3)
}

@test "convert: each rank with its own view and representation" {
    py 'np.arange(300, dtype="<i4").tofile("p.dat")'
    one_view p.dat 3 '{ "disp": "4 * rank", "filetype": { "type": "resized", "lb": 0, "extent": 12 },
          "per_rank": [ { "etype": "int" }, { "etype": "int", "datarep": "big-endian" },
                        { "etype": { "type": "contiguous", "count": 4, "oldtype": "byte" } } ] }' >p.json
    mpiio-view convert p.json --to little-endian -o n.dat --spec n.json
    for rank in 0 1 2; do
        cmp <(mpiio-view cat p.json -r "$rank") <(mpiio-view cat n.json -r "$rank")
    done
    py '
old, new = (np.fromfile(name, "<u4") for name in ("p.dat", "n.dat"))
old[1::3] = old[1::3].byteswap()
assert (old == new).all()'
}

@test "convert: thousands of ranks, more than are kept open" {
    py '
values = np.random.default_rng(3).integers(0, 2**62, 200000, dtype="<i8")
values.tofile("m.dat")
values.astype(">i8").tofile("expected")'
    one_view m.dat 1000 '{ "etype": "int64_t", "filetype": { "type": "scatter" } }' >m.json
    mpiio-view convert m.json --to external32 -o a.dat
    mpiio-view convert m.json --to external32 -n 7777 -o b.dat
    mpiio-view convert m.json --to big-endian -n 7777 -o c.dat
    cmp a.dat expected
    cmp b.dat expected
    cmp c.dat expected
    # Ranks without data, before and after ranks that have data.
    truncate -s 8000 m.dat expected
    one_view m.dat 20000 '{ "disp": "8 * (ranks - 1 - rank)", "etype": "int64_t", "filetype": "int64_t", "tiles": 1 }' >r.json
    for spec in m r; do
        for datarep in external32 big-endian; do
            mpiio-view convert $spec.json --to "$datarep" -n 20000 -o d.dat --force
            cmp d.dat expected
        done
    done
}

@test "convert: slices of many parts; elements that parts of a power of two would cut" {
    # Two ranks alternate: 3000 doubles, or 3000 records of a character and a double.
    parts_spec() {
        cat >"$1.json" <<END
{ "viewspec": 1, "file": "m.dat", "ranks": 2,
  "types": { "record": { "type": "resized", "lb": 0, "extent": 9,
                         "oldtype": { "type": "struct", "types": ["char", "double"],
                                      "blocklengths": [1, 1], "displacements": [0, 1] } } },
  "view": { "etype": "$2", "filetype": { "type": "scatter", "blocklength": 3000 } } }
END
    }
    python slices_of_many_parts
    parts_spec doubles double
    parts_spec records record
    mpiio-view convert doubles.json --to big-endian -o b.dat
    cmp b.dat expected
    mpiio-view convert doubles.json --to external32 -o e.dat
    cmp e.dat expected
    mpiio-view convert records.json --to external32 -o r.dat
    cmp r.dat records
}

@test "convert: a view whose order is not the file's" {
    # Tile k has the words 2 k and 2 k + 20001, so tiles begin in each other's holes.
    make_file o.dat 800000
    one_view o.dat 1 '{ "etype": "uint64_t",
          "filetype": { "type": "resized", "lb": 0, "extent": 16,
                        "oldtype": { "type": "hindexed_block", "blocklength": 1,
                                     "displacements": [0, 160008] } } }' >o.json
    mpiio-view convert o.json --to big-endian -o b.dat
    python a_view_whose_order
}

@test "convert: holes stay holes" {
    truncate -s 1G h.dat
    printf 'abcdefgh' | dd of=h.dat bs=1 seek=900M conv=notrunc status=none
    one_view h.dat 1 '{ "etype": "double", "filetype": { "type": "resized", "lb": 0, "extent": "1024*1024" } }' >h.json
    mpiio-view convert h.json --to big-endian -o b.dat
    [ "$(stat -c %s b.dat)" -eq $((1 << 30)) ]
    [ "$(dd if=b.dat bs=1 skip=900M count=8 status=none)" = hgfedcba ]
    [ "$(du -k b.dat | cut -f 1)" -lt 20000 ]
    # A slice that is one hole, in a file of another size.
    truncate -s 0 h.dat
    truncate -s 1G h.dat
    echo '{ "viewspec": 1, "file": "h.dat", "view": { "etype": "long" } }' >l.json
    mpiio-view convert l.json --to external32 -o e.dat
    [ "$(stat -c %s e.dat)" -eq $((1 << 29)) ]
    [ "$(du -k e.dat | cut -f 1)" -lt 100 ]
}

@test "convert: a full disk is reported, and no file is left" {
    records
    ram_disk 64k
    mpiio-view convert r.json --to native -o disk/fits.dat
    make_file r.dat 300000
    refuses 1 "disk/x.dat: No space left on device" r.json --to big-endian -o disk/x.dat
    refuses 1 "disk/x.dat: No space left on device" r.json --to external32 -o disk/x.dat
    refuses 1 "disk/fits.dat: No space left on device" r.json --to external32 -o disk/fits.dat --force
    [ "$(ls -A disk)" = fits.dat ]
    (
        ulimit -f 100
        refuses 1 "x.dat: File too large" r.json --to external32 -o x.dat
    )
    [ ! -e x.dat ]
}

# in_the_middle SIGNAL: sends a signal to a conversion that takes long and has written something. It
# must not ignore signals, as programs do that a script starts in the background or nohup starts.
in_the_middle() {
    local pid file size=0 i
    env --default-signal mpiio-view convert big.json --to external32 -o out/e.dat --spec out/e.json --force 3>&- &
    pid=$!
    for ((i = 0; i < 3000 && size < 1000000; i++)); do
        sleep 0.01
        for file in "/proc/$pid/fd/"*; do
            if [[ $(readlink "$file") == "$tmp/out/"* ]]; then
                size=$(stat -L -c %s "$file")
                [ "$size" -lt 1000000 ] || break
            fi
        done
    done
    [ "$size" -ge 1000000 ]
    kill -"$1" "$pid"
    ! wait "$pid" || return 1
}

@test "convert: a signal in the middle leaves no file" {
    # Each value of a slice is in another page, so some hundred MB take seconds.
    make_file big.dat 200000000
    one_view big.dat 4000 '{ "etype": "double", "filetype": { "type": "scatter" } }' >big.json
    mkdir out
    echo old >out/e.dat
    for signal in KILL INT TERM HUP; do
        in_the_middle "$signal"
        # If the filesystem does not support unnamed files, SIGKILL leaves a hidden one.
        if [ "$signal" = KILL ]; then
            [ "$(ls out)" = e.dat ]
            rm -f out/.e.*
        fi
        [ "$(ls -A out)" = e.dat ]
        [ "$(cat out/e.dat)" = old ]
    done
}

@test "convert: among very many ranks, those without bytes cost no system call" {
    head -c 4000 /dev/urandom >few.dat
    one_view few.dat 100000 '{ "etype": "double", "filetype": { "type": "scatter" } }' >few.json
    strace -f -qq -o calls mpiio-view convert few.json --to external32 -o e.dat
    [ "$(wc -l <calls)" -lt 10000 ]
    py 'assert np.fromfile("e.dat", ">f8").tobytes() == np.fromfile("few.dat", "<f8").astype(">f8").tobytes()'
}

@test "convert: with very many ranks without any bytes, bytes of no view are not copied to external32" {
    printf 12345 >gap.dat
    one_view gap.dat 5000 '{ "etype": "double", "filetype":
        { "type": "indexed", "blocklengths": [1], "displacements": [2], "oldtype": "etype" } }' >gap.json
    mpiio-view convert gap.json --to external32 -o gap.out
    [ ! -s gap.out ]
}
