# SPDX-License-Identifier: MIT
"""Random views, and the arrays that their ranks own: by NumPy and index arithmetic alone."""
from typing import NamedTuple

import numpy as np

from slices import BASICS, Darray, dealt_indices, numpy_types

PARTS = {name: 2 if "complex" in name else 1 for name in BASICS}
# Conversion of these is tested elsewhere (tests/bats/datarep.bats); NumPy does not have binary128.
NOT_EXTERNAL = [name for name, kind in BASICS.items() if kind in ("f16", "c32")]


class Basic:
    """A basic type in a data representation."""

    def __init__(self, name, datarep):
        memory, external = numpy_types(name)
        self.name, self.datarep, self.parts = name, datarep, PARTS[name]
        big = datarep in ("big-endian", "external32")
        order = ">" if big else "<"
        self.memory = np.dtype(memory)
        self.file = np.dtype(external if datarep == "external32" else memory)
        self.file = self.file.newbyteorder(order)
        # The type of the arrays: the file's own, but for representations that are converted.
        self.shown = self.memory if datarep == "external32" else self.file
        self.size = self.file.itemsize
        self.align = 1 if datarep == "external32" else min(16, self.memory.itemsize // self.parts)

    def values(self, raw):
        """Returns values from their bytes in the file, whose axis is the last."""
        raw = np.ascontiguousarray(raw)
        if self.datarep != "external32":
            return raw.view(self.file)[..., 0]
        if self.memory.kind == "V":
            halves = raw.reshape(*raw.shape[:-1], self.parts, -1)[..., ::-1]
            return np.ascontiguousarray(halves.reshape(raw.shape)).view(self.memory)[..., 0]
        if self.memory.itemsize != self.size:
            return raw.view(self.file)[..., 0].astype(self.memory)
        return native(raw.view(self.file)[..., 0])


def native(array):
    """Returns the array in this machine's byte order, with the same bits."""
    if array.dtype.kind in "VSb" or array.dtype.isnative:
        return array
    return array.byteswap().newbyteorder()


class Field(NamedTuple):
    name: str
    basic: Basic
    offsets: np.ndarray  # of its values in an element, in bytes


class View:
    """A view. json is its text in a spec; the array has the axes of the spec's dimensions."""

    def __init__(self, rng, ranks, only=None, datarep=None):
        """only: the basic type of an etype that has no other."""
        self.rng, self.ranks, self.only = rng, ranks, only
        self.datarep = datarep or rng.choice(["native", "native", "little-endian", "big-endian",
                                              "external32"])
        self.json = {}
        if self.datarep != "native" or rng.random() < 0.2:
            self.json["datarep"] = self.datarep
        self.choose_etype()
        self.choose_array()
        self.choose_labels()

    # The etype.

    def basic(self, other=None, small=False):
        if self.only:
            return Basic(self.only, self.datarep)
        names = [name for name in BASICS if name != other and
                 (self.datarep != "external32" or name not in NOT_EXTERNAL) and
                 (not small or np.dtype(Basic(name, "native").memory).itemsize <= 8)]
        return Basic(self.rng.choice(names), self.datarep)

    def struct(self, depth):
        """Returns the JSON of a struct, its fields, its extent and its alignment."""
        rng, parts, at, align, last = self.rng, [], 0, 1, None
        count = rng.randint(2, 4)
        for number in range(count):
            if depth and number == count - 2:
                json, fields, extent, own = self.struct(depth - 1)
                last = None
            else:
                basic = self.basic(last, small=True)
                json, fields = basic.name, [Field("", basic, np.zeros(1, int))]
                extent, own, last = basic.size, basic.align, basic.name
            if number:
                at += rng.choice([0, 0, 1, 4, 8])
            parts.append((at, length := rng.choice([1, 1, 2, 3]), json, fields, extent))
            at += length * extent
            align = max(align, own)
        fields = [Field(f"f{i}" + (f"_{field.name}" if field.name else ""), field.basic,
                        (at + np.arange(length)[:, None] * extent + field.offsets).ravel())
                  for i, (at, length, _, inner, extent) in enumerate(parts) for field in inner]
        json = {"type": "struct", "displacements": [part[0] for part in parts],
                "blocklengths": [part[1] for part in parts], "types": [part[2] for part in parts]}
        end = max(field.offsets.max() + field.basic.size for field in fields)
        end = max(end, max(at + length * extent for at, length, _, _, extent in parts))
        return json, fields, int(-(-end // align) * align), align

    def choose_etype(self):
        rng = self.rng
        kind = rng.choice(["basic"] * 5 + ["contiguous", "struct", "struct", "nested"])
        if self.only:
            kind = "basic"
        if kind in ("struct", "nested"):
            json, self.fields, self.extent, _ = self.struct(kind == "nested")
        else:
            basic = self.basic()
            json, count = basic.name, 1
            if kind == "contiguous":
                count = rng.randint(2, 4)
                json = {"type": "contiguous", "count": count, "oldtype": json}
            self.fields = [Field("", basic, np.arange(count) * basic.size)]
            self.extent = count * basic.size
        if rng.random() < 0.2:
            self.extent += rng.randint(1, 9)
            json = {"type": "resized", "lb": 0, "extent": self.extent, "oldtype": json}
        self.etype = json
        if json != "byte" or rng.random() < 0.5:
            self.json["etype"] = json

    # The array.

    def choose_array(self):
        rng = self.rng
        kinds = ["darray"] * 4 + ["subarray"] * 3 + ["hpf_block", "hpf_cyclic", "scatter", "common"]
        self.kind = rng.choice(kinds)
        self.fortran, self.old = False, 1
        getattr(self, "choose_" + self.kind.partition("_")[0])()
        if self.old > 1:
            self.fields = [Field(field.name, field.basic, (np.arange(self.old)[:, None] *
                                                           self.extent + field.offsets).ravel())
                           for field in self.fields]
            self.extent *= self.old
        self.tile = self.extent * int(np.prod(self.sizes, dtype=int))
        if self.kind in ("darray", "subarray") and rng.random() < 0.3:
            self.wrap(self.extent // self.old * rng.randint(1, 3))

    def oldtype(self, filetype):
        """Sometimes makes an element of several etypes."""
        if self.rng.random() < 0.15:
            self.old = self.rng.randint(2, 3)
            filetype["oldtype"] = {"type": "contiguous", "count": self.old}
        elif self.rng.random() < 0.15:
            filetype["oldtype"] = self.etype
        return filetype

    def wrap(self, more):
        """Puts a gap behind each tile, as between the records of a Fortran file."""
        self.tile += more
        entries = self.json.get("per_rank", [self.json])
        for entry in entries:
            entry["filetype"] = {"type": "resized", "lb": 0, "extent": self.tile,
                                 "oldtype": entry["filetype"]}

    def order(self):
        self.fortran = self.rng.random() < 0.4
        return "Fortran" if self.fortran else "C"

    def choose_darray(self):
        rng = self.rng
        n = rng.randint(1, 4)
        psizes, rest = [1] * n, self.ranks
        for prime in (2, 3, 5, 7):
            while rest % prime == 0:
                psizes[rng.randrange(n)] *= prime
                rest //= prime
        self.sizes = [rng.randint(1, 4) * (p if rng.random() < 0.5 else 1) +
                      rng.randint(0, p) for p in psizes]
        darray = Darray(rng, self.sizes, psizes, self.order())
        self.json["filetype"], self.owned = self.oldtype(darray.filetype), darray.owned

    def choose_subarray(self):
        rng, ranks = self.rng, self.ranks
        n, order = rng.randint(1, 4), self.order()
        d, block = rng.randrange(n), rng.randint(1, 3)
        self.sizes = [rng.randint(1, 4) for _ in range(n)]
        even = rng.random() < 0.5
        if even:
            self.sizes[d] = block * ranks
            cuts = [block * rank for rank in range(ranks + 1)]
        else:
            self.sizes[d] = rng.randint(ranks, 3 * ranks)
            cuts = sorted([0, self.sizes[d]] + [rng.randint(0, self.sizes[d])
                                                for _ in range(ranks - 1)])
        self.owned = []
        entries, old = [], self.oldtype({})
        for rank in range(ranks):
            start, end = cuts[rank], cuts[rank + 1]
            self.owned.append([range(start, end) if i == d else range(size)
                               for i, size in enumerate(self.sizes)])
            starts, subsizes = [0] * n, list(self.sizes)
            starts[d] = f"rank * {block}" if even else min(start, self.sizes[d] - 1)
            subsizes[d] = block if even else end - start
            entries.append({"filetype": {"type": "subarray", "sizes": self.sizes, "starts": starts,
                                         "subsizes": subsizes, "order": order, **old}})
        if even:
            self.json |= entries[0]
        else:
            self.json["per_rank"] = entries

    def choose_hpf(self):
        rng, ranks = self.rng, self.ranks
        size, length = rng.randint(1, 5 * ranks), rng.randint(1, 3)
        filetype = {"type": self.kind, "size": size}
        if self.kind == "hpf_block":
            length = -(-size // ranks)
        elif length > 1:
            filetype["blocklength"] = length
        self.sizes, self.json["filetype"] = [size], self.oldtype(filetype)
        self.owned = [[part.tolist()] for part in dealt_indices(size, ranks, length)]

    def choose_scatter(self):
        self.block, self.sizes = self.rng.randint(1, 3), []
        filetype = self.json["filetype"] = {"type": "scatter"}
        if self.block > 1:
            filetype["blocklength"] = self.block
        self.owned = None

    def choose_common(self):
        """Makes a view that is the same for all ranks."""
        rng = self.rng
        self.sizes, kind = [], rng.choice(["broadcast", "contiguous", "none"])
        if kind == "contiguous":
            self.sizes = [rng.randint(2, 9)]
            self.json["filetype"] = {"type": "contiguous", "count": self.sizes[0]}
        elif kind == "broadcast" or self.ranks > 1:
            self.json["filetype"] = {"type": "broadcast"}
        self.owned = [[range(size) for size in self.sizes]] * self.ranks

    # Labels.

    def choose_labels(self):
        rng, n = self.rng, len(self.sizes)
        self.data = max(int(field.offsets.max()) + field.basic.size for field in self.fields)
        self.data += self.extent * (int(np.prod(self.sizes, dtype=int)) - 1)  # of a tile
        self.wanted = rng.randint(1, 4) * (10 if n == 0 else 1)  # records
        self.tiles = self.wanted if rng.random() < 0.4 else None  # in records
        if self.tiles and self.kind == "scatter":
            self.json["tiles"] = rng.randint(1, 3)
            self.tiles = self.wanted = self.json["tiles"] * self.block * self.ranks
        elif self.tiles:
            self.json["tiles"] = self.tiles
        self.values = len(self.fields[0].offsets) if len(self.fields) == 1 else 1
        self.dims = None
        if rng.random() < 0.3:
            more = rng.random() < 0.5
            self.dims = n + (1 if more or n == 0 else 0) + (self.values > 1 and (more or n == 0))
        self.grid = None
        if 0 < n <= 3 and rng.random() < 0.3:
            self.grid = [[round(rng.uniform(-9, 9), 2) for _ in range(n)],
                         [round(rng.uniform(0.1, 4), 2) for _ in range(n)]]
            self.json["grid"] = dict(zip(("origin", "spacing"), self.grid))

    def place(self, name, file):
        """Gives the view its name and its place in the file."""
        self.spec_name = name
        size, rng = len(file), self.rng
        slack = rng.randrange(self.tile) if not self.tiles else rng.randrange(size // 4)
        self.disp = max(0, size - (self.wanted - 1) * self.tile - self.data - slack)
        if self.disp or rng.random() < 0.5:
            self.json["disp"] = self.disp
        self.records = (size - self.disp - self.data) // self.tile + 1
        if self.tiles:
            self.records = min(self.records, self.tiles)
        n = len(self.sizes)
        self.has_records = n == 0 or self.records > 1 or (self.dims or 0) > n
        self.name = name
        if rng.random() < 0.5:
            self.name = self.json["name"] = f"array_{name}"
        self.dim_names(name)

    def dim_names(self, name):
        n, values = len(self.sizes), self.values > 1
        sizes = [f"{name}_dim_{i}" for i in range(n)]
        record, value = f"{name}_record", f"{name}_value"
        if self.dims:
            sizes = [f"{name}_{chr(97 + i)}" for i in range(n)]
            if self.dims > n:
                record, value = f"{name}_time", f"{name}_part" if values else value
            own = [record] * (self.dims > n)
            last = [value] * (values and self.dims > n)
            names = last + sizes + own if self.fortran else own + sizes + last
            self.json["dims"] = names
        self.dim, self.record_dim, self.value_dim = sizes, record, value

    def of_field(self, field, dims):
        """Returns the dimensions of a field: the names, or what stands for them in dims."""
        record, sizes, value = dims
        first, last = [record] * self.has_records, [value] * (len(field.offsets) > 1)
        return last + sizes + first if self.fortran else first + sizes + last

    def names_of(self, field):
        value = self.value_dim if not field.name else f"{field.name}_value"
        return self.of_field(field, (self.record_dim, self.dim, value))

    # The array.

    def array(self, field, file):
        """Returns the field's values of all ranks, from the bytes of the file."""
        shape = self.of_field(field, (self.records, self.sizes, len(field.offsets)))
        n = len(self.sizes)
        linear = np.arange(int(np.prod(self.sizes, dtype=int)))
        linear = linear.reshape(self.sizes, order="F" if self.fortran else "C") * self.extent
        at = (self.disp + np.arange(self.records).reshape(-1, *[1] * (n + 1)) * self.tile +
              linear[None, ..., None] + field.offsets)
        raw = file[at[..., None] + np.arange(field.basic.size)]
        values = field.basic.values(raw)
        if self.fortran:
            values = np.moveaxis(np.moveaxis(values, 0, -1), -2, 0)
        return values.reshape(shape)

    def part(self, array, rank):
        """Returns the rank's part of a field's array."""
        if self.kind == "scatter":
            return array[dealt_indices(self.records, self.ranks, self.block)[rank]]
        skip = array.ndim - len(self.sizes) - self.has_records
        owned = [list(indices) for indices in self.owned[rank]]
        for d, indices in enumerate(owned):
            axis = d + (skip if self.fortran else self.has_records)
            array = np.take(array, indices, axis)
        return array

    def boxes(self):
        """Returns the start and the number of elements of each rank's box, or None."""
        boxes = []
        for owned in self.owned or ():
            owned = [list(indices) for indices in owned]
            if not all(owned):
                boxes.append(None)
                continue
            if any(part != list(range(part[0], part[-1] + 1)) for part in owned):
                return None
            boxes.append([(part[0], len(part)) for part in owned])
        return boxes


def spec_of(views, ranks, rng, size, path):
    """Places the views. Returns their spec, of a file of random bytes, and the bytes."""
    file = np.frombuffer(rng.randbytes(size), np.uint8)
    for number, view in enumerate(views):
        view.place(f"v{number}", file)
    json = {"viewspec": 1, "file": path, "ranks": ranks,
            "views": {view.spec_name: view.json for view in views}}
    return json, file


def random_views(rng, ranks, count, size):
    """Returns views that fit a file of size bytes."""
    views = []
    while len(views) < count:
        view = View(rng, ranks)
        if view.wanted * view.tile <= size // 2:
            views.append(view)
    return views


def views_of_basics(rng, ranks):
    """Returns a view for each basic type in each byte order, and in external32."""
    return [View(rng, ranks, name, datarep) for name in BASICS
            for datarep in ("little-endian", "big-endian", "external32")
            if datarep != "external32" or name not in NOT_EXTERNAL]
