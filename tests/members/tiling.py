#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random tilings: members of an assembled file, and a model of the whole, by numpy.

tiling.py make SEED          piece0, piece1, ... and s.json, in the working folder
tiling.py run SEED ROUNDS MOUNT...
                             a thread for each mount writes its ranks' slices again and again;
                             after each round all mounts agree with the model
tiling.py check              the members agree with the model, and their other bytes are unchanged

Needs tests/shared in PYTHONPATH.
"""

import json
import os
import random
import sys
import threading

import numpy

from slices import Darray


def bytes_of(elements, size):
    return (elements[:, None] * size + numpy.arange(size)).ravel()


def make(seed):
    random.seed(seed)
    shape = [random.randint(40, 900), random.randint(40, 900)]
    members, ranks = (Darray(random, shape, grid, random.choice(("C", "Fortran"))) for grid in
                      ([random.randint(1, 4), random.randint(1, 3)],
                       [random.randint(2, 4), random.randint(1, 3)]))
    size = random.choice([1, 2, 4, 8])
    head, data, ghost = random.choice([0, 3, 512]), random.choice([1, 64, 700]) * size, random.choice([0, 5])
    whole = numpy.random.default_rng(seed).integers(0, 256, shape[0] * shape[1] * size, dtype=numpy.uint8)
    etype = {"type": "contiguous", "count": size, "oldtype": "byte"}
    spec = {
        "viewspec": 1,
        "members": {
            "count": len(members.owned),
            "file": "piece{member}",
            "view": {"etype": etype, "filetype": members.filetype},
            "local": {
                "disp": head,
                "filetype": {
                    "type": "resized",
                    "lb": 0,
                    "extent": data + ghost,
                    "oldtype": {"type": "contiguous", "count": data, "oldtype": "byte"},
                },
            },
        },
        "ranks": len(ranks.owned),
        "view": {"etype": etype, "filetype": ranks.filetype},
    }
    for oldtype in spec["members"]["view"], spec["view"]:
        oldtype["filetype"]["oldtype"] = etype
    spec["members"]["local"]["filetype"]["oldtype"]["oldtype"] = "byte"
    json.dump(spec, open("s.json", "w"))
    state = {"whole": whole, "layout": [head, data, ghost]}
    for name, parts in ("member", members), ("rank", ranks):
        for i in range(len(parts.owned)):
            state[f"{name}{i}"] = bytes_of(parts.numbers(i), size)
    numpy.savez("model.npz", **state)
    for i in range(spec["members"]["count"]):
        write_piece(i, whole[state[f"member{i}"]].tobytes(), head, data, ghost)
    print(f"{seed}: {shape} x {size} by {members.filetype} {ranks.filetype}, {head} + {data} + {ghost}")


def piece(content, head, data, ghost):
    parts = [content[at : at + data] for at in range(0, len(content), data)]
    return b"H" * head + b"".join(part + b"g" * (ghost if len(part) == data else 0) for part in parts)


def write_piece(i, content, *layout):
    with open(f"piece{i}", "wb") as out:
        out.write(piece(content, *layout))


def load():
    with numpy.load("model.npz") as state:
        return dict(state)


def write_some(state, mount, ranks, seed, failures):
    """Writes random pieces of the ranks' slices. Syncing the last file also syncs the others."""
    chance = random.Random(seed)
    try:
        for _ in range(chance.randint(1, 12)):
            rank = chance.choice(ranks)
            part = state[f"rank{rank}"]
            fd = os.open(f"{mount}/rank{rank}", os.O_RDWR)
            start = chance.randrange(len(part))
            length = min(len(part) - start, chance.choice([1, 100, 5000, 200000]))
            data = chance.randbytes(length)
            assert os.pwrite(fd, data, start) == length
            state["whole"][part[start : start + length]] = numpy.frombuffer(data, numpy.uint8)
            if chance.random() < 0.3:
                os.fsync(fd)
            os.close(fd)
        fd = os.open(f"{mount}/rank{ranks[0]}", os.O_RDWR)
        os.fsync(fd)
        os.close(fd)
    except BaseException as error:
        failures.append((mount, error))


def run(seed, rounds, mounts):
    state = load()
    ranks = sum(name.startswith("rank") for name in state)
    random.seed(seed)
    for number in range(rounds):
        failures = []
        threads = [
            threading.Thread(
                target=write_some,
                args=(state, mount, list(range(node, ranks, len(mounts))), f"{seed} {number} {node}", failures),
            )
            for node, mount in enumerate(mounts)
            if node < ranks
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        for mount in mounts:
            rank = random.randrange(ranks)
            got = numpy.fromfile(f"{mount}/rank{rank}", numpy.uint8)
            assert (got == state["whole"][state[f"rank{rank}"]]).all(), (number, mount, rank)
            got = numpy.fromfile(f"{mount}/whole", numpy.uint8)
            wrong = numpy.flatnonzero(got != state["whole"])
            assert len(wrong) == 0, (number, mount, len(wrong), wrong[:10])
    numpy.savez("model.npz", **state)


def check():
    state = load()
    layout = [int(number) for number in state["layout"]]
    for i in range(sum(name.startswith("member") for name in state)):
        expected = piece(state["whole"][state[f"member{i}"]].tobytes(), *layout)
        found = open(f"piece{i}", "rb").read()
        assert found == expected, (i, len(found), len(expected))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]))
    elif sys.argv[1] == "run":
        run(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        check()
