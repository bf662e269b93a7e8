# SPDX-License-Identifier: MIT
"""Programs of topics that mount on hosts."""
import os
import sys

from common import slice_of
from slices import merged


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
