# SPDX-License-Identifier: MIT
"""The runners of scripts/bench. Each measures one round in a setting, and returns its values by
name. Its bytes must be right before its speed counts: see verify."""
import contextlib
import json
import os
import re
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import Callable

from arrays import array_runners, verify_arrays
from blocks import block_runners
from distributed import distributed_runners
from pool import run_pool
from records import record_runners
from stores import store_runners, verify_blocks
from testbed import (CALL, MIB, RANKS, Failure, Unavailable, at_once, drop, import_numpy, note,
                     opened, program, rate, run, write_slice, write_together)

# The six times of DONIO.
PHASES = ("wopen", "write", "wclose", "ropen", "read", "rclose")


def run_mount(bench, setting, datarep="native"):
    with bench.mounted(bench.spec(setting, datarep)) as point:
        return {"cold": rate(point / "rank0", bench.slice, bench.readers[0]),
                "again": rate(point / "rank0", bench.slice, bench.readers[0])}


def run_direct(bench, setting):
    with bench.mounted(bench.spec(setting), "-o", "direct") as point:
        return {"cold": rate(point / "rank0", bench.slice, bench.readers[0])}


def run_two(bench, setting):
    """Reads two slices at once, both cold. Measures the bytes of both until the later one has
    finished."""
    with bench.mounted(bench.spec(setting)) as point:
        reads, seconds = at_once(lambda rank, reader: reader.read(point / f"rank{rank}"),
                                 list(enumerate(bench.readers)))
    totals = [total for total, _ in reads]
    if totals != [bench.slice] * 2:
        raise Failure(f"two slices at once: {totals} bytes instead of {bench.slice} each")
    return {"cold": sum(totals) / seconds / 1e6}


def transposed(bench, setting):
    """Returns the matrix by numpy: a strided view of the file."""
    numpy, side = import_numpy(), bench.matrix()
    return numpy.memmap(bench.file(setting), "<u8", mode="r", shape=(side, side)).T


def rate_under(bench, how, expected, *paths):
    """Returns the MB/s at which a program under mpiio-run reads the files."""
    rate_of_all, total = bench.worker(how, *paths)
    if total != expected:
        raise Failure(f"under mpiio-run: {total} bytes instead of {expected}")
    return rate_of_all


def rate_of(bench, path, expected, under):
    if under:
        return rate_under(bench, "read", expected, path)
    return rate(path, expected, bench.readers[0])


def run_transposed(bench, setting, under=False):
    with bench.mounted(bench.matrix_spec(setting)) as point:
        return {"cold": rate_of(bench, point / "rank0", bench.matrix() ** 2 * 8, under)}


def run_transposed_numpy(bench, setting):
    numpy, words = import_numpy(), transposed(bench, setting)
    start = time.perf_counter()
    numpy.ascontiguousarray(words)
    return {"rate": words.nbytes / (time.perf_counter() - start) / 1e6}


def run_passthrough(bench, _setting):
    with bench.passthrough() as point:
        path = point / bench.plain().name
        return {"cold": rate(path, bench.slice, bench.readers[0]),
                "again": rate(path, bench.slice, bench.readers[0])}


def run_plain(bench, _setting):
    return {"read": rate(bench.plain(), bench.slice, bench.readers[0])}


def run_romio(bench, setting):
    return {"read": bench.slice / float(bench.romio_slice("read", setting, 0)) / 1e6}


def run_write_mount(bench, setting, datarep="native", sync=True):
    """Writes two slices at once into a new file, until both are on the device or, without sync,
    until both are closed."""
    data = bench.write_data(setting)
    out = bench.fresh("out.dat")
    with bench.mounted(bench.write_spec(setting, datarep)) as point:
        _, seconds = at_once(write_slice,
                             [(point / f"rank{rank}", data[rank], sync) for rank in (0, 1)])
    bench.check_written(out, setting.name, datarep)
    return {"rate": 2 * bench.write / seconds / 1e6}


def run_under(bench, setting, slices=1, how="read"):
    """Reads slices at once, by a program under mpiio-run."""
    with bench.mounted(bench.spec(setting)) as point:
        return {"cold" if how == "read" else how:
                rate_under(bench, how, slices * bench.slice,
                           *(point / f"rank{i}" for i in range(slices)))}


def run_write_under(bench, setting, sync=1):
    out = bench.fresh("out.dat")
    with bench.mounted(bench.write_spec(setting)) as point:
        rate_of_all, _ = bench.worker("write", setting.run, bench.write, sync,
                                      point / "rank0", point / "rank1")
    bench.check_written(out, f"{setting.name}, mpiio-run")
    return {"rate": rate_of_all}


def run_write_plain(bench, setting):
    """Writes the same bytes, half and half, into a new file without views."""
    data = bench.write_data(setting)
    out = bench.fresh("out.dat")
    _, seconds = at_once(write_slice, [(out, data[half], False, half * bench.write)
                                       for half in (0, 1)])
    return {"rate": 2 * bench.write / seconds / 1e6}


def write_by_romio(bench, setting, mode):
    """Writes into a new file. Returns the MB/s."""
    out = bench.fresh("out.dat")
    seconds = float(bench.romio(mode, out, setting.run, bench.write, CALL, ranks=2))
    bench.check_written(out, f"{setting.name}, ROMIO {mode}")
    return 2 * bench.write / seconds / 1e6


def run_write_romio(bench, setting):
    """The better of independent and collective writing."""
    values = {}
    for mode in ("write", "write_all"):
        try:
            values[f"{mode}_rate"] = write_by_romio(bench, setting, mode)
        except Failure as error:  # one of them may lose data; the other still counts
            note(f"{setting.name}, ROMIO {mode}: {error}")
    if not values:
        raise Failure(f"{setting.name}: ROMIO wrote nothing right")
    return {"rate": max(values.values()), **values}


def run_write_all(bench, setting):
    return {"rate": write_by_romio(bench, setting, "write_all")}


def stats_of(point):
    return json.loads((point / ".mpiio/stats.json").read_text())


def run_write_nodes(bench, setting):
    """Two nodes write a slice each at once into a new file."""
    data = bench.write_data(setting)
    out = bench.fresh("out.dat")
    with bench.mounted_nodes(bench.write_spec(setting), 2) as points, \
            opened(points, os.O_WRONLY) as files:
        seconds = write_together(files, data)
        bench.check_written(out, f"{setting.name}, two nodes")
        counters = [stats_of(point)["cluster"] for point in points]
    return {"rate": 2 * bench.write / seconds / 1e6,
            "stored": sum(counter["stored_bytes"] for counter in counters) / (2 * bench.write)}


def processor_seconds(pid):
    """Returns the processor time of a process, in all its threads."""
    return sum(int(path.read_text().split()[0])
               for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def idle_percent(bench, point):
    """Returns the processor share of the busiest process of a mount."""
    mark = f"MPIIO_BENCH={bench.dir}".encode()
    pids = []
    (point / "rank0").stat()
    time.sleep(1)
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes().split(b"\0"):
                pids.append(int(path.parent.name))
    before = {pid: processor_seconds(pid) for pid in pids}
    time.sleep(bench.idle)
    return max(processor_seconds(pid) - before[pid] for pid in pids) / bench.idle * 100


def run_idle(bench, setting):
    bench.fresh("out.dat")
    with bench.mounted(bench.write_spec(setting)) as point:
        values = {"one": idle_percent(bench, point)}
    with contextlib.suppress(Unavailable), \
            bench.mounted_nodes(bench.write_spec(setting), 3) as points:
        values["three"] = idle_percent(bench, points[0])
    return values


def donio(bench, setting, path, *mode, start=run):
    """Returns the rate over all six phases, and the seconds of each."""
    binary = bench.program_of_build("bench-donio", "bench-donio was not built")
    times = [float(word) for word in start(binary, path, *setting.grid, 4, *mode).split()]
    nx, ny, nz = (points - 1 for points in setting.grid)
    return {"rate": 2 * nx * ny * nz * 32 / sum(times) / 1e6, **dict(zip(PHASES, times))}


def run_donio_mount(bench, setting, options=(), under=False):
    bench.fresh("out.dat")
    with bench.mounted(bench.write_spec(setting), *options) as point:
        return donio(bench, setting, point / "rank0", start=bench.under if under else run)


def run_donio_plain(bench, setting, *mode):
    return donio(bench, setting, bench.fresh("out.dat"), *mode)


def run_cat(bench, setting):
    """Measures with the start of the process, as users experience it."""
    with open(os.devnull, "wb") as null:
        start = time.perf_counter()
        subprocess.run([bench.view(), "cat", bench.spec(setting), "-r", "0"], stdout=null,
                       check=True)
        return {"read": bench.slice / (time.perf_counter() - start) / 1e6}


def run_numpy(bench, setting):
    """Makes a strided copy from a new mapping of the file, into memory that was touched before."""
    numpy = import_numpy()
    values = {}
    for name, block in (("whole", bench.slice), ("blocks", CALL)):
        target = numpy.ones((block // setting.run, setting.run // 8), numpy.uint64)
        start = time.perf_counter()
        source = bench.expected(setting, 0)
        for first in range(0, len(source), len(target)):
            numpy.copyto(target, source[first:first + len(target)])
        values[name] = bench.slice / (time.perf_counter() - start) / 1e6
        del source
    return values


def run_start(bench, _setting, name, ranks, doubles):
    """Mounts, reads the first byte, unmounts."""
    path, spec = bench.dir / f"{name}.dat", bench.dir / f"{name}.json"
    if not spec.exists():
        try:
            with open(path, "wb") as file:
                file.write(b"Z")
                file.truncate(doubles * 8)
        except OSError as error:
            raise Unavailable(f"no sparse file of {doubles * 8:g} bytes here: {error.strerror}") \
                from error
        filetype = {"type": "resized", "lb": 0, "extent": "ranks * 8"}
        spec.write_text(json.dumps({
            "viewspec": 1, "file": str(path), "ranks": ranks,
            "view": {"disp": "rank * 8", "etype": "double", "filetype": filetype}}))
    start = time.perf_counter()
    with bench.mounted(spec) as point:
        with open(point / "rank0", "rb", buffering=0) as file:
            if file.read(1) != b"Z":
                raise Failure(f"{name}: wrong first byte")
        inside = time.perf_counter()
        mib = memory_of(point)
        inside = time.perf_counter() - inside
    return {"ms": (time.perf_counter() - start - inside) * 1e3, "mib": mib}


def memory_of(point):
    """Returns the MiB of memory that a mount's daemon uses (VmRSS)."""
    status = Path(f"/proc/{stats_of(point)['pid']}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+) kB", status)[1]) / 1024


def fio(path, total, start=run):
    """Returns random reads per second. Each of the 4 threads reads a quarter of total bytes."""
    out = start(program("fio"), "--name=bench", f"--filename={path}", f"--size={total}",
              f"--io_size={total // 4}", "--rw=randread", "--bs=4k", "--ioengine=psync",
              "--thread", "--numjobs=4", "--group_reporting", "--readonly", "--allow_file_create=0",
              "--output-format=json")
    return json.loads(out[out.index("{"):])["jobs"][0]["read"]["iops"]


def run_fio_mount(bench, setting, under=False):
    with bench.mounted(bench.spec(setting)) as point:
        return {"iops": fio(point / "rank0", bench.slice, start=bench.under if under else run)}


def run_fio_passthrough(bench, _setting):
    with bench.passthrough() as point:
        return {"iops": fio(point / bench.plain().name, bench.slice)}


def run_seek(bench, setting):
    binary = bench.program_of_build("bench-seek", "bench-seek was not built")
    count = 200000 if bench.quick else 1000000
    return {"rate": count / float(run(binary, bench.file(setting), bench.runs, count))}


def run_seek_romio(bench, setting):
    """ROMIO keeps a list of the runs: about 1 GiB for 64 M, and briefly more."""
    free = int(re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())[1])
    if free < 4 * MIB:
        raise Unavailable("less than 4 GiB of memory are free for ROMIO's list of runs")
    count = 5 if bench.quick else 20
    return {"rate": count / float(bench.romio("seek", bench.file(setting), bench.runs, count))}


def run_nodes(bench, _setting, nodes):
    """Measures the messages between daemons in a flush, by tests/scale: those of the busiest
    node."""
    binary = bench.program_of_build("../scale/simulate", "tests/scale/simulate was not built")
    costs = json.loads(run(binary, "--json", "--nodes", nodes))
    return {"messages": costs["most_messages"], "bytes": costs["most_bytes"],
            "ms": costs["time_us"] / 1e3}


def run_whole(bench, setting, under=False):
    """Reads the whole of members from storage, and again by a new mount."""
    spec, files = bench.members(setting)
    values = {}
    for how in ("cold", "warm"):
        for path in files if how == "cold" else ():
            drop(path)
        with bench.mounted(spec) as point:
            values[how] = rate_of(bench, point / "whole", bench.slice, under)
    return values


def run_members_cat(bench, setting):
    """Reads the same bytes, member by member."""
    _, files = bench.members(setting)
    values = {}
    for how in ("cold", "warm"):
        for path in files if how == "cold" else ():
            drop(path)
        seconds = sum(bench.readers[0].read(path)[1] for path in files)
        values[how] = bench.slice / seconds / 1e6
    return values


def run_members_numpy(bench, setting):
    """Does what a script would: copies each member to its place in an array that was touched
    before."""
    numpy = import_numpy()
    _, files = bench.members(setting)
    whole = numpy.ones((bench.slice // setting.run // len(files), len(files), setting.run // 8),
                       numpy.uint64)
    start = time.perf_counter()
    for member, path in enumerate(files):
        whole[:, member, :] = numpy.fromfile(path, numpy.uint64).reshape(-1, setting.run // 8)
    return {"warm": bench.slice / (time.perf_counter() - start) / 1e6}


RUNNERS: dict[str, Callable] = {
    "mount": run_mount,
    "direct": run_direct,
    "mount_external32": partial(run_mount, datarep="external32"),
    "two": run_two,
    "under": run_under,
    "under_again": partial(run_under, how="again"),
    "two_under": partial(run_under, slices=2),
    "transposed": run_transposed,
    "transposed_under": partial(run_transposed, under=True),
    "transposed_numpy": run_transposed_numpy,
    "passthrough": run_passthrough,
    "plain": run_plain,
    "romio": run_romio,
    "write_mount": run_write_mount,
    "write_external32": partial(run_write_mount, datarep="external32"),
    "write_mount_unsynced": partial(run_write_mount, sync=False),
    "write_under": run_write_under,
    "write_under_unsynced": partial(run_write_under, sync=0),
    "write_plain": run_write_plain,
    "write_romio": run_write_romio,
    "write_nodes": run_write_nodes,
    "write_all": run_write_all,
    "idle": run_idle,
    "donio_mount": run_donio_mount,
    "donio_unique": partial(run_donio_mount, options=("-o", "unique")),
    "donio_under": partial(run_donio_mount, under=True),
    "donio_dsync": lambda bench, setting: run_donio_plain(bench, setting, "dsync"),
    "donio_plain": run_donio_plain,
    "cat": run_cat,
    "numpy": run_numpy,
    "small": partial(run_start, name="small", ranks=4, doubles=10**6),
    "large": partial(run_start, name="large", ranks=10**6, doubles=10**12),
    "fio_mount": run_fio_mount,
    "fio_under": partial(run_fio_mount, under=True),
    "fio_passthrough": run_fio_passthrough,
    "whole": run_whole,
    "whole_under": partial(run_whole, under=True),
    "members_cat": run_members_cat,
    "members_numpy": run_members_numpy,
    "pool_two": partial(run_pool, nodes=2),
    "pool_four": partial(run_pool, nodes=4),
    "apart_two": partial(run_pool, nodes=2, pool="off"),
    "apart_four": partial(run_pool, nodes=4, pool="off"),
    "seek": run_seek,
    "seek_romio": run_seek_romio,
    "nodes_16": partial(run_nodes, nodes=16),
    "nodes_10000": partial(run_nodes, nodes=10000),
    **array_runners(),
    **block_runners(),
    **record_runners(),
    **store_runners(),
    **distributed_runners(),
}


def same(path_or_pipe, expected, what):
    """Compares a stream with a slice by numpy, a few MiB at a time."""
    lines = max(1, CALL // (expected.shape[1] * 8))
    for first in range(0, len(expected), lines):
        want = expected[first:first + lines].tobytes()
        if path_or_pipe.read(len(want)) != want:
            raise Failure(f"{what}: wrong data")
    if path_or_pipe.read(1):
        raise Failure(f"{what}: too long")


def verify_mount(bench, setting, datarep, wanted):
    if not wanted:
        return
    with bench.mounted(bench.spec(setting, datarep)) as point:
        for rank in range(RANKS):
            with open(point / f"rank{rank}", "rb") as file:
                same(file, bench.expected(setting, rank, datarep).astype("<u8"),
                     f"{setting.name}, {datarep}, rank{rank}")


def verify_whole(bench, setting):
    spec, _ = bench.members(setting)
    with (bench.mounted(spec) as point, open(point / "whole", "rb") as whole,
          open(bench.words_file("file.dat", bench.size), "rb") as file):
        for _ in range(bench.slice // MIB):
            if whole.read(MIB) != file.read(MIB):
                raise Failure(f"{setting.name}: wrong data")
        if whole.read(1):
            raise Failure(f"{setting.name}: too long")


def verify(bench, setting, runners):
    """Checks that each runner reads the same bytes as numpy."""
    verify_arrays(bench, setting, runners)
    if "transposed" in runners:
        with bench.mounted(bench.matrix_spec(setting)) as point:
            with open(point / "rank0", "rb") as file:
                same(file, transposed(bench, setting), setting.name)
    if "blocks_mount" in runners:
        with contextlib.suppress(Unavailable):
            verify_blocks(bench, setting)
    if not setting.run:
        return
    if "whole" in runners:
        verify_whole(bench, setting)
    verify_mount(bench, setting, "native", runners & {"mount", "two", "fio_mount"})
    verify_mount(bench, setting, "external32", "mount_external32" in runners)
    if "cat" in runners:
        with subprocess.Popen([bench.view(), "cat", bench.spec(setting), "-r", "1"],
                              stdout=subprocess.PIPE) as cat:
            same(cat.stdout, bench.expected(setting, 1), f"{setting.name}, mpiio-view cat")
    if "romio" in runners:
        numpy = import_numpy()
        words = bench.expected(setting, 1).reshape(-1)
        weights = 2 * numpy.arange(len(words), dtype=numpy.uint64) + numpy.uint64(1)
        with contextlib.suppress(Unavailable):
            if int(bench.romio_slice("sum", setting, 1)) != int((words * weights).sum()):
                raise Failure(f"{setting.name}, ROMIO: wrong data")
