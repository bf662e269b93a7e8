#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Atomic mode: no call sees a part of another, be it through other nodes or a program that locks.

load helper
load nodes

@test "atomic: on all nodes, by attribute, while nothing is open" {
    spec 8
    head -c 3200 /dev/zero >f.dat
    start_nodes 2
    exec 5<m1/rank0
    run -1 setfattr -n user.mpiio.atomicity -v 1 m0
    [[ $output == *"Device or resource busy"* ]]
    exec 5<&-
    printf 'dirty...' >m1/rank3
    setfattr -n user.mpiio.atomicity -v 1 m0
    [ "$(attribute m1 atomicity)" -eq 1 ]
    run -1 setfattr -n user.mpiio.atomicity -v 2 m0
    python <<'END'
import mmap
one, other = os.open("m0/rank1", os.O_RDWR), os.open("m1/rank1", os.O_RDWR)
for i in range(200):
    part = slice_of(1, 800, i)
    os.pwrite(one if i % 2 else other, part, 0)
    assert os.pread(other if i % 2 else one, 800, 0) == part
assert fails(mmap.mmap, one, 800) == "ENODEV"
END
    # What was written is in the file, and moves no times any more.
    touch -d '2001-02-03 04:05:06' m0/rank1
    [ "$(stat -c %Y m0/rank1)" -eq "$(date -d '2001-02-03 04:05:06' +%s)" ]
    setfattr -n user.mpiio.atomicity -v 0 m1
    [ "$(attribute m0 atomicity)" -eq 0 ]
    python <<'END'
one = os.open("m0/rank1", os.O_RDWR)
before = open("f.dat", "rb").read()
os.pwrite(one, b"cached..", 0)
assert open("f.dat", "rb").read() == before
os.fsync(one)
assert open("m1/rank1", "rb").read()[:8] == b"cached.."
END
    logged log "atomic mode is on"
    stop_nodes
}

@test "atomic: no call sees a part of another, on any node, nor of a foreign one" {
    cat >s.json <<'END'
{ "viewspec": 1, "file": "f.dat", "ranks": 2, "atomic": true, "views": {
    "dealt": { "filetype": { "type": "scatter", "blocklength": 16 } },
    "all": { "filetype": { "type": "broadcast" } } } }
END
    head -c 131072 /dev/zero >f.dat
    start_nodes 2
    python <<'END'
import fcntl, multiprocessing, struct
SIZE, end = 131072, time.time() + 3
def whole(node, letter):
    fd = os.open(f"m{node}/all/rank0", os.O_RDWR)
    while time.time() < end:
        os.pwrite(fd, letter * SIZE, 0)
        data = os.pread(fd, SIZE, 0)
        assert data in (b"a" * SIZE, b"b" * SIZE, b"f" * SIZE), "torn"
def foreign():
    fd = os.open("f.dat", os.O_RDWR)
    lock = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, SIZE, 0)
    unlock = struct.pack("hhqqi", fcntl.F_UNLCK, 0, 0, SIZE, 0)
    while time.time() < end:
        fcntl.fcntl(fd, fcntl.F_SETLKW, lock)
        for start in range(0, SIZE, 8192):
            os.pwrite(fd, b"f" * 8192, start)
        assert os.pread(fd, SIZE, 0) == b"f" * SIZE
        fcntl.fcntl(fd, fcntl.F_SETLKW, unlock)
        time.sleep(0.001)
jobs = [multiprocessing.Process(target=whole, args=(node, letter))
        for node, letter in ((0, b"a"), (1, b"b"), (0, b"b"))]
jobs.append(multiprocessing.Process(target=foreign))
for job in jobs:
    job.start()
for job in jobs:
    job.join()
assert [job.exitcode for job in jobs] == [0] * 4
END
    [ "$(stat_sum .lock_waits)" -gt 0 ]
    stop_nodes
}

@test "atomic: on one node, -o atomic; refused where there are no locks" {
    spec 8
    mount_spec s.json -o atomic
    [ "$(attribute "$mnt" atomicity)" -eq 1 ]
    [ "$(attribute "$mnt" nodes)" -eq 1 ]
    printf 01234567 >"$mnt/rank0"
    printf more >>"$mnt/rank0"
    [ "$(head -c 8 f.dat)" = 01234567 ]
    setfattr -n user.mpiio.atomicity -v 0 "$mnt"
    [ "$(attribute "$mnt" atomicity)" -eq 0 ]
    umount_all
    cat >nolocks.c <<'END'
#include <errno.h>
#include <fcntl.h>
int fcntl64(int fd, int command, ...);
int fcntl64(int fd, int command, ...)
{
    (void)fd;
    (void)command;
    errno = ENOLCK;
    return -1;
}
END
    cc -shared -fPIC -o nolocks.so nolocks.c
    run -1 env LD_PRELOAD="$tmp/nolocks.so" "$MPIIO_SBIN/mpiio-fused" -o atomic s.json "$mnt" 3>&-
    [ "$output" = "mpiio-fused: $tmp/f.dat: atomic mode needs locks, which this filesystem has not" ]
    run ! is_mounted
}

@test "atomic: parts of converted values do not wait for their own access" {
    cat >l.json <<'END'
{ "viewspec": 1, "file": "l.dat", "ranks": 2,
  "view": { "etype": "long_double", "datarep": "external32",
            "filetype": { "type": "scatter", "blocklength": 1 } } }
END
    : >l.dat
    mount_spec l.json -o atomic
    python "$mnt" <<'END'
import numpy
m, = sys.argv[1:]
values = numpy.array([1.5, -2.25, 3.75], dtype=numpy.longdouble).tobytes()
for rank in 0, 1:
    file = os.open(f"{m}/rank{rank}", os.O_RDWR)
    assert os.pwrite(file, values, 0) == len(values)
    assert os.pwrite(file, values[32:40], 16) == 8
    assert os.pwrite(file, values[40:48], 24) == 8
    assert os.pread(file, 48, 0) == values[:16] + values[32:] + values[32:]
    os.close(file)
END
}
