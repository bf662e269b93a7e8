# SPDX-License-Identifier: MIT
"""Random specs, and what they mean: computed here by counting etypes one by one, not by the product.

A view is a list of displacements of etypes for each rank, repeated at an extent; an etype is a list
of values (size, displacement). Slices of different ranks never share a byte of the file.
"""
import json

import numpy

BASIC = {"byte": 1, "char": 1, "short": 2, "int": 4, "float": 4, "double": 8, "uint16_t": 2,
         "int64_t": 8}
LIMIT = 4 << 20  # bytes of the file that a model looks at
RANKS = (1, 2, 3, 4, 6)


class Etype:
    """spec: as JSON; values: (size, displacement) in order; extent: in bytes."""

    def __init__(self, spec, values, extent):
        self.spec, self.values, self.extent = spec, values, extent
        self.size = sum(size for size, _ in values)
        self.end = max(at + size for size, at in values)


def random_etype(rng):
    """A basic type or, one time in four, a struct of some with gaps that ends with its last byte."""
    if rng.random() < 0.75:
        name = rng.choice(sorted(BASIC))
        return Etype(name, [(BASIC[name], 0)], BASIC[name])
    names = [rng.choice(sorted(BASIC)) for _ in range(rng.randint(2, 4))]
    counts = [rng.randint(1, 3) for _ in names]
    values, places, at = [], [], 0
    for name, count in zip(names, counts):
        at += rng.choice((0, 8, 16))
        at = (at + 7) // 8 * 8
        places.append(at)
        for _ in range(count):
            values.append((BASIC[name], at))
            at += BASIC[name]
    extent = (at + 7) // 8 * 8
    struct = {"type": "struct", "types": names, "blocklengths": counts, "displacements": places}
    return Etype({"type": "resized", "lb": 0, "extent": extent, "oldtype": struct}, values, extent)


# The families: each returns "view" without etype, its ranks, for each rank the numbers of the etypes
# of a tile in order, and the tile's extent in etypes.

def scatter(rng):
    ranks, block = rng.choice(RANKS), rng.choice((1, 2, 3, 7, 64, 500, 4096))
    owned = [list(range(rank * block, (rank + 1) * block)) for rank in range(ranks)]
    return {"filetype": {"type": "scatter", "blocklength": block}}, ranks, owned, ranks * block


def distribute(rng, size, parts):
    """(distribution, argument, for each index whose it is) of one dimension."""
    if parts == 1 and rng.random() < 0.5:
        return "none", None, [0] * size
    if rng.random() < 0.5:
        block = -(-size // parts)
        if rng.random() < 0.3:
            block += 1
            return "block", block, [i // block for i in range(size)]
        return "block", None, [i // block for i in range(size)]
    block = rng.choice((None, 1, 2, 3, 5))
    return "cyclic", block, [i // (block or 1) % parts for i in range(size)]


def darray(rng):
    sizes = [rng.randint(1, 40) for _ in range(rng.choice((1, 2, 2, 3)))]
    grid = [rng.choice((1, 2, 3)) for _ in sizes]
    while numpy.prod(grid) > 6:
        grid[grid.index(max(grid))] -= 1
    dimensions = [distribute(rng, size, parts) for size, parts in zip(sizes, grid)]
    order = rng.choice(("C", "Fortran"))
    ranks, owned = int(numpy.prod(grid)), []
    numbers = numpy.arange(int(numpy.prod(sizes))).reshape(sizes, order=order[0])
    for rank in range(ranks):
        place = numpy.unravel_index(rank, grid)
        mine = [[i for i, owner in enumerate(dimension[2]) if owner == at]
                for dimension, at in zip(dimensions, place)]
        owned.append(sorted(int(number) for number in numbers[numpy.ix_(*mine)].flat))
    filetype = {"type": "darray", "gsizes": sizes, "psizes": grid, "order": order,
                "distribs": [name for name, _, _ in dimensions],
                "dargs": [argument for _, argument, _ in dimensions]}
    return {"filetype": filetype}, ranks, owned, int(numpy.prod(sizes))


def vector(rng):
    """Each rank a block of each row; between the rows may be something that is nobody's."""
    ranks, count, block = rng.choice(RANKS), rng.randint(1, 20), rng.choice((1, 2, 5, 100))
    stride = ranks * block + rng.choice((0, 0, 1, 3))
    extent = count * stride + rng.choice((0, 2))
    owned = [[row * stride + rank * block + i for row in range(count) for i in range(block)]
             for rank in range(ranks)]
    types = [{"filetype": {"type": "vector", "count": count, "blocklength": block, "stride": stride}}] * ranks
    return per_rank(types, owned, extent)


def pieces(rng):
    """A tile cut at random, each piece dealt to a rank or to nobody."""
    ranks, extent, at = rng.choice(RANKS), rng.choice((10, 100, 1000, 5000)), 0
    blocks = [[] for _ in range(ranks)]
    while at < extent:
        length = min(extent - at, rng.choice((1, 1, 2, 3, 8, 50, 700)))
        if rng.random() < 0.8:
            blocks[rng.randrange(ranks)].append((at, length))
        at += length
    owned = [[start + i for start, length in mine for i in range(length)] for mine in blocks]
    types = [{"filetype": {"type": "indexed", "blocklengths": [length for _, length in mine],
                           "displacements": [start - mine[0][0] for start, _ in mine]}}
             for mine in blocks]
    return per_rank(types, owned, extent)


def per_rank(types, owned, extent):
    """Each rank's view begins at its first etype; EXTENT stands for the tile's, which is in bytes."""
    views = []
    for view, mine in zip(types, owned):
        views.append({"first": mine[0] if mine else 0, "extent": extent, **view})
    return {"per_rank": views}, len(owned), owned, extent


FAMILIES = (scatter, darray, vector, pieces)


class Views:
    """A random spec of a file, and for each rank where the bytes of its slice lie."""

    def __init__(self, rng, file):
        self.etype = random_etype(rng)
        self.family = rng.choice(FAMILIES)
        view, self.ranks, owned, extent = self.family(rng)
        self.datarep = rng.choice(("native", "external32", "big-endian"))
        self.disp = rng.choice((0, 0, 8, 104, 4096, 5000))
        self.extent = extent * self.etype.extent
        for part in view.get("per_rank", ()):
            part["disp"] = self.disp + part.pop("first") * self.etype.extent
            part["filetype"] = {"type": "resized", "lb": 0, "oldtype": part["filetype"],
                                "extent": part.pop("extent") * self.etype.extent}
        self.json = {"viewspec": 1, "file": file, "ranks": self.ranks,
                     "view": {"disp": self.disp, "etype": self.etype.spec, "datarep": self.datarep, **view}}
        self.places, self.ends = zip(*(self.lay(mine) for mine in owned))
        self.hole = numpy.ones(LIMIT, dtype=bool)
        for places in self.places:
            self.hole[places] = False

    def text(self):
        return json.dumps(self.json)

    def element(self):
        """Where the bytes of an etype lie, in the order of the slice."""
        swapped = self.datarep != "native"
        bytes_of = []
        for size, at in self.etype.values:
            mine = list(range(at, at + size))
            bytes_of += reversed(mine) if swapped else mine
        return numpy.array(bytes_of, dtype=numpy.int64)

    def lay(self, mine):
        """(where each byte of a slice lies, where each of its etypes ends), up to LIMIT."""
        starts = numpy.array(mine, dtype=numpy.int64) * self.etype.extent
        tiles = numpy.arange(0, LIMIT, self.extent, dtype=numpy.int64)
        starts = (self.disp + tiles[:, None] + starts[None, :]).ravel()
        ends = starts + self.etype.end
        count = int(numpy.searchsorted(ends, LIMIT, side="right"))
        places = (starts[:count, None] + self.element()[None, :]).ravel()
        return places, ends[:count]

    def size_of(self, rank, size):
        """Of a slice, while the file has size bytes."""
        return int(numpy.searchsorted(self.ends[rank], size, side="right")) * self.etype.size

    def needed(self, rank, size):
        """How long the file must be for a slice to have size bytes."""
        if size == 0:
            return 0
        return int(self.ends[rank][(size - 1) // self.etype.size])
