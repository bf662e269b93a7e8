# SPDX-License-Identifier: MIT
"""Programs of tests/bats/stripes.bats."""
import os

from common import main


def write_striped():
    size = 8 << 20
    files = [os.open(f"at/{node}/rank{node}", os.O_RDWR) for node in range(3)]
    for node, fd in enumerate(files):
        assert os.pwrite(fd, bytes([node + 1]) * size, 0) == size
    os.fsync(files[0])
    row = b"".join(bytes([node + 1]) * 65536 for node in range(3))
    assert open("x.dat", "rb").read() == row * (size // 65536)


main(globals())
