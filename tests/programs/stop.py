# SPDX-License-Identifier: MIT
"""Programs of tests/bats/stop.bats."""
import contextlib
import mmap
import os
import signal
import sys
import threading
import time

from common import stats


def what_was_acknowledged():
    fds = [os.open("%s/rank%d" % (sys.argv[1], rank), os.O_WRONLY) for rank in range(3)]
    done = open("done", "ab", 0)
    offset = 0
    with contextlib.suppress(OSError):
        while True:
            for rank, fd in enumerate(fds):
                data = (b"%d:%06d" % (rank, offset)) * 50
                if os.pwrite(fd, data, offset * 400) != 400:
                    break
                done.write(b"%d %d\n" % (rank, offset))
            offset += 1


def acknowledged_is_stored():
    slices = [open("%s/rank%d" % (sys.argv[1], rank), "rb").read() for rank in range(3)]
    for line in open("done"):
        rank, offset = map(int, line.split())
        assert slices[rank][offset * 400:(offset + 1) * 400] == (b"%d:%06d" % (rank, offset)) * 50


def dirty():
    m, how, kind = sys.argv[1:]
    fd = os.open(m + "/rank1", os.O_RDWR)
    data = b"".join(b"%07d\n" % i for i in range(25000))
    before = stats(m)
    if kind == "mapped":
        map = mmap.mmap(fd, len(data))
        map[:] = data
    else:
        for i in range(0, len(data), 8):
            os.write(fd, data[i:i + 8])
        assert before["writeback"]
        now = stats(m)
        assert now["slice_write_bytes"] < len(data), now
    if how == "umount":
        os.close(fd)
        assert os.system("mpiio-umount " + m) == 0
    else:
        os.kill(before["pid"], signal.SIGTERM)
        while os.path.exists("/proc/%d" % before["pid"]):
            time.sleep(0.01)


def load():
    file = os.open("b.dat", os.O_WRONLY)
    def work(fd):
        with contextlib.suppress(OSError):
            while True:
                os.pwrite(file, os.urandom(8), 4096)
                os.pread(fd, 1 << 20, 0)
                os.fsync(fd)
                print("goes on", flush=True)
    for fd in [os.open(sys.argv[1], os.O_RDONLY) for i in range(6)]:
        threading.Thread(target=work, args=(fd,)).start()
