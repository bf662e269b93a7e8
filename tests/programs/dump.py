# SPDX-License-Identifier: MIT
"""Programs of tests/bats/dump.bats."""
import csv
import json
import random
import re
import struct
import sys

from basic_types import formats, parts, read, types


def names():
    print(",".join(types))


def all_types():
    """Makes all.dat and all.json: rows with a value of every basic type."""
    random.seed(5)
    bits = lambda n: random.getrandbits(n)
    offsets, at = [], 0
    for name in types:
        offsets.append(at)
        at += types[name][1]
    extent = -(-at // 16) * 16

    def random_part(kind):
        exponent_bits, precision, size = formats[kind]
        top = (1 << exponent_bits) - 1
        fraction = bits(precision - 1) >> random.choice([0, 0, precision // 2]) \
            << random.choice([0, 0, precision // 2]) & (1 << precision - 1) - 1
        exponent = random.choice([0, 1, top // 2, top // 2 + 3, top - 1, bits(exponent_bits) % top, top])
        if exponent == top:
            fraction = random.choice([0, 1 << precision - 2])
        if kind == "f10" and exponent:
            fraction |= 1 << 63
        stored = precision if kind == "f10" else precision - 1
        return ((bits(1) << exponent_bits | exponent) << stored | fraction).to_bytes(size, "little")

    def value(name):
        kind, size = types[name]
        if kind[0] == "f":
            return b"".join(random_part(kind) for _ in range(parts(name)))
        if kind == "l":
            return bits(1).to_bytes(size, "little")
        return random.choice([bits(8 * size), bits(7), 0, (1 << 8 * size) - 1]) \
            .to_bytes(size, "little")

    rows = [b"".join(map(value, types)) for _ in range(300)]
    open("all.dat", "wb").write(b"".join(row.ljust(extent, b"\xaa") for row in rows))
    open("all.native", "wb").write(b"".join(rows))
    json.dump({"viewspec": 1, "file": "all.dat",
               "view": {"etype": {"type": "struct", "types": list(types), "displacements": offsets,
                                  "blocklengths": [1] * len(types)}}}, open("all.json", "w"))


def every_basic_type_as_text_reads():
    for line in open("all.txt", newline="\n"):
        words = line[:-1].split(" ")
        for name in types:
            text = [words.pop(0) for _ in range(parts(name))]
            if types[name][0] == "c":
                text = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text[0])]
            sys.stdout.buffer.write(read(name, text))
        assert not words


def every_basic_type_as_csv_reads():
    rows = csv.reader(open("all.csv", newline=""), strict=True)
    head = [f"f{i}{part}" for i, name in enumerate(types)
            for part in ([".re", ".im"] if parts(name) == 2 else [""])]
    assert next(rows) == head
    for row in rows:
        assert len(row) == len(head)
        for name in types:
            text = [row.pop(0) for _ in range(parts(name))]
            if types[name][0] == "c":
                text = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text[0])]
            sys.stdout.buffer.write(read(name, text))


def every_basic_type_as_json_reads():
    for row in json.load(open(sys.argv[1]), parse_float=str, parse_int=str,
                         parse_constant=lambda name: 1 / 0):
        row = list(row.values()) if isinstance(row, dict) else row
        assert len(row) == len(types)
        for name, value in zip(types, row):
            text = value if parts(name) == 2 else [value]
            text = [{True: "true", False: "false"}.get(part, part) for part in text]
            sys.stdout.buffer.write(read(name, text))


def real_numbers_are_the_shortest():
    random.seed(1)
    values = [struct.unpack("<d", random.randbytes(8))[0] for _ in range(20000)]
    values = [value for value in values if value == value]
    values += [random.uniform(-1e6, 1e6) for _ in range(20000)] + [10.0 ** i for i in range(-320, 308)]
    values += [2.0 ** i for i in range(-1074, 1024)] + [i / 100 for i in range(5000)]
    open("d.dat", "wb").write(struct.pack(f"<{len(values)}d", *values))
    open("expected", "w").writelines(f"{value!r}\n" for value in values)
    json.dump({"viewspec": 1, "file": "d.dat", "view": {"etype": "double"}}, open("d.json", "w"))


def atoms():
    with open("atoms.dat", "wb") as out:
        for i, tag in enumerate([b"H", b"He", b'a,"b', b"\\\n\xff ", b"Xe"]):
            out.write(struct.pack("<i4s3d3s5x", i, tag, i, -i, i / 2, bytes([i, 255, 16])))


def names_of_fields():
    rows = json.load(open("out.json"))
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["tag"] for row in rows] == ["H\0\0\0", "He\0\0", 'a,"b', "\\\n\xff ", "Xe\0\0"]
    assert rows[3] == {"id": 3, "tag": "\\\n\xff ", "x": 3.0, "y": -3.0, "z": 1.5, "key": "03ff10"}


def an_etype_of_a_million_values():
    import numpy
    data = numpy.fromfile("f.dat", dtype=[("a", "<u8"), ("b", "<u2"), ("gap", "V10")])
    words = open("line").read().split(" ")
    assert words[::2] == [str(value) for value in data["a"]]
    assert "\n".join(words[1::2]) == "\n".join(str(value) for value in data["b"]) + "\n"
