# SPDX-License-Identifier: MIT
"""Makes random files that describe themselves, by the libraries of their formats. Compares views of
their variables with what these libraries read.

    files.py netcdf SEED COUNT      makes and compares COUNT netCDF files in the working folder
    files.py hdf5 SEED COUNT        COUNT HDF5 files
    files.py subfiles SEED COUNT    COUNT HDF5 files, dealt to subfiles
    files.py stripes FILE STRIPE COUNT              deals a file to COUNT subfiles
    files.py npy SEED COUNT         COUNT .npy files
    files.py mitgcm SEED COUNT      COUNT arrays in MITgcm's tiles
    files.py tiles NAME T...        an array of 2 x 4 x 6 floats in tiles: "x0:x1,y0:y1", from 0
    files.py mount FILE MOUNTPOINT DECOMPOSITION      all variables of a file through a mount

Specs come from mpiio-view, which is on the PATH. Prints how many slices were compared.
"""
import json
import os
import random
import subprocess
import sys

import h5py
import netCDF4
import numpy

KINDS = ("none", "block", "cyclic")
compared = 0


def view(*arguments):
    """Returns the output of mpiio-view."""
    done = subprocess.run(["mpiio-view", *arguments], capture_output=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def slices(ranks):
    """Yields the ranks' slices of one.json: one of them by mpiio-view, the others by the module,
    which starts no program for each."""
    import mpiio
    own = compared % ranks
    with mpiio.open("one.json") as file:
        for rank in range(ranks):
            if rank == own:
                yield view("cat", "one.json", "-r", str(rank))
            else:
                yield numpy.asarray(file[rank]).tobytes("A")


def listing(path):
    """Returns the type, the shape and the reason why it cannot be a view (or None), by variable."""
    found = {}
    for line in view("spec", "--from", path).decode().splitlines():
        name, kind, shape, *why = line.split("\t")
        found[name] = (kind, shape, why[0] if why else None)
    return found


def owned(length, kind, block, size, at):
    """Returns the indices of a dimension that belong to part number at of size parts."""
    if kind == "none" or size == 1:
        return list(range(length))
    if kind == "block":
        block = block or -(-length // size)
        return list(range(min(at * block, length), min((at + 1) * block, length)))
    block = block or 1
    return [i for i in range(length) if i // block % size == at]


class Decomposition:
    """Returns a random decomposition: one of a darray's words for each dimension, over a grid."""

    def __init__(self, dice, shape, kinds=KINDS):
        self.parts = []
        for length in shape:
            kind, size, block = dice.choice(kinds), 1, 0
            if kind != "none":
                size = dice.randint(1, 3)
                if dice.random() < 0.5 and length:
                    block = dice.randint(1, 4) if kind == "cyclic" else \
                        dice.randint(-(-length // size), length)
            self.parts.append((kind, block, size))
        self.ranks = 1
        for kind, block, size in self.parts:
            self.ranks *= size

    def words(self):
        words = ",".join(kind + (f"({block})" if block else "") for kind, block, size in self.parts)
        return words + " on " + "x".join(str(size) for kind, block, size in self.parts)

    def local(self, array, rank):
        """Returns the rank's part of the array. The last dimension of the grid varies fastest."""
        at = []
        for kind, block, size in reversed(self.parts):
            at.append(rank % size)
            rank //= size
        return array[numpy.ix_(*(owned(length, kind, block, size, place) for
                                 length, (kind, block, size), place in
                                 zip(array.shape, self.parts, reversed(at))))]


def values(array):
    """Returns the bytes of a slice: in C order, native, without gaps in structures."""
    if array.dtype.fields:
        names = array.dtype.names
        parts = numpy.empty(array.shape, [(name, native(array.dtype[name])) for name in names])
        for name in names:
            parts[name] = array[name]
        return parts.tobytes()
    return numpy.ascontiguousarray(array, native(array.dtype)).tobytes()


def same(got, wanted, dtype):
    """Compares byte for byte, except for the meaningless bytes of a long double."""
    if dtype.kind == "f" and dtype.itemsize == 16:
        return (numpy.frombuffer(got, dtype) == numpy.frombuffer(wanted, dtype)).all()
    return got == wanted


def native(dtype):
    return dtype.newbyteorder("=")


def type_names(dtype):
    """Returns the name that a listing gives to a type of elements."""
    size = dtype.itemsize
    if dtype.fields:
        return ["struct"]
    if dtype.kind == "S":
        return ["char" if size == 1 else f"{size} char"]
    return {"i": [f"int{8 * size}_t"], "u": [f"uint{8 * size}_t"], "b": ["c_bool", "int8_t"],
            "f": [{2: "real2", 4: "float", 8: "double", 16: "long_double"}.get(size)],
            "c": [{8: "c_complex", 16: "c_double_complex"}.get(size)]}[dtype.kind]


def compare(path, name, array, dice, kinds=KINDS):
    """Compares a whole variable, and the ranks' parts by a random decomposition."""
    global compared
    choices = [None]
    if array.ndim:
        choices.append(Decomposition(dice, array.shape, kinds))
    for choice in choices:
        text = view("spec", "--from", path, "--var", name, *([choice.words()] if choice else []))
        assert json.loads(text)["ranks"] == (choice.ranks if choice else 1)
        with open("one.json", "wb") as spec:
            spec.write(text)
        for rank, got in enumerate(slices(choice.ranks if choice else 1)):
            wanted = values(choice.local(array, rank) if choice else array)
            assert same(got, wanted, native(array.dtype)), (path, name, choice and choice.words(), rank, got[:80], wanted[:80])
            compared += 1


def check(path, arrays, dice, excuse=lambda array, why: False, chunked=()):
    """Checks that a file has exactly these variables, in any order, and compares them. excuse tells if
    an array may be no view for that reason."""
    found = listing(path)
    assert set(found) == set(arrays), (path, sorted(found), sorted(arrays))
    for name, array in arrays.items():
        array = numpy.asarray(array)
        kind, shape, why = found[name]
        assert shape == ("x".join(map(str, array.shape)) or "-"), (path, name, shape, array.shape)
        if why:
            assert excuse(array, why), (path, name, why)
            continue
        assert kind in type_names(array.dtype), (path, name, kind, array.dtype)
        compare(path, name, array, dice, KINDS[:2] if name in chunked else KINDS)


def has_gaps(array, why):
    return "structures with gaps, in chunks" in why and array.dtype.fields


def fill(dice, dtype, shape):
    """Returns values that all differ, if possible."""
    count = int(numpy.prod(shape, dtype=int))
    start = dice.randint(0, 99)
    if dtype.kind == "S":
        return numpy.array([bytes([97 + (start + i) % 26]) * dtype.itemsize for i in range(count)],
                           dtype).reshape(shape)
    return (numpy.arange(count) + start).astype(dtype).reshape(shape)


def netcdf_file(dice, path):
    kind = dice.choice(["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4"])
    types = ["i1", "i2", "i4", "f4", "f8", "S1"]
    if kind in ("NETCDF3_64BIT_DATA", "NETCDF4"):
        types += ["u1", "u2", "u4", "i8", "u8"]
    records = dice.choice([0, 1, 2, 5])
    with netCDF4.Dataset(path, "w", format=kind) as data:
        data.title = "x" * dice.randint(0, 9)
        data.createDimension("time", None)
        lengths = {f"d{i}": dice.randint(1, 6) for i in range(4)}
        for name, length in lengths.items():
            data.createDimension(name, length)
        # A single record variable has records without padding.
        several = dice.random() < 0.7
        for i in range(dice.randint(1, 6)):
            shape = dice.sample(sorted(lengths), dice.randint(0, 3))
            if dice.random() < 0.6 and (several or i == 0):
                shape.insert(0, "time")
            variable = data.createVariable(f"v{i}.{kind[6:9]}", dice.choice(types), shape)
            variable.note = list(range(dice.randint(1, 4)))
            sizes = [records if name == "time" else lengths[name] for name in shape]
            if records or "time" not in shape:
                array = fill(dice, numpy.dtype(variable.dtype), sizes)
                variable[...] = array if sizes else array[()]


def netcdf(dice, path):
    netcdf_file(dice, path)
    # numrecs as a program leaves it that cannot seek back. Then the file's size gives the number.
    streaming = dice.random() < 0.3
    with netCDF4.Dataset(path) as data:
        data.set_auto_maskandscale(False)
        arrays = {name: numpy.array(variable[...]) for name, variable in data.variables.items()}
        chunked = {name for name, variable in data.variables.items()
                   if variable.chunking() not in (None, "contiguous")}
        # If records are no multiple of 4 bytes, the file may be padded after them.
        ends = sum(array[0].nbytes for name, array in arrays.items() if array.ndim and len(array)
                   and data.variables[name].dimensions[0] == "time")
        streaming = streaming and ends % 4 == 0 and data.data_model != "NETCDF4" and data.dimensions["time"].size > 1
        is_classic, wide = data.data_model != "NETCDF4", 8 if data.data_model == "NETCDF3_64BIT_DATA" else 4
    if streaming:
        with open(path, "r+b") as file:
            file.seek(4)
            file.write(b"\xff" * wide)
    check(path, arrays, dice, lambda array, why: not is_classic and (
        "chunks" in why or "never written" in why), chunked)


HDF5_TYPES = ["<i1", "<u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8",
              "<u8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", "g",
              "S1", "S5", "?"]


def stripes(path, stripe, count, folder=None):
    """Deals a file to subfiles, as HDF5's subfiling driver does. Only the superblock stays in the
    file."""
    stripe, count, inode = int(stripe), int(count), os.stat(path).st_ino
    with open(path, "rb") as file:
        data = file.read()
    names = [f"{path}.subfile_{inode}_{i + 1:0{len(str(count))}}_of_{count}" for i in range(count)]
    for i, name in enumerate(names):
        with open(name, "wb") as file:
            for at in range(i * stripe, len(data), count * stripe):
                file.write(data[at:at + stripe])
    with open(f"{path}.subfile_{inode}.config", "w") as file:
        file.write(f"stripe_size={stripe}\naggregator_count={count}\nsubfile_count={count}\n"
                   f"hdf5_file={os.getcwd()}/{path}\nsubfile_dir={folder or os.getcwd()}\n" +
                   "".join(name + "\n" for name in names))
    os.truncate(path, min(len(data), 1024))
    return file.name


def subfiles(dice, path):
    hdf5(dice, path, lambda: stripes(path, dice.choice([1, 7, 512, 1000, 1 << 20]),
                                     dice.randint(1, 12), dice.choice([None, "/nowhere"])))


def hdf5(dice, path, deal=None):
    with h5py.File(path, "w", libver=dice.choice(["earliest", "latest"]),
                   userblock_size=dice.choice([0, 0, 512])) as data:
        for i in range(dice.randint(1, 5)):
            dtype = numpy.dtype(dice.choice(HDF5_TYPES))
            if dice.random() < 0.2:
                dtype = numpy.dtype([("a", "<i2"), ("b", "<f8"), ("c", "<i4", (2,))],
                                    align=dice.random() < 0.5)
            shape = tuple(dice.randint(1, 7) for d in range(dice.randint(0, 3)))
            array = numpy.zeros(shape, dtype) if dtype.fields else fill(dice, dtype, shape)
            if dtype.fields:
                array["a"] = fill(dice, dtype["a"], shape)
                array["b"] = fill(dice, dtype["b"], shape)
            name = dice.choice([f"v{i}", f"group/v{i}", f"a/b/c/v{i}"])
            chunks = None
            if shape and dice.random() < 0.5:
                chunks = tuple(dice.randint(1, length) for length in shape)
            data.create_dataset(name, data=array, chunks=chunks)
        arrays = {}
        data.visititems(lambda name, item: arrays.update({name: item[()]})
                        if isinstance(item, h5py.Dataset) else None)
        chunked = []
        data.visititems(lambda name, item: chunked.append(name)
                        if isinstance(item, h5py.Dataset) and item.chunks else None)
    if deal:
        config = deal()
        if path.endswith("3.dat"):  # a copy has another inode
            os.rename(path, path + ".old")
            with open(path, "wb") as stub, open(path + ".old", "rb") as old:
                stub.write(old.read())
        path = dice.choice([path, config])
    check(path, arrays, dice, has_gaps, chunked)


def npy(dice, path):
    path = path.replace(".dat", ".npy")
    dtype = numpy.dtype(dice.choice(HDF5_TYPES + ["<c16", ">c16"]))
    shape = tuple(dice.randint(0 if dice.random() < 0.1 else 1, 7) for d in range(dice.randint(0, 4)))
    array = fill(dice, dtype, shape)
    fortran = dice.random() < 0.4
    numpy.save(path, numpy.asfortranarray(array) if fortran else array)
    with open(path, "rb") as file:
        fortran = b"'fortran_order': True" in file.read(200)
    if fortran:  # a slice is in the file's order: the first dimension varies fastest
        global compared
        choice = Decomposition(dice, shape)
        with open("one.json", "wb") as spec:
            spec.write(view("spec", "--from", path, "--var", path[:-4], choice.words()))
        for rank, got in enumerate(slices(choice.ranks)):
            wanted = values(choice.local(array, rank).T)
            assert same(got, wanted, native(dtype)), (path, choice.words(), rank)
            compared += 1
        return
    assert listing(path)[path[:-4]][0] in type_names(dtype), (path, dtype)
    compare(path, path[:-4], array, dice)


def box(ranges):
    return tuple(slice(start, end) for start, end in ranges)


def write_tiles(name, array, tiles, fields=()):
    """Makes a .meta and a .data file for each tile. A tile is (start, end) for each dimension
    except the records."""
    for number, tile in enumerate(tiles):
        path = f"{name}.{number + 1:03}.001"
        array[(slice(None), *box(tile))].tofile(path + ".data")
        rows = [f" {size:5},{start + 1:5},{end:5}" for size, (start, end) in
                reversed(list(zip(array.shape[1:], tile)))]
        with open(path + ".meta", "w") as meta:
            meta.write(f" nDims = [ {len(rows):3} ];\n dimList = [\n" + ",\n".join(rows) + "\n ];\n")
            precision = "format" if len(tiles) % 2 else "dataprec"
            meta.write(f" {precision} = [ 'float{8 * array.itemsize}' ];\n")
            meta.write(f" nrecords = [ {len(array):5} ];\n")
            if fields:
                names = " ".join(f"'{field:8}'" for field in fields)
                meta.write(f" nFlds = [ {len(fields):4} ];\n fldList = {{\n {names}\n }};\n")


def cut(dice, tile, deep):
    """Splits the tile in two, and these again, at random."""
    d = dice.randrange(len(tile))
    start, end = tile[d]
    if deep == 0 or end - start < 2:
        return [tile]
    at = dice.randrange(start + 1, end)
    halves = [[*tile[:d], part, *tile[d + 1:]] for part in ((start, at), (at, end))]
    return [small for half in halves for small in cut(dice, half, deep - 1)]


def grid(dice, shape):
    """Makes tiles as large as the first one, except that the last one of a row may be smaller."""
    tiles = [[]]
    for length in shape:
        size = dice.randint(1, length)
        parts = [(at, min(at + size, length)) for at in range(0, length, size)]
        tiles = [[*tile, part] for tile in tiles for part in parts]
    return tiles


def mitgcm(dice, path):
    name = path.replace(".dat", ".0000000010")
    shape = [dice.randint(2, 6) for d in range(dice.randint(1, 3))]
    regular, records = dice.random() < 0.5, dice.randint(1, 3)
    tiles = grid(dice, shape) if regular else cut(dice, [(0, length) for length in shape], 3)
    if len(tiles) == 1:
        tiles = [[(0, 1), *tiles[0][1:]], [(1, shape[0]), *tiles[0][1:]]]
    dice.shuffle(tiles)
    fields = [f"F{i}" for i in range(records)] if dice.random() < 0.5 else []
    array = fill(dice, numpy.dtype(dice.choice([">f4", ">f8"])), (records, *shape))
    write_tiles(name, array, tiles, fields)
    arrays = dict(zip(fields, array)) or {name: array if records > 1 else array[0]}
    metas = [f"{name}.{i + 1:03}.001.meta" for i in range(len(tiles))]
    for variable, part in arrays.items():
        assert listing(name)[variable] == (type_names(array.dtype)[0], "x".join(map(str, part.shape)), None)
        compare(dice.choice([name, *metas]), variable, part, dice)
    kind = "filetype" if regular and len(tiles) > 2 else "per_rank"
    spec = json.loads(view("spec", "--from", name, "--all"))
    assert kind in spec["members"]["view"] or kind == "per_rank", spec["members"]
    os.remove(metas.pop(dice.randrange(len(metas))))
    there = sum(numpy.empty(array.shape)[(slice(None), *box(tile))].size for number, tile in
                enumerate(tiles) if f"{name}.{number + 1:03}.001.meta" in metas)
    done = subprocess.run(["mpiio-view", "spec", "--from", dice.choice(metas)], capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"mpiio-view: {name}: tiles are "
        f"missing: the {len(metas)} that exist have {there} of {array.size} values\n"), done


def tiles(name, *words):
    array = numpy.arange(48).astype(">f4").reshape(2, 4, 6)
    array.tofile("whole.dat")
    write_tiles(name, array, [[[int(end) for end in part.split(":")] for part in
                               reversed(word.split(","))] for word in words], ["ETAN", "whole"])


def mount(path, place, words):
    """Checks that each variable is a folder of arrays. If the decomposition has other dimensions,
    each rank has the whole array."""
    global compared
    dice = random.Random(0)
    with netCDF4.Dataset(path) as data:
        data.set_auto_maskandscale(False)
        arrays = {name: numpy.array(variable[...]) for name, variable in data.variables.items()}
    kinds, _, grid = words.partition(" on ")
    sizes = [int(size) for size in grid.split("x")]
    split = [kind for kind in kinds.split(",") if kind != "none"]
    assert len(split) == len(sizes)
    choice = Decomposition(dice, [])
    choice.parts = [(kind, 0, sizes.pop(0) if kind != "none" else 1) for kind in kinds.split(",")]
    ranks = int(numpy.prod([size for kind, block, size in choice.parts]))
    assert sorted(os.listdir(place)) == [".mpiio", *sorted(arrays)]
    for name, array in arrays.items():
        for rank in range(ranks):
            local = choice.local(array, rank) if array.ndim == len(choice.parts) else array
            got = numpy.load(os.path.join(place, name, f"rank{rank}.npy"))
            assert got.shape == local.shape and got.dtype == native(local.dtype), (name, got.dtype)
            assert (got == local).all(), (name, rank)
            compared += 1


def main(what, *arguments):
    if what in ("mount", "tiles", "stripes"):
        {"mount": mount, "tiles": tiles, "stripes": stripes}[what](*arguments)
    else:
        dice = random.Random(int(arguments[0]))
        for i in range(int(arguments[1])):
            {"netcdf": netcdf, "hdf5": hdf5, "subfiles": subfiles, "npy": npy,
             "mitgcm": mitgcm}[what](dice, f"{what}{i}.dat")
    print(compared)


if __name__ == "__main__":
    main(*sys.argv[1:])
