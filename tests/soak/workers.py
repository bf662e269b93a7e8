# SPDX-License-Identifier: MIT
"""Processes that do operations on slices on request, as programs do, and keep slices open
meanwhile; some of them under mpiio-run."""
import collections
import contextlib
import errno
import mmap
import multiprocessing.connection
import os
import subprocess
import sys
import time

from mounts import Wrong

HANGS = 120  # seconds after which a call counts as hung


class Calls:
    """The operations of a worker. A call returns its result, or raises OSError."""

    def __init__(self):
        self.open_files = {}

    def descriptor(self, path, flags):
        key = path, flags
        if key not in self.open_files:
            self.open_files[key] = os.open(path, flags)
        return self.open_files[key]

    def write(self, path, flags, offset, data):
        return os.pwrite(self.descriptor(path, flags), data, offset)

    def read(self, path, offset, length):
        """Reads up to the end of the slice."""
        file, got = self.descriptor(path, os.O_RDWR), b""
        while len(got) < length:
            part = os.pread(file, length - len(got), offset + len(got))
            if not part:
                break
            got += part
        return got

    def read_once(self, path, flags, offset, length):
        return os.pread(self.descriptor(path, flags), length, offset)

    def load(self, path, flags, offset, length):
        """Loads through a shared mapping."""
        start = offset // mmap.PAGESIZE * mmap.PAGESIZE
        with mmap.mmap(self.descriptor(path, flags), offset + length - start, offset=start,
                       prot=mmap.PROT_READ) as memory:
            return memory[offset - start:]

    def size(self, path, flags):
        return os.fstat(self.descriptor(path, flags)).st_size

    def append(self, path, data):
        file = self.descriptor(path, os.O_WRONLY | os.O_APPEND)
        return os.write(file, data)

    def truncate(self, path, size):
        os.ftruncate(self.descriptor(path, os.O_RDWR), size)

    def allocate(self, path, offset, length):
        os.posix_fallocate(self.descriptor(path, os.O_RDWR), offset, length)

    def store(self, path, offset, data, sync):
        """Stores through a shared mapping."""
        start = offset // mmap.PAGESIZE * mmap.PAGESIZE
        length = offset + len(data) - start
        with mmap.mmap(self.descriptor(path, os.O_RDWR), length, offset=start) as memory:
            memory[offset - start:] = data
            if sync:
                memory.flush()

    def sync(self, path):
        os.fsync(self.descriptor(path, os.O_RDWR))

    def close(self, path=None):
        """Closes the handles of a slice, or all. Closes each, also after an error."""
        failed = None
        for key in [key for key in self.open_files if path in (None, key[0])]:
            try:
                os.close(self.open_files.pop(key))
            except OSError as error:
                failed = error
        if failed:
            raise failed

    def forget(self):
        """Closes handles of a daemon that was killed, and ignores errors."""
        with contextlib.suppress(OSError):
            self.close()

    def extents(self, path):
        """Returns [start, end) of data, as lseek(2) reports."""
        file, found, at = self.descriptor(path, os.O_RDWR), [], 0
        while True:
            try:
                start = os.lseek(file, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return found
                raise
            at = os.lseek(file, start, os.SEEK_HOLE)
            if at <= start:
                raise Wrong(f"lseek: a hole at {at} ends data that begins at {start}")
            found.append((start, at))

    def batch(self, start, calls):
        """Does calls, from start on. Returns of each when it began and ended, and its result or
        OSError."""
        done = []
        time.sleep(max(0, start - time.monotonic()))
        for name, *arguments in calls:
            begun = time.monotonic_ns()
            try:
                result = getattr(self, name)(*arguments)
            except OSError as error:
                result = error
            done.append((begun, time.monotonic_ns(), result))
        return done

    def refused(self, call, *arguments):
        """Returns the errno of a call of os that is refused, or 0 if it is not."""
        try:
            getattr(os, call)(*arguments)
        except OSError as error:
            return error.errno
        return 0


def serve(pipe):
    calls = Calls()
    while True:
        try:
            name, *arguments = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            pipe.send((True, getattr(calls, name)(*arguments)))
        except (OSError, ValueError, Wrong) as error:
            pipe.send((False, f"{type(error).__name__}: {error}"))


def short(argument):
    """Returns data as the trace shows it: its length and its first bytes."""
    if isinstance(argument, bytes):
        return f"{len(argument)} bytes {argument[:8].hex()}"
    if isinstance(argument, list):
        return ", ".join(" ".join(map(short, part)) for part in argument)  # the calls of a batch
    return str(argument)


class Worker:
    trace = collections.deque(maxlen=60)  # the last calls of all workers, as text

    def __init__(self, *wrapper):
        """wrapper: a command that runs the process: mpiio-run or nothing."""
        self.granted = bool(wrapper)
        self.pipe, end = multiprocessing.Pipe()
        self.process = subprocess.Popen([*wrapper, sys.executable, "-B", __file__, str(end.fileno())],
                                        pass_fds=[end.fileno()])
        end.close()

    def begin(self, *call):
        self.call = call
        self.trace.append(f"    {self.process.pid}: " + " ".join(map(short, call)))
        self.pipe.send(call)

    def result(self):
        if not self.pipe.poll(HANGS):
            raise Wrong(f"{self.call[0]} {self.call[1:2]} hangs")
        good, value = self.pipe.recv()
        if not good:
            raise Wrong(f"{self.call[0]} {self.call[1:2]}: {value}")
        return value

    def do(self, *call):
        self.begin(*call)
        return self.result()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.pipe.close()


if __name__ == "__main__":
    serve(multiprocessing.connection.Connection(int(sys.argv[1])))
