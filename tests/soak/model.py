# SPDX-License-Identifier: MIT
"""The expected contents of the shared file, and what may be missing after a SIGKILL."""
import numpy

from mounts import Wrong
from specs import LIMIT


class Model:
    def __init__(self, views):
        self.views = views
        self.data = numpy.zeros(LIMIT, dtype=numpy.uint8)
        self.size = 0
        self.settle()

    def settle(self):
        """All data is in the file, and visible to all."""
        self.settled = self.size  # the least size of the file after a SIGKILL
        self.seen = [self.size] * self.views.ranks  # the least size of the file that each rank sees
        self.ends = [0] * self.views.ranks  # the bytes to which each slice was extended since
        self.own = [0] * self.views.ranks  # the size to which each rank has extended it since
        self.base = self.data.copy()
        self.unsure = numpy.zeros(LIMIT, dtype=bool)
        self.pending = [[] for _ in range(self.views.ranks)]

    def length(self, rank):
        return self.views.size_of(rank, self.size)

    def least(self, rank, exact):
        """Returns the least size of a slice now."""
        return self.length(rank) if exact else max(self.views.size_of(rank, self.seen[rank]), self.ends[rank])

    def content(self, rank, offset, length):
        end = min(offset + length, self.length(rank))
        if end <= offset:
            return b""
        content = self.views.decode(self.data[self.views.places_of(rank, offset, end - offset)])
        skip = offset % self.views.etype.size if self.views.converting else 0
        return content[skip:skip + end - offset]

    def grow(self, rank, end, held):
        """A slice has been extended to end bytes. held: some process's memory has the bytes until a
        sync."""
        size = self.views.needed(rank, end)
        self.size = max(self.size, size)
        self.ends[rank] = max(self.ends[rank], end)
        self.own[rank] = max(self.own[rank], size)
        if not held:
            self.settled = max(self.settled, size)

    def write(self, rank, offset, data, held):
        places, values = self.views.places_of(rank, offset, len(data)), self.views.encode(data)
        if held:
            new = places[~self.unsure[places]]
            self.base[new] = self.data[new]
            self.unsure[places] = True
            self.pending[rank].append((places, values))
        else:
            self.unsure[places] = False
        self.data[places] = values
        self.grow(rank, offset + len(data), held)

    def sync(self, rank):
        """An fsync, or the last close, of a slice."""
        self.pending[rank] = []
        self.unsure[self.views.places[rank]] = False
        for places, _ in sum(self.pending, []) if self.views.shared else ():
            self.unsure[places] = True
        self.settled = max(self.settled, self.own[rank])

    def set_size(self, size):
        """Another program truncates or extends the file, while all data is in it."""
        self.data[size:] = 0
        self.size = size
        self.settle()

    def beside(self, places, values):
        """Another program writes bytes that belong to no slice."""
        self.data[places] = values

    def compare(self, content):
        """Compares the file with the model, byte for byte."""
        if len(content) != self.size:
            raise Wrong(f"the file has {len(content)} bytes, not {self.size}")
        self.differ(numpy.frombuffer(content, dtype=numpy.uint8) != self.data[:self.size], content)

    def differ(self, wrong, content):
        where = numpy.flatnonzero(wrong)
        if len(where):
            at = int(where[0])
            raise Wrong(f"{len(where)} bytes of the file differ, the first at {at}: "
                        f"{content[at]} instead of {self.data[at]} ({self.owner(at)})")

    def owner(self, at):
        for rank, places in enumerate(self.views.places):
            found = numpy.flatnonzero(places == at)
            if len(found):
                etype = self.views.etype
                return f"rank {rank}, etype {found[0] // etype.file_size} of {etype.size} bytes"
        return "in no slice"

    def survive(self, content):
        """Checks the file after a SIGKILL: synced bytes are there, and others are old or new."""
        if not self.settled <= len(content) <= self.size:
            raise Wrong(f"the file has {len(content)} bytes after SIGKILL, "
                        f"not from {self.settled} to {self.size}")
        actual = numpy.zeros(LIMIT, dtype=numpy.uint8)
        actual[:len(content)] = numpy.frombuffer(content, dtype=numpy.uint8)
        good = actual == self.data
        good |= self.unsure & (actual == self.base)
        for pending in self.pending:
            for places, values in pending:
                good[places] |= self.unsure[places] & (actual[places] == values)
        self.differ(~good, actual)
        self.data, self.size = actual, len(content)
        self.settle()
