# SPDX-License-Identifier: MIT
"""P21: xarray reads chunks of a mount's Zarr store. NumPy copies the same blocks from a mapping."""
import json
import os
import shutil
import time
from functools import partial

from testbed import Failure, Unavailable, at_once, import_numpy

GRID = 2  # blocks in each of the three dimensions
THREADS = 4
LAST = (GRID - 1, 0, GRID - 1)  # the block that is read alone


def modules():
    try:
        import dask
        import xarray
        import zarr
    except ImportError as error:
        raise Unavailable(f"{error.name} is not installed (python3-xarray, python3-zarr, "
                          "python3-dask)") from error
    return dask, xarray, zarr


def shape_of(bench):
    return [bench.size // 8 // 512 // 512, 512, 512]


def blocks_spec(bench, setting):
    """Returns the file as an array of doubles, in blocks of the ranks."""
    path = bench.dir / "blocks.json"
    path.write_text(json.dumps(
        {"viewspec": 1, "file": str(bench.file(setting)), "ranks": GRID ** 3,
         "view": {"etype": "double", "tiles": 1,
                  "filetype": {"type": "darray", "gsizes": shape_of(bench), "order": "C",
                               "distribs": ["block"] * 3, "dargs": [None] * 3,
                               "psizes": [GRID] * 3}}}))
    return path


def blocks():
    return [(i, j, k) for i in range(GRID) for j in range(GRID) for k in range(GRID)]


def block_of(bench, array, block):
    """Returns a block of an array that can be cut."""
    return array[tuple(slice(i * size // GRID, (i + 1) * size // GRID)
                       for i, size in zip(block, shape_of(bench)))]


def mapping(bench, setting):
    return import_numpy().memmap(bench.file(setting), "<f8", mode="r", shape=tuple(shape_of(bench)))


def mb_of_block(bench):
    return bench.size / GRID ** 3 / 1e6


def run_blocks_numpy(bench, setting):
    numpy = import_numpy()

    def copy(block):
        return numpy.ascontiguousarray(block_of(bench, mapping(bench, setting), block))
    start = time.perf_counter()
    copy(LAST)
    values = {"one": mb_of_block(bench) / (time.perf_counter() - start)}
    todo = iter(blocks())
    parts, seconds = at_once(lambda: [copy(block) for block in todo_of(todo)], [()] * THREADS)
    if sum(map(len, parts)) != GRID ** 3:
        raise Failure("NumPy: blocks are missing")
    return {**values, "all": bench.size / seconds / 1e6}


def todo_of(iterator):
    """Yields what is left. Threads can share the iterator."""
    while (item := next(iterator, None)) is not None:
        yield item


def read_store(bench, store):
    """Reads one chunk by xarray, and all chunks by dask with threads."""
    dask, xarray, _ = modules()
    array = xarray.open_zarr(str(store))["data"]
    start = time.perf_counter()
    block_of(bench, array, LAST).to_numpy()
    values = {"one": mb_of_block(bench) / (time.perf_counter() - start)}
    with dask.config.set(scheduler="threads", num_workers=THREADS):
        start = time.perf_counter()
        dask.compute(*array.data.to_delayed().ravel())
        return {**values, "all": bench.size / (time.perf_counter() - start) / 1e6}


def run_blocks_mount(bench, setting):
    with bench.mounted(blocks_spec(bench, setting), "-o", "zarr,direct") as point:
        return read_store(bench, point / "zarr")


def copy_store(bench, setting):
    """Makes the same store of plain files, in the page cache."""
    store = bench.dir / "plain.zarr"
    with bench.mounted(blocks_spec(bench, setting), "-o", "zarr") as point:
        shutil.copytree(point / "zarr", store)
    os.sync()
    for path in (store / "data").iterdir():
        bench.readers[0].read(path)
    return store


def run_blocks_plain(bench, setting):
    return read_store(bench, bench.once("plain.zarr", partial(copy_store, bench, setting)))


def verify_blocks(bench, setting):
    """Compares all blocks with NumPy's."""
    _, xarray, _ = modules()
    numpy, words = import_numpy(), mapping(bench, setting)
    with bench.mounted(blocks_spec(bench, setting), "-o", "zarr") as point:
        array = xarray.open_zarr(str(point / "zarr"))["data"]
        for block in blocks():
            got = block_of(bench, array, block).to_numpy()
            if not numpy.array_equal(got.view("u8"), block_of(bench, words, block).view("u8")):
                raise Failure(f"{setting.name}: wrong data")


def store_runners():
    return {"blocks_mount": run_blocks_mount, "blocks_numpy": run_blocks_numpy,
            "blocks_plain": run_blocks_plain}
