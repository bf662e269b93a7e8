#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Views with an end ("tiles") and in the order of memory ("buftype", "memory"), through mounts.

load helper
load nodes

# fortran_spec KEYS: makes f.dat with 40 x 50 doubles in Fortran order behind 64 bytes, in halves
# for 2 ranks, and a table behind them that belongs to no rank.
fortran_spec() {
    np 'a = np.arange(2000.0).reshape(40, 50)
open("f.dat", "wb").write(b"h" * 64 + a.tobytes("F") + b"t" * 5000)'
    cat >f.json <<END
{ "viewspec": 1, "file": "f.dat", "ranks": 2,
  "view": { "disp": 64, "etype": "double", $1
    "filetype": { "type": "darray", "gsizes": [40, 50], "psizes": [2, 1], "order": "Fortran",
                  "distribs": ["block", "none"], "dargs": [null, null] } } }
END
}

# halo_spec: makes h.dat with 12 x 8 ints for 4 ranks. In memory, each has a ghost cell all around.
halo_spec() {
    np 'np.arange(96, dtype="i4").tofile("h.dat")'
    one_view h.dat 4 '{ "etype": "int", "tiles": 1,
    "filetype": { "type": "darray", "gsizes": [12, 8], "psizes": [2, 2], "order": "C",
                  "distribs": ["block", "block"], "dargs": [null, null] },
    "buftype": { "type": "subarray", "sizes": [8, 6], "subsizes": [6, 4], "starts": [1, 1], "order": "C" } }' >h.json
}

@test "order: a view ends with its tiles, whatever follows in the file, and does not grow" {
    fortran_spec '"tiles": 1,'
    mount_spec f.json
    [ "$(stat -c %s "$mnt/rank0")" -eq 8000 ]
    head -c 8000 /dev/urandom >new
    cat new >"$mnt/rank1"
    cmp new "$mnt/rank1"
    np '
fd = os.open(m + "/rank1", os.O_RDWR)
for call in (os.pwrite, fd, b"x", 8000), (os.ftruncate, fd, 8001), (os.posix_fallocate, fd, 7000, 1001):
    assert fails(*call) == "EFBIG", call
assert os.pwrite(fd, b"12345678", 7996) == 4
assert os.fstat(fd).st_size == 8000'
    [ "$(tail -c 5000 f.dat | tr -d t | wc -c)" -eq 0 ]
    [ "$(stat -c %s f.dat)" -eq 21064 ]
    mpiio-umount "$mnt"
    # A new file grows to the last tile and no further.
    mount_spec f.json -f new.dat -o create
    run dd if=/dev/zero of="$mnt/rank0" bs=3000 conv=notrunc
    [[ "$output" == *"File too large"* ]]
    [ "$(stat -c %s "$mnt/rank0")" -eq 8000 ]
}

@test "order: a Fortran array is read and written in C order" {
    fortran_spec '"tiles": 1, "memory": "C",'
    mount_spec f.json -o npy
    np '
a = np.arange(2000.0).reshape(40, 50)
for rank in range(2):
    part = a[20 * rank:20 * rank + 20]
    assert (np.fromfile("%s/rank%d" % (m, rank)).reshape(20, 50) == part).all()
    local = np.load("%s/rank%d.npy" % (m, rank))
    assert local.flags.c_contiguous and (local == part).all()
    mapped = np.memmap("%s/rank%d" % (m, rank), dtype=float, mode="r+", shape=(20, 50))
    mapped[3:7, 10:20] = -1 - rank
    mapped.flush()
    part[3:7, 10:20] = -1 - rank
np.save(m + "/rank1.npy", part * 2)
part *= 2
assert open("f.dat", "rb").read() == b"h" * 64 + a.tobytes("F") + b"t" * 5000'
    mpiio-view owner f.json 64 | grep -q "0	0$"
    mpiio-view owner f.json 72 | grep -q "0	400$"
}

@test "order: ghost cells read as zeros and holes, and stay so" {
    mount_new halo -o npy
    np '
whole = np.arange(96, dtype="i4").reshape(12, 8)
for rank in range(4):
    want = np.zeros((8, 6), "i4")
    want[1:7, 1:5] = whole[6 * (rank // 2):, 4 * (rank % 2):][:6, :4]
    assert (np.load("%s/rank%d.npy" % (m, rank)) == want).all()
fd = os.open(m + "/rank3", os.O_RDONLY)
assert os.lseek(fd, 0, os.SEEK_DATA) == 28 and os.lseek(fd, 28, os.SEEK_HOLE) == 44
assert os.lseek(fd, 0, os.SEEK_HOLE) == 0 and os.lseek(fd, 44, os.SEEK_DATA) == 52
os.close(fd)
want += (want != 0) * 1000
fd = os.open(m + "/rank3", os.O_RDWR)
assert os.pwrite(fd, want.tobytes(), 0) == 192
assert fails(os.pwrite, fd, b"\1" * 48, 0) == "EPERM"
whole[6:, 4:] += 1000
assert (np.fromfile("h.dat", "i4").reshape(12, 8) == whole).all()
assert (np.fromfile(m + "/rank3", "i4").reshape(8, 6) == want).all()'
    cp --sparse=always "$mnt/rank2" copy
    cmp copy "$mnt/rank2"
    [ "$(mpiio-view map h.json -r 3 | head -n 2 | tr '\t\n' ' /')" = "28 208 16/52 240 16/" ]
    [ "$(mpiio-view dump h.json -r 0 --offset 28 --length 4)" = 0 ]
    [ "$(mpiio-view dump h.json -r 0 | wc -l)" -eq 24 ]
    mpiio-view cat h.json -r 2 | cmp - copy
    mpiio-view put h.json -r 1 <copy
    cmp copy "$mnt/rank1"
    mpiio-view check h.json | grep -q "in memory  .*subarray"
    mpiio-view convert h.json --to big-endian -o big.dat
    mpiio-view cat h.json -f big.dat -r 1 | cmp -s - copy && return 1
    sed 's/"tiles"/"datarep": "big-endian", "tiles"/' h.json >big.json
    mpiio-view cat big.json -f big.dat -r 1 | cmp - copy
}

@test "order: programs under mpiio-run see the same" {
    mount_new halo
    cp "$mnt/rank1" want
    mpiio-run -s cp "$mnt/rank1" copy 2>counts
    cmp want copy
    grep -q "granted=1" counts || grep -q "1 granted" counts
    head -c 192 /dev/zero >zeros
    mpiio-run dd if=zeros of="$mnt/rank1" conv=notrunc status=none
    cmp zeros "$mnt/rank1"
    tr '\0' '\1' <zeros >ones
    run mpiio-run dd if=ones of="$mnt/rank1" conv=notrunc
    [[ "$output" == *"Operation not permitted"* ]]
}

@test "order: with write-back and on several nodes" {
    fortran_spec '"tiles": 1, "memory": "C",'
    cp f.json s.json
    start_nodes 2
    np '
a = np.arange(2000.0).reshape(40, 50) + 0.5
a[:20].tofile("m0/rank0")
a[20:].tofile("m1/rank1")
for name in ("m0/rank0", "m1/rank1"):
    fd = os.open(name, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)
assert (np.fromfile("m1/rank0").reshape(20, 50) == a[:20]).all()
assert open("f.dat", "rb").read() == b"h" * 64 + a.tobytes("F") + b"t" * 5000'
    stop_nodes
}
