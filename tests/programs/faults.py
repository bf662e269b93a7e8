# SPDX-License-Identifier: MIT
"""Programs of tests/bats/faults.bats."""
import os
import sys
import time

from common import fails


def an_offset_that_no_file_can():
    fd = os.open(sys.argv[1], os.O_WRONLY)
    for offset in (1 << 62, (1 << 63) - 20):
        print(fails(os.pwrite, fd, b"x" * 10, offset))


def truncated_while_writing():
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for size in (0, 5000, 1234567, 100):
            os.truncate(sys.argv[1], size)
            time.sleep(0.001)


def write_back_goes_on_within():
    fd = os.open("mnt/rank0", os.O_WRONLY)
    for block in range(79):
        assert os.pwrite(fd, b"%4d" % block, block << 20) == 4
    os.fsync(fd)
    data = open("w.dat", "rb").read()
    assert all(data[block << 20:][:4] == b"%4d" % block for block in range(79))


def ask():
    files = [os.open("%s/rank%d" % (sys.argv[1], rank), os.O_RDWR) for rank in (0, 1, 1, 0)]
    for file in files[:3]:
        os.pwrite(file, b"new", 0)
    for line in sys.stdin:
        call, file = line.split()
        print(fails(getattr(os, call), files[int(file)]) or "0", flush=True)
