# SPDX-License-Identifier: MIT
"""The file that tests/bats/pointers.bats shares, its records, and the logs of calls on it.

The file has three views: "t", records that are taken, at its beginning; behind them "a", records that
are appended, and "o", those of contributions, in turns. A record has 16 bytes: a name, which is never
zero, and a check of it. A call puts `parts` records, which are numbered from 0.
"""
import collections
import struct

RECORD = 16
TAKEN = 0xFFFF  # the worker of records that are taken: their number is `sequence`
MASK = (1 << 64) - 1

# A log is a sequence of calls that have returned. start and end: ns of CLOCK_MONOTONIC, which is one
# for all nodes of the test. error: errno, or 0. value: the first record that was taken, or the
# number of the append, of the last append before an fsync, or of the contribution.
CALL = struct.Struct("<HHIqqq")
FIELDS = "kind error parts start end value"
Call = collections.namedtuple("Call", FIELDS)
TAKE, APPEND, OPEN, WRITE, FSYNC, CLOSE, DONE, BAD = range(1, 9)


def name(worker, sequence, parts, part):
    return worker << 48 | sequence << 16 | parts << 8 | part


def check(value):
    return (value * 0x9E3779B97F4A7C15 + 0x1234567) & MASK


def records(worker, sequence, parts, first=0, last=None):
    """Returns the records of a call. first, last: some of them."""
    names = [name(worker, sequence, parts, part) for part in range(first, parts if last is None else last)]
    return b"".join(struct.pack("<QQ", value, check(value)) for value in names)


def calls(path):
    with open(path, "rb") as file:
        data = file.read()
    return [Call(*fields) for fields in CALL.iter_unpack(data[:len(data) // CALL.size * CALL.size])]


def view_start(count):
    """Returns where the records behind those that are taken begin."""
    return count * RECORD


def spec(path, count, ranks):
    etype = {"type": "contiguous", "count": RECORD, "oldtype": "byte"}
    in_turns = {"type": "resized", "lb": 0, "extent": 2 * RECORD, "oldtype": etype}
    return {"viewspec": 1, "file": path, "ranks": ranks, "views": {
        "t": {"etype": etype, "tiles": count},
        "a": {"etype": etype, "filetype": in_turns, "disp": view_start(count)},
        "o": {"etype": etype, "filetype": in_turns, "disp": view_start(count) + RECORD}}}
