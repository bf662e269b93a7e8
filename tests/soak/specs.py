# SPDX-License-Identifier: MIT
"""Random specs and their meaning, computed by counting etypes one by one, without the library.

A view is a list of displacements of etypes for each rank, in the order of the slice, repeated at an
extent; an etype is a list of values (size, displacement). Where a family is not shared, slices of
different ranks never share a byte of the file. The file is one, or it is assembled from members.
"""
import json

import numpy

from slices import Darray, dealt_indices, numpy_types

NAMES = ("byte", "char", "short", "int", "float", "double", "uint16_t", "int64_t", "long",
         "unsigned_long", "wchar", "long_double")
SIZES = {name: [numpy.dtype(kind).itemsize for kind in numpy_types(name)] for name in NAMES}
BASIC = {name: memory for name, (memory, _) in SIZES.items()}
# Bytes in external32, if they differ.
EXTERNAL = {name: size for name, (memory, size) in SIZES.items() if size != memory}
LEADING = numpy.uint64(1 << 63)  # the bit of an x87 mantissa that binary128 implies
LIMIT = 4 << 20  # bytes of the file that a model covers
RANKS = (1, 2, 3, 4, 6)


class Etype:
    """spec: as JSON; names: of the values in order; values: (size, displacement) in the file, in
    order; extent: in bytes of the file."""

    def __init__(self, spec, names, values, extent):
        self.spec, self.names, self.values, self.extent = spec, names, values, extent
        self.size = sum(BASIC[name] for name in names)  # in a slice
        self.file_size = sum(size for size, _ in values)
        self.end = max(at + size for size, at in values)


def file_size(name, datarep):
    return EXTERNAL.get(name, BASIC[name]) if datarep == "external32" else BASIC[name]


def random_etype(rng, datarep):
    """Returns a basic type or, one time in four, a struct of several, with gaps, which ends with
    its last byte."""
    if rng.random() < 0.75:
        name = rng.choice(sorted(BASIC))
        size = file_size(name, datarep)
        return Etype(name, [name], [(size, 0)], size)
    types = [rng.choice(sorted(BASIC)) for _ in range(rng.randint(2, 4))]
    counts = [rng.randint(1, 3) for _ in types]
    names, values, places, at = [], [], [], 0
    for name, count in zip(types, counts):
        at += rng.choice((0, 8, 16))
        at = (at + 7) // 8 * 8
        places.append(at)
        for _ in range(count):
            names.append(name)
            values.append((file_size(name, datarep), at))
            at += values[-1][0]
    extent = (at + 7) // 8 * 8
    struct = {"type": "struct", "types": types, "blocklengths": counts, "displacements": places}
    return Etype({"type": "resized", "lb": 0, "extent": extent, "oldtype": struct}, names, values, extent)


# Values whose external32 form is not just another byte order. Rows of bytes, lowest byte first.

def widen(extended):
    """Converts x87 (16 bytes) to binary128."""
    words = numpy.ascontiguousarray(extended).view("<u8")
    low, high = words[:, 0], words[:, 1] << numpy.uint64(48)
    high = high | (low & ~LEADING) >> numpy.uint64(15)
    return numpy.stack((low << numpy.uint64(49), high), axis=1).view(numpy.uint8)


def narrow(binary128):
    """Converts back what widen returns."""
    words = numpy.ascontiguousarray(binary128).view("<u8")
    high = words[:, 1] >> numpy.uint64(48)
    low = (words[:, 1] << numpy.uint64(15)) & ~LEADING | words[:, 0] >> numpy.uint64(49)
    low = low | numpy.where(high & numpy.uint64(0x7fff), LEADING, numpy.uint64(0))
    return numpy.stack((low, high), axis=1).view(numpy.uint8)


def fitting(name, values):
    """Makes values of random bytes that survive a conversion to external32 and back."""
    if name == "long_double":
        values[:, 10:] = 0
        finite = (values[:, 8] != 0) | (values[:, 9] & 0x7f != 0)
        values[:, 7] = values[:, 7] & 0x7f | numpy.where(finite, 0x80, 0)
    elif name in EXTERNAL:
        kept = EXTERNAL[name]
        values[:, kept:] = sign_of(name, values[:, kept - 1:kept])
    return values


def sign_of(name, last):
    """Returns the bytes before a value whose highest byte is last."""
    return numpy.where((last & 0x80 != 0) & (name == "long"), 0xff, 0)


# The families. Each returns "view" without etype, its ranks, the numbers of the etypes of a tile in
# order for each rank, and the tile's extent in etypes.

def scatter(rng):
    ranks, block = rng.choice(RANKS), rng.choice((1, 2, 3, 7, 64, 500, 4096))
    owned = [list(range(rank * block, (rank + 1) * block)) for rank in range(ranks)]
    return {"filetype": {"type": "scatter", "blocklength": block}}, ranks, owned, ranks * block


def darray(rng):
    sizes = [rng.randint(1, 40) for _ in range(rng.choice((1, 2, 2, 3)))]
    grid = [rng.choice((1, 2, 3)) for _ in sizes]
    while numpy.prod(grid) > 6:
        grid[grid.index(max(grid))] -= 1
    made = Darray(rng, sizes, grid, rng.choice(("C", "Fortran")))
    owned = [made.numbers(rank).tolist() for rank in range(len(made.owned))]
    return {"filetype": made.filetype}, len(owned), owned, int(numpy.prod(sizes))


def vector(rng):
    """Gives each rank a block of each row. Between rows there may be bytes of no rank."""
    ranks, count, block = rng.choice(RANKS), rng.randint(1, 20), rng.choice((1, 2, 5, 100))
    stride = ranks * block + rng.choice((0, 0, 1, 3))
    extent = count * stride + rng.choice((0, 2))
    owned = [[row * stride + rank * block + i for row in range(count) for i in range(block)]
             for rank in range(ranks)]
    types = [{"filetype": {"type": "vector", "count": count, "blocklength": block, "stride": stride}}] * ranks
    return per_rank(types, owned, extent)


def cut(rng, owners):
    """Returns a tile cut at random, whose pieces are dealt to owners(ranks)."""
    ranks, extent, at = rng.choice(RANKS), rng.choice((10, 100, 1000, 5000)), 0
    blocks = [[] for _ in range(ranks)]
    while at < extent:
        length = min(extent - at, rng.choice((1, 1, 2, 3, 8, 50, 700)))
        for rank in owners(ranks):
            blocks[rank].append((at, length))
        at += length
    owned = [[start + i for start, length in mine for i in range(length)] for mine in blocks]
    types = [{"filetype": {"type": "indexed", "blocklengths": [length for _, length in mine],
                           "displacements": [start - mine[0][0] for start, _ in mine]}}
             for mine in blocks]
    return per_rank(types, owned, extent)


def pieces(rng):
    """Returns a single rank or none."""
    return cut(rng, lambda ranks: [rng.randrange(ranks)] if rng.random() < 0.8 else [])


def shared(rng):
    """Returns some of the ranks."""
    return cut(rng, lambda ranks: [rank for rank in range(ranks) if rng.random() < 0.6])


def per_rank(types, owned, extent):
    """Makes each rank's view begin at its first etype. EXTENT stands for the tile's, which is in
    bytes."""
    views = []
    for view, mine in zip(types, owned):
        views.append({"first": mine[0] if mine else 0, "extent": extent, **view})
    return {"per_rank": views}, len(owned), owned, extent


FAMILIES = (scatter, darray, vector, pieces, shared)


def reorder(rng, view, owned):
    """Gives slices an order of their own in memory: by a word, or with each tile's etypes
    shuffled."""
    filetype = view.get("filetype", {})
    if "gsizes" in filetype:
        order = view["memory"] = rng.choice(("C", "Fortran"))
        return [in_order(filetype, mine, order) for mine in owned]
    count, places = len(owned[0]), []
    for part, mine in zip(view.get("per_rank", [view]), owned):
        count, places = len(mine), list(range(len(mine)))
        rng.shuffle(places)
        if count:
            part["buftype"] = {"type": "indexed", "blocklengths": [1] * count, "displacements": places}
        if "per_rank" in view:
            mine[:] = [number for _, number in sorted(zip(places, mine))]
    if "per_rank" not in view:
        return [[number for _, number in sorted(zip(places, mine))] for mine in owned]
    return owned


def in_order(filetype, mine, order):
    """Returns the etypes of a rank's part of an array, in the order of memory."""
    numbers = numpy.array(mine, dtype=numpy.int64)
    where = numpy.unravel_index(numbers, filetype["gsizes"], order=filetype["order"][0])
    keys = where if order == "Fortran" else where[::-1]
    return numbers[numpy.lexsort(keys)].tolist()


class Members:
    """The members of an assembled file: length bytes, dealt in blocks, behind a header in each."""

    def __init__(self, rng, name, length):
        self.length = length
        self.count, block = rng.choice((1, 2, 3, 16)), rng.choice((1, 7, 512, 4096, 100000))
        self.header, self.name = rng.choice((0, 24)), name
        self.places = dealt_indices(length, self.count, block)
        self.json = {"count": self.count, "file": name + ".{member}", "local": {"disp": self.header},
                     "view": {"filetype": {"type": "scatter", "blocklength": block}}}

    def create(self):
        for member, places in enumerate(self.places):
            with open(f"{self.name}.{member}", "wb") as file:
                file.write(b"h" * self.header + bytes(len(places)))

    def content(self):
        whole = numpy.zeros(self.length, dtype=numpy.uint8)
        for member, places in enumerate(self.places):
            with open(f"{self.name}.{member}", "rb") as file:
                header, data = file.read(self.header), file.read()
            if header != b"h" * self.header or len(data) != len(places):
                return b""  # so that it differs
            whole[places] = numpy.frombuffer(data, dtype=numpy.uint8)
        return whole.tobytes()


class Views:
    """A random spec of a file, and the displacements of each rank's slice."""

    def __init__(self, rng, file):
        self.datarep = rng.choice(("native", "external32", "big-endian"))
        self.etype = random_etype(rng, self.datarep)
        self.family = rng.choice(FAMILIES)
        view, self.ranks, owned, extent = self.family(rng)
        self.shared = self.family is shared
        self.ordered = len(self.etype.names) == 1 and rng.random() < 0.3
        if self.ordered:
            owned = reorder(rng, view, owned)
        # True if the form in the file of some values is not just another byte order.
        self.converting = self.datarep == "external32" and any(
            name in EXTERNAL or name == "long_double" for name in self.etype.names)
        self.disp = rng.choice((0, 0, 8, 104, 4096, 5000))
        self.extent = extent * self.etype.extent
        for part in view.get("per_rank", ()):
            part["disp"] = self.disp + part.pop("first") * self.etype.extent
            part["filetype"] = {"type": "resized", "lb": 0, "oldtype": part["filetype"],
                                "extent": part.pop("extent") * self.etype.extent}
        self.json = {"viewspec": 1, "ranks": self.ranks,
                     "view": {"disp": self.disp, "etype": self.etype.spec, "datarep": self.datarep, **view}}
        self.members = Members(rng, file, rng.choice((20000, 1 << 20))) if rng.random() < 0.2 else None
        self.json |= {"members": self.members.json} if self.members else {"file": file}
        self.places, self.ends = zip(*(self.lay(mine) for mine in owned))
        self.hole = numpy.ones(LIMIT, dtype=bool)
        for places in self.places:
            self.hole[places] = False

    def text(self):
        return json.dumps(self.json)

    def places_of(self, rank, offset, length):
        """Returns the displacements of the bytes of a range of the slice; of whole etypes if they
        are converted."""
        start, end = offset, offset + length
        if self.converting:
            start = start // self.etype.size * self.etype.file_size
            end = -(-end // self.etype.size) * self.etype.file_size
        return self.places[rank][start:end]

    def columns(self):
        """Returns, for each value of an etype, its name, its bytes of a slice's row, and its bytes
        of a file's."""
        at = file_at = 0
        for name, (size, _) in zip(self.etype.names, self.etype.values):
            yield name, slice(at, at + BASIC[name]), slice(file_at, file_at + size)
            at, file_at = at + BASIC[name], file_at + size

    def encode(self, data):
        """Converts whole etypes of a slice to the file's bytes, in the order of their
        displacements."""
        data = numpy.frombuffer(data, dtype=numpy.uint8)
        if not self.converting:
            return data
        rows = data.reshape(-1, self.etype.size)
        stored = numpy.empty((len(rows), self.etype.file_size), dtype=numpy.uint8)
        for name, mine, its in self.columns():
            value = rows[:, mine]
            stored[:, its] = widen(value) if name == "long_double" else value[:, :its.stop - its.start]
        return stored.ravel()

    def decode(self, stored):
        """Converts them back."""
        if not self.converting:
            return stored.tobytes()
        stored = stored.reshape(-1, self.etype.file_size)
        rows = numpy.empty((len(stored), self.etype.size), dtype=numpy.uint8)
        for name, mine, its in self.columns():
            value, width = stored[:, its], its.stop - its.start
            if name == "long_double":
                rows[:, mine] = narrow(value)
            else:
                rows[:, mine.start:mine.start + width] = value
                rows[:, mine.start + width:mine.stop] = sign_of(name, value[:, -1:])
        return rows.tobytes()

    def random_data(self, rng, length):
        """Returns bytes for a slice. If whole etypes are converted, their values fit into the
        file."""
        data = rng.randbytes(length)
        if not self.converting:
            return data
        rows = numpy.frombuffer(bytearray(data), dtype=numpy.uint8).reshape(-1, self.etype.size)
        for name, mine, _ in self.columns():
            rows[:, mine] = fitting(name, rows[:, mine].copy())
        return rows.tobytes()

    def element(self):
        """Returns the displacements of the bytes of an etype, in the order of the slice."""
        swapped = self.datarep != "native"
        bytes_of = []
        for size, at in self.etype.values:
            mine = list(range(at, at + size))
            bytes_of += reversed(mine) if swapped else mine
        return numpy.array(bytes_of, dtype=numpy.int64)

    def lay(self, mine):
        """Returns (the displacement of each byte of a slice, the end of each of its etypes), up to
        LIMIT."""
        starts = numpy.array(mine, dtype=numpy.int64) * self.etype.extent
        tiles = numpy.arange(0, LIMIT, self.extent, dtype=numpy.int64)
        starts = (self.disp + tiles[:, None] + starts[None, :]).ravel()
        ends = numpy.maximum.accumulate(starts + self.etype.end)
        count = int(numpy.searchsorted(ends, LIMIT, side="right"))
        places = (starts[:count, None] + self.element()[None, :]).ravel()
        return places, ends[:count]

    def size_of(self, rank, size):
        """Returns a slice's size while the file has size bytes."""
        return int(numpy.searchsorted(self.ends[rank], size, side="right")) * self.etype.size

    def needed(self, rank, size):
        """Returns the size that the file needs for a slice to have size bytes."""
        if size == 0:
            return 0
        return int(self.ends[rank][(size - 1) // self.etype.size])
