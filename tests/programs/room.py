# SPDX-License-Identifier: MIT
"""Programs of tests/bats/room.bats."""
import mmap
import os
import random
import signal
import sys
import threading

from common import await_true, fails, stats, stop_process


def held():
    mount, how, what = sys.argv[1:]
    size = 64 * 16384
    lines = b"".join(b"%063d\n" % i for i in range(size // 64))
    fd = os.open(mount + "/rank0", os.O_RDWR)
    def tell(call, *arguments):
        print(fails(call, *arguments) or "0", end=" ")
    if how == "mapped":
        map = mmap.mmap(fd, size)
        map[:] = lines
        tell(map.flush)
        map.close()
    else:
        os.pwrite(fd, lines, 0)
    tell(os.fsync, fd)
    tell(os.fsync, fd)
    other = os.open(mount + "/rank1", os.O_RDWR)
    tell(os.fsync, other)
    tell(os.close, other)
    tell(os.close, os.dup(fd))
    # The kernel drops its pages. The written bytes are still there.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    reads = stats(mount)["slice_reads"]
    assert os.pread(fd, size, 0) == lines
    assert os.pread(fd, 100, size - 100) == lines[-100:]
    assert stats(mount)["slice_reads"] > reads
    if what != "none":
        os.remove("disk/ballast")
    if what == "over":
        os.pwrite(fd, b"over" * 1600, 100)
    if what != "none":
        tell(os.fsync, fd)
    tell(os.close, fd)


def room_comes_and_goes():
    size, writers = 131072, 4
    errors, failed = [], [0]
    fd = os.open(sys.argv[1] + "/rank0", os.O_RDWR)
    def write(me):
        chance = random.Random(me)
        map = mmap.mmap(fd, size, offset=me * size)
        want = bytearray(size)
        while not done.is_set():
            start = chance.randrange(size)
            part = bytes([chance.randrange(1, 256)]) * chance.randrange(1, size - start + 1)
            want[start:start + len(part)] = part
            map[start:start + len(part)] = part
            failed[0] += fails(os.fsync, fd) is not None
            if chance.randrange(3) == 0:
                os.posix_fadvise(fd, me * size, size, os.POSIX_FADV_DONTNEED)
            if os.pread(fd, size, me * size) != want:
                errors.append(me)
        results[me] = bytes(want)
    results = [b""] * writers
    done = threading.Event()
    threads = [threading.Thread(target=write, args=(i,)) for i in range(writers)]
    for i in range(8):
        with open("disk/ballast", "wb", 0) as out:
            try:
                while True:
                    out.write(bytes(65536))
            except OSError:
                pass
        if i == 0:
            for thread in threads:
                thread.start()
            while not failed[0]:
                done.wait(0.01)
        done.wait(0.2)
        os.truncate("disk/ballast", i * 300000)
        done.wait(0.05)
    os.remove("disk/ballast")
    done.set()
    for thread in threads:
        thread.join()
    os.fsync(fd)
    assert not errors, errors
    assert failed[0]
    open("want", "wb").write(b"".join(results))


def a_full_disk_is_enospc():
    data = os.urandom(2 << 20)
    fd = os.open(sys.argv[1], os.O_RDWR)
    done = 0
    def write_all():
        nonlocal done
        while done < len(data):
            done += os.write(fd, data[done:done + 65536])
    assert fails(write_all) == "ENOSPC"
    assert 1000000 < done < len(data), done
    assert os.pread(fd, done, 0) == data[:done]
    os.fsync(fd)
    assert fails(os.posix_fallocate, fd, 0, 3 << 20) == "ENOSPC"
    os.unlink("disk/ballast")
    while done < 1800000:
        done += os.pwrite(fd, data[done:min(done + 65536, 1800000)], done)
    os.close(fd)
    assert open(sys.argv[1], "rb").read(1800000) == data[:1800000]


def a_hole_on_a_full_disk():
    fd = os.open("mnt/rank0", os.O_RDWR)
    data = b"".join(b"%063d\n" % i for i in range(8192))
    assert os.pwrite(fd, data, 0) == len(data)
    for _ in range(2):
        assert fails(os.fsync, fd) == "ENOSPC"
    os.unlink("disk/ballast")
    os.fsync(fd)
    stored = open("disk/f.dat", "rb").read()
    assert b"".join(stored[i:i + 64] for i in range(0, len(stored), 128)) == data
    assert not any(stored[i] for j in range(64, len(stored), 128) for i in range(j, j + 64))


def who_waits_for_it_to_store():
    def stat(key):
        return stats("m0")[key]
    def later(fd):
        results = []
        thread = threading.Thread(target=lambda: results.append(fails(os.fsync, fd)), daemon=True)
        thread.start()
        return thread, results
    files = [os.open(f"m0/rank{rank}", os.O_RDWR) for rank in range(2)]
    # A page that begins within a long: a part of a value goes to the file immediately.
    page = mmap.mmap(files[0], 4096, offset=62 * 4096)
    page[:] = bytes(4) + b"\1" + bytes(4091)
    assert fails(page.flush) == "ENOSPC"
    assert stat("lost_bytes") == 4096
    places = iter(range(200))
    def fill():
        while stat("dirty_memory") < 1 << 20:
            os.pwrite(files[1], bytes(12000), next(places) * 12000)
    fill()
    assert fails(os.fsync, files[1]) == "ENOSPC"
    # One thread waits for a flush. When that long has room, another one waits for room for the rest
    # of the page.
    engine = int(os.environ["engine"])
    stop_process(engine)
    fill() # with what found room after all
    waits, writes = stat("room_waits"), stat("slice_writes")
    first, told = later(files[1])
    # It has tried the page again, without success. It does not notice that space is freed now.
    await_true(lambda: stat("slice_writes") == writes + 1)
    os.unlink("disk/little")
    second, saved = later(files[0])
    await_true(lambda: stat("room_waits") > waits)
    os.kill(engine, signal.SIGCONT)
    first.join(300)
    assert told == ["ENOSPC"], told
    os.unlink("disk/ballast")
    second.join(300)
    assert saved == [None], saved
    assert stat("lost_bytes") == 0
