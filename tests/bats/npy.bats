#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mount option npy: slices behind a header that NumPy reads.

# shellcheck disable=SC2012 # what ls shows is what is tested
load helper

# Makes d.dat, the doubles 0, 1, .. 23. It does without NumPy, which starts slowly.
doubles() {
    py 'open("d.dat", "wb").write(struct.pack("24d", *range(24)))'
}

# mount_doubles VIEW: mounts them.
mount_doubles() {
    doubles
    mpiio-mount -o npy --view "$1" d.dat "$mnt"
}

# mount_grid ORDER: mounts them as 4 x 6 doubles, of which a grid of 2 x 2 ranks has blocks.
mount_grid() {
    mount_doubles "darray 4x6 block,block on 2x2 of double order $1"
}

@test "npy: files beside the slices, with both forms of their names, only with the option" {
    mount_new scatter -n 11
    [ ! -e "$mnt/rank00.npy" ]
    mpiio-umount "$mnt"
    mount_spec s.json -n 11 -o npy
    [ "$(ls "$mnt" | wc -l)" -eq 22 ]
    [ "$(ls "$mnt" | head -n 4 | tr '\n' ' ')" = "rank00 rank00.npy rank01 rank01.npy " ]
    [ "$(stat -c %i "$mnt/rank7.npy")" = "$(stat -c %i "$mnt/rank07.npy")" ]
    [ "$(stat -c %i "$mnt/rank7.npy")" != "$(stat -c %i "$mnt/rank7")" ]
    [ "$(find "$mnt" -printf '%i\n' | sort | uniq -d)" = "" ]
    local name
    for name in rank11.npy rank007.npy rank.npy .npy npy rank1.npy.npy rank1npy self.npy; do
        [ ! -e "$mnt/$name" ]
    done
    run ! mkdir "$mnt/x.npy"
    [ "$(attribute "$mnt/rank3.npy" rank)" = 3 ]
}

@test "npy: an array of one dimension, the whole slice" {
    make_file s.dat 4096
    mpiio-mount -o npy --view 'scatter 8 on 4 of uint16_t' s.dat "$mnt"
    np '
a = np.load(m + "/rank2.npy")
assert a.shape == (512,) and a.dtype == np.uint16
assert (a == np.fromfile("s.dat", "u2").reshape(-1, 4, 8)[:, 2].ravel()).all()
size = os.stat(m + "/rank2").st_size
assert os.stat(m + "/rank2.npy").st_size == size + 128'
    cmp "$mnt/rank2" <(tail -c +129 "$mnt/rank2.npy")
    # Also from any offset, across the end of the header.
    cmp <(tail -c +101 "$mnt/rank2.npy" | head -c 60) <(dd if="$mnt/rank2.npy" bs=20 skip=5 count=3 \
        iflag=direct status=none)
}

@test "npy: block-block darray, in either order, mapped with mode r; numpy.save writes to a slice, but only an array of its shape" {
    local order
    for order in C Fortran; do
        mount_grid $order
        np "
order = '$order'[0]"'
whole = np.arange(24.0).reshape((4, 6), order=order)
for rank in range(4):
    i, j = divmod(rank, 2)
    a = np.load(f"{m}/rank{rank}.npy", mmap_mode="r")
    assert a.shape == (2, 3)
    assert (a.flags.c_contiguous, a.flags.f_contiguous) == (order == "C", order == "F")
    assert (a == whole[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]).all()'
        np "
order = '$order'[0]"'
new = np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]], order=order)
np.save(m + "/rank1.npy", new)
whole = np.arange(24.0).reshape((4, 6), order=order)
whole[:2, 3:] = new
assert (np.fromfile("d.dat").reshape((4, 6), order=order) == whole).all()
assert (np.load(m + "/rank1.npy") == new).all()
for other in np.zeros(6), np.zeros((3, 2)), np.zeros((2, 3), "f4"), np.zeros((1, 3)):
    assert fails(np.save, m + "/rank1.npy", other) == "EPERM", other
assert (np.fromfile("d.dat").reshape((4, 6), order=order) == whole).all()
assert (np.load(m + "/rank1.npy") == new).all()'
        mpiio-umount "$mnt"
    done
}

@test "npy: cyclic darray of uneven parts" {
    mount_doubles 'darray 3x8 none,cyclic(3) on 1x4 of double'
    np '
whole = np.arange(24.0).reshape(3, 8)
columns = [[0, 1, 2], [3, 4, 5], [6, 7], []]
for rank in range(4):
    a = np.load(f"{m}/rank{rank}.npy")
    assert a.shape == (3, len(columns[rank]))
    assert (a == whole[:, columns[rank]]).all()'
}

@test "npy: subarray, several tiles, and a file that ends within one" {
    mount_doubles 'subarray 2x4 part 2x1 from 0,rank on 4 of double'
    np '
whole = np.arange(24.0).reshape(3, 2, 4)
for rank in range(4):
    a = np.load(f"{m}/rank{rank}.npy")
    assert a.shape == (3, 2, 1) and (a[:, :, 0] == whole[:, :, rank]).all()
before = os.stat(m + "/rank0.npy").st_size
os.truncate("d.dat", 20 * 8)
a = np.load(m + "/rank0.npy")
assert a.shape == (5,) and (a == [0, 4, 8, 12, 16]).all()
assert os.stat(m + "/rank0.npy").st_size == before - 8
os.truncate("d.dat", 8 * 8)
assert np.load(m + "/rank0.npy").shape == (2, 1)
os.truncate("d.dat", 0)
assert np.load(m + "/rank0.npy").shape == (0,)'
}

@test "npy: a struct becomes a structured dtype" {
    np '
t = np.dtype({"names": ["a", "b", "c"], "formats": ["i4", ("f8", (2,)), "S1"],
              "offsets": [0, 8, 24], "itemsize": 32})
a = np.zeros(6, t)
a["a"] = range(6)
a["b"] = np.arange(12).reshape(6, 2)
a["c"] = list("uvwxyz")
a.tofile("s.dat")'
    one_view s.dat 2 '{ "etype": { "type": "struct", "types": ["int", "double", "char"],
                       "blocklengths": [1, 2, 1], "displacements": [0, 8, 24] },
            "filetype": { "type": "scatter" } }' >s.json
    mount_spec s.json -o npy
    np '
a = np.load(m + "/rank1.npy", mmap_mode="r")
assert a.dtype.itemsize == 21 and a.shape == (3,)
assert a["f0"].tolist() == [1, 3, 5]
assert a["f1"].tolist() == [[2, 3], [6, 7], [10, 11]]
assert a["f2"].tolist() == [b"v", b"x", b"z"]'
}

@test "npy: in the folders of views, with self and self.npy" {
    make_file t.dat 4096
    cat >t.json <<'EOF2'
{ "viewspec": 1, "file": "t.dat", "ranks": 3,
  "views": { "all": { "etype": "double" }, "words": { "etype": "int" } } }
EOF2
    mount_spec t.json -o npy
    [ "$(PMI_RANK=2 readlink "$mnt/words/self.npy")" = rank2.npy ]
    [ "$(PMI_RANK=2 readlink "$mnt/words/self")" = rank2 ]
    [ "$(PMI_RANK=2 ls "$mnt/all" | tail -n 2 | tr '\n' ' ')" = "self self.npy " ]
    [ "$(ls "$mnt/all" | tail -n 1)" = rank2.npy ]
    [ "$(PMI_RANK=1 find "$mnt" -printf '%i\n' | sort | uniq -d)" = "" ]
    np '
assert np.load(m + "/all/rank0.npy").dtype == "f8" and np.load(m + "/words/rank1.npy").dtype == "i4"'
}

@test "npy: self.npy of serial programs under mpiexec; the header cannot be changed, and shows the present size if no data follows" {
    mount_grid C
    cat >sum.py <<'END'
import sys, numpy
# A single write, because mpiexec mixes the ranks' writes, and an unbuffered print() writes the line
# end separately.
sys.stdout.write(f"{numpy.load(sys.argv[1], mmap_mode='r').sum()}\n")
END
    mpi_run 4 /usr/bin/python3 sum.py "$mnt/self.npy" | sort -n >sums
    [ "$(tr '\n' ' ' <sums)" = "24.0 42.0 96.0 114.0 " ]
    np '
path = m + "/rank0.npy"
before = open(path, "rb").read()
def refused(*call):
    return fails(*call) == "EPERM"
for flags in os.O_WRONLY, os.O_RDWR:
    f = os.open(path, flags)
    for at in 0, 5, 100, 127:
        assert os.pwrite(f, before[at:at + 20], at) == 20
        assert refused(os.pwrite, f, b"#" * 20, at)
    assert refused(os.pwrite, f, before[:20].replace(b"descr", b"DESCR"), 0)
    larger = before[:128].replace(b"(2, 3), }   ", b"(9, 2, 3), }")
    assert larger != before[:128]
    assert os.pwrite(f, larger, 0) == 128
    os.close(f)
    assert open(path, "rb").read() == before
    assert refused(os.truncate, path, 127) and refused(os.truncate, path, 130)
os.truncate(path, len(before))
assert open("d.dat", "rb").read() == np.arange(24.0).tobytes()'
    # Stores to a mapped header have no effect, and do not damage the data after it.
    np '
path = m + "/rank0.npy"
before = open(path, "rb").read()
def store(at, value):
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as page:
        page[0:4] = b"####"
        page[at : at + len(value)] = value
        page.flush()
def wait_for(header): # the kernel drops the page soon
    for _ in range(3000):
        if open(path, "rb").read(128) == header:
            return
        time.sleep(0.01)
    raise SystemExit("the header stays wrong")
store(4, b"#")
wait_for(before[:128])
store(128, np.float64(7).tobytes())
wait_for(before[:128])
a = np.load(path)
assert a[0, 0] == 7 and a[0, 1] == 1
os.truncate("d.dat", 0)
time.sleep(0.3) # pages are kept if the file was not accessed for a moment
empty = open(path, "rb").read()
assert len(empty) == 128 and empty[:6] == before[:6]
store(4, b"#")
wait_for(empty)'
}

@test "npy: stores through a mapping (r+) reach the file" {
    mount_grid C
    np '
a = np.load(m + "/rank3.npy", mmap_mode="r+")
a[1, 2] = -1
a[0] += 1000
a.flush()
whole = np.arange(24.0).reshape(4, 6)
whole[3, 5] = -1
whole[2, 3:] += 1000
assert (np.fromfile("d.dat").reshape(4, 6) == whole).all()
assert (np.load(m + "/rank3.npy") == whole[2:, 3:]).all()
assert (np.fromfile(m + "/rank3").reshape(2, 3) == whole[2:, 3:]).all()'
}

@test "npy: numpy.save extends an empty file to its full size" {
    mpiio-mount -o npy,create --view 'darray 4x6 block,block on 2x2 of double' d.dat "$mnt"
    np '
whole = np.random.default_rng(1).random((4, 6))
assert np.load(m + "/rank0.npy").shape == (0,)
for rank in range(4):
    i, j = divmod(rank, 2)
    np.save(f"{m}/rank{rank}.npy", np.ascontiguousarray(whole[2 * i :, 3 * j :][:2, :3]))
assert (np.fromfile("d.dat").reshape(4, 6) == whole).all()
for rank in range(4):
    i, j = divmod(rank, 2)
    assert (np.load(f"{m}/rank{rank}.npy") == whole[2 * i :, 3 * j :][:2, :3]).all()'
}

@test "npy: append, truncate to more, fallocate and seek account for the header" {
    mount_new scatter -o npy
    np '
path = m + "/rank1.npy"
with open(path, "ab") as f:
    f.write(b"x" * 512)
assert np.load(path).shape == (1536,) and (np.load(path)[1024:] == ord("x")).all()
assert os.stat("s.dat").st_size == 4096 + 1024
os.truncate(path, 128 + 2048)
assert np.load(path).shape == (2048,) and np.load(path)[-1] == 0
f = os.open(path, os.O_RDWR)
os.posix_fallocate(f, 0, 100)
assert os.fstat(f).st_size == 128 + 2048
os.posix_fallocate(f, 100, 28 + 2560)
assert os.fstat(f).st_size == 128 + 2560 == os.stat(m + "/rank1").st_size + 128
assert os.lseek(f, 5, os.SEEK_DATA) == 5
assert os.lseek(f, 5, os.SEEK_HOLE) > 128
assert os.lseek(f, 0, os.SEEK_HOLE) == os.lseek(f, 130, os.SEEK_HOLE)
os.close(f)
os.truncate("s.dat", 0)
f = os.open(path, os.O_RDONLY)
assert os.lseek(f, 5, os.SEEK_HOLE) == 128 and os.fstat(f).st_size == 128
assert fails(os.lseek, f, 128, os.SEEK_DATA) == "ENXIO"'
}

@test "npy: O_TRUNC is ignored, ro gives EROFS, and unique changes nothing" {
    mount_new scatter -o npy,unique
    [ "$(stat_of writeback)" = false ]
    : >"$mnt/rank0.npy"
    cmp s.dat <(make_file again.dat 4096 && cat again.dat)
    np '
np.save(m + "/rank0.npy", np.full(1024, 3, "u1"))
assert (np.fromfile(m + "/rank0", "u1") == 3).all()'
    mpiio-umount "$mnt"
    mount_spec s.json -o npy,ro
    [ "$(stat -c %A "$mnt/rank0.npy" | tr -d r-)" = "" ]
    one_line 1 "*Read-only file system*" bash -c "echo x >'$mnt/rank0.npy'"
    gives 3072 np 'print(np.load(m + "/rank0.npy").sum())'
}

@test "npy: others' writes are seen at the next open, in header and data" {
    mount_new scatter -o npy
    np '
path = m + "/rank0.npy"
for step in range(20):
    with open(m + "/rank0", "r+b") as f:
        f.write(bytes([step]))
    assert np.load(path)[0] == step
    np.load(path, mmap_mode="r+")[1] = step + 100
    assert open(m + "/rank0", "rb").read(2) == bytes([step, step + 100])
    with open(m + "/rank0", "ab") as f:
        f.write(b"x" * 512)
    assert np.load(path).shape == (1024 + 512 * (step + 1),)'
}

@test "npy: a file in external32 is a native array, read and written" {
    np 'np.arange(24).astype(">i4").tofile("e.dat")'
    mpiio-mount -o npy --view 'darray 4x6 block,block on 2x2 of long order Fortran as external32' e.dat "$mnt"
    np '
whole = np.arange(24).reshape((4, 6), order="F")
a = np.load(m + "/rank3.npy", mmap_mode="r+")
assert a.dtype == "<i8" and a.shape == (2, 3) and (a == whole[2:, 3:]).all()
a *= -1000
a.flush()
new = np.asfortranarray(np.load(m + "/rank0.npy") + 7)
np.save(m + "/rank0.npy", new)
whole[2:, 3:] *= -1000
whole[:2, :3] += 7
assert (np.fromfile("e.dat", ">i4").reshape((4, 6), order="F") == whole).all()
f = os.open(m + "/rank0.npy", os.O_WRONLY)
assert fails(os.pwrite, f, (new + 2**40).tobytes(order="F"), 128) == "ERANGE"
os.close(f)
assert (np.fromfile("e.dat", ">i4").reshape((4, 6), order="F") == whole).all()'
}

@test "npy: a store through a mapping that finds no room belongs to the slice, too" {
    ram_disk 1m
    truncate -s 1m disk/x.dat
    fill_disk
    echo '{ "viewspec": 1, "file": "disk/x.dat", "ranks": 1, "view": { "etype": "int" } }' >x.json
    mount_spec x.json -o npy
    np '
f = os.open(m + "/rank0.npy", os.O_RDWR)
page = mmap.mmap(f, 0)
page[128 + 65536 : 128 + 65544] = b"twowords"
assert fails(page.flush) == "ENOSPC"
page.close()
for name, start in ("rank0", 0), ("rank0.npy", 128):
    assert open(f"{m}/{name}", "rb").read()[start:][65536:65544] == b"twowords"
assert open("disk/x.dat", "rb").read()[65536:65544] == bytes(8)
os.remove("disk/ballast")
with open(m + "/rank0", "r+b") as plain:
    os.fsync(plain)
assert open("disk/x.dat", "rb").read()[65536:65544] == b"twowords"
os.close(f)'
    mpiio-umount "$mnt"
}

@test "npy: slices with gaps are arrays of their type if the gaps are multiples of it" {
    doubles
    # A row of 6 in two parts between ghost cells, and types that no subarray can express.
    cat >d.json <<'END'
{ "viewspec": 1, "file": "d.dat", "ranks": 2,
  "views": {
    "halo": { "etype": "double", "disp": "24 * rank", "tiles": 1,
      "filetype": { "type": "contiguous", "count": 3 },
      "buftype": { "type": "hindexed", "blocklengths": [3], "displacements": [8] } },
    "wide": { "etype": "double", "disp": "24 * rank", "tiles": 1,
      "filetype": { "type": "contiguous", "count": 3 },
      "buftype": { "type": "resized", "lb": 0, "extent": 40,
                   "oldtype": { "type": "hindexed", "blocklengths": [3], "displacements": [8] } } },
    "shaped": { "etype": "double", "tiles": 1, "shape": [1, 5],
      "filetype": { "type": "contiguous", "count": 4 },
      "buftype": { "type": "vector", "count": 2, "blocklength": 2, "stride": 3 } } } }
END
    mount_spec d.json -o npy
    np '
for rank in range(2):
    part = [3.0 * rank + i for i in range(3)]
    a, b = (np.load(f"{m}/{name}/rank{rank}.npy") for name in ("halo", "wide"))
    assert a.dtype == "f8" and a.tolist() == [0.0] + part
    assert b.dtype == "f8" and b.tolist() == [0.0] + part + [0.0]
a = np.load(m + "/shaped/rank0.npy")
assert a.dtype == "f8" and a.tolist() == [[0, 1, 0, 2, 3]]'
}

@test "npy: random gaps, against a naive typemap" {
    local seed=${MPIIO_SEED:-$RANDOM}
    echo "MPIIO_SEED=$seed"
    /usr/bin/python3 "$top/tests/npy/gaps.py" make "$seed"
    mount_spec gaps.json -o npy
    /usr/bin/python3 "$top/tests/npy/gaps.py" check "$mnt" 3>&-
}
