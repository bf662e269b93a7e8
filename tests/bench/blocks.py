# SPDX-License-Identifier: MIT
"""P19: four nodes write the blocks of a 4-D array of doubles, and read them back. The peer is an MPI
program, tests/bench/blocks.c."""
import json
import os

from testbed import CALL, FACTOR, READ, Failure, at_once, import_numpy, opened, write_together

NODES = 4


def sizes_of(bench, setting):
    """Returns the sizes of the array. A row of its last dimension has two runs. The halves of the
    second dimension alternate every MiB of the file, or 256 KiB with --quick."""
    row = 2 * setting.run // 8
    return [64, 32, 2 * bench.write // 8 // (64 * 32 * row), row]


def block_spec(bench, setting):
    """Writes a spec of out.dat as that array, with its second and last dimensions halved. Returns
    the path of the spec."""
    sizes = sizes_of(bench, setting)
    subsizes = [sizes[0], sizes[1] // 2, sizes[2], sizes[3] // 2]
    path = bench.dir / f"blocks{setting.run}.json"
    path.write_text(json.dumps(
        {"viewspec": 1, "file": "out.dat", "ranks": NODES,
         "view": {"etype": "double", "tiles": 1,
                  "filetype": {"type": "subarray", "sizes": sizes, "subsizes": subsizes,
                               "starts": [0, f"rank / 2 * {subsizes[1]}", 0,
                                          f"rank % 2 * {subsizes[3]}"], "order": "C"}}}))
    return path


def block_data(bench, setting):
    """Returns each rank's block of an array of the words that bench.h defines."""

    def make():
        numpy, sizes = import_numpy(), sizes_of(bench, setting)
        words = numpy.arange(2 * bench.write // 8, dtype=numpy.uint64) * numpy.uint64(FACTOR)
        words = words.reshape(sizes[0], 2, sizes[1] // 2, sizes[2], 2, sizes[3] // 2)
        return [words[:, rank // 2, :, :, rank % 2, :].tobytes() for rank in range(NODES)]

    return bench.once(f"blocks{setting.run}", make)


def read_all(fd, buffer):
    """Fills the buffer by reads of 1 MiB, as dd bs=1M does."""
    view = memoryview(buffer)
    for first in range(0, len(view), READ):
        part = view[first:first + READ]
        if os.readv(fd, [part]) != len(part):
            raise Failure("a short read")


def write_blocks(bench, setting, out):
    """Each node writes its block. Returns the seconds."""
    data = block_data(bench, setting)
    with bench.mounted_nodes(block_spec(bench, setting), NODES) as points, \
            opened(points, os.O_WRONLY) as files:
        seconds = write_together(files, data)
        bench.check_written(out, f"{setting.name}, nodes")
    return seconds


def read_blocks(bench, setting):
    """Each node of a new mount reads its block. The shared file is in the page cache, as it is for
    ROMIO, but the slices are not. Returns the seconds."""
    data = block_data(bench, setting)
    buffers = [bytearray(b"\1") * len(block) for block in data]
    with bench.mounted_nodes(block_spec(bench, setting), NODES) as points, \
            opened(points, os.O_RDONLY) as files:
        _, seconds = at_once(read_all, list(zip(files, buffers)))
    if buffers != data:
        raise Failure(f"{setting.name}, nodes: read wrong data")
    return seconds


def rates(bench, writing, reading):
    """Returns the rates in MB/s, from the seconds of writing and of reading."""
    return {"write_rate": 2 * bench.write / writing / 1e6,
            "read_rate": 2 * bench.write / reading / 1e6}


def run_nodes(bench, setting):
    out = bench.fresh("out.dat")
    return rates(bench, write_blocks(bench, setting, out), read_blocks(bench, setting))


def run_romio(bench, setting):
    """The processes transfer 4 MiB each in a collective call. One call for the whole block writes no
    faster, and reads more slowly."""

    def romio(action):
        return float(bench.mpi("bench-blocks", action, out, CALL, *sizes_of(bench, setting),
                               ranks=NODES))

    out = bench.fresh("out.dat")
    writing = romio("write")
    bench.check_written(out, f"{setting.name}, ROMIO")
    return rates(bench, writing, romio("read"))


def block_runners():
    return {"array_nodes": run_nodes, "array_romio": run_romio}
