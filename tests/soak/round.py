# SPDX-License-Identifier: MIT
"""One round: a random spec, random options, one node or several, and random operations on its
slices, each followed in a model."""
import errno
import json
import os
import random
import re
import signal
import struct
import time

from batch import Batch
from model import Model
from mounts import Mount, Wrong, await_true
from processes import kill_all
from specs import LIMIT, Views

WARM = 40  # operations on a mount before its daemon's memory and descriptors count
MEMORY_SLACK = 16 << 20  # bytes by which they may grow, beside dirty_max: threads have arenas
DESCRIPTOR_SLACK = 4
CONNECTIONS = 8  # to and from each other node, for requests at the same time
PATIENCE = 5  # seconds until all names of a slice must show what was written through one
POOL = 16 << 20  # bytes, if a mount has a pool
EXPECTED = (r": all \d nodes are connected$", r": node \d \(\S+\) is unmounted$",
            r": atomic mode is o(n|ff)$", r": treated as coherence=")  # in the log


def random_options(rng, nodes):
    options = [f"threads={rng.choice((1, 2, 8))}"] if rng.random() < 0.5 else []
    if rng.random() < 0.3:
        options.append("max_read=" + rng.choice(("4k", "64k", "300k")))
    if nodes == 1 and rng.random() < 0.3:
        options.append("npy" if rng.random() < 0.4 else "unique")
    if rng.random() < 0.15:
        options.append("atomic")
    if rng.random() < 0.15:
        options.append("direct")
    if rng.random() < (0.8 if nodes > 1 else 0.2):
        options.append("pool=" + rng.choice(("16M", "16M", "off")))
    if nodes > 1 and rng.random() < 0.3:
        options.append("fanout=1")
    if rng.random() < 0.3:
        options.append("narrow=truncate")
    if nodes == 1:
        options.append("cache=" + rng.choice(("through", "back", "auto")))
    elif rng.random() < 0.3:
        options.append("store=mpiio")
    if rng.random() < 0.5:
        options.append("dirty_max=" + rng.choice(("1M", "2M")))
    if rng.random() < 0.5:
        options.append("flush_interval=" + rng.choice(("0", "1")))
    return options


class Round:
    """Makes s.json, x.dat, the log and mount points m0, m1, ... in the working directory."""
    count = 0  # operations of all rounds

    def __init__(self, seed, workers):
        self.seed, self.workers = seed, workers
        self.rng = rng = random.Random(seed)
        self.views = Views(rng, "x.dat")
        members = self.members = self.views.members
        self.nodes = 1 if self.views.shared else rng.choice((1, 1, 1, 2, 3))
        self.options = random_options(rng, self.nodes)
        self.max_read = next((int(option[9:-1]) << 10 for option in self.options if option.startswith("max_read=")),
                             1 << 20)
        self.model = Model(self.views)
        # If slices share bytes, they should do so within pages.
        self.limit = rng.choice((20000,) if self.views.shared else (20000, 200000, 1 << 20, LIMIT))
        if members:
            self.limit = members.length
            self.model.set_size(self.limit)
        self.ranks = [rank for rank in range(self.views.ranks) if self.room(rank)]
        self.home = [rng.randrange(self.nodes) for _ in range(self.views.ranks)]
        self.npy, self.unique = "npy" in self.options, "unique" in self.options
        # Several names show the same bytes of the file. Then the kernel may briefly have an old
        # page of one name, and a store through a mapping would write the old page.
        self.twins = self.views.shared or self.npy and rng.random() < 0.7
        self.back = "cache=back" in self.options or self.nodes > 1
        self.file, self.mount, self.done = "x.dat", None, 0

    def describe(self):
        shape = "members, " * bool(self.members) + "in an order, " * self.views.ordered
        return (f"{self.views.family.__name__} {self.views.datarep}, {shape}{self.views.ranks} ranks, "
                f"{self.nodes} nodes, -o {','.join(self.options) or 'rw'}")

    def room(self, rank):
        """Returns the most bytes that a slice may get."""
        return self.views.size_of(rank, self.limit)

    def path(self, rank):
        return f"m{self.home[rank]}/rank{rank}"

    # Mounting.

    def start(self, *more):
        for name in ("x.dat", "s.json", "log"):
            open(name, "a").close()
        if self.members and not os.path.exists("x.dat.0"):
            self.members.create()
        with open("s.json", "w") as spec:
            spec.write(self.views.text())
        options = "".join("," + option for option in (*self.options, *more))
        self.mount = Mount(self.nodes, "m", options)
        answer = self.mount.start()
        if answer != "ok":
            raise Wrong(f"mounting: {answer}")
        self.since, self.used = self.done, None
        self.atomic = "atomic" in self.options
        with open("m0/.mpiio/stats.json") as stats:
            self.passed = json.load(stats)["passthrough"]

    # Properties of the mode: writes wait for a sync; each slice immediately shows writes to the
    # others.

    @property
    def held(self):
        return self.unique or self.back and not self.atomic

    @property
    def exact(self):
        return not self.unique and (self.atomic or self.nodes == 1)

    def close_workers(self):
        for worker in self.workers:
            worker.do("close")

    def close_all(self):
        self.close_workers()
        for rank in self.ranks:
            self.model.sync(rank)
        if not self.held or self.nodes > 1 or self.unique:
            self.model.seen = [self.model.size] * self.views.ranks

    def put_back(self):
        if self.file != "x.dat":
            os.rename(self.file, "x.dat")
            self.file = "x.dat"

    def content(self):
        if self.members:
            return self.members.content()
        with open(self.file, "rb") as file:
            return file.read()

    def unmount(self):
        self.close_all()
        if self.rng.random() < 0.5:
            kill_all(self.mount.daemons(), signal.SIGTERM)  # one may exit after another one
        elif (answer := self.mount.unmount()) != "ok":
            raise Wrong(f"unmounting: {answer}")
        self.mount.ended()
        self.mount.nothing_there()
        self.mount = None
        self.put_back()
        self.model.compare(self.content())
        self.model.settle()

    def kill(self):
        """Sends SIGKILL to the daemons and engines. Lines of a log about another's exit do not
        count."""
        self.read_log()
        kill_all(self.mount.all())  # engines may exit after a daemon
        for worker in self.workers:
            worker.do("forget")
        self.mount.kill()
        self.mount.ended()
        self.mount = None
        os.truncate("log", 0)
        self.put_back()
        self.model.survive(self.content())

    # Operations. Each gets its rank, its path and a worker.

    def some_range(self, rank, most):
        start = self.rng.randrange(most)
        length = self.rng.choice((1, 3, 8, 100, 4096, 70000))
        return start, self.rng.randint(1, min(length, most - start))

    def write_range(self, rank, most):
        """The same. If values are converted as a whole, returns whole etypes."""
        start, length = self.some_range(rank, most)
        if not self.views.converting:
            return start, length
        size = self.views.etype.size
        return start // size * size, -(-(start % size + length) // size) * size

    def whole(self, rank, start, length):
        """If the kernel counts bytes (unique, passthrough), slices grow by whole etypes."""
        if (self.unique or self.passed) and start + length > self.model.least(rank, False):
            length += -(start + length) % self.views.etype.size
        return length

    def random_write(self, rank):
        start, length = self.write_range(rank, self.room(rank))
        return start, self.views.random_data(self.rng, self.whole(rank, start, length))

    def write(self, rank, path, worker):
        start, data = self.random_write(rank)
        flags = self.rng.choice((os.O_RDWR, os.O_WRONLY))
        name, header = self.name_of(path)
        # In two parts, which may be split inside a value.
        cut = self.rng.randint(1, len(data)) if self.rng.random() < 0.3 else len(data)
        if self.unique and start + cut > self.model.least(rank, False):
            cut = len(data)
        for at, part in ((start, data[:cut]), (start + cut, data[cut:])):
            if part and (done := worker.do("write", name, flags, header + at, part)) != len(part):
                raise Wrong(f"{name}: {done} of {len(part)} bytes written at {at}")
        self.model.write(rank, start, data, self.held)

    def name_of(self, path):
        """Returns a name of the slice, and the length of its header."""
        if not (self.npy and self.twins and self.rng.random() < 0.5):
            return path, 0
        with open(path + ".npy", "rb") as file:
            start = file.read(12)
        size = struct.unpack_from("<I" if start[6] > 1 else "<H", start, 8)[0]
        return path + ".npy", size + (12 if start[6] > 1 else 10)

    def read(self, rank, path, worker):
        start, length = self.some_range(rank, self.room(rank))
        name, header = self.name_of(path)
        end = time.monotonic() + PATIENCE
        while True:
            got = worker.do("read", name, header + start, length)
            try:
                return self.compare_part(rank, name, start, length, got)
            except Wrong:
                if not self.twins or time.monotonic() > end:
                    raise

    def compare_part(self, rank, path, start, length, got):
        want = self.model.content(rank, start, length)
        least = max(0, min(length, self.model.least(rank, self.exact) - start))
        if got != want[:len(got)]:
            at = next(i for i, (a, b) in enumerate(zip(got + b"\0", want + b"\0")) if a != b or i >= len(want))
            raise Wrong(f"{path}: wrong at {start + at} of {start}+{length}: {got[at:at + 8].hex()} "
                        f"instead of {want[at:at + 8].hex()}")
        if len(got) < least:
            raise Wrong(f"{path}: {len(got)} bytes at {start} instead of {least} to {len(want)}")

    def append(self, rank, path, worker):
        if not self.exact:
            self.close_all()
        size = self.model.length(rank)
        length = min(self.room(rank) - size, self.rng.choice((1, 10, 1000)) * self.views.etype.size)
        if length > 0:
            data = self.views.random_data(self.rng, length)
            if worker.do("append", path, data) != length:
                raise Wrong(f"{path}: appended in part")
            self.model.write(rank, size, data, self.held)

    def truncate(self, rank, path, worker):
        size = self.whole(rank, 0, self.rng.randint(0, self.room(rank)))
        if size > self.model.length(rank):
            worker.do("truncate", path, size)
            self.model.grow(rank, size, self.held)

    def allocate(self, rank, path, worker):
        start, length = self.some_range(rank, self.room(rank))
        length = self.whole(rank, start, length)
        worker.do("allocate", path, start, length)
        if start + length > self.model.length(rank):
            self.model.grow(rank, start + length, self.held)

    def store(self, rank, path, worker):
        most = self.model.least(rank, self.exact)
        if self.atomic or self.twins or most == 0:
            return
        start, length = self.write_range(rank, most)
        data, sync = self.views.random_data(self.rng, length), self.rng.random() < 0.5
        worker.do("store", path, start, data, sync)
        self.model.write(rank, start, data, True)
        if sync and not self.back:
            self.model.unsure[self.views.places_of(rank, start, length)] = False

    def sync(self, rank, path, worker):
        worker.do("sync", path)
        self.model.sync(rank)

    def close(self, rank, path, worker):
        worker.do("close", path)

    def seek(self, rank, path, worker):
        """Checks that holes according to lseek(2) contain zeros."""
        content = bytearray(self.model.content(rank, 0, LIMIT * 2))
        for start, end in worker.do("extents", path):
            content[start:end] = bytes(len(content[start:end]))
        if any(content):
            at = next(i for i, value in enumerate(content) if value)
            raise Wrong(f"{path}: lseek takes {at} for a hole, where data is")

    def attributes(self, rank, path, worker):
        want = {"rank": rank, "disp": self.views.json["view"].get("per_rank", [self.views.json["view"]] *
                self.views.ranks)[rank]["disp"], "datarep": self.views.datarep}
        for name, value in want.items():
            got = os.getxattr(path, "user.mpiio." + name).decode()
            if got != str(value):
                raise Wrong(f"{path}: user.mpiio.{name} is {got}, not {value}")

    def stat(self, rank, path, worker):
        size = os.stat(path).st_size
        least, most = self.model.least(rank, self.exact), self.model.length(rank)
        if not least <= size <= most:
            raise Wrong(f"{path}: size {size}, not {least} to {most}")

    def list(self, rank, path, worker):
        want = {f"rank{i}" for i in range(self.views.ranks)}
        if "npy" in self.options:
            want |= {name + ".npy" for name in want}
        if self.members:
            want.add("whole")
        got = set(os.listdir(os.path.dirname(path))) - {".mpiio", "self", "self.npy"}
        if got != want:
            raise Wrong(f"names: {sorted(got ^ want)}")

    def refuse(self, rank, path, worker):
        """Does what the manual excludes."""
        for want, *call in ((errno.EPERM, "unlink", path), (errno.EPERM, "chmod", path, 0o600),
                            (errno.EPERM, "rename", path, path + "x"),
                            (errno.EPERM, "mkdir", os.path.dirname(path) + "/d")):
            if (got := worker.do("refused", *call)) != want:
                raise Wrong(f"{call}: {errno.errorcode.get(got, got)}")

    def beside(self, rank, path, worker):
        """Another program writes where no slice is."""
        if self.members:
            return
        end = min(self.model.size, os.path.getsize(self.file))
        places = self.views.hole[:end].nonzero()[0]
        count, first = self.rng.randint(1, 64), int(self.rng.random() * len(places))
        places = places[first:first + count]
        values = self.rng.randbytes(len(places))
        with open(self.file, "r+b", buffering=0) as file:
            for at, value in zip(places.tolist(), values):
                os.pwrite(file.fileno(), bytes((value,)), at)
        self.model.beside(places, list(values))

    def batch(self, rank, path, worker):
        """All workers do many operations at the same time, and one of them on the file itself."""
        Batch(self).run()

    def move(self, rank, path, worker):
        """A slice moves to another node."""
        for other in self.workers:
            other.do("close", path)
        self.model.sync(rank)
        self.home[rank] = self.rng.randrange(self.nodes)

    def rename(self, rank, path, worker):
        """Renames or replaces the file. The mount keeps its own."""
        if self.members:
            return
        if self.file == "x.dat":
            os.rename("x.dat", "y.dat")
            self.file = "y.dat"
            if self.rng.random() < 0.5:
                with open("x.dat", "wb") as other:
                    other.write(b"another file")
        else:
            self.put_back()

    def cut(self, rank, path, worker):
        """Another program truncates or extends the file. Readers find the new end, or past it what
        the kernel's page cache still has."""
        if self.unique or self.members:
            return
        self.close_all()
        old = worker.do("read", path, 0, self.room(rank))
        size = self.rng.randint(0, self.limit)
        if self.passed:
            size -= size % self.views.etype.size
        os.truncate(self.file, size)
        self.model.set_size(size)
        got, end = worker.do("read", path, 0, self.room(rank)), self.model.length(rank)
        self.compare_part(rank, path, 0, self.room(rank), got[:end])
        if got[end:] != old[end:len(got)]:
            raise Wrong(f"{path}: behind its new end {end} it is neither cut nor what it was")
        self.close_all()
        self.stat(rank, path, worker)
        self.compare_part(rank, path, 0, self.room(rank), worker.do("read", path, 0, self.room(rank)))
        # If the file ends within an etype, and a write completes that, a program that has the slice
        # open may read zeros for the etype's earlier bytes. So this completes it before.
        odd = (size - self.views.disp) % self.views.etype.extent
        if size > self.views.disp and odd:
            size += self.views.etype.extent - odd
            self.close_all()
            os.truncate(self.file, size)
            self.model.set_size(size)

    def switch(self, rank, path, worker):
        """Changes the atomicity, which is impossible while a slice is open."""
        top, wanted = os.path.dirname(path), b"01"[not self.atomic:][:1]
        worker.do("write", path, os.O_RDWR, 0, b"")
        call = "setxattr", top, "user.mpiio.atomicity", wanted
        if (got := worker.do("refused", *call)) != errno.EBUSY:
            raise Wrong(f"atomicity {wanted} while a slice is open: {errno.errorcode.get(got, got)}")
        self.close_all()
        await_true(lambda: worker.do("refused", *call) == 0, "the atomicity does not change")
        self.atomic = not self.atomic
        for folder in self.mount.folders:
            if os.getxattr(folder, "user.mpiio.atomicity") != wanted:
                raise Wrong(f"{folder}: the atomicity is not {wanted}")

    def remount(self, rank, path, worker):
        how = self.rng.choice(("kill", "end", "read-only"))
        if how == "kill":
            if self.rng.random() < 0.7:
                self.write(rank, path, worker)
                self.sync(rank, path, worker)
            self.kill()
        else:
            self.unmount()
        if how == "read-only":
            self.start("ro")
            for mine in self.ranks:
                self.whole_slice(mine)
                if (got := worker.do("refused", "open", self.path(mine), os.O_WRONLY)) != errno.EROFS:
                    raise Wrong(f"{self.path(mine)}: opened for writing: {got}")
            self.unmount()
        self.start()

    def rest(self, rank, path, worker):
        """While nothing is open, the daemon's memory and descriptors must be as before."""
        self.close_all()
        used = [use_of(pid) for pid in self.mount.daemons()]
        if self.done - self.since < WARM:
            return
        if self.used is None:
            self.used = used
        slack = MEMORY_SLACK + (self.back and (2 << 20)) + ("pool=off" not in self.options and POOL)
        spare = DESCRIPTOR_SLACK + CONNECTIONS * (self.nodes - 1)
        for (memory, files), (before, files_before) in zip(used, self.used):
            if memory > before + slack or files > files_before + spare:
                raise Wrong(f"the daemon has grown: {memory >> 10} KiB from {before >> 10}, "
                            f"{files} descriptors from {files_before}")

    # All of it.

    OPERATIONS = {write: 20, read: 20, append: 3, truncate: 2, allocate: 2, store: 8, sync: 5, close: 3,
                  seek: 3, attributes: 2, stat: 3, list: 1, refuse: 1, beside: 4, batch: 5, move: 4,
                  rename: 1, remount: 2, rest: 2, cut: 1, switch: 1}

    def run(self, operations, only):
        """only: the names of the operations to do, or None for all."""
        self.weights = {operation: weight for operation, weight in self.OPERATIONS.items()
                        if not only or operation.__name__ in only}
        try:
            self.start()
            for self.done in range(operations if self.ranks else 0):
                self.step()
            self.finish()
        except OSError as error:
            raise Wrong(f"operation {self.done}: {error}") from error
        except Wrong as wrong:
            raise Wrong(f"operation {self.done}: {wrong}") from wrong

    def step(self):
        """Does an operation. It has random numbers of its own, so earlier operations do not change
        them."""
        self.rng = random.Random(f"{self.seed} {self.done}")
        operation, = self.rng.choices(list(self.weights), self.weights.values())
        rank = self.rng.choice(self.ranks)
        worker = self.rng.choice(self.workers)
        self.workers[0].trace.append(f"{self.done}: {operation.__name__} rank {rank}")
        operation(self, rank, self.path(rank), worker)
        Round.count += 1

    def finish(self):
        self.rest(None, None, None)
        for rank in range(self.views.ranks):
            self.whole_slice(rank)
        self.unmount()
        self.read_log()

    def whole_slice(self, rank):
        with open(self.path(rank), "rb") as file:
            got = file.read()
        want = self.model.content(rank, 0, LIMIT * 2)
        self.compare_part(rank, self.path(rank), 0, len(want), got)
        if len(got) != len(want):
            raise Wrong(f"{self.path(rank)}: {len(got)} bytes instead of {len(want)}")
        if "npy" in self.options:
            with open(self.path(rank) + ".npy", "rb") as file:
                if not file.read().endswith(want):
                    raise Wrong(f"{self.path(rank)}.npy: not the slice")

    def read_log(self):
        with open("log", errors="replace") as log:
            for line in log:
                if not any(re.search(text, line) for text in EXPECTED):
                    raise Wrong(f"the log says: {line.strip()}")

    def give_up(self):
        """Removes what is left after a finding."""
        if self.mount:
            self.mount.kill()


def use_of(pid):
    """Returns (bytes of anonymous memory, descriptors) of a process."""
    with open(f"/proc/{pid}/status") as status:
        memory = sum(int(line.split()[1]) for line in status if line.startswith(("RssAnon", "RssShmem")))
    return memory << 10, len(os.listdir(f"/proc/{pid}/fd"))
