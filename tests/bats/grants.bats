#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Grants to programs under mpiio-run: who gets one, and what is seen when it is taken back.

load helper
load under

# two_views_spec: t.json: the same bytes of t.dat in two views, scattered and as a whole.
two_views_spec() {
    make_file t.dat 65536
    cat >t.json <<'END'
{ "viewspec": 1, "file": "t.dat", "ranks": 2, "views": {
    "dealt": { "filetype": { "type": "scatter", "blocklength": 24 } },
    "whole": { "filetype": { "type": "contiguous", "count": 1 } } } }
END
}

@test "grants: what cannot be granted is the mount's, and the count says why" {
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

@test "grants: a reader that the kernel has pages for sees each write, of 10000" {
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
        for wait in range(6000):
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
        /usr/bin/python3 reader.py "$mnt/dealt/rank0" "$mnt/whole/rank0" $how 2>>counts
        [ "$(counted granted)" -eq 1 ]
        [ "$(counted writes)" -eq 1001 ] || [ "$(counted writes)" -eq 1000 ]
        [ "$(counted taken_back)" -ge 3999 ]
        rm counts
    done
    [ "$(stat_of grants_taken_back)" -eq 2 ]
}

@test "grants: a write that is under way when its grant is taken back is seen" {
    make_file x.dat 8388608
    dealt x.dat 2 16 >x.json
    mount_spec x.json
    cat >writer.py <<'END'
import os, sys
while line := sys.stdin.buffer.raw.readline():
    fd = os.open(sys.argv[1], os.O_WRONLY)
    data = bytes([int(line)]) * (4 << 20)
    os.write(1, b"r")
    os.read(0, 1)
    assert os.pwrite(fd, data, 0) == len(data)
    os.write(1, b"d")
    os.read(0, 1)
    os.close(fd)
END
    cat >reader.py <<'END'
import os, subprocess, sys
slice, length = sys.argv[1], 4 << 20
writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "writer.py", slice],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
for i in range(1, 121):
    writer.stdin.write(b"%d\n" % i)
    writer.stdout.read(1)
    fd = os.open(slice, os.O_RDONLY)
    writer.stdin.write(b"g")
    os.pread(fd, 4096, length * (i % 8) // 8)
    writer.stdout.read(1)
    assert os.pread(fd, length, 0) == bytes([i]) * length, i
    os.close(fd)
    writer.stdin.write(b"g")
writer.stdin.close()
assert writer.wait() == 0
END
    /usr/bin/python3 reader.py "$mnt/rank0" 2>>counts
    [ "$(counted granted)" -gt 100 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: stores through a mapping are seen by who reads under it" {
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
    /usr/bin/python3 stores.py "$mnt/rank1" 2>>counts
    [ "$(counted reads)" -eq 1 ]
    [ "$(counted taken_back)" -eq 100 ]
}

@test "grants: who has mapped a slice behind its end has what granted writes add there" {
    : >e.dat
    dealt e.dat 2 512 >e.json
    mount_spec e.json
    cat >mapper.py <<'END'
import ctypes, mmap, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def map(fd, length): # mmap.mmap maps no more than the size
    address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    assert address not in (None, ctypes.c_void_p(-1).value)
    return (ctypes.c_ubyte * length).from_address(address)
length, page = 1 << 20, mmap.PAGESIZE
fd = os.open(sys.argv[1], os.O_RDONLY)
bytes_there = map(fd, length)
writer = subprocess.Popen(["mpiio-run", "-s", "/usr/bin/python3", "-c", """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
while line := sys.stdin.buffer.raw.readline():
    offset, size = (int(word) for word in line.split())
    assert os.pwrite(fd, bytes([1 + offset % 251]) * size, offset) == size
    os.write(1, b"w")
os.write(1, b"%d" % os.fstat(fd).st_size)
""", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
# In the first page, up to its end, a byte behind it, over some pages, and far behind.
writes = (0, 41), (41, page - 41), (page, 1), (page + 1, 5 * page), (length - 1, 1)
for offset, size in writes:
    writer.stdin.write(b"%d %d\n" % (offset, size))
    assert writer.stdout.read(1) == b"w"
    if sys.argv[2] == "each":
        assert bytes_there[offset + size - 1] == 1 + offset % 251, offset
writer.stdin.close()
assert int(writer.stdout.read()) == length
assert writer.wait() == 0
for offset, size in writes:
    assert set(bytes_there[offset:offset + size]) == {1 + offset % 251}, offset
END
    # The first look takes the grant back: all writes are by the grant where the last one is looked at.
    for when in each end; do
        : >e.dat
        /usr/bin/python3 mapper.py "$mnt/rank1" $when 2>>counts
    done
    [ "$(counted granted)" -eq 2 ]
    [ "$(counted writes)" -eq 6 ]
}

@test "grants: a writer asks for the size only while a program without a grant has the slice open" {
    counts_requests
    : >e.dat
    dealt e.dat 2 512 >e.json
    mount_spec e.json
    under /usr/bin/python3 - "$mnt" <<'END'
import json, os, subprocess, sys, time
mnt = sys.argv[1]
def asked():
    with open(f"{mnt}/.mpiio/stats.json") as stats:
        return json.load(stats)["requests"]["getattr"]
end = 0
def rises():
    """Writes 100 pages behind the end. Returns true if the size was requested for each of them."""
    global end
    before = asked()
    for i in range(100):
        end += 4096
        assert os.pwrite(fd, b"x" * 4096, end) == 4096
    return asked() - before >= 100
fd = os.open(f"{mnt}/rank1", os.O_WRONLY)
assert not rises()
watcher = subprocess.Popen(["/usr/bin/python3", "-c", """
import sys
file = open(sys.argv[1])
print(1, flush=True)
input()
""", f"{mnt}/rank1"], env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert watcher.stdout.readline()
assert rises()
watcher.communicate(b"\n")
give_up = time.monotonic() + 60 # close(2) does not wait for the daemon
while rises():
    assert time.monotonic() < give_up
END
    served 1
    [ "$(stat_of requests.write)" -eq 0 ]
}

@test "grants: random programs, half of them under it, against a model" {
    local seed=$RANDOM
    two_views_spec
    mount_spec t.json
    echo "seed $seed"
    /usr/bin/python3 "$top/tests/run/model.py" "$seed" 3000 t.dat "$mnt/dealt/rank0" "$mnt/dealt/rank1" \
        "$mnt/whole/rank0" 2>>counts
    mpiio-umount "$mnt"
    cmp t.dat model
    [ "$(counted reads)" -gt 0 ]
    [ "$(counted writes)" -gt 0 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: threads at once, and their children" {
    local seed=$RANDOM round
    make_file x.dat 1000000
    dealt x.dat 4 40 >x.json
    mount_spec x.json
    echo "seed $seed"
    under "$MPIIO_BUILD/tests/run/run-threads" "$seed" "$mnt/rank0"
    [ "$(counted writes)" -gt 100 ]
    [ "$(counted fell_back)" -eq 0 ]
    rm counts
    # Until a grant is taken back while a call is under way, which is a matter of chance.
    for ((round = 0; round < 20; round++)); do
        under "$MPIIO_BUILD/tests/run/run-threads" $((seed + round)) "$mnt/rank1" forks
        [ "$(counted taken_back)" -eq 0 ] || break
    done
    [ "$(counted writes)" -gt 10 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: SIGKILL to the program loses nothing that was acknowledged" {
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

@test "grants: when the daemon is killed, calls fail as without" {
    scatter_spec
    mount_spec s.json
    cat >dead.py <<'END'
import errno, os, signal, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
assert os.pwrite(fd, b"stored", 0) == 6
os.kill(int(sys.argv[2]), signal.SIGKILL)
def lives(pid):
    try:
        return "Z" not in open(f"/proc/{pid}/stat").read()
    except (FileNotFoundError, ProcessLookupError):
        return False
while lives(sys.argv[2]):
    time.sleep(0.01)
for call in (lambda: os.pread(fd, 6, 0), lambda: os.pwrite(fd, b"x", 0), lambda: os.read(fd, 1)):
    try:
        call()
        raise AssertionError
    except OSError as error:
        # The second, where the kernel is still taking the connection away.
        assert error.errno in (errno.ENOTCONN, errno.ECONNABORTED), error
END
    under /usr/bin/python3 dead.py "$mnt/rank0" "$(daemon_pid)"
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted writes)" -eq 1 ]
    [ "$(head -c 6 s.dat)" = stored ]
}

@test "grants: a program gets no right by asking for a grant" {
    scatter_spec
    mount_spec s.json
    /usr/bin/python3 - "$mnt" "$(daemon_pid)" <<'END'
import ctypes, errno, fcntl, mmap, os, random, struct, sys
mnt, daemon = sys.argv[1:]
FIELDS = "=QQiiI64s4x"
SIZE = struct.calcsize(FIELDS)
ASK = 3 << 30 | SIZE << 16 | ord("m") << 8 | 0x61
SLOT = "=QIIIxxxxQq"
def ask(path, flags, request=ASK, size=SIZE):
    fd = os.open(path, flags)
    try:
        buffer = bytearray(size)
        buffer[:8] = (1234).to_bytes(8, "little")[:size]
        fcntl.ioctl(fd, request, buffer)
        return struct.unpack(FIELDS, buffer)
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        os.close(fd)
# No more rights than it was opened with. The slots are the last of the page, before the spec.
answer = ask(f"{mnt}/rank0", os.O_RDONLY), ask(f"{mnt}/rank0", os.O_WRONLY)
page = f"/proc/{daemon}/fd/{answer[0][3]}"
slots = len(open(page, "rb").read()) - os.path.getsize(f"{mnt}/.mpiio/spec.json")
slots -= 4096 * struct.calcsize(SLOT)
def slot(number):
    with open(page, "rb") as file:
        file.seek(slots + number * struct.calcsize(SLOT))
        return struct.unpack(SLOT, file.read(struct.calcsize(SLOT)))
assert [slot(one[4])[0] for one in answer] == [1234, 1234]
assert [slot(one[4])[3] for one in answer] == [1, 2]
# Nothing of what is no slice, nor by other requests.
for path in (mnt, f"{mnt}/.mpiio", f"{mnt}/.mpiio/stats.json", f"{mnt}/.mpiio/spec.json"):
    assert ask(path, os.O_RDONLY) == "ENOTTY", path
for i in range(2000):
    size = random.randrange(1, 5000)
    request = random.getrandbits(32) & 0xc000ffff | size << 16
    if request != ASK:
        assert ask(f"{mnt}/rank1", os.O_RDONLY, request, 16384) in ("ENOTTY", "EINVAL"), hex(request)
# The page of grants is not to be written to, though it is the same user's process.
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

@test "grants: root takes none from another user's daemon, which tells what file to open" {
    scatter_spec
    user_folder u
    cp s.dat s.json u
    chmod 666 u/s.dat
    mkdir u/mnt
    chown nobody: u/mnt
    as_user true
    echo user_allow_other >fuse.conf
    cat >others <<'END'
set -e
mount --bind fuse.conf /etc/fuse.conf
cd u
user="setpriv --reuid nobody --regid nogroup --clear-groups"
$user mpiio-mount -o allow_other s.json mnt
for who in "" "$user"; do
    $who mpiio-run -s dd if=/dev/zero of=mnt/rank0 bs=8 count=1 conv=notrunc status=none
done
$user mpiio-umount mnt
END
    as_root "$top/tests/let_go" --keep "$tmp" bash others 2>counts 3>&-
    cat counts
    [ "$(grep -c 'granted=0' counts)" -eq 1 ]
    [ "$(grep -c 'granted=1' counts)" -eq 1 ]
    [[ $(head -n 2 counts) == *granted=0*"not granted: the mount is another user's: 1"* ]]
}

# The grants that were refused for their number.
refused() {
    sed -n 's/.*too many slices are granted: \([0-9]*\).*/\1/p' counts | awk '{ n += $1 } END { print n + 0 }'
}

# The ten processes have said what they were granted, or refused.
all_told() {
    [ "$(($(counted granted) + $(refused)))" -ge 4200 ]
}

@test "grants: too many grants leave the rest to the mount" {
    make_file m.dat 50000
    dealt m.dat 5000 10 >m.json
    mount_spec m.json
    # In processes of 420 slices each: the limit of open files may be a usual one.
    cat >many.py <<'END'
import os, sys
ranks = range(int(sys.argv[2]), int(sys.argv[2]) + 420)
slices = [(i, os.open(f"{sys.argv[1]}/rank{i}", os.O_RDONLY)) for i in ranks]
data = open("m.dat", "rb").read()
for i, fd in slices:
    assert os.read(fd, 20) == data[10 * i:10 * i + 10]
print("read", flush=True)
sys.stdin.read()
END
    cat >all.py <<'END'
import subprocess, sys
readers = [subprocess.Popen([sys.executable, "many.py", sys.argv[1], str(first)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
           for first in range(0, 4200, 420)]
assert all(reader.stdout.readline() == b"read\n" for reader in readers)
for reader in readers:
    reader.stdin.close()
assert not any([reader.wait() for reader in readers])
END
    under /usr/bin/python3 all.py "$mnt"
    await all_told
    [ "$(counted granted)" -eq 4096 ]
    [ "$(refused)" -eq 104 ]
    rm counts
    under cat "$mnt/rank0" | cmp - <(head -c 10 m.dat)
    served 1
}

@test "grants: appenders append, by fdopen and by a flag that a child sets" {
    scatter_spec
    mount_spec s.json
    cat >append.py <<'END'
import ctypes, fcntl, os, subprocess, sys
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
for mode in (b"a", b"a+"):
    fd = os.open(sys.argv[1], os.O_RDWR)
    file = ctypes.c_void_p(libc.fdopen(fd, mode))
    assert libc.fputs(b"stream", file) >= 0 and libc.fclose(file) == 0
fd = os.open(sys.argv[1], os.O_RDWR)
set_flag = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND)"
if sys.argv[2] == "fork":
    if os.fork() == 0:
        # Past the library, as a static program does.
        libc.syscall(72 if os.uname().machine == "x86_64" else 25, fd, fcntl.F_SETFL, os.O_APPEND)
        os._exit(0)
    os.wait()
elif sys.argv[2] == "spawn":
    actions = [(os.POSIX_SPAWN_DUP2, fd, 1)]
    child = os.posix_spawn("/usr/bin/env", ["env", "-u", "LD_PRELOAD", "/usr/bin/python3", "-c", set_flag],
                           os.environ, file_actions=actions)
    os.waitpid(child, 0)
else:
    subprocess.run(["env", "-u", "LD_PRELOAD", "/usr/bin/python3", "-c", set_flag], stdout=fd)
assert os.write(fd, b"write") == 5
os.lseek(fd, 0, 0)
assert os.write(fd, b"again") == 5
END
    local how
    for how in fork spawn vfork; do
        rm -f counts
        under /usr/bin/python3 append.py "$mnt/rank3" $how
        [ "$(mpiio-view cat s.json -r 3 | tail -c 22)" = streamstreamwriteagain ]
        [ "$(counted granted)" -eq 3 ]
        [ "$(counted flags)" -gt 0 ]
    done
}
