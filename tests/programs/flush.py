# SPDX-License-Identifier: MIT
"""Programs of tests/bats/flush.bats."""
import json
import multiprocessing
import os
import sys

from common import await_true, main


def who_opens_during_a_flush():
    half = 4 << 20
    def write(number):
        with open("m0/rank0", "r+b") as out:
            out.seek(half)
            out.write(b"n" * half)
    def read():
        with open("m2/rank0", "rb") as file:
            return os.pread(file.fileno(), half, half)
    writer = multiprocessing.Process(target=write, args=(0,))
    writer.start()
    await_true(lambda: os.path.exists(sys.argv[1] + ".frozen"))
    # Node 2 has nothing to store: its part of the flush is soon over.
    await_true(lambda: json.load(open("m2/.mpiio/stats.json"))["cluster"]["epochs"] == 1)
    assert read() == bytes(half)
    open(sys.argv[1] + ".go", "w").close()
    writer.join()
    assert writer.exitcode == 0
    assert read() == b"n" * half


main(globals())
