#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Takes, appends and contributes records, reads and writes registers, and logs each call
(records.py).

work.py spec FILE COUNT RANKS     makes the file, with COUNT records to be taken, and prints its spec
work.py rounds LOG...             prints a number of rounds that no contributor has reached yet
work.py stop PID...               stops processes, but not while one holds the record's lock
work.py freeze SECONDS PID...     does the same, and continues them after SECONDS
work.py lock RECORD               holds the lock of the record until it is killed
work.py now                       prints the time in the unit of the logs
work.py take|append|contribute|access MOUNT LOG WORKER [OPTION]...
"""
import argparse
import contextlib
import errno
import fcntl
import json
import os
import random
import signal
import struct
import sys
import time

from processes import kill_all, states
from records import (APPEND, BAD, CALL, CLOSE, DONE, FSYNC, GET, OPEN, RECORD, SET, START, TAKE, TAKEN, WRITE,
                     calls, check, name, records, spec, view_start)

# Errors after which no later call succeeds, because the node's daemon has exited.
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT, errno.ENODEV)

# The offset of the byte whose lock is that of the record of shared file pointers.
LOCK_AT = 1 << 61
F_OFD_SETLKW = 38


class Ended(Exception):
    """The node's daemon has exited."""


class Worker:
    def __init__(self, args):
        self.args = args
        self.log = os.open(args.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.random = random.Random(args.worker)
        self.failed = 0  # calls that failed in a row

    def write_log(self, kind, error=0, parts=0, start=0, end=0, value=0, data=b""):
        os.write(self.log, CALL.pack(kind, error, parts, start, end, value) + data)

    def call(self, kind, parts, value, function, *arguments):
        """Makes and logs a call. Returns its result, or None if it fails. value is the value in the
        log, or a function that returns parts and value from the result. Logs the result of GET,
        too."""
        result, error = None, 0
        start = time.monotonic_ns()
        try:
            result = function(*arguments)
        except OSError as failure:
            error = failure.errno
        end = time.monotonic_ns()
        if error == 0 and callable(value):
            parts, value = value(result)
        self.write_log(kind, error, parts, start, end, 0 if callable(value) else value,
                       result if kind == GET and not error else b"")
        self.failed = self.failed + 1 if error else 0
        if error in GONE or (self.args.count is not None and self.failed == 10):
            raise Ended
        if error:
            time.sleep(0.1)
        return result

    def pause(self):
        if self.args.pause:
            time.sleep(self.args.pause * 2 * self.random.random())

    def goes_on(self, done):
        if self.args.count is not None and done >= self.args.count:
            return False
        return self.args.stop is None or not os.path.exists(self.args.stop)

    def open(self, path, flags, value=0):
        return self.call(OPEN, 0, value, os.open, os.path.join(self.args.mount, path), flags)

    def open_for_long(self, path, flags):
        while self.goes_on(0):
            fd = self.open(path, flags)
            if fd is not None:
                return fd
        return None

    def put(self, kind, fd, sequence, parts, first=0, last=None):
        data = records(self.args.worker, sequence, parts, first, last)
        written = self.call(kind, len(data) // RECORD, sequence, os.write, fd, data)
        if written is not None and written != len(data):
            self.write_log(BAD, parts=parts, value=sequence)
        return written is not None

    def taken(self, data):
        """Returns the number of records in data, and the first. Checks that they are
        consecutive."""
        words = struct.unpack(f"<{len(data) // 8}Q", data)
        first = (words[0] >> 16) & 0xFFFFFFFF if words else -1
        for number in range(len(data) // RECORD):
            wanted = name(TAKEN, first + number, 1, 0)
            if words[2 * number:2 * number + 2] != (wanted, check(wanted)):
                self.write_log(BAD, parts=len(data) // RECORD, value=first)
        return len(data) // RECORD, first

    def take(self):
        fd = self.open_for_long("t/shared", os.O_RDONLY)
        done = 0
        while fd is not None and self.goes_on(done):
            parts = self.random.randint(1, self.args.parts)
            data = self.call(TAKE, parts, self.taken, os.read, fd, parts * RECORD)
            if data == b"":
                break
            done += data is not None
            self.pause()

    def append(self):
        fd = self.open_for_long("a/shared", os.O_WRONLY)
        sequence = done = 0
        while fd is not None and self.goes_on(done):
            done += self.put(APPEND, fd, sequence, self.random.randint(1, self.args.parts))
            if self.random.random() < self.args.sync:
                self.call(FSYNC, 0, sequence, os.fsync, fd)
            sequence += 1
            self.pause()
        if fd is not None:
            self.call(FSYNC, 0, sequence, os.fsync, fd)
            self.call(CLOSE, 0, sequence, os.close, fd)

    def access(self):
        from registers import Access  # loads NumPy, which other workers do not need
        registers = Access(self, self.args.seed, self.args.ranks)
        while self.goes_on(0):
            # All workers make their calls at the same times, so that they meet.
            every = 10 * self.args.pause or 1e-9
            time.sleep(every - time.monotonic() % every)
            for _ in range(10):
                registers.once()

    def get(self, fd, length, offset, value):
        def read():
            data = os.pread(fd, length, offset)
            if len(data) != length:
                self.write_log(BAD, parts=len(data) // 8, value=value)
            return data.ljust(length, b"\0")
        self.call(GET, length // 8, value, read)

    def set(self, fd, data, offset, value):
        self.write_log(START, 0, len(data) // 8, time.monotonic_ns(), 0, value)
        written = self.call(SET, len(data) // 8, value, os.pwrite, fd, data, offset)
        if written is not None and written != len(data):
            self.write_log(BAD, parts=written // 8, value=value)

    def limit(self):
        """Returns the number of rounds, or sys.maxsize while it is unknown."""
        try:
            with open(self.args.limit) as file:
                return int(file.read() or sys.maxsize) + self.args.extra
        except (TypeError, FileNotFoundError):
            return sys.maxsize

    def await_turn(self, other=False):
        """Waits until it is the rank's turn. other: until it is another's, for a second at most."""
        end = time.monotonic() + (1 if other else 3600)
        while self.goes_on(0) and time.monotonic() < end:
            with contextlib.suppress(OSError):
                turn = os.getxattr(os.path.join(self.args.mount, "o/ordered"), "user.mpiio.turn")
                if (int(turn) == self.args.rank) != other:
                    return
            time.sleep(0.01)

    def contribute(self):
        number = 0
        while number < self.limit() and self.goes_on(number):
            if self.args.at_turn:
                self.await_turn()
                if not self.goes_on(number):
                    break
            fd = self.open(f"o/ordered/rank{self.args.rank}", os.O_WRONLY, number)
            if fd is None:
                if self.limit() < sys.maxsize:
                    break
                continue
            self.contribute_once(fd, number)
            number += 1
            self.pause()
            if self.args.at_turn:
                self.await_turn(other=True)

    def contribute_once(self, fd, number):
        parts = self.args.parts and self.random.randint(1, self.args.parts)
        split = self.random.randint(1, parts) if parts else 0
        good = not parts or self.put(WRITE, fd, number, parts, 0, split)
        if self.args.hold:
            open(self.args.hold + ".held", "w").close()
            while not os.path.exists(self.args.hold):
                time.sleep(0.02)
        if good and split < parts:
            self.put(WRITE, fd, number, parts, split, parts)
        # If the others contribute no more, the turn may come only when the file is unmounted.
        if self.random.random() < self.args.sync and not (self.args.calm and os.path.exists(self.args.calm)):
            self.call(FSYNC, 0, number, os.fsync, fd)
        self.call(CLOSE, 0, number, os.close, fd)

    def run(self):
        with contextlib.suppress(Ended):
            getattr(self, self.args.work)()
        self.write_log(DONE)


def stops(pid):
    """Returns true if all threads of the process have stopped, or it has exited."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return all(state in "TZX" for state in states(pid))
    return True


def holds_lock(pid):
    """Returns true if the process, which must be stopped, holds the record's lock."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for fd in os.listdir(f"/proc/{pid}/fdinfo"):
            with open(f"/proc/{pid}/fdinfo/{fd}") as info:
                if any(line.startswith("lock:") and line.split()[-2] == str(LOCK_AT) for line in info):
                    return True
    return False


def stop(pids):
    """Stops processes when none of them holds the record's lock, because others would wait for it.
    Returns the time of the stop."""
    for _ in range(500):
        start = time.monotonic()
        kill_all(pids, signal.SIGSTOP)  # an engine may have exited when the mount was degraded
        while not all(stops(pid) for pid in pids):
            time.sleep(0.001)
        if not any(holds_lock(pid) for pid in pids):
            return start
        kill_all(pids, signal.SIGCONT)
        time.sleep(0.01)
    sys.exit("the lock is always held")


def lock(path):
    """Holds the record's lock, like a frozen node, until this process is killed."""
    file = os.open(path, os.O_RDWR)
    fcntl.fcntl(file, F_OFD_SETLKW, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, LOCK_AT, 1, 0))
    open("locked", "w").close()
    signal.pause()


def freeze(seconds, *pids):
    """Stops processes for this time."""
    pids = [int(pid) for pid in pids]
    start = stop(pids)
    time.sleep(max(0, start + float(seconds) - time.monotonic()))
    kill_all(pids, signal.SIGCONT)
    print(f"frozen for {time.monotonic() - start:.3f} s")


def make(path, count, ranks):
    with open(path, "wb") as file:
        file.write(b"".join(records(TAKEN, number, 1) for number in range(count)))
        file.truncate(view_start(count))
    print(json.dumps(spec(path, count, ranks)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("take", "append", "contribute", "access"))
    parser.add_argument("mount")
    parser.add_argument("log")
    parser.add_argument("worker", type=int)
    parser.add_argument("--count", type=int, help="calls, or contributions, that succeed")
    parser.add_argument("--stop", help="the file that ends it once it exists")
    parser.add_argument("--pause", type=float, default=0, help="seconds after each, on average")
    parser.add_argument("--parts", type=int, default=3, help="records of a call, at most")
    parser.add_argument("--sync", type=float, default=0.2, help="how often it syncs")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--seed", type=int, help="the seed of the registers")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--at-turn", action="store_true", help="contribute only when that is waited for")
    parser.add_argument("--limit", help="the file with the number of rounds")
    parser.add_argument("--extra", type=int, default=0, help="contributions behind these rounds")
    parser.add_argument("--calm", help="the file that ends syncing of contributions")
    parser.add_argument("--hold", help="the file that is waited for before a contribution is closed")
    Worker(parser.parse_args()).run()


if __name__ == "__main__":
    if sys.argv[1] == "spec":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == "rounds":
        print(max(sum(one.kind == OPEN for one in calls(log)) for log in sys.argv[2:]) + 2)
    elif sys.argv[1] == "stop":
        stop([int(pid) for pid in sys.argv[2:]])
    elif sys.argv[1] == "lock":
        lock(sys.argv[2])
    elif sys.argv[1] == "freeze":
        freeze(*sys.argv[2:])
    elif sys.argv[1] == "now":
        print(time.monotonic_ns())
    else:
        main()
