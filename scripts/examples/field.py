# SPDX-License-Identifier: MIT
"""From the shared file of an MPI program to xarray: a notebook in cells.

Run it as it is, python3 field.py, or cell by cell in an editor that knows "# %%". It works in the
current folder and needs python3-mpiio and python3-xarray; the last cell needs FUSE and python3-zarr.
"""
# %% A field of four ranks
# An MPI program has written a field of 8 x 12 x 16 floats, in blocks of 2 x 2 ranks, behind a header
# of 64 bytes. numpy stands in for the program here. `mpiio-view capture` would write the spec.
import json
import pathlib
import subprocess

import mpiio
import numpy as np
import xarray as xr

truth = np.random.default_rng(1).normal(280, 10, (8, 12, 16)).astype("f4")
pathlib.Path("field.dat").write_bytes(bytes(64) + truth.tobytes())
spec = {
    "viewspec": 1, "file": "field.dat", "ranks": 4,
    "view": {
        "name": "temperature", "dims": ["z", "y", "x"],
        "grid": {"origin": [0, 0.5, 0.5], "spacing": [10, 1, 1]},
        "disp": 64, "etype": "float",
        "filetype": {"type": "darray", "gsizes": [8, 12, 16], "distribs": ["none", "block", "block"],
                     "dargs": [None, None, None], "psizes": [1, 2, 2], "order": "C"}}}
pathlib.Path("field.json").write_text(json.dumps(spec), encoding="utf-8")

# %% Each rank's part
with mpiio.open("field.json") as field:
    for rank, part in enumerate(field):
        print(f"rank {rank}: {part.shape}, mean {part[...].mean():.2f}")
    print("one level of all ranks:", field.whole[3].shape)

# %% The whole field, with names and coordinates; a rank's block is a chunk
dataset = xr.open_dataset("field.json", engine="mpiio", chunks={})
profile = dataset.temperature.mean(("y", "x")).compute()
print(profile)
assert np.allclose(profile, truth.mean((1, 2)))

# %% Correct one value in place: exactly four bytes of the file change
with mpiio.open("field.json", mode="r+") as field:
    field.whole[0, 6, 8] = 300
print(float(xr.open_dataset("field.json", engine="mpiio").temperature[0, 6, 8]))

# %% The same as files, for programs that know nothing of this: a Zarr store and a file of ParaView
pathlib.Path("mnt").mkdir(exist_ok=True)
subprocess.run(["mpiio-mount", "-o", "zarr,vti", "field.json", "mnt"], check=True)
try:
    print(float(xr.open_zarr("mnt/zarr").temperature.sel(z=0, y=6.5, x=8.5)))
    print(sorted(path.name for path in pathlib.Path("mnt").glob("*vti")))
finally:
    subprocess.run(["mpiio-umount", "mnt"], check=True)
