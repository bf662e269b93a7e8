# SPDX-License-Identifier: MIT
"""Programs of tests/bats/atomic.bats."""
import fcntl
import mmap
import os
import sys
import time

from common import fails, in_processes, slice_of


def atomicity():
    one, other = os.open("m0/rank1", os.O_RDWR), os.open("m1/rank1", os.O_RDWR)
    for i in range(200):
        part = slice_of(1, 800, i)
        os.pwrite(one if i % 2 else other, part, 0)
        assert os.pread(other if i % 2 else one, 800, 0) == part
    assert fails(mmap.mmap, one, 800) == "ENODEV"


def writes_are_cached_again():
    one = os.open("m0/rank1", os.O_RDWR)
    before = open("f.dat", "rb").read()
    os.pwrite(one, b"cached..", 0)
    assert open("f.dat", "rb").read() == before
    os.fsync(one)
    assert open("m1/rank1", "rb").read()[:8] == b"cached.."


def no_call_sees_a_part():
    SIZE, end = 131072, time.time() + 3
    def whole(node, letter):
        fd = os.open(f"m{node}/all/rank0", os.O_RDWR)
        while time.time() < end:
            os.pwrite(fd, letter * SIZE, 0)
            data = os.pread(fd, SIZE, 0)
            assert data in (b"a" * SIZE, b"b" * SIZE, b"f" * SIZE), "torn"
    def foreign():
        fd = os.open("f.dat", os.O_RDWR)
        while time.time() < end:
            fcntl.lockf(fd, fcntl.LOCK_EX, SIZE)
            for start in range(0, SIZE, 8192):
                os.pwrite(fd, b"f" * 8192, start)
            assert os.pread(fd, SIZE, 0) == b"f" * SIZE
            fcntl.lockf(fd, fcntl.LOCK_UN, SIZE)
            time.sleep(0.001)
    in_processes(lambda job: job[0](*job[1:]),
                 ((whole, 0, b"a"), (whole, 1, b"b"), (whole, 0, b"b"), (foreign,)))


def parts_of_converted_values():
    import numpy
    m, = sys.argv[1:]
    values = numpy.array([1.5, -2.25, 3.75], dtype=numpy.longdouble).tobytes()
    for rank in 0, 1:
        file = os.open(f"{m}/rank{rank}", os.O_RDWR)
        assert os.pwrite(file, values, 0) == len(values)
        assert os.pwrite(file, values[32:40], 16) == 8
        assert os.pwrite(file, values[40:48], 24) == 8
        assert os.pread(file, 48, 0) == values[:16] + values[32:] + values[32:]
        os.close(file)
