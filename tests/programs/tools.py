# SPDX-License-Identifier: MIT
"""Programs of tests/bats/tools.bats."""
import mmap
import os
import random
import sys

from common import fails


def python_maps_a_slice():
    want = open("want1", "rb").read()
    with open(sys.argv[1], "rb") as slice:
        for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
            map = mmap.mmap(slice.fileno(), 0, flags, mmap.PROT_READ)
            assert len(map) == len(want)
            assert map[777777:777797] == want[777777:777797]
            assert map[:] == want


def numpy_maps_a_slice():
    import numpy
    have = numpy.memmap(sys.argv[1], dtype="<u8", mode="r")
    want = numpy.fromfile("want1", dtype="<u8")
    assert (have == want).all() and len(have) == len(want)
    assert (numpy.fromfile(sys.argv[1], dtype="<u8", count=10, offset=80) == want[10:20]).all()


def sendfile_and_copy_file_range():
    want = open("want1", "rb").read()
    slice = os.open(sys.argv[1], os.O_RDONLY)
    out = os.open("sent", os.O_RDWR | os.O_CREAT)
    while os.sendfile(out, slice, None, 300001):
        pass
    assert os.pread(out, len(want) + 1, 0) == want
    assert os.sendfile(out, slice, 500000, 1000) == 1000
    assert os.pread(out, 1000, len(want)) == want[500000:501000]
    out = os.open("ranged", os.O_RDWR | os.O_CREAT)
    os.lseek(slice, 0, os.SEEK_SET)
    try:
        while os.copy_file_range(slice, out, 1 << 20):
            pass
        assert os.pread(out, len(want) + 1, 0) == want
    except OSError as error:
        assert error.errno in (18, 38, 95), error


def reads_at_random_places_agree():
    random.seed(20)
    for rank in range(3):
        want = open("want%d" % rank, "rb").read()
        fd = os.open("%s/rank%d" % (sys.argv[1], rank), os.O_RDONLY)
        for i in range(500):
            offset = random.randrange(len(want) + 100)
            length = random.choice((1, 8, 999, 4096, 70000, 1500000))
            assert os.pread(fd, length, offset) == want[offset:offset + length], (offset, length)


def seek_data_and_seek_hole():
    size = 1000000000000
    first = os.open(sys.argv[1] + "/rank1", os.O_RDONLY)
    assert os.fstat(first).st_size == size
    # Rank 1 has 8000 bytes of every 32000, starting at 8000. The filesystem's blocks have at most
    # 4096.
    assert os.lseek(first, 0, os.SEEK_HOLE) == 0
    assert os.lseek(first, 0, os.SEEK_DATA) == 192
    assert os.lseek(first, 200, os.SEEK_DATA) == 200
    hole = os.lseek(first, 192, os.SEEK_HOLE)
    assert 192 < hole <= 192 + 4096, hole
    assert os.lseek(first, hole, os.SEEK_HOLE) == hole
    assert os.lseek(first, hole, os.SEEK_DATA) == 500000000192
    assert fails(os.lseek, first, 500000005000, os.SEEK_DATA) == "ENXIO"
    assert os.lseek(first, size - 1, os.SEEK_HOLE) == size - 1
    assert fails(os.lseek, first, size, os.SEEK_HOLE) == "ENXIO"
    assert fails(os.lseek, first, size, os.SEEK_DATA) == "ENXIO"
    none = os.open(sys.argv[1] + "/rank3", os.O_RDONLY)
    assert os.lseek(none, 0, os.SEEK_HOLE) == 0
    assert fails(os.lseek, none, 0, os.SEEK_DATA) == "ENXIO"
