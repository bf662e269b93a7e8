# SPDX-License-Identifier: MIT
"""The rows of scripts/bench: what is measured, against which peer, and the target."""
from typing import NamedTuple, Optional


class Setting(NamedTuple):
    """The setting that rounds share. run: bytes of a run, or 0 without a pattern; grid: the points
    of DONIO's grid; small: the file is in the page cache in small pages."""

    name: str
    run: int = 0
    grid: tuple = ()
    small: bool = False


class Column(NamedTuple):
    """One way to do a row's work. ours names a runner's value, "RUNNER.VALUE"."""

    ours: str
    target: Optional[float] = None  # of the ratio, or of ours if there is no peer; None: no target


class Row(NamedTuple):
    """A line of the table for each of its columns. All are measured against the same peer in the
    same round: {"mount": Column(...), "direct": Column(...), "run": Column(...)}."""

    id: str
    what: str
    setting: Setting
    columns: dict
    peer: Optional[str]  # "RUNNER.VALUE"
    unit: str
    at_most: bool = False  # the targets are maxima, not minima

    def values(self):
        """Returns the names of the runners' values that the row needs."""
        ours = [column.ours for column in self.columns.values()]
        return ours + ([self.peer] if self.peer else [])


PATTERNS = [
    Setting("8 of 32", 8),
    Setting("64 of 256", 64),
    Setting("512 of 2048", 512),
    Setting("4 KiB of 16 KiB", 4096),
    Setting("64 KiB of 256 KiB", 65536),
]
SMALL = [pattern._replace(name=f"{pattern.name}, small pages", small=True) for pattern in PATTERNS]
RANDOM = Setting("random reads, 64 of 256", 64)
WRITES = [
    Setting("two writers, 8 of 16", 8),
    Setting("two writers, 512 of 1 KiB", 512),
    Setting("two writers, 64 KiB of 128 KiB", 65536),
]
GRIDS = [Setting("DONIO " + "x".join(map(str, grid)), 0, grid)
         for grid in ((41, 41, 31), (81, 81, 61), (121, 121, 91))]
TRANSPOSED = Setting("a matrix, transposed")
CUBE = Setting("planes of a 3-D block")
POOLED = Setting("nodes that read all", 8)
START = Setting("mount, first byte, unmount")
IDLE = Setting("mounts that nobody uses", 8)
CONTROL = Setting("a flush of many nodes, simulated")
PIECES = [Setting("64 members by 64 KiB", 65536), Setting("64 members by 8 bytes", 8)]
RECORDS = Setting("records of 64 bytes")
RECORDS_ON_CLIENTS = Setting("records of 64 bytes on GlusterFS")
BLOCKS = [
    Setting("four nodes, 4-D blocks of 128 B runs", 128),
    Setting("four nodes, 4-D blocks of 4 KiB runs", 4096),
]
STORE = Setting("blocks of a 3-D array")
CLIENTS = [
    Setting("two clients of GlusterFS, 8 of 16", 8),
    Setting("two clients of GlusterFS, 1 of 2 KiB", 1024),
]
READERS = Setting("four clients of GlusterFS, 8 of 32", 8)
SEEK = Setting("random 8-byte reads, 8 of 16 in one tile")


def mount(ours, target=None):
    return {"mount": Column(ours, target)}


def under(ours, target=None):
    """Returns a column for a program under mpiio-run."""
    return {"run": Column(ours, target)}


def direct(ours, target=None):
    """Returns a column for the mount option direct."""
    return {"direct": Column(ours, target)}


def reading():
    rows = []
    targets = ((6, 9, 11), (1.7, 2.8, 4.5), (1.3, 1.8, 2.5), (1.3, 2.5, 3), (1.3, 2, 3.5))
    for pattern, (target, past, run) in zip(PATTERNS, targets):
        rows.append(Row("P1", f"{pattern.name}: ROMIO", pattern,
                        mount("mount.cold", target) | direct("direct.cold", past) |
                        under("under.cold", run), "romio.read", "MB/s"))
    for pattern, run in zip(SMALL, (7, 2, 1.5, 2.2, 3.1)):
        rows.append(Row("P1b", f"{pattern.name}: ROMIO", pattern,
                        mount("mount.cold") | under("under.cold", run), "romio.read", "MB/s"))
    for pattern in PATTERNS:
        rows.append(Row("P2", f"{pattern.name}: passthrough_ll", pattern,
                        mount("mount.cold", 1.8) | direct("direct.cold", 2.5), "passthrough.cold",
                        "MB/s"))
    for pattern, run in ((PATTERNS[0], 0.6), (PATTERNS[3], 0.95)):
        rows.append(Row("P3", f"{pattern.name}, again: passthrough_ll", pattern,
                        mount("mount.again", 1), "passthrough.again", "MB/s"))
        rows.append(Row("P3", f"{pattern.name}, again: plain file", pattern,
                        mount("mount.again", 0.2) | under("under_again.again", run),
                        "plain.read", "MB/s"))
    first = PATTERNS[0]
    for peer, value, target in (("numpy, whole slice", "numpy.whole", 1.2),
                                ("numpy, 4 MiB blocks", "numpy.blocks", None),
                                ("ROMIO", "romio.read", 12)):
        rows.append(Row("P4", f"8 of 32: {peer}", first, {"cat": Column("cat.read", target)}, value,
                        "MB/s"))
    rows += [
        Row("P20", "8 of 32: numpy.ascontiguousarray", first,
            {"python": Column("python.read", 1.3)}, "python_numpy.read", "MB/s"),
        Row("P20", "8 of 32: mpiio-view cat", first, {"python": Column("python.read", 0.9)},
            "cat.read", "MB/s"),
        Row("P20", "planes of a 3-D block: numpy.ascontiguousarray", CUBE,
            {"python": Column("planes.rate", 1.3)}, "planes_numpy.rate", "MB/s"),
    ]
    rows.append(Row("P16", "transposed: numpy's ascontiguousarray", TRANSPOSED,
                    mount("transposed.cold", 1) | under("transposed_under.cold", 2),
                    "transposed_numpy.rate", "MB/s"))
    return rows


def writing():
    rows = []
    for pattern, (target, run) in zip(WRITES, ((2, 2.2), (0.8, 0.9), (0.85, 0.9))):
        rows.append(Row("P5", f"{pattern.name}: ROMIO", pattern,
                        mount("write_mount.rate", target) | under("write_under.rate", run),
                        "write_romio.rate", "MB/s"))
    for pattern in WRITES:
        rows.append(Row("P5b", f"{pattern.name}, no fsync: plain file", pattern,
                        mount("write_mount_unsynced.rate"), "write_plain.rate", "MB/s"))
        rows.append(Row("P5b", f"{pattern.name}, no fsync: the mount", pattern,
                        under("write_under_unsynced.rate", 1.5), "write_mount_unsynced.rate",
                        "MB/s"))
    for pattern in PATTERNS:
        rows.append(Row("P6", f"{pattern.name}, external32: native", pattern,
                        mount("mount_external32.cold", 0.9), "mount.cold", "MB/s"))
    for pattern in WRITES:
        rows.append(Row("P6", f"{pattern.name}, external32: native", pattern,
                        mount("write_external32.rate", 0.9), "write_mount.rate", "MB/s"))
    return rows


def programs():
    rows = [
        Row("P7", "4 ranks, 10^6 doubles", START, mount("small.ms", 100), None, "ms", True),
        Row("P7", "10^6 ranks, 10^12 doubles", START, mount("large.ms", 100), None, "ms", True),
        Row("P7", "the second: the first", START, mount("large.ms", 1.2), "small.ms", "ms", True),
        Row("P7", "the second: daemon's memory", START, mount("large.mib", 5), None, "MiB", True),
    ]
    for grid, least in zip(GRIDS, (0.45, 0.9, 0.9)):
        rows += [Row("P8", f"{grid.name}: O_DSYNC", grid, under("donio_under.rate", 15),
                     "donio_dsync.rate", "MB/s"),
                 Row("P8", f"{grid.name}: plain", grid, under("donio_under.rate", least),
                     "donio_plain.rate", "MB/s")]
        for way, what in (("donio_mount", ""), ("donio_unique", ", unique")):
            rows += [Row("P8", f"{grid.name}{what}: O_DSYNC", grid, mount(f"{way}.rate", 15),
                         "donio_dsync.rate", "MB/s"),
                     Row("P8", f"{grid.name}{what}: plain", grid, mount(f"{way}.rate", 0.85),
                         "donio_plain.rate", "MB/s")]
    rows += [
        Row("P9", "idle, one node", IDLE, mount("idle.one", 0), None, "% CPU", True),
        Row("P9", "idle, three nodes: the busiest process", IDLE, mount("idle.three", 0.5), None,
            "% CPU", True),
    ]
    return rows


def sharing():
    rows = []
    for pattern, target in zip(WRITES, (5, 1, 1)):
        what = pattern.name.replace("writers", "nodes")
        rows += [Row("P10", f"{what}: ROMIO write_all", pattern, mount("write_nodes.rate", target),
                     "write_all.rate", "MB/s"),
                 Row("P10", f"{what}: stored, of written", pattern, mount("write_nodes.stored", 1),
                     None, "", True)]
    rows += [
        Row("P11", "fio 4 KiB, 4 threads: passthrough_ll", RANDOM,
            mount("fio_mount.iops", 1) | under("fio_under.iops", 8), "fio_passthrough.iops",
            "reads/s"),
        Row("P12", "an 8-byte read: ROMIO", SEEK, {"library": Column("seek.rate", 1000)},
            "seek_romio.rate", "reads/s"),
    ]
    for pattern, target in ((PATTERNS[0], 1.3), (PATTERNS[3], 1.1)):
        rows.append(Row("P13", f"{pattern.name}, two slices: one", pattern,
                        mount("two.cold", target), "mount.cold", "MB/s"))
        rows.append(Row("P13", f"{pattern.name}, two slices: one", pattern,
                        under("two_under.cold", 1.7), "under.cold", "MB/s"))
    for count, nodes, target in (("two", 2, 1.7), ("four", 4, 3)):
        what = f"{count} nodes, 8 of {8 * nodes}"
        rows += [Row("P14", f"{what}: each by itself", POOLED,
                     {"pool": Column(f"pool_{count}.rate", target)}, f"apart_{count}.rate", "MB/s"),
                 Row("P14", f"{what}: storage, of the file", POOLED,
                     {"pool": Column(f"pool_{count}.storage", 1.01)}, None, "", True),
                 Row("P14", f"{what}, again: storage", POOLED,
                     {"pool": Column(f"pool_{count}.again", 0)}, None, "", True)]
    for what, least in (("messages", 60), ("bytes", 1000)):
        rows += [Row("P17", f"10^4 nodes, a flush: {what} of the busiest", CONTROL,
                     {"tree": Column(f"nodes_10000.{what}", least)}, None, "", True),
                 Row("P17", f"10^4 nodes: 16 nodes, {what}", CONTROL,
                     {"tree": Column(f"nodes_10000.{what}", 1.5)}, f"nodes_16.{what}", "", True)]
    rows.append(Row("P17", "10^4 nodes, a flush, but for storing", CONTROL,
                    {"tree": Column("nodes_10000.ms", 2)}, None, "ms", True))
    return rows


def distributed():
    """Returns the rows of hosts that share a distributed filesystem, each through its own
    client."""
    rows = []
    for clients in CLIENTS:
        rows += [Row("P22", f"{clients.name}: ROMIO write_all", clients,
                     {"hosts": Column("distributed_nodes.rate", 2)}, "distributed_romio.rate",
                     "MB/s"),
                 Row("P22", f"{clients.name}: pwrite of the runs", clients,
                     mount("distributed_mounts.rate", 0.9), "distributed_raw.rate", "MB/s")]
    rows += [Row("P23", f"{READERS.name}: without the pool", READERS,
                 {"pool": Column("distributed_pool.rate", 2)}, "distributed_apart.rate", "MB/s"),
             Row("P23", f"{READERS.name}: bytes sent / file size", READERS,
                 {"pool": Column("distributed_pool.sent", 1.005)}, None, "", True)]
    return rows


def records():
    """Returns the rows of processes that share a pointer, against MPI's shared file pointer."""
    rows = []
    for name, what in (("take", "8 take records: read_shared"),
                       ("put", "8 append records: write_shared"),
                       ("ordered", "8 in order, 100 a round: write_ordered"),
                       ("ordered_two", "2 in order, 1 a round: write_ordered")):
        columns, least = mount(f"{name}_mount.rate"), None
        if name in ("take", "put"):
            columns, least = columns | under(f"{name}_under.rate", 2), 0.25
        for nodes, ways in (("", columns), ("4 nodes, ", mount(f"{name}_nodes.rate", least))):
            rows.append(Row("P18", nodes + what, RECORDS, ways, f"{name}_romio.rate", "rec/s"))
        rows.append(Row("P18", f"four clients of GlusterFS, {what.split(':')[0]}",
                        RECORDS_ON_CLIENTS, {"hosts": Column(f"{name}_hosts.rate")}, None, "rec/s"))
    return rows


def array_blocks():
    """Returns the rows of nodes that write the blocks of an array and read them back."""
    rows = []
    for blocks in BLOCKS:
        for peer, value in (("write_all", "write_rate"), ("read_all", "read_rate")):
            rows.append(Row("P19", f"{blocks.name}: ROMIO {peer}", blocks,
                            mount(f"array_nodes.{value}", 1.5), f"array_romio.{value}", "MB/s"))
    return rows


def assembling():
    """Returns the rows of assembled members: cold reads storage, warm reads the page cache."""
    rows = []
    for pieces, of_cat, numpy_mount, numpy_run in zip(PIECES, (0.9, 0.6), (1, 2), (2, 3)):
        for how, run in (("cold", 0.9), ("warm", of_cat)):
            rows.append(Row("P15", f"{pieces.name}, {how}: cat of them", pieces,
                            mount(f"whole.{how}", 0.7) | under(f"whole_under.{how}", run),
                            f"members_cat.{how}", "MB/s"))
        rows.append(Row("P15", f"{pieces.name}, warm: numpy assembles them", pieces,
                        mount("whole.warm", numpy_mount) | under("whole_under.warm", numpy_run),
                        "members_numpy.warm", "MB/s"))
    return rows


def stores():
    """Returns the rows of a mount's Zarr store. A store of plain files shows what zarr and dask
    themselves cost."""
    rows = []
    for value, what, least in (("one", "one chunk by xarray", 0.8),
                               ("all", "all chunks, 4 threads", 1)):
        rows += [Row("P21", f"{what}: numpy", STORE,
                     {"zarr": Column(f"blocks_mount.{value}", least)}, f"blocks_numpy.{value}",
                     "MB/s"),
                 Row("P21", f"{what}: a store of plain files", STORE,
                     {"zarr": Column(f"blocks_mount.{value}")}, f"blocks_plain.{value}", "MB/s")]
    return rows


def table():
    """Returns all rows, in the order of the table. For a new row add a line here and, if needed, a
    runner; for a new column, an entry in a row's dict."""
    return (reading() + writing() + programs() + sharing() + assembling() + records() +
            array_blocks() + stores() + distributed())
