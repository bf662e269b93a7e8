# SPDX-License-Identifier: MIT
"""The runners of python3-mpiio, beside NumPy's way to the same arrays."""
import ctypes
import json
import sys
import time

from testbed import BUILD, TOP, Failure, Unavailable, import_numpy


def import_mpiio():
    """Returns the module of the sources, with the library of the build."""
    library, folder = BUILD / "src/core/libmpiio.so.0", str(TOP / "src/python")
    if not library.exists():
        raise Unavailable(f"{library} is not there")
    ctypes.CDLL(str(library))  # found by its name from here on
    if folder not in sys.path:
        sys.path.insert(0, folder)
    import mpiio
    return mpiio


def touch_memory(numpy, bench):
    """Touches as much memory as a slice needs, and frees it. The host of a virtual machine may
    provide memory only when it is first used. That takes several times as long as reading."""
    numpy.ones(bench.slice // 8)


def run_python(bench, setting):
    """Measures with opening the file, without the start of the interpreter."""
    numpy, mpiio = import_numpy(), import_mpiio()
    touch_memory(numpy, bench)
    start = time.perf_counter()
    with mpiio.open(bench.spec(setting)) as file:
        numpy.asarray(file[0])
    return {"read": bench.slice / (time.perf_counter() - start) / 1e6}


def run_python_numpy(bench, setting):
    numpy = import_numpy()
    touch_memory(numpy, bench)
    start = time.perf_counter()
    numpy.ascontiguousarray(bench.expected(setting, 0))
    return {"read": bench.slice / (time.perf_counter() - start) / 1e6}


def cube_spec(bench, setting):
    """Returns the spec of the file as a cube of doubles in blocks of 2 x 2 x 2 ranks, and the
    cube's side."""
    side = 320 if bench.quick else 512
    path = bench.dir / "cube.json"
    path.write_text(json.dumps(
        {"viewspec": 1, "file": str(bench.file(setting)), "ranks": 8,
         "view": {"etype": "double", "tiles": 1, "filetype": {
             "type": "darray", "gsizes": [side] * 3, "distribs": ["block"] * 3,
             "dargs": [None] * 3, "psizes": [2] * 3, "order": "C"}}}))
    return path, side


def planes(numpy, block):
    """Copies a plane of a block in each direction."""
    at = len(block) // 3
    return [numpy.ascontiguousarray(block[key])
            for key in (at, (slice(None), at), (slice(None), slice(None), at))]


def measure_planes(numpy, block, start):
    taken = planes(numpy, block)
    return {"rate": sum(plane.nbytes for plane in taken) / (time.perf_counter() - start) / 1e6}


def run_planes(bench, setting):
    numpy, mpiio = import_numpy(), import_mpiio()
    path, _ = cube_spec(bench, setting)
    start = time.perf_counter()
    with mpiio.open(path) as file:
        return measure_planes(numpy, file[7], start)


def numpy_block(numpy, bench, setting):
    """Returns the block of rank 7 by numpy: a strided view of the file."""
    side = cube_spec(bench, setting)[1]
    half = slice(side // 2, None)
    return numpy.memmap(bench.file(setting), "f8", mode="r", shape=(side,) * 3)[half, half, half]


def run_planes_numpy(bench, setting):
    numpy = import_numpy()
    start = time.perf_counter()
    return measure_planes(numpy, numpy_block(numpy, bench, setting), start)


def verify_arrays(bench, setting, runners):
    """Checks that the module reads the same bytes as numpy."""
    if not runners & {"python", "planes"}:
        return
    numpy, mpiio = import_numpy(), import_mpiio()
    if "python" in runners:
        with mpiio.open(bench.spec(setting)) as file:
            ours, theirs = [numpy.asarray(file[1])], [bench.expected(setting, 1)]
    else:
        with mpiio.open(cube_spec(bench, setting)[0]) as file:
            ours = planes(numpy, file[7])
        theirs = planes(numpy, numpy_block(numpy, bench, setting))
    for one, other in zip(ours, theirs):
        if one.tobytes() != other.tobytes():
            raise Failure(f"{setting.name}, python3-mpiio: wrong data")


def array_runners():
    return {"python": run_python, "python_numpy": run_python_numpy, "planes": run_planes,
            "planes_numpy": run_planes_numpy}
