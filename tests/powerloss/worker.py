# SPDX-License-Identifier: MIT
"""Writes at random to slices whose storage may lose power at any moment.

    worker.py SEED STEPS KIND PATH...

Prints a line before each operation (b NUMBER SLICE OPERATION OFFSET LENGTH) and one after it
(a NUMBER). KIND: bytes, fixed (slices that cannot grow), longs (values of 8 bytes that fit into 4),
records (a shared file pointer; STEPS operations), ordered. With STEPS 0, the operations are a fixed
sequence that leaves data in each state.
"""
import errno
import mmap
import os
import random
import sys

RECORD = 64
DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ESTALE)
# Operations, and how often each is chosen.
OFTEN = {"write": 6, "sync": 2, "append": 2, "store": 4, "grow": 1, "msync": 1, "fsync": 1,
         "fdatasync": 1, "close": 1}


def pattern(seed, number, offset, length, kind):
    """Returns the bytes that an operation writes, none of which is zero, except in longs."""
    start = seed * 41 + number * 89
    if kind == "longs":
        return b"".join(bytes(((start + at * 7 + byte * 31) % 127 + 1) * (byte < 4) for byte in range(8))
                        for at in range(offset, offset + length, 8))
    return bytes((start + at * 7 + (at >> 8) * 13) % 255 + 1 for at in range(offset, offset + length))


def record(seed, number):
    """Returns a record that no other operation writes."""
    text = f"{seed}.{number}.".encode()
    return text + pattern(seed, number, 0, RECORD - len(text), "bytes")


def whole(put, length):
    """Raises EIO after a short write, which occurs only if the daemon exits."""
    if put != length:
        raise OSError(errno.EIO, "a short write")


class Slice:
    def __init__(self, path):
        self.path, self.handles, self.map, self.alive = path, {}, None, True

    def handle(self, flags):
        if flags not in self.handles:
            self.handles[flags] = os.open(self.path, flags)
        return self.handles[flags]

    @property
    def size(self):
        return os.fstat(self.handle(os.O_RDWR)).st_size

    def mapping(self):
        if self.map is None:
            fd = self.handle(os.O_RDWR)
            self.map = mmap.mmap(fd, self.size)
        return self.map

    def any_handle(self, rng):
        return rng.choice(list(self.handles.values())) if self.handles else self.handle(os.O_WRONLY)

    def close(self):
        if self.map is not None:
            self.map.close()
            self.map = None
        while self.handles:
            os.close(self.handles.popitem()[1])


class Worker:
    def __init__(self, seed, kind, paths):
        self.rng, self.seed, self.kind = random.Random(seed), seed, kind
        self.slices, self.number = [Slice(path) for path in paths], 0

    def say(self, *words):
        os.write(1, (" ".join(map(str, words)) + "\n").encode())

    def do(self, index, operation, offset, length, act):
        """Does one operation between its two lines."""
        self.number += 1
        self.say("b", self.number, index, operation, offset, length)
        act()
        self.say("a", self.number)

    def attempt(self, index, step, *arguments):
        """Does a step. Gives up the slice if its daemon has exited, and perhaps its mount is gone."""
        try:
            step(*arguments)
        except OSError as error:
            # EPERM: another slice has made the file grow beyond this size. ENODEV: slices cannot be
            # mapped.
            if error.errno in (errno.EPERM, errno.ENODEV):
                return
            detached = not os.path.ismount(os.path.dirname(self.slices[index].path))
            if error.errno not in DEAD and not (error.errno == errno.ENOENT and detached):
                raise
            self.slices[index].alive = False

    def place(self, operation, part):
        """Chooses a range of a slice to write to."""
        unit = 8 if self.kind == "longs" else 1
        size = part.size // unit
        grows = self.kind != "fixed" and operation != "store"
        if operation in ("append", "grow"):
            start = size
        else:
            start = self.rng.randrange(size + 200 * grows) if size else 0
        length = self.rng.choice((1, 30, 600, 3000))
        if not grows:
            length = min(length, size - start)
        return start * unit, length * unit

    def step(self, index, operation):
        part, rng = self.slices[index], self.rng
        if operation in ("msync", "fsync", "fdatasync", "close"):
            return self.do(index, operation, 0, 0, self.finisher(part, operation))
        offset, length = self.place(operation, part)
        data = pattern(self.seed, self.number + 1, offset, length, self.kind)
        if operation == "grow":
            fd = part.handle(os.O_RDWR)
            act = rng.choice((lambda: os.posix_fallocate(fd, offset, length),
                              lambda: os.ftruncate(fd, offset + length)))
        elif operation == "store":
            if part.size == 0:
                return
            memory = part.mapping()
            length = min(length, len(memory) - offset)
            if length <= 0:
                return
            def act():
                memory[offset:offset + length] = data[:length]
        else:
            act = self.writer(part, operation, data, offset)
        self.do(index, operation, offset, length, act)

    def writer(self, part, operation, data, offset):
        if operation == "append":
            fd = part.handle(os.O_WRONLY | os.O_APPEND)
            return lambda: whole(os.write(fd, data), len(data))
        if operation == "write":
            fd = part.handle(self.rng.choice((os.O_RDWR, os.O_WRONLY)))
            return lambda: whole(os.pwrite(fd, data, offset), len(data))
        flags = self.rng.choice((os.O_DSYNC, os.O_SYNC, 0)) | self.rng.choice((os.O_RDWR, os.O_WRONLY))
        fd = part.handle(flags)
        if flags & os.O_SYNC:
            return lambda: whole(os.pwrite(fd, data, offset), len(data))
        return lambda: whole(os.pwritev(fd, [data], offset, os.RWF_DSYNC), len(data))

    def finisher(self, part, operation):
        if operation == "close":
            return part.close
        if operation == "msync" and part.map is not None:
            return part.map.flush
        fd = part.any_handle(self.rng)
        return (lambda: os.fdatasync(fd)) if operation == "fdatasync" else (lambda: os.fsync(fd))

    def at_random(self, steps):
        names = [name for name in OFTEN if self.kind != "fixed" or name not in ("append", "grow")]
        for _ in range(steps):
            living = [i for i, part in enumerate(self.slices) if part.alive]
            if not living:
                break
            index = self.rng.choice(living)
            operations = self.rng.choices(names, [OFTEN[name] for name in names])
            if self.rng.random() < 0.2:  # no earlier operation is unsynced
                operations = ["fsync", *operations, "fsync"]
            for operation in operations:
                self.attempt(index, self.step, index, operation)

    def in_order(self):
        """Writes to the first slice and closes it. Only writes to the second one."""
        for index, operations in ((0, ("write", "store", "close")), (1, ("write", "store"))):
            for operation in operations:
                self.attempt(index, self.step, index, operation)

    def write_record(self, index):
        fd = self.slices[index].handle(os.O_WRONLY)
        self.do(index, "record", self.number + 1, RECORD,
                lambda: whole(os.write(fd, record(self.seed, self.number)), RECORD))

    def records(self, steps):
        for step in range(steps or 4):
            operation = self.rng.choice(("record", "record", "record", "fsync", "close"))
            index = self.rng.randrange(len(self.slices)) if steps else len(self.slices) - 1
            if not self.slices[index].alive:
                continue
            if steps == 0:
                operation = ("record", "close", "record", "record")[step]
            if operation == "record":
                self.attempt(index, self.write_record, index)
            else:
                self.attempt(index, self.step, index, operation)

    def ordered(self, steps):
        """Makes a contribution of each rank in turn. In the fixed sequence, that of rank 1
        waits."""
        for turn in range(steps // 6 or 1):
            index = turn % len(self.slices) if steps else 1
            part = self.slices[index]
            if not part.alive:
                break
            self.attempt(index, part.handle, os.O_WRONLY)
            for _ in range(self.rng.randrange(4) if steps else 1):
                self.attempt(index, self.write_record, index)
            if steps and self.rng.random() < 0.3:
                self.attempt(index, self.step, index, "fsync")
            self.attempt(index, self.step, index, "close")


def main():
    seed, steps, kind, *paths = sys.argv[1:]
    worker, steps = Worker(int(seed), kind, paths), int(steps)
    if kind in ("records", "ordered"):
        getattr(worker, kind)(steps)
    elif steps == 0:
        worker.in_order()
    else:
        worker.at_random(steps)
    worker.say("d")
    sys.stdin.read()  # until the harness closes it, open files stay open


if __name__ == "__main__":
    main()
