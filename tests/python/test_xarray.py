# SPDX-License-Identifier: MIT
"""The engine of xarray, in threads by dask, too."""
import json
import pickle

import dask
import mpiio
import numpy as np
import pytest
import xarray


def open_dataset(spec, **arguments):
    """Opens the dataset of a spec."""
    with open("spec.json", "w", encoding="utf-8") as file:
        json.dump(spec, file)
    return xarray.open_dataset("spec.json", engine="mpiio", **arguments)


def test_a_dataset_of_a_spec_is_lazy_and_labelled(field):
    for arguments in ({"engine": "mpiio"}, {}):  # xarray recognises a spec by itself
        with xarray.open_dataset("field.json", **arguments) as dataset:
            assert list(dataset) == ["data"] and dataset.data.dims == ("dim_0", "dim_1")
            assert not dataset.data._in_memory
            assert dataset.data[1:, [0, 3]].identical(
                xarray.DataArray(field[1:, [0, 3]], dims=["dim_0", "dim_1"], name="data"))
            assert dataset.data[5].values.tolist() == field[5].tolist()
            assert not dataset.data._in_memory
            assert (dataset.data.values == field).all()
    with pytest.raises(ValueError, match="closed file"):
        xarray.open_dataset("field.json").pipe(lambda opened: (opened.close(), opened.data.values))


def test_dask_reads_the_blocks_of_ranks_in_threads(field):
    with xarray.open_dataset("field.json", engine="mpiio", chunks={}) as dataset:
        assert dataset.data.chunks == ((4, 3), (5, 5))
        with dask.config.set(scheduler="threads", num_workers=4):
            assert float(dataset.data.sum()) == field.sum()
            for _ in range(20):
                assert (dataset.data.T[::-2].compute() == field.T[::-2]).all()
        copy = pickle.loads(pickle.dumps(dataset.data))
        assert float(copy.max()) == field.max()


def test_a_shorthand_and_overrides(field):
    view = "darray (rows)x10 block,none on 7 of double at 64"
    with xarray.open_dataset("field.dat", engine="mpiio", view=view, defines={"rows": 7},
                             chunks={}) as dataset:
        assert (dataset.data.values == field).all() and dataset.data.chunks[0] == (1,) * 7
    with xarray.open_dataset("field.json", engine="mpiio", drop_variables="data") as dataset:
        assert not list(dataset)


def test_names_dimensions_and_grid_come_from_the_spec(field):
    filetype = {"type": "darray", "gsizes": [7, 10], "distribs": ["block", "block"],
                "dargs": [None, None], "psizes": [2, 2], "order": "C"}
    with open_dataset({"viewspec": 1, "file": "field.dat", "ranks": 4, "view": {
            "name": "temperature", "dims": ["y", "x"], "disp": 64, "etype": "double",
            "grid": {"origin": [10, -1], "spacing": [0.5, 2]}, "filetype": filetype}}) as dataset:
        assert list(dataset) == ["temperature"]
        assert dataset.y.values.tolist() == [10, 10.5, 11, 11.5, 12, 12.5, 13]
        assert float(dataset.temperature.sel(y=11, x=3)) == field[2, 2]
        assert dataset.temperature.isel(x=slice(2)).x.values.tolist() == [-1, 1]


def test_several_views_are_several_variables(field):
    rows = {"disp": 64, "etype": "double", "filetype": {
        "type": "darray", "gsizes": [7, 10], "distribs": ["block", "none"], "dargs": [None, None],
        "psizes": [2, 1], "order": "C"}}
    flat = {**rows, "filetype": {"type": "darray", "gsizes": [70], "distribs": ["block"],
                                 "dargs": [None], "psizes": [2], "order": "C"}}
    odd = {"etype": "byte", "filetype": {"type": "indexed", "blocklengths": [1],
                                         "displacements": ["rank"]}}
    spec = {"viewspec": 1, "file": "field.dat", "ranks": 2,
            "views": {"one": rows, "two": flat, "odd": odd}}
    with pytest.warns(UserWarning, match="odd is left out: .*form no array"):
        dataset = open_dataset(spec)
    assert sorted(dataset) == ["one", "two"]
    assert (dataset.one.values == field).all() and (dataset.two.values == field.ravel()).all()
    spec["views"] = {"one": {**rows, "dims": ["a", "b"]}, "two": {**flat, "dims": ["a"]}}
    with open_dataset(spec) as dataset:
        assert dataset.one.dims == ("a", "b") and dataset.two.dims == ("two_a",)
    gridded = {**rows, "dims": ["a", "b"], "grid": {"origin": [1, 2]}}
    spec["views"] = {"one": {**rows, "dims": ["a", "b"]}, "two": gridded, "a": {
        **flat, "dims": ["c"]}}
    with open_dataset(spec) as dataset:  # the coordinates belong to both
        assert dataset.one.dims == dataset.two.dims == ("a", "b")
        assert dataset.b.values.tolist() == list(range(2, 12)) and dataset.a.dims == ("c",)
    spec["views"] = {"one": {**flat, "name": "a"}, "two": {**rows, "name": "a",
                                                         "dims": ["two", "a"]}}
    with open_dataset(spec) as dataset:
        assert dataset.two.dims == ("two_two", "a_")
    spec["views"] = {"one": {**rows, "name": "two"}, "two": rows}
    with pytest.raises(mpiio.SpecError, match='two arrays are called "two"'):
        open_dataset(spec)
    spec["views"] = {"odd": odd, "other": odd}
    with pytest.warns(UserWarning), pytest.raises(mpiio.SpecError, match="no view is an array"):
        open_dataset(spec)


def test_a_struct_view_has_a_variable_for_each_field():
    values = np.zeros((3, 4), [("p", "f8"), ("v", "f4", (2,)), ("id", "i4")])
    values["p"] = np.arange(12).reshape(3, 4)
    values["v"] = np.arange(24).reshape(3, 4, 2)
    values["id"] = -values["p"]
    values.tofile("s.dat")
    etype = {"type": "struct", "blocklengths": [1, 2, 1], "displacements": [0, 8, 16],
             "types": ["double", "float", "int"]}
    with open_dataset({"viewspec": 1, "file": "s.dat", "ranks": 2, "view": {
            "etype": {"type": "resized", "lb": 0, "extent": 20, "oldtype": etype},
            "filetype": {"type": "darray", "gsizes": [3, 4], "distribs": ["none", "block"],
                         "dargs": [None, None], "psizes": [1, 2], "order": "C"}}},
            chunks={}) as dataset:
        assert list(dataset) == ["f0", "f1", "f2"]
        for ours, theirs in zip(dataset, ("p", "v", "id")):
            assert (dataset[ours].values == values[theirs]).all()
        assert dataset.f1.dims[:2] == dataset.f0.dims and dataset.f1.chunks == ((3,), (2, 2), (2,))


def test_an_etype_of_many_fields_is_looked_at_once(monkeypatch):
    count = 300
    values = np.arange(2 * count, dtype="<i4")
    values.tofile("s.dat")
    calls = []
    new = mpiio._arrays.lib.vs_global_new
    monkeypatch.setattr(mpiio._arrays.lib, "vs_global_new", lambda *a: calls.append(1) or new(*a))
    with open_dataset({"viewspec": 1, "file": "s.dat", "view": {
            "tiles": 2, "etype": {
                "type": "struct", "blocklengths": [1] * count, "types": ["int", "uint32_t"] * 150,
                "displacements": [4 * i for i in range(count)]}}}) as dataset:
        assert len(dataset) == count and len(calls) == 1
        assert dataset.f299.values.tolist() == [299, 599]


@pytest.mark.parametrize("order", ["C", "Fortran"])
def test_records_are_a_dimension(order):
    values = np.arange(5 * 6 * 4, dtype=">f4")
    values.tofile("r.dat")
    want = values.reshape(5, 6, 4) if order == "C" else values.reshape(4, 6, 5, order="F")
    with open_dataset({"viewspec": 1, "file": "r.dat", "ranks": 2, "view": {
            "etype": "float", "datarep": "big-endian",
            "filetype": {"type": "darray", "gsizes": list(want.shape[1:] if order == "C" else
                                                          want.shape[:2]),
                         "distribs": ["block", "none"], "dargs": [None, None], "psizes": [2, 1],
                         "order": order}}}, chunks={}) as dataset:
        assert dataset.data.shape == want.shape and dataset.data.dtype == np.float32
        assert (dataset.data.values == want).all()
        at = 0 if order == "C" else 2
        assert dataset.data.chunks[at] == (5,)  # many small records make a chunk
        assert len(dataset.data.chunks[1 if order == "C" else 0]) == 2
        ours = dataset.data.isel({dataset.data.dims[at]: slice(1, 4, 2)}).values
        assert (ours == (want[1:4:2] if order == "C" else want[..., 1:4:2])).all()


def test_an_error_closes_the_file_and_is_raised(field):
    with pytest.raises(mpiio.SpecError, match="unknown key"):
        open_dataset({"viewspec": 1, "no": 1})
    with pytest.raises(FileNotFoundError):
        xarray.open_dataset("none.json", engine="mpiio")
    from mpiio._xarray import MpiioBackendEntrypoint
    guess = MpiioBackendEntrypoint().guess_can_open
    assert guess("field.json")
    assert not guess("field.dat") and not guess("none") and not guess(b"CDF")
