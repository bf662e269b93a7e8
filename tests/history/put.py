#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""put.py FILE WRITER COUNT: writes COUNT lines of different lengths, each by one call.
put.py --check FILE WRITERS COUNT: checks that the file has all lines of all writers, whole, and the
lines of each writer in order."""
import os
import random
import sys


def lines(writer, count):
    source = random.Random(writer)
    for number in range(count):
        length = source.choice((0, 1, 7, 40, 200, 1000, 5000))
        yield b"%d %d %s\n" % (writer, number, b"%d" % (number % 10) * length)


def check(path, writers, count):
    expected = [lines(writer, count) for writer in range(writers)]
    total = 0
    with open(path, "rb") as file:
        for line in file:
            writer = int(line.split(b" ", 1)[0])
            assert line == next(expected[writer]), line
            total += 1
    assert total == writers * count, total


if sys.argv[1] == "--check":
    check(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    out = os.open(sys.argv[1], os.O_WRONLY)
    for text in lines(int(sys.argv[2]), int(sys.argv[3])):
        assert os.write(out, text) == len(text)
