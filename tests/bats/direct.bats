#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mount option direct: reads past the page cache, with what comes next read ahead by the daemon.

load helper

# direct_spec [MORE]: d.dat of 24 MiB, d.json: two ranks that have blocks of 512 bytes in turns; MORE:
# keys of the view. What the ranks have is in rank0 and rank1.
direct_spec() {
    make_file d.dat $((24 << 20))
    cat >d.json <<END
{ "viewspec": 1, "file": "d.dat", "ranks": 2,
  "view": { ${1:-} "filetype": { "type": "scatter", "blocklength": 512 } } }
END
    mpiio-view cat d.json -r 0 >rank0
    mpiio-view cat d.json -r 1 >rank1
}

@test "direct: what is read is right, in pieces of any size, and large ones were read ahead" {
    local size
    direct_spec
    mount_spec d.json -o direct
    for size in 1M 4M 128k 96k 4k; do
        dd if="$mnt/rank0" bs=$size status=none | cmp - rank0
        dd if="$mnt/rank1" bs=$size status=none | cmp - rank1
    done
    cmp "$mnt/rank0" rank0
    [ "$(stat_of prefetched)" -gt 100 ]
    tail -c 100000 "$mnt/rank1" | cmp - <(tail -c 100000 rank1)
}

@test "direct: random reads, rereads and threads that share a descriptor" {
    direct_spec
    mount_spec d.json -o direct
    /usr/bin/python3 - "$mnt/rank1" "$RANDOM" <<'END'
import os, random, sys, threading
print("seed", sys.argv[2])
want = open("rank1", "rb").read()
fd = os.open(sys.argv[1], os.O_RDONLY)

def read(seed):
    rng = random.Random(seed)
    offset = 0
    for i in range(400):
        if rng.random() < 0.1:
            offset = rng.randrange(len(want) + 100000)
        size = rng.choice((1, 4096, 65536, 131072, 1 << 20, 100000))
        got = os.pread(fd, size, offset)
        if got != want[offset:offset + size]:
            wrong.append((offset, size))
        offset += len(got)

wrong = []
threads = [threading.Thread(target=read, args=(int(sys.argv[2]) + i,)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:5]
END
}

@test "direct: a write through the mount is seen by the next read, whatever was read ahead" {
    direct_spec
    mount_spec d.json -o direct
    /usr/bin/python3 - "$mnt" "$RANDOM" <<'END'
import os, random, sys
mnt, seed = sys.argv[1], int(sys.argv[2])
print("seed", seed)
rng = random.Random(seed)
model = bytearray(open("rank0", "rb").read())
reader = os.open(mnt + "/rank0", os.O_RDONLY)
both = os.open(mnt + "/rank0", os.O_RDWR)
writer = os.open(mnt + "/rank0", os.O_WRONLY)
offset = 0
for i in range(600):
    size = rng.choice((131072, 131072, 1 << 20))
    got = os.pread(reader, size, offset)
    assert got == model[offset:offset + size], (i, offset)
    offset = (offset + size) % len(model)
    if rng.random() < 0.3:
        place = min(offset + rng.randrange(3 << 20), len(model) - 10)
        text = b"%010d" % i
        os.pwrite(rng.choice((both, writer)), text, place)
        model[place:place + 10] = text
END
    [ "$(stat_of prefetched)" -gt 50 ]
}

@test "direct: others' writes are seen after fsync and by the next open; the end moves on" {
    direct_spec
    mount_spec d.json -o direct
    /usr/bin/python3 - "$mnt/rank0" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
file = os.open("d.dat", os.O_RDWR)
for offset in range(0, 3 << 20, 1 << 20):
    os.pread(fd, 1 << 20, offset)
os.pwrite(file, b"foreign!", 6 << 20)
os.fsync(fd)
assert os.pread(fd, 1 << 20, 3 << 20)[:8] == b"foreign!"
os.pwrite(file, b"again...", 10 << 20)
other = os.open(sys.argv[1], os.O_RDONLY)
assert os.pread(other, 8, 5 << 20) == b"again..."
size = os.fstat(fd).st_size
assert len(os.pread(fd, 1 << 20, size - 1000)) == 1000 and os.pread(fd, 1 << 20, size) == b""
os.pwrite(file, b"behind", 2 * size)
assert os.pread(fd, 1 << 20, size) == b"behind"
os.ftruncate(file, size)
assert os.pread(fd, 1 << 20, size // 2 + 4096) == b""
END
}

@test "direct: slices can be mapped, and stores through mappings are there" {
    direct_spec
    mount_spec d.json -o direct
    /usr/bin/python3 - "$mnt/rank0" <<'END'
import mmap, os, sys
release = [int(part) for part in os.uname().release.split(".")[:2]]
want = bytearray(open("rank0", "rb").read())
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    map = mmap.mmap(fd, len(want))
except OSError:
    assert release < [6, 6], release
    sys.exit(0)
assert map[:] == want
map[4000:4100] = want[4000:4100] = b"m" * 100
map.flush()
assert os.pread(fd, 200, 3950) == want[3950:4150]
os.pwrite(fd, b"w" * 100, 8000)
want[8000:8100] = b"w" * 100
assert map[7950:8150] == want[7950:8150]
map[12000:12100] = want[12000:12100] = b"n" * 100
assert os.lseek(fd, 0, os.SEEK_HOLE) == len(want)
os.fsync(fd)
os.close(fd)
map.close()
open("rank0", "wb").write(want)
END
    mpiio-umount "$mnt"
    mpiio-view cat d.json -r 0 | cmp - rank0
}

@test "direct: with npy, unique and atomic mode, in another representation" {
    local options
    direct_spec '"etype": "double", "datarep": "external32",'
    for options in npy unique atomic; do
        mount_spec d.json -o "direct,$options"
        dd if="$mnt/rank0" bs=1M status=none | cmp - rank0
        printf '12345678' | dd of="$mnt/rank0" bs=8 seek=3 conv=notrunc status=none
        dd if="$mnt/rank0" bs=128k status=none |
            cmp - <(head -c 24 rank0; printf '12345678'; tail -c +33 rank0)
        head -c 32 rank0 | dd of="$mnt/rank0" conv=notrunc status=none
        if [ $options = npy ]; then
            /usr/bin/python3 -c "
import numpy
assert numpy.load('$mnt/rank0.npy').tobytes() == open('rank0', 'rb').read()"
        fi
        mpiio-umount "$mnt"
    done
}

@test "direct: many readers at once, closed in the middle, and unmounted under a reader" {
    local i jobs=()
    direct_spec
    mount_spec d.json -o direct,threads=4
    for i in 0 1 0 1 0 1 0 1 0 1 0 1; do
        cmp "$mnt/rank$i" "rank$i" 3>&- &
        jobs+=($!)
        head -c 2500000 "$mnt/rank$i" >/dev/null
    done
    for i in "${jobs[@]}"; do wait "$i"; done
    exec 7<"$mnt/rank0"
    dd bs=128k count=24 <&7 of=/dev/null status=none
    kill -TERM "$(stat_of pid)"
    nothing_left
    exec 7>&-
}
