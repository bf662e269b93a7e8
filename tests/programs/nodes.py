# SPDX-License-Identifier: MIT
"""Programs of tests/bats/nodes.bats."""
import mmap
import os
import signal
import sys
import threading
import time

from common import await_true, fails, overwrite, slice_of, stats
from slices import merged


def interleaved_slices_of_8_byte_blocks():
    parts = [slice_of(rank, 400000, 1) for rank in range(4)]
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for rank in range(4):
        for start in range(0, 400000, 40000):
            os.pwrite(files[rank], parts[rank][start:start + 40000], start)
    assert os.stat("f.dat").st_size == 0, "nothing is in the file yet"
    for rank in range(4):
        assert os.pread(files[rank], 400000, 0) == parts[rank], "a writer reads what it has written"
    os.fsync(files[2])
    assert open("f.dat", "rb").read() == merged(parts, 8)


def what_was_closed_or_synced():
    reader = os.open("m2/rank1", os.O_RDONLY)
    assert os.read(reader, 2048) == bytes(2048)
    for round in range(20):
        writer, other = f"m{round % 3}", f"m{(round + 1) % 3}"
        part = slice_of(1, 2048 + 512 * round, round)
        overwrite(f"{writer}/rank1", part)
        assert os.stat(f"{other}/rank1").st_size == len(part)
        assert open(f"{other}/rank1", "rb").read() == part, round
        os.fsync(reader)
        assert os.pread(reader, 65536, 0) == part, round
        # An fsync while both nodes have the slice open.
        fd = os.open(f"{writer}/rank1", os.O_WRONLY)
        part = slice_of(1, len(part), round + 100)
        os.pwrite(fd, part, 0)
        os.fsync(fd)
        os.fsync(reader)
        assert os.pread(reader, 65536, 0) == part, round
        os.close(fd)


def pages_are_kept_across_opens():
    zeros = bytes(2048)
    assert open("m1/rank1", "rb").read() == zeros
    before = stats("m1")["slice_reads"]
    assert open("m1/rank1", "rb").read() == zeros
    assert stats("m1")["slice_reads"] == before
    for round in range(5):
        part = slice_of(1, 2048, round)
        overwrite("m0/rank1", part)
        assert open("m1/rank1", "rb").read() == part, round


def a_node_reads_at_once():
    parts = [slice_of(rank, 2048, 3) for rank in range(2)]
    first, second = (os.open(f"m0/dealt/rank{rank}", os.O_RDWR) for rank in range(2))
    assert open("m0/all/rank0", "rb").read() == bytes(4096)
    os.write(first, parts[0])
    assert open("m0/all/rank0", "rb").read() == merged([parts[0], bytes(2048)], 16)
    os.write(second, parts[1])
    assert open("m0/all/rank1", "rb").read() == merged(parts, 16)
    assert open("f.dat", "rb").read() == bytes(4096)
    os.pwrite(second, b"more" * 4, 2048)
    assert os.stat("m0/all/rank0").st_size == 4096 + 32
    assert time.time() - os.stat("m0/all/rank0").st_mtime < 60
    # After its close, the data is in the file.
    os.close(first)
    assert os.stat("f.dat").st_size == 4096 + 32
    assert open("m1/all/rank0", "rb").read() == merged([parts[0] + bytes(16), parts[1] + b"more" * 4], 16)


def what_nobody_syncs_is_stored_after():
    first, second = os.open("m0/rank0", os.O_RDWR), os.open("m1/rank1", os.O_RDWR)
    begin = time.monotonic()
    os.write(first, b"01234567")
    os.write(second, b"89abcdef")
    assert os.stat("f.dat").st_size == 0 or time.monotonic() - begin > 0.9
    await_true(lambda: open("f.dat", "rb").read() == b"0123456789abcdef")
    await_true(lambda: stats("m0")["dirty_bytes"] == 0)


def writers_of_more_than_dirty_max_wait():
    parts = [slice_of(rank, 1 << 20, 5) for rank in range(4)]
    def write(rank):
        fd = os.open(f"m{rank % 2}/rank{rank}", os.O_WRONLY)
        for i in range(16):
            os.pwrite(fd, parts[rank], i << 20)
        os.close(fd)
    threads = [threading.Thread(target=write, args=(rank,)) for rank in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert os.stat("m0/rank0").st_size >= 0
        time.sleep(0.01)
    assert open("f.dat", "rb").read() == merged(parts, 4096) * 16


def what_a_node_has_no_room():
    parts = [slice_of(rank, 29 << 16, 7) for rank in range(2)]
    def sums(key):
        return sum(stats(f"m{node}")["cluster"][key] for node in range(2))
    files = [os.open(f"m{rank}/rank{rank}", os.O_WRONLY) for rank in range(2)]
    # The last write exceeds half of what dirty_max allows.
    for i in range(29):
        os.pwrite(files[0], parts[0][i << 16:(i + 1) << 16], i << 16)
    await_true(lambda: sums("left_blocks") == 4)
    assert sums("stored_bytes") == 0
    for i in range(29):
        os.pwrite(files[1], parts[1][i << 16:(i + 1) << 16], i << 16)
    await_true(lambda: sums("stored_bytes") == 29 << 17)
    assert sums("merged_runs") == 1
    assert open("f.dat", "rb").read() == merged(parts, 8)
    # No other node writes the bytes beside these. A second flush stores them, and a sync does so at
    # once.
    os.pwrite(files[0], parts[1][:8], 0)
    assert open("f.dat", "rb").read(8) == parts[0][:8]
    os.fsync(files[0])
    assert open("f.dat", "rb").read(8) == parts[1][:8]


def a_full_disk_is_told():
    parts = [slice_of(rank, 1 << 20, 7) for rank in range(4)]
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for rank in range(2):
        os.pwrite(files[rank], parts[3 - rank], 0)
    os.fsync(files[0])
    for rank in range(3):
        os.pwrite(files[rank], parts[rank], 0)
    # The last one has no room. Both of its files report that, though only one was written.
    os.pwrite(os.open("m1/rank3.npy", os.O_RDWR), parts[3], 128)
    results = [fails(os.fsync, fd) for fd in files]
    assert results == [None, None, None, "ENOSPC"], results
    assert fails(os.fsync, files[3]) == "ENOSPC", "it is told as long as it is so"
    for name in "rank3", "rank3.npy":
        assert fails(os.close, os.open("m1/" + name, os.O_RDWR)) == "ENOSPC", name
    assert fails(os.fsync, os.open("m1/rank3.npy", os.O_RDWR)) == "ENOSPC"
    assert os.pread(files[3], 1 << 20, 0) == parts[3]
    assert open("disk/f.dat", "rb").read()[:3 << 20] == merged(parts, 1 << 20)[:3 << 20]
    # Dirty data of other nodes does not block what is stored.
    os.pwrite(files[0], parts[1], 0)
    os.fsync(files[0])
    os.pwrite(files[0], parts[0], 0)
    os.unlink("disk/filler")
    for fd in files:
        os.fsync(fd)
        os.close(fd)
    assert open("disk/f.dat", "rb").read() == merged(parts, 1 << 20)


def behind_numpy_headers():
    import numpy
    def append_to(rank, node, count):
        """Checks header, sizes and data of all files after an append, before and after its sync."""
        before = numpy.load(f"m{node}/rank{rank}.npy")
        more = slice_of(rank, count, node)
        fd = os.open(f"m{node}/rank{rank}.npy", os.O_RDWR | os.O_APPEND)
        os.write(fd, more)
        here = numpy.load(f"m{node}/rank{rank}.npy")
        assert here.tobytes() == before.tobytes() + more
        size = os.stat(f"m{node}/rank{rank}.npy").st_size
        assert size == 128 + len(here) == 128 + os.stat(f"m{node}/rank{rank}").st_size
        assert open(f"m{node}/rank{rank}", "rb").read() == here.tobytes()
        os.fsync(fd)
        os.close(fd)
        assert numpy.load(f"m{1 - node}/rank{rank}.npy").tobytes() == here.tobytes()
    def save(rank, node, seed):
        array = numpy.load(f"m{node}/rank{rank}.npy")
        new = numpy.frombuffer(slice_of(rank, array.nbytes, seed), array.dtype)
        numpy.save(f"m{node}/rank{rank}.npy", new)
        for name, start in ("", 0), (".npy", 128):
            assert open(f"m{1 - node}/rank{rank}{name}", "rb").read()[start:] == new.tobytes()
    for atomic in b"0", b"1", b"0":
        os.setxattr("m0", "user.mpiio.atomicity", atomic)
        for rank in range(4):
            append_to(rank, rank % 2, 80)
            save(rank, 1 - rank % 2, rank)
            other = os.open(f"m{rank % 2}/rank{rank}.npy", os.O_RDWR)
            assert fails(os.pwrite, other, b"#", 0) == "EPERM"
            os.close(other)


def all_kinds_of_store():
    parts = [slice_of(rank, 80000, 9) for rank in range(4)]
    files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for rank in range(4):
        os.write(files[rank], parts[rank])
    for fd in files:
        os.fsync(fd)
    assert open("f.dat", "rb").read() == merged(parts, 8)
    for rank in range(4):
        assert open(f"m{(rank + 1) % 2}/rank{rank}", "rb").read() == parts[rank]


def one_is_unmounted_alone():
    fd = os.open("m1/rank1", os.O_RDWR)
    os.write(fd, b"AAAAAAAABBBBBBBB")
    with mmap.mmap(fd, 16) as view:
        view[8:16] = b"mapped.."
    os.close(fd)


def the_others_go_on():
    part = slice_of(0, 4000, 1)
    fd = os.open("m0/rank0", os.O_RDWR)
    os.write(fd, part)
    os.fsync(fd)
    assert open("m2/rank0", "rb").read()[:4000] == part
    assert open("m2/rank1", "rb").read()[:16] == b"AAAAAAAAmapped.."


def an_engine_that_dies_leaves_each():
    parts = [slice_of(rank, 400000, 1) for rank in range(4)]
    files = [os.open(f"m{rank % 3}/rank{rank}", os.O_RDWR) for rank in range(4)]
    for rank in range(4):
        os.write(files[rank], parts[rank])
    os.kill(int(sys.argv[1]), signal.SIGKILL)
    for rank in range(4):
        os.fsync(files[rank])
    assert open("f.dat", "rb").read() == merged(parts, 8)
    for rank in range(4):
        assert os.getxattr(f"m{rank % 3}", "user.mpiio.state") == b"degraded"
        os.pwrite(files[rank], b"written through.", 0)
        assert open("f.dat", "rb").read()[rank * 8:rank * 8 + 8] == b"written "
    assert fails(os.setxattr, "m0", "user.mpiio.atomicity", b"1") == "EBUSY"


def cache_back_on_one():
    fd = os.open("mnt/rank0", os.O_RDWR)
    begin = time.monotonic()
    os.write(fd, b"01234567")
    assert os.stat("f.dat").st_size == 0 or time.monotonic() - begin > 0.9
    assert open("mnt/rank0", "rb").read() == b"01234567"
    os.fsync(os.open("mnt/rank0", os.O_RDONLY))
    assert open("f.dat", "rb").read() == b"01234567"
    os.write(fd, b"89abcdef")
    await_true(lambda: open("f.dat", "rb").read()[32:] == b"89abcdef")


def converted():
    import numpy
    values = [numpy.arange(500, dtype=numpy.longdouble) * (rank + 3) for rank in range(2)]
    def write_all(how):
        files = [os.open(f"m{rank}/rank{rank}", os.O_RDWR) for rank in range(2)]
        for rank in range(2):
            data = values[rank].tobytes()
            for start in range(0, len(data), how):
                os.pwrite(files[rank], data[start:start + how], start)
        for fd in files:
            os.fsync(fd)
            os.close(fd)
        for rank in range(2):
            have = numpy.frombuffer(open(f"m{1 - rank}/rank{rank}", "rb").read(), numpy.longdouble)
            assert (have == values[rank]).all(), (how, rank)
    write_all(100)
    values[0] += 1
    os.setxattr("m0", "user.mpiio.atomicity", b"1")
    write_all(100)


def nodes_in_a_tree():
    parts = [slice_of(rank, 80000, 9) for rank in range(5)]
    for turn, value in enumerate((b"1", b"0")):
        os.setxattr(f"m{4 - turn}", "user.mpiio.atomicity", value)
        for node in range(5):
            assert os.getxattr(f"m{node}", "user.mpiio.atomicity") == value
    files = [os.open(f"m{rank}/rank{rank}", os.O_RDWR) for rank in range(5)]
    for rank in range(5):
        os.write(files[rank], parts[rank])
    os.fsync(files[4])
    assert open("f.dat", "rb").read() == merged(parts, 8)
