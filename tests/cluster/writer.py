#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a slice of words until it is stopped, and checks the result.

    writer.py write SLICE LOG RANK SEED STOP   until the file STOP exists
    writer.py check FILE LOG...                one log for each rank, in their order

Words of 8 bytes are dealt to the ranks. Each identifies its rank and its number. The log has a line
for each call that returned: "written N", "synced N" (words of the slice so far), "error NAME N",
and at the end "slowest SECONDS" and "done". A rank whose log ends before "done", or has an error,
is dead: the words that it had synced must be in the file. Of other ranks all written words must be
there, and otherwise only zeros.
"""
import array
import errno
import os
import random
import sys
import time


def words(rank, first, count):
    """Returns the bytes of words. Writers do without numpy, which takes as long to load as some of
    them run."""
    return array.array("Q", range((first << 8) + rank + 1, ((first + count) << 8) + rank + 1, 1 << 8)).tobytes()


class Writer:
    def __init__(self, path, log, rank, seed, stop):
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.rank, self.stop = int(rank), stop
        self.random = random.Random(int(seed) * 8 + self.rank)
        self.fd = os.open(path, os.O_WRONLY)
        self.done = 0
        self.slowest = 0.0

    def say(self, *words_said):
        os.write(self.log, (" ".join(map(str, words_said)) + "\n").encode())

    def timed(self, call, *arguments):
        start = time.monotonic()
        try:
            return call(*arguments)
        finally:
            self.slowest = max(self.slowest, time.monotonic() - start)

    def step(self):
        count = self.random.choice((1, 7, 100, 512, 4096, 32768))
        written = self.timed(os.pwrite, self.fd, words(self.rank, self.done, count),
                             self.done * 8)
        self.done += written // 8
        self.say("written", self.done)
        if self.random.random() < 0.1:
            self.timed(os.fsync, self.fd)
            self.say("synced", self.done)

    def run(self):
        try:
            while not os.path.exists(self.stop):
                self.step()
                # The disk is not what is tested.
                time.sleep(0.02)
            self.timed(os.fsync, self.fd)
            self.say("synced", self.done)
            self.timed(os.close, self.fd)
        except OSError as error:
            self.say("error", errno.errorcode[error.errno], self.done)
        self.say("slowest", f"{self.slowest:.3f}")
        self.say("done")


def check(path, logs):
    import numpy
    data = numpy.fromfile(path, "<u8")
    wrong = 0
    for rank, log in enumerate(logs):
        said = [line.split() for line in open(log)]
        alive = ["done"] in said and not any(line[0] == "error" for line in said)
        counts = [int(line[1]) for line in said
                  if line[0] == "synced" or (alive and line[0] == "written")]
        sure = max(counts, default=0)
        got = data[rank::len(logs)]
        want = numpy.frombuffer(words(rank, 0, max(len(got), sure)), "<u8")
        missing = numpy.flatnonzero(got[:sure] != want[:sure])
        lost = max(sure - len(got), 0) + len(missing)
        strange = numpy.flatnonzero((got != want[:len(got)]) & (got != 0))
        print(f"rank {rank}: {'alive' if alive else 'dead'}, {sure} words sure")
        if lost or len(strange):
            first = missing[0] if len(missing) else len(got)
            print(f"    {lost} of them lost, the first {first}; {len(strange)} words are strange")
            wrong = 1
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "write":
        Writer(*sys.argv[2:]).run()
    else:
        sys.exit(check(sys.argv[2], sys.argv[3:]))
