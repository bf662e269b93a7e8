# SPDX-License-Identifier: MIT
"""Reads and writes the parts that MPI ranks own of a shared file, without MPI and without a mount.

>>> import mpiio, numpy
>>> with mpiio.open("field.json") as f:     # a spec, viewspec(5)
...     f.ranks
...     f[3]                                # the slice of rank 3; nothing is read yet
...     f[3][1:, :2]                        # reads these four elements
...     numpy.asarray(f[3]).mean()
...     f.whole[6, 9]                       # the array that all ranks own together
4
<mpiio.Slice: rank 3, (3, 5) float64 in ...field.dat>
array([[30505., 30506.],
       [30605., 30606.]])
30507.0
30609.0

With mode="r+", assignments write exactly the selected bytes. xarray opens the same files with
engine="mpiio". mpiio-python(3) describes the module.
"""
from ._arrays import Array, Slice, Whole
from ._file import File, View, open
from ._library import SpecError

__all__ = ["Array", "File", "Slice", "SpecError", "View", "Whole", "open"]

for _kind in (Array, File, Slice, SpecError, View, Whole):
    _kind.__module__ = __name__  # the name that users know
