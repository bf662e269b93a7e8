# SPDX-License-Identifier: MIT
"""One cell of the matrix: an operation under a fault. The operation runs in its own process. That
is prepared, waits for the fault, and answers with a word: ok, an errno, a signal, end."""
import contextlib
import errno
import mmap
import os
import select
import signal

from mounts import BLOCK, DATA, LIMIT, RANKS, REGION, REGIONS, Mount, Wrong
from slices import dealt, merged

OPERATIONS = ("read", "write", "store", "fsync", "close", "unmount", "mount")

# Data is stored only when an operation or the fault causes it.
OPTIONS = ",flush_interval=86400"

DONE = ("ok", "waits")


def pattern(number, salt):
    """Returns the bytes that a cell writes, or (salt 0) the earlier bytes of its part of the
    file."""
    return bytes((i * 7 + i // 251 + number * 31 + salt * 101) % 255 + 1 for i in range(REGION))


def contents():
    """Returns the file before the fault: data, then a hole of the same length."""
    slices = [b"".join(pattern(region, 10 * rank + 1) for region in range(REGIONS))
              for rank in range(RANKS)]
    return merged(slices, BLOCK) + bytes(DATA)


class Cell:
    def __init__(self, fault, nodes, operation, number):
        self.fault, self.nodes, self.operation, self.number = fault, nodes, operation, number
        self.hole = REGION * REGIONS + number * REGION  # where it writes in a hole of the file
        self.child = self.mount = None

    # The process's actions: before the fault, and during it.

    def prepare(self):
        path = f"{self.mount.folders[0]}/rank0"
        self.fd = os.open(path, os.O_RDWR)
        if self.operation == "store":
            self.map = mmap.mmap(self.fd, REGION, offset=self.hole)
        if self.operation in ("fsync", "close", "unmount"):
            os.pwrite(self.fd, self.new, self.hole)

    @property
    def new(self):
        return pattern(self.number, 99)

    def act(self):
        if self.operation == "read":
            got = os.pread(self.fd, REGION, self.number * REGION)
            old = pattern(self.number, 1)
            return "ok" if got == old else "end" if got == b"" else "other"
        if self.operation == "write":
            if os.pwrite(self.fd, self.new, self.hole) != REGION:
                return "short"
        if self.operation == "store":
            self.map[:] = self.new
            self.map.flush()
        if self.operation == "fsync":
            os.fsync(self.fd)
        if self.operation in ("close", "unmount"):
            fd, self.fd = self.fd, -1
            os.close(fd)
        return "ok"

    def serve(self, ready, go, answer):
        self.prepare()
        os.write(ready, b"r")
        os.read(go, 1)
        try:
            word = self.act()
        except OSError as error:
            word = errno.errorcode[error.errno]
        os.write(answer, word.encode())

    def fork(self):
        ready, ready_end = os.pipe()
        go_end, go = os.pipe()
        answer, answer_end = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                self.serve(ready_end, go_end, answer_end)
            finally:
                os._exit(0)
        for end in (ready_end, go_end, answer_end):
            os.close(end)
        self.go, self.answer = go, answer
        if not select.select([ready], [], [], LIMIT)[0] or os.read(ready, 1) != b"r":
            raise Wrong("cannot be prepared")
        os.close(ready)

    def take(self):
        """Returns the answer of the process."""
        if not select.select([self.answer], [], [], LIMIT)[0]:
            return "hangs"
        return os.read(self.answer, 100).decode()

    def end(self, word):
        for end in (self.go, self.answer):
            os.close(end)
        if word == "hangs":
            os.kill(self.child, signal.SIGKILL)
            raise Wrong("hangs")
        _, status = os.waitpid(self.child, 0)
        self.child = None
        return word or signal.Signals(os.WTERMSIG(status)).name

    # The cell.

    def run(self, mount):
        """Returns the answer, and the mount if it can be used by the next cell."""
        if self.operation == "mount":
            if mount:
                mount.remove()
            return self.run_mount(), None
        if mount is None:
            self.fault.fresh()
            mount = Mount(self.nodes, options=self.fault.options + OPTIONS)
            self.mount = mount
            if mount.start() != "ok":
                raise Wrong("not mounted")
        self.mount = mount
        with open("disk/file", "rb") as self.file:
            answer = self.run_act()
            if self.operation == "unmount" or self.fault.alone or not self.fault.passes:
                mount.remove()
                mount = None
            self.check(answer)
        return answer, mount

    def run_act(self):
        self.fork()
        self.fault.begin(self.mount)
        os.write(self.go, b"g")
        waits = self.fault.meanwhile(self)
        answer = self.end(self.take())
        if waits and answer == "ok":
            answer = "waits"
        if self.operation == "unmount":
            answer = self.fault.unmount(self.mount)
        self.fault.clear(self.mount)
        if self.fault.passes and self.operation != "unmount":
            # Stores the kept data now, so that the next cell starts without any.
            self.flush()
            self.stored = self.operation in ("store", "fsync", "close")
        if self.operation == "unmount" and answer not in DONE and self.fault.passes:
            if self.mount.unmount() != "ok":
                raise Wrong("not unmounted afterwards")
            self.mount.nothing_there()
            self.stored = True
        return answer

    def run_mount(self):
        self.fault.fresh()
        self.mount = Mount(self.nodes, options=self.fault.options + OPTIONS)
        answer = self.fault.mount(self.mount)
        self.mount.remove()
        self.mount.nothing_there()
        return answer

    # The expected contents of the file after the cell.

    stored = False

    def check(self, answer):
        data = self.file.read()
        before = self.fault.cut(contents())
        data += bytes(max(0, len(before) - len(data)))
        mine, *others = dealt(data, RANKS, BLOCK)
        old, *old_others = dealt(before.ljust(len(data), b"\0"), RANKS, BLOCK)
        for rank, (now, then) in enumerate(zip(others, old_others), 1):
            if now != then:
                raise Wrong(f"rank {rank} was changed")
        if mine[:REGION * REGIONS] != old[:REGION * REGIONS]:
            raise Wrong("data beside it was changed")
        got = mine[self.hole:self.hole + REGION]
        if self.stored or answer in DONE and self.fault.keeps(self):
            wanted = self.new if self.operation != "read" else bytes(REGION)
            if got != wanted:
                raise Wrong("what was acknowledged is not there")
        elif any(new != now and now != 0 for new, now in zip(self.new, got)):
            raise Wrong("neither old nor new")

    def flush(self):
        fd = os.open(f"{self.mount.folders[0]}/rank0", os.O_RDWR)
        os.fsync(fd)
        os.close(fd)

    def give_up(self):
        if self.child:
            os.kill(self.child, signal.SIGKILL)
        with contextlib.suppress(OSError, Wrong):
            self.fault.clear(self.mount)
        if self.mount:
            self.mount.kill()
