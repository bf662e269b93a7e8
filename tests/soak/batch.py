# SPDX-License-Identifier: MIT
"""A batch: all workers do random operations at the same time, on overlapping slices or on disjoint
ones, through every name that the file has."""
import errno
import mmap
import os
import subprocess
import time

import numpy

from history import NEVER, History, Read, Write
from mounts import Wrong
from specs import LIMIT

CALLS = 12  # of each worker
WINDOW = 16384  # bytes of a slice in which most of them are
KINDS = {"mixed": 4, "append": 2, "grow": 2}
WEIGHTS = {  # of calls, by the kind of batch
    "write": (8, 4, 8), "read": (8, 4, 4), "store": (3, 0, 1), "load": (2, 1, 1), "append": (0, 12, 0),
    "truncate": (1, 0, 8), "allocate": (1, 0, 4), "sync": (2, 1, 1), "close": (2, 1, 1), "size": (1, 1, 1)}
OWN = ("overlapping", "parts", "slices")  # which bytes a worker writes: any, its parts, its slices
GROWING = ("append", "truncate", "allocate")


class Name:
    """A name through which a worker reads and writes: of a slice (rank), of the whole, or the shared
    file itself (node is None)."""

    def __init__(self, node, path, rank=None, header=0):
        self.node, self.path, self.rank, self.header = node, path, rank, header
        self.key = node, path


class Batch:
    count = calls_done = 0  # of all rounds

    def __init__(self, current):
        current.close_workers()
        self.round, self.rng, self.views, self.model = current, current.rng, current.views, current.model
        self.workers = current.workers
        self.own = self.rng.choice(OWN)
        # Parts of a value that is stored at once are no bytes of their own.
        self.odd = self.views.converting and "long_double" in self.views.etype.names
        if self.odd and self.own == "overlapping":
            self.own = "parts"
        self.kind, = self.rng.choices(list(KINDS), KINDS.values())
        # In an order of its own, a slice continues with bytes that others have appended or written.
        if current.members or self.kind == "append" and self.views.shared and self.views.ordered:
            self.kind = "mixed"
        self.appends = self.kind == "append"
        self.weights = [weights[list(KINDS).index(self.kind)] for weights in WEIGHTS.values()]
        if self.kind != "mixed" and not current.unique:
            self.shorten()
        self.part = self.views.etype.size * self.rng.choice((1, 3, 64, 512, 1000))
        self.center = self.rng.random()
        self.before, self.lengths = self.model.size, {rank: self.model.length(rank) for rank in current.ranks}
        # Few slices, so that they meet.
        self.ranks = self.rng.sample(current.ranks, min(len(current.ranks), self.rng.choice((1, 1, 2, 6))))
        self.readers = {number for number in range(len(self.workers)) if self.rng.random() < 0.25}
        if self.rng.random() < 0.4:  # so that those under mpiio-run have grants for writing
            self.readers = {number for number, worker in enumerate(self.workers) if not worker.granted}
        self.nodes = [self.rng.randrange(current.nodes) for _ in self.workers]
        self.planned = []
        self.left = LIMIT - self.before  # bytes by which appends may make the file longer
        if self.appends:  # a node knows only of its own appends before a sync
            self.appending = self.rng.randrange(current.nodes)
        self.foreign = None
        if not current.members and self.rng.random() < 0.6:
            self.foreign = self.rng.randrange(len(self.workers))

    def shorten(self):
        """Another program truncates the file, so that it can grow again."""
        rank = self.rng.choice(self.round.ranks)
        size = self.views.needed(rank, self.rng.randint(0, self.model.length(rank)))
        os.truncate(self.round.file, size)
        self.model.set_size(size)

    # Random calls.

    def places(self, name, start, length):
        if name.rank is None:
            return numpy.arange(start, min(start + length, LIMIT))
        return self.views.places_of(name.rank, start, length)

    def length(self, name):
        """Returns the length of what a name shows, before the batch."""
        return self.before if name.rank is None else self.lengths[name.rank]

    def some_name(self, number):
        """Returns a name for a worker."""
        current, node = self.round, self.nodes[number]
        if number == self.foreign:
            return Name(None, current.file)
        if current.members and self.own == "overlapping" and self.rng.random() < 0.2:
            return Name(node, f"m{node}/whole")
        ranks = self.ranks
        if self.own == "slices":
            ranks = [rank for rank in current.ranks if rank % len(self.workers) == number] or ranks
        rank = self.rng.choice(ranks)
        path, header = current.name_of(f"m{node}/rank{rank}")
        return Name(node, path, rank, header)

    def mine(self, number, name):
        """Returns whether a worker may write through name."""
        if number in self.readers:
            return False
        if name.node is None:
            return self.own == "overlapping" and not self.round.unique
        return self.own != "slices" or name.rank % len(self.workers) == number

    def some_range(self, name, most):
        """Returns a range of whole values that mostly lies near the others' ranges."""
        start, length = self.rng.randrange(most), self.rng.choice((1, 3, 8, 100, 600, 4096, 9000))
        if self.rng.random() < 0.8:
            middle = int(self.center * max(0, most - WINDOW))
            if self.kind == "grow":
                middle = max(0, min(self.length(name) - 2000, most - WINDOW))
            start = middle + self.rng.randrange(min(WINDOW, most - middle))
        elif self.rng.random() < 0.1:
            length = 70000
        length = min(self.rng.randint(1, length), most - start)
        unit = self.views.etype.size
        if name.rank is not None and self.views.converting:
            start, length = start // unit * unit, -(-(start % unit + length) // unit) * unit
        return start, length

    def again(self, number, name, limit):
        """Returns the name and range of an earlier write of the same worker, or the range of another
        worker's; None if there is none below limit."""
        found = [plan for plan in self.planned
                 if (plan[0] == number or plan[1].rank == name.rank) and plan[2] < limit]
        if not found or self.rng.random() < 0.4:
            return None
        whose, its_name, start, length = self.rng.choice(found)
        return its_name if whose == number else name, start, min(length, limit - start)

    def write_range(self, number, name, most):
        """The same, in the worker's own bytes. The length is 0 if there are none."""
        start, length = self.some_range(name, most)
        if self.own != "parts":
            return start, length
        part = (start // self.part // len(self.workers) * len(self.workers) + number) * self.part
        start = max(start, part) if start < part + self.part else part
        return start, max(0, min(length, part + self.part - start, most - start))

    def some_call(self, number):
        """Returns (what, name, arguments), or None."""
        name = self.some_name(number)
        what, = self.rng.choices(list(WEIGHTS), self.weights)
        writing = what not in ("read", "load", "sync", "close", "size")
        if number in self.readers and (writing or what == "sync") and self.rng.random() < 0.5:
            what, writing = "read", False
        if writing and not self.mine(number, name) or not self.possible(what, name):
            return None
        length = self.length(name)
        if what == "append":
            size = -(-self.rng.choice((16, 16, 200, 3000)) // self.views.etype.size) * self.views.etype.size
            return self.appending_call(name, size)
        if what == "truncate":
            room = max(length, self.round.room(name.rank))
            size = self.round.whole(name.rank, 0, self.rng.randint(length, min(length + WINDOW, room)))
            return (what, name, (size,)) if size > length else None
        if what in ("sync", "close", "size"):
            return (what, name, ()) if what != "sync" or number not in self.readers else None
        limit = length if what in ("store", "load") or name.node is None or self.appends else \
            max(length, self.round.room(name.rank) if name.rank is not None else 0)
        if limit < 1:
            return None
        again = self.again(number, name, limit)
        if what in ("read", "load"):
            name, *part = again or (name, *self.some_range(name, limit))
            return what, name, tuple(part)
        start, size = self.write_range(number, name, limit)
        if what == "write" and again and again[0].key == name.key and self.own == "overlapping":
            _, start, size = again
        return self.writing(number, what, name, start, size) if size > 0 else None

    def appending_call(self, name, size):
        """Returns None if the file could get too long, whatever the order of all appends is."""
        if self.length(name) + size > self.views.size_of(name.rank, LIMIT):
            return None
        grows = self.views.needed(name.rank, self.length(name) + size) - self.before + self.views.extent
        if grows > self.left:
            return None
        self.left -= grows
        return "append", name, (self.views.random_data(self.rng, size),)

    def writing(self, number, what, name, start, size):
        if what == "allocate":
            return what, name, (start, self.round.whole(name.rank, start, size))
        data = self.rng.randbytes(size)
        if name.rank is not None:
            if what == "write" and start + size > self.length(name):
                size = self.round.whole(name.rank, start, size)
            data = self.views.random_data(self.rng, size)
        self.planned.append((number, name, start, size))
        return what, name, (start, data)

    def possible(self, what, name):
        current = self.round
        if what in ("store", "load"):
            return not current.atomic and name.node is not None and not (what == "store" and self.appends)
        if what not in GROWING:
            return True
        if current.members or name.rank is None or name.header:
            return False
        if what == "append":
            return self.appends and name.node == self.appending
        # With unique, the kernel takes a size that another program has passed for a smaller one.
        return not self.appends and not current.unique

    def calls_of(self, number):
        found = []
        for _ in range(CALLS * 4):
            if call := self.some_call(number):
                found.append(call)
            if len(found) == CALLS:
                break
        return found

    # The batch.

    def run(self):
        self.calls = [self.calls_of(number) for number in range(len(self.workers))]
        start = time.monotonic() + 0.002
        for number, (worker, calls) in enumerate(zip(self.workers, self.calls)):
            worker.begin("batch", start, [self.as_call(number, *call) for call in calls])
        self.results = [worker.result() for worker in self.workers]
        Batch.count, Batch.calls_done = Batch.count + 1, Batch.calls_done + sum(map(len, self.calls))
        self.check_errors()
        # With unique, the size of an open slice does not follow the file's.
        kept_open = self.rng.random() < 0.3 and not self.round.unique
        if kept_open:
            for call in ("sync", "sync"):
                self.every_name(call)
        else:
            self.round.close_workers()
        content = self.round.content()
        self.check_size(len(content))
        final = numpy.zeros(LIMIT, dtype=numpy.uint8)
        final[:len(content)] = numpy.frombuffer(content, dtype=numpy.uint8)
        self.history = History(self.model.data, self.round.held, self.round.atomic)
        self.appended = []
        self.record(len(content))
        self.model.data, self.model.size = final, len(content)
        self.model.settle()
        self.check_appends(final)
        self.history.judge(final)
        if kept_open:
            self.every_name("compare")
        self.round.close_workers()
        self.compare_all()

    def as_call(self, number, what, name, arguments):
        """Returns the call of workers.Calls."""
        path = name.path
        if what in ("write", "store", "read", "load", "allocate"):
            arguments = (name.header + arguments[0], *arguments[1:])
        if what == "write":
            return what, path, os.O_RDWR, *arguments
        if what == "store":
            return what, path, *arguments, self.rng.random() < 0.5
        if what in ("read", "load", "size"):
            what = "read_once" if what == "read" else what
            return what, path, os.O_RDONLY if number in self.readers else os.O_RDWR, *arguments
        return what, path, *arguments

    def check_errors(self):
        """A slice cannot be truncated to less than what another worker has written."""
        for calls, results in zip(self.calls, self.results):
            for (what, name, arguments), (_, _, result) in zip(calls, results):
                if isinstance(result, OSError) and (what, result.errno) != ("truncate", errno.EPERM):
                    raise Wrong(f"{what} {name.path} {arguments[:1]}: {result}")

    def every_name(self, call):
        """Each worker syncs, or compares, what it has open."""
        for number, worker in enumerate(self.workers):
            for node, path, rank, header in sorted({(*name.key, name.rank, name.header)
                                                    for _, name, _ in self.calls[number]}, key=str):
                if call == "sync":
                    worker.do("sync", path)
                elif rank is not None:
                    self.compare_parts(worker, path, rank, header)

    # The model.

    def record(self, size):
        """Enters what the workers did in the history."""
        for number, (calls, results) in enumerate(zip(self.calls, self.results)):
            opened, unseen = {}, {}
            for (what, name, arguments), (begun, ended, result) in zip(calls, results):
                if what not in ("close", "sync"):
                    opened.setdefault(name.key, begun)
                if what in ("close", "sync"):
                    for write in unseen.pop(name.key, ()):
                        write.shown = ended
                    if what == "close":
                        opened.pop(name.key, None)
                    else:
                        opened[name.key] = begun
                elif what in ("write", "store"):
                    write = self.enter_write(number, what, name, arguments, begun, ended)
                    unseen.setdefault(name.key, []).append(write)
                    if name.node is None:
                        write.shown = ended
                elif what in ("read", "load"):
                    self.enter_read(number, what, name, arguments, begun, ended, result, opened[name.key])
                elif what == "append":
                    self.appended.append((number, name, arguments[0]))
                elif what == "size":
                    self.between(name, result - name.header, size)

    def enter_write(self, number, what, name, arguments, begun, ended):
        start, data = arguments
        values = numpy.frombuffer(data, dtype=numpy.uint8) if name.rank is None else self.views.encode(data)
        write = Write(number, name.key, self.places(name, start, len(data)), values, begun, ended)
        if what == "write":
            self.history.writes.append(write)
        else:
            self.history.store(write, self.places(name, *self.pages(name, start, len(data))))
        return write

    def pages(self, name, start, length):
        """Returns the range of a name that its pages with these bytes hold."""
        first = (start + name.header) // mmap.PAGESIZE * mmap.PAGESIZE - name.header
        last = -(-(start + length + name.header) // mmap.PAGESIZE) * mmap.PAGESIZE - name.header
        return max(0, first), last - max(0, first)

    def enter_read(self, number, what, name, arguments, begun, ended, got, since):
        start, length = arguments
        before = self.length(name) - start
        most = self.slice_size(name, self.model_size_after) - start
        if not min(before, length) <= len(got) <= max(0, min(most, length)):
            raise Wrong(f"{name.path}: {len(got)} bytes at {start} instead of {min(before, length)} "
                        f"to {max(0, min(most, length))}")
        # The places of appended bytes are found later. If others extend the file, a slice in an order of
        # its own may show zeros for what the file had behind its end.
        if self.appends or self.views.ordered and (self.views.ranks > 1 or self.round.nodes > 1 or self.round.npy):
            got = got[:max(0, before)]
        if not got or self.odd:
            return
        if self.views.converting and name.rank is not None:
            got = got[:len(got) // self.views.etype.size * self.views.etype.size]
        values = numpy.frombuffer(got, dtype=numpy.uint8)
        if name.rank is not None:
            values = self.views.encode(got)
        places = self.places(name, start, len(got))
        # A mapping with direct I/O shows writes past it when it is made again.
        key = (*name.key, "mapped") if what == "load" and "direct" in self.round.options else name.key
        one = length <= self.round.max_read
        self.history.reads.append(Read(number, key, places, values, begun, ended, since, one))

    def slice_size(self, name, size):
        return size if name.rank is None else self.views.size_of(name.rank, size)

    def between(self, name, size, after):
        least, most = self.length(name), self.slice_size(name, after)
        if not least <= size <= most:
            raise Wrong(f"{name.path}: size {size}, not {least} to {most}")

    def check_size(self, size):
        """The file has grown as far as the calls say, unless they append."""
        self.model_size_after = size
        least = self.before
        for calls, results in zip(self.calls, self.results):
            for (what, name, arguments), (_, _, result) in zip(calls, results):
                if isinstance(result, OSError) or name.rank is None:
                    continue
                end = {"write": lambda: arguments[0] + len(arguments[1]), "allocate": lambda: sum(arguments),
                       "truncate": lambda: arguments[0]}.get(what, lambda: 0)()
                least = max(least, self.views.needed(name.rank, end))
                if what in ("write", "append") and result != len(arguments[-1]):
                    raise Wrong(f"{name.path}: {what} of {len(arguments[-1])} bytes: {result}")
        if size < least or size > least and not self.appends:
            raise Wrong(f"the file has {size} bytes, not {least}")
        for calls, results in zip(self.calls, self.results):
            for (what, name, arguments), (_, _, result) in zip(calls, results):
                if isinstance(result, OSError) and self.slice_size(name, size) <= arguments[0]:
                    raise Wrong(f"{what} {name.path} {arguments[0]}: {result}")

    def check_appends(self, final):
        """Each appended record is there once, behind the former end and its writer's earlier ones.
        Records are disjoint, and all other new bytes are zeros."""
        taken, last = numpy.zeros(LIMIT, dtype=bool), {}
        for number, name, data in self.appended:
            begin = last.get((number, name.rank), self.length(name))
            content = self.model.content(name.rank, 0, LIMIT * 2)
            at = content.find(data, begin)
            if at < 0:
                raise Wrong(f"{name.path}: {len(data)} bytes that worker {number} appended are not at "
                            f"{begin} or behind it: {data[:8].hex()}")
            last[number, name.rank] = at + len(data)
            places = self.places(name, at, len(data))
            if taken[places].any():
                raise Wrong(f"{name.path}: bytes that worker {number} appended overlap others")
            taken[places] = True
            self.history.writes.append(Write(number, name.key, places, final[places], 0, NEVER))
        new = final[self.before:self.model.size]
        if self.appends and new[~taken[self.before:self.model.size]].any():
            raise Wrong("bytes that nobody appended are behind the former end")

    # Comparing all names.

    def compare_parts(self, worker, path, rank, header=0):
        """Compares what lies where the batch wrote most, the end, and the size, with the file."""
        length = self.model.length(rank)
        middle = int(self.center * max(0, self.round.room(rank) - WINDOW))
        for start in {min(middle, length), max(0, length - WINDOW)}:
            want = self.model.content(rank, start, 2 * WINDOW)
            got = worker.do("read", path, header + start, 2 * WINDOW)
            if got != want:
                at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
                raise Wrong(f"{path}: {len(got)} bytes at {start}, not {len(want)}, and the first that "
                            f"differs from the file is at {at}")

    def compare_all(self):
        """All names on all nodes show the file as it is."""
        current, some = self.round, self.rng.choice(self.round.ranks)
        for rank in current.ranks:
            for node in range(current.nodes):
                name, header = current.name_of(f"m{node}/rank{rank}")
                self.compare_parts(self.rng.choice(self.workers), name, rank, header)
        if current.file == "x.dat" and self.rng.random() < 0.3:
            got = subprocess.run(["mpiio-view", "cat", "s.json", "-r", str(some)], check=True,
                                 stdout=subprocess.PIPE).stdout
            if got != self.model.content(some, 0, LIMIT * 2):
                raise Wrong(f"mpiio-view cat -r {some}: {len(got)} bytes are not those of the file")
        if current.members:
            want = self.model.data[:self.model.size].tobytes()
            with open(f"m{self.rng.randrange(current.nodes)}/whole", "rb") as file:
                if file.read() != want:
                    raise Wrong("whole: not the bytes of the members")
        current.close_workers()
