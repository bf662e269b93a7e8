# SPDX-License-Identifier: MIT
"""Compares the records that mpiio-view finds in a Fortran file with those that were written.

records.py FILE...       compares all records of each file
records.py files SEED    writes files of random records, with a reader of its own, and compares
"""
import json
import random
import struct
import sys

import numpy as np

from files import view


def spec(path, *words):
    with open("s.json", "wb") as out:
        out.write(view("spec", "--from", path, *words))
    return json.load(open("s.json"))


def slices(path, *words):
    made = spec(path, *words)
    return [view("cat", "s.json", "-r", str(rank)) for rank in range(made["ranks"])]


def listed(path):
    return [line.split("\t") for line in view("spec", "--from", path).decode().splitlines()]


def compare(path):
    """Compares all records. Slices are native in either byte order of the file."""
    ints = 100 + np.arange(1, 65, dtype="i4")
    x = np.arange(1, 1001) * 0.5
    position = np.arange(1, 751, dtype="f4").reshape(250, 3)
    rows = np.add.outer(1000.0 * np.arange(1, 7), np.arange(1, 41))
    sizes = [256, 8000, 3000] + 6 * [320] + [0, 7]
    assert listed(path) == [[f"record{n + 1}", "byte", str(size)] for n, size in enumerate(sizes)]
    assert slices(path, "--var", "record1", "--type", "int") == [ints.tobytes()]
    assert slices(path, "--var", "record2", "--type", "double") == [x.tobytes()]
    got = slices(path, "--var", "record2", "--type", "double", "block on 3")
    assert got == [x[:334].tobytes(), x[334:668].tobytes(), x[668:].tobytes()]
    got = slices(path, "--var", "record2", "--type", "double 10x*x5", "block,cyclic(3),none on 2x2")
    cube = x.reshape(10, 20, 5)
    for rank, part in enumerate(got):
        mine = [j for j in range(20) if j // 3 % 2 == rank % 2]
        assert part == cube[rank // 2 * 5:, mine][:5].tobytes(), rank
    got = slices(path, "--var", "record3", "--type", "float *x3", "block,none on 3")
    assert got == [position[:84].tobytes(), position[84:168].tobytes(), position[168:].tobytes()]
    got = slices(path, "--var", "record4-9", "--type", "double", "cyclic,block on 2x2")
    for rank, part in enumerate(got):
        assert part == rows[rank // 2::2, rank % 2 * 20:][:, :20].tobytes(), rank
    assert slices(path, "--var", "record5-6", "--type", "double 2x8x5") == [rows[1:3].tobytes()]
    assert slices(path, "--var", "record11") == [b"the end"]
    assert slices(path, "--var", "record10") == [b""]


def write(out, data, width, order, most):
    """Returns a record in subrecords of at most `most` bytes, as gfortran writes them."""
    letter = order + ("i" if width == 4 else "q")
    parts = [data[at:at + most] for at in range(0, len(data), most)] or [b""]
    for number, part in enumerate(parts):
        first = -len(part) if number + 1 < len(parts) else len(part)
        last = -len(part) if number else len(part)
        out.write(struct.pack(letter, first) + part + struct.pack(letter, last))


def files(seed):
    dice = random.Random(seed)
    for case in range(12):
        width, order = dice.choice([4, 8]), dice.choice("<>")
        most = dice.choice([10 ** 9, 37, 100])
        records = [dice.randbytes(dice.choice([1, 8, 40, 40, 40, dice.randint(0, 500)]))
                   for _ in range(dice.randint(1, 9))]
        records[0] = records[0] or b"x"
        with open("r.dat", "wb") as out:
            for data in records:
                write(out, data, width, order, most)
        assert [int(line[2]) for line in listed("r.dat")] == [len(data) for data in records]
        for number, data in enumerate(records):
            assert slices("r.dat", "--var", f"record{number + 1}") == [data], (case, number)
        made = spec("r.dat", "--all")
        assert list(made["views"]) == [f"record{n + 1}" for n in range(len(records))]
        for first in range(len(records)):
            last = first
            while last + 1 < len(records) and len(records[last + 1]) == len(records[first]):
                last += 1
            if last > first:
                name = f"record{first + 1}-{last + 1}"
                assert slices("r.dat", "--var", name) == [b"".join(records[first:last + 1])], name


if __name__ == "__main__":
    if sys.argv[1] == "files":
        files(int(sys.argv[2]))
    else:
        for name in sys.argv[1:]:
            compare(name)
