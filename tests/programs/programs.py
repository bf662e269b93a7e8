# SPDX-License-Identifier: MIT
"""Programs of tests/bats/programs.bats."""
import mmap
import os
import random
import sys

from common import contents, in_processes
from slices import dealt


def part(path, ranks, block, rank):
    return dealt(contents(path), ranks, block)[rank]


def part_of():
    sys.stdout.buffer.write(part(sys.argv[1], *map(int, sys.argv[2:])))


def two_parts_have_changed():
    for rank, changed in enumerate((False, True, True, False)):
        assert (part("x.dat", 4, 512, rank) != part("before.dat", 4, 512, rank)) == changed, rank


def churn():
    def store(path, dice):
        with open(path, "r+b") as file:
            with mmap.mmap(file.fileno(), 0) as memory:
                at = dice.randrange(len(memory))
                part = dice.randbytes(min(3000, len(memory) - at))
                memory[at:at + len(part)] = part

    def write(path, dice):
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        os.pwrite(fd, dice.randbytes(dice.randrange(1, 20000)), dice.randrange(100000))
        if dice.random() < 0.1:
            os.fsync(fd)
        os.close(fd)

    def change(path, other, dice):
        what = dice.randrange(10)
        if what < 5 or not os.path.exists(path):
            write(path, dice)
        elif what == 5:
            os.truncate(path, dice.randrange(100000))
        elif what == 6:
            os.rename(path, other)
        elif what == 7:
            os.unlink(path)
        elif what == 8 and not os.path.exists(other):
            os.link(path, other)
        elif os.path.getsize(path) > 0:
            store(path, dice)

    def churn(folder):
        dice = random.Random(sys.argv[1] + folder[-1])
        names = [f"{folder}/d{i % 3}/f{i}" for i in range(24)]
        for name in names[:3]:
            os.makedirs(os.path.dirname(name), exist_ok=True)
        for step in range(600):
            change(*dice.sample(names, 2), dice)

    in_processes(churn, sys.argv[2:])


def file_holds():
    import numpy
    data = numpy.fromfile("x.dat", numpy.uint8)
    tiles = numpy.pad(data[512:], (0, -len(data[512:]) % 4608)).reshape(-1, 4608)
    tiles[:, :4096].tofile("copy.db")
    assert not data[:512].any() and not tiles[:, 4096:].any()


def composed():
    """Checks that x.dat is before.dat with the writes of two MPI programs of two ranks each, which
    set views of their own (roundtrip.c) on two slices: the darray on slice 0, the vector on 1.
    Computes the expected bytes from the text of roundtrip.c alone."""
    import numpy

    def darray(part, ranks):
        field = part[24:24 + 37 * 53 * 8].view("<f8").reshape(37, 53)
        columns = numpy.arange(53)
        for rank, data in enumerate(ranks):
            rows = numpy.flatnonzero(numpy.arange(37) // 4 % 2 == rank)
            field[numpy.ix_(rows, columns)] = data.reshape(len(rows), 53)

    def vector(part, ranks):
        tiles = part[16:16 + 1000 * 2 * 3 * 8].view("<f8").reshape(1000, 2, 3)
        for rank, data in enumerate(ranks):
            tiles[:, rank] = data.reshape(1000, 3)

    def written(folder):
        return [numpy.fromfile(f"{folder}/rank{rank}.write", "<f8") for rank in (0, 1)]

    want = numpy.fromfile("before.dat", numpy.uint8).reshape(-1, 3, 1000)
    for number, (folder, lay) in enumerate((("darray", darray), ("vector", vector))):
        part = numpy.ascontiguousarray(want[:, number]).reshape(-1)
        lay(part, written(folder))
        want[:, number] = part.reshape(-1, 1000)
    got = numpy.fromfile("x.dat", numpy.uint8)
    wrong = numpy.flatnonzero(got != want.reshape(-1))
    assert not len(wrong), f"{len(wrong)} bytes differ, first at {wrong[0]}, last at {wrong[-1]}"
