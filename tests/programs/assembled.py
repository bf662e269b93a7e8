# SPDX-License-Identifier: MIT
"""Programs of tests/bats/assembled.bats."""
import contextlib
import fcntl
import mmap
import os
import random
import signal
import struct
import sys
import threading
import time

from common import at_once, fails, slice_of


def py_both():
    """The ranks of m0 and m1 write all their bytes. model.dat is the model of the whole."""
    import numpy
    whole = numpy.fromfile("whole.dat", "<u8") * 3 + 1
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for rank, fd in enumerate(files):
        data = whole[rank::4].tobytes()
        for at in range(0, len(data), 300000):
            os.pwrite(fd, data[at:at + 300000], at)
    os.fsync(files[3])
    whole.tofile("model.dat")
    for rank in range(4):
        assert (numpy.fromfile(f"m{1 - rank % 2}/rank{rank}", "<u8") == whole[rank::4]).all()


def a_full_disk_of_one_member():
    parts = [slice_of(rank, 4 << 20, 7) for rank in range(4)]
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    other = os.open("m0/rank3", os.O_RDWR)
    for rank in range(4):
        os.pwrite(files[rank], parts[rank], 0)
    os.pwrite(other, b"x", 3 << 20)
    results = [fails(os.fsync, fd) for fd in files + [other]]
    assert results == [None, None, None, "ENOSPC", "ENOSPC"], results
    for rank in range(3):
        assert open(f"T.000{rank}.data", "rb").read() == parts[rank], rank
    assert os.pread(files[3], 3 << 20, 0) == parts[3][:3 << 20], "what is not stored is kept"
    os.unlink("disk/filler")
    for fd in files + [other]:
        os.fsync(fd)
        os.close(fd)
    data = open("T.0003.data", "rb").read()
    assert data[:3 << 20] == parts[3][:3 << 20] and data[(3 << 20) + 1:] == parts[3][(3 << 20) + 1:]


def parts_of_values_of_two_nodes():
    halves = [os.open(f"m{node}/rank1", os.O_RDWR) for node in range(2)]
    for index in range(0, 1024, 7):
        whole = struct.pack("<d", index + 0.5)
        os.pwrite(halves[0], whole[:3], 8 * index)
        os.pwrite(halves[1], whole[3:], 8 * index + 3)
    for fd in halves:
        os.fsync(fd)
    data = b"".join(open(f"T.000{member}.data", "rb").read() for member in range(4))
    for index in range(0, 1024, 7):
        at = 8 * (4 * index + 1)
        assert data[at:at + 8] == struct.pack(">d", index + 0.5), index


def kill_and_sync():
    """Kills an engine or a daemon while three nodes have much to store. The others sync what they
    have written. Argument: engine or node."""
    import numpy
    whole = numpy.fromfile("whole.dat", "<u8")
    lives = [0, 1] if sys.argv[1] == "node" else [0, 1, 2]
    mine = os.environ["MPIIO_TEST"].encode()
    def processes(name):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if name in os.readlink(f"/proc/{pid}/exe") and \
                        b"MPIIO_TEST=" + mine in open(f"/proc/{pid}/environ", "rb").read():
                    yield int(pid), open(f"/proc/{pid}/cmdline").read()
    if sys.argv[1] == "node":
        victim = next(pid for pid, line in processes("mpiio-fused") if "/m2" in line)
    else:
        victim = next(pid for pid, line in processes("mpiio-engine"))
    files = {rank: os.open(f"m{rank}/rank{rank}", os.O_RDWR) for rank in lives}
    model = whole.copy()
    for rank, fd in files.items():
        model[rank::4] = model[rank::4] * 5 + rank
        os.pwrite(fd, model[rank::4].tobytes(), 0)
    thread = threading.Thread(target=lambda: os.fsync(files[0]))
    thread.start()
    time.sleep(random.random() / 10)
    os.kill(victim, signal.SIGKILL)
    thread.join()
    for fd in files.values():
        os.fsync(fd)
        os.close(fd)
    assert (numpy.fromfile("m0/whole", "<u8")[0::4] == model[0::4]).all()
    model.tofile("model.dat")


def atomic_mode_no_call_sees():
    own = os.open("T.0000.data", os.O_RDWR)
    fcntl.lockf(own, fcntl.LOCK_EX, 65536, 0)

    # The record spans three members.
    START, LENGTH = 60000, 140000
    stop = time.monotonic() + 2
    def writer(node, value):
        fd = os.open(f"m{node}/whole", os.O_RDWR)
        count = 0
        while time.monotonic() < stop or count < 20:
            value = value % 250 + 2
            assert os.pwrite(fd, bytes([value]) * LENGTH, START) == LENGTH
            count += 1
    def reader(node):
        fd = os.open(f"m{node}/whole", os.O_RDONLY)
        count = 0
        os.pread(fd, LENGTH, START)
        while time.monotonic() < stop or count < 20:
            got = os.pread(fd, LENGTH, START)
            assert len(got) == LENGTH and got == got[:1] * LENGTH, (node, set(got))
            count += 1
    os.pwrite(os.open("m0/whole", os.O_RDWR), b"x" * LENGTH, START)
    at_once(lambda job: job[0](*job[1:]), ((writer, 0, 3), (writer, 1, 2), (reader, 0), (reader, 1)))


def cyclic():
    import numpy
    count = int(sys.argv[1])
    whole = numpy.fromfile("f/whole.dat", numpy.uint8).reshape(-1, 4096)
    for member in range(count):
        whole[member::count].tofile(f"f/T.{member}")


def pool_shows_what_is_closed():
    import numpy
    whole = numpy.fromfile("f/whole.dat", numpy.uint8).reshape(-1, 4096)
    for round in range(30):
        member = random.randrange(7)
        part = whole[member::7]
        row, byte = random.randrange(len(part)), random.randrange(4096)
        part[row, byte] ^= 0x55
        with open(f"f/T.{member}", "r+b") as out:
            out.seek(4096 * row + byte)
            out.write(part[row, byte].tobytes())
        if round % 3 == 0:
            time.sleep(0.05)
        words = whole.ravel().view("<u8")
        for rank in range(2):
            assert (numpy.fromfile(f"mnt/rank{rank}", "<u8") == words[rank::2]).all(), round


def pool_shows_what_is_written():
    buffer = mmap.mmap(-1, 4096)
    at = os.open(sys.argv[1] + "/rank1", os.O_RDWR | os.O_DIRECT)
    time.sleep(0.1)  # until the times of the members have settled
    for i in range(30):
        os.readv(at, [buffer])
        data = bytes((i,)) * 4096
        os.pwrite(at, data, 0)
        if i % 2:
            os.fsync(at)
        assert os.preadv(at, [buffer], 0) == 4096
        assert buffer[:] == data, (i, buffer[:8])
        time.sleep(0.03 * (i % 3))
        assert os.preadv(at, [buffer], 0) == 4096 and buffer[:] == data, i
