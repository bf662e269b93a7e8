# SPDX-License-Identifier: MIT
"""Programs of tests/bats/cache.bats."""
import mmap
import os
import random
import struct
import sys
import threading
import time

from common import at_once, contents, overwrite, stats
from slices import dealt


def dropped():
    return stats(sys.argv[1])["requests"]["dropped"]


def patch():
    """Writes to the file, past the mount. Arguments: offset, length, byte."""
    offset, length, byte = map(int, sys.argv[1:])
    overwrite("b.dat", bytes([byte]) * length, (offset,))


def changes_a_moment_after_an_open():
    fd = os.open("b.dat", os.O_WRONLY)
    for i in range(2000):
        os.pwrite(fd, bytes([i % 251]) * 8, 4096)
        with open(sys.argv[1], "rb", 0) as slice:
            got = slice.read(8)
        assert got == bytes([i % 251]) * 8, (i, got)


def a_slice_opened_before_the_file():
    def expected():
        return dealt(contents("b.dat"), 4, 4096)[0]
    fd = os.open(sys.argv[1], os.O_RDONLY)
    seen = b""
    while (part := os.read(fd, 100000)):
        seen += part
    assert seen == expected()
    for i in range(20):
        with open("b.dat", "ab") as out:
            out.write(bytes([i + 1]) * 7777)
        while (part := os.read(fd, 100000)):
            seen += part
        assert seen == expected(), i


def what_a_writer_past_the_page():
    path = sys.argv[1] + "/rank0"
    writer = os.open(path, os.O_WRONLY)
    for i in range(50):
        os.pwrite(writer, struct.pack("<q", i), 16)
    assert dropped() == 0
    reader = os.open(path, os.O_RDONLY)
    stop = False
    def fill():
        other = os.open(path, os.O_RDONLY)
        while not stop:
            os.posix_fadvise(other, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(other, 4096, 0)
    threads = [threading.Thread(target=fill) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(2000):
        os.pwrite(writer, struct.pack("<q", i), 16)
        assert struct.unpack("<q", os.pread(reader, 8, 16)) == (i,)
    stop = True
    for thread in threads:
        thread.join()
    assert dropped() == 2000


def other_slices_that_show():
    def open_slice(name, flags):
        return os.open(sys.argv[1] + "/" + name, flags)
    writer = open_slice("dealt/rank1", os.O_WRONLY)
    reader = open_slice("all/rank0", os.O_RDONLY)
    header = os.path.getsize(sys.argv[1] + "/dealt/rank1.npy") - os.path.getsize(sys.argv[1] + "/dealt/rank1")
    npy = open_slice("dealt/rank1.npy", os.O_RDONLY)
    apart = open_slice("dealt/rank0", os.O_RDONLY)
    os.pread(apart, 100, 0)
    for i in range(200):
        before = os.pread(reader, 8, 24), os.pread(npy, 8, header + 8)
        assert os.pwrite(writer, b"%08d" % i, 8) == 8
        after = os.pread(reader, 8, 24), os.pread(npy, 8, header + 8)
        assert after == (b"%08d" % i,) * 2, (i, before, after)
    assert dropped() == 400 # not of dealt/rank0, which shows none of the bytes
    # If the slice has pages of its own, the kernel waits for the answer, but not for long.
    both = open_slice("dealt/rank0", os.O_RDWR)
    for i in range(50):
        os.pread(reader, 8, 0)
        os.pwrite(both, b"%08d" % i, 0)
        end = time.monotonic() + 30
        while os.pread(reader, 8, 0) != b"%08d" % i:
            assert time.monotonic() < end, i


def a_writer_whose_slice_others_read():
    own = os.open(sys.argv[1] + "/dealt/rank1", os.O_RDONLY)
    writer = os.open(sys.argv[1] + "/dealt/rank1", os.O_WRONLY)
    other = os.open(sys.argv[1] + "/all/rank0", os.O_RDONLY)
    for i in range(5):
        os.pread(own, 8, 8), os.pread(other, 8, 24)
        assert os.pwrite(writer, b"%08d" % i, 8) == 8
        assert os.pread(other, 8, 24) == b"%08d" % i, i
        assert os.pread(own, 8, 8) == b"%08d" % i, i


def slices_that_show_the_same_bytes():
    def work(seed):
        dice = random.Random(seed)
        flags = (os.O_RDWR, os.O_WRONLY, os.O_RDONLY)[seed % 3]
        fd = os.open(f"{sys.argv[1]}/rank{seed // 3 % 2}", flags)
        for i in range(5):
            if flags != os.O_WRONLY:
                os.pread(fd, dice.randrange(1, 9000), dice.randrange(60000))
            if flags != os.O_RDONLY:
                os.pwrite(fd, bytes(dice.randrange(1, 9000)), dice.randrange(50000))
        os.close(fd)
    at_once(work, range(12))


def fsync_of_an_open_reader_shows():
    slice = os.open(sys.argv[1], os.O_RDONLY)
    file = os.open("b.dat", os.O_WRONLY)
    for i in range(50):
        os.pread(slice, 262144, 0)
        os.pwrite(file, bytes([i]) * 64, 4096 + 16384)
        os.fsync(slice)
        got = os.pread(slice, 64, 4096)
        assert got == bytes([i]) * 64, (i, got)
        if i % 10 == 0:
            time.sleep(0.05)


def fsync_shows_a_mapping():
    slice = os.open(sys.argv[1], os.O_RDONLY)
    map = mmap.mmap(slice, 0, mmap.MAP_SHARED, mmap.PROT_READ)
    file = os.open("b.dat", os.O_WRONLY)
    for i in range(20):
        sum(map[::512])
        os.pwrite(file, bytes([i]) * 64, 4096 + 16384)
        os.fsync(slice)
        assert map[4096:4160] == bytes([i]) * 64, i


def fsyncs_of_many_readers():
    stop = time.time() + 3
    def run(work):
        while time.time() < stop:
            work()
    def sync():
        fd = os.open(sys.argv[1] + "/rank1", os.O_RDONLY)
        os.pread(fd, 8192, 0)
        os.fsync(fd)
        os.close(fd)
    def read():
        with open(sys.argv[1] + "/rank1", "rb", 0) as slice:
            while slice.read(1 << 20):
                pass
    file = os.open("b.dat", os.O_WRONLY)
    def write():
        os.pwrite(file, os.urandom(8), 4096)
        time.sleep(0.001)
    at_once(run, [sync] * 8 + [read] * 4 + [write])


def readers_of_a_file():
    stop = time.time() + 3
    with open("b.dat", "wb") as out:
        out.write(b"x" * 1048576)
    def change():
        fd = os.open("b.dat", os.O_RDWR)
        while time.time() < stop:
            os.ftruncate(fd, 70000)
            os.pwrite(fd, b"x" * (1048576 - 70000), 70000)
    def read(rank):
        while time.time() < stop:
            with open("%s/rank%d" % (sys.argv[1], rank), "rb", 0) as slice:
                total = 0
                while part := slice.read(65536):
                    total += len(part)
                    assert not part.strip(b"x\0"), (rank, total)
                assert total <= 262144, (rank, total)
    at_once(lambda rank: read(rank) if rank < 4 else change(), range(5))


def a_mapping_of_a_slice_whose():
    slice = os.open(sys.argv[1], os.O_RDONLY)
    map = mmap.mmap(slice, 0, mmap.MAP_SHARED, mmap.PROT_READ)
    os.truncate("b.dat", 100000)
    assert map[:4096] == open("b.dat", "rb").read()[4096:8192]
    os.fsync(slice)
    assert os.fstat(slice).st_size == 6 * 4096
    assert map[:4096] == open("b.dat", "rb").read()[4096:8192]


def sendfile_after_the_file_has_grown():
    slice = os.open(sys.argv[1], os.O_RDONLY)
    out = os.open("out", os.O_WRONLY | os.O_CREAT)
    while os.sendfile(out, slice, None, 1 << 20):
        pass


def who_has_a_slice_open_whose():
    fd = os.open("mnt/rank1", os.O_RDONLY)
    os.truncate("b.dat", 0)
    got = os.pread(fd, 8192, 8192 * int(sys.argv[1]))
    assert not got, (len(got), any(got))


def a_writer_reads_what_it_wrote():
    mnt = sys.argv[1]
    fd = os.open(mnt + "/rank1", os.O_RDWR)
    old = os.pread(fd, 8, 0)
    before = stats(mnt)["requests"]["write"]
    thread = threading.Thread(target=os.pwrite, args=(fd, b"new data", 0))
    thread.start()
    # Until the daemon has the write, which is delayed.
    while stats(mnt)["requests"]["write"] == before:
        time.sleep(0.02)
    file = os.open("b.dat", os.O_WRONLY)
    os.pwrite(file, b"x", 0) # a write to rank 0, so that the file changes
    other = os.open(mnt + "/rank1", os.O_RDONLY)
    got = os.pread(other, 8, 0)
    early = thread.is_alive()
    thread.join()
    assert os.pread(other, 8, 0) == b"new data", "another reader"
    assert os.pread(fd, 8, 0) == b"new data", "the writer"
    print("read before it was stored" if early and got == old else "read too late")


def grows_over_bytes_of_the_file():
    path, how = sys.argv[1:]
    fd = os.open(path, os.O_RDWR)
    assert os.pread(fd, 3000, 0) == b"b" * 1000 + b"c" * 5, os.pread(fd, 3000, 0)
    new = b"d" * 5
    if how == "ftruncate":
        os.ftruncate(fd, 2000)
    elif how == "fallocate":
        os.posix_fallocate(fd, 1005, 995)
    elif how == "write":
        assert os.pwrite(fd, new, 1005) == 5
    elif how == "far":
        assert os.pwrite(fd, b"e", 1999) == 1
    else:
        other = os.open(path, os.O_WRONLY | os.O_APPEND)
        assert os.write(other, new) == 5
        os.close(other)
    new = new if how in ("write", "append") else bytes(5)
    got, want = os.pread(fd, 3000, 0), b"b" * 1000 + b"c" * 5 + new + b"b" * 990
    assert got == (want[:-1] + b"e" if how == "far" else want), (how, got[1000:1020], got[-5:])
