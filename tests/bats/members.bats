#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Assembled files: members are mounted as one whole, and as other slices of it.

load helper
load nodes

# stripes [COUNT BLOCK EACH [MORE]]: makes members T.0000.data, ..., of EACH bytes, whose blocks
# alternate in whole.dat. s.json assembles them. MORE: keys of the spec's "members".
stripes() {
    make_file whole.dat $((${1:-16} * ${3:-4096}))
    /usr/bin/python3 "$call" stripes "${1:-16}" "${2:-512}"
    stripes_spec "$@" >s.json
}

stripes_spec() {
    cat <<TEXT
{ "viewspec": 1, "let": { "block": ${2:-512} },
  "members": { "count": ${1:-16}, "file": "T.{member:4}.data",${4:+ $4,}
               "view": { "filetype": { "type": "scatter", "blocklength": "block" } } },
  "ranks": 9, "view": { "filetype": { "type": "scatter", "blocklength": 100 } } }
TEXT
}

# halves DISP EXTENT: 256 of every EXTENT bytes of a member are its data, behind a header.
halves() {
    cat <<TEXT
"local": { "disp": $1, "filetype": { "type": "resized", "lb": 0, "extent": $2,
                                     "oldtype": { "type": "contiguous", "count": 256 } } }
TEXT
}

# refused MESSAGE [OPTION...]: mounting s.json must fail with this single line.
refused() {
    one_line "${code:-1}" "mpiio-mount: $1" mount_spec s.json "${@:2}"
    run ! mountpoint -q "$mnt"
}

@test "members: 16 pieces are read as a whole, and as 9 slices" {
    make_file orig.dat $((64 + 90 * 90 * 8))
    local darray='"disp": 64, "etype": "double", "filetype": { "type": "darray", "gsizes": [90, 90],
        "psizes": [P, P], "distribs": ["block", "cyclic"], "dargs": [null, null], "order": "C" }'
    echo "{ \"viewspec\": 1, \"file\": \"orig.dat\", \"ranks\": 16, \"view\": { ${darray//P/4} } }" >p.json
    echo "{ \"viewspec\": 1, \"file\": \"orig.dat\", \"ranks\": 9, \"view\": { ${darray//P/3} } }" >q.json
    local piece
    for piece in {0..15}; do
        { printf 'head' && mpiio-view cat p.json -r "$piece"; } >"piece$piece"
    done
    cat >s.json <<TEXT
{ "viewspec": 1, "ranks": 9, "view": { ${darray//P/3} },
  "members": { "count": "4 * 4", "file": "piece{member}", "view": { ${darray//P/4} },
               "local": { "disp": 4 } } }
TEXT
    mount_spec s.json
    [ "$(cd "$mnt" && echo *)" = "rank0 rank1 rank2 rank3 rank4 rank5 rank6 rank7 rank8 whole" ]
    [ "$(ls "$mnt/.mpiio")" = $'spec.json\nstats.json' ]
    # Bytes before all pieces are a hole.
    cmp "$mnt/whole" <(head -c 64 /dev/zero && tail -c +65 orig.dat)
    for piece in {0..8}; do
        cmp "$mnt/rank$piece" <(mpiio-view cat q.json -r "$piece")
        cmp "$mnt/rank$piece" <(mpiio-view cat s.json -r "$piece")
    done
    mpiio-view check s.json | grep -q "of 16 members, 9 ranks"
    # The spec that the mount shows describes the same file.
    cp "$mnt/.mpiio/spec.json" again.json
    cmp <(mpiio-view cat again.json -r 4) "$mnt/rank4"
    # So does a single file in place of the members.
    cmp <(mpiio-view cat s.json -f orig.dat -r 4) "$mnt/rank4"
}

@test "members: one program writes a file for each rank, another one a single file, and the wholes are equal" {
    mpi_run 4 "$MPIIO_BUILD/tests/mpi/btio" full full.dat 12 3
    mpi_run 4 "$MPIIO_BUILD/tests/mpi/btio" epio own 12 3
    [ "$(stat -c %s own.2)" -lt "$(stat -c %s full.dat)" ]
    cat >s.json <<'TEXT'
{ "viewspec": 1, "let": { "n": 12, "part": "n / ranks", "row": "n * 5" },
  "types": {
    "cell0": { "type": "subarray", "sizes": ["n", "n", "row"], "subsizes": ["part", "part", "row"],
               "starts": [0, "(rank + 0) % ranks * part", 0], "order": "C" },
    "cell1": { "type": "subarray", "sizes": ["n", "n", "row"], "subsizes": ["part", "part", "row"],
               "starts": ["part", "(rank + 1) % ranks * part", 0], "order": "C" },
    "cell2": { "type": "subarray", "sizes": ["n", "n", "row"], "subsizes": ["part", "part", "row"],
               "starts": ["2 * part", "(rank + 2) % ranks * part", 0], "order": "C" },
    "cell3": { "type": "subarray", "sizes": ["n", "n", "row"], "subsizes": ["part", "part", "row"],
               "starts": ["3 * part", "(rank + 3) % ranks * part", 0], "order": "C" } },
  "members": { "count": 4, "file": "own.{member}", "local": { "disp": 24, "etype": "double" },
               "view": { "etype": "double",
                 "filetype": { "type": "struct", "blocklengths": [1, 1, 1, 1],
                               "displacements": [0, 0, 0, 0],
                               "types": ["cell0", "cell1", "cell2", "cell3"] } } } }
TEXT
    mount_spec s.json
    cmp full.dat "$mnt/whole"
    cmp full.dat "$mnt/rank0"
    # The other way round: bytes that are written to the whole are in the ranks' files.
    py '(-np.fromfile("full.dat")).tofile("minus.dat")'
    dd if=minus.dat of="$mnt/whole" conv=notrunc bs=10007 status=none
    mpiio-umount "$mnt"
    py '
for rank in range(4):
    data = open(f"own.{rank}", "rb").read()
    assert data[:24] == b"a header, 24 bytes long."
    assert (np.frombuffer(data[24:]) <= 0).all()'
    cmp minus.dat <(mpiio-view cat s.json -r 0)
}

@test "members: writes reach the members through any slice, with and without write-back" {
    local options
    for options in rw cache=back,flush_interval=0; do
        stripes 16 512 4096
        # Headers and ghost cells of the members are not part of the whole.
        py 'for i in range(16):
    name = f"T.{i:04}.data"
    data = open(name, "rb").read()
    open(name, "wb").write(b"head" + b"".join(data[k:k + 256] + b"ghost" for k in range(0, 4096, 256)))'
        stripes_spec 16 512 4096 "$(halves 4 261)" >s.json
        mount_spec s.json -o "$options"
        py '
import random
model = bytearray(open("whole.dat", "rb").read())
random.seed(3)
def places(rank, offset):
    tile, inside = divmod(offset, 100)
    return tile * 900 + rank * 100 + inside
for i in range(300):
    rank = random.choice([-1, *range(9)])
    with open("mnt/whole" if rank < 0 else f"mnt/rank{rank}", "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        offset = random.randrange(size)
        data = random.randbytes(min(size - offset, random.choice([1, 7, 300, 5000])))
        assert os.pwrite(file.fileno(), data, offset) == len(data)
        for k, byte in enumerate(data):
            model[offset + k if rank < 0 else places(rank, offset + k)] = byte
    if i % 50 == 0:
        assert open("mnt/whole", "rb").read() == model
open("model.dat", "wb").write(model)'
        cmp model.dat "$mnt/whole"
        mpiio-umount "$mnt"
        cmp model.dat <(py '
parts = []
for i in range(16):
    data = open(f"T.{i:04}.data", "rb").read()
    assert data[:4] == b"head" and len(data) == 4 + 16 * 261
    pieces = [data[k:k + 261] for k in range(4, len(data), 261)]
    assert all(piece[256:] == b"ghost" for piece in pieces)
    parts.append(b"".join(piece[:256] for piece in pieces))
os.write(1, b"".join(parts[i][k:k + 512] for k in range(0, 4096, 512) for i in range(16)))')
    done
}

@test "members: other writers of the members lose nothing, and their writes are seen" {
    stripes
    truncate -s 8192 T.{0000..0015}.data
    stripes_spec 16 512 4096 "$(halves 0 512)" >s.json
    mount_spec s.json
    # Meanwhile another program writes the other half of each 512 bytes, byte by byte.
    py '
import threading
def other():
    with open("T.0003.data", "r+b", buffering=0) as file:
        for round in range(20):
            for k in range(0, 8192, 512):
                for byte in range(256):
                    os.pwrite(file.fileno(), bytes([round + 1]), k + 256 + byte)
thread = threading.Thread(target=other)
thread.start()
rounds = 0
with open("mnt/whole", "r+b", buffering=0) as file:
    while thread.is_alive() or rounds == 0:
        rounds += 1
        os.pwrite(file.fileno(), bytes([rounds % 250]) * 65536, 0)
thread.join()
data = open("T.0003.data", "rb").read()
for k in range(0, 8192, 512):
    assert data[k:k + 256] == bytes([rounds % 250]) * 256
    assert data[k + 256:k + 512] == bytes([20]) * 256'
    # Programs that open the file afterwards see the other program's changes.
    cat "$mnt/whole" >before
    sleep 0.1
    printf new | dd of=T.0002.data conv=notrunc status=none
    [ "$(tail -c +1025 "$mnt/whole" | head -c 3)" = new ]
}

@test "members: holes, the end, and which members are synced" {
    stripes 4 512 2048
    cat >s.json <<'TEXT'
{ "viewspec": 1,
  "members": { "count": 4, "file": "T.{member:4}.data",
    "view": { "filetype": { "type": "resized", "lb": 0, "extent": 20480,
      "oldtype": { "type": "hindexed", "blocklengths": [2048], "displacements": ["4096 + 4096 * rank"] } } } } }
TEXT
    mount_spec s.json
    [ "$(stat -c %s "$mnt/whole")" -eq $((4096 * 4 + 2048)) ]
    cmp "$mnt/whole" <(py '
os.write(1, b"".join(bytes(4096 if i == 0 else 2048) + open(f"T.{i:04}.data", "rb").read() for i in range(4)))')
    local open='f = os.open(m + "/whole", os.O_RDWR)'
    [ "$(error_of "$open" 'os.pwrite(f, b"x", 0)')" = ENXIO ]
    [ "$(error_of "$open" 'os.pwrite(f, b"x", 6144)')" = ENXIO ]
    [ "$(error_of "$open" 'os.pwrite(f, b"x", 18432)')" = EFBIG ]
    [ "$(error_of "$open" 'os.ftruncate(f, 20000)')" = EFBIG ]
    run ! fallocate -o 4096 -l 10 "$mnt/whole"
    py 'f = os.open("mnt/whole", os.O_RDONLY)
assert os.lseek(f, 0, os.SEEK_DATA) == 4096 and os.lseek(f, 5000, os.SEEK_HOLE) == 6144
assert os.lseek(f, 17000, os.SEEK_HOLE) == 18432
f = os.open("mnt/whole", os.O_RDWR)
assert os.pwrite(f, b"y" * 100, 6100) == 44 and os.pwrite(f, b"z" * 100, 18400) == 32
assert os.pread(f, 60, 6090)[10:] == b"y" * 44 + bytes(6)
os.fsync(f)'
    mpiio-umount "$mnt"
    [ "$(tail -c 44 T.0000.data)" = "$(printf 'y%.0s' {1..44})" ]
    [ "$(stat -c %s T.0003.data)" -eq 2048 ]
    # Only the members that were written are synced.
    as_root strace -f -e trace=fsync,fdatasync -o trace mpiio-mount -F s.json "$mnt" 3>&- &
    await mountpoint -q "$mnt"
    dd if=/dev/zero of="$mnt/whole" bs=1 seek=4096 count=10 conv=notrunc,fsync status=none
    mpiio-umount "$mnt"
    wait
    [ "$(grep -c 'sync(' trace)" -eq 1 ]
}

# without_member_5 VALUE: prints whole.dat with this value for each byte of member 5.
without_member_5() {
    py "
whole = bytearray(open('whole.dat', 'rb').read())
for k in range(5 * 512, len(whole), 16 * 512):
    whole[k:k + 512] = bytes([$1]) * 512
os.write(1, whole)"
}

@test "members: a problem of a member is reported in one line" {
    stripes
    rm T.0005.data
    refused "s.json:2:3: /members: member 5, $tmp/T.0005.data: no such file (missing=zero reads zeros instead)"
    mount_spec s.json -o missing=zero
    cmp "$mnt/whole" <(without_member_5 0)
    [ "$(error_of 'f = os.open(m + "/whole", os.O_RDWR)' 'os.pwrite(f, b"x", 2560)')" = ENXIO ]
    mpiio-umount "$mnt"
    # mpiio-run and mpiio-view read the same value.
    mount_spec s.json -o ro,missing=90
    cmp "$mnt/whole" <(without_member_5 90)
    cmp "$mnt/rank7" <(mpiio-run cat "$mnt/rank7")
    cmp "$mnt/rank7" <(mpiio-view cat s.json -r 7 --missing 90)
    mpiio-view check s.json --missing zero >/dev/null
    mpiio-umount "$mnt"
    refused "s.json:2:3: /members: missing=300: the views' type does not have this value" -o missing=300
    code=2 refused "missing: expected error, zero or a number, got some" -o missing=some
    mkdir T.0005.data
    refused "s.json:2:3: /members: member 5, $tmp/T.0005.data: not a regular file"
    rmdir T.0005.data
    head -c 4000 whole.dat >T.0005.data
    refused "s.json:2:3: /members: member 5, $tmp/T.0005.data: too short: it has 4000 bytes of data and should have 4096*"
    stripes
    sed -i 's/"blocklength": "block" } } }/"blocklength": "block" }, "disp": "512 * (rank == 3)" } }/' s.json
    code=2 refused "s.json:*"
    stripes
    sed -i 's/"view": { "filetype": { "type": "scatter", "blocklength": "block" } } }/"view": { "disp": "1000 * rank" } }/' s.json
    refused "s.json:2:3: /members: member 0, $tmp/T.0000.data: byte 1000 of the whole is in member 1, too*"
    sed -i 's/"count"/"overlap": "last", "count"/' s.json
    refused "s.json:2:3: /members: members that may overlap can only be read (mpiio-mount -o ro)" -o rw
    mount_spec s.json
    cmp "$mnt/whole" <(head -q -c 1000 T.{0000..0014}.data && cat T.0015.data)
    [ "$(error_of 'open(m + "/whole", "r+b")')" = EROFS ]
    mpiio-umount "$mnt"
    stripes
    # These members do not determine where the whole ends.
    rm T.0005.data
    refused "s.json:2:3: /members: member 5, $tmp/T.0005.data: cannot be created: the view does not say where the whole ends *" -o create
    [ ! -e T.0005.data ]
    stripes
}

@test "members: create makes the missing ones, with their full length" {
    cat >s.json <<'TEXT'
{ "viewspec": 1,
  "members": { "count": 4, "file": "sub/piece{member}",
    "view": { "etype": "double", "filetype": { "type": "darray", "gsizes": [10, 12], "psizes": [2, 2],
              "distribs": ["block", "block"], "dargs": [null, null], "order": "C" } },
    "local": { "disp": 24, "etype": "double", "filetype": { "type": "subarray", "sizes": [7, 8],
              "subsizes": [5, 6], "starts": [1, 1], "order": "C" } } } }
TEXT
    refused "s.json:2:3: /members: member 0, $tmp/sub/piece0: cannot be created: No such file or directory" -o create
    mkdir sub
    (umask 027 && mount_spec s.json -o create)
    # Each has a header, and the local array with its ghost cells.
    [ "$(stat -c '%a %s' sub/*)" = "$(printf '640 %d\n' 472 472 472 472)" ]
    py 'np.arange(120.0).tofile("mnt/whole")'
    mpiio-umount "$mnt"
    py '
whole = np.arange(120.0).reshape(10, 12)
for member in range(4):
    row, column = divmod(member, 2)
    data = open(f"sub/piece{member}", "rb").read()
    local = np.frombuffer(data[24:]).reshape(7, 8)
    assert (local[1:6, 1:7] == whole[5 * row:5 * row + 5, 6 * column:6 * column + 6]).all()
    assert not any(data[:24]) and not local[0].any() and not local[:, 0].any()'
    # Existing members keep their lengths. A member that is too short is still reported.
    rm sub/piece2
    mount_spec s.json -o create
    [ "$(ls sub)" = $'piece0\npiece1\npiece2\npiece3' ]
    cmp <(head -c 480 "$mnt/whole") <(py 'os.write(1, np.arange(60.0).tobytes())')
    py 'assert (np.fromfile("mnt/whole").reshape(10, 12)[5:, :6] == 0).all()'
    mpiio-umount "$mnt"
    truncate -s 100 sub/piece1
    refused "s.json:2:3: /members: member 1, $tmp/sub/piece1: too short: *" -o create
    # All nodes create members at once. One node makes each, and all see the whole.
    rm sub/*
    start_nodes 2 -o create
    stop_nodes
    [ "$(stat -c '%s' sub/* | sort -u)" = 472 ]
    [ "$(echo sub/*)" = "sub/piece0 sub/piece1 sub/piece2 sub/piece3" ]
}

@test "members: a member that loses bytes under the mount gives EIO there" {
    stripes
    mount_spec s.json -o direct
    truncate -s 100 T.0001.data
    [ "$(error_of 'f = os.open(m + "/whole", os.O_RDONLY)' 'assert len(os.pread(f, 512, 0)) == 512' \
        'os.pread(f, 512, 512)')" = EIO ]
}

@test "members: thousands of them, with few descriptors" {
    stripes 4000 8 64
    (ulimit -n 1024 && mount_spec s.json)
    local daemon
    daemon=$(marked mpiio-fused)
    cmp whole.dat "$mnt/whole"
    cat "$mnt/rank4" >/dev/null
    dd if=whole.dat of="$mnt/whole" conv=notrunc,fsync bs=100k status=none
    [ "$(find "/proc/$daemon/fd" | wc -l)" -lt 1024 ]
    mpiio-umount "$mnt"
    cmp whole.dat <(mpiio-view cat -r 0 --members 'T.{member:4}.data' --pieces 'scatter 8 on 4000 of byte')
    rm T.*.data
    stripes 1500 4 64
    cmp whole.dat <(mpiio-view cat -r 0 --members 'T.{member:4}.data' --pieces 'scatter 4 on 1500 of byte')
}

@test "members: in shorthand, and through every command" {
    stripes
    local pieces='scatter 512 on 16 of byte'
    mpiio-mount --members 'T.{member:4}.data' --pieces "$pieces" --view 'scatter 100 on 9 of byte' "$mnt"
    cmp whole.dat "$mnt/whole"
    cmp <(mpiio-view cat s.json -r 5) "$mnt/rank5"
    mpiio-umount "$mnt"
    # By default the members are the view's slices.
    mpiio-mount --members 'T.{member:4}.data' --view "$pieces" "$mnt"
    cmp T.0011.data "$mnt/rank11"
    cmp whole.dat "$mnt/whole"
    mpiio-umount "$mnt"
    cmp whole.dat <(mpiio-view cat -r 0 --members 'T.{member:4}.data' --pieces "$pieces")
    [ "$(mpiio-view map s.json -r 5 --length 150)" = "$(printf '%s\t%s\t%s\t%s\t%s\n' 0 500 12 0 500 \
        12 512 88 1 0  100 1400 50 2 376)" ]
    [ "$(mpiio-view owner s.json 1410)" = "$(printf -- '-\t5\t110\t2\t386')" ]
    [ "$(mpiio-view dump s.json -r 5 --length 100 | wc -l)" -ge 1 ]
    mpiio-view draw s.json >/dev/null
    mpiio-view convert s.json --to big-endian -o copy.dat
    cmp whole.dat copy.dat
    fails 2 "-o T.0004.data: the file that is to be converted" \
        mpiio-view convert s.json --to big-endian -o T.0004.data --force
    head -c 100 /dev/zero | mpiio-view put s.json -r 5
    cmp <(head -c 100 /dev/zero) <(mpiio-view cat s.json -r 5 --length 100)
    fails 1 "$(mpiio-view put s.json -r 5 --offset 1G </dev/zero 2>&1 | sed 's/^mpiio-view: //')" \
        mpiio-view put s.json -r 5 --offset 1G </dev/zero
}

@test "members: big-endian pieces, NumPy headers, several views" {
    py 'whole = np.arange(2400.0).reshape(40, 60).astype(">f8")
for i in range(4):
    whole[i * 10:(i + 1) * 10].tofile(f"T.{i:04}.data")'
    cat >s.json <<'TEXT'
{ "viewspec": 1, "members": { "count": 4, "file": "T.{member:4}.data",
    "view": { "etype": "double", "filetype": { "type": "subarray", "sizes": [40, 60], "subsizes": [10, 60],
              "starts": ["10 * rank", 0], "order": "C" } } },
  "ranks": 3, "views": {
    "columns": { "etype": "double", "datarep": "big-endian",
      "filetype": { "type": "subarray", "sizes": [40, 60], "subsizes": [40, 20],
                    "starts": [0, "20 * rank"], "order": "C" } },
    "bytes": {} } }
TEXT
    mount_spec s.json -o npy
    py '
whole = np.arange(2400.0).reshape(40, 60)
for rank in range(3):
    assert (np.load(f"mnt/columns/rank{rank}.npy") == whole[:, rank * 20:rank * 20 + 20]).all()
with open("mnt/columns/rank1", "r+b") as out:
    out.write((-whole[:, 20:40]).tobytes())
whole[:, 20:40] *= -1
assert (np.fromfile("mnt/whole", ">f8").reshape(40, 60) == whole).all()
assert (np.fromfile("mnt/bytes/rank0", ">f8").reshape(40, 60) == whole).all()
assert (np.fromfile("T.0002.data", ">f8").reshape(10, 60) == whole[20:30]).all()'
    [ "$(ls "$mnt")" = $'bytes\ncolumns\nwhole' ]
    [ "$(attribute "$mnt/whole" about)" = "all bytes of the members: 1 x byte of each 1 byte from byte 0 on" ]
}

@test "members: numbers in names start at any number, have steps, and may be several indices" {
    local seed=${MPIIO_SEED:-$RANDOM}
    echo "MPIIO_SEED=$seed"
    # Tiles of random rows and columns. The pattern must give their names.
    /usr/bin/python3 "$call" names_count_from_any_number "$seed"
    local case
    for case in {0..39}; do
        mpiio-view cat "s$case.json" -r 0 | cmp - "whole$case" || {
            cat "s$case.json"
            false
        }
        # The resolved spec describes the same file.
        mpiio-view spec "s$case.json" >again.json
        mpiio-view cat again.json -r 0 | cmp - "whole$case"
    done
    mount_spec s7.json
    cmp "$mnt/whole" whole7
}

@test "members: indices in shorthand" {
    local i j
    make_file whole.dat 48
    split -a 3 --numeric-suffixes=1 -b 16 --additional-suffix .nc whole.dat grid.t
    mpiio-view cat --members 'grid.t{member:3=1}.nc' --pieces 'contiguous 16 at 16*rank tiles 1 on 3' -r 0 | cmp - whole.dat
    mpiio-view cat --members 'grid.t{member:3=1..3}.nc' --pieces 'contiguous 16 at 16*rank tiles 1' -r 0 | cmp - whole.dat
    for i in 2 4; do
        for j in 0 1 2; do
            dd if=whole.dat bs=8 skip=$(((i / 2 - 1) * 3 + j)) count=1 of="x$i-$j" status=none
        done
    done
    mpiio-mount --members 'x{i=2..2*n..2}-{j=0..n}' --pieces 'contiguous 8 at 24*i+8*j tiles 1' \
        --view 'scatter 12 on 4' -D n=2 "$mnt"
    cmp "$mnt/whole" whole.dat
    cmp "$mnt/rank1" <(tail -c +13 whole.dat | head -c 12)
    fails 2 "--members: file: 6 names for 5 members" mpiio-view cat --members 'x{i=2..4..2}-{j=0..2}' --pieces 'contiguous 8 on 5' -r 0
    fails 2 "--members: file: i: expected FIRST..LAST" mpiio-view cat --members 'x{i=2}' --pieces 'contiguous 8 on 5' -r 0
}
