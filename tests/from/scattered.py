# SPDX-License-Identifier: MIT
"""Compares views of random HDF5 files with the values that h5py reads. Not all values lie in the file as
they are: it has unwritten chunks and datasets, compact, external and virtual datasets.

    scattered.py SEED COUNT     makes COUNT files in the working directory, and compares them

mpiio-view must be on the PATH. Prints the number of slices that were compared.
"""
import os
import random
import sys

import h5py
import numpy

import files
from files import fill

TYPES = ["<i1", "<i2", ">i4", "<f4", ">f8", "<c16", "S5", "?"]


def filled(dice, dtype):
    """Returns a fill value, or None for the default."""
    if dice.random() < 0.3:
        return None
    if dtype.fields:
        return numpy.array([tuple(dice.randint(1, 9) if dtype[name].shape == () else
                                  numpy.full(dtype[name].shape, dice.randint(1, 9))
                                  for name in dtype.names)], dtype)[0]
    return fill(dice, dtype, (1,))[0]


def random_type(dice):
    if dice.random() < 0.2:  # 10 bytes, or more than the 32 of one fill range
        return numpy.dtype(dice.choice([[("a", "<i2"), ("b", "<f8")],
                                        [("a", "<i2"), ("b", "<f8"), ("c", "<i4", (7,))]]))
    return numpy.dtype(dice.choice(TYPES))


def random_array(dice, dtype, shape):
    if not dtype.fields:
        return fill(dice, dtype, shape)
    array = numpy.zeros(shape, dtype)
    array["a"], array["b"] = fill(dice, dtype["a"], shape), fill(dice, dtype["b"], shape)
    return array


def written(dice, data, name, dtype, shape):
    """Makes a contiguous or chunked dataset, and writes some of it, or nothing."""
    chunks = tuple(dice.randint(1, length) for length in shape) if dice.random() < 0.7 else None
    item = data.create_dataset(name, shape, dtype, chunks=chunks, fillvalue=filled(dice, dtype))
    array = random_array(dice, dtype, shape)
    for part in range(dice.randint(0, 3)):
        at = tuple(slice(start, dice.randint(start, length)) for length in shape
                   for start in [dice.randint(0, length - 1)])
        if array[at].size:
            item[at] = array[at]


def compact(dice, data, name, dtype, shape):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    item = h5py.h5d.create(data.id, name.encode(), h5py.h5t.py_create(dtype, logical=True),
                           h5py.h5s.create_simple(shape), properties)
    item.write(h5py.h5s.ALL, h5py.h5s.ALL, numpy.ascontiguousarray(random_array(dice, dtype, shape)))


def external(dice, data, name, dtype, shape):
    """Makes an external dataset. Segments have whole rows of the first dimension, and may share a file."""
    row = int(numpy.prod(shape[1:], dtype=int)) * dtype.itemsize
    cuts = sorted({0, shape[0], *(dice.randint(0, shape[0]) for i in range(dice.randint(0, 3)))})
    parts, common = [], dice.random() < 0.3
    for i, (start, end) in enumerate(zip(cuts, cuts[1:])):
        path, at = f"{name}.{0 if common else i}.bin", dice.randint(0, 9) + (start * row + 10 * i) * common
        parts.append((path, at, (end - start) * row))
    for path, at, size in parts:
        with open(path, "ab") as file:
            file.truncate(max(at + size + dice.randint(0, 9), file.tell()))
    item = data.create_dataset(name, shape, dtype, external=parts)
    item[...] = random_array(dice, dtype, shape)


def source(dice, data, name, dtype, shape):
    """Makes a source dataset in the same file or in another one, and returns it."""
    array = random_array(dice, dtype, shape)
    chunks = tuple(dice.randint(1, length) for length in shape) if dice.random() < 0.5 else None
    if dice.random() < 0.3:
        data.create_dataset(name, data=array, chunks=chunks)
        return h5py.VirtualSource(".", name, shape)
    with h5py.File(f"{data.filename}.{name}", "w", libver=dice.choice(["earliest", "latest"]),
                   userblock_size=dice.choice([0, 512])) as other:
        other.create_dataset("g/s", data=array, chunks=chunks)
    return h5py.VirtualSource(f"{data.filename}.{name}", "g/s", shape)


def virtual(dice, data, name, dtype, shape):
    """Makes a virtual dataset of several sources, arranged in a random way. Ignores shape."""
    rows, columns, depth, count = (dice.randint(1, most) for most in (5, 5, 4, 4))
    shapes = {"stack": (count * rows, columns), "rank": (count, rows, columns),
              "comb": (count * rows, columns), "mosaic": (rows, count * columns),
              "column": (count, rows), "even": (count, rows, (columns + 1) // 2),
              "cubes": (rows, count * columns, depth), "planes": (count, rows, depth),
              "rows": (count * ((rows + 1) // 2) + 1, columns)}
    kind = dice.choice(sorted(shapes))
    layout = h5py.VirtualLayout(shapes[kind], dtype)
    for i in range(count):
        part = source(dice, data, f"{name}s{i}", dtype,
                      (rows, columns, depth) if kind in ("cubes", "planes") else (rows, columns))
        if kind == "stack":
            layout[i * rows:(i + 1) * rows] = part
        elif kind == "rank":
            layout[i] = part
        elif kind == "comb":
            layout[i::count] = part
        elif kind in ("mosaic", "cubes"):
            layout[:, i * columns:(i + 1) * columns] = part
        elif kind in ("column", "planes"):
            layout[i] = part[:, dice.randrange(columns)]
        elif kind == "even":
            layout[i] = part[:, ::2]
        else:
            half = (rows + 1) // 2
            layout[i * half + 1:(i + 1) * half + 1] = part[::2]
        if part.path != "." and dice.random() < 0.15:
            os.remove(part.path)
    data.create_virtual_dataset(name, layout, fillvalue=filled(dice, dtype))


def scattered(dice, path):
    with h5py.File(path, "w", libver=dice.choice(["earliest", "latest"]),
                   userblock_size=dice.choice([0, 0, 512])) as data:
        for i in range(dice.randint(1, 4)):
            shape = tuple(dice.randint(1, 7) for d in range(dice.randint(1, 3)))
            make = dice.choice([written, written, compact, external, virtual])
            make(dice, data, f"{path[:-4]}v{i}", random_type(dice), shape)
        data["plain"] = numpy.arange(5)
    with h5py.File(path) as data:
        arrays = {name: item[()] for name, item in data.items() if isinstance(item, h5py.Dataset)}
    files.check(path, arrays, dice, files.has_gaps, arrays)
    assert "members" not in files.view("spec", "--from", path, "--var", "plain").decode()


def main(seed, count):
    dice = random.Random(int(seed))
    for i in range(int(count)):
        scattered(dice, f"r{i}.dat")
    print(files.compared)


if __name__ == "__main__":
    main(*sys.argv[1:])
