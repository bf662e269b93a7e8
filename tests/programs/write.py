# SPDX-License-Identifier: MIT
"""Programs of tests/bats/write.bats."""
import mmap
import os
import random
import sys

from common import contents
from slices import Runs, dealt


def random_writes():
    m, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random.seed(seed)
    model = bytearray(open("g.dat", "rb").read())
    slices = [Runs(100 + rank * 24, 24, 96, etype=8) for rank in range(3)]
    def size(rank):
        return slices[rank].size(len(model))
    def put(rank, offset, data):
        if data:
            model.extend(bytes(max(slices[rank].needed(offset + len(data)) - len(model), 0)))
        for place, byte in zip(slices[rank].places(offset, offset + len(data)), data):
            model[place] = byte
    def open_all():
        return [os.open("%s/rank%d" % (m, rank), os.O_RDWR) for rank in range(3)]
    fds = open_all()
    for step in range(count):
        if len(sys.argv) > 4: # an open slice does not follow others' changes of the size
            for fd in fds:
                os.close(fd)
            fds = open_all()
        rank = random.randrange(3)
        now = size(rank)
        kind = random.randrange(6)
        offset = random.randrange(now + 40)
        data = random.randbytes(random.choice((1, 7, 8, 24, 25, 100, 5000)))
        if len(sys.argv) > 4: # the kernel counts bytes, but we count whole etypes
            offset -= offset % 8
            data = data * 8
        if kind == 0:
            assert os.pwritev(fds[rank], [data[:3], data[3:9], data[9:]], offset) == len(data)
        elif kind == 1:
            with open("%s/rank%d" % (m, rank), "ab", 0) as out:
                out.write(data)
            offset = now
        elif kind == 2:
            data = data[: now - 1]
            offset = random.randrange(now - len(data))
            with mmap.mmap(fds[rank], now) as map:
                map[offset:offset + len(data)] = data
            os.fsync(fds[rank])
        elif kind == 3:
            with open("%s/rank%d" % (m, rank), "wb", 0) as out:
                out.seek(offset)
                out.write(data)
            gap = min(offset, now)
            # The gap is not filled if the kernel holds back writes for other programs that have the
            # slice open, or if mpiio-run has granted these writes, because the grant may be revoked
            # at any time.
            if len(sys.argv) <= 4 and not (
                    "MPIIO_TEST_RUN" in os.environ
                    and os.pread(fds[rank], gap, 0) == bytes(model[i] for i in slices[rank].places(0, gap))):
                put(rank, 0, bytes(gap))
        else:
            assert os.pwrite(fds[rank], data, offset) == len(data)
        put(rank, offset, data)
        if step % 50 == 0 or step == count - 1:
            assert os.fstat(fds[rank]).st_size == size(rank), (step, kind, rank)
            assert os.pread(fds[rank], len(data), offset) == data, (step, kind, rank)
    for fd in fds:
        os.close(fd)
    if len(sys.argv) > 4:
        assert os.system(sys.argv[4]) == 0
    data = open("g.dat", "rb").read()
    bad = next((i for i in range(min(len(data), len(model))) if data[i] != model[i]), None)
    assert data == bytes(model), (seed, len(data), len(model), bad)


def plain_file():
    mine = dealt(contents("before.dat"), 4, 4096)[int(sys.argv[1])]
    new = contents(sys.argv[2])
    assert new == mine + bytes(len(new) - len(mine))


def unique_slices():
    m = sys.argv[1]
    assert [os.stat("%s/rank%d" % (m, r)).st_size for r in range(3)] == [0, 0, 0]
    with open(m + "/rank1", "wb") as out:
        for i in range(3000):
            out.write(b"%07d\n" % i)
            out.flush()
    # A slice that was not written follows.
    assert [os.stat("%s/rank%d" % (m, r)).st_size for r in range(3)] == [24000, 24000, 23976]
    assert open(m + "/rank0", "rb").read() == bytes(24000)
    assert open(m + "/rank1", "rb").read() == b"".join(b"%07d\n" % i for i in range(3000))
    fd = os.open(m + "/rank2", os.O_RDWR | os.O_APPEND)
    os.write(fd, b"appended")
    assert os.fstat(fd).st_size == 23984
    os.close(fd)
    with open(m + "/rank2", "wb") as out:
        out.write(b"trunc")
    assert os.stat(m + "/rank2").st_size == 23984
    assert open(m + "/rank2", "rb").read(8) == b"trunc\0\0\0"
    assert os.stat(m + "/rank0").st_mtime == os.stat("g.dat").st_mtime


def unique_o_trunc_of_one():
    m = sys.argv[1]
    for i in range(20):
        size = 24000 + 8000 * i
        fd = os.open(m + "/rank1", os.O_RDWR)
        os.write(fd, b"y" * size)
        map = mmap.mmap(fd, size)
        map[:1000] = b"m" * 1000
        other = os.open(m + "/rank1", os.O_RDWR | os.O_TRUNC)
        assert os.fstat(fd).st_size == size, os.fstat(fd)
        os.pwrite(other, b"z", 0)
        os.fsync(fd)
        assert os.pread(fd, size + 1, 0) == b"z" + b"m" * 999 + b"y" * (size - 1000)
        map.close()
        os.close(fd)
        os.close(other)


def mpiio_view_put_writes_what_cat():
    old, new = open("before.dat", "rb").read(), open("g.dat", "rb").read()
    assert len(old) == len(new)
    for i in range(len(old)):
        if (i - 100) % 96 // 24 != 1 or i < 100:
            assert old[i] == new[i], i
