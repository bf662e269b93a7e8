# SPDX-License-Identifier: MIT
"""Programs of tests/bats/cluster.bats."""
import os
import sys

from common import fails, slice_of
from slices import merged


def interleaved_slices_on_four_hosts():
    import numpy
    size = 1 << 20
    parts = [(numpy.arange(size // 8, dtype="<u8") << 8) | rank for rank in range(4)]
    files = [os.open(f"at/{node}/rank{node}", os.O_RDWR) for node in range(4)]
    for fd, part in zip(files, parts):
        assert os.pwrite(fd, part.tobytes(), 0) == size
    os.fsync(files[1])
    got = numpy.fromfile("x.dat", "<u8")
    assert (got.reshape(-1, 4).T == parts).all()


def what_is_closed_or_synced():
    reader = [os.open(f"at/{node}/rank1", os.O_RDONLY) for node in (0, 1)]
    for round in range(10):
        here, there = round % 2, 1 - round % 2
        data = bytes((i * 7 + round) % 256 for i in range(1000 + 100 * round))
        with open(f"at/{here}/rank1", "wb") as file:
            file.write(data)
        assert os.stat(f"at/{there}/rank1").st_size == len(data) // 8 * 8 or len(data) % 8
        with open(f"at/{there}/rank1", "rb") as file:
            assert file.read() == data
        os.fsync(reader[there])
        assert os.pread(reader[there], 10000, 0) == data


def a_full_disk_in_a_flush():
    parts = [bytes((rank * 50 + i // 100) % 255 + 1 for i in range(5 << 20)) for rank in range(3)]
    files = [os.open(f"at/{node}/rank{node}", os.O_RDWR) for node in range(3)]
    # Ranks 0 and 2 need 5 MiB each, rank 1 only what fits.
    small = [parts[0], parts[1][:1 << 20], parts[2]]
    for fd, part in zip(files, small):
        os.pwrite(fd, part, 0)
    results = [fails(os.fsync, fd) for fd in files]
    file = open("disk/x.dat", "rb").read()
    for node, (fd, part, result) in enumerate(zip(files, small, results)):
        stored = all(file[(node + 3 * i) << 20:][:1 << 20] == part[i << 20:][:1 << 20]
                     for i in range(len(part) >> 20))
        assert (result is None) == stored, (node, result, stored)
        assert os.pread(fd, len(part), 0) == part
    assert "ENOSPC" in results, results
    os.unlink("disk/ballast")
    os.pwrite(files[1], parts[1], 0)
    for fd in files:
        os.fsync(fd)
        os.close(fd)
    file = open("disk/x.dat", "rb").read()
    assert file == b"".join(part[i << 20:][:1 << 20] for i in range(5) for part in parts)


def write_together():
    """Each of three hosts writes bytes to its slice of x.dat, whose blocks are dealt. One of them
    syncs. Arguments: the bytes of a block and of a slice, and a seed."""
    block, size, seed = map(int, sys.argv[1:])
    parts = [slice_of(node, size, seed) for node in range(3)]
    files = [os.open(f"at/{node}/rank{node}", os.O_RDWR) for node in range(3)]
    for fd, part in zip(files, parts):
        assert os.pwrite(fd, part, 0) == size
    os.fsync(files[1])
    assert open("x.dat", "rb").read() == merged(parts, block)
