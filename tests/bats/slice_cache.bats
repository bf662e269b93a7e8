#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mount option slice_cache: a slice that is opened again is copied, and read by the kernel itself.

load helper

# four: c.dat of 8 MiB, c.json: four ranks that have blocks of 512 bytes in turns; rank0 to rank3: what
# they have, 2 MiB each.
four() {
    local rank
    make_file c.dat $((8 << 20))
    dealt c.dat 4 512 >c.json
    for rank in 0 1 2 3; do
        mpiio-view cat c.json -r $rank >rank$rank
    done
}

# Whether copies are made here: the kernel may be older than 6.9.
offered() {
    local version
    IFS=. read -r -a version < <(uname -r)
    [ "$(id -u)" -eq 0 ] && [ $((version[0] * 1000 + version[1])) -ge 6009 ]
}

# fills COUNT: so many copies were made, if any are here.
fills() {
    [ "$(stat_of slice_cache_fills)" -eq "$(offered && echo "$1" || echo 0)" ]
}

# Until the daemon knows of all closes: the kernel does not wait for it.
closed() {
    await all_closed
}

# But for that of stats.json, which is open while it is read.
all_closed() {
    [ "$(stat_of 'requests | .open - .release')" -eq 1 ]
}

@test "slice_cache: from the second time on a slice is read without a request" {
    local reads
    four
    mount_spec c.json -o ro,slice_cache=64M
    cmp "$mnt/rank1" rank1
    fills 0
    closed
    cmp "$mnt/rank1" rank1
    fills 1
    reads=$(stat_of slice_reads)
    cmp "$mnt/rank1" rank1
    dd if="$mnt/rank1" bs=1000 skip=77 status=none | cmp - <(tail -c +77001 rank1)
    /usr/bin/python3 - "$mnt/rank1" <<'END'
import mmap, os, sys
want = open("rank1", "rb").read()
fd = os.open(sys.argv[1], os.O_RDONLY)
assert os.fstat(fd).st_size == len(want)
assert mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:] == want
assert os.pread(fd, 100, len(want)) == b""
END
    fills 1
    if offered; then
        [ "$(stat_of slice_reads)" -eq "$reads" ]
        [ "$(stat_of slice_cache_bytes)" -eq 2097152 ]
    fi
}

@test "slice_cache: what has changed is seen by the next open, and by those who have it open" {
    local i
    four
    mount_spec c.json -o ro,slice_cache=64M
    cmp "$mnt/rank0" rank0
    closed
    cmp "$mnt/rank0" rank0
    exec 7<"$mnt/rank0"
    for i in 1 2 3; do
        printf 'change %d' $i | tee >(dd of=c.dat conv=notrunc status=none) |
            dd of=rank0 conv=notrunc status=none
        await cmp -s "$mnt/rank0" rank0
    done
    [ "$(head -c 8 <&7)" = "change 3" ] || ! offered
    exec 7<&-
    # It grows and shrinks.
    make_file more 4096
    cat more >>c.dat
    [ "$(head -c 3000000 "$mnt/rank0" | wc -c)" -eq $((2097152 + 1024)) ]
    truncate -s 4096 c.dat
    head -c 1024 rank0 | cmp - "$mnt/rank0"
}

@test "slice_cache: a slice that is open without a copy stays so until it is closed" {
    four
    mount_spec c.json -o ro,slice_cache=64M
    exec 7<"$mnt/rank2"
    cmp "$mnt/rank2" rank2
    cmp "$mnt/rank2" rank2
    fills 0
    head -c 2097152 <&7 | cmp - rank2
    exec 7<&-
    closed
    cmp "$mnt/rank2" rank2
    fills 1
}

@test "slice_cache: copies that nobody has open go for others, and none is larger than the cache" {
    local rank
    four
    mount_spec c.json -o ro,slice_cache=5M
    for rank in 0 0 1 1 2 2 3 3 3; do
        cmp "$mnt/rank$rank" rank$rank
        closed
    done
    fills 4
    ! offered || [ "$(stat_of slice_cache_bytes)" -eq 4194304 ]
    # Two that are open leave no room for a third.
    exec 7<"$mnt/rank3" 8<"$mnt/rank2"
    cmp "$mnt/rank0" rank0
    fills 4
    head -c 2097152 <&7 | cmp - rank3
    head -c 2097152 <&8 | cmp - rank2
    exec 7<&- 8<&-
    mpiio-umount "$mnt"
    mount_spec c.json -o ro,slice_cache=1M
    cmp "$mnt/rank0" rank0
    cmp "$mnt/rank0" rank0
    fills 0
}

@test "slice_cache: opens and changes at the same time, by many" {
    local i jobs=()
    four
    mount_spec c.json -o ro,slice_cache=7M
    for i in 1 2 3 4; do
        timeout 300 /usr/bin/python3 - "$mnt" "$RANDOM" 3>&- <<'END' &
import os, random, sys
rng = random.Random(int(sys.argv[2]))
want = [open("rank%d" % rank, "rb").read() for rank in range(4)]
for i in range(150):
    rank = rng.randrange(4)
    fd = os.open("%s/rank%d" % (sys.argv[1], rank), os.O_RDONLY)
    offset = rng.randrange(2 << 20)
    # The first 512 bytes of each block of 64 KiB are another's.
    got = os.pread(fd, 100000, offset)
    expected = want[rank][offset:offset + 100000]
    assert len(got) == len(expected)
    assert all(got[j] == expected[j] for j in range(0, len(got), 97) if (offset + j) % 65536 >= 512), (rank, offset)
    os.close(fd)
END
        jobs+=($!)
    done
    for i in {1..40}; do
        printf 'x%d' "$i" | dd of=c.dat bs=1 seek=$((RANDOM % 32 * 262144 + RANDOM % 4 * 512)) conv=notrunc status=none
    done
    for i in "${jobs[@]}"; do wait "$i"; done
    mpiio-view cat c.json -r 3 | cmp - "$mnt/rank3"
}

@test "slice_cache: where it cannot be, a line in the log says why, and slices are read as without" {
    four
    mount_spec c.json -o slice_cache=64M,log="$tmp/log"
    grep -q 'slice_cache: only for a mount that is read-only (-o ro)' log
    cmp "$mnt/rank0" rank0
    cmp "$mnt/rank0" rank0
    [ "$(stat_of slice_cache_fills)" -eq 0 ]
    mpiio-umount "$mnt"
    user_folder own
    as_user dd if=c.dat of=own/c.dat status=none
    cp c.json own
    as_user mkdir own/m
    as_user "$MPIIO_BIN/mpiio-mount" -o ro,slice_cache=64M,log="$tmp/own/log" own/c.json own/m
    as_user grep -q 'slice_cache: ' own/log
    as_user cmp own/m/rank0 rank0
    as_user cmp own/m/rank0 rank0
}

@test "slice_cache: with npy and external32; atomic mode asks the daemon" {
    four
    sed -i 's/"view": {/"view": { "etype": "double", "datarep": "external32", /; s/512/64/' c.json
    mpiio-view cat c.json -r 1 >rank1
    mount_spec c.json -o ro,npy,slice_cache=64M
    for _ in 1 2 3; do
        cmp "$mnt/rank1" rank1
        /usr/bin/python3 -c "
import numpy
assert numpy.load('$mnt/rank1.npy').tobytes() == open('rank1', 'rb').read()
assert numpy.load('$mnt/rank1.npy', mmap_mode='r').tobytes() == open('rank1', 'rb').read()"
        closed
    done
    fills 2
    mpiio-umount "$mnt"
    mount_spec c.json -o ro,atomic,slice_cache=64M
    for _ in 1 2 3; do
        cmp "$mnt/rank1" rank1
    done
    fills 0
}
