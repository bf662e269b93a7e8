# SPDX-License-Identifier: MIT
"""Programs of tests/bats/sparse.bats."""
import os
import random
import sys


def sources():
    with open("sp", "wb") as f:
        f.write(b"S" * 65536)
        f.seek(200000)
        f.write(b"T" * 5000)
        f.seek(409600)
        f.write(b"U" * 8192)
        f.truncate(480000)


def threads_that_write_far_behind():
    from concurrent.futures import ThreadPoolExecutor
    for seed in range(10):
        fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
        places = list(range(0, 524288 - 4096, 8192))
        random.Random(seed).shuffle(places)
        with ThreadPoolExecutor(8) as pool:
            assert all(n == 4096 for n in pool.map(lambda at: os.pwrite(fd, b"w" * 4096, at), places))
        os.close(fd)
        got = open(sys.argv[1], "rb").read()[:max(places) + 4096]
        assert got == ((b"w" * 4096 + bytes(4096)) * 64)[:len(got)], seed


def several_nodes_fill_gaps():
    a, b = (os.open(f"m{node}/rank0", os.O_WRONLY | os.O_TRUNC) for node in range(2))
    os.pwrite(a, b"a" * 100, 0)
    os.fsync(a)
    os.pwrite(b, b"b" * 100, 1000)
    os.close(a)
    os.close(b)


def dense():
    with open(sys.argv[1], "wb", 0) as out:
        for i in range(100):
            assert out.write(b"%040d\n" % i) == 41
        if len(sys.argv) > 2:
            out.seek(9000)
            out.write(b"behind")
