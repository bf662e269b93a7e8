#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs under mpiio-run: what they see is what they see without; what was served is counted.

load helper
load under

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

@test "run: a limit of the size of files is one of the slice, from when it is set" {
    scatter_spec
    mount_spec s.json
    cat >limit.py <<'END'
import errno, os, resource, signal, subprocess, sys
signals = []
signal.signal(signal.SIGXFSZ, lambda *words: signals.append(1))
fd = os.open(sys.argv[1], os.O_RDWR)
def put(length, offset):
    try:
        return os.pwrite(fd, b"x" * length, offset), len(signals)
    except OSError as error:
        return errno.errorcode[error.errno], len(signals)
def limited(limit, outside):
    if outside:
        subprocess.run(["prlimit", "--fsize=" + (str(limit) if limit >= 0 else "unlimited") + ":",
                        "--pid", str(os.getpid())], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
print(put(10, 1000))
for outside in False, True:
    limited(600, outside)
    print(put(10, 300), put(20, 590), put(1, 600), put(1, 1000), len(os.pread(fd, 500, 500)))
    limited(-1, outside)
    print(put(10, 1000))
END
    under /usr/bin/python3 limit.py "$mnt/rank1" >have
    /usr/bin/python3 limit.py "$mnt/rank1" >want
    cat have
    cmp have want
    grep -q EFBIG have
    # The first write that goes to the mount has the grant taken back.
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted writes)" -eq 1 ]
    [ "$(counted limited)" -eq 1 ]
    # One that is there before.
    rm counts
    under bash -c "ulimit -f 1; echo 1 | dd of=$mnt/rank1 bs=2 seek=300 conv=notrunc status=none"
    [ "$(counted limited)" -eq 1 ]
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
    [ "$(counted reads)" -eq 2 ]
}

@test "run: the exercise of random writers, apart and on one slice" {
    blocks_spec
    mount_spec b.json
    under timeout -k 5 300 "$MPIIO_BUILD/tests/exercise/exercise" --seconds=2 --ops=0 --slices \
        --dump=model "$mnt/rank0" "$mnt/rank1" 3>&-
    cmp "$mnt/rank0" model0
    cmp "$mnt/rank1" model1
    [ "$(counted writes)" -gt 0 ]
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
        2>>counts
    served 8
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat s.json -r "$rank" --length 256) \
            <(mpiio-view cat s.json -r "$rank" --offset 512 --length 256)
    done
}

# members RUN: 8 members m0, m1, ... of 8 KiB whose runs lie in turns in whole.dat; m.json assembles them.
members() {
    make_file whole.dat 65536
    local i
    for ((i = 0; i < 8; i++)); do
        mpiio-view cat -r $i --view "scatter $1 on 8 of byte" whole.dat >m$i
    done
    cat >m.json <<TEXT
{ "viewspec": 1,
  "members": { "count": 8, "file": "m{member:1}",
               "view": { "filetype": { "type": "scatter", "blocklength": $1 } } },
  "ranks": 3, "view": { "filetype": { "type": "scatter", "blocklength": 100 } } }
TEXT
}

@test "run: members are read by the program, and written by the mount" {
    members 2048
    mount_spec m.json
    mpiio-view cat m.json -r 1 >want
    under cmp "$mnt/whole" whole.dat
    served 1
    under cat "$mnt/rank1" | cmp - want
    served 1
    under dd if="$mnt/rank1" bs=10 skip=300 status=none | cmp - <(tail -c +3001 want)
    served 1
    [ "$(stat_of slice_reads)" -eq 0 ]
    under dd if=want of="$mnt/rank1" status=none
    [ "$(counted granted)" -eq 0 ]
    grep -q 'not granted: members are only read: 1' counts
    rm counts
    # What is written, through the mount or to the members, is seen.
    under python - "$mnt/whole" <<'TEXT'
import os, sys
reader, whole = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[1], os.O_RDWR)
assert os.pwrite(whole, b"x" * 5000, 1000) == 5000
os.fsync(whole)
assert os.pread(reader, 6000, 500)[500:5500] == os.pread(whole, 5000, 1000) == b"x" * 5000
TEXT
    [ "$(counted not_given)" -eq 1 ]
    rm counts
    under python - "$mnt/whole" <<'TEXT'
import os, sys
whole = os.open(sys.argv[1], os.O_RDONLY)
for byte in (b"y", b"z"):
    with open("m0", "r+b") as member:
        member.write(byte)
    assert os.pread(whole, 2, 0)[:1] == byte
TEXT
    served 1
    # Another file in a member's place, and one that has got shorter.
    cp m3 new && mv new m3
    under cmp -n 100 "$mnt/whole" <(head -c 100 "$mnt/whole")
    [ "$(counted granted)" -eq 0 ]
    grep -q 'not granted: the shared file cannot be opened' counts
    # Its descriptors are a part of those that the program may have.
    rm counts
    mpiio-umount "$mnt"
    mount_spec m.json
    (ulimit -n 330 && under cmp "$mnt/whole" <(cat "$mnt/whole"))
    served 1
    (ulimit -n 300 && under cmp "$mnt/whole" <(cat "$mnt/whole"))
    [ "$(counted granted)" -eq 0 ]
}

@test "run: short reads of members in fine turns are the mount's" {
    members 8
    truncate -s 4096 m7
    mount_spec m.json -o ro,missing=zero
    cp "$mnt/whole" want
    [ "$(stat -c %s want)" -eq 65528 ]
    under dd if="$mnt/whole" bs=16k status=none | cmp - want
    served 1
    under dd if="$mnt/whole" bs=4k status=none | cmp - want
    [ "$(counted short)" -eq 17 ]
    [ "$(counted fell_back)" -eq 17 ]
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
    env "${names[@]/#/--unset=}" MPIIO_TEST_RUN=1 bats \
        "$top"/tests/bats/{calls,sharing,tools,write}.bats 3>&-
}

# way NAME: run-ways NAME on rank 0 of x.dat, without and under mpiio-run.
way() {
    make_file x.dat 8388608
    dealt x.dat 2 16 >x.json
    mount_spec x.json
    timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" "$1" "$mnt/rank0" x.dat
    make_file x.dat 8388608
    under timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" "$1" "$mnt/rank0" x.dat
    [ "$(counted granted)" -gt 0 ]
}

@test "run: threads are cancelled in calls, and nothing stays locked" {
    way cancel
}

@test "run: a handler that leaves a call by siglongjmp loses no write and no descriptor" {
    way jump
}

@test "run: children of a process with threads use its streams" {
    way fork
}

@test "run: the program's POSIX locks on the shared file and on slices stay" {
    way lock
}

@test "run: streams have wide characters, and are opened anew" {
    way wide
    mpiio-umount "$mnt"
    way reopen
    mpiio-umount "$mnt"
    seq 400 | tr '\n' ' ' | fold -s >s.dat
    dealt s.dat 1 512 >s.json
    mount_spec s.json
    under rev "$mnt/rank0" | cmp - <(rev s.dat)
    TERM=dumb under ul "$mnt/rank0" | cmp - <(TERM=dumb ul s.dat)
}

@test "run: SIGBUS is the program's, with its flags, mask and stack, or ignored" {
    way bus
}

@test "run: close_range takes the grants of its descriptors alone" {
    way ranges
    [ "$(counted granted)" -eq 3 ]
    [ "$(counted reads)" -gt 300 ]
    [ "$(counted fell_back)" -eq 0 ]
}

@test "run: copy_file_range fails where it does without" {
    scatter_spec
    mount_spec s.json
    cat >copy.py <<'END'
import errno, os, sys
def copy(*arguments):
    try:
        return os.copy_file_range(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
slice, again = os.open(sys.argv[1], os.O_RDWR), os.open(sys.argv[1], os.O_RDWR)
other, null = os.open(sys.argv[2], os.O_RDWR), os.open("/dev/null", os.O_WRONLY)
plain, pipe = os.open("plain", os.O_RDWR | os.O_CREAT), os.pipe()
print(copy(slice, again, 100, 0, 50), copy(slice, slice, 100, 0, 50), copy(slice, null, 100),
      copy(slice, pipe[1], 100), copy(slice, other, 100, 0, 0), copy(slice, again, 100, 0, 500),
      copy(slice, plain, 100, 0, 0), copy(plain, slice, 100, 0, 0))
END
    /usr/bin/python3 copy.py "$mnt/rank0" "$mnt/rank1" >want
    mpiio-umount "$mnt"
    scatter_spec
    mount_spec s.json
    under /usr/bin/python3 copy.py "$mnt/rank0" "$mnt/rank1" >have
    cat have
    cmp have want
    [ "$(counted granted)" -eq 3 ]
}

@test "run: the statistics are one clean line, and keep no standard error open" {
    scatter_spec
    mount_spec s.json
    cat >daemon.py <<'END'
import os, sys
os.close(os.open(sys.argv[1], os.O_RDONLY))
if os.fork() == 0:
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        if sys.argv[2] == "close":
            os.close(number)
        elif sys.argv[2] == "dup":
            os.dup2(null, number)
    if sys.argv[2] == "closerange":
        os.closerange(0, 3)
    elif sys.argv[2] == "daemon":
        import ctypes
        ctypes.CDLL(None).daemon(1, 0)
    open("started." + sys.argv[2], "w").write(str(os.getpid()))
    import time
    time.sleep(600)
END
    local how
    for how in close dup closerange daemon; do
        # cat ends when the last writer has closed the pipe.
        mpiio-run -s /usr/bin/python3 daemon.py "$mnt/rank0" $how 2>&1 >/dev/null | timeout 120 cat >>counts
        await test -s started.$how
        kill -KILL "$(cat started.$how)"
    done
    [ "$(counted slices)" -eq 4 ]
    # A name with anything in it.
    cp "$(command -v cat)" $'a\nb\e[2J'
    mpiio-run -s $'./a\nb\e[2J' "$mnt/rank0" 2>line >/dev/null
    [ "$(wc -l <line)" -eq 1 ]
    grep -q '^mpiio-run: a?b?\[2J\[' line
}
