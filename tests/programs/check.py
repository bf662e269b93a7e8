# SPDX-License-Identifier: MIT
"""Programs of tests/bats/check.bats."""
import struct


def fields():
    """Makes fields of 40 x 100 values and of other sizes. They are smooth, in both byte orders and
    both orders of the array, behind headers and between the markers of Fortran records."""
    import numpy as np

    x = np.add.outer(3 * np.sin(np.linspace(0, 7, 40)), np.cos(np.linspace(0, 9, 100))) + 5
    for name in ["<f8", ">f8", "<f4", ">f4"]:
        x.astype(name).tofile(name[1:] + ("le" if name[0] == "<" else "be"))
    for name in ["<i4", ">i4", "<i8", ">i8", "<u8", ">u8"]:
        (np.arange(4000) - (0 if name[1] == "u" else 1000)).astype(name).tofile(
            name[1:] + ("le" if name[0] == "<" else "be"))
    x.ravel(order="F").tofile("fortran")
    b = x.tobytes()
    open("header", "wb").write(64 * b"H" + b)
    open("short", "wb").write(b[:-1003])
    open("record", "wb").write(struct.pack("<I", len(b)) + b + struct.pack("<I", len(b)))
    open("long", "wb").write(struct.pack("<Q", len(b)) + b + struct.pack("<Q", len(b)))
    mark = struct.pack(">I", 800)
    open("records", "wb").write(b"".join(mark + row.astype(">f8").tobytes() + mark for row in x))
    np.zeros((40, 100)).tofile("zeros")
    np.random.default_rng(1).integers(0, 256, 32000, dtype=np.uint8).tofile("noise")
    np.add.outer(np.arange(40.0), np.zeros(100)).tofile("rows")
    np.add.outer(np.zeros(40), np.arange(100.0)).tofile("columns")
