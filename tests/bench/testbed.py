# SPDX-License-Identifier: MIT
"""The testbed of scripts/bench: files, mounts, and the peers' programs."""
import concurrent.futures
import contextlib
import json
import mmap
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MPIIO_BUILD", TOP / "build")).absolute()
EXAMPLES = Path("/usr/share/doc/libfuse3-dev/examples")
FACTOR = 0x9E3779B97F4A7C15  # tests/bench/bench.h: word i of the file is i * FACTOR
RANKS = 4
MEMBERS = 64
MIB = 1 << 20
RECORD = 64  # bytes of a record of P18
READ = MIB  # bytes of a read call, as dd bs=1M does
CALL = 4 * MIB  # bytes of a call of ROMIO
SMALL_READ = 64 << 10  # bytes read at random offsets, to get small pages
NUMPY_TYPES = {"native": "<u8", "external32": ">u8"}  # of doubles in the file, bit by bit


class Unavailable(Exception):
    """A row needs something that is not available. The text names it."""


class Failure(Exception):
    """Data is wrong, or a command failed."""


def note(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(*words, **options):
    """Runs a command and returns its output. Failure has its error message."""
    words = [str(word) for word in words]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Failure(f"{os.path.basename(words[0])}: " +
                      (complaint[-1] if complaint else f"exit status {done.returncode}"))
    return done.stdout


def program(*names):
    """Returns the first of the named programs that is installed."""
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Unavailable(f"{names[0]} is not installed")


def import_numpy():
    try:
        import numpy  # here, not above, so that --help and most rows work without it
    except ImportError as error:
        raise Unavailable("python3-numpy is not installed") from error
    return numpy


def words_of(run, size):
    """Returns two parts of size bytes each: every other run of a file of words (bench.h)."""
    numpy = import_numpy()
    words = numpy.arange(2 * size // 8, dtype=numpy.uint64) * numpy.uint64(FACTOR)
    words = words.reshape(-1, 2, run // 8)
    return [words[:, part, :].tobytes() for part in (0, 1)]


class Reader:
    """Reads files into one buffer that was touched before, as dd does."""

    def __init__(self):
        self.buffer = mmap.mmap(-1, READ)
        self.buffer.write(b"\1" * READ)

    def memory(self, length):
        return memoryview(self.buffer)[:length]

    def read(self, path):
        """Reads the file to its end. Returns the bytes and the seconds."""
        total = 0
        start = time.perf_counter()
        fd = os.open(path, os.O_RDONLY)
        try:
            while (got := os.readv(fd, [self.buffer])) > 0:
                total += got
        finally:
            os.close(fd)
        return total, time.perf_counter() - start


def rate(path, expected, reader):
    """Returns the MB/s at which the file is read."""
    total, seconds = reader.read(path)
    if total != expected:
        raise Failure(f"{path}: {total} bytes instead of {expected}")
    return total / seconds / 1e6


def write_all(fd, data):
    """Writes 1 MiB in each call, as dd bs=1M does."""
    view = memoryview(data)
    for first in range(0, len(data), READ):
        if os.write(fd, view[first:first + READ]) != len(view[first:first + READ]):
            raise Failure("a short write")


def write_slice(path, data, sync=True, start=0):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.lseek(fd, start, os.SEEK_SET)
        write_all(fd, data)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def at_once(work, arguments):
    """Runs a thread for each of the arguments. Returns their results, and the seconds of all."""
    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        start = time.perf_counter()
        results = list(pool.map(lambda words: work(*words), arguments))
        return results, time.perf_counter() - start


@contextlib.contextmanager
def opened(points, flags):
    """Opens each node's slice at its mount. Yields the descriptors."""
    files = [os.open(point / f"rank{rank}", flags) for rank, point in enumerate(points)]
    try:
        yield files
    finally:
        for fd in files:
            os.close(fd)


def write_together(files, data):
    """Each node writes its data. One fsync stores everything. Returns the seconds."""
    start = time.perf_counter()
    at_once(write_all, list(zip(files, data)))
    os.fsync(files[0])
    return time.perf_counter() - start


def check_words(path, size, what, datarep="native"):
    """Checks that a file has size bytes of words that identify their positions (bench.h)."""
    numpy = import_numpy()
    words = numpy.fromfile(path, NUMPY_TYPES[datarep])
    want = numpy.arange(size // 8, dtype=numpy.uint64) * numpy.uint64(FACTOR)
    if not numpy.array_equal(words, want):
        raise Failure(f"{what}: wrong data in the file")


def wait_for(condition, what, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"{what}: nothing after {seconds:g} s")
        time.sleep(0.002)


def drop(path):
    """Evicts a file from the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def dealt(file, ranks, setting, datarep):
    """Returns the spec of a file whose runs of doubles are dealt to the ranks."""
    return {"viewspec": 1, "file": str(file), "ranks": ranks,
            "view": {"disp": f"rank * {setting.run}", "etype": "double", "datarep": datarep,
                     "filetype": {"type": "resized", "lb": 0, "extent": f"ranks * {setting.run}",
                                  "oldtype": {"type": "contiguous", "count": setting.run // 8}}}}


class Testbed:
    """The files, mounts and peers of one run. close() removes everything."""

    def __init__(self, quick):
        self.quick = quick
        self.size = (256 if quick else 1024) * MIB
        self.slice = self.size // RANKS
        self.write = (16 if quick else 64) * MIB  # bytes of each writer of P5
        self.runs = self.size // 16  # of P12's view: 64 M
        self.records = 4000 if quick else 16000  # of P18
        self.rounds = 1 if quick else 5
        self.idle = 2 if quick else 10  # seconds of P9
        self.readers = [Reader(), Reader()]
        self.mounts = []
        self.daemons = []  # the peers' processes, children of this one
        self.made = {}  # results of made(), or why it failed
        base = os.environ.get("TMPDIR") or "/var/tmp"
        free = shutil.disk_usage(base).free
        need = 3 * self.size + self.slice + 256 * MIB
        if free < need:
            raise Failure(f"{base}: {free // MIB} MiB free, {need // MIB} needed (set TMPDIR)")
        self.dir = Path(tempfile.mkdtemp(prefix="mpiio-bench.", dir=base))

    def close(self):
        for point in list(self.mounts):
            if os.path.ismount(point):
                # Detaches the mount even without its daemon, or while it is in use.
                command = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
                subprocess.run([*command, point], check=False)
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
        if any(os.path.ismount(point) for point in self.mounts):
            note(f"still mounted: {self.dir}")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def once(self, name, make):
        """Returns make()'s result, which is made once. Also remembers an Unavailable."""
        if name not in self.made:
            try:
                self.made[name] = make()
            except Unavailable as error:
                self.made[name] = error
        if isinstance(self.made[name], Unavailable):
            raise self.made[name]
        return self.made[name]

    # Files.

    def words_file(self, name, size):
        """Makes a file of words that identify their positions (bench.h), on the disk and in the
        page cache."""

        def make():
            numpy = import_numpy()
            path = self.dir / name
            step = MIB
            with open(path, "wb") as file:
                for first in range(0, size // 8, step):
                    words = numpy.arange(first, min(first + step, size // 8), dtype=numpy.uint64)
                    file.write(words * numpy.uint64(FACTOR))
                file.flush()
                os.fsync(file.fileno())  # writeback would disturb the measurement
            self.readers[0].read(path)
            return path

        return self.once(name, make)

    def small_file(self):
        """Makes the same words, in the page cache in small pages, as random reads leave them."""

        def make():
            path = self.words_file("small.dat", self.size)
            pieces = list(range(0, self.size, SMALL_READ))
            random.Random(1).shuffle(pieces)
            with open(path, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                for first in pieces:
                    os.preadv(file.fileno(), [self.readers[0].memory(SMALL_READ)], first)
            return path

        return self.once("small pages", make)

    def file(self, setting):
        return self.small_file() if setting.small else self.words_file("file.dat", self.size)

    def plain(self):
        return self.words_file("plain/slice.dat", self.slice)

    def spec(self, setting, datarep="native"):
        file = self.file(setting)
        path = self.dir / f"{file.stem}{setting.run}.{datarep}.json"
        if not path.exists():
            path.write_text(json.dumps(dealt(file, RANKS, setting, datarep)))
        return path

    def matrix(self):
        """Returns the side of the square that the file's first doubles make."""
        return 4096 if self.quick else 8192

    def matrix_spec(self, setting):
        """Returns the matrix, column by column."""
        side = self.matrix()
        path = self.dir / "transposed.json"
        path.write_text(json.dumps(
            {"viewspec": 1, "file": str(self.file(setting)),
             "view": {"etype": "double", "memory": "Fortran", "tiles": 1,
                      "filetype": {"type": "subarray", "sizes": [side, side],
                                   "subsizes": [side, side], "starts": [0, 0], "order": "C"}}}))
        return path

    def members(self, setting):
        """Makes files whose runs alternate in a whole of a slice's size, and the spec of that
        whole."""

        def make():
            numpy = import_numpy()
            folder = self.dir / f"members{setting.run}"
            folder.mkdir()
            words = numpy.memmap(self.words_file("file.dat", self.size), numpy.uint64, mode="r")
            words = words[:self.slice // 8].reshape(-1, MEMBERS, setting.run // 8)
            files = [folder / f"{member:02}" for member in range(MEMBERS)]
            for member, path in enumerate(files):
                words[:, member, :].tofile(path)
            os.sync()
            spec = folder / "spec.json"
            view = dealt("", MEMBERS, setting, "native")["view"]
            del view["datarep"]
            spec.write_text(json.dumps({"viewspec": 1, "members": {
                "count": MEMBERS, "file": "{member:2}", "view": view}}))
            return spec, files

        return self.once(f"members {setting.run}", make)

    def fresh(self, name):
        """Makes an empty file. Nothing else waits to be written to the disk."""
        path = self.dir / name
        path.unlink(missing_ok=True)
        path.touch()
        os.sync()
        return path

    def write_spec(self, setting, datarep="native"):
        """Returns a spec of two ranks that share out.dat in turns. Without a run, one rank has all
        of it."""
        path = self.dir / f"write{setting.run}.{datarep}.json"
        path.write_text(json.dumps(dealt("out.dat", 2, setting, datarep) if setting.run else
                                   {"viewspec": 1, "file": "out.dat", "view": {"etype": "int"}}))
        return path

    def write_data(self, setting):
        """Returns the data of the two writers: every other run of a file of words (bench.h)."""
        return self.once(f"data{setting.run}", lambda: words_of(setting.run, self.write))

    def check_written(self, path, what, datarep="native"):
        check_words(path, 2 * self.write, what, datarep)

    def expected(self, setting, rank, datarep="native"):
        """Returns the slice by numpy: a strided view of the file, one line for each run."""
        numpy = import_numpy()
        words = numpy.memmap(self.file(setting), NUMPY_TYPES[datarep], mode="r")
        return words.reshape(-1, RANKS, setting.run // 8)[:, rank, :]

    # Mounts.

    def point(self, name):
        path = self.dir / name
        path.mkdir(exist_ok=True)
        if path not in self.mounts:
            self.mounts.append(path)
        return path

    def shared_folder(self, path):
        """Makes an empty folder whose mounts are visible in other mount namespaces."""
        path.mkdir(parents=True)
        run("mount", "-t", "tmpfs", "tmpfs", path)
        self.mounts.insert(0, path)
        run("mount", "--make-private", path)
        run("mount", "--make-shared", path)

    @contextlib.contextmanager
    def mounted(self, spec, *options, name="mnt"):
        """Makes a new mount of a spec."""
        point = self.point(name)
        run(TOP / "scripts/mpiio-mount", *options, spec, point, env=self.environment())
        try:
            yield point
        finally:
            run(BUILD / "src/umount/mpiio-umount", point, env=self.environment())

    @contextlib.contextmanager
    def mounted_nodes(self, spec, count):
        """Makes new mounts of a spec on that many nodes, all on this machine."""
        self.program_of_build("../../src/engine/mpiio-engine-mpich",
                              "mpiio-engine-mpich is not built (libmpich-dev)")
        points = [self.point(f"node{node}") for node in range(count)]
        run(TOP / "scripts/mpiio-mount", f"--hosts={','.join(['localhost'] * count)}",
            "-o", "flush_interval=0", spec, self.dir / "node%n", env=self.environment())
        try:
            yield points
        finally:
            run(BUILD / "src/umount/mpiio-umount", points[0], env=self.environment())

    @contextlib.contextmanager
    def passthrough(self):
        """Makes a new mount of the plain file through passthrough_ll. It keeps its page cache."""
        binary = self.once("passthrough_ll", self.build_passthrough)
        source, point = self.plain().parent, self.point("peer")
        with open(self.dir / "passthrough.log", "wb") as log:
            daemon = subprocess.Popen([binary, "-f", "-o", f"source={source},cache=always", point],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      start_new_session=True)
        self.daemons.append(daemon)
        try:
            wait_for(lambda: os.path.ismount(point) or daemon.poll() is not None, "passthrough_ll")
            if daemon.poll() is not None:
                raise Unavailable("passthrough_ll does not run: " +
                                  (self.dir / "passthrough.log").read_text().strip())
            yield point
        finally:
            if os.path.ismount(point):
                run("fusermount3", "-u", point)
            daemon.wait()
            self.daemons.remove(daemon)

    def environment(self):
        fused = BUILD / "fusefs/mpiio-fused"
        environment = {**os.environ, "MPIIO_FUSED": str(fused), "MPIIO_BENCH": str(self.dir),
                       "MPIIO_ENGINE": str(BUILD / "src/engine/mpiio-engine-mpich")}
        with contextlib.suppress(Unavailable):
            environment.setdefault("MPIIO_MPIEXEC", program("mpiexec.mpich", "mpiexec.hydra"))
        return environment

    # Programs.

    def build_passthrough(self):
        source = EXAMPLES / "passthrough_ll.c"
        if not source.exists():
            raise Unavailable(f"{source} is not there (libfuse3-dev)")
        flags = run("pkg-config", "--cflags", "--libs", "fuse3").split()
        binary = self.dir / "passthrough_ll"
        run(*shlex.split(os.environ.get("CC", "cc")), "-O2", "-w", "-o", binary, source, *flags)
        return binary

    def program_of_build(self, name, without):
        path = BUILD / "tests/bench" / name
        if not path.exists():
            raise Unavailable(without)
        return path

    def mpi(self, name, *words, ranks=1, under=False):
        """Returns the output of a program of tests/bench, started as an MPI job. under: each
        process runs under mpiio-run."""
        binary = self.program_of_build(name, "mpich is not installed (libmpich-dev)")
        command = (BUILD / "src/run/mpiio-run", binary) if under else (binary,)
        return run(program("mpiexec.mpich", "mpiexec.hydra"), "-n", ranks, *command, *words)

    def romio(self, *words, ranks=1):
        """Returns the output of tests/bench/romio.c."""
        return self.mpi("bench-romio", *words, ranks=ranks)

    def romio_slice(self, mode, setting, rank):
        return self.romio(mode, self.file(setting), setting.run, RANKS, rank, self.slice, CALL)

    def under(self, *command):
        """Returns the output of a program under mpiio-run."""
        return run(BUILD / "src/run/mpiio-run", *command)

    def worker(self, *words):
        """Returns the MB/s of tests/bench/worker.py under mpiio-run, and the bytes."""
        total, seconds = self.under(sys.executable, Path(__file__).with_name("worker.py"),
                                    *words).split()
        return int(total) / float(seconds) / 1e6, int(total)

    def view(self):
        return BUILD / "src/view/mpiio-view"
