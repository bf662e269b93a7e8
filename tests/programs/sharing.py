# SPDX-License-Identifier: MIT
"""Programs of tests/bats/sharing.bats."""
import fcntl
import mmap
import multiprocessing
import os
import random
import signal
import struct
import sys
import time

from common import await_true, in_processes, stop_process


def o_trunc_of_one_does_not_hurt():
    fd = os.open(sys.argv[1], os.O_RDWR)
    map = mmap.mmap(fd, 16384)
    map[5000:5004] = b"mine"
    os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC | os.O_CREAT)
    assert map[5000:5004] == b"mine" and map[12000:12001]
    os.fsync(fd)
    assert os.pread(os.open("b.dat", os.O_RDONLY), 4, 4 * 4096 + 4096 + 5000 - 4096) == b"mine"


def many_append_to_one_slice_while():
    m = sys.argv[1]
    def append(name):
        fd = os.open(m + "/rank2", os.O_WRONLY | os.O_APPEND)
        for i in range(500):
            assert os.write(fd, b"%c%06d\n" % (name, i)) == 8
    in_processes(append, b"abcd")
    lines = open(m + "/rank2", "rb").read().split(b"\n")
    assert lines.pop() == b"" and len(lines) == 2000, len(lines)
    for name in b"abcd":
        mine = [line[1:] for line in lines if line[0] == name]
        assert mine == [b"%06d" % i for i in range(500)], name


def an_append_lands_at_the_end():
    fd = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
    late = os.open(sys.argv[1], os.O_RDWR)
    fcntl.fcntl(late, fcntl.F_SETFL, os.O_APPEND)
    def end(): # from the file, because a look at the slice would tell the kernel
        size, n = os.stat("g.dat").st_size, 0
        while 100 + n // 24 * 96 + 24 + n % 24 + 8 <= size:
            n += 8
        return n
    for i in range(20):
        with open("g.dat", "ab") as out: # not through the mount
            out.write(b"f" * 960)
        before = end()
        assert os.write(fd if i % 2 else late, b"%08d" % i) == 8
        assert os.fstat(fd).st_size == before + 8
        got = os.pread(os.open(sys.argv[1], os.O_RDONLY), 100, before)
        assert got[:8] == b"%08d" % i, (i, before, got)
        # The same process also sees it through an older handle, and nothing else has changed.
        assert os.pread(fd, 16, before - 8)[8:] == b"%08d" % i
        if i % 2:
            assert os.pread(late, 16, before - 8)[8:] == b"%08d" % i


def locks_on_a_slice_work_between():
    path = sys.argv[1]
    def child(work):
        pid = os.fork()
        if pid == 0:
            try:
                work()
                os._exit(0)
            except BlockingIOError:
                os._exit(1)
        return os.WEXITSTATUS(os.waitpid(pid, 0)[1])
    fd = os.open(path, os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert child(lambda: fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)) == 1
    fcntl.flock(fd, fcntl.LOCK_UN)
    assert child(lambda: fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)) == 0
    def lock(start):
        fcntl.lockf(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, start)
    fcntl.lockf(fd, fcntl.LOCK_EX, 10, 100)
    assert child(lambda: lock(105)) == 1
    assert child(lambda: lock(110)) == 0
    # A counter under a lock loses no update.
    os.pwrite(fd, struct.pack("q", 0), 0)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    def count(number):
        own = os.open(path, os.O_RDWR)
        for i in range(200):
            fcntl.lockf(own, fcntl.LOCK_EX, 8, 0)
            os.pwrite(own, struct.pack("q", struct.unpack("q", os.pread(own, 8, 0))[0] + 1), 0)
            fcntl.lockf(own, fcntl.LOCK_UN, 8, 0)
    in_processes(count, range(4))
    assert struct.unpack("q", os.pread(fd, 8, 0))[0] == 800


def posix_writers_and_slice_writers():
    m, count = sys.argv[1], int(sys.argv[2])
    blocks = 262144 // 32
    def run(rank):
        random.seed(rank)
        last = {}
        slice = rank < 2
        fd = os.open("%s/rank%d" % (m, rank) if slice else "w.dat", os.O_WRONLY)
        for i in range(count):
            block = random.randrange(blocks)
            last[block] = struct.pack("II", rank, i)
            os.pwrite(fd, last[block], block * 8 if slice else block * 32 + rank * 8)
        os.close(fd)
        data = open("w.dat", "rb").read()
        assert all(data[b * 32 + rank * 8:][:8] == value for b, value in last.items())
    in_processes(run, range(4))


def close_to_open_between_views():
    one, two = sys.argv[1:]
    paths = ["v.dat"] + [m + "/all/rank%d" % r for m in (one, two) for r in (0, 1)]
    words = [m + "/dealt/rank1" for m in (one, two)]
    for i in range(400):
        for path in paths + words: # all have it in the cache
            with open(path, "rb", 0) as file:
                file.read(65536)
        offset = random.randrange(4096) * 16 + 8
        data = b"%08d" % i
        writer, reader = random.choice(paths + words), random.choice(paths + words)
        place = lambda path: offset // 16 * 8 if path in words else offset
        fd = os.open(writer, os.O_WRONLY)
        open_reader = os.open(reader, os.O_RDWR)
        os.pwrite(fd, data, place(writer))
        if i % 2:
            os.close(fd)
        else:
            os.fsync(fd)
        with open(reader, "rb", 0) as file:
            got = os.pread(file.fileno(), 8, place(reader))
        assert got == data, (i, writer, reader, got)
        os.fsync(open_reader) # a program that has it open sees the change after an fsync
        for other in paths + words:
            handle = os.open(other, os.O_RDONLY)
            assert os.pread(handle, 8, place(other)) == data, (i, writer, other)
            os.close(handle)
        assert os.pread(open_reader, 8, place(reader)) == data
        os.close(open_reader)
        if not i % 2:
            os.close(fd)


def write_long():
    path, slice, daemon = sys.argv[1], sys.argv[2], int(sys.argv[3])
    def read():
        with open(slice, "rb") as file:
            return file.read()
    source = mmap.mmap(os.open("second/rank0", os.O_RDONLY), 1 << 20, prot=mmap.PROT_READ)
    file = os.open(path, os.O_RDWR)
    size = os.fstat(file).st_size
    old = os.pread(file, size, 0)
    assert read() == old
    stop_process(daemon)
    def write(number):
        assert os.pwritev(file, [b"n" * 4096, source], 0) == 4096 + len(source)
    writer = multiprocessing.Process(target=write, args=(0,))
    before = os.fstat(file).st_mtime_ns
    writer.start()
    await_true(lambda: os.fstat(file).st_mtime_ns != before)
    began = os.fstat(file).st_mtime_ns
    await_true(lambda: time.time_ns() - began > 100_000_000) # so that the times count as settled
    for i in range(3):
        assert read()[4096:] == old[4096:]
    os.kill(daemon, signal.SIGCONT)
    writer.join()
    assert writer.exitcode == 0 and os.fstat(file).st_mtime_ns == began, "the times have not moved since"
    new = b"n" * (4096 + len(source))
    assert os.pread(file, size, 0) == new + old[len(new):]
    assert read() == new + old[len(new):]


def a_mapping_does_not_make():
    fd = os.open(sys.argv[1], os.O_RDWR)
    map = mmap.mmap(fd, 20000)
    map[1000:1004] = b"here"
    map[12000:12004] = b"gone"
    os.truncate("b.dat", 6000)
    map.flush()
    os.fsync(fd)


def what_the_kernel_holds():
    path, options = sys.argv[1:]
    file = os.open(path, os.O_RDWR)
    os.pwrite(file, b"w" * 4096, 1 << 20)
    if options != "atomic":
        memory = mmap.mmap(file, 4 << 20)
        memory[2 << 20:(2 << 20) + 4096] = b"m" * 4096
    other = os.open(path, os.O_RDONLY)
    for each in file, other:
        for place in [1 << 20] + [2 << 20] * (options != "atomic"):
            assert os.lseek(each, place, os.SEEK_DATA) == place, (options, place)
            assert os.lseek(each, place, os.SEEK_HOLE) >= place + 4096, (options, place)
        assert os.lseek(each, 0, os.SEEK_HOLE) <= 4 << 20
