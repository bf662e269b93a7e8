# SPDX-License-Identifier: MIT
"""Programs of tests/bats/ordered.bats."""
import os
import random
import signal
import sys
import threading
import time

from common import await_true, fails, in_processes, slice_of, stats


def a_share_of_one():
    def start(rank):
        pid = os.fork()
        if pid == 0:
            fd = os.open(f"mnt/ordered/rank{rank}", os.O_WRONLY)
            os.write(fd, b"half of rank %d\n" % rank)
            os.write(1, b".")
            signal.pause()
        return pid
    pids = [start(2), start(0)]
    await_true(lambda: open("f.dat").read() == "half of rank 0\n")
    await_true(lambda: stats()["ordered_waiting_bytes"] == 15)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with open("mnt/ordered/rank1", "w") as out:
        out.write("rank 1\n")
    await_true(lambda: open("f.dat").read() == "half of rank 0\nrank 1\nhalf of rank 2\n")


def a_writer_without_room_waits():
    fd = os.open("mnt/ordered/rank2", os.O_WRONLY)
    os.write(fd, b"two")
    os.fsync(fd)
    assert open("f.dat", "rb").read()[-3:] == b"two"


def ranks_read_in_turn(*mounts):
    """Three ranks, each at one of the mounts, read f.dat. Rank 0 comes last. Returns the data, and a
    function that has a rank read up to a length."""
    data = open("f.dat", "rb").read()
    got = [None] * 3
    def read(rank, length):
        fd = os.open(f"{mounts[rank]}/ordered/rank{rank}", os.O_RDONLY)
        got[rank] = os.read(fd, length)
        os.close(fd)
        return got[rank]
    threads = [threading.Thread(target=read, args=a) for a in ((2, 4000), (1, 8))]
    for thread in threads:
        thread.start()
    await_true(lambda: sum(stats(mount)["ordered_waits"] for mount in set(mounts)) == 2)
    assert got == [None] * 3
    assert os.getxattr(f"{mounts[1]}/ordered", "user.mpiio.turn") == b"0"
    fd = os.open(f"{mounts[0]}/ordered/rank0", os.O_RDONLY)
    assert fails(os.read, fd, 3) == "EINVAL"
    assert os.read(fd, 16) + os.read(fd, 5) == data[:20]
    os.close(fd)
    for thread in threads:
        thread.join()
    assert got[1] == data[20:28] and got[2] == data[28:], got
    return data, read


def ranks_read_one_after_the_other():
    data, read = ranks_read_in_turn("mnt", "mnt", "mnt")
    # In the next round no data is left. What is written is appended.
    for rank in range(3):
        assert read(rank, 100) == b""
    with open("mnt/ordered/rank0", "wb") as out:
        out.write(b"more")
    await_true(lambda: open("f.dat", "rb").read() == data + b"more")


def what_cannot_be_stored_is_told():
    one = os.open("mnt/ordered/rank1", os.O_WRONLY)
    os.write(one, bytes(1 << 20))
    zero = os.open("mnt/ordered/rank0", os.O_WRONLY)
    assert fails(os.write, zero, bytes(1 << 20)) == "ENOSPC"
    os.close(zero)
    assert fails(os.fsync, one) == "ENOSPC"
    assert fails(os.close, one) == "ENOSPC"


def random_rounds():
    rounds, ranks, etype, largest = map(int, sys.argv[1:5])
    mounts = sys.argv[5:]
    def share(rank, round):
        r = random.Random(rank * 1000 + round)
        length = r.choice([0, 1, 3, 4, 5000, 70000]) if round % 50 else largest
        return slice_of(rank, length, round)
    def work(rank):
        r = random.Random(rank)
        for round in range(rounds):
            if r.random() < 0.2:
                time.sleep(r.random() / 50)
            data = share(rank, round)
            with open(f"{r.choice(mounts)}/ordered/rank{rank}", "wb", buffering=0) as out:
                while data:
                    n = out.write(data[:r.randrange(1, 300000)])
                    data = data[n:]
                if r.random() < 0.02:
                    os.fsync(out)
    def total(key):
        return sum(stats(mount)[key] for mount in mounts)
    in_processes(work, range(ranks))
    await_true(lambda: total("ordered_shares") == rounds * ranks)
    with open("want", "wb") as want:
        for round in range(rounds):
            for rank in range(ranks):
                data = share(rank, round)
                want.write(data + bytes(-len(data) % etype))
    assert total("ordered_waiting_bytes") == 0 and total("ordered_waits") > 0
    await_true(lambda: all(os.getxattr(f"{mount}/ordered", "user.mpiio.turn") == b"0" for mount in mounts))
