# SPDX-License-Identifier: MIT
"""Programs of tests/bats/pool.bats."""
import mmap
import os
import sys
import threading

from common import main


def read_slices():
    import numpy
    nodes, ranks = map(int, sys.argv[1:])
    block = 4 << 20
    file = numpy.fromfile("f/x.dat", "<u8")
    homes = (numpy.arange(len(file)) * 8 // block) % nodes
    foreign = 0
    wrong = []

    def read(node):
        buffer = mmap.mmap(-1, 1 << 20)
        for rank in range(node, ranks, nodes):
            fd = os.open(f"at/{node}/rank{rank}", os.O_RDONLY | os.O_DIRECT)
            data = b""
            while (got := os.readv(fd, [buffer])) > 0:
                data += buffer[:got]
            os.close(fd)
            if data != file[rank::ranks].tobytes():
                wrong.append((node, rank, len(data)))

    threads = [threading.Thread(target=read, args=(node,)) for node in range(nodes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    for rank in range(ranks):
        foreign += 8 * int((homes[rank::ranks] != rank % nodes).sum())
    print(foreign)


main(globals())
