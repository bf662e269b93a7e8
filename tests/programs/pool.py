# SPDX-License-Identifier: MIT
"""Programs of tests/bats/pool.bats."""
import mmap
import os
import sys

from common import at_once


def read_slices():
    import numpy
    nodes, ranks = map(int, sys.argv[1:])
    block = 4 << 20
    file = numpy.fromfile("f/x.dat", "<u8")
    homes = (numpy.arange(len(file)) * 8 // block) % nodes

    def read(node):
        buffer = mmap.mmap(-1, 1 << 20)
        for rank in range(node, ranks, nodes):
            fd = os.open(f"at/{node}/rank{rank}", os.O_RDONLY | os.O_DIRECT)
            data = b""
            while (got := os.readv(fd, [buffer])) > 0:
                data += buffer[:got]
            os.close(fd)
            assert data == file[rank::ranks].tobytes(), (node, rank, len(data))

    at_once(read, range(nodes))
    print(sum(8 * int((homes[rank::ranks] != rank % nodes).sum()) for rank in range(ranks)))
