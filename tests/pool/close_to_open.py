#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""close_to_open.py FILE SEED ROUNDS MOUNT...: writes to slices of a file, whose words are dealt to
as many ranks as there are mounts. Each write goes through any mount, or to the file itself. After
each close all mounts must show it. Reads in between may be cached."""
import random
import sys
import time
import numpy

path, seed, rounds, *mounts = sys.argv[1:]
print("seed", seed)
chance = random.Random(int(seed))
ranks = len(mounts)
model = numpy.fromfile(path, "<u8")


def write_slice(value):
    """Writes some words of a rank, through any mount."""
    mount, rank = chance.choice(mounts), chance.randrange(ranks)
    words = len(model[rank::ranks])
    first = chance.randrange(words)
    count = min(words - first, chance.choice((1, 100, 5000, 200000)))
    with open(f"{mount}/rank{rank}", "r+b", buffering=0) as file:
        file.seek(8 * first)
        assert file.write(numpy.full(count, value, "<u8").tobytes()) == 8 * count
    model[rank::ranks][first:first + count] = value


def write_file(value):
    """Writes them to the file, as another program would."""
    first = chance.randrange(len(model))
    count = min(len(model) - first, chance.choice((1, 100, 5000, 200000)))
    with open(path, "r+b", buffering=0) as file:
        file.seek(8 * first)
        file.write(numpy.full(count, value, "<u8").tobytes())
    model[first:first + count] = value


def read_slice(mount, rank):
    with open(f"{mount}/rank{rank}", "rb") as file:
        got = numpy.frombuffer(file.read(), "<u8")
    wrong = numpy.flatnonzero(got != model[rank::ranks])
    assert len(wrong) == 0, (mount, rank, len(wrong), wrong[:3], got[wrong[:3]])


for value in range(int(rounds)):
    for _ in range(chance.randrange(3)):
        (write_file if chance.randrange(4) == 0 else write_slice)(value)
    if chance.randrange(2):
        time.sleep(0.03)  # until the file's times have settled
    for _ in range(chance.randrange(1, 5)):
        read_slice(chance.choice(mounts), chance.randrange(ranks))
for mount in mounts:
    read_slice(mount, 0)
