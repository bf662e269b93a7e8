# SPDX-License-Identifier: MIT
"""Programs of tests/bats/distributed.bats."""
import errno
import fcntl
import os
import sys

from common import at_once, contents, overwrite


def none_lost():
    """Checks that rank r has written r + 1 to all of its bytes. Arguments: bytes of
    a run, and of the file."""
    import numpy
    run, size = map(int, sys.argv[1:])
    data = numpy.fromfile("brick/x.dat", numpy.uint8).reshape(-1, 2, run)
    lost = [int((data[:, rank] != rank + 1).any(axis=1).sum()) for rank in range(2)]
    print(f"runs of {run}: of {data.shape[0]} records of each rank, lost are {lost}")
    assert data.size == size and lost == [0, 0]


def opening_a_slice_shows_what_another():
    stale = {"slice": 0, "file": 0}
    for round in range(1, 21):
        value = bytes([round])
        contents("m1/rank0")
        overwrite("m0/rank0", value * 32768)
        stale["slice"] += contents("m1/rank0")[:32768] != value * 32768
        # Another program, without a mount.
        overwrite("dfs0/x.dat", value * 512, range(512, 65536, 1024))
        stale["file"] += contents("m1/rank1")[:32768] != value * 32768
        with open("dfs0/x.dat", "ab") as file:
            file.write(b"x" * 1024)
        stale["file"] += len(contents("m1/rank1")) != 32768 + 512 * round
    print(sys.argv[1], stale)
    assert not any(stale.values())


def in_atomic_mode_each_read_returns():
    fds = [os.open(f"m{node}/rank0", os.O_RDWR) for node in (0, 1)]
    foreign = os.open("dfs2/x.dat", os.O_RDWR)
    stale = {"slice": 0, "foreign": 0, "size": 0}
    for round in range(1, 101):
        value = bytes([round])
        os.pwrite(fds[round % 2], value * 32768, 0)
        stale["slice"] += os.pread(fds[1 - round % 2], 32768, 0) != value * 32768
        fcntl.lockf(foreign, fcntl.LOCK_EX, 65536)
        os.pwrite(foreign, value * 512, 65536 + (round - 1) * 1024)
        os.pwrite(foreign, b"\xff" * 512, 1024)
        os.fsync(foreign)
        fcntl.lockf(foreign, fcntl.LOCK_UN, 65536)
        for fd in fds:
            stale["foreign"] += os.pread(fd, 512, 512) != b"\xff" * 512
            stale["size"] += os.pread(fd, 1024, 32768 + (round - 1) * 512) != value * 512
    print(stale)
    assert not any(stale.values())


def programs_under_mpiio_run_write_beside():
    stale = 0
    for round in range(3, 43):
        value = bytes([round])
        open("m1/rank0", "rb").read()
        overwrite("dfs0/x.dat", value * 1024, range(0, 65536, 2048))
        stale += open("m1/rank0", "rb", buffering=0).read() != value * 32768
        overwrite("m0/rank1", value * 32768)
        stale += open("m1/rank1", "rb", buffering=0).read() != value * 32768
    print("stale:", stale)
    assert stale == 0


def coherence_none_shows_closed_data_even():
    stale = 0
    for round in range(1, 31):
        value = bytes([round])
        contents("m1/rank0")
        overwrite("m0/rank0", value * 32768)
        stale += contents("m1/rank0") != value * 32768
    print("stale:", stale)
    assert stale == 0


def in_atomic_mode_two_mounts():
    def append(path):
        fd = os.open(path, os.O_RDWR | os.O_APPEND)
        for number in range(200):
            os.write(fd, f"{path[:4]} {number:10}\n".encode())
    def foreign(path):
        fd = os.open(path, os.O_RDWR)
        for number in range(200):
            fcntl.lockf(fd, fcntl.LOCK_EX)
            os.fchmod(fd, 0o644)  # refreshes the size, which the client may cache for a second
            os.pwrite(fd, f"{path[:4]} {number:10}\n".encode(), os.lseek(fd, 0, os.SEEK_END))
            os.fsync(fd)
            fcntl.lockf(fd, fcntl.LOCK_UN)
    at_once(lambda job: job[0](job[1]),
            ((append, "m0/rank0"), (append, "m1/rank0"), (foreign, "dfs2/x.dat")))
    lines = open("brick/x.dat").read().splitlines()
    print(len(lines), "of 600")
    assert sorted(lines) == sorted(f"{who} {number:10}" for who in ("m0/r", "m1/r", "dfs2") for number in range(200))


def opening_a_slice_shows_holes():
    def data_at(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            return os.lseek(fd, 0, os.SEEK_DATA)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            os.close(fd)
    assert data_at("m1/rank0") == "ENXIO", data_at("m1/rank0")
    overwrite("m0/rank0", b"x" * 4096, (524288,))
    assert data_at("m1/rank0") == 524288, data_at("m1/rank0")
    overwrite("dfs2/x.dat", b"x" * 4096, (65536,))
    assert data_at("m0/rank0") == data_at("m1/rank0") == 65536
    fd = os.open("m1/rank0", os.O_RDWR)
    os.posix_fallocate(fd, 0, 2097152)
    os.close(fd)
    assert os.path.getsize("brick/x.dat") == 2097152
    for path in ("m0/rank0", "m1/rank0"):
        fd = os.open(path, os.O_RDWR)
        assert os.fstat(fd).st_size == 2097152 and os.pread(fd, 4096, 524288) == b"x" * 4096
        os.close(fd)
