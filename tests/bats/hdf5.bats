#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Specs and mounts of HDF5 datasets, compared with what h5py reads. Damaged files, and files in
# several parts.

load helper

@test "hdf5: datasets of HDF5 files are what h5py reads, by ranks, too" {
    more_than 150 from files hdf5 7 25
}

@test "hdf5: listing HDF5 does not search for chunks, and a variable only searches for its own" {
    py '
for count in 40, 16500:
    with h5py.File(f"{count}.h5", "w") as f:
        for name in "ab":
            f.create_dataset(name, data=np.arange(4 * count, dtype="f4").reshape(count, 4), chunks=(1, 4),
                             maxshape=(None, 4))'
    # reads FILE ARGUMENT...: prints the number of reads of the file that a spec or a listing takes.
    reads() {
        strace -f -qq -o calls -P "$1" -e trace=pread64 mpiio-view spec --from "$@" >out
        wc -l <calls
    }
    [ "$(reads 40.h5)" -lt 40 ]
    [ "$(reads 16500.h5)" -lt 40 ]
    [ "$(<out)" = $'a\tfloat\t16500x4\nb\tfloat\t16500x4' ]
    # No node of the chunk index is read more than four times, however many chunks it has.
    reads 16500.h5 --var b
    mv out b.json
    [ -z "$(grep -o '[0-9]*, [0-9]*) *= [0-9]*$' calls | sort | uniq -c | awk '$1 > 4')" ]
    [ "$(wc -l <calls)" -lt 2000 ]
    cmp <(mpiio-view cat b.json -r 0) <(py 'os.write(1, np.arange(66000, dtype="f4").tobytes())')
}

@test "hdf5: datasets of HDF5's subfiles are those of the file that was dealt to them" {
    more_than 40 from files subfiles 7 8
    py 'with h5py.File("data.h5", "w") as d:
    d["t"] = np.arange(600.0).reshape(20, 30)
    d["g/n"] = np.arange(7, dtype=">i4")'
    cp data.h5 want.h5
    from files stripes data.h5 300 3
    local config
    config=$(echo data.h5.subfile_*.config)
    mpiio-mount -o npy --from data.h5 'block,block on 2x2' "$mnt"
    cmp "$mnt/whole" want.h5
    py '
with h5py.File("want.h5", "r+") as want:
    for rank in range(4):
        i, j = divmod(rank, 2)
        got = np.load(f"mnt/t/rank{rank}.npy", mmap_mode="r+")
        assert (got == want["t"][10 * i:10 * i + 10, 15 * j:15 * j + 15]).all()
        if rank == 3:
            got[2] = -7
            got.flush()
    assert (np.load("mnt/g.n/rank1.npy") == want["g/n"]).all()
    want["t"][12, 15:] = -7'
    mpiio-umount "$mnt"
    cmp want.h5 <(mpiio-view spec --from "$config" --all |
        jq 'del(.views, .header) | .view = { "etype": "byte" } | .ranks = 1' >w.json && mpiio-view cat w.json -r 0)
    # The config of a copy has another inode number. Names may have characters of patterns.
    local copy
    for copy in data.h5*; do
        cp "$copy" "[1]$copy"
    done
    cmp <(mpiio-view spec --from data.h5 --var t | jq .view) <(mpiio-view spec --from '[1]data.h5' --var t | jq .view)
    # The spec is rejected if the config, or a header in any subfile, has changed.
    mpiio-view spec --from "$config" --var t >s.json
    mpiio-view cat s.json -r 0 >/dev/null
    cp "$config" c
    sed -i 's/^aggregator_count=3/aggregator_count=4/' "$config"
    one_line 1 "*$config*" mpiio-view cat s.json -r 0
    cp c "$config"
    py 'with h5py.File("want.h5") as d: print(h5py.h5o.get_info(d["t"].id).addr)' >address
    local at subfile
    at=$(<address)
    subfile=data.h5.subfile_$(stat -c %i data.h5)_$((at / 300 % 3 + 1))_of_3
    cp "$subfile" old
    printf '\377' | dd of="$subfile" bs=1 seek=$((at / 900 * 300 + at % 300 + 20)) conv=notrunc status=none
    one_line 1 "*$subfile*" mpiio-view cat s.json -r 0
    cp old "$subfile"
    mpiio-view cat s.json -r 0 >/dev/null
    # The config and the subfiles contradict each other.
    sed -i '$d' "$config"
    no_spec "$config: damaged config of HDF5 subfiles: it says 3 and names 2" data.h5
    sed -i 's/^stripe_size=.*/stripe_size=0/' "$config"
    no_spec "$config: damaged config of HDF5 subfiles at line 1" data.h5
    cp c "$config"
    rm "$subfile"
    no_spec "$subfile: No such file or directory" data.h5
}

@test "hdf5: a dataset that libhdf5 cannot open is listed with its reason, and the others as usual" {
    # One file has a message of an unknown version. The other has wrong checksums in the object
    # headers of a dataset and of a group. In both, a group links to itself, and two groups link to
    # one object.
    py '
for libver in "earliest", "latest":
    with h5py.File(libver + ".h5", "w", libver=libver) as f:
        for name in "a", "b/c", "b/d", "e":
            f[name] = np.arange(6)
        f["b/loop"], f["b/e"] = f["b"], f["e"]
        f["z/z"] = 1
        at = {name: h5py.h5o.get_info(f[name].id).addr for name in ("b/c", "z")}
    bytes = bytearray(open(libver + ".h5", "rb").read())
    if libver == "earliest":
        layout = bytes.index(b"\3\1", at["b/c"] + 16)
        bytes[layout] = 99
    else:
        bytes[at["b/c"] + 40] ^= 1
        bytes[at["z"] + 20] ^= 1
    open(libver + ".h5", "wb").write(bytes)'
    diff <(mpiio-view spec --from earliest.h5) - <<'LIST'
a	int64_t	6
b/c	-	-	not a view: libhdf5 cannot open it: bad version number for layout message
b/d	int64_t	6
b/e	int64_t	6
z/z	int64_t	-
LIST
    diff <(mpiio-view spec --from latest.h5) - <<'LIST'
a	int64_t	6
b/c	-	-	not a view: libhdf5 cannot open it: incorrect metadata checksum after all read attempts
b/d	int64_t	6
b/e	int64_t	6
z	-	-	not a view: libhdf5 cannot open it: incorrect metadata checksum after all read attempts
LIST
    mpiio-mount --from latest.h5 "$mnt" 2>err
    [ "$(grep -c 'not a view: libhdf5 cannot open it' err)" -eq 2 ]
    [ "$(names_in "$mnt")" = "a b.d b.e" ]
    mpiio-umount "$mnt"
}

@test "hdf5: datasets with values outside of the file are what h5py reads, by ranks, too" {
    more_than 150 from scattered 7 25
}

# scattered: makes a.h5, whose datasets mostly have values that are not in the file; want.npz, with
# their values; and before/, with copies of all files.
scattered() {
    py '
a = np.arange(48.0).reshape(8, 6)
with h5py.File("part.h5", "w") as f:
    f["v"] = -a[:4]
with h5py.File("a.h5", "w", userblock_size=512) as f:
    f["plain"] = a
    holes = f.create_dataset("holes", (8, 6), "f8", chunks=(3, 2), fillvalue=-1)
    holes[:4, 1:3] = a[:4, 1:3]
    f.create_dataset("unwritten", (8, 6), ">i2", fillvalue=7)
    f.create_dataset("external", data=a, external=[("x.bin", 8, 96), ("y.bin", 0, 288)])
    layout = h5py.VirtualLayout((8, 6), "f8")
    layout[1:5] = h5py.VirtualSource("part.h5", "v", (4, 6))
    layout[5:] = h5py.VirtualSource(".", "plain", (8, 6))[5:]
    f.create_virtual_dataset("virtual", layout, fillvalue=3)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b"compact", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((8, 6)), properties).write(
        h5py.h5s.ALL, h5py.h5s.ALL, a)
with h5py.File("a.h5") as f:
    np.savez("want", **{name: item[()] for name, item in f.items()})'
    mkdir before
    cp a.h5 part.h5 x.bin y.bin before
}

@test "hdf5: values in other files, and holes, are mounted; writes change these values alone" {
    scattered
    mpiio-mount -o npy --from a.h5 'block,block on 2x2' "$mnt"
    [ "$(names_in "$mnt")" = "compact external holes plain unwritten virtual whole" ]
    py '
for name, array in np.load("want.npz").items():
    for rank in range(4):
        i, j = divmod(rank, 2)
        got = np.load(f"mnt/{name}/rank{rank}.npy", mmap_mode="r")
        assert got.dtype == array.dtype.newbyteorder("="), (name, got.dtype)
        assert (got == array[4 * i:4 * i + 4, 3 * j:3 * j + 3]).all(), (name, rank)
def put(name, row, column, value):
    """Writes a value of rank 0."""
    slice = os.open(f"mnt/{name}/rank0", os.O_WRONLY)
    try:
        assert os.pwrite(slice, np.float64(value).tobytes(), 24 * row + 8 * column) == 8
        os.fsync(slice)
    except OSError as error:
        print(name, error.errno)
    os.close(slice)
put("holes", 0, 1, 100)
put("external", 1, 0, 101)
put("external", 3, 2, 102)
put("virtual", 2, 1, 103)
put("holes", 0, 2, 104)
put("virtual", 0, 0, 105)
put("compact", 0, 0, 106)' >errors
    mpiio-umount "$mnt"
    # All of a written chunk is writable. "compact" and the first row of "virtual" are holes, which
    # are not.
    [ "$(<errors)" = $'virtual 6\ncompact 6' ]
    py '
want = {name: array.copy() for name, array in np.load("want.npz").items()}
want["holes"][0, 1], want["external"][1, 0], want["external"][3, 2] = 100, 101, 102
want["virtual"][2, 1], want["holes"][0, 2] = 103, 104
with h5py.File("a.h5") as f:
    for name, array in want.items():
        assert (f[name][()] == array).all(), name
changed = 0
for name in "a.h5", "part.h5", "x.bin", "y.bin":
    now, before = (np.fromfile(folder + name, "u1") for folder in ("", "before/"))
    assert len(now) == len(before), name
    changed += len(np.unique(np.flatnonzero(now != before) // 8))
print(changed)' >changed
    [ "$(<changed)" -eq 5 ]
    # The spec has no members if all values of its variable lie in the file.
    [ "$(mpiio-view spec --from a.h5 --var plain | jq -c '[has("members"), (.file | split("/") | last)]')" = '[false,"a.h5"]' ]
}

@test "hdf5: other files that are missing, too short or changed are named" {
    scattered
    mpiio-view spec --from a.h5 --var virtual >v.json
    mpiio-view cat v.json -r 0 >want
    # A new spec reads a missing source as the fill value, as libhdf5 does. The old spec is rejected
    # if the source is missing, or if its header has changed.
    mv part.h5 gone.h5
    one_line 1 "*$tmp/part.h5*" mpiio-view cat v.json -r 0
    run -0 --separate-stderr mpiio-view spec --from a.h5 --var virtual
    [ "$stderr" = "mpiio-view: a.h5: virtual: v of part.h5 is missing: its values read as the fill value" ]
    cmp <(mpiio-view cat <(echo "$output") -r 0) <(py '
with h5py.File("a.h5") as f:
    os.write(1, f["virtual"][()].tobytes())')
    py '
with h5py.File("part.h5", "w") as f:
    f["v"] = np.zeros((4, 6), "f4")'
    one_line 1 "*$tmp/part.h5: its header is not the one that the spec was made from*" mpiio-view cat v.json -r 0
    no_spec "a.h5: virtual: not a view: v of part.h5 has another type" a.h5 --var virtual
    echo damaged >part.h5
    no_spec "a.h5: virtual: not a view: part.h5: libhdf5 cannot open it" a.h5 --var virtual
    mv gone.h5 part.h5
    cmp <(mpiio-view cat v.json -r 0) want
    truncate -s 280 y.bin
    no_spec "a.h5: external: not a view: y.bin is truncated: 280 bytes of at least 288" a.h5 --var external
    rm y.bin
    [ "$(mpiio-view spec --from a.h5 | grep external)" = $'external\t-\t8x6\tnot a view: y.bin: No such file or directory' ]
    py '
with h5py.File("b.h5", "w") as f:
    f.create_dataset("cut", data=np.zeros((4, 6)), external=[("c.bin", 0, 50), ("d.bin", 0, 500)])
    f.create_dataset("latin", data=np.zeros(6), external=[(b"\xe9.bin", 0, 48)])
    padded = np.zeros((4, 2), np.dtype("i1,f8", align=True))
    f.create_dataset("padded", data=padded, external=[("e.bin", 64, 64), ("e.bin", 0, 64)])
    f.create_dataset("twice", data=np.zeros((4, 2)), external=[("e.bin", 0, 32), ("e.bin", 0, 32)])
    properties, unlimited = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5s.UNLIMITED
    to, part = h5py.h5s.create_simple((0,), (unlimited,)), h5py.h5s.create_simple((4,))
    to.select_hyperslab((0,), (unlimited,), (4,), (4,))
    properties.set_virtual(to, b"%b.h5", b"v", part)
    h5py.h5d.create(f.id, b"numbered", h5py.h5t.NATIVE_DOUBLE, to, properties)'
    diff <(mpiio-view spec --from b.h5) - <<'LIST'
cut	-	4x6	not a view: its values lie in several files, which end inside of a row
latin	-	6	not a view: ?.bin: Invalid or incomplete multibyte or wide character
numbered	-	0	not a view: it is virtual, with numbered sources
padded	-	4x2	not a view: structures with gaps, in chunks that do not lie in the order of the array
twice	-	4x2	not a view: its parts lie between each other, or are the same
LIST
}

@test "hdf5: damaged files whose values are in other files are refused with one line" {
    scattered
    PYTHONPATH=$top/tests/from py '
from damage import damage, spec
whole = open("a.h5", "rb").read()
for i in range(60):
    open("a.h5", "wb").write(damage(whole, 520))
    assert spec("a.h5", "--all")[0] in (0, 2), i
# libhdf5 1.10 overruns an array if a selection has more than 32 dimensions.
bytes = bytearray(whole)
selection = whole.index(b"part.h5\0v\0") + 10
bytes[selection + 32] = 200
open("a.h5", "wb").write(bytes)'
    run -2 mpiio-view spec --from a.h5
    [ ${#lines[@]} -eq 1 ]
    [[ $output == "mpiio-view: a.h5: damaged HDF5 file: libhdf5 crashes on it ("*")" ]]
    # libhdf5 cannot open a dataset whose external file has no name. It used to crash at exit then.
    cp before/a.h5 a.h5
    py '
bytes = bytearray(open("a.h5", "rb").read())
bytes[bytes.index(np.array([8, 8, 96], "<i8").tobytes()) + 1] = 255
open("a.h5", "wb").write(bytes)'
    run -0 mpiio-view spec --from a.h5
    [[ $output == *$'external\t-\t-\tnot a view: libhdf5 cannot open it: '* ]]
    [ "$(grep -c -v 'not a view' <<<"$output")" -eq 5 ]
}

@test "hdf5: dimensions are called as their scales or labels, and xarray finds the coordinates" {
    py '
import netCDF4
with netCDF4.Dataset("ocean.nc", "w") as data:
    for name, size in ("time", None), ("y", 3), ("x", 4):
        data.createDimension(name, size)
    data.createVariable("time", "f8", ["time"])[:] = [10, 20]
    data.createVariable("x", "f4", ["x"])[:] = [1, 2, 3, 4]
    data.createVariable("temp", "f8", ["time", "y", "x"])[:] = np.arange(24).reshape(2, 3, 4)
with h5py.File("f.h5", "w") as data:
    def add(name, *labels):
        for d, label in enumerate(labels):
            data.create_dataset(name, data=np.zeros((2,) * len(labels))) if not d else None
            data[name].dims[d].label = label
    add("labels", "y", "x")
    add("one", "", "x")
    add("twice", "x", "x")
    add("no name", "y", "a b")
    data["group/row"] = np.arange(2)
    data["group/row"].make_scale()
    add("both", "y", "x")
    data["both"].dims[0].attach_scale(data["group/row"])
    # The path of a scale may be long.
    deep = "/".join(c * 60 for c in "abcde") + "/deep"
    data[deep] = np.arange(2)
    data[deep].make_scale()
    add("far", "")
    data["far"].dims[0].attach_scale(data[deep])
    # Another dataset takes the place of a scale that was removed.
    data["gone"] = np.arange(2)
    data["gone"].make_scale()
    add("stale", "")
    data["stale"].dims[0].attach_scale(data["gone"])
    del data["gone"]
    data["next"] = np.arange(2)
    # These attributes are none of dimension scales.
    for name, text in ("odd", "DIMENSION_LIST"), ("even", "DIMENSION_LABELS"):
        data[name] = np.zeros((2, 2))
        data[name].attrs[text] = np.arange(3.0)'
    mpiio-view spec --from f.h5 --all >s.json
    [ "$(jq -r '.views[] | "\(.name):\(.dims // [] | join(","))"' s.json | sort | paste -sd' ')" = \
        "both:row,x even: far:deep labels:y,x next: null: null:deep null:row odd: one: stale: twice:" ]
    mpiio-mount -o zarr --from ocean.nc "$mnt"
    py '
import xarray
store = xarray.open_zarr("mnt/zarr")
assert store.temp.dims == ("time", "y", "x") and sorted(store.coords) == ["time", "x"], store
assert store.temp.sel(time=20, x=3.0).values.tolist() == [14, 18, 22]'
}

@test "hdf5: a file that another program writes, and sources that are moved or truncated" {
    py '
import subprocess
with h5py.File("live.h5", "w") as data:
    data["v"] = np.arange(4)
    data.flush()
    done = subprocess.run(["mpiio-view", "spec", "--from", "live.h5"], capture_output=True, text=True)
    assert done.returncode == 2, done
    assert done.stderr == "mpiio-view: live.h5: damaged HDF5 file, or one that is being written\n", done
os.mkdir("old")
with h5py.File("old/s.h5", "w", userblock_size=512) as data:
    data["d"] = np.arange(4)
layout = h5py.VirtualLayout((4,), "i8")
layout[:] = h5py.VirtualSource(os.path.abspath("old/s.h5"), "d", (4,))
with h5py.File("old/v.h5", "w") as data:
    data.create_virtual_dataset("v", layout, fillvalue=-1)
os.rename("old", "new")'
    # libhdf5 looks for a source beside the file, too.
    mpiio-view spec --from new/v.h5 --var v >v.json
    [ "$(mpiio-view dump v.json -r 0 | paste -sd ' ')" = "0 1 2 3" ]
    truncate -s -8 new/s.h5
    run -2 mpiio-view spec --from new/v.h5 --var v
    echo "$output"
    [ "${#lines[@]}" -eq 1 ]
    # Ignored signals do not keep the file from being read.
    truncate -s +8 new/s.h5
    (trap '' CHLD && mpiio-view spec --from new/v.h5) | grep -q '^v'
}
