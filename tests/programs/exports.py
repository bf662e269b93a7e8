# SPDX-License-Identifier: MIT
"""The programs of tests/bats/exports.bats: zarr, netCDF and VTK read the exports of a mount."""
import contextlib
import json
import os
import random
import subprocess
import sys

import numpy as np

sys.dont_write_bytecode = True

from arrays import native, random_views, spec_of, views_of_basics  # noqa: E402
from common import fails  # noqa: E402

sys.path.pop(0)  # dask would import sparse.py of this folder instead of a module of that name

NETCDF_KINDS = {"i": "i", "u": "u", "b": "i", "S": "S", "f": "f", "c": "f"}


@contextlib.contextmanager
def mounted(spec, *options, point=None):
    point = point or os.environ["mnt"]
    with open("spec.json", "w") as file:
        json.dump(spec, file)
    subprocess.run(["mpiio-mount", *options, "spec.json", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["mpiio-umount", point], check=True)


def same(what, got, want, dims=None, names=None):
    """Compares arrays bit by bit, with their types, byte orders and dimensions."""
    got = np.asarray(got)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, not {want.shape}"
    assert got.dtype == want.dtype, f"{what}: type {got.dtype!r}, not {want.dtype!r}"
    if got.tobytes() != want.tobytes():
        raise AssertionError(f"{what}: got\n{got}\nnot\n{want}")
    assert dims is None or list(dims) == names, f"{what}: dimensions {dims}, not {names}"


def netcdf_type(basic):
    """Returns the type of a basic type's numbers in netCDF, or None."""
    kind, size = NETCDF_KINDS.get(basic.shown.kind), basic.shown.itemsize // basic.parts
    if kind is None or size > 8 or (kind == "f" and size == 2):
        return None
    return np.dtype(f"{kind}{size}")


def vtk_type(basic):
    kind = netcdf_type(basic)
    return np.dtype("u1") if kind is not None and kind.kind == "S" else kind


def numbers(array, basic, kind):
    """Returns the array with a last axis for the parts of complex values."""
    array = np.ascontiguousarray(native(array))
    if basic.parts == 2:
        array = array.view(f"f{basic.shown.itemsize // 2}").reshape(*array.shape, 2)
    return array.view(kind) if array.dtype.itemsize == kind.itemsize else array


class Check:
    """Compares the exports of a mount with the arrays that NumPy reads."""

    def __init__(self, point, views, file):
        import netCDF4
        import xarray
        import zarr
        self.point, self.views, self.file = point, views, file
        self.netCDF4, self.xarray, self.zarr = netCDF4, xarray, zarr
        self.arrays = {(view.spec_name, field.name): view.array(field, file)
                       for view in views for field in view.fields}

    # Zarr.

    def path(self, view, field):
        return f"{view.name}/{field.name}" if len(view.fields) > 1 else view.name

    def zarr_arrays(self):
        import dask.array
        store = f"{self.point}/zarr"
        for how in (self.zarr.open, self.zarr.open_consolidated):
            group = how(store, mode="r")
            for view in self.views:
                for field in view.fields:
                    same(f"{how.__name__} {self.path(view, field)} {view.json}",
                         group[self.path(view, field)][...],
                         self.arrays[view.spec_name, field.name])
        assert list(group.group_keys()) == sorted(v.name for v in self.views if len(v.fields) > 1)
        with dask.config.set(scheduler="threads", num_workers=4):
            for view in self.views[::4]:
                field = view.fields[-1]
                array = dask.array.from_zarr(store, component=self.path(view, field))
                same(f"dask {view.json}", array.compute(),
                     self.arrays[view.spec_name, field.name])

    def xarrays(self):
        whole = self.xarray.open_zarr(f"{self.point}/zarr", concat_characters=False)
        for view in self.views:
            group = whole
            if len(view.fields) > 1:
                group = self.xarray.open_zarr(f"{self.point}/zarr", group=view.name,
                                              concat_characters=False)
            for field in view.fields:
                array = group[field.name or view.name]
                want = self.arrays[view.spec_name, field.name]
                same(f"xarray {view.json}", native(array.values), native(want), array.dims,
                     view.names_of(field))
            self.coordinates(view, group, [range(size) for size in view.sizes])

    def coordinates(self, view, group, indices):
        for d, name in enumerate(view.dim):
            if view.grid and len(indices[d]):
                origin, spacing = view.grid
                np.testing.assert_allclose(np.asarray(group[name][:]),
                                           origin[d] + spacing[d] * np.array(indices[d]))
            else:
                assert name not in getattr(group, "variables", group), (view.json, name)

    # netCDF.

    def netcdfs(self):
        for view in self.views:
            folder = f"{self.point}/{view.spec_name}"
            if not any(netcdf_type(field.basic) for field in view.fields):
                assert not os.path.exists(f"{folder}/whole.nc"), view.json
                assert not os.path.exists(f"{folder}/rank0.nc"), view.json
                continue
            with self.netCDF4.Dataset(f"{folder}/whole.nc") as file:
                self.netcdf(view, file, lambda array: array, [range(n) for n in view.sizes])
            for rank in range(view.ranks):
                indices = view.owned and view.owned[rank]
                with self.netCDF4.Dataset(f"{folder}/rank{rank}.nc") as file:
                    self.netcdf(view, file, lambda array: view.part(array, rank), indices)
        for view in self.views[::8]:
            self.dataset(view)

    def netcdf(self, view, file, part_of, indices):
        file.set_auto_mask(False)
        count = 0
        for field in view.fields:
            kind = netcdf_type(field.basic)
            want = part_of(self.arrays[view.spec_name, field.name])
            names, name = view.names_of(field), field.name or view.name
            if view.fortran:
                want, names = want.T, names[::-1]
            if kind is None or want.size == 0:
                assert name not in file.variables
                continue
            names += ["complex"] * (field.basic.parts == 2)
            variable = file[name]
            variable.set_auto_chartostring(False)
            same(f"{file.filepath()} {view.json}", native(variable[...]),
                 numbers(want, field.basic, kind), variable.dimensions, names)
            count += 1
        if count and view.sizes and all(self.are_range(part) for part in indices):
            self.coordinates(view, file, indices)

    @staticmethod
    def are_range(indices):
        return not len(indices) or list(indices) == list(range(indices[0], indices[-1] + 1))

    def dataset(self, view):
        """Reads the whole by xarray, and in part."""
        path = f"{self.point}/{view.spec_name}/whole.nc"
        if not os.path.exists(path):
            return
        with self.xarray.open_dataset(path, decode_cf=False) as file:
            for field in view.fields:
                kind = netcdf_type(field.basic)
                want = self.arrays[view.spec_name, field.name]
                if kind is not None and want.size:
                    got = file[field.name or view.name]
                    want = numbers(want.T if view.fortran else want, field.basic, kind)
                    same(f"xarray {path}", native(got[-1:].values), want[-1:])

    # VTK.

    def images(self):
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkIOXML import vtkXMLImageDataReader, vtkXMLPImageDataReader
        seen = 0
        for view in self.views:
            folder, boxes = f"{self.point}/{view.spec_name}", view.boxes()
            whole = f"{folder}/{view.name}.pvti"
            if not (boxes and view.sizes and len(view.sizes) <= 3 and view.records == 1 and
                    any(vtk_type(field.basic) for field in view.fields)):
                assert not os.path.exists(whole), view.json
                continue
            seen += 1
            everything = [(0, size) for size in view.sizes]
            files = [(f"{folder}/rank{rank}.vti", vtkXMLImageDataReader, box)
                     for rank, box in enumerate(boxes)]
            for path, reader, box in files + [(whole, vtkXMLPImageDataReader, everything)]:
                reader = reader()
                reader.SetFileName(path)
                reader.Update()
                assert reader.GetErrorCode() == 0, path
                self.image(view, path, reader.GetOutput(), box, vtk_to_numpy)
        assert seen

    def image(self, view, path, image, box, to_numpy):
        if box is None:  # nothing
            assert image.GetNumberOfCells() == 0, (path, view.json)
            return
        axes = box if view.fortran else box[::-1]
        extent = [n for start, count in axes for n in (start, start + count)]
        assert list(image.GetExtent()) == extent + [0, 0] * (3 - len(axes)), path
        origin, spacing = view.grid or ([0.5] * len(axes), [1] * len(axes))
        order = slice(None) if view.fortran else slice(None, None, -1)
        corner = (np.array(origin) - np.array(spacing) / 2)[order]
        np.testing.assert_allclose(image.GetOrigin()[:len(axes)], corner, atol=1e-12)
        np.testing.assert_allclose(image.GetSpacing()[:len(axes)], spacing[order])
        for field in view.fields:
            kind, name = vtk_type(field.basic), field.name or view.name
            if kind is None:
                assert not image.GetCellData().HasArray(name), path
                continue
            want = self.arrays[view.spec_name, field.name]
            if view.fortran:  # the values first, the slowest axis last
                want = want[..., 0] if view.has_records else want
                want = np.moveaxis(want, 0, -1) if len(field.offsets) > 1 else want
            elif view.has_records:
                want = want[0]
            want = want[tuple(slice(start, start + count) for start, count in box)]
            if view.fortran:
                want = np.moveaxis(want, range(len(box)), range(len(box))[::-1])
            got = to_numpy(image.GetCellData().GetArray(name))
            same(f"{path} {view.json}", got.reshape(-1),
                 numbers(want, field.basic, kind).reshape(-1).astype(kind, copy=False))


def compare(views, ranks, rng, size):
    spec, file = spec_of(views, ranks, rng, size, "random.dat")
    file.tofile("random.dat")
    with mounted(spec, "-o", "zarr,nc,vti") as point:
        check = Check(point, views, file)
        check.zarr_arrays()
        check.xarrays()
        check.netcdfs()
        check.images()


def compare_random():
    """Arguments: a seed, the number of views, and numbers of ranks."""
    seed, count, *all_ranks = map(int, sys.argv[1:])
    for ranks in all_ranks:
        rng = random.Random(f"{seed} {ranks}")
        size = 60000 + rng.randrange(1000)
        compare(random_views(rng, ranks, count, size), ranks, rng, size)


def compare_basics():
    rng = random.Random(1)
    compare(views_of_basics(rng, 2), 2, rng, 60000)


def refusals():
    """Calls that would change exports. Arguments: their paths."""
    for path in sys.argv[1:]:
        for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
            assert fails(os.open, path, flags) == "EROFS", (path, flags)
        for call, *arguments in ((os.truncate, path, 0), (os.chmod, path, 0o600), (os.unlink, path),
                                 (os.rename, path, path + ".x"), (os.utime, path),
                                 (os.open, path, os.O_RDONLY | os.O_TRUNC),
                                 (os.link, path, path + ".x"), (os.mkdir, path + ".x"),
                                 (os.open, path + ".x", os.O_WRONLY | os.O_CREAT),
                                 (os.setxattr, path, "user.x", b"")):
            assert fails(call, *arguments) in ("EPERM", "EROFS"), (path, call)


def written():
    """Writes to slices are visible in open exports, with each of the options."""
    for options in "", ",direct", ",cache=back", ",atomic", ",unique", ",local":
        print(f"options: {options}")
        with open("f.json") as file, mounted(json.load(file), "-o", f"zarr,nc,vti{options}") as point:
            write_to_slices(point)


def write_to_slices(point):
    import netCDF4
    import zarr
    array = zarr.open(f"{point}/zarr", mode="r")["temp"]
    want = np.arange(70.0).reshape(7, 10)
    image = os.open(f"{point}/rank3.vti", os.O_RDONLY)
    whole = os.open(f"{point}/whole.nc", os.O_RDONLY)
    ends = [os.fstat(fd).st_size for fd in (image, whole)]
    for value in (1.5, -2.5, 1e300):
        want[6, 9] = value
        with open(f"{point}/rank3", "r+b", buffering=0) as slice_:
            slice_.seek(8 * 14)
            slice_.write(np.array([value]).tobytes())
            # It is not closed yet.
            same("zarr", array[...], want)
            assert os.pread(image, 8, ends[0] - 38) == np.array([value]).tobytes()
            assert os.pread(whole, 560, ends[1] - 560) == want.astype(">f8").tobytes()
        # The netCDF library has a cache, and so the files are opened again.
        with netCDF4.Dataset(f"{point}/whole.nc") as file:
            same("whole.nc", np.asarray(file["temp"][...]), want)
        with netCDF4.Dataset(f"{point}/rank3.nc") as file:
            same("rank3.nc", np.asarray(file["temp"][...]), want[4:, 5:])
    os.close(image)
    os.close(whole)


def growing():
    """A file of records grows and shrinks while its exports are open. Argument: the mount point."""
    import netCDF4
    import xarray
    import zarr
    point = sys.argv[1]

    def resize(records, more=0):
        with open("g.dat", "r+b") as file:
            file.truncate(0)
            file.write(np.arange(12 * records + more, dtype="<i4").tobytes())

    def read():
        return zarr.open(f"{point}/zarr", mode="r")["data"]
    resize(3)
    early, lazy = read(), xarray.open_zarr(f"{point}/zarr")["data"]
    with netCDF4.Dataset(f"{point}/whole.nc") as whole:
        for records in (5, 4, 40, 7000, 4000, 3):
            resize(records, records % 12)
            want = np.arange(12 * records, dtype="<i4").reshape(records, 3, 4)
            same("early", early[...], want[:3])  # what was opened before has its shape
            same("lazy", lazy.values, want[:3])
            same("now", read()[...], want)
            same("whole", np.asarray(whole["data"][...]), want[:3])
            with netCDF4.Dataset(f"{point}/rank1.nc") as part:
                same("rank1", np.asarray(part["data"][...]), want[:, 1:2])
    resize(1)
    same("one", read()[...], np.arange(12, dtype="<i4").reshape(1, 3, 4))
    want[1:] = 0
    same("truncated", early[...], want)
    os.truncate("g.dat", 0)
    assert read().shape == (0, 3, 4)
    with netCDF4.Dataset(f"{point}/whole.nc") as whole:
        assert not whole.variables
    assert os.path.getsize(f"{point}/zarr/data/.zarray") > 0


def sum_of():
    """Prints the sum of an array. Arguments: the store, its name."""
    import zarr
    print(int(zarr.open_consolidated(sys.argv[1], mode="r")[sys.argv[2]][...].sum()))


def from_files():
    """The arrays of ocean.nc, which a mount shows at the given point."""
    import netCDF4
    import xarray
    point = sys.argv[1]
    with netCDF4.Dataset("ocean.nc") as ocean:
        whole = xarray.open_zarr(f"{point}/zarr", decode_cf=False)
        for name in ("temp", "time"):
            want = np.asarray(ocean[name][...])
            same(name, native(whole[name].values), want)
            with netCDF4.Dataset(f"{point}/{name}/whole.nc") as copy:
                same(name, np.asarray(copy[name][...]), want)


def labels():
    """xarray opens stores whose views have dimensions and arrays of the same names."""
    import xarray
    np.arange(64, dtype="<i4").tofile("f.dat")

    def view(sizes, etype="int", **keys):
        return {"etype": etype, "tiles": 1, **keys, "filetype": {
            "type": "subarray", "sizes": sizes, "subsizes": sizes, "starts": [0] * len(sizes),
            "order": "C"}}

    def grid(*origin):
        return {"origin": origin, "spacing": [2] * len(origin)}
    yx = ["y", "x"]
    pair = {"type": "struct", "blocklengths": [1, 1], "displacements": [0, 4],
            "types": ["int", "uint32_t"]}
    for views, want in (
            ({"a": view([4, 8], dims=yx), "b": view([5, 8], dims=yx)},
             {"a": yx, "b": ["b_y", "x"]}),
            ({"a": view([4, 8], dims=yx, grid=grid(0, 1)),
              "b": view([4, 8], dims=yx, grid=grid(5, 1)), "c": view([4, 8], dims=yx)},
             {"a": yx, "b": ["b_y", "x"], "c": yx, "y": [0, 2, 4, 6], "b_y": [5, 7, 9, 11],
              "x": [1, 3, 5, 7, 9, 11, 13, 15]}),
            ({"c": view([4, 8], dims=yx), "a": view([4, 8], dims=yx, grid=grid(0, 1)),
              "b": view([4, 8], dims=yx, grid=grid(5, 1))},
             {"c": yx, "a": yx, "b": ["b_y", "x"], "y": [0, 2, 4, 6], "b_y": [5, 7, 9, 11],
              "x": [1, 3, 5, 7, 9, 11, 13, 15]}),
            ({"x": view([4, 8], dims=yx), "y": view([4], dims=["y"]),
              "t": view([4], dims=["y"], grid=grid(1))},
             {"x": ["y", "x_"], "y": ["y"], "t": ["y"]}),
            ({"x": view([4], name="a"), "y": view([4, 8], name="a", dims=yx)},
             {"a": ["x_dim_0"], "y": ["y_y", "x"]}),
            ({"p": view([4, 2], pair, dims=["f1", "x"], grid=grid(1, 1)),
              "q": view([3], dims=["x"])},
             {"q": ["x"]})):
        with mounted({"viewspec": 1, "file": "f.dat", "views": views}, "-o", "zarr") as point:
            store = xarray.open_zarr(f"{point}/zarr")
            got = {name: list(variable.dims) if name in store.data_vars or name in views
                   else variable.values.tolist() for name, variable in store.variables.items()}
            assert got == want, got
            for name in set(views) & set(store.variables):
                same(name, store[name].values.ravel(),
                     np.arange(store[name].size, dtype="<i4"))
            if "p" in views:
                group = xarray.open_zarr(f"{point}/zarr", group="p", consolidated=False)
                assert group.f0.dims == group.f1.dims == ("f1_", "x")
                assert group.x.values.tolist() == [1, 3]
                assert group.f1.values.ravel().tolist() == list(range(1, 16, 2))
