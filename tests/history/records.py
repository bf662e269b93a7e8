# SPDX-License-Identifier: MIT
"""The file of a history, its records, and the logs of calls on it.

View "t", at the beginning of the file, has the records to be taken. Cells follow, which are views
"r" and "d" (registers.py). Behind them, records of view "a", which are appended, alternate with
records of view "o", which belong to contributions. A record has 16 bytes: a name, which is never
zero, and a checksum of the name. A call writes `parts` records, which are numbered from 0.
"""
import collections
import struct

RECORD = 16
TAKEN = 0xFFFF  # the worker in the names of records to be taken; `sequence` is their number
MASK = (1 << 64) - 1
ARENA, ARENAS = 8192, 2  # the cells of an arena, and the number of arenas

# A log is a sequence of calls that have returned. start and end are in ns of CLOCK_MONOTONIC, which
# all nodes of the test share. error is errno, or 0. value is the first record that was taken, or
# the number of the append, of the last append before an fsync, or of the contribution. In the logs
# of registers, START precedes each write, and the bytes that a read returned follow its GET. There,
# value is the register << 32 | the number of the write, and parts is the number of cells.
CALL = struct.Struct("<HHIqqq")
FIELDS = "kind error parts start end value"
Call = collections.namedtuple("Call", FIELDS)
TAKE, APPEND, OPEN, WRITE, FSYNC, CLOSE, DONE, BAD, START, SET, GET = range(1, 12)


def name(worker, sequence, parts, part):
    return worker << 48 | sequence << 16 | parts << 8 | part


def check(value):
    return (value * 0x9E3779B97F4A7C15 + 0x1234567) & MASK


def records(worker, sequence, parts, first=0, last=None):
    """Returns the records of a call, or those from first to before last."""
    names = [name(worker, sequence, parts, part) for part in range(first, parts if last is None else last)]
    return b"".join(struct.pack("<QQ", value, check(value)) for value in names)


def calls(path):
    with open(path, "rb") as file:
        data = file.read()
    return [Call(*fields) for fields in CALL.iter_unpack(data[:len(data) // CALL.size * CALL.size])]


def cells_start(count):
    """Returns the offset of the first cell."""
    return count * RECORD


def view_start(count):
    """Returns the offset of the first record behind the cells."""
    return cells_start(count) + ARENA * ARENAS * 8


def spec(path, count, ranks):
    etype = {"type": "contiguous", "count": RECORD, "oldtype": "byte"}
    cell = {"type": "contiguous", "count": 8, "oldtype": "byte"}
    in_turns = {"type": "resized", "lb": 0, "extent": 2 * RECORD, "oldtype": etype}
    return {"viewspec": 1, "file": path, "ranks": ranks, "views": {
        "t": {"etype": etype, "tiles": count},
        "r": {"etype": cell, "disp": cells_start(count), "tiles": ARENA * ARENAS},
        "d": {"etype": cell, "disp": cells_start(count), "tiles": ARENA * ARENAS // (2 * ranks),
              "filetype": {"type": "scatter", "blocklength": 2}},
        "a": {"etype": etype, "filetype": in_turns, "disp": view_start(count)},
        "o": {"etype": etype, "filetype": in_turns, "disp": view_start(count) + RECORD}}}
