# SPDX-License-Identifier: MIT
"""Judges operations that several programs did at the same time: for each byte that was read, and for
each byte of the file in the end, the values that mpiio-mount(1) allows.

A write comes before another one if it ended, or where data is held back was synced, before the other
began. A read may return the value of each write that began before it ended, except those that come
before a write that the reader must see; and what was there before, unless it must see some write. It
must see a write that ended through the same name of the same mount before it began, and one that was
synced before the reader opened or synced the slice. Times are in nanoseconds."""
import numpy

from mounts import Wrong
from specs import LIMIT

NEVER = 1 << 62


class Write:
    """values: the new bytes at places of the file. name: (node, path), or (None, path) of the file
    itself. worker: a number. shown: when programs that then open or sync see it."""

    def __init__(self, worker, name, places, values, begun, ended):
        self.worker, self.name, self.places, self.values = worker, name, places, values
        self.begun, self.ended, self.shown = begun, ended, NEVER
        self.first, self.last = (int(places.min()), int(places.max())) if len(places) else (0, -1)


class Read:
    """since: when the worker opened or synced that name last, before the read began. one: it was one
    request."""

    def __init__(self, worker, name, places, values, begun, ended, since, one=True):
        self.worker, self.name, self.places, self.values, self.one = worker, name, places, values, one
        self.begun, self.ended, self.since = begun, ended, since


class History:
    """base: the file's bytes before. held: writes are in the file when they have been synced.
    atomic: no call is seen in part."""

    bytes = loose_bytes = 0  # judged in all histories; those of them that may have any value
    where = numpy.full(LIMIT, -1, dtype=numpy.int32)  # scratch

    def __init__(self, base, held, atomic):
        self.base, self.held, self.atomic = base, held, atomic
        self.writes, self.reads, self.pages = [], [], []
        self.loose = numpy.zeros(LIMIT, dtype=bool)

    def store(self, write, pages):
        """A store through a mapping, which writes whole pages of the slice, at any time."""
        self.writes.append(write)
        self.pages.append((write, pages))

    def judge(self, final):
        """Checks all reads, and the file in the end."""
        for write in self.writes:
            if write.name[0] is None or not self.held:
                write.stored = write.ended
            else:
                write.stored = write.shown
        self.loosen()
        if self.atomic:
            self.number_sets()
        for read in self.reads:
            self.check(read, lambda write: self.must_see(read, write))
        written = numpy.zeros(LIMIT, dtype=bool)
        for write in self.writes:
            written[write.places] = True
        where, name = numpy.flatnonzero(written), ("", "the file")
        other = numpy.flatnonzero(~written & (final != self.base))
        if len(other):
            raise Wrong(f"{len(other)} bytes of the file changed that nobody wrote, the first at {other[0]}: "
                        f"{final[other[0]]} instead of {self.base[other[0]]}")
        self.check(Read(None, name, where, final[where], NEVER, NEVER, NEVER), lambda write: True)

    def loosen(self):
        """Stores through mappings may overwrite what others write within the same pages."""
        for store, pages in self.pages:
            inside = numpy.zeros(LIMIT, dtype=bool)
            inside[pages] = True
            for write in self.writes:
                if (write.worker, write.name) != (store.worker, store.name):
                    self.loose[write.places[inside[write.places]]] = True

    def number_sets(self):
        """Gives each set of writes a number, which is that of the bytes that they touched."""
        self.touched = numpy.zeros(LIMIT, dtype=numpy.uint64)
        numbers = numpy.random.default_rng(1).integers(1, 1 << 63, len(self.writes), dtype=numpy.uint64)
        for number, write in zip(numbers, self.writes):
            self.touched[write.places] += number
        for write in self.writes:
            if write.name[0] is None:  # it locks nothing
                self.touched[write.places] = 0

    def must_see(self, read, write):
        if write.name == read.name or self.atomic:
            return write.ended < read.begun
        if read.name[0] is None:
            return write.stored < read.begun
        return write.shown < read.since

    def group(self, write):
        """Writes of one group are ordered by their times; others when they have been stored."""
        return write.name[0] if self.held else ""

    def check(self, read, must_see):
        count = len(read.places)
        if not count:
            return
        self.where[read.places] = numpy.arange(count)
        low, high = int(read.places.min()), int(read.places.max())
        found, latest, top = [], {}, numpy.full(count, -1)
        for write in self.writes:
            if write.begun >= read.ended or write.last < low or write.first > high:
                continue
            at = self.where[write.places]
            inside = at >= 0
            at = at[inside]
            found.append((write, at, read.values[at] == write.values[inside]))
            if must_see(write):
                mine = latest.setdefault(self.group(write), numpy.full(count, -1))
                mine[at] = numpy.maximum(mine[at], write.begun)
                top[at] = numpy.maximum(top[at], write.begun)
        self.where[read.places] = -1
        loose = self.loose[read.places]
        History.bytes += count
        History.loose_bytes += int(loose.sum())
        good = (read.values == self.base[read.places]) & (loose | (top < 0))
        for write, at, same in found:
            mine = latest.get(self.group(write))
            allowed = top[at] <= write.stored
            if mine is not None:
                allowed &= mine[at] <= write.ended
            good[at] |= same & (allowed | loose[at])
        if not good.all():
            self.complain(read, numpy.flatnonzero(~good), found)
        if self.atomic and read.one and read.name[0] is not None:
            self.check_whole(read, found)

    def check_whole(self, read, found):
        """Bytes that the same writes touched have their values of the same one."""
        touched = self.touched[read.places]
        for number in numpy.unique(touched):
            group = touched == number
            if not number or (read.values == self.base[read.places])[group].all():
                continue
            for write, at, same in found:
                part = group[at]
                if part.any() and same[part].all():
                    break
            else:
                raise Wrong(f"{read.name[1]}: a write is seen in part, at {read.places[group].min()}"
                            f"{self.tell(read, int(numpy.flatnonzero(group)[0]), found)}")

    def complain(self, read, bad, found):
        at = int(bad[0])
        raise Wrong(f"{read.name[1]}: {len(bad)} bytes are wrong, the first at {read.places[at]} of the "
                    f"file: {read.values[at]}, before {self.base[read.places[at]]}"
                    f"{self.tell(read, at, found)}")

    def tell(self, read, at, found):
        """Returns the writes that touched a byte as lines, with times from the first of them."""
        mine = [(write, int(write.values[write.places == read.places[at]][0]))
                for write, places, _ in found if at in places]
        start = min((write.begun for write, _ in mine), default=0)
        lines = [f"\n  worker {write.worker} {write.name[1]}: {value} from {write.begun - start} to "
                 f"{write.ended - start}, shown {write.shown - start if write.shown < NEVER else 'never'}"
                 for write, value in sorted(mine, key=lambda each: each[0].begun)]
        if read.worker is not None:
            lines.append(f"\n  worker {read.worker} reads from {read.begun - start} to {read.ended - start}, "
                         f"opened or synced {read.since - start}")
        return "".join(lines)
