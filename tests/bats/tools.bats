#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ordinary tools read a slice as they read a plain file.

# shellcheck disable=SC2002 # a pipe is what is tested
load helper

# Three ranks take turns over blocks of 1000 bytes of a file of 3 MB and a bit; "want" holds what
# rank 1 has.
thirds_spec() {
    make_file b.dat 3000500
    cat >b.json <<'EOF'
{ "viewspec": 1, "file": "b.dat", "ranks": 3,
  "view": { "filetype": { "type": "scatter", "blocklength": 1000 } } }
EOF
    /usr/bin/python3 - <<'EOF'
data = open("b.dat", "rb").read()
for rank in range(3):
    with open("want%d" % rank, "wb") as out:
        out.write(b"".join(data[i:i + 1000] for i in range(rank * 1000, len(data), 3000)))
EOF
}

# A sparse file whose slices have 10^12 bytes each; data only at the places given (in the file).
huge_spec() {
    truncate -s 4000000000000 h.dat
    cat >h.json <<'EOF'
{ "viewspec": 1, "file": "h.dat", "ranks": 4,
  "view": { "etype": "double", "filetype": { "type": "scatter", "blocklength": 1000 } } }
EOF
    local place
    for place in "$@"; do
        printf 'data at %s' "$place" | dd of=h.dat bs=1 seek="$place" conv=notrunc status=none
    done
}

@test "tools: cat of all ranks of scattered blocks" {
    thirds_spec
    mount_spec b.json
    cmp <(cat "$mnt"/rank*) <(cat want0 want1 want2)
}

@test "tools: md5sum and cmp" {
    thirds_spec
    mount_spec b.json
    [ "$(md5sum <"$mnt/rank2")" = "$(md5sum <want2)" ]
    cmp "$mnt/rank0" want0
}

@test "tools: cp, and cp -a keeps mode and times" {
    thirds_spec
    mount_spec b.json
    cp "$mnt/rank1" copy
    cmp copy want1
    cp -a "$mnt/rank1" same
    cmp same want1
    [ "$(stat -c '%Y %a' same)" = "$(stat -c '%Y %a' "$mnt/rank1")" ]
    cp "$mnt/rank0" "$mnt/rank1" "$mnt/rank2" mnt/../.
    cmp rank2 want2
}

@test "tools: head, tail, wc" {
    thirds_spec
    mount_spec b.json
    cmp <(head -c1 "$mnt/rank1") <(head -c1 want1)
    cmp <(head -c 12345 "$mnt/rank1") <(head -c 12345 want1)
    cmp <(tail -c 1 "$mnt/rank1") <(tail -c 1 want1)
    cmp <(tail -c 54321 "$mnt/rank1") <(tail -c 54321 want1)
    cmp <(tail -c +700001 "$mnt/rank1") <(tail -c +700001 want1)
    [ "$(wc -c <"$mnt/rank1")" -eq "$(wc -c <want1)" ]
    [ "$(cat "$mnt/rank1" | wc -c)" -eq "$(wc -c <want1)" ]
}

@test "tools: dd with skip, odd block sizes, and direct I/O" {
    local size
    thirds_spec
    mount_spec b.json
    for size in 1 7 512 4096 65537 3000000; do
        cmp <(dd if="$mnt/rank1" bs="$size" skip=13 count=29 status=none) \
            <(dd if=want1 bs="$size" skip=13 count=29 status=none)
    done
    cmp <(dd if="$mnt/rank1" bs=1M iflag=direct status=none) want1
    cmp <(dd if="$mnt/rank1" bs=64k skip=900001 iflag=skip_bytes status=none) <(tail -c +900002 want1)
    [ "$(dd if="$mnt/rank1" bs=1M skip=100 status=none | wc -c)" -eq 0 ]
}

@test "tools: od, awk and split" {
    thirds_spec
    mount_spec b.json
    cmp <(od -An -tx8 -j 8000 -N 800 "$mnt/rank0") <(od -An -tx8 -j 8000 -N 800 want0)
    split -b 100000 "$mnt/rank1" part.
    cmp <(cat part.*) want1
    od -An -v -tu1 -w1 "$mnt/rank2" | awk '{ sum += $1 } END { print sum }' >have
    [ "$(cat have)" = "$(od -An -v -tu1 -w1 want2 | awk '{ sum += $1 } END { print sum }')" ]
}

@test "tools: tar of slices, and back" {
    local rank
    thirds_spec
    mount_spec b.json
    mkdir out
    tar -C "$mnt" -cf - rank0 rank1 rank2 | tar -C out -xf -
    for rank in 0 1 2; do
        cmp "out/rank$rank" "want$rank"
    done
    tar -C "$mnt" --sparse -cf - rank1 | tar -C out -xf -
    cmp out/rank1 want1
}

@test "tools: python maps a slice" {
    thirds_spec
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import mmap, sys
want = open("want1", "rb").read()
with open(sys.argv[1], "rb") as slice:
    for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
        map = mmap.mmap(slice.fileno(), 0, flags, mmap.PROT_READ)
        assert len(map) == len(want)
        assert map[777777:777797] == want[777777:777797]
        assert map[:] == want
EOF
}

@test "tools: numpy maps a slice" {
    /usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "python3-numpy is missing"
    thirds_spec
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import numpy, sys
have = numpy.memmap(sys.argv[1], dtype="<u8", mode="r")
want = numpy.fromfile("want1", dtype="<u8")
assert (have == want).all() and len(have) == len(want)
assert (numpy.fromfile(sys.argv[1], dtype="<u8", count=10, offset=80) == want[10:20]).all()
EOF
}

@test "tools: sendfile and copy_file_range" {
    thirds_spec
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import os, sys
want = open("want1", "rb").read()
slice = os.open(sys.argv[1], os.O_RDONLY)
out = os.open("sent", os.O_RDWR | os.O_CREAT)
while os.sendfile(out, slice, None, 300001):
    pass
assert os.pread(out, len(want) + 1, 0) == want
assert os.sendfile(out, slice, 500000, 1000) == 1000
assert os.pread(out, 1000, len(want)) == want[500000:501000]
out = os.open("ranged", os.O_RDWR | os.O_CREAT)
os.lseek(slice, 0, os.SEEK_SET)
try:
    while os.copy_file_range(slice, out, 1 << 20):
        pass
    assert os.pread(out, len(want) + 1, 0) == want
except OSError as error:
    assert error.errno in (18, 38, 95), error
EOF
}

@test "tools: reads at random places agree" {
    thirds_spec
    mount_spec b.json
    /usr/bin/python3 - "$mnt" <<'EOF'
import os, random, sys
random.seed(20)
for rank in range(3):
    want = open("want%d" % rank, "rb").read()
    fd = os.open("%s/rank%d" % (sys.argv[1], rank), os.O_RDONLY)
    for i in range(500):
        offset = random.randrange(len(want) + 100)
        length = random.choice((1, 8, 999, 4096, 70000, 1500000))
        assert os.pread(fd, length, offset) == want[offset:offset + length], (offset, length)
EOF
}

@test "tools: many readers at once" {
    local i
    thirds_spec
    mount_spec b.json
    for ((i = 0; i < 12; i++)); do
        cmp "$mnt/rank$((i % 3))" "want$((i % 3))" 3>&- &
        dd if="$mnt/rank$((i % 3))" bs=64k iflag=direct status=none 3>&- |
            cmp - "want$((i % 3))" 3>&- &
    done
    while [ -n "$(jobs -p)" ]; do
        wait -n
    done
}

@test "tools: SEEK_DATA and SEEK_HOLE" {
    huge_spec 8192 2000000008192
    mount_spec h.json
    /usr/bin/python3 - "$mnt" <<'EOF'
import errno, os, sys
def seek(fd, offset, whence):
    try:
        return os.lseek(fd, offset, whence)
    except OSError as error:
        return -error.errno
size = 1000000000000
first = os.open(sys.argv[1] + "/rank1", os.O_RDONLY)
assert os.fstat(first).st_size == size
# Rank 1 has blocks of 8000 bytes, every 32000 from 8000 on; the filesystem's are of 4096 or less.
assert seek(first, 0, os.SEEK_HOLE) == 0
assert seek(first, 0, os.SEEK_DATA) == 192
assert seek(first, 200, os.SEEK_DATA) == 200
hole = seek(first, 192, os.SEEK_HOLE)
assert 192 < hole <= 192 + 4096, hole
assert seek(first, hole, os.SEEK_HOLE) == hole
assert seek(first, hole, os.SEEK_DATA) == 500000000192
assert seek(first, 500000005000, os.SEEK_DATA) == -errno.ENXIO
assert seek(first, size - 1, os.SEEK_HOLE) == size - 1
assert seek(first, size, os.SEEK_HOLE) == -errno.ENXIO
assert seek(first, size, os.SEEK_DATA) == -errno.ENXIO
none = os.open(sys.argv[1] + "/rank3", os.O_RDONLY)
assert seek(none, 0, os.SEEK_HOLE) == 0
assert seek(none, 0, os.SEEK_DATA) == -errno.ENXIO
EOF
    [ "$(dd if="$mnt/rank1" bs=1 skip=192 count=12 status=none)" = "data at 8192" ]
}

@test "tools: cp of a sparse slice of 10^12 bytes is quick, and sparse" {
    huge_spec 8192 2000000008192
    mount_spec h.json
    [ "$(stat -c %s "$mnt/rank1")" -eq 1000000000000 ]
    # A copy of holes as zeros would take an hour.
    timeout 300 cp "$mnt/rank1" copy
    [ "$(stat -c %s copy)" -eq 1000000000000 ]
    [ "$(stat -c %b copy)" -lt 1000 ]
    cmp -n 100000 copy "$mnt/rank1"
    cmp -n 100000 -i 499999950000 copy "$mnt/rank1"
    timeout 300 cp --sparse=always "$mnt/rank1" again
    [ "$(stat -c %b again)" -lt 1000 ]
}

@test "tools: ends of a slice of 10^12 bytes" {
    huge_spec 3999999999990
    mount_spec h.json
    [ "$(timeout 300 head -c1 "$mnt/rank1" | od -An -tu1)" = "   0" ]
    [ "$(timeout 300 tail -c 16384 "$mnt/rank3" | wc -c)" -eq 16384 ]
    [ "$(timeout 300 dd if="$mnt/rank2" bs=8 skip=100000000000 count=1 status=none | wc -c)" -eq 8 ]
}

@test "tools: a million ranks over a sparse file of 8 TB: the daemon stays small" {
    local pid
    truncate -s 8000000000000 h.dat
    cat >h.json <<'EOF'
{ "viewspec": 1, "file": "h.dat", "ranks": 1000000,
  "view": { "etype": "double", "filetype": { "type": "scatter", "blocklength": 1 } } }
EOF
    mount_spec h.json
    pid=$(daemon_pid)
    [ "$(timeout 300 head -c1 "$mnt/rank999999" | od -An -tu1)" = "   0" ]
    [ "$(stat -c %s "$mnt/rank500000")" -eq 8000000 ]
    /usr/bin/python3 - "$mnt" <<'EOF'
import os, sys
for rank in range(0, 1000000, 125):
    os.stat("%s/rank%d" % (sys.argv[1], rank))
EOF
    [ "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 32768 ]
}
