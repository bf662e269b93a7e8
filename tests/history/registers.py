# SPDX-License-Identifier: MIT
"""Registers: ranges of the file's cells that are read and written in atomic mode, as seen by
workers and by the judge. linear.py decides whether the calls are linearizable.

A cell has 8 bytes: the worker (2 bytes), the number of its write (4 bytes), and the number of the
cell (2 bytes). So each cell names the write that stored it. All cells are zero at first. The cells
lie in arenas of 64 KiB. Registers of 8 bytes to 64 KiB overlap within an arena, and never reach
into another one. View "r" has all cells, on each rank. View "d" distributes pairs of cells over the
ranks, so a register of this view has gaps.
"""
import array
import collections
import math
import os
import random

import numpy

import linear
from records import ARENA, ARENAS, CALL, GET, SET, START, Call

CELL = 8
SIZES = (8, 8, 24, 64, 512, 4096, 5000, 16384, 65536)
DEALT = (16, 40, 1024, 16384)


class Register(collections.namedtuple("Register", "arena view rank first count ranks")):
    """first and count are cells of the slice."""

    def cells(self):
        """Returns the numbers of its cells in the file."""
        places = range(self.first, self.first + self.count)
        if self.view == "r":
            return list(places)
        return [place // 2 * 2 * self.ranks + 2 * self.rank + place % 2 for place in places]


def registers(seed, ranks):
    """Returns the registers of a history."""
    source = random.Random(f"registers {seed}")
    found = []
    for arena in range(ARENAS):
        start = arena * ARENA
        centre = start + source.randrange(ARENA)
        for size in SIZES:
            first = centre - source.randrange(size // CELL)
            first = min(max(first, start), start + ARENA - size // CELL)
            found.append(Register(arena, "r", source.randrange(ranks), first, size // CELL, ranks))
        for size in DEALT:
            rank = source.randrange(ranks)
            # The slice's cells that lie in the arena.
            low = -(-start // (2 * ranks)) * 2
            high = (start + ARENA) // (2 * ranks) * 2
            size = min(size // CELL, high - low)
            first = min(max(centre // (2 * ranks) * 2 - source.randrange(size), low), high - size)
            found.append(Register(arena, "d", rank, first, size, ranks))
    return found


class Stamps:
    """Makes the bytes that writes store in a register."""

    def __init__(self, register):
        self.bytes = bytearray(array.array("Q", register.cells()).tobytes())

    def of(self, worker, sequence):
        for i, byte in enumerate((worker << 32 | sequence).to_bytes(6, "little"), 2):
            self.bytes[i::CELL] = bytes([byte]) * (len(self.bytes) // CELL)
        return self.bytes


def parse(path):
    """Yields the calls in the log of a worker, and the bytes that each read returned."""
    with open(path, "rb") as file:
        data = file.read()
    place = 0
    while place + CALL.size <= len(data):
        call = Call(*CALL.unpack_from(data, place))
        place += CALL.size
        length = call.parts * CELL if call.kind == GET and not call.error else 0
        if place + length > len(data):
            return
        yield call, data[place:place + length]
        place += length


class Registers:
    """Collects the calls on registers, and judges them. say reports a violation."""

    def __init__(self, seed, ranks, say):
        self.registers = registers(seed, ranks)
        self.cells = [numpy.array(one.cells(), "<i8") for one in self.registers]
        self.say = say
        self.calls = []  # (index, start, end, id, values of the cells, optional, torn)
        self.last = 0

    def add_log(self, path, worker, name, crashed):
        """Adds a worker's calls. crashed: the daemon was killed, so a write may be stored in
        part."""
        started = None
        for call, data in parse(path):
            index, sequence = call.value >> 32, call.value & 0xFFFFFFFF
            self.last = max(self.last, call.end)
            if call.kind == START:
                started = call
            elif call.kind == SET:
                end = math.inf if call.error else call.end
                self.put(index, started.start, end, worker, sequence, name, crashed)
                started = None
            elif call.kind == GET and not call.error:
                self.get(index, call, numpy.frombuffer(data, "<u8").astype("<i8"), name)
        if started:
            self.put(started.value >> 32, started.start, math.inf, worker, started.value & 0xFFFFFFFF,
                     name, crashed)

    def put(self, index, start, end, worker, sequence, name, crashed):
        self.calls.append((index, start, end, worker << 32 | sequence, None, name, crashed))

    def get(self, index, call, values, name):
        bad = (values & 0xFFFF != self.cells[index]) & (values != 0)
        if bad.any():
            cell = self.cells[index][bad][0]
            self.say(f"{name}: cell {cell} has bytes that belong elsewhere: {values[bad][0]:#x}")
        self.calls.append((index, call.start, call.end, None, values >> 16, name, False))

    def add_file(self, path, offset):
        """Adds the final contents of the file, which are a read of each arena."""
        values = numpy.fromfile(path, "<i8", count=ARENA * ARENAS, offset=offset)
        for arena in range(ARENAS):
            index = next(i for i, one in enumerate(self.registers)
                         if one.arena == arena and one.count == ARENA)
            call = Call(GET, 0, ARENA, self.last + 1, self.last + 2, 0)
            self.get(index, call, values[self.cells[index]], "the file")

    def classes(self, calls):
        """Divides the cells of an arena into classes. The cells of a class are in the same
        registers, and each read returned the same write for all of them. Returns the class of each
        cell."""
        labels = numpy.zeros(ARENA * ARENAS, "<i8")
        for index in {call[0] for call in calls}:
            mask = numpy.zeros(len(labels), "<i8")
            mask[self.cells[index]] = 1
            labels = numpy.unique(labels * 2 + mask, return_inverse=True)[1]
        count = labels.max() + 1
        for index, _, _, _, values, _, _ in calls:
            if values is None:
                continue
            places = self.cells[index]
            first, inverse = numpy.unique(labels[places], return_index=True, return_inverse=True)[1:]
            if (values[first][inverse] != values).any():
                pairs = numpy.stack((labels[places], values))
                labels[places] = count + numpy.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
                count = labels.max() + 1
        return labels

    def history(self, calls):
        """Returns the operations of linear.py for the calls on an arena."""
        labels = self.classes(calls)
        parts = {}
        for index in {call[0] for call in calls}:
            names, first = numpy.unique(labels[self.cells[index]], return_index=True)
            parts[index] = names.tolist(), first
        reads, seen = [], set()
        for index, start, end, _, values, name, _ in calls:
            if values is not None:
                found = dict(zip(parts[index][0], values[parts[index][1]].tolist()))
                seen.update(found.items())
                reads.append(linear.Read(start, end, found, name))
        writes = []
        for index, start, end, value, values, name, crashed in calls:
            if values is not None:
                continue
            names = parts[index][0]
            if end < math.inf:
                writes.append(linear.Write(start, end, tuple(names), value, name))
            elif crashed:
                writes += [linear.Write(start, end, (part,), value, name)
                           for part in names if (part, value) in seen]
            elif any((part, value) in seen for part in names):
                writes.append(linear.Write(start, end, tuple(names), value, name))
        return reads + writes

    def judge(self):
        """Reports each arena whose calls are not linearizable."""
        gets = sum(call[4] is not None for call in self.calls)
        print(f"{len(self.calls) - gets} writes and {gets} reads of registers")
        for arena in range(ARENAS):
            calls = [call for call in self.calls if self.registers[call[0]].arena == arena]
            wrong = linear.check(self.history(calls))
            if wrong:
                self.say(f"arena {arena}: {wrong}")


class Access:
    """A worker's calls on registers. worker is a Worker of work.py."""

    def __init__(self, worker, seed, ranks):
        self.worker, self.files, self.sequence = worker, {}, 0
        self.registers = registers(seed, ranks)
        self.stamps = [Stamps(register) for register in self.registers]

    def open(self, register):
        """Returns a descriptor of the register's slice, or None."""
        key = register.view, register.rank
        if key not in self.files:
            fd = self.worker.open(f"{register.view}/rank{register.rank}", os.O_RDWR)
            if fd is None:
                return None
            self.files[key] = fd
        return self.files[key]

    def once(self):
        """Reads or writes a random register."""
        source = self.worker.random
        index = source.randrange(len(self.registers))
        register = self.registers[index]
        fd = self.open(register)
        if fd is None:
            return
        offset, length = register.first * CELL, register.count * CELL
        if source.random() < 0.5:
            self.worker.get(fd, length, offset, index << 32)
        else:
            self.sequence += 1
            data = self.stamps[index].of(self.worker.args.worker, self.sequence)
            self.worker.set(fd, data, offset, index << 32 | self.sequence)
