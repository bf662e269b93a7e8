# SPDX-License-Identifier: MIT
"""Makes FITS files with astropy and VTK files with VTK, for bricks.py."""
import numpy

import files
from files import compare, fill, listing
import bricks

FITS = [">u1", ">i2", ">i4", ">i8", ">f4", ">f8"]
COLUMNS = [("L", None), ("8X", None), ("B", "u1"), ("I", ">i2"), ("3J", ">i4"), ("K", ">i8"), ("5A", None),
           ("E", ">f4"), ("2D", ">f8"), ("C", ">c8"), ("M", ">c16")]


def table(dice, rows):
    from astropy.io import fits as library
    columns = []
    for i in range(dice.randint(1, 5)):
        form, kind = dice.choice(COLUMNS)
        count = int(form[:-1] or 1)
        if kind:
            array = fill(dice, numpy.dtype(kind), (rows, count) if count > 1 else (rows,))
        elif form == "L":
            array = numpy.arange(rows) % 3 == 0
        elif form == "8X":
            array = numpy.arange(8 * rows).reshape(rows, 8) % 3 == 0
        else:
            array = fill(dice, numpy.dtype("S5"), (rows,))
        columns.append(library.Column(f"c{i}", form, array=array))
    return library.BinTableHDU.from_columns(columns)


def raw_rows(path, number):
    """Returns the rows of a table as stored in the file, at the offsets that astropy gives."""
    from astropy.io import fits as library
    with library.open(path) as units:
        unit = units[number]
        at, rows = unit._data_offset, unit.header["NAXIS2"]
        fields = []
        for column in unit.columns:
            dtype = numpy.dtype(unit.data.dtype[column.name])
            fields.append((column.name, dtype))
        dtype = numpy.dtype(fields)
        assert dtype.itemsize == unit.header["NAXIS1"]
    with open(path, "rb") as file:
        file.seek(at)
        return numpy.frombuffer(file.read(rows * dtype.itemsize), dtype)


def fits(dice, path):
    from astropy.io import fits as library
    path += ".fits"
    units = [library.PrimaryHDU(fill(dice, numpy.dtype(dice.choice(FITS)), [dice.randint(1, 5) for d in range(
        dice.randint(1, 4))]) if dice.random() < 0.6 else None)]
    for i in range(dice.randint(0, 4)):
        if dice.random() < 0.3:
            units.append(table(dice, dice.randint(1, 6)))
        else:
            shape = [dice.randint(1, 5) for d in range(dice.randint(1, 4))]
            units.append(library.ImageHDU(fill(dice, numpy.dtype(dice.choice(FITS)), shape)))
        if dice.random() < 0.6:
            units[-1].header["EXTNAME"] = dice.choice(["SCI", "ERR", "it's"])
        if dice.random() < 0.4:
            units[-1].header["EXTVER"] = i + 1
        for j in range(dice.choice([0, 60])):
            units[-1].header[f"KEY{j}"] = (j, "NAXIS1 = 7 / no")
    if dice.random() < 0.3 and units[-1].header["NAXIS"] and "XTENSION" in units[-1].header:
        units[-1].header["BZERO"] = 0.0
    library.HDUList(units).writeto(path, overwrite=True)
    arrays = {}
    with library.open(path, do_not_scale_image_data=True) as units:
        for number, unit in enumerate(units):
            if unit.header["NAXIS"] == 0:
                continue
            name, version = unit.header.get("EXTNAME", "PRIMARY" if number == 0 else ""), unit.header.get("EXTVER")
            name = f"{name},{version}" if name and version else name
            if not name or name in arrays:
                name = f"HDU{number}"
            arrays[name] = raw_rows(path, number) if isinstance(unit, library.BinTableHDU) else numpy.array(unit.data)
    files.check(path, arrays, dice)


def filled(dice, kind, tuples, components, name):
    """Returns a VTK array. Its name may have characters that the format must escape."""
    from vtk.util.numpy_support import numpy_to_vtk
    array = fill(dice, numpy.dtype(kind), (tuples, components) if components > 1 else (tuples,))
    made = numpy_to_vtk(array, deep=True)
    made.SetName(name)
    return made


def attributes(dice, data, tuples, kinds, legacy):
    for i in range(dice.randint(0, 4)):
        kind = dice.choice(kinds)
        name = f"{dice.choice(['a b', 't%', 'v'])}{i}"
        data.AddArray(filled(dice, kind, tuples, dice.choice([1, 1, 2, 3, 4, 9]), name))
    if dice.random() < 0.5:
        data.SetVectors(filled(dice, "f4", tuples, 3, "wind"))
    if dice.random() < 0.5:
        data.SetScalars(filled(dice, dice.choice(["f8", "i4", "u1"]), tuples, dice.choice([1, 2]), "scalar"))
    if legacy and dice.random() < 0.3:
        data.SetNormals(filled(dice, "f4", tuples, 3, "normal"))
    if legacy and dice.random() < 0.3:
        data.SetTensors(filled(dice, "f8", tuples, 9, "tensor"))
    if legacy and dice.random() < 0.3:
        data.SetTCoords(filled(dice, "f4", tuples, 2, "texture"))


def points_of(dice, count):
    import vtk
    points = vtk.vtkPoints()
    points.SetData(filled(dice, dice.choice(["f4", "f8"]), count, 3, "Points"))
    return points


def data_set(dice, kind, kinds, legacy):
    """Makes a data set with attributes. Returns it and its dimensions along z, y and x, or None."""
    import vtk
    made = getattr(vtk, kind)()
    shape = None
    if kind in ("vtkImageData", "vtkRectilinearGrid", "vtkStructuredGrid"):
        shape = [dice.randint(1, 4) for d in range(3)]
        made.SetDimensions(shape[2], shape[1], shape[0])
    if kind == "vtkRectilinearGrid":
        for axis, length in zip("ZYX", shape):
            getattr(made, f"Set{axis}Coordinates")(filled(dice, "f8", length, 1, axis.lower() + "_c"))
    elif kind == "vtkStructuredGrid":
        made.SetPoints(points_of(dice, int(numpy.prod(shape))))
    elif kind != "vtkImageData":
        made.SetPoints(points_of(dice, dice.randint(4, 9)))
        cells = vtk.vtkCellArray()
        for i in range(dice.randint(1, 4)):
            cells.InsertNextCell(3)
            for corner in dice.sample(range(4), 3):
                cells.InsertCellPoint(corner)
        if kind == "vtkPolyData":
            made.SetPolys(cells)
        else:
            made.SetCells(vtk.VTK_TRIANGLE, cells)
    attributes(dice, made.GetPointData(), made.GetNumberOfPoints(), kinds, legacy)
    attributes(dice, made.GetCellData(), made.GetNumberOfCells(), kinds, legacy)
    if legacy and dice.random() < 0.4:
        words, bits = vtk.vtkStringArray(), vtk.vtkBitArray()
        words.SetName("words")
        bits.SetName("bits")
        for i, length in enumerate((0, 3, 63, 64, 70, 16383, 16384)):
            words.InsertNextValue("x" * length)
            bits.InsertNextValue(i % 3 == 0)
        for array in words, bits:
            made.GetFieldData().AddArray(array)
    if dice.random() < 0.3:
        made.GetFieldData().AddArray(filled(dice, "f8", 1, 1, "TIME"))
    return made, shape


def shaped(array, shape, is_cell=False):
    """Returns the array as a grid, if there is one."""
    if shape is None:
        return array
    sizes = [max(length - 1, 1) for length in shape] if is_cell else shape
    return array.reshape(*sizes, *array.shape[1:])


def read_again(path, reader, shape):
    """Returns the arrays that VTK reads from a file, by their names in mpiio-view."""
    from vtk.util.numpy_support import vtk_to_numpy
    reader.SetFileName(path)
    for which in "Scalars", "Vectors", "Normals", "Tensors", "TCoords", "Fields", "ColorScalars":
        if hasattr(reader, f"ReadAll{which}On"):
            getattr(reader, f"ReadAll{which}On")()
    reader.Update()
    data, arrays = reader.GetOutput(), {}
    for section in "PointData", "CellData", "FieldData":
        group = getattr(data, "Get" + section)()
        for i in range(group.GetNumberOfArrays()):
            array = group.GetArray(i)
            if array is None or array.IsA("vtkBitArray"):  # cannot be a view
                arrays[f"{section}/{group.GetAbstractArray(i).GetName()}"] = None
                continue
            array = vtk_to_numpy(array)
            if section != "FieldData":
                array = shaped(array, shape, section == "CellData")
            arrays[f"{section}/{group.GetArrayName(i)}"] = array
    if data.IsA("vtkPointSet"):
        arrays["Points"] = shaped(vtk_to_numpy(data.GetPoints().GetData()), shape)
    return data, arrays


def compare_all(path, arrays, dice, cells, at_least):
    found = listing(path)
    mesh = {name for name in found if name.split("/")[0] in (
        "Cells", "CellTypes", "Verts", "Lines", "Polys", "Strips", "Coordinates")}
    assert set(found) - mesh == set(arrays), (path, sorted(found), sorted(arrays))
    assert len(mesh) >= at_least, (path, mesh)
    for name, array in arrays.items():
        kind, shape, why = found[name]
        if array is None:
            assert why in ("not a view: values of type string", "not a view: values of type bit"), (path, name, why)
            continue
        assert why is None, (path, name, why)
        assert shape == "x".join(map(str, array.shape)), (path, name, shape, array.shape)
        assert kind in files.type_names(array.dtype), (path, name, kind, array.dtype)
        compare(path, name, array, dice)
    for name, wanted in cells.items():
        if name in found:
            kind = found[name][0]
            dtype = numpy.dtype(kind[:-2] if kind.endswith("_t") else kind)
            compare(path, name, wanted.astype(dtype), dice)
            at_least -= 1
    assert at_least <= 0, (path, cells, found)


def cells_of(data, kind, has_offsets):
    """Returns the cells and coordinates that a file may have, and their minimal number."""
    from vtk.util.numpy_support import vtk_to_numpy
    if kind == "vtkRectilinearGrid":
        return {f"Coordinates/{axis}": vtk_to_numpy(getattr(data, f"Get{axis.upper()}Coordinates")())
                for axis in "xyz"}, 3
    if kind not in ("vtkPolyData", "vtkUnstructuredGrid"):
        return {}, 0
    section = "Polys" if kind == "vtkPolyData" else "Cells"
    cells = data.GetPolys() if kind == "vtkPolyData" else data.GetCells()
    offsets, points = vtk_to_numpy(cells.GetOffsetsArray()), vtk_to_numpy(cells.GetConnectivityArray())
    counted = [n for i in range(len(offsets) - 1) for n in
               [offsets[i + 1] - offsets[i], *points[offsets[i]:offsets[i + 1]]]]
    found = {f"{section}/connectivity": points, f"{section}/offsets": offsets,
             section: numpy.array(counted)} if has_offsets is not None else {
             f"{section}/connectivity": points, f"{section}/offsets": offsets[1:]}
    if kind == "vtkUnstructuredGrid":
        found["CellTypes" if has_offsets is not None else "Cells/types"] = \
            vtk_to_numpy(data.GetCellTypesArray())
    return found, (1 if has_offsets is False else 2) + (kind == "vtkUnstructuredGrid")


KINDS = ["vtkImageData", "vtkRectilinearGrid", "vtkStructuredGrid", "vtkUnstructuredGrid", "vtkPolyData"]


def legacy(dice, path):
    import vtk
    path += ".vtk"
    kind = dice.choice(KINDS)
    made, shape = data_set(dice, kind, bricks.DTYPES, True)
    writer = vtk.vtkDataSetWriter()
    writer.SetFileName(path)
    writer.SetInputData(made)
    writer.SetFileTypeToBinary()
    old = dice.random() < 0.5
    writer.SetFileVersion(42 if old else 51)
    writer.Write()
    data, arrays = read_again(path, vtk.vtkDataSetReader(), shape)
    cells, count = cells_of(made, kind, not old)
    compare_all(path, arrays, dice, cells, count)


XML = {"vtkImageData": "ImageData", "vtkRectilinearGrid": "RectilinearGrid", "vtkStructuredGrid": "StructuredGrid",
       "vtkUnstructuredGrid": "UnstructuredGrid", "vtkPolyData": "PolyData"}


def xml(dice, path):
    import vtk
    kind = dice.choice(KINDS)
    path += ".vt" + {"vtkImageData": "i", "vtkRectilinearGrid": "r", "vtkStructuredGrid": "s",
                     "vtkUnstructuredGrid": "u", "vtkPolyData": "p"}[kind]
    made, shape = data_set(dice, kind, bricks.DTYPES, False)
    writer = getattr(vtk, f"vtkXML{XML[kind]}Writer")()
    writer.SetFileName(path)
    writer.SetInputData(made)
    writer.SetDataModeToAppended()
    writer.EncodeAppendedDataOff()
    writer.SetCompressorTypeToNone()
    getattr(writer, dice.choice(["SetHeaderTypeToUInt32", "SetHeaderTypeToUInt64"]))()
    getattr(writer, dice.choice(["SetByteOrderToLittleEndian", "SetByteOrderToBigEndian"]))()
    writer.Write()
    data, arrays = read_again(path, getattr(vtk, f"vtkXML{XML[kind]}Reader")(), shape)
    cells, count = cells_of(made, kind, None)
    if kind == "vtkRectilinearGrid":
        cells = {f"Coordinates/{name[-1]}_c": array for name, array in cells.items()}
    compare_all(path, arrays, dice, cells, count)
