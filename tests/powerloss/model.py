# SPDX-License-Identifier: MIT
"""Judges slices after a crash by the worker's log, which has the operations begun and
acknowledged."""
import numpy

from worker import pattern, record

# The levels at which a byte may have been acknowledged, in the order of the manual's table.
LEVELS = ("write", "store", "close", "fsync", "unmount")
WRITES = ("write", "sync", "append", "store", "grow", "record")


class Operation:
    def __init__(self, number, index, name, offset, length):
        self.number, self.index, self.name = int(number), int(index), name
        self.offset, self.length, self.levels = int(offset), int(length), set()
        self.done = False


def read_log(text):
    """Returns the operations, each with the levels at which it was acknowledged."""
    operations = []
    for line in text.decode().split("\n")[:-1]:
        word, *rest = line.split()
        if word == "b":
            operations.append(Operation(*rest))
        elif word == "a":
            operations[-1].done = True
            acknowledge(operations)
    return [operation for operation in operations if operation.name in WRITES]


def acknowledge(operations):
    last = operations[-1]
    if last.name == "store":
        last.levels.add("store")
    elif last.name in WRITES:
        last.levels |= {"write"} | ({"fsync"} if last.name == "sync" else set())
    else:
        for earlier in operations:
            if earlier.name in WRITES and earlier.index == last.index and earlier.done:
                earlier.levels.add("close" if last.name == "close" else "fsync")


def unmounted(operations):
    for operation in operations:
        if operation.done:
            operation.levels.add("unmount")


def as_numbers(data, length):
    """Returns the bytes; -1 is behind the end."""
    numbers = numpy.full(length, -1, dtype=numpy.int16)
    numbers[:len(data)] = numpy.frombuffer(data, dtype=numpy.uint8)
    return numbers


def wrong_bytes(base, got, operations, seed, kind, level=None):
    """Returns the offsets of a slice where the bytes are neither the last ones acknowledged at this
    level nor those of a later operation. Without a level: nor of any operation, nor from before."""
    length = max([len(base), len(got)] + [op.offset + op.length for op in operations])
    base, got = as_numbers(base, length), as_numbers(got, length)
    fine = (got == base) | ((base == -1) & (got == 0))
    for op in operations:
        part = slice(op.offset, op.offset + op.length)
        holds = level in op.levels
        if op.name == "grow":
            if holds:
                fine[part] &= got[part] != -1
            continue
        data = pattern(seed, op.number, op.offset, op.length, kind)
        same = got[part] == numpy.frombuffer(data, dtype=numpy.uint8)
        fine[part] = same if holds else fine[part] | same
    return numpy.flatnonzero(~fine)


def judge(base, got, operations, seed, kind):
    """Returns {level: whether all data that was acknowledged at it is there}, for levels that
    occurred, and a complaint about bytes that were never written, or None."""
    kept = {}
    for level in LEVELS:
        if any(level in op.levels for op in operations):
            kept[level] = len(wrong_bytes(base, got, operations, seed, kind, level)) == 0
    strange = wrong_bytes(base, got, operations, seed, kind)
    return kept, f"{len(strange)} bytes from {strange[0]} that were never written" if len(strange) else None


def judge_records(before, got, operations, seed):
    """Does the same for records, whose places the shared file pointer chose. before: records that
    were in the file, or may have been."""
    size = len(record(seed, 1))
    there = [got[at:at + size] for at in range(0, len(got), size)]
    mine = {record(seed, op.number): op for op in operations}
    kept = {}
    for level in LEVELS:
        wanted = [data for data, op in mine.items() if level in op.levels]
        if wanted:
            kept[level] = set(wanted) <= set(there)
    strange = [data for data in there if data.strip(b"\0") and data not in before and data not in mine]
    twice = len(there) - there.count(bytes(size)) - len(set(there) - {bytes(size)})
    gone = [data for data in before if data not in there]
    complaint = (f"{len(strange)} records that were never written" if strange else
                 f"{twice} records are there twice" if twice else
                 f"{len(gone)} earlier records are gone" if gone else None)
    return kept, complaint
