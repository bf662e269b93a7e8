#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs under mpiio-run: what they see is what they see without; what was served is counted.

load helper

# under COMMAND...: runs it under mpiio-run; what its processes were served goes to counts.
under() {
    mpiio-run -s "$@" 2> >(tee -a counts >&2)
}

# counted NAME: the sum over all processes so far.
counted() {
    local i
    for ((i = 0; i < 50; i++)); do # tee may be behind
        [ -s counts ] && break
        sleep 0.02
    done
    sed -n "s/^mpiio-run: .*[ (]$1=\([0-9]*\).*/\1/p" counts | awk '{ sum += $1 } END { print sum + 0 }'
}

# served SLICES: all calls on that many slices, since counts was removed.
served() {
    [ "$(counted slices)" -eq "$1" ]
    [ "$(counted granted)" -eq "$1" ]
    [ "$(counted fell_back)" -eq 0 ]
    rm counts
}

# two_views_spec: t.json: the same bytes of t.dat in two views, scattered and as a whole.
two_views_spec() {
    make_file t.dat 65536
    cat >t.json <<'END'
{ "viewspec": 1, "file": "t.dat", "ranks": 2, "views": {
    "dealt": { "filetype": { "type": "scatter", "blocklength": 24 } },
    "whole": { "filetype": { "type": "contiguous", "count": 1 } } } }
END
}

@test "run: programs read what the mount has, and nothing goes through it" {
    gaps_spec
    mount_spec g.json
    mpiio-view cat g.json -r 1 >want
    under cat "$mnt/rank1" | cmp - want
    served 1
    under cmp "$mnt/rank1" want
    served 1
    under dd if="$mnt/rank1" bs=1000 skip=3 status=none | cmp - <(tail -c +3001 want)
    served 1
    under od -A d -t x8 -j 24 "$mnt/rank1" | cmp - <(od -A d -t x8 -j 24 want)
    served 1
    under cp "$mnt/rank1" copy
    cmp copy want
    served 1
    under sort "$mnt/rank1" | cmp - <(sort want)
    served 1
    under head -c 50 "$mnt/rank1" | cmp - <(head -c 50 want)
    served 1
    under tail -c 50 "$mnt/rank1" | cmp - <(tail -c 50 want)
    served 1
    [ "$(stat_of slice_reads)" -eq 0 ]
    [ "$(stat_of grants)" -eq 8 ]
}

@test "run: python reads and writes in all ways" {
    gaps_spec
    mount_spec g.json
    mpiio-view cat g.json -r 2 >want
    cat >ways.py <<'END'
import os, sys
slice, want = sys.argv[1], bytearray(open("want", "rb").read())
with open(slice, "rb") as file:
    assert file.read(10) == want[:10] and file.tell() == 10
    file.seek(-9, 2)
    assert file.read() == want[-9:]
fd = os.open(slice, os.O_RDWR)
parts = [bytearray(5), bytearray(7)]
assert os.readv(fd, parts) == 12 and b"".join(parts) == want[:12]
assert os.preadv(fd, parts, 100) == 12 and b"".join(parts) == want[100:112]
assert os.writev(fd, [b"abc", b"", b"defg"]) == 7
assert os.pwritev(fd, [b"hi", b"jkl"], 50) == 5
assert os.pwrite(fd, b"mno", 77) == 3
want[12:19], want[50:55], want[77:80] = b"abcdefg", b"hijkl", b"mno"
assert os.lseek(fd, 0, 1) == 19 and os.read(fd, 1000000) == want[19:]
assert os.read(fd, 10) == b"" and os.pread(fd, 10, len(want)) == b""
assert os.lseek(fd, 0, 2) == len(want) == os.fstat(fd).st_size
assert os.write(fd, b"x" * 30) == 30 and os.fstat(fd).st_size == len(want) + 32
want += b"x" * 30
os.fsync(fd)
assert os.pread(fd, 1000000, 0)[:len(want)] == want
other = os.dup(fd)
os.lseek(fd, 3, 0)
assert os.read(other, 4) == want[3:7] and os.read(fd, 4) == want[7:11]
os.dup2(os.open("/dev/zero", os.O_RDONLY), other)
assert os.read(other, 4) == bytes(4)
os.close(fd)
with open(slice, "r+b") as file:
    file.write(b"front")
    file.seek(2)
    assert file.read(3) == b"ont"
want[:5] = b"front"
fd = os.open(slice, os.O_RDONLY)
assert os.preadv(fd, parts, 100, os.RWF_HIPRI) == 12 and b"".join(parts) == want[100:112]
with open("result", "wb") as file:
    file.write(want)
END
    under /usr/bin/python3 ways.py "$mnt/rank2"
    cmp -n "$(stat -c %s result)" "$mnt/rank2" result
    cmp -n "$(stat -c %s result)" <(mpiio-view cat g.json -r 2) result
    served 4
    [ "$(stat_of requests.write)" -eq 0 ]
}

@test "run: errors are the mount's" {
    scatter_spec
    mount_spec s.json
    cat >errors.py <<'END'
import errno, os, resource, sys
def name(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "none"
r, w = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_WRONLY)
print(name(os.read, w, 1), name(os.write, r, b"x"), name(os.pread, r, 1, -1),
      name(os.pwrite, w, b"x", -1), name(os.pwrite, w, b"x", 2**63 - 1), name(os.lseek, r, -1, 0),
      name(os.ftruncate, w, 1), name(os.open, sys.argv[1] + "x", os.O_RDONLY),
      name(os.preadv, r, [], 0), name(os.pread, 1000, 1, 0))
END
    under /usr/bin/python3 errors.py "$mnt/rank1" >have
    /usr/bin/python3 errors.py "$mnt/rank1" >want
    cat have
    cmp have want
    grep -q EBADF have
}

@test "run: the place is shared by fork, exec and dup" {
    scatter_spec
    mount_spec s.json
    cat >place.py <<'END'
import os, subprocess, sys
want = open(sys.argv[2], "rb").read()
fd = os.open(sys.argv[1], os.O_RDONLY)
assert os.read(fd, 100) == want[:100]
if os.fork() == 0:
    os._exit(0 if os.read(fd, 100) == want[100:200] else 1)
assert os.wait()[1] == 0
assert os.read(fd, 100) == want[200:300]
out = subprocess.run(["dd", "bs=100", "count=1", "status=none"], stdin=fd, capture_output=True)
assert out.stdout == want[300:400]
assert os.read(fd, 100) == want[400:500]
children = []
for i in range(8):
    if (child := os.fork()) == 0:
        for j in range(8):
            got = os.read(fd, 3)
            assert got == b"" or got in want
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
assert os.lseek(fd, 0, 1) == 500 + 8 * 8 * 3
END
    mpiio-view cat s.json -r 3 >want
    under /usr/bin/python3 place.py "$mnt/rank3" want
    [ "$(counted granted)" -eq 1 ]
}

@test "run: a descriptor that was closed unseen is not taken for a slice" {
    scatter_spec
    mount_spec s.json
    echo other >other
    cat >unseen.py <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1], os.O_RDWR)
libc.syscall(3 if os.uname().machine == "x86_64" else 57, fd)
pipe = os.pipe()
assert fd in pipe
os.write(pipe[1], b"through the pipe")
assert os.read(pipe[0], 100) == b"through the pipe"
fd = os.open(sys.argv[1], os.O_RDWR)
for number in range(3, 2000):
    try:
        os.close(number)
    except OSError:
        pass
fd = os.open(sys.argv[1], os.O_RDONLY)
assert os.read(fd, 5) == open(sys.argv[2], "rb").read(5)
END
    mpiio-view cat s.json -r 0 >want
    cp s.dat before
    under /usr/bin/python3 unseen.py "$mnt/rank0" want
    cmp s.dat before
    [ "$(counted granted)" -eq 3 ]
    rm counts
    # One that closes all but the first three, of which one is a slice.
    cat >all.py <<'END'
import ctypes, os, sys
os.dup2(os.open(sys.argv[1], os.O_RDWR), 0)
want = open(sys.argv[2], "rb").read()
assert os.read(0, 5) == want[:5]
ctypes.CDLL(None).closefrom(3)
others = [os.open("other", os.O_RDWR) for i in range(1000)]
assert os.pwrite(0, b"here", 100) == 4 and os.read(0, 5) == want[5:10]
END
    under /usr/bin/python3 all.py "$mnt/rank0" want
    [ "$(cat other)" = other ]
    [ "$(mpiio-view cat s.json -r 0 --offset 100 --length 4)" = here ]
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted reads)" -eq 1 ]
}

@test "run: what cannot be granted is the mount's, and the count says why" {
    scatter_spec
    mount_spec s.json
    under bash -c "printf abc >>$mnt/rank0" || true
    under dd if=/dev/zero of="$mnt/rank0" bs=8 count=1 oflag=append conv=notrunc status=none
    grep -q 'not granted: the flags of open' counts
    under dd if=/dev/zero of="$mnt/rank1" bs=8 count=1 oflag=sync conv=notrunc status=none
    [ "$(counted granted)" -eq 0 ]
    mpiio-umount "$mnt"
    for option in atomic unique cache=back npy; do
        rm -f counts
        mount_spec s.json -o "$option"
        under cat "$mnt"/rank0* | cmp - <(cat "$mnt"/rank0*)
        [ "$(counted granted)" -eq "$([ "$option" = npy ] && echo 1 || echo 0)" ]
        [[ $(stat_of grants) == "$(counted granted)" ]]
        mpiio-umount "$mnt"
    done
    rm counts
    printf '{ "viewspec": 1, "file": "s.dat", "view": { "etype": "long", "datarep": "external32" } }' >x.json
    mount_spec x.json
    under cat "$mnt/rank0" | cmp - "$mnt/rank0"
    grep -q 'not granted: values are converted: 1' counts
    mpiio-umount "$mnt"
    printf '{ "viewspec": 1, "file": "s.dat", "view": { "etype": "int", "datarep": "big-endian" } }' >x.json
    mount_spec x.json
    rm counts
    under cat "$mnt/rank0" | cmp - "$mnt/rank0"
    served 1
}

@test "run: a reader that the kernel has pages for sees each write, of 10000" {
    two_views_spec
    mount_spec t.json
    cat >writer.py <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY if sys.argv[2] == "w" else os.O_RDWR)
for i in range(5000):
    os.pwrite(fd, i.to_bytes(8, "little"), 8 * (i % 100))
    sys.stdout.buffer.write(b"x")
    sys.stdout.buffer.flush()
    sys.stdin.buffer.read(1)
END
    cat >reader.py <<'END'
import mmap, os, subprocess, sys, time
slice, other, how = sys.argv[1:]
writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "writer.py", slice, how],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
fd = None
for i in range(5000):
    writer.stdout.read(1)
    if i == 1000:
        fd = os.open(slice, os.O_RDONLY)
        views = os.open(other, os.O_RDONLY)
    if i == 3000:
        map = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    if fd is not None:
        assert os.pread(fd, 8, 8 * (i % 100)) == i.to_bytes(8, "little"), i

        # Where the writer reads as well, other slices follow a moment later.
        for wait in range(200):
            if os.pread(views, 8, i % 100 // 3 * 48 + i % 100 % 3 * 8) == i.to_bytes(8, "little"):
                break
            assert how == "rw", i
            time.sleep(0.005)
        else:
            raise AssertionError(i)
    if i >= 3000:
        assert map[8 * (i % 100):8 * (i % 100) + 8] == i.to_bytes(8, "little"), i
    writer.stdin.write(b"x")
assert writer.wait() == 0
END
    for how in w rw; do
        /usr/bin/python3 reader.py "$mnt/dealt/rank0" "$mnt/whole/rank0" $how 2> >(tee -a counts >&2)
        [ "$(counted granted)" -eq 1 ]
        [ "$(counted writes)" -eq 1001 ] || [ "$(counted writes)" -eq 1000 ]
        [ "$(counted taken_back)" -ge 3999 ]
        rm counts
    done
    [ "$(stat_of grants_taken_back)" -eq 2 ]
}

@test "run: a write that is under way when its grant is taken back is seen" {
    make_file x.dat 8388608
    dealt x.dat 2 16 >x.json
    mount_spec x.json
    cat >writer.py <<'END'
import os, sys
while line := sys.stdin.buffer.raw.readline():
    fd = os.open(sys.argv[1], os.O_WRONLY)
    data = bytes([int(line)]) * (1 << 20)
    os.write(1, b"r")
    os.read(0, 1)
    assert os.pwrite(fd, data, 0) == len(data)
    os.write(1, b"d")
    os.read(0, 1)
    os.close(fd)
END
    cat >reader.py <<'END'
import os, subprocess, sys
slice, length = sys.argv[1], 1 << 20
writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "writer.py", slice],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
for i in range(1, 121):
    writer.stdin.write(b"%d\n" % i)
    writer.stdout.read(1)
    writer.stdin.write(b"g")
    fd = os.open(slice, os.O_RDONLY)
    os.pread(fd, 4096, length * (i % 8) // 8)
    writer.stdout.read(1)
    assert os.pread(fd, length, 0) == bytes([i]) * length, i
    os.close(fd)
    writer.stdin.write(b"g")
writer.stdin.close()
assert writer.wait() == 0
END
    /usr/bin/python3 reader.py "$mnt/rank0" 2> >(tee -a counts >&2)
    [ "$(counted granted)" -gt 100 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "run: stores through a mapping are seen by who reads under it" {
    scatter_spec
    mount_spec s.json
    cat >stores.py <<'END'
import mmap, os, subprocess, sys
reader = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "-c", """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while True:
    sys.stdout.buffer.write(os.pread(fd, 8, 16))
    sys.stdout.buffer.flush()
    if not sys.stdin.buffer.read(1):
        break
""", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
reader.stdout.read(8)
fd = os.open(sys.argv[1], os.O_RDWR)
map = mmap.mmap(fd, 0)
for i in range(100):
    map[16:24] = i.to_bytes(8, "little")
    reader.stdin.write(b"x")
    assert reader.stdout.read(8) == i.to_bytes(8, "little"), i
reader.stdin.close()
assert reader.wait() == 0
END
    /usr/bin/python3 stores.py "$mnt/rank1" 2> >(tee -a counts >&2)
    [ "$(counted reads)" -eq 1 ]
    [ "$(counted taken_back)" -eq 100 ]
}

@test "run: random programs, half of them under it, against a model" {
    local seed=$RANDOM
    two_views_spec
    mount_spec t.json
    echo "seed $seed"
    /usr/bin/python3 "$top/tests/run/model.py" "$seed" 3000 t.dat "$mnt/dealt/rank0" "$mnt/dealt/rank1" \
        "$mnt/whole/rank0" 2> >(tee -a counts >&2)
    mpiio-umount "$mnt"
    cmp t.dat model
    [ "$(counted reads)" -gt 0 ]
    [ "$(counted writes)" -gt 0 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "run: the exercise of random writers, apart and on one slice" {
    blocks_spec
    mount_spec b.json
    under timeout -k 5 100 "$MPIIO_BUILD/tests/exercise/exercise" --seconds=2 --ops=0 --slices \
        --dump=model "$mnt/rank0" "$mnt/rank1" 3>&-
    cmp "$mnt/rank0" model0
    cmp "$mnt/rank1" model1
    [ "$(counted writes)" -gt 0 ]
}

@test "run: SIGKILL to the program loses nothing that was acknowledged" {
    scatter_spec
    mount_spec s.json
    cat >endless.py <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
i = 0
while True:
    os.pwrite(fd, i.to_bytes(8, "little"), 8 * (i % 100))
    os.write(1, b"%d\n" % i)
    i += 1
END
    for _ in 1 2 3; do
        mpiio-run /usr/bin/python3 endless.py "$mnt/rank2" >told &
        program=$!
        cat "$mnt/rank2" >/dev/null # takes grants back
        await test -s told
        sleep 0.2
        kill -KILL "$program"
        wait "$program" || true
        /usr/bin/python3 - "$mnt/rank2" <<'END'
import os, sys
last = int(open("told").read().rsplit("\n", 2)[-2])
data = open(sys.argv[1], "rb").read()
for i in range(max(0, last - 98), last + 1): # one may be under way
    assert int.from_bytes(data[8 * (i % 100):][:8], "little") == i, (i, last)
END
        cmp "$mnt/rank2" <(mpiio-view cat s.json -r 2)
    done
}

@test "run: when the daemon is killed, calls fail as without" {
    scatter_spec
    mount_spec s.json
    cat >dead.py <<'END'
import errno, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
assert os.pwrite(fd, b"stored", 0) == 6
os.kill(int(sys.argv[2]), signal.SIGKILL)
while os.path.exists(f"/proc/{sys.argv[2]}") and "Z" not in open(f"/proc/{sys.argv[2]}/stat").read():
    time.sleep(0.01)
for call in (lambda: os.pread(fd, 6, 0), lambda: os.pwrite(fd, b"x", 0), lambda: os.read(fd, 1)):
    try:
        call()
        raise AssertionError
    except OSError as error:
        assert error.errno == errno.ENOTCONN, error
END
    under /usr/bin/python3 dead.py "$mnt/rank0" "$(daemon_pid)"
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted writes)" -eq 1 ]
    [ "$(head -c 6 s.dat)" = stored ]
}

@test "run: a program gets no right by asking for a grant" {
    scatter_spec
    mount_spec s.json
    /usr/bin/python3 - "$mnt" "$(daemon_pid)" <<'END'
import ctypes, errno, fcntl, mmap, os, random, struct, sys
mnt, daemon = sys.argv[1:]
SIZE = struct.calcsize("=QiiIIIIQqQQ64s4096s")
ASK = 2 << 30 | SIZE << 16 | ord("m") << 8 | 0x61
FIELDS = "=QiiIIIIQqQQ64s4096s"
def ask(path, flags, request=ASK, size=SIZE):
    fd = os.open(path, flags)
    try:
        buffer = bytearray(size)
        fcntl.ioctl(fd, request, buffer)
        return struct.unpack(FIELDS, buffer)
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(fd)
# No more rights than it was opened with.
grant = ask(f"{mnt}/rank0", os.O_RDONLY)
assert grant[5] == 1, grant
assert ask(f"{mnt}/rank0", os.O_WRONLY)[5] == 2
# Nothing of what is no slice, nor by other requests.
for path in (mnt, f"{mnt}/.mpiio", f"{mnt}/.mpiio/stats.json", f"{mnt}/.mpiio/spec.json"):
    assert ask(path, os.O_RDONLY) == "ENOTTY", path
for i in range(2000):
    size = random.randrange(1, 5000)
    request = random.getrandbits(32) & 0xc000ffff | size << 16
    if request != ASK:
        assert ask(f"{mnt}/rank1", os.O_RDONLY, request, 16384) in ("ENOTTY", "EINVAL"), hex(request)
# The page of grants is not to be written to, though it is the same user's process.
page = f"/proc/{daemon}/fd/{grant[2]}"
for flags, protection in ((os.O_RDWR, mmap.PROT_READ | mmap.PROT_WRITE), (os.O_RDWR, mmap.PROT_WRITE)):
    try:
        mmap.mmap(os.open(page, flags), 4096, mmap.MAP_SHARED, protection)
        raise AssertionError
    except OSError as error:
        assert error.errno in (errno.EPERM, errno.EACCES), error
for call in (lambda fd: os.write(fd, b"x"), lambda fd: os.ftruncate(fd, 1)):
    try:
        call(os.open(page, os.O_RDWR))
        raise AssertionError
    except OSError as error:
        assert error.errno in (errno.EPERM, errno.EACCES), error
END
    # A file that may be read only through a mount of others stays so.
    mpiio-umount "$mnt"
    mount_spec s.json -o allow_other,default_permissions
    cp s.dat before
    chmod 644 s.dat
    run ! as_user mpiio-run dd if=/dev/zero of="$mnt/rank0" bs=8 count=1 conv=notrunc
    as_user mpiio-run cat "$mnt/rank0" | cmp - "$mnt/rank0"
    chmod 600 s.dat
    run ! as_user mpiio-run cat "$mnt/rank0"
    cmp s.dat before
}

@test "run: too many grants leave the rest to the mount" {
    make_file m.dat 50000
    dealt m.dat 5000 10 >m.json
    mount_spec m.json
    ulimit -n 12000 || skip "the limit of open files is low"
    cat >many.py <<'END'
import os, sys
slices = [os.open(f"{sys.argv[1]}/rank{i}", os.O_RDONLY) for i in range(4200)]
data = open("m.dat", "rb").read()
for i, fd in enumerate(slices):
    assert os.read(fd, 20) == data[10 * i:10 * i + 10]
END
    under /usr/bin/python3 many.py "$mnt"
    [ "$(counted granted)" -eq 4096 ]
    grep -q 'too many slices are granted: 104' counts
    rm counts
    under cat "$mnt/rank0" | cmp - <(head -c 10 m.dat)
    await served 1
}

@test "run: a program's own handler of SIGBUS is its own, and truncation no signal" {
    make_file x.dat 8388608
    dealt x.dat 2 8 >x.json
    mount_spec x.json
    cat >bus.py <<'END'
import faulthandler, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
assert len(os.pread(fd, 1 << 20, 0)) == 1 << 20
seen = []
assert signal.getsignal(signal.SIGBUS) == signal.SIG_DFL
signal.signal(signal.SIGBUS, lambda *words: seen.append(1))
os.kill(os.getpid(), signal.SIGBUS)
assert seen
os.truncate("x.dat", 100000)
assert len(os.pread(fd, 1 << 20, 0)) == 50000
# A thread that blocks the signal lives on, too.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGBUS})
os.truncate("x.dat", 20000)
assert len(os.pread(fd, 40000, 0)) == 10000
END
    under /usr/bin/python3 bus.py "$mnt/rank0"
    served 1
}

@test "run: a serial program once a rank, under mpiexec" {
    scatter_spec
    mount_spec s.json
    mpi_run 4 mpiio-run -s dd if="$mnt/self" of="$mnt/self" bs=64 count=4 seek=8 conv=notrunc status=none \
        2> >(tee -a counts >&2)
    served 8
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat s.json -r "$rank" --length 256) \
            <(mpiio-view cat s.json -r "$rank" --offset 512 --length 256)
    done
}

@test "run: the command's status, options and messages" {
    run -3 mpiio-run -- sh -c 'exit 3'
    run -127 mpiio-run ./nothing
    [ "$output" = "mpiio-run: ./nothing: No such file or directory" ]
    run -126 mpiio-run "$tmp"
    run -2 mpiio-run
    [ "$output" = "mpiio-run: COMMAND is missing (see mpiio-run --help)" ]
    run -2 mpiio-run --nothing true
    run -0 mpiio-run --version
    [[ $output == "mpiio-run "* ]]
    LD_PRELOAD=libm.so.6 run -0 mpiio-run printenv LD_PRELOAD
    [[ $output == libm.so.6:*/libmpiio-run.so ]]
    run -0 mpiio-run -s true
    [ -z "$output" ]
}

@test "run: tests of reading and writing pass under it" {
    local names
    mapfile -t names < <(compgen -v BATS_)
    env "${names[@]/#/--unset=}" MPIIO_TEST_RUN=1 bats --filter 'sendfile|random places|exactly|behind the end|append|truncat' \
        "$top/tests/bats/tools.bats" "$top/tests/bats/write.bats" 3>&-
}
