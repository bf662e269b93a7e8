#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Sets of netCDF files that the processes of a model wrote, and fill values of holes.

load helper
load nodes

@test "sets: whole variables are what the tiles were cut from, by ranks, too" {
    more_than 600 from sets random 11 60
}

@test "sets: a mount shows whole variables, and writes reach the tiles" {
    local model name
    for model in fms nemo mitgcm roms wrf; do
        from sets write $model $model
    done
    for name in fms.nc nemo.nc mitgcm.0000000000 roms.nc wrf_2000-01-24_12:00:00; do
        mpiio-mount -o npy --from "$name" 'none,block,block on 4x1' "$mnt"
        py '
whole = np.arange(144, dtype="f4").reshape(3, 8, 6)
for rank in range(4):
    got = np.load(f"mnt/temp/rank{rank}.npy", mmap_mode="r+")
    assert (got == whole[:, 2 * rank:2 * rank + 2]).all(), rank
    if rank == 2:
        got[1, 0] = -7
        got.flush()'
        mpiio-umount "$mnt"
    done
    # Row 4 is the first row of the third tile and of the fourth.
    py '
import glob
for pattern in "fms.nc.000[23]", "nemo_000[23].nc", "mitgcm*t00[34].nc", "roms.0[23].nc", "wrf*000[23]":
    files = sorted(glob.glob(pattern))
    assert len(files) == 2, files
    for at, name in enumerate(files):
        want = np.arange(144, dtype="f4").reshape(3, 8, 6)
        want[1, 4] = -7
        with netCDF4.Dataset(name) as data:
            data.set_auto_mask(False)
            got = data["temp"][:]
            own = slice(at and got.shape[2] - 3, None if at else 3)
            assert (got[:, -4:][..., own] == want[:, 4:, 3 * at:3 * at + 3]).all(), name'
}

@test "sets: missing tiles read as fill values, and are counted" {
    from sets write fms ocean
    rm ocean.nc.0001
    run -0 --separate-stderr mpiio-view spec --from ocean.nc
    # shellcheck disable=SC2154 # run sets it
    [ "$stderr" = "mpiio-view: ocean.nc.0000: tiles are missing: the 3 that exist have 108 of 144 values of temp; the others read as its fill value" ]
    [ "${lines[0]%%$'\t'*}" = yh ]
    mpiio-mount -o npy --from ocean.nc.0002 'none,none,block on 2' "$mnt" 2>err
    grep -q "mpiio-mount: ocean.nc.0002: tiles are missing" err
    np '
want = np.arange(144, dtype="f4").reshape(3, 8, 6)
want[:, :4, 3:] = -1e34
for rank in range(2):
    assert (np.load(f"mnt/temp/rank{rank}.npy") == want[:, :, 3 * rank:3 * rank + 3]).all()
assert (np.load("mnt/xh/rank0.npy") == np.arange(6) * 0.5).all()
# lseek must not report holes that read as other values than zero.
slice = os.open("mnt/temp/rank1", os.O_RDONLY)
assert os.lseek(slice, 0, os.SEEK_HOLE) == 3 * 8 * 3 * 4
os.close(slice)
slice = os.open("mnt/temp/rank1", os.O_WRONLY)
assert fails(os.pwrite, slice, bytes(4), 0) == "ENXIO"'
    mpiio-umount "$mnt"
    # The user's value applies to all variables, which must have one type.
    mpiio-view spec --from ocean.nc --var temp 2>/dev/null >temp.json
    [ "$(mpiio-view dump temp.json -r 0 --missing -5 --offset 12 --length 4)" = -5.0 ]
    [ "$(mpiio-view dump temp.json -r 0 --missing nan --offset 12 --length 4)" = nan ]
    mpiio-view spec --from ocean.nc --all 2>/dev/null >all.json
    fails 1 "all.json:3:3: /members: missing=-5: the views differ in type, representation or alignment" \
        mpiio-view cat all.json -v temp -r 0 --missing -5
}

@test "sets: files that are not a set are refused, or read one by one" {
    from sets write fms ocean
    from sets write nemo other
    cp other_0000.nc ocean.nc.0007
    no_spec "ocean.nc.0007: not of the set of ocean.nc.0000: its dimensions differ" ocean.nc
    cp ocean.nc.0002 ocean.nc.0007
    no_spec "ocean.nc.0007: it has the same position as ocean.nc.0002" ocean.nc
    head -c 100 ocean.nc.0002 >ocean.nc.0007
    no_spec "ocean.nc.0007: damaged netCDF header at byte 100: the file ends in the header" ocean.nc
    echo text >ocean.nc.0007
    no_spec "ocean.nc.0007: not a file of netCDF's classic formats" ocean.nc
    rm ocean.nc.0007
    from sets write roms grid
    cp grid.01.nc tile
    py '
with netCDF4.Dataset("grid.01.nc", "a") as data:
    data.partition = data.partition + np.array([0, 0, 1, 0], "i4")'
    no_spec "grid.01.nc: not of the set of grid.00.nc: it is a tile of another grid" grid.nc
    cp tile grid.01.nc
    py '
with netCDF4.Dataset("grid.01.nc", "a") as data:
    data.partition = data.partition * np.array([9, 1, 1, 1], "i4")'
    one_line 2 "mpiio-view: grid.01.nc: *" mpiio-view spec --from grid.nc
    # A tile has changed, or is too short.
    mpiio-view spec --from ocean.nc --var temp >temp.json
    cp ocean.nc.0003 good
    py '
with netCDF4.Dataset("ocean.nc.0003", "a") as data:
    data.history = "changed"'
    fails 1 "$tmp/ocean.nc.0003: its header is not the one that the spec was made from (mpiio-view spec --from makes a new spec)" \
        mpiio-view cat temp.json -r 0
    cp good ocean.nc.0003
    truncate -s -8 ocean.nc.0003
    one_line 1 "*ocean.nc.0003: too short: it has * (missing=zero reads zeros instead)" mpiio-view cat temp.json -r 0
    cp good ocean.nc.0003
    # A tile without a number in its name is read alone, and so is a numbered file that is not a
    # tile.
    cp ocean.nc.0003 alone.nc
    [ "$(mpiio-view spec --from alone.nc | grep temp)" = $'temp\tfloat\t3x4x3' ]
    py '
for year in 2000, 2001:
    with netCDF4.Dataset(f"data_{year}.nc", "w", format="NETCDF3_CLASSIC") as data:
        data.createDimension("x", 3)
        data.createVariable("v", "i4", ("x",))[:] = year'
    [ "$(mpiio-view spec --from data_2000.nc)" = $'v\tint32_t\t3' ]
    no_spec "data.nc: No such file or directory" data.nc
}

@test "sets: damaged tiles give one line, or whole variables" {
    from sets write wrf w
    PYTHONPATH=$top/tests/from py '
from damage import damage, spec
name = "w_2000-01-24_12:00:00_0001"
whole = open(name, "rb").read()
seen = set()
for i in range(80):
    open(name, "wb").write(damage(whole))
    seen.add(spec(name, "--all")[0])
assert seen == {0, 2}, seen'
}

@test "sets: two nodes write to tiles by their engine, and read fill values where a tile is missing" {
    from sets write nemo restart
    rm restart_0003.nc
    mpiio-view spec --from restart.nc --all 'none,block,none on 2' >s.json 2>/dev/null
    start_nodes 2 -o flush_interval=0,pool=64M
    py '
want = np.arange(144, dtype="f4").reshape(3, 8, 6)
want[:, 4:, 3:] = -1e34
for node in 0, 1:
    for rank in 0, 1:
        got = np.fromfile(f"m{node}/temp/rank{rank}", "f4").reshape(3, 4, 6)
        assert (got == want[:, 4 * rank:4 * rank + 4]).all(), (node, rank)
for node in 0, 1:
    slice = os.open(f"m{node}/temp/rank{node}", os.O_WRONLY)
    assert os.pwrite(slice, np.full(3, 1000 + node, "f4").tobytes(), 24) == 12
    os.fsync(slice)
    os.close(slice)'
    stop_nodes
    py '
for number, row in (0, 1), (2, 2): # behind a halo
    with netCDF4.Dataset(f"restart_{number:04}.nc") as data:
        data.set_auto_mask(False)
        assert (data["temp"][0, row, :3] == 1000 + number // 2).all(), data["temp"][0]'
}
