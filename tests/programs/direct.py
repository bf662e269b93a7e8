# SPDX-License-Identifier: MIT
"""Programs of tests/bats/direct.bats."""
import mmap
import os
import random
import sys

from common import at_once, await_true, stats


def random_reads():
    print("seed", sys.argv[2])
    want = open("rank1", "rb").read()
    fd = os.open(sys.argv[1], os.O_RDONLY)

    def read(seed):
        rng = random.Random(seed)
        offset = 0
        for i in range(400):
            if rng.random() < 0.1:
                offset = rng.randrange(len(want) + 100000)
            size = rng.choice((1, 4096, 65536, 131072, 1 << 20, 100000))
            got = os.pread(fd, size, offset)
            assert got == want[offset:offset + size], (offset, size)
            offset += len(got)

    at_once(read, range(int(sys.argv[2]), int(sys.argv[2]) + 4))


def a_write_through_the_mount():
    mnt, seed = sys.argv[1], int(sys.argv[2])
    print("seed", seed)
    rng = random.Random(seed)
    model = bytearray(open("rank0", "rb").read())
    reader = os.open(f"{mnt}/{sys.argv[3]}", os.O_RDONLY)
    both = os.open(mnt + "/rank0", os.O_RDWR)
    writer = os.open(mnt + "/rank0", os.O_WRONLY)
    offset = 0
    for i in range(600):
        size = rng.choice((131072, 131072, 1 << 20))
        got = os.pread(reader, size, offset)
        assert got == model[offset:offset + size], (i, offset)
        offset = (offset + size) % len(model)
        if rng.random() < 0.3:
            place = min(offset + rng.randrange(3 << 20), len(model) - 10)
            text = b"%010d" % i
            os.pwrite(rng.choice((both, writer)), text, place)
            model[place:place + 10] = text


def atomic_mode_ends_reading_ahead():
    mnt = sys.argv[1]
    want = open("rank0", "rb").read()
    fd = os.open(mnt + "/zarr/rows/0.0", os.O_RDONLY)

    def ahead(start):
        before = stats(mnt)["prefetched"]
        for offset in range(start << 20, (start + 5) << 20, 1 << 20):
            assert os.pread(fd, 1 << 20, offset) == want[offset:offset + (1 << 20)]
        return stats(mnt)["prefetched"] - before

    assert ahead(0) > 0
    os.setxattr(mnt, "user.mpiio.atomicity", b"1")
    assert ahead(5) == 0


def others_writes_are_seen_after_fsync():
    fd = os.open(sys.argv[1], os.O_RDONLY)
    file = os.open("d.dat", os.O_RDWR)
    for offset in range(0, 3 << 20, 1 << 20):
        os.pread(fd, 1 << 20, offset)
    os.pwrite(file, b"foreign!", 6 << 20)
    os.fsync(fd)
    assert os.pread(fd, 1 << 20, 3 << 20)[:8] == b"foreign!"
    os.pwrite(file, b"again...", 10 << 20)
    other = os.open(sys.argv[1], os.O_RDONLY)
    assert os.pread(other, 8, 5 << 20) == b"again..."
    size = os.fstat(fd).st_size
    assert len(os.pread(fd, 1 << 20, size - 1000)) == 1000 and os.pread(fd, 1 << 20, size) == b""
    os.pwrite(file, b"behind", 2 * size)
    assert os.pread(fd, 1 << 20, size) == b"behind"
    os.ftruncate(file, size)
    assert os.pread(fd, 1 << 20, size // 2 + 4096) == b""


def mapping(fd, length):
    """Maps a slice. Linux before 6.6 cannot map files with direct I/O: then the test ends."""
    try:
        return mmap.mmap(fd, length)
    except OSError:
        release = [int(part) for part in os.uname().release.split(".")[:2]]
        assert release < [6, 6], release
        sys.exit(0)


def slices_can_be_mapped():
    want = bytearray(open("rank0", "rb").read())
    fd = os.open(sys.argv[1], os.O_RDWR)
    map = mapping(fd, len(want))
    assert map[:] == want
    map[4000:4100] = want[4000:4100] = b"m" * 100
    map.flush()
    assert os.pread(fd, 200, 3950) == want[3950:4150]
    os.pwrite(fd, b"w" * 100, 8000)
    want[8000:8100] = b"w" * 100
    assert map[7950:8150] == want[7950:8150]
    map[12000:12100] = want[12000:12100] = b"n" * 100
    assert os.lseek(fd, 0, os.SEEK_HOLE) == len(want)
    os.fsync(fd)
    os.close(fd)
    map.close()
    open("rank0", "wb").write(want)


def a_mapping_shows_what_another_view_writes():
    fd = os.open(os.path.join(sys.argv[1], "a/rank0"), os.O_RDWR)
    map = mapping(fd, 4096)
    other = os.open(os.path.join(sys.argv[1], "b/rank0"), os.O_RDWR)
    for i in range(20):
        want = bytes([map[0] ^ 255]) * 512
        os.pwrite(other, want, 0)
        await_true(lambda: map[:512] == want)
