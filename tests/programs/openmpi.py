# SPDX-License-Identifier: MIT
"""Programs of tests/bats/openmpi.bats."""
import os
import sys

from common import main


def write_all():
    size = 1 << 20
    parts = [bytes([int(sys.argv[1]) * 16 + node]) * size for node in range(3)]
    files = [os.open(f"at/{node}/rank{node}", os.O_RDWR) for node in range(3)]
    for fd, part in zip(files, parts):
        assert os.pwrite(fd, part, 0) == size
    os.fsync(files[1])
    got = open("x.dat", "rb").read()
    assert all(got[512 * node :: 1536] == part[::512] for node, part in enumerate(parts))


main(globals())
