#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Files that describe themselves: specs and mounts of their variables, compared with the libraries
# of their formats.

load helper

# ocean: makes ocean.nc, netCDF classic: temp, 3 x 4 x 6 floats, and time, as records.
ocean() {
    /usr/bin/python3 "$top/tests/from/ocean.py"
}

@test "from: variables of netCDF files, arrays of .npy files and MITgcm's tiles are what their libraries read, by ranks, too" {
    more_than 300 from files netcdf 7 30
    # The header has no room for the size of a variable of more than 4 GiB, so it contains 2^32-1.
    ocean
    py '
whole = open("ocean.nc", "rb").read()
large = whole.replace(b"\0\0\0\5\0\0\0\x60", b"\0\0\0\5\xff\xff\xff\xff")
assert large != whole
open("large.nc", "wb").write(large)'
    cmp <(mpiio-view spec --from ocean.nc --var temp | jq .view) \
        <(mpiio-view spec --from large.nc --var temp | jq .view)
    more_than 80 from files npy 7 30
    more_than 60 from files mitgcm 7 12
}

@test "from: a mount has a folder for each variable, and the ranks' arrays" {
    py '
for kind in "NETCDF3_CLASSIC", "NETCDF4":
    with netCDF4.Dataset(kind + ".nc", "w", format=kind) as d:
        for name, length in ("time", None), ("lat", 5), ("lon", 7):
            d.createDimension(name, length)
        d.createVariable("temp", "f4", ("time", "lat", "lon"), contiguous=False,
                         chunksizes=(1, 5, 7))[:] = np.arange(105).reshape(3, 5, 7)
        d.createVariable("mask", "i1", ("lat", "lon"))[:] = np.arange(35).reshape(5, 7)
        d.createVariable("time", "f8", ("time",), contiguous=False, chunksizes=(4,))[:] = [1, 2, 4]
        d.createVariable("lat", "f8", ("lat",))[:] = np.arange(5) * 1.5
        d.createVariable("depth", "i4", ())[...] = 17'
    # In netCDF-4, temp has chunks.
    local kind words
    for kind in NETCDF3_CLASSIC NETCDF4; do
        words='none,block,cyclic on 2x2'
        [ $kind = NETCDF3_CLASSIC ] || words='none,block,block on 2x2'
        mpiio-mount -o npy --from $kind.nc "$words" "$mnt"
        run -0 from files mount $kind.nc "$mnt" "$words"
        [ "$output" -eq 20 ]
        mpiio-umount "$mnt"
    done
    # Without a decomposition there is one rank. With -n there are that many, and each has all.
    mpiio-mount -n 3 --from NETCDF3_CLASSIC.nc "$mnt"
    [ "$(names_in "$mnt/temp")" = "rank0 rank1 rank2" ]
    cmp "$mnt/temp/rank0" "$mnt/temp/rank2"
    [ "$(stat -c %s "$mnt/temp/rank0")" -eq 420 ]
    jq -e '.views.temp.tiles == 1 and .header[0].at == 0' "$mnt/.mpiio/spec.json"
}

@test "from: writes to a slice change its variable, and nothing else" {
    ocean
    cp ocean.nc before.nc
    mpiio-mount -o npy --from ocean.nc 'none,block,block on 2x2' "$mnt"
    py '
a = np.load("mnt/temp/rank3.npy", mmap_mode="r+")
a[1] = -7
a.flush()
os.truncate("mnt/time/rank0", 24)
slice = os.open("mnt/time/rank0", os.O_WRONLY)
assert os.pwrite(slice, np.array([2.5]).tobytes(), 16) == 8
try:
    os.pwrite(slice, bytes(8), 24)
except OSError as error:
    print(error.errno)
os.close(slice)' >errors
    [ "$(cat errors)" = 27 ]
    mpiio-umount "$mnt"
    py '
with netCDF4.Dataset("before.nc") as before, netCDF4.Dataset("ocean.nc") as now:
    temp, time = before["temp"][:], before["time"][:]
    temp[1, 2:, 3:] = -7
    time[2] = 2.5
    assert (now["temp"][:] == temp).all() and (now["time"][:] == time).all()'
    [ "$(stat -c %s ocean.nc)" -eq "$(stat -c %s before.nc)" ]
}

@test "from: a spec of a file whose header has changed is refused" {
    ocean
    mpiio-view spec --from ocean.nc --var temp >temp.json
    mpiio-view cat temp.json -r 0 >/dev/null
    [ "$(jq -r '.header[0].crc32' temp.json)" = \
        "$(py 'import zlib; print("%08x" % zlib.crc32(open("ocean.nc", "rb").read(148)))')" ]
    # Values may change, and so may bytes after the variable.
    printf x | dd of=ocean.nc bs=1 seek=$(($(stat -c %s ocean.nc) - 1)) conv=notrunc status=none
    mpiio-view check temp.json >/dev/null
    cp ocean.nc other.nc
    mpiio-view cat temp.json -f other.nc -r 0 >/dev/null
    printf '\4' | dd of=other.nc bs=1 seek=7 conv=notrunc status=none
    local why="its header is not the one that the spec was made from (mpiio-view spec --from makes a new spec)"
    local command
    for command in check "map -r 0" "cat -r 0" "owner 200"; do
        # shellcheck disable=SC2086 # words
        set -- $command
        fails 1 "$tmp/other.nc: $why" mpiio-view "$1" temp.json -f other.nc "${@:2}"
    done
    complains 1 "mpiio-mount: $tmp/other.nc: $why" mpiio-mount -f other.nc temp.json "$mnt"
    truncate -s 20 other.nc
    fails 1 "$tmp/other.nc: $why" mpiio-view check temp.json -f other.nc
    # The spec itself can be printed. With another data representation it would describe another
    # file.
    mpiio-view spec temp.json -f other.nc | jq -e .header
    mpiio-view convert temp.json --to native -o native.dat --spec native.json
    jq -e 'has("header") | not' native.json
    cmp <(mpiio-view cat temp.json -r 0) <(mpiio-view cat native.json -r 0)
    # For HDF5, the dataset's header counts.
    py '
with h5py.File("a.h5", "w") as f:
    f["v"] = np.arange(10)
    f["w"] = np.arange(10)'
    mpiio-view spec --from a.h5 --var v >v.json
    py '
with h5py.File("a.h5", "r+") as f:
    f["v"][3] = 5'
    mpiio-view check v.json >/dev/null
    py '
with h5py.File("a.h5", "r+") as f:
    del f["v"]
    f["v"] = np.arange(20)'
    run -1 mpiio-view check v.json
}

@test "from: what cannot be a view is listed with the reason, and left out of a mount" {
    py '
with h5py.File("a.h5", "w") as f:
    f["a good one"] = np.arange(4)
    f["rank0"] = f["self"] = 1.5
    f["a/b"], f["a.b"] = 1, 2
    f.create_dataset("zip", data=np.arange(100), chunks=(10,), compression="gzip", shuffle=True)
    f.create_dataset("words", data=["a", "bb"], dtype=h5py.string_dtype())
    f.create_dataset("columns", data=np.zeros((4, 4)), chunks=(2, 2))
    f.create_dataset("padded", data=np.zeros((4, 4), np.dtype("i1,f8", align=True)), chunks=(2, 2))
    f.create_dataset("holes", shape=(10,), chunks=(2,), dtype="i4")
    f.create_dataset("unwritten", shape=(10,), dtype="i4")
    f["orders"] = np.zeros(3, [("a", ">i4"), ("b", "<i4")])
    f["opaque"] = np.void(b"abc")
    f["reference"] = f["rank0"].ref
    f["nothing"] = h5py.Empty("f4")
    f["empty"] = np.zeros((0, 3))
    f["again"], f["a/loop"] = h5py.SoftLink("/rank0"), f["/"]'
    mpiio-view spec --from a.h5 | sort >list
    diff list - <<'LIST'
a good one	int64_t	4
a.b	int64_t	-
a/b	int64_t	-
columns	double	4x4
empty	double	0x3
holes	int32_t	10
nothing	-	-	not a view: it has no values
opaque	-	-	not a view: values without a type (opaque)
orders	-	3	not a view: values of both byte orders
padded	-	4x4	not a view: structures with gaps, in chunks that do not lie in the order of the array
rank0	double	-
reference	-	-	not a view: references
self	double	-
unwritten	int32_t	10
words	-	2	not a view: strings of variable length
zip	-	100	not a view: chunks are filtered (shuffle, deflate)
LIST
    run -0 --separate-stderr mpiio-mount --from a.h5 "$mnt"
    [ "$(wc -l <<<"$stderr")" -eq 7 ]
    [[ $stderr == *"mpiio-mount: a.h5: zip: not a view: chunks are filtered (shuffle, deflate)"* ]]
    [ "$(names_in "$mnt")" = "_rank0 _self a.b a.b-2 a_good_one columns empty holes unwritten whole" ]
    [ "$(stat -c %s "$mnt/empty/rank0")" -eq 0 ]
    no_spec "a.h5: zip: not a view: chunks are filtered (shuffle, deflate)" a.h5 --var zip
    no_spec "a.h5: no variable nope (mpiio-view spec --from lists them)" a.h5 --var nope
}

@test "from: a name that needs no change stays, and changed names have numbers" {
    py '
with h5py.File("n.h5", "w") as f:
    for number, name in enumerate(["a b", "a+b", "a_b", "a_b-2", "g/x", "g.x", "z"]):
        f[name] = np.full(3, number)'
    mpiio-mount -o npy --from n.h5 "$mnt"
    [ "$(names_in "$mnt")" = "a_b a_b-2 a_b-3 a_b-4 g.x g.x-2 z" ]
    py '
want = {"a_b": 2, "a_b-2": 3, "a_b-3": 1, "a_b-4": 0, "g.x": 5, "g.x-2": 4, "z": 6}
changed = {"a_b-3", "a_b-4"}
got = {name: np.load(f"mnt/{name}/rank0.npy")[0] for name in want}
assert {got.pop(name) for name in changed} == {0, 1}
assert all(want[name] == number for name, number in got.items()), got'
    mpiio-umount "$mnt"
}

@test "from: HDF5 datasets also have the names of their links" {
    py '
with h5py.File("l.h5", "w") as f:
    f["g/v"] = np.arange(5)
    f["hard"] = f["g/v"]
    f["group"] = f["g"]
    f["g/up"] = f["/"]
    f["soft"] = h5py.SoftLink("/g/v")
    f["to"] = h5py.SoftLink("group")
    f["g/near"] = h5py.SoftLink("v")
    f["twice"] = h5py.SoftLink("soft")
    f["circle"] = h5py.SoftLink("circle2")
    f["circle2"] = h5py.SoftLink("circle")
    f["dangling"] = h5py.SoftLink("/nothing")
    f["g/out"] = h5py.ExternalLink("other.h5", "/x/y")'
    mpiio-view spec --from l.h5 | sort >list
    diff list - <<'LIST'
g/out	-	-	not a view: an external link to /x/y in other.h5 (give that file to --from)
g/v	int64_t	5
LIST
    mpiio-view spec --from l.h5 --var g/v >want
    local name names=(hard group/v g/up/g/v soft to/v g/near to/near twice /g/v /to/up/hard g/up/to/up/twice)
    for name in "${names[@]}"; do
        mpiio-view spec --from l.h5 --var "$name" | cmp - want
    done
    py "assert [h5py.File('l.h5')[name][2] for name in '${names[*]}'.split()] == [2] * ${#names[@]}"
    for name in dangling circle circle2 harder to/vv g group to; do
        no_spec "l.h5: no variable $name (mpiio-view spec --from lists them)" l.h5 --var "$name"
    done
    for name in g/out to/out; do
        no_spec "l.h5: $name: not a view: an external link to /x/y in other.h5 (give that file to --from)" \
            l.h5 --var "$name"
    done
}

@test "from: an array is not divided in an impossible way, nor are records or chunks" {
    ocean
    no_spec "DECOMPOSITION:1:1: expected block, cyclic or none, found 'blob'" ocean.nc --var temp 'blob'
    no_spec "DECOMPOSITION: temp has 3 dimensions, and the decomposition 2" \
        ocean.nc --var temp 'block,block on 2x2'
    no_spec "DECOMPOSITION: a grid of 4 ranks for 3" ocean.nc --var temp -n 3 'none,block,block on 2x2'
    no_spec "DECOMPOSITION: only the distribution and the ranks can be said (... on ...)" \
        ocean.nc --var time 'block on 2 at 5'
    no_spec "ocean.nc: several variables (choose with --var NAME, or take --all)" ocean.nc none
    misused "-f: not an option with --from" spec --from ocean.nc -f ocean.nc
    # A single dimension is divided among the ranks of -n.
    mpiio-view spec --from ocean.nc --var time -n 3 cyclic >time.json
    [ "$(mpiio-view dump time.json -r 2)" = 1.0 ]
    complains 2 "mpiio-mount: DECOMPOSITION: no variable has 2 dimensions, and the decomposition 2" \
        mpiio-mount --from ocean.nc 'block,block on 2x2' "$mnt"
    py '
with h5py.File("a.h5", "w") as f:
    f.create_dataset("chunks", data=np.zeros((4, 4)), chunks=(2, 4))
    f["plain"] = np.zeros((4, 4))'
    no_spec "ocean.nc: time: the decomposition does not fit: 2 blocks of 1 do not cover 3 elements" \
        ocean.nc --var time 'block(1) on 2'
    no_spec "a.h5: chunks: the decomposition does not fit: 2 blocks of 1 do not cover 4 elements" \
        a.h5 --var chunks 'block(1),none on 2'
    no_spec "ocean.nc: temp: the decomposition does not fit: 1 blocks of 2 do not cover 3 elements" \
        ocean.nc --var temp 'block(2),block,none on 1x2'
    mpiio-view spec --from ocean.nc --var time 'block(2) on 2' >time.json
    [ "$(mpiio-view dump time.json -r 1)" = 1.0 ]
    run -0 --separate-stderr mpiio-view spec --from a.h5 --all 'cyclic,none on 2'
    [ "$stderr" = "mpiio-view: a.h5: chunks: the decomposition does not fit: a variable in chunks cannot be distributed cyclically" ]
    [ "$(jq -c '.views | keys' <<<"$output")" = '["plain"]' ]
}

@test "from: a variable that does not fit the decomposition is named, and left out of a mount" {
    py '
with netCDF4.Dataset("grid.nc", "w", format="NETCDF3_CLASSIC") as data:
    for name, length in dict(y=8, edge=9, x=6).items():
        data.createDimension(name, length)
    data.createVariable("t", "f8", ("y", "x"))[:] = np.arange(48).reshape(8, 6)
    data.createVariable("v", "f8", ("edge", "x"))[:] = 2'
    no_spec "grid.nc: v: the decomposition does not fit: 2 blocks of 4 do not cover 9 elements" \
        grid.nc --var v 'block(4),none on 2'
    mpiio-mount -o npy --from grid.nc 'block(4),none on 2' "$mnt" 2>err
    [ "$(<err)" = "mpiio-mount: grid.nc: v: the decomposition does not fit: 2 blocks of 4 do not cover 9 elements" ]
    [ "$(ls "$mnt")" = t ]
    py 'assert (np.load("mnt/t/rank1.npy") == np.arange(24, 48.0).reshape(4, 6)).all()'
    mpiio-umount "$mnt"
    # All variables can be divided into blocks that are as even as possible.
    mpiio-mount --from grid.nc 'block,none on 2' "$mnt"
    [ "$(stat -c %s "$mnt/v/rank0" "$mnt/v/rank1")" = $'240\n192' ]
    mpiio-umount "$mnt"
}

@test "from: a decomposition or a type takes the file's only variable" {
    py '
np.save("a.npy", np.arange(12.0).reshape(6, 2))
with h5py.File("one.h5", "w") as f:
    f.create_dataset("a/x", data=np.arange(12.0).reshape(6, 2), chunks=(2, 2))
with h5py.File("zip.h5", "w") as f:
    f.create_dataset("x", data=np.arange(100), chunks=(10,), compression="gzip")
h5py.File("none.h5", "w").close()
open("r.dat", "wb").write(struct.pack("<i", 48) + np.arange(6.0).tobytes() + struct.pack("<i", 48))'
    for file in a.npy one.h5; do
        mpiio-view spec --from $file 'block,none on 2' >a.json
        [ "$(mpiio-view dump a.json -r 1 | tr '\n' ' ')" = '6.0 7.0 8.0 9.0 10.0 11.0 ' ]
    done
    cmp <(mpiio-view spec --from one.h5 block,none -n 2) \
        <(mpiio-view spec --from one.h5 --var a/x block,none -n 2)
    mpiio-view spec --from r.dat --type double >r.json
    [ "$(mpiio-view dump r.json -r 0 | tail -n 1)" = 5.0 ]
    no_spec "zip.h5: x: not a view: chunks are filtered (deflate)" zip.h5 block -n 2
    no_spec "none.h5: no variable that can be a view" none.h5 block -n 2
}

@test "from: damaged files are refused with one line" {
    ocean
    PYTHONPATH=$top/tests/from py '
from damage import damage, dice, spec
mark = struct.pack("<i", 40)
open("f.dat", "wb").write(b"".join(mark + bytes([i]) * 40 + mark for i in range(4)))
np.save("a.npy", np.zeros((3, 4), [("a", "i1"), ("b", "f8")]))
with h5py.File("a.h5", "w", libver="latest") as f:
    f["v"] = np.arange(10)
    f.create_dataset("g/w", data=np.zeros((4, 4)), chunks=(2, 4))
for path, header in ("ocean.nc", 140), ("a.npy", 128), ("a.h5", 48), ("f.dat", 48):
    whole = open(path, "rb").read()
    for cut in [1, 3, 4, 7, 10] + [dice.randrange(header) for i in range(8)]:
        open("cut", "wb").write(whole[:cut])
        status, lines = spec("cut", "--all")
        assert status == 2 and len(lines) == 1, (path, cut, lines)
    for i in range(15):
        open("changed", "wb").write(damage(whole))
        spec("changed", "--all")'
    truncate -s 0 empty
    no_spec "empty: not a file that describes itself (netCDF classic, HDF5 and its subfiles, .npy, MITgcm's .meta, FITS, VTK, NRRD, MetaImage, ENVI, BOV, Fortran records)" \
        empty
    no_spec ".: not a regular file" .
    head -c 100 ocean.nc >short.nc
    no_spec "short.nc: damaged netCDF header at byte 100: the file ends in the header" short.nc
}

@test "from: a variable past the end of a truncated file is not a view" {
    py 'np.save("a.npy", np.arange(100.)); np.zeros(23, ">f4").tofile("m.data")'
    echo "nDims = [ 1 ]; dimList = [ 24, 1, 24 ]; dataprec = [ 'float32' ];" >m.meta
    no_spec "m.meta: m: not a view: m.data is truncated: 92 bytes of at least 96 (truncate -s adds zeros)" \
        m.meta --var m
    truncate -s -1 a.npy
    no_spec "a.npy: a: not a view: the file is truncated: 927 bytes of at least 928 (truncate -s adds zeros)" \
        a.npy --var a
}

@test "from: netCDF variables of a truncated file end in zeros, as the library reads them" {
    local size cut
    ocean
    size=$(stat -c %s ocean.nc)
    for cut in 1 8 100 300; do
        ocean
        truncate -s -$cut ocean.nc
        run -0 --separate-stderr mpiio-view spec --from ocean.nc
        [ "$stderr" = "mpiio-view: ocean.nc: the file is truncated: bytes $((size - cut)) to $((size - 1)) read as zeros (truncate -s $size lets them be written)" ]
        mpiio-mount -o npy --from ocean.nc "$mnt" 2>err
        grep -q 'mpiio-mount: ocean.nc: the file is truncated' err
        py '
with netCDF4.Dataset("ocean.nc") as data:
    data.set_auto_mask(False)
    for name in "temp", "time":
        got = np.load(f"mnt/{name}/rank0.npy")
        assert (got == data[name][:]).all() and got.shape == data[name].shape, name'
        mpiio-umount "$mnt"
    done
}

@test "from: MITgcm's .meta describes the .data file beside it" {
    mkdir run
    cat >run/T.0000000010.meta <<'META'
 nDims = [   2 ];
 dimList = [
     6,    1,    6,
     4,    1,    4
 ];
 dataprec = [ 'float32' ];
 nrecords = [     2 ];
 timeInterval = [  1.0E+00 -2.0E+00 ];
 nFlds = [    2 ];
 fldList = {
 'ETAN    ' 'THETA   '
 };
META
    py 'np.arange(48, dtype=">f4").tofile("run/T.0000000010.data")'
    [ "$(mpiio-view spec --from run/T.0000000010.meta)" = $'ETAN\tfloat\t4x6\nTHETA\tfloat\t4x6' ]
    mpiio-mount -o npy --from run/T.0000000010.meta 'block,block on 2x2' "$mnt"
    py '
whole = np.arange(24, 48.0).reshape(4, 6)
for rank in range(4):
    i, j = divmod(rank, 2)
    assert (np.load(f"mnt/THETA/rank{rank}.npy") == whole[2 * i:2 * i + 2, 3 * j:3 * j + 3]).all()'
    mpiio-umount "$mnt"
    sed -i 's/ 4,    1,    4/ 4,    1,    2/' run/T.0000000010.meta
    mpiio-view spec --from run/T.0000000010.meta | grep -q "ETAN.*not a view: the file has a part"
    sed -i 's/float32/float16/' run/T.0000000010.meta
    run -2 mpiio-view spec --from run/T.0000000010.meta
    [[ $output == "mpiio-view: run/T.0000000010.meta: damaged .meta file at byte "*": dataprec (or format) is neither float32 nor float64" ]]
}

@test "from: MITgcm's tiles are mounted as one array, and can be written" {
    mkdir run
    # Tiles in a grid, and in other layouts.
    from files tiles run/T.0000000010 0:4,0:2 0:4,2:4 4:6,0:2 4:6,2:4
    from files tiles run/U.0000000010 0:4,0:1 0:4,1:4 4:6,0:2 4:6,2:4
    # Files of another time step, and one that lacks a tile.
    cp run/T.0000000010.001.001.meta run/T.0000000020.001.001.meta
    cp run/T.0000000010.001.001.meta run/T.0000000010.001.01.meta
    local name
    for name in T U; do
        mpiio-mount -o npy --from run/$name.0000000010.003.001.meta 'block,block on 2x2' "$mnt"
        cmp "$mnt/whole" whole.dat
        [ "$(names_in "$mnt")" = "ETAN _whole whole" ]
        py '
array = np.fromfile("whole.dat", ">f4").reshape(2, 4, 6)
for name, part in zip(("ETAN", "_whole"), array):
    for rank in range(4):
        i, j = divmod(rank, 2)
        got = np.load(f"mnt/{name}/rank{rank}.npy", mmap_mode="r+")
        assert (got == part[2 * i:2 * i + 2, 3 * j:3 * j + 3]).all(), (name, rank)
        if name == "_whole" and rank == 3:
            got[1] = -7
            got.flush()'
        mpiio-umount "$mnt"
    done
    # x is 4 to 6, y is 2 to 4.
    py '
for name in "TU":
    tile = np.fromfile(f"run/{name}.0000000010.004.001.data", ">f4").reshape(2, 2, 2)
    assert (tile[1, 1] == -7).all() and (tile[0] >= 0).all() and (tile[1, 0] >= 0).all()'
    no_spec "T.0000000010: No such file or directory" T.0000000010
}

@test "from: MITgcm's tiles that do not fit together are refused" {
    local tile=T.0000000010.002.001
    from files tiles T.0000000010 0:3,0:2 3:6,0:2 0:6,2:4
    mpiio-view spec --from T.0000000010 --all >s.json
    mpiio-view cat s.json -v ETAN -r 0 >/dev/null
    # The spec is refused if data files are missing, or if a .meta file has changed.
    cp $tile.data data
    truncate -s 40 $tile.data
    fails 1 "s.json:3:3: /members: member 1, $tmp/$tile.data: too short: it has 40 bytes of data and should have 48 (missing=zero reads zeros instead)" \
        mpiio-view cat s.json -v ETAN -r 0
    rm $tile.data
    complains 1 "mpiio-mount: ./T.0000000010: /members: member 1, $tmp/./$tile.data: no such file (missing=zero reads zeros instead)" \
        mpiio-mount --from ./T.0000000010 "$mnt"
    cp data $tile.data
    cp $tile.meta good
    sed -i 's/ 6,    4,    6/ 6,    3,    6/' $tile.meta
    fails 1 "$tmp/$tile.meta: its header is not the one that the spec was made from (mpiio-view spec --from makes a new spec)" \
        mpiio-view cat s.json -v ETAN -r 0
    no_spec "./$tile.meta: its values overlap those of ./T.0000000010.001.001.meta" ./T.0000000010
    sed 's/ 6,    4,    6/ 7,    4,    6/' good >$tile.meta
    no_spec "$tile.meta: its array is not that of T.0000000010.001.001.meta" T.0000000010
    sed 's/ETAN/ETA /' good >$tile.meta
    no_spec "$tile.meta: its array is not that of T.0000000010.001.001.meta" T.0000000010
    echo 'dimList' >$tile.meta
    one_line 2 "mpiio-view: $tile.meta: damaged .meta file at byte *" mpiio-view spec --from T.0000000010
    rm $tile.meta
    no_spec "T.0000000010: tiles are missing: the 2 that exist have 36 of 48 values" T.0000000010 --all
}

@test "from: a mount with an engine, and a spec from a pipe" {
    ocean
    mpiio-mount -o store=mpiio --from ocean.nc 'none,block,block on 2x2' "$mnt" 3>&-
    [ "$(mpiio-view spec --from ocean.nc --all 'none,block,block on 2x2' | jq .views)" = \
        "$(jq .views "$mnt/.mpiio/spec.json")" ]
    [ "$(stat -c %s "$mnt/temp/rank3")" -eq 72 ]
    mpiio-umount "$mnt"
    # The spec beside the file has been removed.
    [ "$(find . -name '.ocean*')" = "" ]
    run -2 mpiio-mount -o store=mpiio --from ocean.nc 'none,blob' "$mnt"
    [ "$(find . -name '.ocean*')" = "" ]
    mpiio-mount <(mpiio-view spec --from ocean.nc --var temp) "$mnt"
    [ "$(stat -c %s "$mnt/rank0")" -eq 288 ]
}

# others_folder: makes theirs/ocean.nc in another user's directory. Only this test's user may read
# secret.
others_folder() {
    ocean
    user_folder theirs
    mv ocean.nc theirs
    mkdir commands
    echo precious >secret
    chmod 600 secret
}

@test "from: no name that the directory's owner creates first redirects the spec of several nodes" {
    others_folder
    executable commands/mktemp <<END
name=\$($(type -P mktemp) "\$@")
if [[ \$name == theirs/* ]]; then
    setpriv --reuid nobody --regid nogroup --clear-groups ln -sf "$tmp/secret" "\$name"
fi
echo "\$name"
END
    PATH=$tmp/commands:$PATH run -1 mpiio-mount -o store=mpiio --from theirs/ocean.nc \
        'none,block,block on 2x2' "$mnt"
    [ "$(cat secret)" = precious ]
    [[ $output == *"theirs: no file can be created there, and the nodes need a spec beside the file" ]]
}

@test "from: nodes refuse a spec that the directory's owner has replaced" {
    others_folder
    executable commands/launcher <<END
spec=\$(ls theirs/.ocean*.json)
echo '{ "viewspec": 1, "file": "$tmp/secret", "ranks": 1, "view": {} }' >other.json
setpriv --reuid nobody --regid nogroup --clear-groups mv -f "\$spec" theirs/old
setpriv --reuid nobody --regid nogroup --clear-groups cp other.json "\$spec"
exec $(mpich_mpiexec) "\$@"
END
    MPIIO_MPIEXEC=$tmp/commands/launcher one_line 2 "mpiio-mount: *: theirs/ocean.nc: the spec was changed before it was mounted (mount again)" \
        mpiio-mount -o store=mpiio --from theirs/ocean.nc 'none,block,block on 2x2' "$mnt"
    run ! is_mounted
}
