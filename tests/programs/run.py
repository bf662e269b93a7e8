# SPDX-License-Identifier: MIT
"""Programs of tests/bats/run.bats."""
import ctypes
import errno
import os
import resource
import signal
import subprocess
import sys

from common import fails, overwrite


def members_are_read_by_the_program():
    reader, whole = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_RDWR)
    assert os.pwrite(whole, b"x" * 5000, 1000) == 5000
    os.fsync(whole)
    assert os.pread(reader, 6000, 500)[500:5500] == os.pread(whole, 5000, 1000) == b"x" * 5000


def members_of_others_are_read():
    whole = os.open(sys.argv[1], os.O_RDONLY)
    for byte in (b"y", b"z"):
        overwrite("m0", byte)
        assert os.pread(whole, 2, 0)[:1] == byte


def ways():
    slice, want = sys.argv[1], bytearray(open("want", "rb").read())
    with open(slice, "rb") as file:
        assert file.read(10) == want[:10] and file.tell() == 10
        file.seek(-9, 2)
        assert file.read() == want[-9:]
    fd = os.open(slice, os.O_RDWR)
    parts = [bytearray(5), bytearray(7)]
    assert os.readv(fd, parts) == 12 and b"".join(parts) == want[:12]
    assert os.preadv(fd, parts, 100) == 12 and b"".join(parts) == want[100:112]
    assert os.writev(fd, [b"abc", b"", b"defg"]) == 7
    assert os.pwritev(fd, [b"hi", b"jkl"], 50) == 5
    assert os.pwrite(fd, b"mno", 77) == 3
    want[12:19], want[50:55], want[77:80] = b"abcdefg", b"hijkl", b"mno"
    assert os.lseek(fd, 0, 1) == 19 and os.read(fd, 1000000) == want[19:]
    assert os.read(fd, 10) == b"" and os.pread(fd, 10, len(want)) == b""
    assert os.lseek(fd, 0, 2) == len(want) == os.fstat(fd).st_size
    assert os.write(fd, b"x" * 30) == 30 and os.fstat(fd).st_size == len(want) + 32
    want += b"x" * 30
    os.fsync(fd)
    assert os.pread(fd, 1000000, 0)[:len(want)] == want
    other = os.dup(fd)
    os.lseek(fd, 3, 0)
    assert os.read(other, 4) == want[3:7] and os.read(fd, 4) == want[7:11]
    os.dup2(os.open("/dev/zero", os.O_RDONLY), other)
    assert os.read(other, 4) == bytes(4)
    os.close(fd)
    with open(slice, "r+b") as file:
        file.write(b"front")
        file.seek(2)
        assert file.read(3) == b"ont"
    want[:5] = b"front"
    fd = os.open(slice, os.O_RDONLY)
    assert os.preadv(fd, parts, 100, os.RWF_HIPRI) == 12 and b"".join(parts) == want[100:112]
    with open("result", "wb") as file:
        file.write(want)


def errors():
    r, w = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_WRONLY)
    print(fails(os.read, w, 1), fails(os.write, r, b"x"), fails(os.pread, r, 1, -1),
          fails(os.pwrite, w, b"x", -1), fails(os.pwrite, w, b"x", 2**63 - 1), fails(os.lseek, r, -1, 0),
          fails(os.ftruncate, w, 1), fails(os.open, sys.argv[1] + "x", os.O_RDONLY),
          fails(os.preadv, r, [], 0), fails(os.pread, 1000, 1, 0))


def limit():
    signals = []
    signal.signal(signal.SIGXFSZ, lambda *words: signals.append(1))
    fd = os.open(sys.argv[1], os.O_RDWR)
    def put(length, offset):
        try:
            return os.pwrite(fd, b"x" * length, offset), len(signals)
        except OSError as error:
            return errno.errorcode[error.errno], len(signals)
    def limited(limit, outside):
        if outside:
            subprocess.run(["prlimit", "--fsize=" + (str(limit) if limit >= 0 else "unlimited") + ":",
                            "--pid", str(os.getpid())], check=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    print(put(10, 1000))
    for outside in False, True:
        limited(600, outside)
        print(put(10, 300), put(20, 590), put(1, 600), put(1, 1000), len(os.pread(fd, 500, 500)))
        limited(-1, outside)
        print(put(10, 1000))


def place():
    want = open(sys.argv[2], "rb").read()
    fd = os.open(sys.argv[1], os.O_RDONLY)
    assert os.read(fd, 100) == want[:100]
    if os.fork() == 0:
        os._exit(0 if os.read(fd, 100) == want[100:200] else 1)
    assert os.wait()[1] == 0
    assert os.read(fd, 100) == want[200:300]
    out = subprocess.run(["dd", "bs=100", "count=1", "status=none"], stdin=fd, capture_output=True)
    assert out.stdout == want[300:400]
    assert os.read(fd, 100) == want[400:500]
    children = []
    for i in range(8):
        if (child := os.fork()) == 0:
            for j in range(8):
                got = os.read(fd, 3)
                assert got == b"" or got in want
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert os.lseek(fd, 0, 1) == 500 + 8 * 8 * 3


def unseen():
    libc = ctypes.CDLL(None)
    fd = os.open(sys.argv[1], os.O_RDWR)
    libc.syscall(3 if os.uname().machine == "x86_64" else 57, fd)
    pipe = os.pipe()
    assert fd in pipe
    os.write(pipe[1], b"through the pipe")
    assert os.read(pipe[0], 100) == b"through the pipe"
    fd = os.open(sys.argv[1], os.O_RDWR)
    for number in range(3, 2000):
        fails(os.close, number)
    fd = os.open(sys.argv[1], os.O_RDONLY)
    assert os.read(fd, 5) == open(sys.argv[2], "rb").read(5)


def all_closed():
    os.dup2(os.open(sys.argv[1], os.O_RDWR), 0)
    want = open(sys.argv[2], "rb").read()
    assert os.read(0, 5) == want[:5]
    ctypes.CDLL(None).closefrom(3)
    for _ in range(1000):
        os.open("other", os.O_RDWR)
    assert os.pwrite(0, b"here", 100) == 4 and os.read(0, 5) == want[5:10]


def bus():
    fd = os.open(sys.argv[1], os.O_RDONLY)
    assert len(os.pread(fd, 1 << 20, 0)) == 1 << 20
    seen = []
    assert signal.getsignal(signal.SIGBUS) == signal.SIG_DFL
    signal.signal(signal.SIGBUS, lambda *words: seen.append(1))
    os.kill(os.getpid(), signal.SIGBUS)
    assert seen
    os.truncate("x.dat", 100000)
    assert len(os.pread(fd, 1 << 20, 0)) == 50000
    # A thread that blocks the signal survives, too.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGBUS})
    os.truncate("x.dat", 20000)
    assert len(os.pread(fd, 40000, 0)) == 10000


def copy():
    def copy(*arguments):
        try:
            return os.copy_file_range(*arguments)
        except OSError as error:
            return errno.errorcode[error.errno]
    slice, again = os.open(sys.argv[1], os.O_RDWR), os.open(sys.argv[1], os.O_RDWR)
    other, null = os.open(sys.argv[2], os.O_RDWR), os.open("/dev/null", os.O_WRONLY)
    plain, pipe = os.open("plain", os.O_RDWR | os.O_CREAT), os.pipe()
    print(copy(slice, again, 100, 0, 50), copy(slice, slice, 100, 0, 50), copy(slice, null, 100),
          copy(slice, pipe[1], 100), copy(slice, other, 100, 0, 0), copy(slice, again, 100, 0, 500),
          copy(slice, plain, 100, 0, 0), copy(plain, slice, 100, 0, 0))


def daemon():
    os.close(os.open(sys.argv[1], os.O_RDONLY))
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            if sys.argv[2] == "close":
                os.close(number)
            elif sys.argv[2] == "dup":
                os.dup2(null, number)
        if sys.argv[2] == "closerange":
            os.closerange(0, 3)
        elif sys.argv[2] == "daemon":
            import ctypes
            ctypes.CDLL(None).daemon(1, 0)
        open("started." + sys.argv[2], "w").write(str(os.getpid()))
        import time
        time.sleep(600)
