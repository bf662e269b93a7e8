#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the files that recipes of mpiio-cookbook(7) begin with, in the working folder:

    inputs.py NAME ARGUMENT...

NAME is a function below. Files of a code have the layout that the code itself gives them, which the
functions write without mpiio-viewfs.
"""
import sys

import numpy


def mitgcm():
    """T.0000000010.III.JJJ.{data,meta}: two fields of 4 x 6 floats in 2 x 2 tiles. The value at
    (y, x) is 10 * y + x, and 100 more in the second field."""
    fields = numpy.add.outer([0, 100], numpy.add.outer(10 * numpy.arange(4), numpy.arange(6)))
    for i in range(2):
        for j in range(2):
            name = f"T.0000000010.{i + 1:03}.{j + 1:03}"
            tile = fields[:, 2 * j:2 * j + 2, 3 * i:3 * i + 3]
            tile.astype(">f4").tofile(name + ".data")
            with open(name + ".meta", "w") as file:
                file.write(f""" nDims = [   2 ];
 dimList = [
     6,{3 * i + 1:5},{3 * i + 3:5},
     4,{2 * j + 1:5},{2 * j + 2:5}
 ];
 dataprec = [ 'float32' ];
 nrecords = [     2 ];
 timeStepNumber = [         10 ];
 nFlds = [    2 ];
 fldList = {{
 'THETA   ' 'SALT    '
 }};
""")


def pnetcdf():
    """flow.nc in CDF-5, the format of PnetCDF for large files: u(y, x) and v(y, x), 4 x 6 doubles.
    u is 10 * y + x, and v is -u."""
    import netCDF4
    with netCDF4.Dataset("flow.nc", "w", format="NETCDF3_64BIT_DATA") as data:
        data.createDimension("y", 4)
        data.createDimension("x", 6)
        values = numpy.add.outer(10 * numpy.arange(4), numpy.arange(6))
        data.createVariable("u", "f8", ("y", "x"))[:] = values
        data.createVariable("v", "f8", ("y", "x"))[:] = -values


def pencils(ny, nz):
    """u.dat: 8 x NY x NZ doubles in Fortran's order. u(x, y, z) = x + 10 * y + 100 * z, from 0."""
    x, y, z = numpy.ogrid[:8, :int(ny), :int(nz)]
    (x + 10.0 * y + 100 * z).ravel("F").tofile("u.dat")


def ghosts(*where):
    """A 6 x 10 array of doubles in 2 x 2 blocks, each with a frame of ghost cells, which are -1.
    The value at (row, column) is 10 * row + column. Writes all blocks into blocks.dat and, unless
    WHERE is "together", block.0.0 to block.1.1."""
    array = numpy.add.outer(10.0 * numpy.arange(6), numpy.arange(10))
    with open("blocks.dat", "wb") as file:
        for y in range(2):
            for x in range(2):
                block = numpy.pad(array[3 * y:3 * y + 3, 5 * x:5 * x + 5], 1, constant_values=-1)
                file.write(block.tobytes())
                if not where:
                    block.tofile(f"block.{y}.{x}")


def field(name="field.dat", change=None):
    """A 6 x 10 array of doubles in NAME: 10 * row + column. CHANGE: the element with this value is
    half as large."""
    array = numpy.add.outer(10.0 * numpy.arange(6), numpy.arange(10))
    if change:
        array[array == float(change)] /= 2
    array.tofile(name)


def pieces():
    """part.0000 to part.0003: three rows each of a 12 x 5 array of doubles, 10 * row + column."""
    array = numpy.add.outer(10.0 * numpy.arange(12), numpy.arange(5))
    for rank in range(4):
        array[3 * rank:3 * rank + 3].tofile(f"part.{rank:04}")


def volume():
    """cube.dat: 4 x 6 x 8 floats, 100 * z + 10 * y + x."""
    z, y, x = numpy.ogrid[:4, :6, :8]
    (100 * z + 10 * y + x).astype("f4").tofile("cube.dat")


def log(first=0, last=3):
    """Appends lines of 32 bytes to steps.log: for each step FIRST to LAST - 1, a line of each of
    four ranks."""
    with open("steps.log", "ab") as file:
        for step in range(int(first), int(last)):
            for rank in range(4):
                line = f"rank {rank} step {step} residual {2.0 ** -step / (rank + 1):.6f}"
                file.write(line.encode() + b"\n")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
