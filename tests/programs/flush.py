# SPDX-License-Identifier: MIT
"""Programs of tests/bats/flush.bats."""
import ctypes
import multiprocessing
import os
import random
import struct
import sys
import time

from common import at_once, await_true, fails, slice_of, stats
from slices import merged


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


def an_epoch_needs_none():
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for given in range(4):
        parts = [slice_of(rank, 40000, given) for rank in range(4)]
        for rank in range(4):
            os.pwrite(files[rank], parts[rank], 0)
        with open("nomem.new", "wb") as out:
            out.write(bytes(given))
        os.rename("nomem.new", "nomem")
        for rank in range(4):
            # Stored data stays stored, even without memory to check the kernel's pages.
            assert fails(os.fsync, files[rank]) in (None, "ENOMEM")
        assert open("f.dat", "rb").read() == merged(parts, 8)
        os.unlink("nomem")
        for node in range(2):
            assert os.getxattr(f"m{node}", "user.mpiio.state") == b"ok"


def two_nodes_write_the_bytes():
    COUNT = 1500
    want = [[(number * 7 + byte * 31) % 128 for byte in range(4)] for number in range(COUNT)]
    def write(node):
        fd = os.open(f"m{node}/rank0", os.O_RDWR)
        order = list(range(COUNT))
        random.Random(node).shuffle(order)
        for number in order:
            mine = bytes(want[number][2 * node:2 * node + 2])
            assert os.pwrite(fd, mine, 8 * number + 2 * node) == 2
            assert os.pread(fd, 2, 8 * number + 2 * node) == mine
        return fd
    for fd in at_once(write, range(2)):
        os.fsync(fd)
    right = b"".join(bytes(reversed(number)) for number in want)
    have = open("f.dat", "rb").read()
    lost = sum(have[i:i + 4] != right[i:i + 4] for i in range(0, len(right), 4))
    assert have == right, f"{lost} of {COUNT}"
    for node in range(2):
        with open(f"m{node}/rank0", "rb") as file:
            assert [list(number[:4]) for number, in struct.iter_unpack("8s", file.read())] == want


def two_nodes_write_long_doubles():
    def native(number):
        """Returns 10 bytes and 6 meaningless ones: the mantissa of 64 bits, then the exponent."""
        return (1 << 63 | number * 0x123456789abcd % (1 << 56)).to_bytes(8, "little") + b"\x05\x40" + bytes(6)
    def external(number):
        mantissa = int.from_bytes(native(number)[:8], "little") - (1 << 63)
        return b"\x40\x05" + (mantissa << 49).to_bytes(14, "big")
    COUNT = 400
    files = [os.open(f"m{node}/rank0", os.O_RDWR) for node in range(2)]
    os.pwrite(files[0], b"".join(native(0) for number in range(COUNT)), 0)
    assert os.stat("f.dat").st_size == 0, "whole values are written back"
    os.fsync(files[0])
    def write(node):
        for number in range(COUNT):
            start = 4 * node
            os.pwrite(files[node], native(number)[start:start + 3 + (1 - node)], 16 * number + start)
    at_once(write, range(2))
    for fd in files:
        os.fsync(fd)
    assert open("f.dat", "rb").read() == b"".join(external(number) for number in range(COUNT))


def whole_values_are_written_back():
    one, other = (os.open(f"m{node}/rank0", os.O_RDWR) for node in range(2))
    os.pwrite(one, struct.pack("<1000q", *range(1000)), 0)
    assert stats("m0")["dirty_bytes"] == 4000 and stats("m0")["store_writes"] == 0
    os.pwrite(one, b"\x77", 8 * 5 + 1)
    assert stats("m0")["dirty_bytes"] == 4000 and stats("m0")["store_writes"] == 0
    assert os.stat("f.dat").st_size == 0
    # The clean part of the element is in the file.
    os.pwrite(other, b"\x55", 8 * 2000)
    assert stats("m1")["dirty_bytes"] == 0 and stats("m1")["store_writes"] == 1
    assert open("f.dat", "rb").read()[8000:] == b"\0\0\0\x55"
    assert os.fstat(one).st_size == 8 * 2001
    # It is synced, although no data waits to be stored.
    epoch = int(os.getxattr("m1", "user.mpiio.epoch"))
    os.fsync(other)
    assert int(os.getxattr("m1", "user.mpiio.epoch")) > epoch
    os.fsync(one)
    right = list(range(1000)) + [0] * 1000 + [0x55]
    right[5] += 0x7700
    assert list(struct.unpack(">2001i", open("f.dat", "rb").read())) == right


def a_value_that_waits():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    def map_page(fd):
        PROT_READ, MAP_SHARED = 1, 1
        page = libc.mmap(None, ctypes.c_size_t(4096), PROT_READ, MAP_SHARED, fd, ctypes.c_long(0))
        assert page != ctypes.c_void_p(-1).value, ctypes.get_errno()
        return ctypes.c_void_p(page)
    for early in range(2):
        late = 1 - early
        os.truncate("f.dat", 0)
        writer = os.open(f"m{late}/rank0", os.O_RDWR)
        os.pwrite(writer, bytes(8), 0)
        os.fsync(writer)
        fd = os.open(f"m{early}/rank0", os.O_RDWR)
        page = map_page(fd)
        os.pwrite(fd, b"\xff" * 4, 4)
        os.pwrite(fd, b"\x05", 0)
        assert fails(os.fsync, fd) == "ERANGE"
        assert fails(os.close, fd) == "ERANGE"
        os.pwrite(writer, struct.pack("<q", -7), 0)
        os.fsync(writer)
        assert libc.munmap(page, ctypes.c_size_t(4096)) == 0
        # The written part is not given up: it is laid over the element in the file, where all nodes
        # see it.
        await_true(lambda: open("f.dat", "rb").read() == struct.pack(">i", -251))
        os.pwrite(writer, struct.pack("<q", -9), 0)
        os.fsync(writer)
        os.fsync(os.open(f"m{early}/rank0", os.O_RDONLY))
        assert open("f.dat", "rb").read() == struct.pack(">i", -9), early
        os.close(writer)


def one_that_another_node_completes():
    one, other = (os.open(f"m{node}/rank0", os.O_RDWR) for node in range(2))
    os.pwrite(one, struct.pack("<q", 5), 0)
    os.fsync(one)
    # Both halves of a negative number. Neither makes a value that fits with the bytes in the file.
    os.pwrite(one, b"\xf9\xff\xff\xff", 0)
    os.pwrite(other, b"\xff\xff\xff\xff", 4)
    assert fails(os.fsync, one) == "ERANGE"
    assert fails(os.fsync, other) == "ERANGE"
    assert open("f.dat", "rb").read() == b"\0\0\0\5"
    os.pwrite(other, struct.pack("<q", -1), 0)
    os.fsync(other)
    epoch = int(os.getxattr("m0", "user.mpiio.epoch"))
    os.fsync(one)
    assert int(os.getxattr("m0", "user.mpiio.epoch")) > epoch
    assert open("f.dat", "rb").read() == b"\xff\xff\xff\xf9"


def parts_and_wholes_at_random():
    COUNT, STEPS = 300, 1200
    model = [bytearray(8) for number in range(COUNT)]
    files = [os.open(f"m{node}/rank0", os.O_RDWR) for node in range(2)]
    os.pwrite(files[0], bytes(8 * COUNT), 0)
    os.fsync(files[0])
    def write(node):
        pick = random.Random(node + 10)
        fd = files[node]
        for step in range(STEPS):
            number = pick.randrange(COUNT)
            value = model[number]
            what = pick.randrange(20)
            if what == 0:
                os.fsync(fd)
            elif number % 3 == node and what < 8:
                # One of its own values: as a whole, or any part of it.
                start, end = (0, 4) if what < 5 else sorted(pick.sample(range(5), 2))
                value[start:end] = bytes(pick.randrange(128) for _ in range(end - start))
                whole = (0, 8) if what < 5 else (start, end)
                os.pwrite(fd, value[whole[0]:whole[1]], 8 * number + whole[0])
            elif number % 3 == 2:
                start, end = sorted(pick.sample(range(2 * node, 2 * node + 3), 2))
                value[start:end] = bytes(pick.randrange(128) for _ in range(end - start))
                os.pwrite(fd, value[start:end], 8 * number + start)
                mine = slice(2 * node, 2 * node + 2)
                assert os.pread(fd, 8, 8 * number)[mine] == value[mine], (node, step)
    at_once(write, range(2))
    for fd in files:
        os.fsync(fd)
    have = open("f.dat", "rb").read()
    wrong = [n for n in range(COUNT) if have[4 * n:4 * n + 4] != bytes(reversed(model[n][:4]))]
    assert not wrong, wrong
