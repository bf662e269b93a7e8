# SPDX-License-Identifier: MIT
"""Writes sets of netCDF files as the processes of models do, and compares the whole variables.

    sets.py random SEED COUNT    makes and compares COUNT sets in the working folder
    sets.py write MODEL NAME     writes a set: temp, 3 x 8 x 6 floats 0, 1, ..., in 2 x 2 tiles

Runs mpiio-view from the PATH. Prints the number of slices that were compared.
"""
import itertools
import os
import random
import sys

import netCDF4
import numpy

import files

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]


class Axis:
    """A decomposed dimension: the first point, the length and the halo of each part."""

    def __init__(self, whole, parts, halos=None):
        self.whole, self.parts = whole, parts
        self.halos = halos or [(0, 0)] * len(parts)


def parts_of(lengths):
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return list(zip(starts, lengths))


class Model:
    """A convention: names of dimensions (y, x, staggered y, staggered x) and files, attributes."""

    dimensions = ("y", "x", "ys", "xs")

    def __init__(self, dice, lengths):
        self.dice, self.lengths = dice, lengths
        self.axes = dict(zip(self.dimensions, (self.plain(lengths[0]), self.plain(lengths[1]),
                                               self.staggered(lengths[0]),
                                               self.staggered(lengths[1]))))

    def plain(self, lengths):
        return Axis(sum(lengths), parts_of(lengths))

    staggered = plain

    def kept(self, name, number):
        """Returns the points of a part that count: the first one and their number."""
        return self.axes[name].parts[number]

    def coordinate(self, data, name, number):
        """Sets attributes of a dimension's variable, for models that have them."""


class Fms(Model):
    dimensions = ("yh", "xh", "yq", "xq")

    def staggered(self, lengths):  # symmetric memory: the first tile has one more point
        return Axis(sum(lengths) + 1, parts_of([lengths[0] + 1, *lengths[1:]]))

    def file(self, name, number):
        return f"{name}.nc.{number:04}", f"{name}.nc"

    def attributes(self, data, j, i):
        data.NumFilesInSet = numpy.int32(len(self.lengths[0]) * len(self.lengths[1]))

    def coordinate(self, data, name, number):
        start, count = self.axes[name].parts[number]
        variable = data.createVariable(name, "f8", (name,))
        variable.domain_decomposition = numpy.array(
            [1, self.axes[name].whole, start + 1, start + count], "i4")
        variable[:] = numpy.arange(start, start + count) * 0.5


class Nemo(Model):
    dimensions = ("y", "x", "y", "x")

    def plain(self, lengths):
        halo = self.dice.randint(0, 1)
        halos = [(halo if i else 0, halo if i < len(lengths) - 1 else 0)
                 for i in range(len(lengths))]
        return Axis(sum(lengths), parts_of(lengths), halos)

    staggered = plain

    def __init__(self, dice, lengths):
        super().__init__(dice, lengths)
        self.axes = {"y": self.axes["y"], "x": self.axes["x"]}

    def file(self, name, number):
        return f"{name}_{number:04}.nc", self.dice.choice([name, f"{name}.nc"])

    def attributes(self, data, j, i):
        def pair(value):
            return numpy.array([value("x", i), value("y", j)], "i4")
        data.DOMAIN_dimensions_ids = numpy.array([1, 2], "i4")
        data.DOMAIN_size_global = pair(lambda name, at: self.axes[name].whole)
        data.DOMAIN_position_first = pair(lambda name, at: self.axes[name].parts[at][0] + 1 -
                                          self.axes[name].halos[at][0])
        data.DOMAIN_halo_size_start = pair(lambda name, at: self.axes[name].halos[at][0])
        data.DOMAIN_halo_size_end = pair(lambda name, at: self.axes[name].halos[at][1])


class Mitgcm(Model):
    dimensions = ("Y", "X", "Yp1", "Xp1")

    def __init__(self, dice, lengths):
        # All tiles are equal.
        super().__init__(dice, [[max(part) for k in part] for part in lengths])
        self.exch2 = dice.random() < 0.5

    def staggered(self, lengths):  # one more point, which is also in the next tile
        return Axis(sum(lengths) + 1, [(start, count + 1) for start, count in parts_of(lengths)])

    def kept(self, name, number):
        start, count = self.axes[name].parts[number]
        last = number == len(self.axes[name].parts) - 1
        return start, count - (name.endswith("p1") and not last)

    def file(self, name, number):
        return f"{name}.0000000000.t{number + 1:03}.nc", f"{name}.0000000000"

    def attributes(self, data, j, i):
        data.tile_number = numpy.int32(j * len(self.lengths[1]) + i + 1)
        data.sNx, data.sNy = numpy.int32(self.lengths[1][0]), numpy.int32(self.lengths[0][0])
        data.Nx, data.Ny = numpy.int32(sum(self.lengths[1])), numpy.int32(sum(self.lengths[0]))
        if self.exch2:
            data.exch2_txGlobalo = numpy.int32(self.axes["X"].parts[i][0] + 1)
            data.exch2_tyGlobalo = numpy.int32(self.axes["Y"].parts[j][0] + 1)


class Roms(Model):
    dimensions = ("eta_rho", "xi_rho", "eta_v", "xi_u")

    def staggered(self, lengths):  # the first tile has one point less
        return Axis(sum(lengths) - 1, parts_of([lengths[0] - 1, *lengths[1:]]))

    def file(self, name, number):
        return f"{name}.{number:02}.nc", f"{name}.nc"

    def attributes(self, data, j, i):
        data.partition = numpy.array([i, j, len(self.lengths[1]), len(self.lengths[0])], "i4")


class Wrf(Model):
    dimensions = ("south_north", "west_east", "south_north_stag", "west_east_stag")

    def staggered(self, lengths):  # the last tile has one more point
        return Axis(sum(lengths) + 1, parts_of([*lengths[:-1], lengths[-1] + 1]))

    def file(self, name, number):
        return f"{name}_2000-01-24_12:00:00_{number:04}", f"{name}_2000-01-24_12:00:00"

    def attributes(self, data, j, i):
        for word, name, at in ("WEST-EAST", "west_east", i), ("SOUTH-NORTH", "south_north", j):
            data.setncattr(f"{word}_GRID_DIMENSION", numpy.int32(self.axes[name].whole + 1))
            for suffix, kind in ("_stag", "STAG"), ("", "UNSTAG"):
                data.setncattr(f"{word}_PATCH_START_{kind}",
                               numpy.int32(self.axes[name + suffix].parts[at][0] + 1))


MODELS = {"fms": Fms, "nemo": Nemo, "mitgcm": Mitgcm, "roms": Roms, "wrf": Wrf}


class Set:
    """The variables of the whole, and the tiles that are cut from them."""

    def __init__(self, dice, model, name, records, kind):
        self.dice, self.model, self.name, self.records, self.kind = dice, model, name, records, kind
        self.variables, self.tiles = {}, {}
        self.grid = list(itertools.product(*(range(len(part)) for part in model.lengths)))

    def add(self, name, dtype, dimensions, fill=None, values=None):
        sizes = [{"time": self.records, "z": 2}.get(d) or self.model.axes[d].whole
                 for d in dimensions]
        array = files.fill(self.dice, numpy.dtype(dtype), sizes) if values is None else values
        self.variables[name] = (dimensions, array, fill)

    def along(self, name, j, i):
        """Returns the number of the tile along a dimension, or None if that is not decomposed."""
        if name not in self.model.axes:
            return None
        return (j, i, j, i)[self.model.dimensions.index(name)]

    def write_tile(self, path, j, i):
        axes = self.model.axes
        with netCDF4.Dataset(path, "w", format=self.kind) as data:
            self.model.attributes(data, j, i)
            for name in reversed(list(axes)):  # x comes first
                before, behind = axes[name].halos[self.along(name, j, i)]
                count = axes[name].parts[self.along(name, j, i)][1]
                data.createDimension(name, before + count + behind)
            data.createDimension("z", 2)
            data.createDimension("time", None)
            for name in axes:
                self.model.coordinate(data, name, self.along(name, j, i))
            for name, (dimensions, array, fill) in self.variables.items():
                variable = data.createVariable(name, array.dtype, dimensions, fill_value=fill)
                own = numpy.full([len(data.dimensions[d]) if d != "time" else self.records
                                  for d in dimensions], array.dtype.type(99 if array.dtype.kind != "S" else b"h"))
                source, target = [], []
                for d in dimensions:
                    at = self.along(d, j, i)
                    start, count = axes[d].parts[at] if at is not None else (None, None)
                    before = axes[d].halos[at][0] if at is not None else 0
                    source.append(slice(start, start + count) if at is not None else slice(None))
                    target.append(slice(before, before + count) if at is not None else slice(None))
                own[tuple(target)] = array[tuple(source)]
                variable[...] = own if dimensions else own[()]

    def write(self):
        for number, (j, i) in enumerate(self.grid):
            path, self.base = self.model.file(self.name, number)
            self.write_tile(path, j, i)
            self.tiles[j, i] = path

    def expected(self, name):
        """Returns the whole variable: the values of existing tiles, and fill values elsewhere."""
        dimensions, array, fill = self.variables[name]
        if fill is None:
            fill = netCDF4.default_fillvals[array.dtype.str[1:]]
        whole = numpy.full(array.shape, fill, array.dtype)
        decomposed = any(d in self.model.axes for d in dimensions)
        for j, i in self.tiles:
            at = []
            for d in dimensions:
                number = self.along(d, j, i)
                start, count = self.model.kept(d, number) if number is not None else (None, None)
                at.append(slice(start, start + count) if number is not None else slice(None))
            whole[tuple(at)] = array[tuple(at)]
        return whole if decomposed else array


def lengths_of(dice):
    return [[dice.randint(2, 4) for k in range(dice.randint(1, 3))] for axis in range(2)]


def random_set(dice, number):
    model = dice.choice(list(MODELS.values()))
    lengths = lengths_of(dice)
    while len(lengths[0]) * len(lengths[1]) == 1:
        lengths = lengths_of(dice)
    made = Set(dice, model(dice, lengths), f"s{number}", dice.randint(1, 3), dice.choice(FORMATS))
    types = ["i1", "i2", "i4", "f4", "f8", "S1"]
    if made.kind == FORMATS[2]:
        types += ["u1", "u2", "u4", "i8", "u8"]
    y, x, ys, xs = made.model.dimensions
    for k in range(dice.randint(1, 5)):
        dimensions = dice.choice([(y, x), (ys, x), (y, xs), (ys, xs), (y,), (x,), ("z",), ()])
        if dimensions and dice.random() < 0.3 and "z" not in dimensions:
            dimensions = ("z", *dimensions)
        if dice.random() < 0.6:
            dimensions = ("time", *dimensions)
        dtype = dice.choice(types)
        fill = 7 if dtype != "S1" and dice.random() < 0.5 else None
        made.add(f"v{k}", dtype, dimensions, fill)
    made.write()
    droppable = not getattr(made.model, "exch2", False) and len(made.tiles) > 2
    if droppable and min(map(len, lengths)) > 1 and dice.random() < 0.5:
        gone = dice.choice(list(made.tiles))
        if gone != (0, 0):  # the first tile has the variables that are not decomposed
            os.remove(made.tiles.pop(gone))
    for name in made.variables:
        path = dice.choice([made.base, *made.tiles.values()])
        kind, shape, why = files.listing(path)[name]
        whole = made.expected(name)
        assert why is None and shape == ("x".join(map(str, whole.shape)) or "-"), (path, name, shape)
        files.compare(path, name, whole, dice)


def main(what, *arguments):
    if what == "write":
        model, name = arguments
        dice = random.Random(1)
        made = Set(dice, MODELS[model](dice, [[4, 4], [3, 3]]), name, 3, FORMATS[0])
        y, x = made.model.dimensions[:2]
        made.add("temp", "f4", ("time", y, x), -1e34,
                 numpy.arange(144, dtype="f4").reshape(3, 8, 6))
        made.write()
        return
    dice = random.Random(int(arguments[0]))
    for number in range(int(arguments[1])):
        random_set(dice, number)
    print(files.compared)


main(*sys.argv[1:])
