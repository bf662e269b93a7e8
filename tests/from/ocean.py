# SPDX-License-Identifier: MIT
"""Writes ocean.nc, netCDF classic (CDF-1), without a library: temp(time, lat, lon) of 3 x 4 x 6 floats,
and time, as records. The value at (t, y, x) is t * 100 + y * 10 + x."""
import struct


def name(text):
    return struct.pack(">i", len(text)) + text.encode() + bytes(-len(text) % 4)


def variable(text, dimensions, kind, size, begin):
    return name(text) + struct.pack(f">i{len(dimensions)}i", len(dimensions), *dimensions) + bytes(8) \
        + struct.pack(">iii", kind, size, begin)


RECORDS, LATITUDES, LONGITUDES = 3, 4, 6
TEMP = 4 * LATITUDES * LONGITUDES
header = b""
while True:
    begin = len(header)
    new = b"CDF\1" + struct.pack(">i", RECORDS) + struct.pack(">ii", 10, 3) \
        + name("time") + struct.pack(">i", 0) + name("lat") + struct.pack(">i", LATITUDES) \
        + name("lon") + struct.pack(">i", LONGITUDES) + bytes(8) + struct.pack(">ii", 11, 2) \
        + variable("temp", (0, 1, 2), 5, TEMP, begin) + variable("time", (0,), 6, 8, begin + TEMP)
    if len(new) == len(header):
        break
    header = new
with open("ocean.nc", "wb") as file:
    file.write(new)
    for t in range(RECORDS):
        file.write(struct.pack(f">{LATITUDES * LONGITUDES}f", *(
            t * 100 + y * 10 + x for y in range(LATITUDES) for x in range(LONGITUDES))))
        file.write(struct.pack(">d", t / 2))
