# SPDX-License-Identifier: MIT
"""Programs of tests/bats/memory.bats."""
import os

from common import fails, main, slice_of
from slices import merged


def an_epoch_needs_none():
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for given in range(4):
        parts = [slice_of(rank, 40000, given) for rank in range(4)]
        for rank in range(4):
            os.pwrite(files[rank], parts[rank], 0)
        with open("nomem.new", "wb") as out:
            out.write(bytes(given))
        os.rename("nomem.new", "nomem")
        for rank in range(4):
            # Stored data stays stored, even without memory to check the kernel's pages.
            assert fails(os.fsync, files[rank]) in (None, "ENOMEM")
        assert open("f.dat", "rb").read() == merged(parts, 8)
        os.unlink("nomem")
        for node in range(2):
            assert os.getxattr(f"m{node}", "user.mpiio.state") == b"ok"


main(globals())
