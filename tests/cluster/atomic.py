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
the stamp of the write before it.
"""
import os
import sys
import time

import numpy


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


def judge(writes, reads):
    """Returns a list of violations. writes: {stamp: (start, end)} of one kind of words; reads:
    [(start, end, stamp)]."""
    wrong = []
    for start, end, stamp in reads:
        if stamp not in writes:
            wrong.append(f"{stamp} was never written")
        elif writes[stamp][0] > end:
            wrong.append(f"{stamp} is read before it is written")
        else:
            newer = [other for other, (first, last) in writes.items()
                     if first > writes[stamp][1] and last < start]
            if newer:
                wrong.append(f"{stamp} is read after {newer[0]} took its place")
    reads = sorted(reads)
    for i, (_, end, stamp) in enumerate(reads):
        for start, _, later in reads[i + 1:]:
            if start > end and writes[later][1] < writes[stamp][0]:
                wrong.append(f"{later} is read after {stamp}, which is newer")
    return wrong


def check(logs):
    lines = [line.split() for log in logs for line in open(log)]
    wrong = [" ".join(line) for line in lines if line[0] == "torn"]
    for column in (3, 4):
        said = [line for line in lines if line[0] != "torn" and line[column] != "-"]
        writes = {int(line[column]): (int(line[1]), int(line[2]))
                  for line in said if line[0] == "write"}
        writes[0] = (0, 0)
        wrong += judge(writes, [(int(line[1]), int(line[2]), int(line[column]))
                                for line in said if line[0] == "read"])
    met = sum(1 for line in lines if line[0] == "read"
              and len({int(stamp) // 1000000 for stamp in line[3:] if stamp != "-"}) == 2)
    print(f"{len(lines)} calls, {len(wrong)} are wrong; {met} reads found two writers")
    if met == 0:
        wrong.append("nobody met anybody: nothing is shown")
    for line in wrong[:20]:
        print("   ", line)
    return 1 if wrong or not lines else 0


if __name__ == "__main__":
    if sys.argv[1] == "use":
        use(sys.argv[2], *map(int, sys.argv[3:]))
    else:
        sys.exit(check(sys.argv[2:]))
