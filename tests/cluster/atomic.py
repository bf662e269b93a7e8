#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that atomic mode gives no torn and no old data.

    atomic.py use SLICE BYTES CALLS ID HALF   alternately writes and reads the first BYTES of
                                              SLICE, once a file "go" exists
    atomic.py check LOG...                    judges the output of all users

A write gives all words of 8 bytes that it covers the same stamp. Users of a slice that is HALF of
the words, the even ones (1), and users of all words (0) share the file. Each call
prints a line: "write START END EVEN ODD", "read START END EVEN ODD", in ns, with "-" for words that
are not covered; or "torn ...". Each read must find one stamp in the even words and one in the odd
words. There must be an order of all calls, which agrees with real time, such that each read returns
the stamps of the writes before it (tests/history/linear.py).
"""
import os
import sys
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../history")
import linear  # noqa: E402
from linear import Read, Write  # noqa: E402


def use(path, size, calls, user, half):
    fd = os.open(path, os.O_RDWR)
    open(f"here{user}", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.001)
    for call in range(1, calls + 1):
        stamp = user * 1000000 + call
        start = time.monotonic_ns()
        if call % 2:
            data = numpy.full(size // 8, stamp, "<u8").tobytes()
            start = time.monotonic_ns()
            if os.pwrite(fd, data, 0) != size:
                raise OSError("a short write")
            print("write", start, time.monotonic_ns(), stamp, "-" if half else stamp)
            continue
        words = numpy.frombuffer(os.pread(fd, size, 0), "<u8")
        end = time.monotonic_ns()
        even, odd = (words, words[:0]) if half else (words[::2], words[1::2])
        if len(words) != size // 8 or (even != even[0]).any() or (odd != odd[:1]).any():
            print("torn", start, end, *numpy.unique(words))
        else:
            print("read", start, end, even[0], "-" if half else odd[0])
    os.close(fd)


def check(logs):
    calls, wrong, met = [], [], 0
    for log in logs:
        for line in open(log):
            kind, start, end, *stamps = line.split()
            if kind == "torn":
                wrong.append(line)
                continue
            # linear.py prints a value as the number of a worker's write.
            cells = {cell: int(stamp) // 1000000 << 32 | int(stamp) % 1000000
                     for cell, stamp in zip(("even", "odd"), stamps) if stamp != "-"}
            if kind == "write":
                calls.append(Write(int(start), int(end), tuple(cells), max(cells.values()), log))
            else:
                calls.append(Read(int(start), int(end), cells, log))
                met += len({stamp >> 32 for stamp in cells.values()}) == 2
    problem = linear.check(calls)
    print(f"{len(calls)} calls, {len(wrong)} are torn; {met} reads found two writers")
    if met == 0:
        print("    nobody met anybody: nothing is shown")
    print(*wrong[:20], problem or "")
    return 1 if wrong or problem or met == 0 else 0


if __name__ == "__main__":
    if sys.argv[1] == "use":
        use(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        sys.exit(check(sys.argv[2:]))
