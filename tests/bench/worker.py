#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The part of scripts/bench that runs under mpiio-run. Prints the bytes and the seconds.

    worker.py read PATH...                 reads each file to its end, in a thread of its own
    worker.py again PATH...                does that a second time, and measures it
    worker.py write RUN BYTES SYNC PATH... writes every other run of RUN bytes of a file of words
                                           (bench.h) to the two files at once; SYNC: 0 or 1
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from testbed import Reader, at_once, words_of, write_slice  # noqa: E402


def read(*paths):
    readers = [Reader() for _ in paths]
    reads, seconds = at_once(lambda reader, path: reader.read(path), list(zip(readers, paths)))
    print(sum(total for total, _ in reads), seconds)


def again(*paths):
    reader = Reader()
    for path in paths:
        reader.read(path)
    read(*paths)


def write(run, size, sync, *paths):
    data = words_of(int(run), int(size))
    _, seconds = at_once(write_slice, [(Path(path), part, sync == "1")
                                       for path, part in zip(paths, data)])
    print(2 * int(size), seconds)


{"read": read, "again": again, "write": write}[sys.argv[1]](*sys.argv[2:])
