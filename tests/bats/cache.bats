#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The shared file changes under a mount: whoever opens a slice afterwards, or fsyncs one that is
# open, sees the file as it is. Pages are kept only while the file is unchanged.

load helper

# expected RANK: what the slice of that rank holds by the file's present contents, on stdout.
expected() {
    /usr/bin/python3 - b.dat "$1" <<'EOF'
import sys
data = open(sys.argv[1], "rb").read()
rank = int(sys.argv[2])
sys.stdout.buffer.write(b"".join(data[i:i + 4096] for i in range(rank * 4096, len(data), 16384)))
EOF
}

# patch OFFSET LENGTH BYTE: writes into the file, not through the mount.
patch() {
    /usr/bin/python3 - "$@" <<'EOF'
import os, sys
offset, length, byte = map(int, sys.argv[1:])
fd = os.open("b.dat", os.O_WRONLY)
assert os.pwrite(fd, bytes([byte]) * length, offset) == length
os.close(fd)
EOF
}

# Long enough for a file's times to count as settled.
settle() {
    sleep 0.1
}

@test "cache: pages of an unchanged file are kept across opens" {
    local before
    blocks_spec
    settle
    mount_spec b.json
    cat "$mnt/rank1" >/dev/null
    before=$(stat_of slice_reads)
    cmp "$mnt/rank1" <(expected 1)
    cmp "$mnt/rank1" <(expected 1)
    [ "$(stat_of slice_reads)" -eq "$before" ]
}

@test "cache: a file rewritten in place is seen by the next open" {
    local i
    blocks_spec
    mount_spec b.json
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cmp "$mnt/rank1" <(expected 1)
        patch $((4096 + i * 16384)) 100 "$i"
        cmp "$mnt/rank1" <(expected 1)
    done
}

@test "cache: changes a moment after an open are seen by the next one, too" {
    blocks_spec
    mount_spec b.json
    # Two changes within one tick of the filesystem's clock leave the same times.
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import os, sys
fd = os.open("b.dat", os.O_WRONLY)
for i in range(2000):
    os.pwrite(fd, bytes([i % 251]) * 8, 4096)
    with open(sys.argv[1], "rb", 0) as slice:
        got = slice.read(8)
    assert got == bytes([i % 251]) * 8, (i, got)
EOF
}

@test "cache: a file that grows shows its new end at once" {
    blocks_spec 1050000
    mount_spec b.json
    cmp "$mnt/rank0" <(expected 0)
    exec 5<"$mnt/rank0" # stays open
    make_file more 300001
    cat more >>b.dat
    [ "$(stat -c %s "$mnt/rank0")" -eq "$(expected 0 | wc -c)" ]
    [ "$(wc -c <"$mnt/rank0")" -eq "$(expected 0 | wc -c)" ]
    cmp <(tail -c 5000 "$mnt/rank0") <(expected 0 | tail -c 5000)
    cmp "$mnt/rank0" <(expected 0)
    cmp <(cat <&5) <(expected 0)
    exec 5<&-
}

@test "cache: a slice opened before the file grows is read on to the new end" {
    blocks_spec 1050000
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank0" <<'EOF'
import os, sys
def expected():
    data = open("b.dat", "rb").read()
    return b"".join(data[i:i + 4096] for i in range(0, len(data), 16384))
fd = os.open(sys.argv[1], os.O_RDONLY)
seen = b""
while (part := os.read(fd, 100000)):
    seen += part
assert seen == expected()
for i in range(20):
    with open("b.dat", "ab") as out:
        out.write(bytes([i + 1]) * 7777)
    while (part := os.read(fd, 100000)):
        seen += part
    assert seen == expected(), i
EOF
}

@test "cache: no stale zeros behind the old end of a file that grows" {
    blocks_spec 1050000
    mount_spec b.json
    # The last page of the slice is in the cache, zeros behind its end.
    tail -c 100 "$mnt/rank0" >/dev/null
    exec 5<"$mnt/rank0"
    cat <&5 >/dev/null
    make_file more 200000
    cat more >>b.dat
    cmp "$mnt/rank0" <(expected 0)
    cmp <(dd bs=4096 if=/dev/fd/5 status=none) <(expected 0)
    exec 5<&-
}

@test "cache: a truncated file ends at its new end, for new and for open readers" {
    blocks_spec
    mount_spec b.json
    exec 5<"$mnt/rank1"
    cmp "$mnt/rank1" <(expected 1)
    truncate -s 300000 b.dat
    [ "$(stat -c %s "$mnt/rank1")" -eq "$(expected 1 | wc -c)" ]
    cmp "$mnt/rank1" <(expected 1)
    cmp <(cat <&5) <(expected 1)
    truncate -s 0 b.dat
    [ "$(stat -c %s "$mnt/rank1")" -eq 0 ]
    [ "$(wc -c <"$mnt/rank1")" -eq 0 ]
    exec 5<&-
}

@test "cache: truncated and grown again, never what was there before" {
    local i
    blocks_spec
    mount_spec b.json
    exec 5<"$mnt/rank1"
    for i in 1 2 3 4 5; do
        cmp "$mnt/rank1" <(expected 1)
        truncate -s $((100000 * i + 10)) b.dat
        [ "$i" -gt 2 ] || cat "$mnt/rank1" >/dev/null
        truncate -s 1048576 b.dat
        patch 800000 50000 "$i"
        cmp "$mnt/rank1" <(expected 1)
        cmp /proc/self/fd/5 <(expected 1)
    done
    exec 5<&-
}

@test "cache: what a writer past the page cache has written is seen by open readers at once" {
    blocks_spec 1050000
    mount_spec b.json
    /usr/bin/python3 - "$mnt" <<'EOF'
import json, os, struct, sys, threading
def dropped():
    return json.load(open(sys.argv[1] + "/.mpiio/stats.json"))["requests"]["dropped"]
path = sys.argv[1] + "/rank0"
writer = os.open(path, os.O_WRONLY)
for i in range(50):
    os.pwrite(writer, struct.pack("<q", i), 16)
assert dropped() == 0
reader = os.open(path, os.O_RDONLY)
stop = False
def fill():
    other = os.open(path, os.O_RDONLY)
    while not stop:
        os.posix_fadvise(other, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(other, 4096, 0)
threads = [threading.Thread(target=fill) for _ in range(2)]
for thread in threads:
    thread.start()
for i in range(2000):
    os.pwrite(writer, struct.pack("<q", i), 16)
    assert struct.unpack("<q", os.pread(reader, 8, 16)) == (i,)
stop = True
for thread in threads:
    thread.join()
assert dropped() == 2000
EOF
}

@test "cache: other slices that show what is written are seen by open readers at once" {
    local options
    make_file b.dat 4096
    cat >two.json <<'EOF'
{"viewspec": 1, "file": "b.dat", "ranks": 2, "views": {
    "all": {"filetype": {"type": "broadcast"}},
    "dealt": {"filetype": {"type": "scatter", "blocklength": 8}}}}
EOF
    for options in npy,cache=through npy,cache=back,flush_interval=0; do
        mpiio-mount -o "$options" two.json "$mnt"
        /usr/bin/python3 - "$mnt" <<'EOF'
import json, os, sys, time
def dropped():
    return json.load(open(sys.argv[1] + "/.mpiio/stats.json"))["requests"]["dropped"]
def open_slice(name, flags):
    return os.open(sys.argv[1] + "/" + name, flags)
writer = open_slice("dealt/rank1", os.O_WRONLY)
reader = open_slice("all/rank0", os.O_RDONLY)
header = os.path.getsize(sys.argv[1] + "/dealt/rank1.npy") - os.path.getsize(sys.argv[1] + "/dealt/rank1")
npy = open_slice("dealt/rank1.npy", os.O_RDONLY)
apart = open_slice("dealt/rank0", os.O_RDONLY)
os.pread(apart, 100, 0)
for i in range(200):
    before = os.pread(reader, 8, 24), os.pread(npy, 8, header + 8)
    assert os.pwrite(writer, b"%08d" % i, 8) == 8
    after = os.pread(reader, 8, 24), os.pread(npy, 8, header + 8)
    assert after == (b"%08d" % i,) * 2, (i, before, after)
assert dropped() == 400 # not of dealt/rank0, which shows none of it
# With pages of its own the kernel waits for the answer: soon.
both = open_slice("dealt/rank0", os.O_RDWR)
for i in range(50):
    os.pread(reader, 8, 0)
    os.pwrite(both, b"%08d" % i, 0)
    end = time.monotonic() + 30
    while os.pread(reader, 8, 0) != b"%08d" % i:
        assert time.monotonic() < end, i
EOF
        mpiio-umount "$mnt"
    done
}

# Pages are dropped late here: who does not wait for that reads what was there before.
@test "cache: a writer whose slice others read waits until other slices show what it wrote" {
    make_file b.dat 4096
    cat >two.json <<'EOF'
{"viewspec": 1, "file": "b.dat", "ranks": 2, "views": {
    "all": {"filetype": {"type": "broadcast"}},
    "dealt": {"filetype": {"type": "scatter", "blocklength": 8}}}}
EOF
    LD_PRELOAD=$MPIIO_BUILD/tests/engine/liblate.so mpiio-fused two.json "$mnt" 3>&-
    python "$mnt" <<'EOF'
own = os.open(sys.argv[1] + "/dealt/rank1", os.O_RDONLY)
writer = os.open(sys.argv[1] + "/dealt/rank1", os.O_WRONLY)
other = os.open(sys.argv[1] + "/all/rank0", os.O_RDONLY)
for i in range(5):
    os.pread(own, 8, 8), os.pread(other, 8, 24)
    assert os.pwrite(writer, b"%08d" % i, 8) == 8
    assert os.pread(other, 8, 24) == b"%08d" % i, i
    assert os.pread(own, 8, 8) == b"%08d" % i, i
EOF
    mpiio-umount "$mnt"
}

@test "cache: slices that show the same bytes, written and read from all sides, never block" {
    make_file b.dat 65536
    cat >two.json <<'EOF'
{"viewspec": 1, "file": "b.dat", "ranks": 2, "view": {"filetype": {"type": "broadcast"}}}
EOF
    mpiio-mount -o threads=2 two.json "$mnt"
    python "$mnt" <<'EOF'
import random
def work(seed):
    dice = random.Random(seed)
    flags = (os.O_RDWR, os.O_WRONLY, os.O_RDONLY)[seed % 3]
    fd = os.open(f"{sys.argv[1]}/rank{seed // 3 % 2}", flags)
    for i in range(5):
        if flags != os.O_WRONLY:
            os.pread(fd, dice.randrange(1, 9000), dice.randrange(60000))
        if flags != os.O_RDONLY:
            os.pwrite(fd, bytes(dice.randrange(1, 9000)), dice.randrange(50000))
    os.close(fd)
at_once(work, range(12))
EOF
    mpiio-umount "$mnt"
}

@test "cache: fsync of an open reader shows what others have written" {
    blocks_spec
    settle
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import os, sys, time
slice = os.open(sys.argv[1], os.O_RDONLY)
file = os.open("b.dat", os.O_WRONLY)
for i in range(50):
    os.pread(slice, 262144, 0)
    os.pwrite(file, bytes([i]) * 64, 4096 + 16384)
    os.fsync(slice)
    got = os.pread(slice, 64, 4096)
    assert got == bytes([i]) * 64, (i, got)
    if i % 10 == 0:
        time.sleep(0.05)
EOF
}

@test "cache: fsync shows a mapping of the slice what others have written" {
    blocks_spec
    mount_spec b.json
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import mmap, os, sys
slice = os.open(sys.argv[1], os.O_RDONLY)
map = mmap.mmap(slice, 0, mmap.MAP_SHARED, mmap.PROT_READ)
file = os.open("b.dat", os.O_WRONLY)
for i in range(20):
    sum(map[::512])
    os.pwrite(file, bytes([i]) * 64, 4096 + 16384)
    os.fsync(slice)
    assert map[4096:4160] == bytes([i]) * 64, i
EOF
}

@test "cache: fsyncs of many readers, more than there are threads, while others read" {
    blocks_spec 16777216
    mount_spec b.json -o threads=2
    python "$mnt" <<'EOF'
stop = time.time() + 3
def run(work):
    while time.time() < stop:
        work()
def sync():
    fd = os.open(sys.argv[1] + "/rank1", os.O_RDONLY)
    os.pread(fd, 8192, 0)
    os.fsync(fd)
    os.close(fd)
def read():
    with open(sys.argv[1] + "/rank1", "rb", 0) as slice:
        while slice.read(1 << 20):
            pass
file = os.open("b.dat", os.O_WRONLY)
def write():
    os.pwrite(file, os.urandom(8), 4096)
    time.sleep(0.001)
at_once(run, [sync] * 8 + [read] * 4 + [write])
EOF
    [ "$(stat_of requests.fsync)" -gt 8 ]
    cmp "$mnt/rank1" <(expected 1)
}

@test "cache: readers of a file that is truncated and grown all the time live on" {
    local pid
    blocks_spec
    mount_spec b.json
    pid=$(daemon_pid)
    # What is read is never longer than the file was. Bytes that are cut off and written again while
    # they are read may come as zeros, as from a read(2) of the file: the kernel has nothing to tell
    # that from by.
    python "$mnt" <<'EOF'
stop = time.time() + 3
with open("b.dat", "wb") as out:
    out.write(b"x" * 1048576)
def change():
    fd = os.open("b.dat", os.O_RDWR)
    while time.time() < stop:
        os.ftruncate(fd, 70000)
        os.pwrite(fd, b"x" * (1048576 - 70000), 70000)
def read(rank):
    while time.time() < stop:
        with open("%s/rank%d" % (sys.argv[1], rank), "rb", 0) as slice:
            total = 0
            while part := slice.read(65536):
                total += len(part)
                assert not part.strip(b"x\0"), (rank, total)
            assert total <= 262144, (rank, total)
at_once(lambda rank: read(rank) if rank < 4 else change(), range(5))
EOF
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "cache: a mapping of a slice whose file is truncated does not hurt the daemon" {
    local pid
    blocks_spec
    mount_spec b.json
    pid=$(daemon_pid)
    # The reader itself may get SIGBUS behind the end, as on any file; here it stays before it.
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import mmap, os, sys
slice = os.open(sys.argv[1], os.O_RDONLY)
map = mmap.mmap(slice, 0, mmap.MAP_SHARED, mmap.PROT_READ)
os.truncate("b.dat", 100000)
assert map[:4096] == open("b.dat", "rb").read()[4096:8192]
os.fsync(slice)
assert os.fstat(slice).st_size == 6 * 4096
assert map[:4096] == open("b.dat", "rb").read()[4096:8192]
EOF
    [ "$(daemon_pid)" -eq "$pid" ]
    cmp "$mnt/rank1" <(expected 1)
}

@test "cache: sendfile after the file has grown sends all of it" {
    blocks_spec
    mount_spec b.json
    cat "$mnt/rank1" >/dev/null
    patch 1048576 500000 7
    # No stat in between that would tell the kernel of the new size.
    /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import os, sys
slice = os.open(sys.argv[1], os.O_RDONLY)
out = os.open("out", os.O_WRONLY | os.O_CREAT)
while os.sendfile(out, slice, None, 1 << 20):
    pass
EOF
    cmp out <(expected 1)
}

@test "cache: who has a slice open whose file is truncated meets the end, not zeros" {
    local i
    blocks_spec
    cp b.dat whole.dat
    # A mount each: pages that are dropped for one read are none of the next one's.
    for i in 0 1 2 3; do
        cp whole.dat b.dat
        LD_PRELOAD=$MPIIO_BUILD/tests/engine/liblate.so mpiio-fused b.json "$mnt" 3>&-
        python "$i" <<'END'
fd = os.open("mnt/rank1", os.O_RDONLY)
os.truncate("b.dat", 0)
got = os.pread(fd, 8192, 8192 * int(sys.argv[1]))
assert not got, (len(got), any(got))
END
        mpiio-umount "$mnt"
    done
}

# The kernel copies what is written into its pages, and unlocks them while the write is on its way:
# here they are dropped, and read again, before the bytes are stored.
@test "cache: a writer reads what it wrote, though others open and read the slice meanwhile" {
    blocks_spec
    settle
    mount_spec b.json
    cat >meanwhile.py <<'END'
import json, os, sys, threading
mnt, wait = sys.argv[1], threading.Event().wait
def writes():
    return json.load(open(mnt + "/.mpiio/stats.json"))["requests"]["write"]
fd = os.open(mnt + "/rank1", os.O_RDWR)
old = os.pread(fd, 8, 0)
before = writes()
thread = threading.Thread(target=os.pwrite, args=(fd, b"new data", 0))
thread.start()
while writes() == before: # the daemon has it, and is held up
    wait(0.02)
file = os.open("b.dat", os.O_WRONLY)
os.pwrite(file, b"x", 0) # of rank 0: the file is another one now
other = os.open(mnt + "/rank1", os.O_RDONLY)
got = os.pread(other, 8, 0)
early = thread.is_alive()
thread.join()
assert os.pread(other, 8, 0) == b"new data", "another reader"
assert os.pread(fd, 8, 0) == b"new data", "the writer"
print("read before it was stored" if early and got == old else "read too late")
END
    run -0 inject pwrite64 delay_enter=3000000 /usr/bin/python3 meanwhile.py "$mnt"
    echo "$output"
}
