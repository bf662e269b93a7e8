# SPDX-License-Identifier: MIT
"""Random views of arrays, their files, and the slices that NumPy finds in them by index arithmetic
of its own."""
import json
import warnings

import numpy as np

from slices import BASICS, Darray, numpy_types

# The basic types that NumPy has, too, and their types there.
BASIC = {name: numpy_types(name)[0] for name in BASICS if not numpy_types(name)[0].startswith("V")}


class Case:
    """A file of one array, or of several records of one, and the spec by which ranks share it.

    array: all records in native byte order. Its dimensions are those of the spec, then that of the
    records: the first one in C order, the last one in Fortran order, none if there is one record.
    """

    def __init__(self, random):
        self.random = random
        n = random.randint(1, 4)
        self.order = random.choice("CF")
        self.sizes = [random.randint(1, 7) for _ in range(n)]
        self.records = random.choice((1, 1, 2, 3))
        self.header = random.randint(0, 40)
        self.etype, self.layout = self.make_etype()
        self.datarep, self.swapped = random.choice(
            (("native", False), ("little-endian", False), ("big-endian", True)))
        if "g" in self.layout.char.lower():
            self.datarep, self.swapped = "native", False
        make = random.choice((self.make_darray, self.make_subarray))
        filetype, self.ranks, self.owned = make()
        self.spec = {"viewspec": 1, "file": "a.dat", "ranks": self.ranks,
                     "view": {"disp": self.header, "etype": self.etype, "filetype": filetype,
                              "datarep": self.datarep}}
        self.make_array()

    def make_etype(self):
        name = self.random.choice(sorted(BASIC))
        return name, np.dtype(BASIC[name])

    def make_darray(self):
        order = {"C": "C", "F": "Fortran"}[self.order]
        grid = [self.random.randint(1, 3) for _ in self.sizes]
        darray = Darray(self.random, self.sizes, grid, order)
        return darray.filetype, len(darray.owned), darray.owned

    def make_subarray(self):
        """Gives each rank an equal part of one dimension, and the same part of the others."""
        ranks, axis = self.random.randint(1, 3), self.random.randrange(len(self.sizes))
        part = self.random.randint(1, 3)
        self.sizes[axis] = ranks * part + self.random.randint(0, 2)
        starts, subsizes = [], []
        for size in self.sizes:
            starts.append(self.random.randrange(size))
            subsizes.append(self.random.randint(1, size - starts[-1]))
        owned = [tuple(list(range(rank * part, rank * part + part)) if d == axis else
                       list(range(starts[d], starts[d] + subsizes[d]))
                       for d in range(len(self.sizes))) for rank in range(ranks)]
        starts[axis], subsizes[axis] = f"rank * {part}", part
        order = {"C": "C", "F": "Fortran"}[self.order]
        return {"type": "subarray", "sizes": self.sizes, "subsizes": subsizes, "starts": starts,
                "order": order}, ranks, owned

    def values(self, shape):
        """Returns random values of the file's type, without NaNs."""
        generator = np.random.default_rng(self.random.getrandbits(32))
        if self.layout.names:
            array = np.zeros(shape, self.layout)
            for name in self.layout.names:
                array[name] = generator.integers(0, 100, array[name].shape)
            return array
        if self.layout.kind in "biuS":
            high = 2 if self.layout.kind == "b" else 256
            size = int(np.prod(shape)) * self.layout.itemsize
            return np.frombuffer(generator.integers(0, high, size, "u1").tobytes(),
                                 self.layout).reshape(shape).copy()
        array = generator.normal(size=shape)
        if self.layout.kind == "c":
            array = array + 1j * generator.normal(size=shape)
        return np.asarray(array, self.layout)

    def make_array(self):
        shape = list(self.sizes)
        if self.records > 1:
            shape = [self.records, *shape] if self.order == "C" else [*shape, self.records]
        self.array = np.asarray(self.values(tuple(shape)), order=self.order)
        self.before = self.random.randbytes(self.header)
        with open("a.dat", "wb") as file:
            file.write(self.bytes_of(self.array))
        with open("a.json", "w", encoding="utf-8") as file:
            json.dump(self.spec, file)

    def bytes_of(self, array):
        """Returns the file's bytes if it holds this array."""
        native = self.layout
        layout = native.newbyteorder() if self.swapped else native
        return self.before + array.astype(layout).tobytes(self.order)

    def indices(self, rank):
        """Returns an index of array that selects a rank's slice."""
        owned = self.owned[rank]
        every = [] if self.records == 1 else [range(self.records)]
        return np.ix_(*(every + list(owned) if self.order == "C" else list(owned) + every))


class Struct(Case):
    """The same with an etype of several basic types, with gaps between them."""

    def make_etype(self):
        names, formats, offsets, at = [], [], [], 0
        etype = {"type": "struct", "blocklengths": [], "displacements": [], "types": []}
        kinds = [name for name, code in BASIC.items()
                 if np.dtype(code).kind in "iuf" and code != "f16"]
        for number in range(self.random.randint(2, 4)):
            # Equal neighbours would be one field.
            name = self.random.choice([kind for kind in kinds if kind not in etype["types"][-1:]])
            count = self.random.choice((1, 1, 2, 3))
            at += self.random.choice((0, 0, 3))
            dtype = np.dtype(BASIC[name])
            etype["blocklengths"].append(count)
            etype["displacements"].append(at)
            etype["types"].append(name)
            names.append(f"f{number}")
            formats.append((dtype, (count,)) if count > 1 else dtype)
            offsets.append(at)
            at += dtype.itemsize * count
        at += self.random.choice((0, 5))
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at})
        return {"type": "resized", "lb": 0, "extent": at, "oldtype": etype}, dtype


def random_key(random, shape):
    """Returns a random index of an array of this shape."""
    key = []
    for size in shape[:random.randint(0, len(shape))]:
        kind = random.random()
        if kind < 0.4:
            limits = [None, *range(-size - 1, size + 2)]
            key.append(slice(random.choice(limits), random.choice(limits),
                             random.choice((None, None, 1, 2, 3, -1, -2))))
        elif kind < 0.65:
            key.append(random.randint(-size, size - 1) if size else slice(None))
        elif kind < 0.75:
            key.append([random.random() < 0.5 for _ in range(size)])
        elif kind < 0.9 and size:
            key.append([random.randint(-size, size - 1) for _ in range(random.choice((1, 3)))])
        elif kind < 0.95:
            key.append(None)
            key.append(slice(None))
        else:
            key.append(slice(None))
    lists = [entry for entry in key if isinstance(entry, list)]
    for entry in lists if len(lists) > 1 else ():
        if entry and isinstance(entry[0], bool) and not any(entry):
            entry[0] = True  # NumPy checks no positions beside an empty list; mpiio does
    if random.random() < 0.3:
        key.insert(random.randint(0, len(key)), Ellipsis)
    return tuple(key)


def outcome(work):
    """Returns what work returns, or the type of NumPy's error of a wrong index."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return work()
    except DeprecationWarning:  # NumPy 1 only warns if the result is empty
        return IndexError
    except (IndexError, ValueError) as error:
        return type(error)


def same(a, b):
    """Returns whether two results are the same, to the byte."""
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.names:
        return a.shape == b.shape and all(same(a[name], b[name]) for name in a.dtype.names)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
