#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# User-defined data representations: libraries that convert, used by commands and mounts.

load helper

# take LIBRARY...: copies libraries of tests/datarep, so that no other user may write to them.
take() {
    local name
    for name in "$@"; do
        install -m 755 "$MPIIO_BUILD/tests/datarep/lib$name.so" .
    done
}

# spec TYPE NAME LIBRARY [RANKS]: makes x.json. Values of TYPE in x.dat are dealt to the ranks.
spec() {
    cat >x.json <<END
{ "viewspec": 1, "file": "x.dat", "ranks": ${4:-1},
  "view": { "etype": "$1", "filetype": { "type": "scatter" },
            "datarep": { "name": "$2", "library": "$3" } } }
END
}

# 1, -1.5, 0 and pi as F_floating numbers, and as this machine has them.
vax_reals() {
    printf '\x80\x40\0\0\xc0\xc0\0\0\0\0\0\0\x49\x41\xdb\x0f' >x.dat
    py 'os.write(1, struct.pack("<4f", 1, -1.5, 0, 3.14159274))' >x.expected
}

@test "datarep: cat and put through a library beside the spec; a library that others can write to is refused" {
    take vax
    vax_reals
    spec real vax ./libvax.so
    mpiio-view cat x.json -r 0 | cmp - x.expected
    cp x.dat x.before
    : >x.dat
    mpiio-view put x.json -r 0 <x.expected
    cmp x.dat x.before
    mpiio-view cat x.json -r 0 --offset 5 --length 6 | cmp - <(tail -c +6 x.expected | head -c 6)
    chmod g+w libvax.so
    one_line 2 "*x.json:3:*: /view/datarep: library $tmp/./libvax.so: it is writable by its group" mpiio-mount x.json "$mnt"
    run ! is_mounted
    chmod g-w libvax.so
    chmod o+w .
    one_line 2 "*: its folder is writable by others" mpiio-view cat x.json -r 0
    chmod o-w .
    mpiio-view cat x.json -r 0 | cmp - x.expected
    spec long vax ./libvax.so
    one_line 2 "*representation \"vax\" has no MPI_LONG" mpiio-view cat x.json -r 0
}

@test "datarep: a struct of a library's types, by absolute path, from any directory" {
    take vax
    cat >s.json <<END
{ "viewspec": 1, "file": "s.dat", "ranks": 2,
  "view": { "etype": { "type": "struct", "blocklengths": [1, 1, 2], "displacements": [0, 2, 10],
                       "types": ["integer2", "double_precision", "byte"] },
            "filetype": { "type": "scatter" },
            "datarep": { "name": "vaxg", "library": "$tmp/libvax.so" } } }
END
    # Records of 12 bytes: 7, 1.0, "ab"; 8, pi, "cd".
    printf '\7\0\x10\x40\0\0\0\0\0\0ab\10\0\x29\x40\xfb\x21\x44\x54\x18\x2dcd' >s.dat
    cd /
    mpiio-view cat "$tmp/s.json" -r 1 >"$tmp/got"
    py 'import math; assert struct.unpack("<hd2s", open(os.environ["tmp"] + "/got", "rb").read()) == (8, math.pi, b"cd")'
}

@test "datarep: reads and writes of a mount, of whole and partial values" {
    take vax
    vax_reals
    spec real vax ./libvax.so 2
    mount_spec x.json
    cmp "$mnt/rank0" <(head -c 4 x.expected; tail -c +9 x.expected | head -c 4)
    [ "$(attribute "$mnt/rank1" datarep)" = vax ]
    # The upper half of pi becomes that of -1.5.
    printf '\xc0\xbf' | dd of="$mnt/rank1" bs=1 seek=6 conv=notrunc status=none
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 1 | cmp - <(printf '\0\0\xc0\xbf\xdb\x0f\xc0\xbf')
    mpiio-view cat x.json -r 0 | cmp - <(head -c 4 x.expected; tail -c +9 x.expected | head -c 4)
}

@test "datarep: converters that call MPI, in a background daemon; they do not join the MPI job of the command" {
    take asking
    py 'os.write(1, bytes(255 - byte for byte in b"abcdefgh"))' >x.dat
    spec short inverted libasking.so
    [ "$(mpiio-view cat x.json -r 0)" = abcdefgh ]
    mount_spec x.json
    [ "$(cat "$mnt/rank0")" = abcdefgh ]
    printf XY | dd of="$mnt/rank0" bs=1 seek=3 conv=notrunc status=none
    [ "$(cat "$mnt/rank0")" = abcXYfgh ]
    mpiio-umount "$mnt"
    [ "$(mpiio-view cat x.json -r 0)" = abcXYfgh ]
    printf '\x9e\x9d' >x.dat
    gives abab mpi_run 2 mpiio-view cat x.json -r 0
}

@test "datarep: a converter that fails gives EIO, and the log names it" {
    take asking
    printf 'abcdefgh' >x.dat
    spec double failing libasking.so
    local message='representation failing: read converter failed with MPI error 23 for MPI_DOUBLE'
    run -1 --separate-stderr mpiio-view cat x.json -r 0
    [ -z "$output" ]
    [[ $stderr == *"mpiio-view: $message ($tmp/libasking.so)"* ]]
    [[ $stderr == *"Input/output error"* ]]
    mount_spec x.json -o "log=$tmp/log"
    one_line 1 "*Input/output error*" cat "$mnt/rank0"
    run -1 cat "$mnt/rank0"
    grep -F "$message ($tmp/libasking.so)" log
    [ "$(grep -c 'read converter failed' log)" -eq 1 ]
    run -1 dd if=/dev/zero of="$mnt/rank0" bs=8 count=1 conv=notrunc
    grep -F "${message/read/write}" log
    [ "$(cat x.dat)" = abcdefgh ]
    mpiio-umount "$mnt"
}

# To this library zeros are not a value, and neither is a half of one. So parts wait for their rest.
@test "datarep: a library that refuses values which it has not written, byte by byte" {
    take probe
    spec int probe libprobe.so 2
    : >x.dat
    py 'os.write(1, struct.pack("<4i", 1, -2, 3, 2**31 - 1))' >ints
    mount_spec x.json -o "log=$tmp/log"
    dd if=ints of="$mnt/rank0" bs=1 status=none
    [ "$(stat -c %s "$mnt/rank0")" -eq 16 ]
    cmp "$mnt/rank0" ints
    printf 'PR\0\0\0\1' | cmp - <(head -c 6 x.dat)
    [ "$(stat -c %s x.dat)" -eq 42 ]
    # The values of rank1 are still zeros.
    run -1 cat "$mnt/rank1"
    one_line 1 "*Input/output error*" dd if=ints of="$mnt/rank1" bs=1 count=6 conv=notrunc status=none
    logged log 'written in part and is given up: Input/output error'
    dd if=ints of="$mnt/rank1" bs=3 conv=notrunc status=none
    cmp "$mnt/rank1" ints
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 1 | cmp - ints
    mpiio-view put x.json -r 0 --offset 2 < <(tail -c +3 ints)
    mpiio-view cat x.json -r 0 | cmp - ints
}

# The C program of mpiio-datarep(7), compiled as the page says.
@test "datarep: the example of mpiio-datarep(7) works" {
    awk '/^```$/ { text = !text; if (text) block++; next } text { print >block ".txt" }' \
        "$top/man/mpiio-datarep.7.scd"
    cp "$(grep -l '^#include' ./*.txt)" vaxf.c
    # shellcheck disable=SC2046 # options
    gcc -shared -fPIC -o libvaxf.so vaxf.c $(pkg-config --cflags mpich) -lm
    sed -n '/^{/,/^ .*} }$/p' "$(grep -l '^\$ gcc' ./*.txt)" >vaxf.json
    vax_reals
    mv x.dat vax.dat
    mpiio-view cat vaxf.json -r 0 | cmp - x.expected
    cp vax.dat before
    : >vax.dat
    mpiio-view put vaxf.json -r 0 <x.expected
    cmp vax.dat before
}
