# SPDX-License-Identifier: MIT
"""The positions of slices in a file, by index arithmetic alone, for all models in Python. Loads
numpy only when needed."""
import itertools

# name: NumPy's type in memory, and in external32 if its size differs. "V" types have no order.
BASICS = {
    "packed": "u1", "byte": "u1", "char": "S1", "unsigned_char": "u1", "signed_char": "i1",
    "wchar": ("u4", "u2"), "short": "i2", "unsigned_short": "u2", "int": "i4", "unsigned": "u4",
    "long": ("i8", "i4"), "unsigned_long": ("u8", "u4"), "long_long_int": "i8",
    "unsigned_long_long": "u8", "float": "f4", "double": "f8", "long_double": "f16",
    "c_bool": "b1", "int8_t": "i1", "int16_t": "i2", "int32_t": "i4", "int64_t": "i8",
    "uint8_t": "u1", "uint16_t": "u2", "uint32_t": "u4", "uint64_t": "u8", "aint": "i8",
    "count": "i8", "offset": "i8", "c_complex": "c8", "c_double_complex": "c16",
    "c_long_double_complex": "c32", "character": "S1", "logical": "i4", "integer": "i4",
    "real": "f4", "double_precision": "f8", "complex": "c8", "double_complex": "c16",
    "integer1": "i1", "integer2": "i2", "integer4": "i4", "integer8": "i8", "integer16": "V16",
    "real2": "f2", "real4": "f4", "real8": "f8", "real16": "V16", "complex4": "V4",
    "complex8": "c8", "complex16": "c16", "complex32": "V32", "cxx_bool": "b1",
    "cxx_float_complex": "c8", "cxx_double_complex": "c16", "cxx_long_double_complex": "c32",
}


def numpy_types(name):
    """Returns the NumPy types of a basic type: in memory, and in external32."""
    kinds = BASICS[name]
    return kinds if isinstance(kinds, tuple) else (kinds, kinds)


class Runs:
    """A slice that consists of runs. A run has run bytes, a multiple of etype. The first begins at
    disp, and the others follow at every step bytes. The slice has whole etypes only."""

    def __init__(self, disp, run, step, etype=1):
        self.disp, self.run, self.step, self.etype = disp, run, step, etype

    def place(self, at):
        """Returns the displacement of a byte of the slice."""
        return self.disp + at // self.run * self.step + at % self.run

    def places(self, start, end):
        """Returns the displacements of the slice's bytes from start to end."""
        return [self.place(at) for at in range(start, end)]

    def size(self, file_size):
        """Returns the slice's size while the file has that many bytes."""
        tiles, rest = divmod(max(file_size - self.disp, 0), self.step)
        return tiles * self.run + min(rest, self.run) // self.etype * self.etype

    def needed(self, end):
        """Returns the size that the file must have for this slice to have end bytes."""
        return self.place((end - 1) // self.etype * self.etype) + self.etype if end else 0


def dealt(data, ranks, block):
    """Returns the slices of a file whose blocks are distributed round-robin over the ranks."""
    blocks = [data[at:at + block] for at in range(0, len(data), block)]
    return [b"".join(blocks[rank::ranks]) for rank in range(ranks)]


def merged(parts, block):
    """Returns the file whose blocks were distributed round-robin over these slices."""
    return b"".join(part[at:at + block] for at in range(0, len(parts[0]), block) for part in parts)


def dealt_indices(size, parts, block):
    """Returns the indices of each part, if blocks of them are distributed round-robin."""
    import numpy
    owner = numpy.arange(size) // block % parts
    return [numpy.flatnonzero(owner == part) for part in range(parts)]


class Darray:
    """An array of these sizes that is distributed over a grid of ranks.

    filetype: its JSON, without oldtype; owned: for each rank, its indices in each dimension.
    """

    def __init__(self, rng, sizes, grid, order):
        distribs, dargs, dealt = zip(*(distribute(rng, *part) for part in zip(sizes, grid)))
        self.sizes, self.order = sizes, order
        self.filetype = {"type": "darray", "gsizes": sizes, "psizes": grid, "order": order,
                         "distribs": list(distribs), "dargs": list(dargs)}
        self.owned = [list(indices) for indices in itertools.product(*dealt)]

    def numbers(self, rank):
        """Returns the numbers of a rank's elements in the file, in the slice's order."""
        import numpy
        numbers = numpy.arange(numpy.prod(self.sizes, dtype=int))
        numbers = numbers.reshape(self.sizes, order=self.order[0])
        return numpy.sort(numbers[numpy.ix_(*self.owned[rank])].ravel())


def distribute(rng, size, parts):
    """Chooses the distribution of a dimension at random. Returns its name, its argument, and the
    indices of each part."""
    kind = rng.choice(["block", "block", "cyclic"] + ["none"] * (parts == 1))
    least, given = -(-size // parts), rng.random() < 0.4
    block = {"block": least + rng.randint(0, 2) * given, "none": size,
             "cyclic": rng.choice((1, 2, 3, 5)) if given else 1}[kind]
    argument = block if given and kind != "none" else None
    return kind, argument, [part.tolist() for part in dealt_indices(size, parts, block)]
