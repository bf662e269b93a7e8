# SPDX-License-Identifier: MIT
"""Programs of tests/bats/shared.bats."""
import fcntl
import mmap
import os
import signal
import subprocess
import sys
import time

from common import fails, stats


def position():
    return int(os.getxattr("mnt/shared", "user.mpiio.shared_position"))


def reads_and_writes_whole_etypes():
    file = os.open("mnt/shared", os.O_RDWR)
    other = os.open("mnt/shared", os.O_RDWR | os.O_APPEND | os.O_TRUNC)
    assert os.read(file, 23) == b"0000000\n0000001\n"
    assert os.read(other, 8) == b"0000002\n"
    assert position() == 3
    assert fails(os.read, file, 7) == "EINVAL"
    assert fails(os.write, file, b"1234567") == "EINVAL"
    assert fails(os.write, file, b"123456789") == "EINVAL"
    assert fails(os.lseek, file, 0, os.SEEK_SET) == "ESPIPE"
    assert fails(os.pread, file, 8, 0) == "ESPIPE"
    assert fails(os.pwrite, file, b"12345678", 0) == "ESPIPE"
    assert position() == 3
    assert os.write(other, b"aaaaaaa\nbbbbbbb\n") == 16
    assert os.write(file, b"ccccccc\n") == 8
    assert position() == 6
    assert open("mnt/rank1", "rb").read(64)[16:] == b"0000002\naaaaaaa\nbbbbbbb\nccccccc\n0000006\n0000007\n"
    for wrong in b"", b"-1", b"1x", b"99999999999999999999":
        assert fails(os.setxattr, "mnt/shared", "user.mpiio.shared_position", wrong) == "EINVAL"
    os.setxattr("mnt/shared", "user.mpiio.shared_position", b"998")
    assert os.read(file, 800) == b"0000998\n0000999\n"
    assert os.read(file, 800) == b"" and position() == 1000
    os.write(file, b"ddddddd\n")
    assert os.path.getsize("mnt/rank3") == 8008 and position() == 1001
    with mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ):
        pass
    assert position() == 1001


def a_call_of_more():
    record = os.urandom(1 << 20)
    for flags in 0, os.O_APPEND:
        file = os.open("mnt/shared", os.O_RDWR | flags)
        before = position()
        for size in 8, 65536, (1 << 20) - 4096:
            assert os.write(file, record[:size]) == size
        for many in 2, 5:
            put = os.write(file, record * many)
            assert (1 << 20) - 8192 < put <= 1 << 20 and put % 8 == 0, put
            assert 8 * (position() - before) == size + 65536 + 8 + put
            before += put // 8
    os.setxattr("mnt/shared", "user.mpiio.shared_position", b"0")
    file = os.open("mnt/shared", os.O_RDONLY)
    end = 0
    while (got := os.read(file, 3 << 20)):
        assert len(got) <= 1 << 20
        end += len(got)
        assert 8 * position() == end
    assert end == os.path.getsize("f.dat")
    # splice(2) counts the bytes by itself.
    before = position()
    there = os.open("mnt/shared", os.O_WRONLY)
    inlet, outlet = os.pipe()
    for text in b"aaaaaaa\n", b"bbbbbbb\n":
        os.write(outlet, text)
        assert os.splice(inlet, there, 8) == 8
    assert position() == before + 2


def mapped():
    file = os.open(sys.argv[1], os.O_RDONLY)
    view = mmap.mmap(file, 16, mmap.MAP_SHARED, mmap.PROT_READ)
    before = view[:8]
    os.write(os.open(sys.argv[2], os.O_WRONLY), b"aaaaaaa\n")
    assert before != b"aaaaaaa\n" and view[:8] == b"aaaaaaa\n"


def revoked():
    writer = subprocess.Popen(["strace", "-f", "-qq", "-o", "calls", "-e",
                               "inject=pwrite64:delay_enter=2s", "mpiio-run", "-s", sys.executable,
                               "-c", """import os
assert os.write(os.open("mnt/shared", os.O_WRONLY), b"aaaaaaa\\n") == 8
os.write(1, b"written")
os.read(0, 1) # the close would invalidate the pages, too"""],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while position() == 0:
        assert writer.poll() is None
        time.sleep(0.01)
    view = mmap.mmap(os.open("mnt/rank1", os.O_RDONLY), 16, mmap.MAP_SHARED, mmap.PROT_READ)
    before = view[:8]
    assert writer.stdout.read(7) == b"written"
    after = view[:8]
    writer.stdin.close()
    assert writer.wait() == 0 and after == b"aaaaaaa\n", (before, after)


def kills_daemon():
    daemon = stats()["pid"]
    file = os.open("mnt/shared", os.O_RDWR)
    assert os.write(file, b"aaaaaaa\n") == 8
    os.kill(daemon, signal.SIGKILL)
    while os.path.exists(f"/proc/{daemon}/fd/0"):
        time.sleep(0.01)
    for call, argument in (os.read, 8), (os.write, b"bbbbbbb\n"):
        # ECONNABORTED while the kernel is still closing the connection.
        assert fails(call, file, argument) in ("ENOTCONN", "ECONNABORTED")


def side():
    def writes():
        return stats()["requests"]["write"]
    lock = os.open("f.dat", os.O_RDWR)
    before = writes()
    fcntl.lockf(lock, fcntl.LOCK_EX) # writes wait for it in the daemon
    writers = [subprocess.Popen([sys.executable, "-c", """import os, sys
fd = os.open("mnt/shared", os.O_WRONLY)
assert os.write(fd, b"record%s\\n" % sys.argv[1].encode()) == 8""", str(i)]) for i in range(2)]
    end = time.monotonic() + 60
    while writes() < before + 2 and time.monotonic() < end:
        time.sleep(0.01)
    there = writes() - before
    os.close(lock)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert there == 2, there
    print(*sorted(open("f.dat").read(16).split()))
