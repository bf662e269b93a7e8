# SPDX-License-Identifier: MIT
"""Programs of tests/bats/fanout.bats."""
import os

from common import main, slice_of
from slices import merged


def nodes_in_a_tree():
    parts = [slice_of(rank, 80000, 9) for rank in range(5)]
    for turn, value in enumerate((b"1", b"0")):
        os.setxattr(f"m{4 - turn}", "user.mpiio.atomicity", value)
        for node in range(5):
            assert os.getxattr(f"m{node}", "user.mpiio.atomicity") == value
    files = [os.open(f"m{rank}/rank{rank}", os.O_RDWR) for rank in range(5)]
    for rank in range(5):
        os.write(files[rank], parts[rank])
    os.fsync(files[4])
    assert open("f.dat", "rb").read() == merged(parts, 8)


main(globals())
