#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Files in other representations than this machine's: through cat and put, and through mounts.

# shellcheck disable=SC2154 # helper.bash sets mnt and tmp
load helper

# view TYPE DATAREP [RANKS]: x.json, the ranks of x.dat take turns over values of TYPE (JSON).
view() {
    cat >x.json <<END
{ "viewspec": 1, "file": "x.dat", "ranks": ${3:-1},
  "view": { "etype": $1, "filetype": { "type": "scatter" }, "datarep": "$2" } }
END
}

# A record: 'a', a short, a long, a wchar, a float, a long double; in external32 29 bytes.
record='{ "type": "struct", "blocklengths": [1, 1, 1, 1, 1, 1],
          "displacements": [0, 1, 3, 7, 9, 13],
          "types": ["char", "short", "long", "wchar", "float", "long_double"] }'

# records: 100 of them, as they are here (r.native) and in external32 (r.external32). A long double
# is made of an integer: its fraction is the number's bits behind the first.
records() {
    /usr/bin/python3 - <<'END'
import struct
native, external = b"", b""
for i in range(100):
    number = i * 7919 + 1
    bits = number.bit_length() - 1
    head = (i % 128, i - 50, (i - 50) * 10**7, 300 * i, i * 0.1 - 3)
    exponent = 16383 + bits + (0x8000 if i % 2 else 0)
    native += struct.pack("<bhqif", *head)
    native += struct.pack("<QHxxxxxx", number << 63 - bits, exponent)
    external += struct.pack(">bhiHf", *head)
    external += struct.pack(">H", exponent) + ((number << 112 - bits) & (1 << 112) - 1).to_bytes(14, "big")
open("r.native", "wb").write(native)
open("r.external32", "wb").write(external)
END
}

# longs NUMBER...: as 8 bytes each.
longs() {
    /usr/bin/python3 -c 'import struct, sys
sys.stdout.buffer.write(b"".join(struct.pack("<q", int(n)) for n in sys.argv[1:]))' "$@"
}

@test "representation: a struct of mixed sizes through cat and put" {
    records
    view "$record" external32
    cp r.external32 x.dat
    mpiio-view cat x.json -r 0 | cmp - r.native
    mpiio-view cat x.json -r 0 --offset 17 --length 1000 | cmp - <(tail -c +18 r.native | head -c 1000)
    : >x.dat
    mpiio-view put x.json -r 0 <r.native
    cmp x.dat r.external32
    # In pieces that fit nothing.
    : >x.dat
    local at
    for at in 0 1000 2000 3000; do
        tail -c +$((at + 1)) r.native | head -c 1000 | mpiio-view put x.json -r 0 --offset "$at"
    done
    cmp x.dat r.external32
}

@test "representation: a struct of mixed sizes through a mount, in steps of any size" {
    local size
    records
    view "$record" external32
    for size in 1 7 35 512 4096; do
        : >x.dat
        mount_spec x.json
        dd if=r.native of="$mnt/rank0" bs="$size" status=none
        cmp "$mnt/rank0" r.native
        cmp x.dat r.external32
        cp r.native "$mnt/rank0"
        cmp x.dat r.external32
        dd if="$mnt/rank0" bs="$size" status=none | cmp - r.native
        [ "$(stat -c %s "$mnt/rank0")" -eq 3500 ]
        mpiio-umount "$mnt"
    done
    mpiio-view check x.json
}

@test "representation: two ranks' records, stored through mappings" {
    records
    view "$record" external32 2
    cp r.external32 x.dat
    mount_spec x.json
    cat "$mnt/rank0" "$mnt/rank1" >before
    /usr/bin/python3 - "$mnt" <<'END'
import mmap, sys
native = open("r.native", "rb").read()
for rank in (0, 1):
    mine = b"".join(native[at:at + 35] for at in range(35 * (1 - rank), 3500, 70))
    with open(f"{sys.argv[1]}/rank{rank}", "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as map:
            map[:] = mine
            map.flush()
END
    cat "$mnt/rank1" "$mnt/rank0" | cmp - before
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 1 | cmp - <(head -c 1750 before)
}

@test "representation: every byte order through numpy's eyes" {
    local type
    /usr/bin/python3 - <<'END'
import numpy
bits = numpy.array([0x7ff80000deadbeef, 0xfff0000000000001, 0x7ff0000000000000, 1 << 63, 1,
                    0x3ff199999999999a], "<u8")
bits.tofile("double.native")
bits.byteswap().tofile("double.big")
bits.view("<u4").byteswap().tofile("float.big")
bits.view("<u2").byteswap().tofile("short.big")
END
    for type in double float short; do
        view "\"$type\"" big-endian
        cp "$type.big" x.dat
        mpiio-view cat x.json -r 0 | cmp - double.native
        mount_spec x.json
        cmp "$mnt/rank0" double.native
        mpiio-umount "$mnt"
        : >x.dat
        mpiio-view put x.json -r 0 <double.native
        cmp x.dat "$type.big"
        view "\"$type\"" little-endian
        mpiio-view put x.json -r 0 <double.native
        cmp x.dat double.native
    done
    view '"double"' internal
    cp double.big x.dat
    mpiio-view cat x.json -r 0 | cmp - double.native
}

@test "representation: what does not fit is ERANGE, and the file is as it was" {
    view '"long"' external32
    printf '\0\0\0\7\xff\xff\xff\xff' >x.dat
    cp x.dat before
    mount_spec x.json -o "log=$tmp/log"
    longs 1 2147483648 >bad
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'os.write(fd, open("bad", "rb").read())')" = ERANGE ]
    cmp x.dat before
    run -1 cp bad "$mnt/rank0"
    cmp x.dat before
    longs 7 -1 | cmp - "$mnt/rank0"
    run -1 --separate-stderr mpiio-view put x.json -r 0 <bad
    [[ $stderr == "mpiio-view: $tmp/x.dat: Numerical result out of range at slice offset 0" ]]
    cmp x.dat before
    # In parts it is told by whoever syncs or closes.
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'assert os.pwrite(fd, b"\1", 5) == 1' \
        'assert os.pread(fd, 8, 0) == b"\7\0\0\0\0\1\0\0"' 'os.fsync(fd)')" = ERANGE ]
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'assert os.pwrite(fd, b"\1", 5) == 1' \
        'os.close(fd)')" = ERANGE ]
    cmp x.dat before
    # The last close gives them up; the kernel does not wait for that, nor for its pages to go.
    logged log 'the element at 0 was written in part and is given up: Numerical result'
    longs 7 -1 >right
    await cmp -s right "$mnt/rank0"
    run -1 --separate-stderr mpiio-view put x.json -r 0 --offset 12 <<<"1"
    [[ $stderr == *"Numerical result out of range at slice offset 8" ]]
    mpiio-umount "$mnt"
    cmp x.dat before
}

@test "representation: narrow=truncate stores the least significant bytes" {
    view '"long"' external32
    longs 4294967297 -2 >wide
    : >x.dat
    mpiio-view put x.json -r 0 --narrow=truncate <wide
    printf '\0\0\0\1\xff\xff\xff\xfe' | cmp - x.dat
    : >x.dat
    mount_spec x.json -o narrow=truncate
    dd if=wide of="$mnt/rank0" bs=1 status=none
    mpiio-umount "$mnt"
    printf '\0\0\0\1\xff\xff\xff\xfe' | cmp - x.dat
    mount_spec x.json -o narrow=truncate,narrow=refuse
    run -1 cp wide "$mnt/rank0"
    mpiio-umount "$mnt"
    run -2 mpiio-mount -o narrow=round x.json "$mnt"
    [[ $output == *"narrow= needs refuse or truncate: round"* ]]
    run -2 mpiio-view put x.json -r 0 --narrow=round
    [[ $output == *"--narrow round: expected refuse or truncate"* ]]
    run -2 mpiio-view cat x.json -r 0 --narrow=refuse
    [[ $output == *"--narrow: not an option of this subcommand"* ]]
}

# Two daemons, whose writers have bytes of the same longs, and longs beside them. Each writer finds
# what it has written: a lost update would be another's older byte.
@test "representation: writers through two mounts lose nothing, not within an element" {
    view '"long"' external32
    truncate -s 64 x.dat
    mkdir other
    mount_spec x.json
    mpiio-mount x.json "$tmp/other"
    python "$mnt" "$tmp/other" <<'END'
def writer(number):
    fd = os.open(f"{sys.argv[1 + number % 2]}/rank0", os.O_RDWR)
    file = os.open("x.dat", os.O_RDONLY)
    for round in range(400):
        byte = bytes([(round * 7 + number) % 128])
        for at in (0, 16):
            if number < 4:
                os.pwrite(fd, byte, at + number)
                assert os.pread(file, 1, at // 2 + 3 - number) == byte, round
            else:
                os.pwrite(fd, byte * 4 + bytes(4), at + 8)
in_processes(writer, range(6))
END
    mpiio-umount "$mnt"
    mpiio-umount "$tmp/other"
    mpiio-view cat x.json -r 0 >got
    /usr/bin/python3 - <<'END'
last = 399 * 7
want = bytes((last + number) % 128 for number in range(4)) + bytes(4)
data = open("got", "rb").read()
for at in (0, 16):
    assert data[at:at + 8] == want, data[at:at + 8]
    assert data[at + 8] in ((last + 4) % 128, (last + 5) % 128)
    assert data[at + 8:at + 12] == data[at + 8:at + 9] * 4 and data[at + 12:at + 16] == bytes(4)
assert data[32:] == bytes(len(data) - 32)
END
}

@test "representation: a program with fcntl locks is waited for" {
    view '"long"' external32
    printf '\0\0\0\7\0\0\0\10' >x.dat
    mount_spec x.json
    /usr/bin/python3 - "$mnt" <<'END'
import fcntl, os, sys, threading
file = os.open("x.dat", os.O_RDWR)
fcntl.lockf(file, fcntl.LOCK_EX, 4, 4)
def write(at, data):
    fd = os.open(f"{sys.argv[1]}/rank0", os.O_WRONLY)
    assert os.pwrite(fd, data, at) == len(data)
# Another element, and a part of it, is not waited for.
write(0, b"\1")
# A part of the locked one, by read-modify-write, is; what the holder stores meanwhile stays.
other = threading.Thread(target=write, args=(8, b"\x22"))
other.start()
other.join(0.5)
assert other.is_alive()
os.pwrite(file, b"\0\0\x11\0", 4)
fcntl.lockf(file, fcntl.LOCK_UN, 4, 4)
other.join()
assert os.pread(file, 8, 0) == b"\0\0\0\1\0\0\x11\x22", os.pread(file, 8, 0)
END
}

@test "representation: a slice grows by whole records, wherever one writes" {
    view "$record" external32 2
    : >x.dat
    mount_spec x.json
    printf z | dd of="$mnt/rank1" bs=1 seek=35 conv=notrunc status=none
    [ "$(stat -c %s "$mnt/rank1")" -eq 70 ]
    [ "$(stat -c %s "$mnt/rank0")" -eq 70 ]
    [ "$(stat -c %s x.dat)" -eq $((4 * 29)) ]
    truncate -s 200 "$mnt/rank0"
    [ "$(stat -c %s "$mnt/rank0")" -eq 210 ]
    [ "$(stat -c %s x.dat)" -eq $((11 * 29)) ]
    printf '%s' zzzz >>"$mnt/rank0"
    [ "$(stat -c %s "$mnt/rank0")" -eq 245 ]
    fallocate -o 300 -l 100 "$mnt/rank0"
    [ "$(stat -c %s "$mnt/rank0")" -eq 420 ]
    head -c 36 "$mnt/rank1" | tail -c 1 | grep -q z
}

@test "representation: a number stored as another one is not stored again by who wrote nothing since" {
    local options
    for options in rw cache=back unique; do
        : >f.dat
        cat >f.json <<'JSON'
{ "viewspec": 1, "file": "f.dat", "ranks": 2,
  "view": { "etype": "long_double", "filetype": { "type": "broadcast" }, "datarep": "external32" } }
JSON
        mount_spec f.json -o "$options"
        python <<'PYTHON'
unnormal = (1).to_bytes(8, "little") + b"\xff\x3f"
six = (6 << 61).to_bytes(8, "little") + b"\x01\x40"
external = b"\x40\x01\x80" + bytes(13)
first = os.open("mnt/rank0", os.O_RDWR)
os.pwrite(first, unnormal, 0)
os.fsync(first)
second = os.open("mnt/rank1", os.O_RDWR)
os.pwrite(second, six, 0)
os.fsync(second)
os.close(second)
os.fsync(first)
assert open("f.dat", "rb").read() == external
os.close(first)
with open("mnt/rank0", "rb") as again:
    assert again.read(10) == six
PYTHON
        mpiio-umount "$mnt"
        [ "$(od -An -tx1 -v f.dat | tr -d ' \n')" = 40018000000000000000000000000000 ]
    done
}
