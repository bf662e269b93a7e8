#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a spec whose views have sizes, counts and extents of zero:  nothing.py > SPEC

Each constructor without data, and each around each of those. The file is "data". A view has the
name of the outer constructor and two numbers.
"""
import json
import sys

NOTHING = [
    {"type": "contiguous", "count": 0},
    {"type": "vector", "count": 0, "blocklength": 2, "stride": 3},
    {"type": "vector", "count": 2, "blocklength": 0, "stride": 3},
    {"type": "hvector", "count": 3, "blocklength": 0, "stride": 0},
    {"type": "indexed", "blocklengths": [], "displacements": []},
    {"type": "indexed", "blocklengths": [0, 0], "displacements": [4, 0]},
    {"type": "hindexed", "blocklengths": [0], "displacements": [8]},
    {"type": "indexed_block", "blocklength": 0, "displacements": [0, 2]},
    {"type": "hindexed_block", "blocklength": 1, "displacements": []},
    {"type": "struct", "blocklengths": [], "displacements": [], "types": []},
    {"type": "struct", "blocklengths": [0], "displacements": [8], "types": ["etype"]},
    {"type": "subarray", "sizes": [4, 4], "subsizes": [0, 2], "starts": [4, 1], "order": "C"},
    {"type": "resized", "lb": 0, "extent": 0, "oldtype": {"type": "contiguous", "count": 0}},
    {"type": "resized", "lb": 8, "extent": -16, "oldtype": {"type": "contiguous", "count": 0}},
]


def around(inner):
    """Returns each constructor, with inner in it."""
    old = {"oldtype": inner}
    array = {"order": "Fortran", **old}
    return [
        inner,
        {"type": "contiguous", "count": 3, **old},
        {"type": "vector", "count": 2, "blocklength": 2, "stride": 3, **old},
        {"type": "hvector", "count": 2, "blocklength": 1, "stride": 16, **old},
        {"type": "indexed", "blocklengths": [1, 2], "displacements": [0, 3], **old},
        {"type": "hindexed", "blocklengths": [1, 1], "displacements": [0, 16], **old},
        {"type": "indexed_block", "blocklength": 2, "displacements": [0, 5], **old},
        {"type": "hindexed_block", "blocklength": 2, "displacements": [0, 64], **old},
        {"type": "struct", "blocklengths": [1, 1, 2], "displacements": [0, 8, 64],
         "types": [inner, {"type": "resized", "lb": 0, "extent": 64, "oldtype": "etype"}, inner]},
        {"type": "subarray", "sizes": [4, 4], "subsizes": [2, 2], "starts": [0, 1], **array},
        {"type": "darray", "gsizes": [4, 4], "distribs": ["block", "cyclic"],
         "dargs": [None, None], "psizes": [2, 1], **array},
        {"type": "resized", "lb": 0, "extent": 0, **old},
        {"type": "resized", "lb": 0, "extent": 32, **old},
        {"type": "dup", **old},
        {"type": "broadcast", **old},
        {"type": "scatter", "blocklength": 2, **old},
        {"type": "hpf_block", "size": 5, **old},
        {"type": "hpf_cyclic", "size": 5, **old},
    ]


def main():
    views = {}
    for i, inner in enumerate(NOTHING):
        for j, filetype in enumerate(around(inner)):
            views[f"{filetype['type']}-{i}-{j}"] = {"disp": 3, "etype": "int", "filetype": filetype}
    json.dump({"viewspec": 1, "file": "data", "ranks": 2, "views": views}, sys.stdout)


main()
