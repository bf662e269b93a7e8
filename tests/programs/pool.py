# SPDX-License-Identifier: MIT
"""Programs of tests/bats/pool.bash and pool.bats."""
import mmap
import os
import sys

import numpy

from common import at_once


def check_slices(path, ranks, readers):
    """Each of the readers, a mount and its ranks, reads slices of a file whose words are dealt to
    ranks. All do so at once, past the page cache. Returns the words."""
    words = numpy.fromfile(path, "<u8")

    def read(reader):
        mount, mine = reader
        buffer = mmap.mmap(-1, 1 << 20)
        for rank in mine:
            fd = os.open(f"{mount}/rank{rank}", os.O_RDONLY | os.O_DIRECT)
            data = b""
            while (got := os.readv(fd, [buffer])) > 0:
                data += buffer[:got]
            os.close(fd)
            assert data == words[rank::ranks].tobytes(), (mount, rank, len(data))

    at_once(read, readers)
    return words


def read_slices():
    path, nodes, ranks = sys.argv[1], *map(int, sys.argv[2:])
    words = check_slices(path, ranks, [(f"at/{node}", range(node, ranks, nodes)) for node in range(nodes)])
    homes = numpy.arange(len(words)) * 8 // (4 << 20) % nodes
    print(sum(8 * int((homes[rank::ranks] != rank % nodes).sum()) for rank in range(ranks)))


def read_everywhere():
    """Reads all slices through all of the mounts at once. Arguments: the file, ranks, mounts."""
    path, ranks, *mounts = sys.argv[1:]
    check_slices(path, int(ranks), [(mount, range(int(ranks))) for mount in mounts])
