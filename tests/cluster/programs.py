#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random programs over the nodes of a mount, against a model of what the manual promises.

    programs.py [--atomic] [--size BYTES] [--foreign PATH] FILE SEED CALLS MOUNTPOINT...

One process opens, reads, writes, syncs and closes slices through the mounts of all nodes, one call
after the other. The model knows for each byte of the file which values a read may give; that is
one value, but where nodes write the same byte with no sync between, or a handle is older than what
another node has stored. With --atomic that value is always the last one written. With --foreign, a
program without a mount also writes to the file at PATH and closes it; PATH may belong to another
client of a distributed filesystem. The views are those of spec(), which is left in programs.json
beside FILE by --spec.

Needs tests/shared in PYTHONPATH.
"""
import argparse
import json
import os
import random
import sys

from slices import Runs

# Around the borders of blocks (1 MiB) and of the groups that nodes are home of (4 MiB).
START = (4 << 20) - 700
# The runs of each rank. Displacements count from START. Most ranks share bytes.
RANKS = [Runs(*runs) for runs in
         ((0, 8, 16), (8, 8, 16), (0, 24, 40), (3, 1, 3), (0, 1, 1), (16, 512, 1000))]


def spec(file, atomic):
    views = [{"disp": START + runs.disp,
              "filetype": {"type": "resized", "lb": 0, "extent": runs.step,
                           "oldtype": {"type": "contiguous", "count": runs.run, "oldtype": "byte"}}}
             for runs in RANKS]
    return {"viewspec": 1, "file": file, "ranks": len(RANKS), "atomic": atomic,
            "view": {"per_rank": views}}


class Byte:
    """The state of one byte of the file."""

    __slots__ = ("stored", "when", "who", "pending", "rivals", "ever", "written", "story")

    def __init__(self, value):
        self.stored = {value}  # values that an opener may find, if none is pending
        self.when, self.who = 0, -1  # when the last value was stored for certain, and by which node
        self.pending = {}  # node: its values that may not be stored yet, in order
        self.rivals = {}  # node: values that others wrote meanwhile
        self.ever = {value}
        self.written = {}  # node: the rank of its last write, and the time
        self.story = []

    def write(self, node, rank, value, now):
        others = [n for n in self.pending if n != node]
        self.pending.setdefault(node, []).append(value)
        self.rivals[node] = {v for n in others for v in self.pending[n]}
        for other in others:
            self.rivals[other].add(value)
        self.ever.add(value)
        self.written[node] = rank, now
        self.story.append(f"call {now}: node {node} writes {value} through rank {rank}")

    def publish(self, node, now):
        """The node's write is in the file now. Rivals may have been stored later."""
        value = self.pending.pop(node)[-1]
        self.stored = {value} | self.rivals[node]
        for other in self.pending:
            self.rivals[other].add(value)
        self.when, self.who = now, node
        self.story.append(f"call {now}: node {node} has it stored")

    def allowed(self, node, rank, since):
        """Returns the values that a read on the node may give, through a handle opened or synced at
        since. A handle of another slice from before the write need not show it."""
        by, when = self.written.get(node, (rank, 0))
        fresh = by == rank or when <= since
        if node in self.pending and fresh:
            return {self.pending[node][-1]} | self.rivals[node]
        if node not in self.pending and (self.when <= since or (self.who == node and fresh)):
            return self.stored.union(*self.pending.values())
        return self.ever


class Program:
    def __init__(self, options):
        self.random = random.Random(options.seed)
        self.options = options
        self.nodes = len(options.mounts)
        self.size = options.size
        self.now = 0
        with open(options.file, "rb") as file:
            data = file.read()[START:].ljust(self.size, b"\0")
        self.bytes = [Byte(value) for value in data]
        self.handles = []  # [fd, node, rank, since]
        self.dirty = [set() for _ in range(self.nodes + 1)]  # places where a node has pending bytes
        self.said = []

    def publish(self, node):
        for place in self.dirty[node]:
            self.bytes[place].publish(node, self.now)
        self.dirty[node].clear()

    def open(self):
        node, rank = self.random.randrange(self.nodes), self.random.randrange(len(RANKS))
        path = f"{self.options.mounts[node]}/rank{rank}"
        self.said[-1] += f" node {node} rank {rank}"
        self.handles.append([os.open(path, os.O_RDWR), node, rank, self.now])

    def span(self, rank):
        whole = RANKS[rank].size(self.size)
        length = min(whole, self.random.choice((1, 3, 8, 17, 64, 300)))
        return self.random.randrange(whole - length + 1), length

    def write(self):
        fd, node, rank, _ = self.random.choice(self.handles)
        offset, length = self.span(rank)
        data = bytes(self.random.randrange(1, 256) for _ in range(length))
        self.said[-1] += f" node {node} rank {rank} at {offset}, {length} bytes"
        if os.pwrite(fd, data, offset) != length:
            raise AssertionError("a short write")
        for place, value in zip(RANKS[rank].places(offset, offset + length), data):
            self.bytes[place].write(node, rank, value, self.now)
            self.dirty[node].add(place)
        if self.options.atomic:
            self.publish(node)

    def foreign(self):
        """Another program writes to the file itself, as node number `nodes`."""
        start, length = self.random.randrange(self.size - 300), self.random.randrange(1, 300)
        data = bytes(self.random.randrange(1, 256) for _ in range(length))
        self.said[-1] += f" at {START + start}, {length} bytes"
        fd = os.open(self.options.foreign, os.O_RDWR)
        os.pwrite(fd, data, START + start)
        os.close(fd)
        for place, value in enumerate(data, start):
            self.bytes[place].write(self.nodes, -1, value, self.now)
            self.dirty[self.nodes].add(place)
        self.publish(self.nodes)

    def read(self):
        fd, node, rank, since = self.random.choice(self.handles)
        offset, length = self.span(rank)
        self.said[-1] += f" node {node} rank {rank} at {offset}, {length} bytes"
        data = os.pread(fd, length, offset)
        if self.options.atomic:
            since = self.now
        # Bytes past the file's end do not exist yet, unlike zeros.
        for i, place in enumerate(RANKS[rank].places(offset, offset + length)):
            value = data[i] if i < len(data) else 0
            allowed = self.bytes[place].allowed(node, rank, since)
            if value not in allowed:
                raise AssertionError(f"byte {i} of the read, {START + place} of the file, is "
                                     f"{value}, not of {sorted(allowed)}; handle of {since}",
                                     self.bytes[place].story)

    def fsync(self):
        handle = self.random.choice(self.handles)
        self.said[-1] += f" node {handle[1]} rank {handle[2]}"
        os.fsync(handle[0])
        self.publish(handle[1])
        handle[3] = self.now

    def close(self):
        fd, node, rank, _ = self.handles.pop(self.random.randrange(len(self.handles)))
        self.said[-1] += f" node {node} rank {rank}"
        os.close(fd)
        self.publish(node)

    def sync(self):
        """Calls fsync on the mount point, for all data of the node."""
        node = self.random.randrange(self.nodes)
        self.said[-1] += f" node {node}"
        fd = os.open(self.options.mounts[node], os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        self.publish(node)

    def run(self):
        calls = {"open": 6, "write": 40, "read": 40, "fsync": 4, "close": 5, "sync": 1}
        if self.options.foreign:
            calls["foreign"] = 8
        for _ in range(self.options.calls):
            self.now += 1
            call = self.random.choices(list(calls), list(calls.values()))[0]
            if call != "foreign" and not self.handles or (call == "open" and len(self.handles) > 40):
                call = "close" if self.handles else "open"
            self.said.append(call)
            getattr(self, call)()
        while self.handles:
            self.now += 1
            self.said.append("close")
            self.close()

    def check_file(self):
        with open(self.options.file, "rb") as file:
            data = file.read()[START:].ljust(self.size, b"\0")
        for place, byte in enumerate(self.bytes):
            if data[place] not in byte.stored:
                raise AssertionError(f"byte {START + place} of the file is {data[place]}, not of "
                                     f"{sorted(byte.stored)}", byte.story)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--atomic", action="store_true")
    parser.add_argument("--foreign", metavar="PATH")
    parser.add_argument("--spec", action="store_true", help="only print the spec of FILE")
    parser.add_argument("--size", type=int, default=5000)
    parser.add_argument("file")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("calls", type=int, nargs="?")
    parser.add_argument("mounts", nargs="*")
    options = parser.parse_args()
    if options.spec:
        print(json.dumps(spec(options.file, options.atomic)))
        return 0
    program = Program(options)
    try:
        program.run()
        program.check_file()
    except (AssertionError, OSError) as error:
        print(f"seed {options.seed}, call {program.now}: {error.args[0]}")
        for line in [*program.said[-10:], *(error.args[1] if len(error.args) > 1 else ())]:
            print("   ", line)
        return 1
    print(f"seed {options.seed}: {options.calls} calls as they may be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
