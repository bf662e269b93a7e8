#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Files in representations other than this machine's, through cat and put, and through mounts.

# shellcheck disable=SC2154 # helper.bash sets mnt and tmp
load helper

# view TYPE DATAREP [RANKS]: makes x.json. Values of TYPE (JSON) in x.dat are dealt to the ranks.
view() {
    one_view x.dat "${3:-1}" '{ "etype": '"$1"', "filetype": { "type": "scatter" }, "datarep": "'"$2"'" }' >x.json
}

# A record: 'a', a short, a long, a wchar, a float, a long double. It has 29 bytes in external32.
record='{ "type": "struct", "blocklengths": [1, 1, 1, 1, 1, 1],
          "displacements": [0, 1, 3, 7, 9, 13],
          "types": ["char", "short", "long", "wchar", "float", "long_double"] }'

# records: makes 100 of them, as this machine has them (r.native) and in external32 (r.external32).
# A long double is made from an integer: its fraction is the number without its leading bit.
records() {
    /usr/bin/python3 "$call" records
}

# longs NUMBER...: prints each number as 8 bytes.
longs() {
    /usr/bin/python3 -c 'import struct, sys
sys.stdout.buffer.write(b"".join(struct.pack("<q", int(n)) for n in sys.argv[1:]))' "$@"
}

@test "representation: a struct of mixed sizes through cat, put, and a mount, in steps of any size" {
    local at size
    records
    view "$record" external32
    cp r.external32 x.dat
    mpiio-view cat x.json -r 0 | cmp - r.native
    mpiio-view cat x.json -r 0 --offset 17 --length 1000 | cmp - <(tail -c +18 r.native | head -c 1000)
    : >x.dat
    mpiio-view put x.json -r 0 <r.native
    cmp x.dat r.external32
    # In pieces that do not fit the values.
    : >x.dat
    for at in 0 1000 2000 3000; do
        tail -c +$((at + 1)) r.native | head -c 1000 | mpiio-view put x.json -r 0 --offset "$at"
    done
    cmp x.dat r.external32
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
    /usr/bin/python3 "$call" two_ranks_records "$mnt"
    cat "$mnt/rank1" "$mnt/rank0" | cmp - before
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 1 | cmp - <(head -c 1750 before)
}

@test "representation: every byte order, compared with numpy" {
    local type
    /usr/bin/python3 "$call" every_byte_order_through_numpy_eyes
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

@test "representation: a value that does not fit gives ERANGE, and the file is unchanged" {
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
    fails 1 "$tmp/x.dat: Numerical result out of range at slice offset 0" mpiio-view put x.json -r 0 <bad
    cmp x.dat before
    # If a value is written in parts, fsync or close reports it.
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'assert os.pwrite(fd, b"\1", 5) == 1' \
        'assert os.pread(fd, 8, 0) == b"\7\0\0\0\0\1\0\0"' 'os.fsync(fd)')" = ERANGE ]
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'assert os.pwrite(fd, b"\1", 5) == 1' \
        'os.close(fd)')" = ERANGE ]
    cmp x.dat before
    # The last close gives the elements up. The kernel does not wait for that, nor for the end of
    # its pages.
    logged log 'the element at 0 was written in part and is given up: Numerical result'
    longs 7 -1 >right
    await cmp -s right "$mnt/rank0"
    one_line 1 "*Numerical result out of range at slice offset 8" mpiio-view put x.json -r 0 --offset 12 <<<"1"
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
    one_line 2 "*narrow= needs refuse or truncate: round*" mpiio-mount -o narrow=round x.json "$mnt"
    one_line 2 "*--narrow round: expected refuse or truncate*" mpiio-view put x.json -r 0 --narrow=round
    one_line 2 "*--narrow: not an option of this subcommand*" mpiio-view cat x.json -r 0 --narrow=refuse
}

# Two daemons, whose writers have bytes of the same longs, and longs next to them. Each writer
# checks what it has written. A lost update would show as an older byte.
@test "representation: writers through two mounts lose nothing, not within an element" {
    view '"long"' external32
    truncate -s 64 x.dat
    mkdir other
    mount_spec x.json
    mpiio-mount x.json "$tmp/other"
    python writers_through_two_mounts_lose_nothing "$mnt" "$tmp/other"
    mpiio-umount "$mnt" other
    mpiio-view cat x.json -r 0 >got
    /usr/bin/python3 "$call" nothing_is_lost
}

@test "representation: a program with fcntl locks blocks partial writes until it unlocks" {
    view '"long"' external32
    printf '\0\0\0\7\0\0\0\10' >x.dat
    mount_spec x.json
    /usr/bin/python3 "$call" a_program_with_fcntl_locks "$mnt"
}

@test "representation: a slice grows by whole records, wherever a program writes" {
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

@test "representation: a number stored inexactly is not stored again by a process that has written nothing since" {
    local options
    for options in rw cache=back unique; do
        : >f.dat
        mpiio-mount -o "$options" --view 'broadcast on 2 of long_double as external32' f.dat "$mnt"
        python a_number_stored_as_another_one
        mpiio-umount "$mnt"
        [ "$(od -An -tx1 -v f.dat | tr -d ' \n')" = 40018000000000000000000000000000 ]
    done
}
