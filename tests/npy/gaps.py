# SPDX-License-Identifier: MIT
"""Makes random views whose slices have gaps, and compares them with the arrays of numpy.load.

gaps.py make SEED   writes gaps.json and gaps.dat, a view of each kind
gaps.py check MNT   compares each slice with the array that a naive typemap gives
"""
import json
import random
import sys

import numpy as np

VIEWS = 60
# name: the etype in JSON, bytes of data, (offset, bytes) of each element, extent, dtype of a value
STRUCT = {"type": "struct", "types": ["int", "float"], "blocklengths": [1, 1], "displacements": [0, 4]}
PADDED = {"type": "struct", "types": ["char", "double"], "blocklengths": [1, 1],
          "displacements": [0, 8]}
APART = {"type": "vector", "count": 2, "blocklength": 1, "stride": 2, "oldtype": "int"}
ETYPES = {
    "double": ("double", [(0, 8)], 8, "<f8"),
    "int": ("int", [(0, 4)], 4, "<i4"),
    "pair": ({"type": "contiguous", "count": 2, "oldtype": "int"}, [(0, 4), (4, 4)], 8, "<i4"),
    "apart": (APART, [(0, 4), (8, 4)], 12, "<i4"),
    "complex": ("c_double_complex", [(0, 16)], 16, "<c16"),
    "struct": (STRUCT, [(0, 8)], 8, [("f0", "<i4"), ("f1", "<f4")]),
    "padded": (PADDED, [(0, 1), (8, 8)], 16, None),
}


def contiguous(count, old, extent):
    return [i * extent + o for i in range(count) for o in old], count * extent


def random_buftype(rng, extent):
    """Returns a type, the positions of its etypes, and its extent."""
    unit = rng.choice([1, 2, 4, 8])
    kind = rng.choice(["subarray", "subarray2", "vector", "hvector", "indexed", "hindexed", "resized"])
    if kind == "subarray":
        size = rng.randint(2, 7)
        sub = rng.randint(1, size)
        start = rng.randint(0, size - sub)
        return ({"type": kind, "sizes": [size], "subsizes": [sub], "starts": [start], "order": "C"},
                [(start + i) * extent for i in range(sub)], size * extent)
    if kind == "subarray2":
        sizes = [rng.randint(2, 4), rng.randint(2, 4)]
        subs = [rng.randint(1, n) for n in sizes]
        starts = [rng.randint(0, n - m) for n, m in zip(sizes, subs)]
        return ({"type": "subarray", "sizes": sizes, "subsizes": subs, "starts": starts, "order": "C"},
                [((starts[0] + i) * sizes[1] + starts[1] + j) * extent
                 for i in range(subs[0]) for j in range(subs[1])], sizes[0] * sizes[1] * extent)
    if kind in ("vector", "hvector"):
        count, length = rng.randint(2, 4), rng.randint(1, 2)
        stride = length + rng.randint(0, 2)
        step = stride * extent
        if kind == "hvector":
            stride = step = step + unit * rng.randint(0, 3)
        places = [i * step + j * extent for i in range(count) for j in range(length)]
        return ({"type": kind, "count": count, "blocklength": length, "stride": stride},
                places, places[-1] + extent)
    if kind in ("indexed", "hindexed"):
        blocks, at, places = [], 0, []
        for _ in range(rng.randint(2, 4)):
            at += rng.randint(0, 2) * (extent if kind == "indexed" else unit)
            length = rng.randint(1, 2)
            blocks.append((length, at))
            places += [at + j * extent for j in range(length)]
            at += length * extent
        rng.shuffle(blocks)
        places = [d + j * extent for n, d in blocks for j in range(n)]
        scale = extent if kind == "indexed" else 1
        return ({"type": kind, "blocklengths": [n for n, _ in blocks],
                 "displacements": [d // scale for _, d in blocks]},
                places, max(places) + extent - min(places))
    count = rng.randint(1, 3)
    wide = count * extent + unit * rng.randint(0, 4)
    return ({"type": "resized", "lb": 0, "extent": wide,
             "oldtype": {"type": "contiguous", "count": count}},
            [i * extent for i in range(count)], wide)


def random_view(rng):
    name = rng.choice(list(ETYPES))
    etype, _, extent, _ = ETYPES[name]
    buftype, places, wide = random_buftype(rng, extent)
    view = {"etype": etype, "tiles": rng.randint(1, 3), "buftype": buftype,
            "filetype": {"type": "contiguous", "count": len(places)}}
    return {"name": name, "view": view, "places": places, "extent": wide}


def is_apart(case):
    """Returns true if no etypes overlap, as the language requires."""
    extent = ETYPES[case["name"]][2]
    origins = sorted(tile * case["extent"] + place for tile in range(case["view"]["tiles"])
                     for place in case["places"])
    return all(b - a >= extent for a, b in zip(origins, origins[1:]))


def expected(case, data):
    """Returns the bytes of the slice, and the dtype of all its values, or None."""
    _, elements, extent, dtype = ETYPES[case["name"]]
    tiles, wide, places = case["view"]["tiles"], case["extent"], case["places"]
    runs = []
    at = 0
    for tile in range(tiles):
        for k, place in enumerate(places):
            for offset, size in elements:
                runs.append((tile * wide + place + offset, size,
                             (tile * len(places) + k) * extent + offset))
            at += extent
    end = max(o + n for o, n, _ in runs)
    length = max(end, tiles * wide)
    slice_ = bytearray(length)
    for o, n, there in runs:
        slice_[o:o + n] = data[there:there + n]
    item = dtype and np.dtype(dtype).itemsize
    fits = item and all(o % item == 0 and n % item == 0 for o, n, _ in runs) and \
        length % item == 0 and (tiles == 1 or wide % item == 0)
    gaps = sum(n for _, n, _ in runs) != length
    return bytes(slice_), dtype if fits else None, gaps


def make(seed):
    rng = random.Random(seed)
    cases = []
    while len(cases) < VIEWS:
        case = random_view(rng)
        if is_apart(case):
            cases.append(case)
    data = np.random.default_rng(seed).integers(1, 255, 4096, dtype="u1").tobytes()
    open("gaps.dat", "wb").write(data)
    views = {}
    for number, case in enumerate(cases):
        views[f"v{number}"] = case["view"]
        length, dtype, gaps = expected(case, data)
        size = np.dtype(dtype).itemsize if dtype else 0
        etype = sum(n for _, n in ETYPES[case["name"]][1])
        # The array of "shape" includes the gaps.
        if dtype and gaps and size == etype:
            tile = len(length) // size // case["view"]["tiles"]
            if case["view"]["tiles"] == 1 or case["view"]["tiles"] * case["extent"] == len(length):
                case["shape"] = [1, tile]
                views[f"s{number}"] = dict(case["view"], shape=case["shape"])
    json.dump({"viewspec": 1, "file": "gaps.dat", "views": views}, open("gaps.json", "w"))
    json.dump(cases, open("cases.json", "w"))


def check(mount):
    data = open("gaps.dat", "rb").read()
    kinds = {"typed": 0, "bytes": 0, "shaped": 0}
    for number, case in enumerate(json.load(open("cases.json"))):
        want, dtype, gaps = expected(case, data)
        got = np.load(f"{mount}/v{number}/rank0.npy")
        assert got.tobytes() == want, (number, case)
        if not gaps:
            continue
        assert got.dtype == np.dtype(dtype or "u1"), (number, got.dtype, dtype, case)
        kinds["typed" if dtype else "bytes"] += 1
        if case["view"]["tiles"] == 1 and case["view"]["buftype"]["type"] != "subarray":
            assert got.shape == (len(want) // got.itemsize,), (number, got.shape)
        if "shape" in case:
            shaped = np.load(f"{mount}/s{number}/rank0.npy")
            tiles = case["view"]["tiles"]
            assert shaped.shape == tuple(([tiles] if tiles > 1 else []) + case["shape"]), shaped.shape
            assert shaped.dtype == got.dtype and shaped.tobytes() == want
            kinds["shaped"] += 1
    assert all(kinds.values()), kinds


if __name__ == "__main__":
    make(int(sys.argv[2])) if sys.argv[1] == "make" else check(sys.argv[2])
