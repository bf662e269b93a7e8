# SPDX-License-Identifier: MIT
"""Makes random text headers with bricks of numbers, and FITS and VTK files, with the libraries of
their formats or with plain writers. Compares each variable with what was written, or with what the
library reads again, as a whole and by ranks.

    bricks.py FORMAT SEED COUNT     makes and compares COUNT files in the working folder

Prints the number of slices that were compared.
"""
import os
import random
import sys

import numpy

import files
from files import check, fill

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def ordered(dice, kinds):
    """Returns a type of either byte order."""
    return numpy.dtype(dice.choice("<>") + dice.choice(kinds))


def is_big(dtype):
    return dtype.newbyteorder(">") == dtype and dtype.itemsize > 1


def pieces(dice, array, path, before=lambda: b""):
    """Writes an array to equal files, each with bytes before its values. Returns their names."""
    names = [f"{path}.{i}.part" for i in range(len(array))]
    for i, name in enumerate(names):  # a part of one value keeps its byte order
        with open(name, "wb") as file:
            file.write(before() + array[i:i + 1].tobytes())
    return names


ENVI = {"u1": 1, "i2": 2, "i4": 3, "f4": 4, "f8": 5, "c8": 6, "c16": 9, "u2": 12, "u4": 13, "i8": 14, "u8": 15}


def envi(dice, path):
    dtype = ordered(dice, sorted(ENVI))
    bands, lines, samples = (dice.randint(1, 5) for d in range(3))
    cube = fill(dice, dtype, (bands, lines, samples))
    interleave = dice.choice(["bsq", "bil", "bip"])
    whole = {"bsq": cube, "bil": cube.transpose(1, 0, 2), "bip": cube.transpose(1, 2, 0)}[interleave]
    offset = dice.choice([0, 0, 7, 512])
    data, header = dice.choice([(path, path + ".hdr"), (path + ".img", path + ".hdr"),
                                (path + ".bil", path + ".bil.hdr"), (path + ".raw", path + ".HDR")])
    with open(data, "wb") as file:
        file.write(b"h" * offset + whole.tobytes())
    names = [f"band{i + 1}" for i in range(bands)]
    text = f"ENVI\ndescription = {{\n  of {bands} lines = 3 bands}}\nSamples = {samples}\nlines   = {lines}\n"
    text += f"bands = {bands}\n; lines = 77\nheader offset = {offset}\ndata type = {ENVI[dtype.str[1:]]}\n"
    text += f"interleave = {dice.choice([interleave, interleave.upper()])}\n"
    if is_big(dtype) or dice.random() < 0.5:
        text += f"byte order = {int(is_big(dtype))}\n"
    if dice.random() < 0.5:
        names = [f"B {i} ({400 + 10 * i} nm)" for i in range(bands)]
        text += "band names = {\n " + dice.choice([", ", ",\n "]).join(names) + "}\n"
    if dice.random() < 0.3:
        text = text.replace("\n", "\r\n")
    with open(header, "w", newline="") as file:
        file.write(text)
    check(header, {header[:-4]: whole, **dict(zip(names, cube))}, dice)


BOV = {"u1": ["BYTE", "CHAR"], "i2": ["SHORT"], "i4": ["INT", "INTEGER"], "f4": ["FLOAT", "REAL"], "f8": ["DOUBLE"]}


def bov(dice, path):
    dtype = ordered(dice, sorted(BOV))
    parts = [dice.randint(1, 3) for d in range(3)]
    counts = [dice.randint(1, 3) for d in range(3)]
    components = dice.choice([1, 1, 2, 3])
    shape = [p * c for p, c in zip(parts, counts)]  # z comes first
    array = fill(dice, dtype, (*shape, *([components] if components > 1 else [])))
    offset = dice.choice([0, 4])
    text = f"# a brick\nTIME: 1.5\nDATA_SIZE: {shape[2]} {shape[1]} {shape[0]}\n"
    divided = dice.random() < 0.5
    if divided:
        number = 0
        for z in range(counts[0]):
            for y in range(counts[1]):
                for x in range(counts[2]):
                    block = array[z * parts[0]:(z + 1) * parts[0], y * parts[1]:(y + 1) * parts[1],
                                  x * parts[2]:(x + 1) * parts[2]]
                    with open(f"{path}.{number:03}", "wb") as file:
                        file.write(b"x" * offset + block.tobytes())
                    number += 1
        text += f"DATA_FILE: {path}.%03d\nDATA_BRICKLETS: {parts[2]} {parts[1]} {parts[0]}\n"
    else:
        with open(path, "wb") as file:
            file.write(b"x" * offset + array.tobytes())
        text += f"DATA_FILE: {path}\n"
    text += f"DATA_FORMAT: {dice.choice(BOV[dtype.str[1:]])}\nVARIABLE: \"rho {path}\"\n"
    if is_big(dtype) or dice.random() < 0.5:
        text += f"DATA_ENDIAN: {'BIG' if is_big(dtype) else 'LITTLE'}\n"
    if offset:
        text += f"BYTE_OFFSET: {offset}\n"
    if components > 1:
        text += f"DATA_COMPONENTS: {'COMPLEX' if components == 2 else components}\n"
    text += "CENTERING: zonal\nBRICK_ORIGIN: 0. 0. 0.\nBRICK_SIZE: 10. 10. 10.\n"
    with open(path + ".bov", "w") as file:
        file.write(text)
    check(path + ".bov", {f"rho {path}": array}, dice)


NRRD = {"i1": ["signed char", "int8"], "u1": ["uchar", "uint8_t"], "i2": ["short", "signed short int"],
        "u2": ["ushort", "uint16"], "i4": ["int", "int32_t"], "u4": ["unsigned int"],
        "i8": ["longlong", "int64"], "u8": ["ulonglong", "uint64_t"], "f4": ["float"], "f8": ["double"]}


def nrrd(dice, path):
    dtype = ordered(dice, sorted(NRRD))
    shape = [dice.randint(1, 5) for d in range(dice.randint(1, 4))]
    array = fill(dice, dtype, shape)
    text = f"NRRD000{dice.randint(1, 5)}\n# made here\ntype: {dice.choice(NRRD[dtype.str[1:]])}\n"
    text += f"dimension: {len(shape)}\nsizes: {' '.join(map(str, reversed(shape)))}\n"
    text += f"spacings:{' 1' * len(shape)}\nkey:=value: sizes: 7\nencoding: raw\n"
    if dtype.itemsize > 1:
        text += f"endian: {'big' if is_big(dtype) else 'little'}\n"
    lines, skip = dice.choice([0, 0, 2]), dice.choice([0, 0, 3, -1])
    before = b"a\nbc\n" if lines else b""
    if lines:
        text += f"{dice.choice(['line skip', 'lineskip'])}: {lines}\n"
    if skip:
        text += f"byte skip: {skip}\n"
    before += b"?" * (dice.randint(0, 9) if skip < 0 else skip)
    way = dice.choice(["attached", "file", "list", "pattern"])
    header = path + (".nrrd" if way == "attached" else ".nhdr")
    data = b""
    if way == "attached":
        data = b"\n" + before + array.tobytes()
    elif way == "file":
        text += f"data file: {path}\n"
        with open(path, "wb") as file:
            file.write(before + array.tobytes())
    else:
        vary = (lambda: before + b"?" * dice.randint(0, 5)) if skip < 0 else lambda: before
        whole = dice.random() < 0.3  # each file has as many dimensions as the array
        names = pieces(dice, array, path, vary)
        suffix = f" {len(shape)}" if whole or len(shape) == 1 else dice.choice(["", f" {len(shape) - 1}"])
        if way == "pattern":
            names.reverse()
            for i, name in enumerate(names):
                os.rename(name, f"{path}-{2 * (len(names) - i):02}.raw")
            text += f"data file: {path}-%02d.raw 2 {2 * len(names)} 2{suffix}\n"
        else:
            text += f"data file: LIST{suffix}\n" + "\n".join(names) + "\n"
    with open(header, "wb") as file:
        file.write((text.replace("\n", "\r\n") if dice.random() < 0.2 else text).encode() + data)
    check(header, {path: array}, dice)
    if way == "attached" and len(shape) == 3 and not lines and not skip and dtype.itemsize > 1:
        import vtk
        from vtk.util.numpy_support import vtk_to_numpy
        vtk.vtkObject.GlobalWarningDisplayOff()
        vtk.vtkObjectFactory.SetAllEnableFlags(False, "vtkNrrdReader")  # the parallel one needs MPI
        reader = vtk.vtkNrrdReader()
        reader.SetFileName(header)
        reader.Update()
        read = vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())
        assert (read.reshape(shape) == array).all(), header


META = {"i1": "CHAR", "u1": "UCHAR", "i2": "SHORT", "u2": "USHORT", "i4": "INT", "u4": "UINT",
        "i8": "LONG_LONG", "u8": "ULONG_LONG", "f4": "FLOAT", "f8": "DOUBLE"}


def meta_of_vtk(dice, path):
    """Writes with vtkMetaImageWriter, which does not support 8-byte integers."""
    import vtk
    from vtk.util.numpy_support import numpy_to_vtk
    shape = [dice.randint(2, 5) for d in range(3)]
    array = fill(dice, numpy.dtype(dice.choice([name for name in DTYPES if name not in ("i8", "u8")])), shape)
    image = vtk.vtkImageData()
    image.SetDimensions(shape[2], shape[1], shape[0])
    image.GetPointData().SetScalars(numpy_to_vtk(array.ravel(), deep=True))
    writer = vtk.vtkMetaImageWriter()
    header = path + dice.choice([".mhd", ".mha"])
    writer.SetFileName(header)
    writer.SetCompression(False)
    writer.SetInputData(image)
    writer.Write()
    check(header, {path: array}, dice)


def meta(dice, path):
    if dice.random() < 0.4:
        meta_of_vtk(dice, path)
        return
    dtype = ordered(dice, sorted(META))
    shape = [dice.randint(1, 5) for d in range(dice.randint(1, 4))]
    channels = dice.choice([1, 1, 3])
    array = fill(dice, dtype, (*shape, *([channels] if channels > 1 else [])))
    skip = dice.choice([0, 0, 5, -1])
    text = f"ObjectType = Image\nNDims = {len(shape)}\nBinaryData = True\n"
    text += f"{dice.choice(['BinaryDataByteOrderMSB', 'ElementByteOrderMSB'])} = {is_big(dtype)}\n"
    text += f"CompressedData = False\nDimSize = {' '.join(map(str, reversed(shape)))}\n"
    text += f"ElementType = MET_{META[dtype.str[1:]]}{'_ARRAY' if channels > 1 else ''}\n"
    if channels > 1:
        text += f"ElementNumberOfChannels = {channels}\n"
    way = dice.choice(["LOCAL", "file", "LIST", "pattern"])
    skip = min(skip, 0) if way == "LOCAL" else skip
    if skip:
        text += f"HeaderSize = {skip}\n"
    header, data = path + (".mha" if way == "LOCAL" else ".mhd"), b""
    before = b"?" * (9 if skip < 0 else skip)
    if way == "LOCAL":
        text, data = text + "ElementDataFile = LOCAL\n", before + array.tobytes()
    elif way == "file":
        text += f"ElementDataFile = {path} data.raw\n"
        with open(path + " data.raw", "wb") as file:
            file.write(before + array.tobytes())
    else:
        vary = (lambda: b"?" * dice.randint(0, 5)) if skip < 0 else lambda: before
        names = pieces(dice, array, path, vary)
        if way == "LIST":
            text += dice.choice(["ElementDataFile = LIST\n", f"ElementDataFile = LIST {len(shape) - 1}\n"])
            text += "\n".join(names) + "\n"
        else:
            words = dice.choice([" 0", f" 0 {len(names) - 1} 1"])
            text += f"ElementDataFile = {path}.%d.part{words}\n"
    with open(header, "wb") as file:
        file.write(text.encode() + data)
    check(header, {path: array}, dice)


def main(what, seed, count):
    import science
    dice = random.Random(int(seed))
    formats = {"envi": envi, "bov": bov, "nrrd": nrrd, "meta": meta, "fits": science.fits,
               "legacy": science.legacy, "xml": science.xml}
    for i in range(int(count)):
        formats[what](dice, f"{what}{i}")
    print(files.compared)


if __name__ == "__main__":
    main(*sys.argv[1:])
