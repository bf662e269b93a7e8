#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""model.py SLICE SEED ROUNDS HANDLES UNIT HEADER: opens, writes and truncates a slice at random,
and a plain file likewise. The slice must have the plain file's bytes. Past those it keeps earlier
bytes, or has zeros. UNIT: all numbers are multiples of it. HEADER: bytes before the data.
"""
import os
import random
import sys

slice = sys.argv[1]
seed, rounds, handles, unit, header = map(int, sys.argv[2:7])
r = random.Random(seed)
length = os.stat(slice).st_size
most = length - header


def number(most):
    n = r.choice((r.randrange(most + 1), r.randrange(min(most, 9000) + 1),
                  r.randrange(most // 4096 + 1) * 4096))
    return n - n % unit


def differs(got, want):
    if got[:len(want)] == want:
        return None
    return next(i for i in range(len(want)) if got[i:i + 1] != want[i:i + 1])


def one_of_each(got, kept, old):
    """Returns whether each byte is zero, or as in one of the other texts. It is quick if all bytes
    are from the same."""
    return (got == kept or got == old or not any(got)
            or all(byte in (*was, 0) for byte, *was in zip(got, kept, old)))


class Round:
    def __init__(self):
        self.open, self.log = [], []

    def open_one(self, truncates):
        flags = r.choice((os.O_WRONLY, os.O_RDWR)) | (os.O_TRUNC if truncates else 0)
        self.log.append(("open", len(self.open), flags))
        self.open.append((os.open(slice, flags), os.open("ref", os.O_RDWR | flags & os.O_TRUNC),
                          flags))

    def step(self):
        fd, ref, flags = r.choice(self.open)
        kind = r.randrange(6)
        if kind == 0:
            size = number(most)
            self.log.append(("ftruncate", size))
            os.ftruncate(fd, size + header)
            os.ftruncate(ref, size)
        elif kind == 1 and 1 < handles > len(self.open) - 1:
            self.open_one(r.random() < 0.5)
        else:
            place = number(most)
            data = r.randbytes(min(most - place, number(20000)))
            self.log.append(("pwrite", place, len(data)))
            assert not data or os.pwrite(fd, data, place + header) == len(data)
            os.pwrite(ref, data, place)
            self.kept[place:place + len(data)] = data
        if flags & os.O_ACCMODE == os.O_RDWR and r.random() < 0.3:
            os.fsync(fd)
            want = os.pread(ref, most, 0)
            bad = differs(os.pread(fd, len(want), header), want)
            assert bad is None, ("read", seed, self.log, bad)

    def run(self):
        old = r.randbytes(most - most % unit)
        self.kept = bytearray(old)  # the bytes without any truncation
        for name, start in ((slice, header), ("ref", 0)):
            with open(name, "r+b" if start or name == slice else "wb", 0) as out:
                out.seek(start)
                assert out.write(old) == len(old)
        self.open_one(True)
        for _ in range(1, handles):
            self.open_one(r.random() < 0.5)
        for _ in range(r.randrange(12)):
            self.step()
        for fd, ref, _ in self.open:
            os.close(fd)
            os.close(ref)
        with open(slice, "rb") as file:
            assert os.fstat(file.fileno()).st_size == length, (seed, self.log)
            got = file.read()[header:]
        with open("ref", "rb") as file:
            want = file.read()
        bad = differs(got, want)
        assert bad is None, (seed, self.log, bad)
        tail = len(want)
        # The kernel may have dropped truncated bytes without sending them.
        assert all(one_of_each(*(text[at:at + 4096] for text in (got, self.kept, old)))
                   for at in range(tail, len(old), 4096)), ("tail", seed, self.log)


for _ in range(rounds):
    Round().run()
