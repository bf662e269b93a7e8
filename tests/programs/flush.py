# SPDX-License-Identifier: MIT
"""Programs of tests/bats/flush.bats."""
import multiprocessing
import os
import sys
import time

from common import await_true, main, stats


def who_opens_during_a_flush():
    half = 4 << 20
    def write():
        with open("m0/rank0", "r+b") as out:
            out.seek(half)
            out.write(b"n" * half)
    writer = multiprocessing.Process(target=write)
    writer.start()
    await_true(lambda: os.path.exists(sys.argv[1] + ".frozen"))
    # Node 2 has nothing to store, so its part of the flush finishes soon.
    await_true(lambda: own_part(2) == 1)
    assert read_new(2, half, half) == bytes(half)
    open(sys.argv[1] + ".go", "w").close()
    writer.join()
    assert writer.exitcode == 0
    assert read_new(2, half, half) == b"n" * half


def epoch(node):
    """Returns the number of the last flush that a node reports as finished."""
    return int(os.getxattr(f"m{node}", "user.mpiio.epoch"))


def own_part(node):
    """Returns how many flushes the node's own engine has finished."""
    return stats(f"m{node}")["cluster"]["epochs"]


def read_new(node, offset, length):
    with open(f"m{node}/rank0", "rb") as file:
        return os.pread(file.fileno(), length, offset)


def read_until(stop, node, offset, length):
    """Opens, reads, syncs and closes a slice again and again, without writing. The old and the new
    contents are both right, depending on whether the other node's close has returned."""
    while not stop.is_set():
        fd = os.open(f"m{node}/rank0", os.O_RDWR)
        assert set(os.pread(fd, length, offset)) <= set(b"\0n")
        os.fsync(fd)
        os.close(fd)


def flush_slowly(gate, how, home):
    """Node 1 writes bytes that the node home stores, and ends with how (close or fsync). The third
    node, the bystander, has nothing to store."""
    half, offset, bystander, deaf = 4 << 20, home * (4 << 20), 2 - home, "deaf.2"
    before, part = [epoch(node) for node in range(3)], own_part(bystander)
    over, stop = multiprocessing.Event(), multiprocessing.Event()

    def write():
        fd = os.open("m1/rank0", os.O_RDWR)
        assert os.pwrite(fd, b"n" * half, offset) == half
        os.fsync(fd) if how == "fsync" else os.close(fd)
        over.set()
    kept = os.open(f"m{bystander}/rank0", os.O_RDWR)
    assert os.pread(kept, half, offset) == bytes(half)
    writer = multiprocessing.Process(target=write, daemon=True)
    reader = multiprocessing.Process(target=read_until, args=(stop, bystander, offset, half),
                                     daemon=True)
    writer.start()
    await_true(lambda: os.path.exists(gate + ".frozen") or over.is_set())
    reader.start()
    try:
        # Without a sync, the bystander's part of the flush finishes soon.
        if how == "close":
            await_true(lambda: own_part(bystander) > part)
        # For two seconds the home waits in its write or sync. No node may finish the flush.
        for _ in range(20):
            time.sleep(0.1)
            assert not over.is_set(), f"{how} returned before node {home} had stored"
            assert [epoch(node) for node in range(3)] == before, "a node counts the flush as over"
        # Node 2 has sent DONE. From now on its daemon does not receive the message that the flush
        # has finished.
        unaware = how == "close" and bystander == 2
        if unaware:
            open(deaf, "w").close()
        open(gate + ".go", "w").close()
        assert over.wait(300)
        assert not unaware or epoch(bystander) == before[bystander]
        assert read_new(bystander, offset, half) == b"n" * half
        os.fsync(kept)
        assert os.pread(kept, half, offset) == b"n" * half
    finally:
        open(gate + ".go", "w").close()
        open(deaf, "w").close()
        os.remove(deaf)
        stop.set()
    for job in (writer, reader):
        job.join()
        assert job.exitcode == 0
    os.close(kept)
    await_true(lambda: all(epoch(node) > before[node] for node in range(3)))


def no_flush_is_over_before_the_home_has_stored():
    gate, how = sys.argv[1:]
    for home in (0, 2):
        flush_slowly(gate, how, home)
        os.remove(gate + ".frozen")
        os.remove(gate + ".go")


main(globals())
