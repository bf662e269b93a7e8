# SPDX-License-Identifier: MIT
"""Programs of tests/bats/distributed_nodes.bats."""
import sys
import time

from common import contents, overwrite


def opening_a_slice_shows_what_another():
    stale = {"slice": 0, "foreign": 0, "later": 0}
    for round in range(1, 13):
        value = bytes([round])
        here, there = round % 2, 1 - round % 2
        contents(f"at/{there}/rank0")
        overwrite(f"at/{here}/rank0", value * 32768)
        stale["slice"] += contents(f"at/{there}/rank0") != value * 32768
        # A foreign client.
        overwrite("dfs2/x.dat", value * 512, range(1024, 98304, 1536))
        for node in (0, 1):
            stale["foreign"] += contents(f"at/{node}/rank2") != value * 32768
        time.sleep(0.1 if round % 6 else 1.2)
        for node in (0, 1):
            stale["later"] += contents(f"at/{node}/rank2") != value * 32768
    print(sys.argv[1], stale)
    assert not any(stale.values())


def foreign():
    """A client without a mount writes a half of rank 2's records. Arguments: the bytes of a
    record, the half."""
    run, half = map(int, sys.argv[1:])
    overwrite("dfs2/x.dat", b"\3" * run,
              ((record * 3 + 2) * run for record in range(256 * half, 256 * half + 256)))


def two_hosts_and_a_foreign_client():
    import numpy
    run = int(sys.argv[2])
    data = numpy.fromfile("brick/x.dat", numpy.uint8).reshape(-1, 3, run)
    lost = [int((data[:, rank] != rank + 1).any(axis=1).sum()) for rank in range(3)]
    print(f"{sys.argv[1:]}: of {data.shape[0]} records of each rank, lost are {lost}")
    assert data.size == run * 3 * 512 and lost == [0, 0, 0]
