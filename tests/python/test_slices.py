# SPDX-License-Identifier: MIT
"""Slices of ranks, and the array of all ranks, beside NumPy's reading of the file."""
import random

import mpiio
import numpy as np
import pytest
from mpiio import _arrays
from model import Case, Struct, outcome, random_key, same

CASES = [(kind, seed) for kind, count in ((Case, 120), (Struct, 40)) for seed in range(count)]


@pytest.fixture(autouse=True, params=[_arrays.SCATTERED, 0], ids=["by runs", "by boxes"])
def scattered(request, monkeypatch):
    """Runs each test both with and without views of boxes for what is scattered in a slice."""
    monkeypatch.setattr(_arrays, "SCATTERED", request.param)


def case_of(kind, seed):
    return kind(random.Random(f"{kind.__name__} {seed}"))


def check_array(ours, want, case, keys):
    assert ours.shape == want.shape and len(ours.shape) == ours.ndim
    assert ours.nbytes == want.size * ours.dtype.itemsize and ours.size == want.size
    if want.size:
        assert ours.order == case.order or sum(n > 1 for n in want.shape) < 2
    assert same(np.asarray(ours), want)
    for _ in range(keys):
        key = random_key(case.random, want.shape)
        theirs = outcome(lambda: want[key])
        result = outcome(lambda: ours[key])
        assert same(result, theirs), key
        assert isinstance(theirs, type) or isinstance(result, np.ndarray) == \
            isinstance(theirs, np.ndarray), key


@pytest.mark.parametrize("kind,seed", CASES)
def test_slices_are_those_of_numpy(kind, seed):
    case = case_of(kind, seed)
    with mpiio.open("a.json") as file:
        assert file.ranks == len(file) == case.ranks == len(list(file))
        for rank in range(case.ranks):
            want = case.array[case.indices(rank)]
            if want.size:
                check_array(file[rank], want, case, 5)
            else:
                assert file[rank].size == 0


@pytest.mark.parametrize("kind,seed", CASES)
def test_the_whole_is_that_of_numpy(kind, seed):
    case = case_of(kind, seed)
    with mpiio.open("a.json") as file:
        whole = file.whole
        check_array(whole, case.array, case, 10)
        assert len(whole.dims) == len(whole.block) == whole.ndim
        assert whole.fields == (case.layout.names or ())
        for name in whole.fields:
            want = case.array[name]
            if want.ndim > case.array.ndim and case.order == "F":
                want = np.moveaxis(want, -1, 0)
            check_array(whole[name], want, case, 3)


def changed(case, file, rank, key):
    """Writes random values to a key of a slice (of the whole if rank is None). Returns the array
    that the file must hold then, or None if the key is wrong."""
    array = case.array.copy(case.order)
    numbers = np.arange(array.size).reshape(array.shape, order=case.order)
    part = numbers if rank is None else numbers[case.indices(rank)]
    chosen = outcome(lambda: part[key])
    ours = file.whole if rank is None else file[rank]
    if isinstance(chosen, type):
        with pytest.raises(chosen):
            ours[key] = case.values(())
        return None
    chosen = np.asarray(chosen)
    value = case.values(chosen.shape)
    ours[key] = value
    flat = array.ravel(order=case.order)
    flat[chosen.ravel()] = value.ravel()
    return flat.reshape(array.shape, order=case.order)


def with_gaps(case, array):
    """Returns the file's bytes with this array, and with the file's own gaps in structures."""
    if not case.layout.names:
        return case.bytes_of(array)
    with open("a.dat", "rb") as file:
        now = bytearray(file.read())
    layout = case.layout.newbyteorder() if case.swapped else case.layout
    held = np.frombuffer(now, layout, offset=case.header)
    for name in case.layout.names:
        held[name] = array.ravel(order=case.order)[name]
    return bytes(now)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind,seed", CASES)
def test_assignments_change_these_bytes_alone(kind, seed, whole):
    case = case_of(kind, seed)
    ranks = [None] if whole else [rank for rank in range(case.ranks)
                                  if case.array[case.indices(rank)].size]
    with mpiio.open("a.json", mode="r+") as file:
        for rank in ranks:
            for _ in range(4):
                part = case.array if rank is None else case.array[case.indices(rank)]
                array = changed(case, file, rank, random_key(case.random, part.shape))
                case.array = case.array if array is None else array
                want = with_gaps(case, case.array)
                with open("a.dat", "rb") as after:
                    assert after.read() == want


def test_a_scalar_and_a_row_are_broadcast(field):
    with mpiio.open("field.json", mode="r+") as file:
        file[3][1:, :2] = -1
        file[0][0] = np.arange(5)
        file.whole[6, ::-1] = range(10)
    field[5:, 5:7] = -1
    field[0, :5] = range(5)
    field[6] = range(9, -1, -1)
    assert (np.fromfile("field.dat", offset=64).reshape(7, 10) == field).all()


def test_an_element_of_several_values_has_one_more_dimension():
    np.arange(24.0).tofile("v.dat")
    spec = {"viewspec": 1, "file": "v.dat", "ranks": 2, "view": {
        "etype": {"type": "contiguous", "count": 3, "oldtype": "double"},
        "filetype": {"type": "darray", "gsizes": [4, 2], "distribs": ["block", "none"],
                     "dargs": [None, None], "psizes": [2, 1], "order": "C"}}}
    want = np.arange(24.0).reshape(4, 2, 3)
    with mpiio.open(spec, mode="r+") as file:
        assert file[1].shape == (2, 2, 3) and (np.asarray(file[1]) == want[2:]).all()
        assert file.whole.shape == want.shape and (file.whole[:, 1, 2] == want[:, 1, 2]).all()
        file.whole[1:3, 0, 1] = -1
    want[1:3, 0, 1] = -1
    assert (np.fromfile("v.dat") == want.ravel()).all()


def test_external32_has_other_sizes():
    np.arange(12, dtype=">i4").tofile("x.dat")
    with mpiio.open(file="x.dat", view="darray 12 block on 3 of long as external32",
                    mode="r+") as file:
        assert file[1].dtype == np.int64 and file[1][...].tolist() == [4, 5, 6, 7]
        assert file.whole[::5].tolist() == [0, 5, 10]
        file[1][1:3] = [-1, -2]
        with pytest.raises(OverflowError):
            file[1][0] = 2**80
        with pytest.raises(OSError, match="(?i)range"):
            file[1][0] = 2**40
    assert np.fromfile("x.dat", ">i4").tolist() == [0, 1, 2, 3, 4, -1, -2, 7, 8, 9, 10, 11]


def test_a_slice_in_another_order_than_the_file():
    want = np.arange(16.0).reshape(4, 4)
    want.tofile("m.dat")
    spec = {"viewspec": 1, "file": "m.dat", "ranks": 1, "view": {
        "etype": "double", "memory": "Fortran", "filetype": {
            "type": "subarray", "sizes": [4, 4], "subsizes": [4, 4], "starts": [0, 0],
            "order": "C"}}}
    with mpiio.open(spec, mode="r+") as file:
        part = file[0]
        assert part.order == "F" and (part[...] == want).all()
        assert (part[1:3, 2:] == want[1:3, 2:]).all() and (part[2] == want[2]).all()
        part[1:, 1:3] = want[1:, 1:3] = [[-1, -2], [-3, -4], [-5, -6]]
    assert (np.fromfile("m.dat").reshape(4, 4) == want).all()


def test_a_part_of_a_value_is_stored():
    np.array([1, 2], ">i4").tofile("p.dat")
    gaps = {"type": "resized", "lb": 0, "extent": 9, "oldtype": "long"}
    with mpiio.open({"viewspec": 1, "file": "p.dat", "ranks": 1, "view": {
            "etype": "long", "datarep": "external32", "buftype": gaps}}, mode="r+") as file:
        assert file[0].dtype == np.uint8
        file[0][1:3] = [2, 3]
        with pytest.raises(OSError, match="(?i)range"):
            file[0][13:15] = 1  # more than the file's four bytes can hold
    assert np.fromfile("p.dat", ">i4").tolist() == [0x030201, 2]
