#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""children.py SLICE...: for each way to pass a descriptor on, truncates a slice, writes a little,
and has another process continue with the descriptor, which leaves a hole. The slice must have the
same bytes as a plain file after the same calls. Does the same for calls of this process that write
without being served.
"""
import array
import ctypes
import os
import socket
import subprocess
import sys

# Writes 500 bytes, 9000 bytes behind the offset of its stdout.
CHILD = ["/usr/bin/dd", "if=child", "bs=500", "seek=9000", "oflag=seek_bytes", "status=none"]
libc = ctypes.CDLL(None, use_errno=True)


def vfork(fd):
    subprocess.run(CHILD, stdout=fd, check=True)


def spawn(fd):
    pid = os.posix_spawn(CHILD[0], CHILD, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, fd, 1)])
    assert os.waitpid(pid, 0)[1] == 0


def system(fd):
    os.set_inheritable(fd, True)
    assert os.system(f"{' '.join(CHILD)} >&{fd}") == 0


def popen(fd):
    libc.popen.restype = ctypes.c_void_p
    os.set_inheritable(fd, True)
    stream = libc.popen(f"{' '.join(CHILD)} >&{fd}".encode(), b"w")
    assert libc.pclose(ctypes.c_void_p(stream)) == 0


def execute(fd):
    path = os.readlink(f"/proc/self/fd/{fd}")
    os.close(fd)
    subprocess.run([sys.executable, "-Sc", """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"here" * 100)
os.dup2(fd, 1)
os.execv(sys.argv[2], sys.argv[2:])""", path, *CHILD], check=True)
    assert os.open(path, os.O_WRONLY) == fd


def unseen_fork(fd):
    pid = libc._Fork()  # calls no handlers of pthread_atfork(3)
    if pid == 0:
        os.write(fd, b"child" * 100)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    os.lseek(fd, 9000, 1)
    os.write(fd, b"parent")


def send(fd):
    ours, theirs = socket.socketpair()
    receiver = subprocess.Popen([sys.executable, "-Sc", """
import array, os, socket
end = socket.socket(fileno=0)
fd = array.array("i", end.recvmsg(1, 64)[1][0][2])[0]
os.lseek(fd, 9000, 1)
os.write(fd, b"child" * 100)"""], stdin=theirs)
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    assert receiver.wait() == 0


def copy(fd):
    other = os.path.join(os.path.dirname(os.readlink(f"/proc/self/fd/{fd}")), "rank1")
    source = os.open(other, os.O_RDONLY)
    assert os.copy_file_range(source, fd, 500, 0, 9400) == 500
    os.close(source)


def pipe(fd):
    out, into = os.pipe()
    os.write(into, b"piped" * 100)
    assert os.splice(out, fd, 500, offset_dst=9400) == 500


def flags(fd):
    assert os.pwritev(fd, [b"flags" * 100], 9400, os.RWF_DSYNC) == 500


def after(fd):
    vfork(fd)
    os.lseek(fd, 9000, 1)
    os.write(fd, b"parent")


def early(fd):
    os.ftruncate(fd, 0)
    os.lseek(fd, 0, 0)
    vfork(fd)
    os.lseek(fd, 9000, 1)
    os.write(fd, b"parent")


def contents(path, way):
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600)
    os.write(fd, b"here" * 100)
    way(fd)
    os.close(fd)
    with open(path, "rb") as file:
        return file.read()


WAYS = vfork, spawn, system, popen, execute, unseen_fork, send, copy, pipe, flags, after, early

for name, data in ("rank1", b"x" * 500), ("child", b"child" * 100):
    with open(name, "wb") as file:
        file.write(data)
expected = [contents("plain", way) for way in WAYS]
wrong = []
for slice in sys.argv[1:]:
    for way, want in zip(WAYS, expected):
        with open(slice, "r+b") as file:
            file.write(b"x" * os.fstat(file.fileno()).st_size)
        got = contents(slice, way)
        if got[:len(want)] != want or got[len(want):].strip(b"x"):
            wrong.append(f"{slice}: {way.__name__}")
sys.exit("wrong: " + ", ".join(wrong) if wrong else 0)
