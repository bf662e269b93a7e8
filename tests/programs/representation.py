# SPDX-License-Identifier: MIT
"""Programs of tests/bats/representation.bats."""
import fcntl
import mmap
import os
import struct
import sys
import threading

from common import in_processes


def records():
    native, external = b"", b""
    for i in range(100):
        number = i * 7919 + 1
        bits = number.bit_length() - 1
        head = (i % 128, i - 50, (i - 50) * 10**7, 300 * i, i * 0.1 - 3)
        exponent = 16383 + bits + (0x8000 if i % 2 else 0)
        native += struct.pack("<bhqif", *head)
        native += struct.pack("<QHxxxxxx", number << 63 - bits, exponent)
        external += struct.pack(">bhiHf", *head)
        external += struct.pack(">H", exponent) + ((number << 112 - bits) & (1 << 112) - 1).to_bytes(14, "big")
    open("r.native", "wb").write(native)
    open("r.external32", "wb").write(external)


def two_ranks_records():
    native = open("r.native", "rb").read()
    for rank in (0, 1):
        mine = b"".join(native[at:at + 35] for at in range(35 * (1 - rank), 3500, 70))
        with open(f"{sys.argv[1]}/rank{rank}", "r+b") as file:
            with mmap.mmap(file.fileno(), 0) as map:
                map[:] = mine
                map.flush()


def every_byte_order_through_numpy_eyes():
    import numpy
    bits = numpy.array([0x7ff80000deadbeef, 0xfff0000000000001, 0x7ff0000000000000, 1 << 63, 1,
                        0x3ff199999999999a], "<u8")
    bits.tofile("double.native")
    bits.byteswap().tofile("double.big")
    bits.view("<u4").byteswap().tofile("float.big")
    bits.view("<u2").byteswap().tofile("short.big")


def writers_through_two_mounts_lose_nothing():
    def writer(number):
        fd = os.open(f"{sys.argv[1 + number % 2]}/rank0", os.O_RDWR)
        file = os.open("x.dat", os.O_RDONLY)
        for round in range(400):
            byte = bytes([(round * 7 + number) % 128])
            for at in (0, 16):
                if number < 4:
                    os.pwrite(fd, byte, at + number)
                    assert os.pread(file, 1, at // 2 + 3 - number) == byte, round
                else:
                    os.pwrite(fd, byte * 4 + bytes(4), at + 8)
    in_processes(writer, range(6))


def nothing_is_lost():
    last = 399 * 7
    want = bytes((last + number) % 128 for number in range(4)) + bytes(4)
    data = open("got", "rb").read()
    for at in (0, 16):
        assert data[at:at + 8] == want, data[at:at + 8]
        assert data[at + 8] in ((last + 4) % 128, (last + 5) % 128)
        assert data[at + 8:at + 12] == data[at + 8:at + 9] * 4 and data[at + 12:at + 16] == bytes(4)
    assert data[32:] == bytes(len(data) - 32)


def a_program_with_fcntl_locks():
    file = os.open("x.dat", os.O_RDWR)
    fcntl.lockf(file, fcntl.LOCK_EX, 4, 4)
    def write(at, data):
        fd = os.open(f"{sys.argv[1]}/rank0", os.O_WRONLY)
        assert os.pwrite(fd, data, at) == len(data)
    # A partial write of another element does not wait.
    write(0, b"\1")
    # A partial write of the locked element waits, because it is a read-modify-write. Bytes that the
    # lock's holder stores meanwhile stay.
    other = threading.Thread(target=write, args=(8, b"\x22"))
    other.start()
    other.join(0.5)
    assert other.is_alive()
    os.pwrite(file, b"\0\0\x11\0", 4)
    fcntl.lockf(file, fcntl.LOCK_UN, 4, 4)
    other.join()
    assert os.pread(file, 8, 0) == b"\0\0\0\1\0\0\x11\x22", os.pread(file, 8, 0)


def a_number_stored_as_another_one():
    unnormal = (1).to_bytes(8, "little") + b"\xff\x3f"
    six = (6 << 61).to_bytes(8, "little") + b"\x01\x40"
    external = b"\x40\x01\x80" + bytes(13)
    first = os.open("mnt/rank0", os.O_RDWR)
    os.pwrite(first, unnormal, 0)
    os.fsync(first)
    second = os.open("mnt/rank1", os.O_RDWR)
    os.pwrite(second, six, 0)
    os.fsync(second)
    os.close(second)
    os.fsync(first)
    assert open("f.dat", "rb").read() == external
    os.close(first)
    with open("mnt/rank0", "rb") as again:
        assert again.read(10) == six
