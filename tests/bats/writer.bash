# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A program that writes numbered lines until a call fails: load it after helper.

# spec_of BLOCK [FILE]: blocks of that many bytes dealt to two ranks.
spec_of() {
    dealt "${2:-disk/x.dat}" 2 "$1" >x.json
}

# writer PATH [OPTION...]: writes numbered lines of 64 bytes, one after the other, 512 a call,
# until a call fails; prints "ERROR CALL BYTES": the error's name, the call, how much was
# acknowledged. sync=N: fsync after every N calls. start=N, stop=N: bytes.
writer() {
    /usr/bin/python3 - "$@" <<'EOF'
import errno, os, sys
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
EOF
}

# lines_there FILE BYTES: the file begins with the first BYTES bytes of what writer writes.
lines_there() {
    /usr/bin/python3 - "$@" <<'EOF'
import sys
size = int(sys.argv[2])
want = b"".join(b"%063d\n" % i for i in range(size // 64 + 1))[:size]
got = open(sys.argv[1], "rb").read(size)
bad = [i for i in range(size) if got[i:i + 1] != want[i:i + 1]]
if bad:
    sys.exit(f"{len(bad)} of {size} bytes are not there, first {bad[0]}")
EOF
}

# lines_stored BYTES: as slice, rank 0's is what it is in the file, and begins with so many bytes of
# what writer writes.
lines_stored() {
    mpiio-view cat x.json -r 0 >slice
    lines_there slice "$1"
}
