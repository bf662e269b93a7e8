#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes short specs on which a careless walk never ends:  families.py FOLDER

Each one is FOLDER/NAME.json, over the file "data" there. Their names say what they have too many
of. All except "many-names" and "many-views" have at most a few KiB of text.
"""
import json
import os
import sys

FAR = 1 << 40


def struct(displacements, types):
    return {"type": "struct", "blocklengths": [1] * len(types), "displacements": displacements,
            "types": types}


def resized(extent, oldtype):
    return {"type": "resized", "lb": 0, "extent": extent, "oldtype": oldtype}


def doubling(levels, distance, first):
    """Returns types t1 ... t(levels). Each contains the one before twice, so there are 2^levels
    ways down."""
    types = {"t0": first}
    for i in range(1, levels + 1):
        types[f"t{i}"] = struct([0, distance(i)], [f"t{i - 1}"] * 2)
    return types


def nested(levels, wrap, inner):
    for _ in range(levels):
        inner = wrap(inner)
    return inner


def spec(view, types=None, ranks=1, **others):
    whole = {"viewspec": 1, "file": "data", "ranks": ranks, **others}
    if types:
        whole["types"] = types
    whole["view"] = view
    return whole


def byte_view(filetype, **others):
    return {"etype": "byte", "filetype": filetype, **others}


def contiguous(count, oldtype):
    return {"type": "contiguous", "count": count, "oldtype": oldtype}


# Two bytes far from each other. Instances of it interleave endlessly.
TORN = resized(1, struct([0, FAR], ["byte", "byte"]))
PAIR = struct([0, 4], ["int", "char"])


def doublings():
    cubes = doubling(36, lambda i: 3 ** i, resized(1, "byte"))
    yield "doubling", spec(byte_view("t36"), cubes)
    yield "doubling-ranks", spec(byte_view("t36", disp="rank"), cubes, ranks=4)
    yield "doubling-half", spec(byte_view("t36", disp="rank * 2"), cubes, ranks=3)
    dense = doubling(60, lambda i: 2 ** (i - 1), resized(1, "byte"))
    yield "doubling-dense", spec(byte_view("t60"), dense)
    almost = doubling(58, lambda i: 3 * 2 ** (i - 1), struct([0, 2], ["byte", "byte"]))
    yield "doubling-touching", spec(byte_view("t58"), almost)
    torn = doubling(30, lambda i: 2 ** i, "etype")
    torn = {name: value for name, value in torn.items() if name != "t0"}
    torn["t1"] = struct([0, 2], ["etype", "etype"])
    yield "doubling-torn", spec({"etype": TORN, "filetype": "t30"}, torn)
    yield "doubling-etype", spec({"etype": "t20"}, doubling(20, lambda i: 5 * 3 ** i, PAIR))
    yield "doubling-external", spec({"etype": "t20", "datarep": "external32"},
                                    doubling(20, lambda i: 5 * 3 ** i, PAIR))
    yield "doubling-array", spec(byte_view(
        {"type": "subarray", "sizes": [9, 9], "subsizes": [4, 4], "starts": [1, 2], "order": "C",
         "oldtype": "t12"}), doubling(12, lambda i: 3 ** i, "byte"))
    yield "doubling-nothing", spec(byte_view("t60"),
                                   doubling(60, lambda i: 2 ** i, contiguous(0, "byte")))


def overlaps():
    yield "interleaved", spec(byte_view(resized(
        1, {"type": "vector", "count": 1 << 30, "blocklength": 1, "stride": 1 << 20})))
    yield "interleaved-blocks", spec({"etype": resized(1, struct([0, FAR], ["byte", resized(
        1, {"type": "hvector", "count": 1 << 20, "blocklength": 1, "stride": 1 << 30,
            "oldtype": "byte"})])), "filetype": contiguous(1 << 40, "etype")})
    yield "interleaved-ranks", spec(byte_view(resized(
        1, {"type": "vector", "count": 1 << 30, "blocklength": 1, "stride": 1 << 20}),
        disp="rank"), ranks=1000)
    yield "tiles-in-holes", spec(byte_view(resized(
        2, {"type": "vector", "count": 1 << 20, "blocklength": 1, "stride": (1 << 20) + 1})))
    yield "same-place", spec(byte_view(
        {"type": "hvector", "count": 1 << 40, "blocklength": 1, "stride": 0}))


def nestings():
    def dup(inner):
        return {"type": "dup", "oldtype": inner}

    def hole(inner):
        return {"type": "hvector", "count": 2, "blocklength": 1, "stride": 3 * hole.stride,
                "oldtype": inner}

    yield "deep", spec(byte_view(nested(62, dup, "etype")))
    inner = "etype"
    for level in range(37):
        hole.stride = 3 ** level
        inner = hole(inner)
    yield "deep-loops", spec(byte_view(inner))
    names = {f"t{i}": f"t{i + 1}" for i in range(60)}
    yield "deep-names", spec(byte_view("t0"), {**names, "t60": "byte"})
    yield "nothing-often", spec(byte_view(contiguous(1 << 62, contiguous(0, "etype"))))
    yield "nothing-vector", spec(byte_view(
        {"type": "vector", "count": 1 << 62, "blocklength": 0, "stride": 1 << 30}))


def rank_views():
    most = 2 ** 31 - 1
    long = "+".join(["rank"] * 200)
    yield "ranks-scatter", spec({"etype": "int", "filetype": {"type": "scatter"}}, ranks=most)
    yield "ranks-displaced", spec({"disp": "4 * rank", "etype": "int",
                                   "filetype": resized("4 * ranks", "etype")}, ranks=most)
    yield "ranks-cyclic", spec({"etype": "int", "filetype": {
        "type": "darray", "gsizes": [1 << 20, 1 << 20], "psizes": [1 << 10, 1 << 20],
        "distribs": ["cyclic", "block"], "dargs": [3, None], "order": "C"}}, ranks=1 << 30)
    yield "ranks-long", spec({"etype": "byte", "filetype": resized(
        1 << 40, struct([long] * 4, ["etype"] * 4))}, ranks=most)
    yield "ranks-wide", spec({"etype": "byte", "filetype": resized(1 << 20, {
        "type": "indexed_block", "blocklength": 1,
        "displacements": [f"{i} * 2 + rank % 2" for i in range(200)]})}, ranks=1 << 20)


def many():
    names = {f"n{i}": resized(i + 1, "byte") for i in range(40000)}
    last = struct(list(range(0, 8 * 40000, 8)), [f"n{i}" for i in range(40000)])
    yield "many-names", spec(byte_view(resized(1 << 20, "last")), {
        **{name: resized(1 << 3, "byte") for name in names}, "last": last})
    views = {f"v{i}": {"disp": i} for i in range(20000)}
    yield "many-views", {"viewspec": 1, "file": "data", "views": views,
                         "let": {f"l{i}": i for i in range(20000)}}


def main():
    folder = sys.argv[1]
    for family in (doublings, overlaps, nestings, rank_views, many):
        for name, text in family():
            with open(os.path.join(folder, name + ".json"), "w", encoding="ascii") as out:
                json.dump(text, out)
                out.write("\n")


main()
