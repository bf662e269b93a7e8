#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Sparse writers: after O_TRUNC a gap in a program's writes reads as zeros, and no other bytes
# change.

# shellcheck disable=SC2154 # helper.bash sets mnt and top
load helper
load nodes

# scattered OPTION...: mounts data, which is 1 MiB of x. Rank 0 has every second 64 KiB.
scattered() {
    head -c 1048576 /dev/zero | tr '\0' x >before
    cp before data
    mpiio-mount --view 'scatter 64k on 2 of byte' "$@" data "$mnt"
}

# Makes sp, which is written to rank 0: data, holes, data that begins and ends within a page, and a
# hole at the end. Also makes archives of it.
sources() {
    /usr/bin/python3 "$call" sources
    tar -S -cf sp.tar --transform 's/^sp$/rank0/' sp
}

# reads_as END: checks that rank 0 reads as sp up to END, and from byte 480000 on as before, and
# rank 1 as before.
reads_as() {
    cmp -n "$1" sp "$mnt/rank0" &&
        [ "$(stat -c %s "$mnt/rank0")" -eq 524288 ] &&
        tail -c +480001 "$mnt/rank0" | cmp - <(head -c 44288 before) &&
        cmp "$mnt/rank1" <(head -c 524288 before)
}

# Gives rank 0 the bytes that it had before.
refill() {
    head -c 524288 before | dd of="$mnt/rank0" bs=64K conv=notrunc status=none
}

# Each tool must exit with status 0 and leave the source's bytes in rank 0, to the last byte that
# the tool writes or truncates to.
tools() {
    local end command failed=0
    sources
    while read -r end command; do
        refill
        if ! (eval "$command") || ! reads_as "$end"; then
            echo "failed: $command"
            failed=1
        fi
    done <<'END2'
480000 cp sp "$mnt/rank0"
480000 cp --sparse=always sp "$mnt/rank0"
480000 cp --sparse=never sp "$mnt/rank0"
417792 dd if=sp of="$mnt/rank0" bs=4096 conv=sparse status=none
417792 dd if=sp of="$mnt/rank0" bs=512 conv=sparse status=none
417792 dd if=sp bs=512 conv=sparse status=none >"$mnt/rank0"
480000 tar -S --overwrite -C "$mnt" -xf sp.tar
480000 mpiio-run cp sp "$mnt/rank0"
480000 mpiio-run cp --sparse=always sp "$mnt/rank0"
417792 mpiio-run dd if=sp of="$mnt/rank0" bs=512 conv=sparse status=none
417792 mpiio-run sh -c 'dd if=sp bs=512 conv=sparse status=none >"$mnt/rank0"'
END2
    return "$failed"
}

# A program that opens for writing and seeks, and one that copies from a slice with holes.
programs() {
    local run
    head -c 262144 before | dd of="$mnt/rank1" bs=64K conv=notrunc status=none
    dd if=/dev/zero of="$mnt/rank1" bs=64K seek=1 count=3 conv=notrunc status=none
    for run in "" mpiio-run; do
        refill
        $run /usr/bin/python3 -c 'import sys
with open(sys.argv[1], "w+b") as f:
    f.seek(1000)
    f.write(b"here")' "$mnt/rank0"
        cmp "$mnt/rank0" <(head -c 1000 /dev/zero; printf here; head -c 523284 before)
        refill
        $run cp --sparse=always "$mnt/rank1" "$mnt/rank0"
        cmp "$mnt/rank0" "$mnt/rank1"
        refill
        $run cp "$mnt/rank1" "$mnt/rank0"
        cmp "$mnt/rank0" "$mnt/rank1"
    done
}

# model: random opens, writes and truncations by one handle and by several.
model() {
    local file=${file:-$mnt/rank0} handles
    for handles in 1 2; do
        timeout 600 /usr/bin/python3 "$top/tests/sparse/model.py" "$file" "$handles" 15 \
            "$handles" "${unit:-1}" "${header:-0}"
    done
    cmp "$mnt/rank1" <(head -c 524288 before)
}

@test "sparse: tools that skip holes leave zeros, in atomic mode" {
    scattered
    setfattr -n user.mpiio.atomicity -v 1 "$mnt"
    tools
}

# Past the page cache, and while the daemon or the kernel holds back writes.
@test "sparse: tools that skip holes leave zeros, with each cache" {
    local option writeback
    for option in rw direct cache=back unique; do
        echo "$option:"
        scattered -o "$option"
        writeback=false
        [ "$option" != unique ] || writeback=true
        [ "$(stat_of writeback)" = "$writeback" ]
        tools
        mpiio-umount "$mnt"
    done
}

@test "sparse: a program that seeks, and copies of a slice with holes, in each mode" {
    local option
    for option in rw direct cache=back unique; do
        scattered -o "$option"
        programs
        mpiio-umount "$mnt"
    done
}

@test "sparse: the same with big-endian values" {
    head -c 1048576 /dev/zero | tr '\0' x >before
    cp before data
    mpiio-mount --view 'scatter 16384 on 2 of int as big-endian' data "$mnt"
    tools
}

@test "sparse: slices agree with a model" {
    scattered
    model
}

@test "sparse: slices agree with a model past the page cache, and while writes are held back" {
    local option
    for option in direct cache=back unique; do
        scattered -o "$option"
        model
        mpiio-umount "$mnt"
    done
}

@test "sparse: slices agree with a model behind a NumPy header" {
    scattered -o npy
    file=$mnt/rank0.npy header=128 model
}

@test "sparse: slices agree with a model under mpiio-run" {
    scattered
    timeout 600 mpiio-run /usr/bin/python3 "$top/tests/sparse/model.py" "$mnt/rank0" 3 30 1 1 0
    cmp "$mnt/rank1" <(head -c 524288 before)
}

@test "sparse: gaps that a child process leaves, or a call that is not served, are zeros" {
    local mode run
    for mode in rw direct cache=back unique; do
        mkdir $mode
        mnt=$tmp/$mode scattered -o $mode
        mv data data-$mode
    done
    for run in "" mpiio-run; do
        $run /usr/bin/python3 "$top/tests/sparse/children.py" {rw,direct,cache=back,unique}/rank0
    done
}

@test "sparse: a dense writer gets a grant, and a gap behind what it wrote is zeros" {
    scattered
    MPIIO_RUN_STATS=1 run -0 --separate-stderr mpiio-run /usr/bin/python3 "$call" dense "$mnt/rank0"
    # shellcheck disable=SC2154 # bats sets it
    [[ $stderr == *"writes=100"* && $stderr == *"fell_back=0"* ]]
    cmp -n 4100 "$mnt/rank0" <(seq -f %040.f 0 99)
    tail -c +4101 "$mnt/rank0" | cmp - <(head -c 520188 before)
    mpiio-run /usr/bin/python3 "$call" dense "$mnt/rank0" gap
    cmp -n 9006 "$mnt/rank0" <(seq -f %040.f 0 99; head -c 4900 /dev/zero; printf behind)
    tail -c +9007 "$mnt/rank0" | cmp - <(head -c 515282 before)
}

@test "sparse: a program that opens a slice after a writer's close keeps the present bytes" {
    local i text
    scattered
    printf -v text 'a%.0s' {1..100}
    for i in {1..50}; do
        printf %s "$text" >"$mnt/rank0"
        printf b | dd of="$mnt/rank0" bs=1 seek=$((1000 * i)) conv=notrunc status=none
    done
    cmp "$mnt/rank0" <(/usr/bin/python3 -c '
import sys
want = bytearray(b"a" * 100 + b"x" * 524188)
for i in range(1, 51):
    want[1000 * i] = ord("b")
sys.stdout.buffer.write(want)')
}

@test "sparse: threads that write far apart and close together lose no bytes" {
    scattered
    /usr/bin/python3 "$call" threads_that_write_far_behind "$mnt/rank0"
}

@test "sparse: ranks that share bytes do not fill gaps in what others write" {
    head -c 65536 /dev/zero | tr '\0' x >data
    mpiio-mount --view 'broadcast on 2 of byte at 4' data "$mnt"
    /usr/bin/python3 - "$mnt" <<'END2'
import os, sys
a, b = (os.open(f"{sys.argv[1]}/rank{rank}", os.O_WRONLY | os.O_TRUNC) for rank in range(2))
os.pwrite(a, b"a" * 100, 0)
os.pwrite(b, b"b" * 100, 1000)
END2
    cmp -n 1100 "$mnt/rank0" <(printf 'a%.0s' {1..100}; printf 'x%.0s' {1..900}; printf 'b%.0s' {1..100})
}

@test "sparse: several nodes fill gaps in slices of single ranks, but not in one that all share" {
    head -c 1048576 /dev/zero | tr '\0' x >before
    cp before f.dat
    sources
    spec 65536 2
    start_nodes 2
    mnt=$tmp/m1
    cp sp m1/rank0
    reads_as 480000
    stop_nodes
    cp before f.dat
    spec 65536 1
    start_nodes 2
    /usr/bin/python3 "$call" several_nodes_fill_gaps
    stop_nodes
    cmp -n 1100 f.dat <(printf 'a%.0s' {1..100}; printf 'x%.0s' {1..900}; printf 'b%.0s' {1..100})
}

@test "sparse: O_TRUNC with O_RDONLY changes nothing; what numpy.memmap creates over a slice has the bytes that were there" {
    scattered
    [ "$(error_of 'os.open(m + "/rank0", os.O_RDONLY | os.O_TRUNC)')" = none ]
    cmp data before
    /usr/bin/python3 -c 'import sys, numpy
m = numpy.memmap(sys.argv[1], numpy.uint8, "w+", shape=480000)
assert (m == ord("x")).all()
m[:] = 0
m.flush()' "$mnt/rank0"
    cmp "$mnt/rank0" <(head -c 480000 /dev/zero; head -c 44288 before)
}
