# SPDX-License-Identifier: MIT
"""Programs of tests/bats/grants.bats."""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import time

from common import await_true, fails, stats


def a_writer_asks_for_the_size():
    mnt = sys.argv[1]
    def asked():
        return stats(mnt)["requests"]["getattr"]
    end = 0
    def rises():
        """Writes 100 pages past the end. Returns true if the size was requested for each of
        them."""
        nonlocal end
        before = asked()
        for i in range(100):
            end += 4096
            assert os.pwrite(fd, b"x" * 4096, end) == 4096
        return asked() - before >= 100
    fd = os.open(f"{mnt}/rank1", os.O_WRONLY)
    assert not rises()
    watcher = subprocess.Popen(["/usr/bin/python3", "-c", """
import sys
file = open(sys.argv[1])
print(1, flush=True)
input()
""", f"{mnt}/rank1"], env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert watcher.stdout.readline()
    assert rises()
    watcher.communicate(b"\n")
    await_true(lambda: not rises()) # close(2) does not wait for the daemon


def sigkill_to_the_program_loses_nothing():
    last = int(open("told").read().rsplit("\n", 2)[-2])
    data = open(sys.argv[1], "rb").read()
    for i in range(max(0, last - 98), last + 1): # one may be in progress
        assert int.from_bytes(data[8 * (i % 100):][:8], "little") == i, (i, last)


def a_program_gets_no_right():
    mnt, daemon = sys.argv[1:]
    FIELDS = "=QQiiI64s4x"
    SIZE = struct.calcsize(FIELDS)
    ASK = 3 << 30 | SIZE << 16 | ord("m") << 8 | 0x61
    SLOT = "=QIIIxxxxQq"
    def ask(path, flags, request=ASK, size=SIZE):
        fd = os.open(path, flags)
        try:
            buffer = bytearray(size)
            buffer[:8] = (1234).to_bytes(8, "little")[:size]
            fcntl.ioctl(fd, request, buffer)
            return struct.unpack(FIELDS, buffer)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            os.close(fd)
    # A grant gives no more permissions than the open did. The slots are at the page's end, before
    # the spec.
    answer = ask(f"{mnt}/rank0", os.O_RDONLY), ask(f"{mnt}/rank0", os.O_WRONLY)
    page = f"/proc/{daemon}/fd/{answer[0][3]}"
    slots = len(open(page, "rb").read()) - os.path.getsize(f"{mnt}/.mpiio/spec.json")
    slots -= 4096 * struct.calcsize(SLOT)
    def slot(number):
        with open(page, "rb") as file:
            file.seek(slots + number * struct.calcsize(SLOT))
            return struct.unpack(SLOT, file.read(struct.calcsize(SLOT)))
    assert [slot(one[4])[0] for one in answer] == [1234, 1234]
    assert [slot(one[4])[3] for one in answer] == [1, 2]
    # There is no grant for anything but a slice, and none by other requests.
    for path in (mnt, f"{mnt}/.mpiio", f"{mnt}/.mpiio/stats.json", f"{mnt}/.mpiio/spec.json"):
        assert ask(path, os.O_RDONLY) == "ENODATA", path
    for i in range(2000):
        size = random.randrange(1, 5000)
        request = random.getrandbits(32) & 0xc000ffff | size << 16
        if request != ASK:
            assert ask(f"{mnt}/rank1", os.O_RDONLY, request, 16384) in ("ENOTTY", "EINVAL"), hex(request)
    # The page of grants is read-only, even for a process of the same user.
    for call in (lambda fd: mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
                 lambda fd: mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_WRITE),
                 lambda fd: os.write(fd, b"x"), lambda fd: os.ftruncate(fd, 1)):
        assert fails(lambda: call(os.open(page, os.O_RDWR))) in ("EPERM", "EACCES")


def writer():
    fd = os.open(sys.argv[1], os.O_WRONLY if sys.argv[2] == "w" else os.O_RDWR)
    for i in range(5000):
        os.pwrite(fd, i.to_bytes(8, "little"), 8 * (i % 100))
        sys.stdout.buffer.write(b"x")
        sys.stdout.buffer.flush()
        sys.stdin.buffer.read(1)


def reader():
    slice, other, how = sys.argv[1:]
    writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", sys.argv[0], "writer", slice, how],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    fd = None
    for i in range(5000):
        writer.stdout.read(1)
        if i == 1000:
            fd = os.open(slice, os.O_RDONLY)
            views = os.open(other, os.O_RDONLY)
        if i == 3000:
            map = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        if fd is not None:
            assert os.pread(fd, 8, 8 * (i % 100)) == i.to_bytes(8, "little"), i

            # If the writer also reads, other slices follow a moment later.
            for wait in range(6000):
                if os.pread(views, 8, i % 100 // 3 * 48 + i % 100 % 3 * 8) == i.to_bytes(8, "little"):
                    break
                assert how == "rw", i
                time.sleep(0.005)
            else:
                raise AssertionError(i)
        if i >= 3000:
            assert map[8 * (i % 100):8 * (i % 100) + 8] == i.to_bytes(8, "little"), i
        writer.stdin.write(b"x")
    assert writer.wait() == 0


def writer_2():
    while line := sys.stdin.buffer.raw.readline():
        fd = os.open(sys.argv[1], os.O_WRONLY)
        data = bytes([int(line)]) * (4 << 20)
        os.write(1, b"r")
        os.read(0, 1)
        assert os.pwrite(fd, data, 0) == len(data)
        os.write(1, b"d")
        os.read(0, 1)
        os.close(fd)


def reader_2():
    slice, length = sys.argv[1], 4 << 20
    writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", sys.argv[0], "writer_2", slice],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    for i in range(1, 121):
        writer.stdin.write(b"%d\n" % i)
        writer.stdout.read(1)
        fd = os.open(slice, os.O_RDONLY)
        writer.stdin.write(b"g")
        os.pread(fd, 4096, length * (i % 8) // 8)
        writer.stdout.read(1)
        assert os.pread(fd, length, 0) == bytes([i]) * length, i
        os.close(fd)
        writer.stdin.write(b"g")
    writer.stdin.close()
    assert writer.wait() == 0


def stores():
    reader = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "-c", """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while True:
    sys.stdout.buffer.write(os.pread(fd, 8, 16))
    sys.stdout.buffer.flush()
    if not sys.stdin.buffer.read(1):
        break
""", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    reader.stdout.read(8)
    fd = os.open(sys.argv[1], os.O_RDWR)
    map = mmap.mmap(fd, 0)
    for i in range(100):
        map[16:24] = i.to_bytes(8, "little")
        reader.stdin.write(b"x")
        assert reader.stdout.read(8) == i.to_bytes(8, "little"), i
    reader.stdin.close()
    assert reader.wait() == 0


def mapper():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    def map(fd, length): # because mmap.mmap maps no more than the size
        address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        assert address not in (None, ctypes.c_void_p(-1).value)
        return (ctypes.c_ubyte * length).from_address(address)
    length, page = 1 << 20, mmap.PAGESIZE
    fd = os.open(sys.argv[1], os.O_RDONLY)
    bytes_there = map(fd, length)
    writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "-c", """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
while line := sys.stdin.buffer.raw.readline():
    offset, size = (int(word) for word in line.split())
    assert os.pwrite(fd, bytes([1 + offset % 251]) * size, offset) == size
    os.write(1, b"w")
os.write(1, b"%d" % os.fstat(fd).st_size)
""", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    # In the first page, up to its end, a byte past it, across some pages, and far beyond.
    writes = (0, 41), (41, page - 41), (page, 1), (page + 1, 5 * page), (length - 1, 1)
    for offset, size in writes:
        writer.stdin.write(b"%d %d\n" % (offset, size))
        assert writer.stdout.read(1) == b"w"
        if sys.argv[2] == "each":
            assert bytes_there[offset + size - 1] == 1 + offset % 251, offset
    writer.stdin.close()
    assert int(writer.stdout.read()) == length
    assert writer.wait() == 0
    for offset, size in writes:
        assert set(bytes_there[offset:offset + size]) == {1 + offset % 251}, offset


def endless():
    fd = os.open(sys.argv[1], os.O_WRONLY)
    i = 0
    while True:
        os.pwrite(fd, i.to_bytes(8, "little"), 8 * (i % 100))
        os.write(1, b"%d\n" % i)
        i += 1


def dead():
    fd = os.open(sys.argv[1], os.O_RDWR)
    assert os.pwrite(fd, b"stored", 0) == 6
    os.kill(int(sys.argv[2]), signal.SIGKILL)
    def lives(pid):
        try:
            return "Z" not in open(f"/proc/{pid}/stat").read()
        except (FileNotFoundError, ProcessLookupError):
            return False
    await_true(lambda: not lives(sys.argv[2]))
    for call in (lambda: os.pread(fd, 6, 0), lambda: os.pwrite(fd, b"x", 0), lambda: os.read(fd, 1)):
        # ECONNABORTED while the kernel is still closing the connection.
        assert fails(call) in ("ENOTCONN", "ECONNABORTED")


def many():
    ranks = range(int(sys.argv[2]), int(sys.argv[2]) + 420)
    slices = [(i, os.open(f"{sys.argv[1]}/rank{i}", os.O_RDONLY)) for i in ranks]
    data = open("m.dat", "rb").read()
    for i, fd in slices:
        assert os.read(fd, 20) == data[10 * i:10 * i + 10]
    print("read", flush=True)
    sys.stdin.read()


def many_programs():
    readers = [subprocess.Popen([sys.executable, sys.argv[0], "many", sys.argv[1], str(first)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for first in range(0, 4200, 420)]
    assert all(reader.stdout.readline() == b"read\n" for reader in readers)
    for reader in readers:
        reader.stdin.close()
    assert not any([reader.wait() for reader in readers])


def append():
    libc = ctypes.CDLL(None)
    libc.fdopen.restype = ctypes.c_void_p
    for mode in (b"a", b"a+"):
        fd = os.open(sys.argv[1], os.O_RDWR)
        file = ctypes.c_void_p(libc.fdopen(fd, mode))
        assert libc.fputs(b"stream", file) >= 0 and libc.fclose(file) == 0
    fd = os.open(sys.argv[1], os.O_RDWR)
    set_flag = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND)"
    if sys.argv[2] == "fork":
        if os.fork() == 0:
            # Bypasses the library, as a static program does.
            libc.syscall(72 if os.uname().machine == "x86_64" else 25, fd, fcntl.F_SETFL, os.O_APPEND)
            os._exit(0)
        os.wait()
    elif sys.argv[2] == "spawn":
        actions = [(os.POSIX_SPAWN_DUP2, fd, 1)]
        child = os.posix_spawn("/usr/bin/env", ["env", "-u", "LD_PRELOAD", "/usr/bin/python3", "-c", set_flag],
                               os.environ, file_actions=actions)
        os.waitpid(child, 0)
    else:
        subprocess.run(["env", "-u", "LD_PRELOAD", "/usr/bin/python3", "-c", set_flag], stdout=fd)
    assert os.write(fd, b"write") == 5
    os.lseek(fd, 0, 0)
    assert os.write(fd, b"again") == 5
