# SPDX-License-Identifier: MIT
"""Programs of tests/bats/passthrough.bats."""
import mmap
import os
import sys

from common import fails


def all_ways_of_access():
    want = bytearray(open("before", "rb").read()) + b"behind it\0\0\0"
    want[:5], want[20:24] = b"first", b"HEAD"
    fd, other = (os.open(name, os.O_RDWR) for name in sys.argv[1:])
    assert os.fstat(fd).st_size == len(want)
    assert os.pread(other, len(want) + 1, 0) == want
    map = mmap.mmap(fd, len(want))
    map[70000:70004] = want[70000:70004] = b"mmap"
    map.flush()
    assert os.pread(other, 4, 70000) == b"mmap"
    os.pwrite(other, b"seen", 80000)
    want[80000:80004] = b"seen"
    os.fsync(fd)
    assert os.pread(fd, 4, 80000) == b"seen"
    assert fails(os.ftruncate, fd, 5) == "EPERM"
    assert open("i.dat", "rb").read() == want


def holes_are_the_file():
    fd, file = os.open(sys.argv[1], os.O_RDONLY), os.open("i.dat", os.O_RDONLY)
    for whence in os.SEEK_DATA, os.SEEK_HOLE:
        for offset in 0, 50000, 100002, 200000, 1048577:
            assert os.lseek(fd, offset, whence) == os.lseek(file, offset, whence), (whence, offset)
