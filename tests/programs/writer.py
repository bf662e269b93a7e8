# SPDX-License-Identifier: MIT
"""Programs of tests/bats/writer.bash."""
import errno
import os
import sys


def writer():
    options = dict(word.split("=") for word in sys.argv[2:])
    start, stop = int(options.get("start", 0)), int(options.get("stop", 1 << 40))
    sync, size = int(options.get("sync", 0)), int(options.get("size", 32768))
    fd = os.open(sys.argv[1], os.O_WRONLY)
    done, calls, call = start, 0, "write"
    try:
        while done < stop:
            first = done // 64
            lines = b"".join(b"%063d\n" % i for i in range(first, first + size // 64 + 1))
            part = lines[done - first * 64:][:min(size, stop - done)]
            call = "write"
            done += os.pwrite(fd, part, done)
            calls += 1
            if sync and calls % sync == 0:
                call = "fsync"
                os.fsync(fd)
        call = "fsync"
        os.fsync(fd)
        call = "close"
        os.close(fd)
        print("done", "-", done)
    except OSError as error:
        print(errno.errorcode[error.errno], call, done)


def lines_there():
    size = int(sys.argv[2])
    want = b"".join(b"%063d\n" % i for i in range(size // 64 + 1))[:size]
    got = open(sys.argv[1], "rb").read(size)
    bad = [i for i in range(size) if got[i:i + 1] != want[i:i + 1]]
    if bad:
        sys.exit(f"{len(bad)} of {size} bytes are not there, first {bad[0]}")
