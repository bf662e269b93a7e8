#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view dump: values as text, CSV and JSON, read back by python.
# shellcheck disable=SC2154 # stderr, top and tmp come from bats and the helper

load helper

# all_types: all.dat and all.json, rows of a value of every basic type; values.py has `types` and
# read(name, text), the native bytes of a value's text, exactly.
all_types() {
    cat >values.py <<'END'
import struct
from fractions import Fraction

# name: kind and bytes. Kinds: i, u (integers), f (bytes a part), l, b (byte), c (char).
types = {
    "packed": ("b", 1), "byte": ("b", 1), "char": ("c", 1), "unsigned_char": ("u", 1),
    "signed_char": ("i", 1), "wchar": ("u", 4), "short": ("i", 2), "unsigned_short": ("u", 2),
    "int": ("i", 4), "unsigned": ("u", 4), "long": ("i", 8), "unsigned_long": ("u", 8),
    "long_long_int": ("i", 8), "unsigned_long_long": ("u", 8), "float": ("f4", 4),
    "double": ("f8", 8), "long_double": ("f10", 16), "c_bool": ("l", 1), "int8_t": ("i", 1),
    "int16_t": ("i", 2), "int32_t": ("i", 4), "int64_t": ("i", 8), "uint8_t": ("u", 1),
    "uint16_t": ("u", 2), "uint32_t": ("u", 4), "uint64_t": ("u", 8), "aint": ("i", 8),
    "count": ("i", 8), "offset": ("i", 8), "c_complex": ("f4", 8), "c_double_complex": ("f8", 16),
    "c_long_double_complex": ("f10", 32), "character": ("c", 1), "logical": ("l", 4),
    "integer": ("i", 4), "real": ("f4", 4), "double_precision": ("f8", 8), "complex": ("f4", 8),
    "double_complex": ("f8", 16), "integer1": ("i", 1), "integer2": ("i", 2),
    "integer4": ("i", 4), "integer8": ("i", 8), "integer16": ("i", 16), "real2": ("f2", 2),
    "real4": ("f4", 4), "real8": ("f8", 8), "real16": ("f16", 16), "complex4": ("f2", 4),
    "complex8": ("f4", 8), "complex16": ("f8", 16), "complex32": ("f16", 32),
    "cxx_bool": ("l", 1), "cxx_float_complex": ("f4", 8), "cxx_double_complex": ("f8", 16),
    "cxx_long_double_complex": ("f10", 32),
}
# bits of exponent and significand, with the first one; bytes in memory
formats = {"f2": (5, 11, 2), "f4": (8, 24, 4), "f8": (11, 53, 8), "f10": (15, 64, 16),
           "f16": (15, 113, 16)}


def real(kind, text):
    """Decimal to binary, rounded to nearest even."""
    bits, precision, size = formats[kind]
    stored = precision if kind == "f10" else precision - 1
    top, sign = (1 << bits) - 1, text.startswith("-")
    text = text.lstrip("-")
    if text in ("inf", "nan"):
        exponent, significand = top, 1 << precision - 1
        if text == "nan":
            significand |= 1 << precision - 2
    else:
        value, exponent, least = Fraction(text), 0, 2 - (1 << bits - 1)
        if value:
            exponent = value.numerator.bit_length() - value.denominator.bit_length()
            exponent -= value < Fraction(2) ** exponent
        exponent = max(exponent, least)
        significand = round(value / Fraction(2) ** (exponent - precision + 1))
        if significand >> precision:
            significand, exponent = significand >> 1, exponent + 1
        exponent = exponent - least + 1 if significand >> precision - 1 else 0
    significand &= (1 << stored) - 1
    whole = (sign << bits | exponent) << stored | significand
    return whole.to_bytes(size, "little")


def parts(name):
    kind, size = types[name]
    return size // formats[kind][2] if kind[0] == "f" else 1


def read(name, text):
    """text: a list of one a part."""
    kind, size = types[name]
    if kind[0] == "f":
        return b"".join(real(kind, part) for part in text)
    (text,) = text
    if kind in "iu":
        return int(text).to_bytes(size, "little", signed=kind == "i")
    if kind == "l":
        return {"true": 1, "false": 0}[text].to_bytes(size, "little")
    if kind == "b":
        return bytes.fromhex(text)
    return text.encode("latin1")
END
    /usr/bin/python3 - <<'END'
import json, random
from values import *
random.seed(5)
bits = lambda n: random.getrandbits(n)
offsets, at = [], 0
for name in types:
    offsets.append(at)
    at += types[name][1]
extent = -(-at // 16) * 16


def part(kind):
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
        return b"".join(part(kind) for _ in range(parts(name)))
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
END
}

@test "dump: every basic type as text reads back bit for bit" {
    all_types
    mpiio-view dump all.json -r 0 >all.txt
    [ "$(wc -l <all.txt)" -eq 300 ]
    /usr/bin/python3 - >got <<'END'
import re, sys
from values import *
for line in open("all.txt", newline="\n"):
    words = line[:-1].split(" ")
    for name in types:
        text = [words.pop(0) for _ in range(parts(name))]
        if types[name][0] == "c":
            text = [re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text[0])]
        sys.stdout.buffer.write(read(name, text))
    assert not words
END
    cmp got all.native
}

@test "dump: every basic type as CSV reads back bit for bit" {
    all_types
    mpiio-view dump all.json -r 0 --format csv >all.csv
    /usr/bin/python3 - >got <<'END'
import csv, re, sys
from values import *
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
END
    cmp got all.native
}

@test "dump: every basic type as JSON reads back bit for bit, with and without names" {
    local names
    all_types
    names=$(/usr/bin/python3 -c 'from values import *; print(",".join(types))')
    mpiio-view dump all.json -r 0 --format json >arrays.json
    mpiio-view dump all.json -r 0 --format json --fields "$names" >objects.json
    jq -e 'length == 300' arrays.json
    for file in arrays objects; do
        /usr/bin/python3 - "$file.json" >got <<'END'
import json, sys
from values import *
for row in json.load(open(sys.argv[1]), parse_float=str, parse_int=str,
                     parse_constant=lambda name: 1 / 0):
    row = list(row.values()) if isinstance(row, dict) else row
    assert len(row) == len(types)
    for name, value in zip(types, row):
        text = value if parts(name) == 2 else [value]
        text = [{True: "true", False: "false"}.get(part, part) for part in text]
        sys.stdout.buffer.write(read(name, text))
END
        cmp got all.native
    done
}

@test "dump: real numbers are the shortest, as python writes them" {
    /usr/bin/python3 - <<'END'
import json, random, struct
random.seed(1)
values = [struct.unpack("<d", random.randbytes(8))[0] for _ in range(20000)]
values = [value for value in values if value == value]
values += [random.uniform(-1e6, 1e6) for _ in range(20000)] + [10.0 ** i for i in range(-320, 308)]
values += [2.0 ** i for i in range(-1074, 1024)] + [i / 100 for i in range(5000)]
open("d.dat", "wb").write(struct.pack(f"<{len(values)}d", *values))
open("expected", "w").writelines(f"{value!r}\n" for value in values)
json.dump({"viewspec": 1, "file": "d.dat", "view": {"etype": "double"}}, open("d.json", "w"))
END
    mpiio-view dump d.json -r 0 | cmp - expected
    (
        echo f0
        cat expected
    ) | cmp - <(mpiio-view dump d.json -r 0 --format csv)
}

# atoms: a file of five records: id, tag of 4 characters, position of three doubles, key of 3 bytes.
atoms() {
    /usr/bin/python3 - <<'END'
import struct
with open("atoms.dat", "wb") as out:
    for i, tag in enumerate([b"H", b"He", b'a,"b', b"\\\n\xff ", b"Xe"]):
        out.write(struct.pack("<i4s3d3s5x", i, tag, i, -i, i / 2, bytes([i, 255, 16])))
END
    cat >atoms.json <<'END'
{ "viewspec": 1, "file": "atoms.dat",
  "view": { "etype": { "type": "resized", "lb": 0, "extent": 40,
                       "oldtype": { "type": "struct", "types": ["int", "char", "double", "byte"],
                                    "blocklengths": [1, 4, 3, 3],
                                    "displacements": [0, 4, 8, 32] } } } }
END
}

@test "dump: names of fields, several values of a name, strings" {
    atoms
    [ "$(mpiio-view dump atoms.json -r 0 | sed -n 2p)" = '1 H e \000 \000 1.0 -1.0 0.5 01 ff 10' ]
    [ "$(mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],at[3],key[3]' | sed -n 2p)" = \
        '1 He\000\000 1.0 -1.0 0.5 01ff10' ]
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],at[3],key[3]' --format csv >atoms.csv
    diff - atoms.csv <<'END'
id,tag,at[0],at[1],at[2],key
0,"H\000\000\000",0.0,0.0,0.0,00ff10
1,"He\000\000",1.0,-1.0,0.5,01ff10
2,"a,""b",2.0,-2.0,1.0,02ff10
3,"\134\012\377 ",3.0,-3.0,1.5,03ff10
4,"Xe\000\000",4.0,-4.0,2.0,04ff10
END
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],x,y,z,key[3]' --format json >out.json
    /usr/bin/python3 - <<'END'
import json
rows = json.load(open("out.json"))
assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
assert [row["tag"] for row in rows] == ["H\0\0\0", "He\0\0", 'a,"b', "\\\n\xff ", "Xe\0\0"]
assert rows[3] == {"id": 3, "tag": "\\\n\xff ", "x": 3.0, "y": -3.0, "z": 1.5, "key": "03ff10"}
END
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[1],t[3],at[3],key[3]' --format json |
        jq -e '.[1].tag == "H" and .[1].t == "e\u0000\u0000" and .[1].at == [1, -1, 0.5]'
}

@test "dump: wrong fields and formats" {
    local see="(see mpiio-view dump --help)"
    atoms
    fails 2 "--fields: 2 values named, an etype has 11 $see" \
        mpiio-view dump atoms.json -r 0 --fields a,b
    fails 2 "--fields: 12 values named, an etype has 11 $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a,b[11]'
    fails 2 "--fields a b: a name is letters, digits, _, - and . $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a b'
    fails 2 "--fields a[0]: a field is NAME or NAME[N], N from 1 on $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a[0]'
    fails 2 "--fields : a name is letters, digits, _, - and . $see" mpiio-view dump atoms.json -r 0 --fields 'a,'
    fails 2 "--fields a: the name is there twice $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a,a'
    fails 2 "dump: --format xml: expected text, csv or json $see" \
        mpiio-view dump atoms.json -r 0 --format xml
    fails 2 "cat: --format: not an option of this subcommand (see mpiio-view cat --help)" \
        mpiio-view cat atoms.json -r 0 --format csv
    rm atoms.dat
    fails 1 "$tmp/atoms.dat: No such file or directory" mpiio-view dump atoms.json -r 0
}

@test "dump: a range is the etypes that hold it" {
    atoms
    ids() {
        mpiio-view dump atoms.json -r 0 "$@" | cut -d ' ' -f 1 | paste -sd ' '
    }
    # An etype is 35 bytes of the slice.
    [ "$(ids)" = "0 1 2 3 4" ]
    [ "$(ids --offset 35)" = "1 2 3 4" ]
    [ "$(ids --offset 34 --length 1)" = 0 ]
    [ "$(ids --offset 34 --length 2)" = "0 1" ]
    [ "$(ids --offset 104 --length 1G)" = "2 3 4" ]
    [ "$(ids --length 0)" = "" ]
    [ "$(ids --offset 175)" = "" ]
    [ "$(ids --offset 8388607T)" = "" ]
    [ "$(mpiio-view dump atoms.json -r 0 --format json --offset 1T)" = "[]" ]
    [ "$(mpiio-view dump atoms.json -r 0 --format csv --offset 1T | wc -l)" -eq 1 ]
}

@test "dump: an etype of a million values is one line, of all kinds of values mixed" {
    make_file f.dat 12000000
    cat >f.json <<'END'
{ "viewspec": 1, "file": "f.dat",
  "types": { "pair": { "type": "struct", "types": ["uint64_t", "uint16_t"],
                       "blocklengths": [1, 1], "displacements": [0, 8] } },
  "view": { "etype": { "type": "contiguous", "count": 600000,
                       "oldtype": { "type": "resized", "lb": 0, "extent": 20,
                                    "oldtype": "pair" } } } }
END
    mpiio-view dump f.json -r 0 >line
    [ "$(wc -l <line)" -eq 1 ]
    /usr/bin/python3 - <<'END'
import numpy
data = numpy.fromfile("f.dat", dtype=[("a", "<u8"), ("b", "<u2"), ("gap", "V10")])
words = open("line").read().split(" ")
assert words[::2] == [str(value) for value in data["a"]]
assert "\n".join(words[1::2]) == "\n".join(str(value) for value in data["b"]) + "\n"
END
}

@test "dump: the values are the same in other representations" {
    atoms
    mpiio-view convert atoms.json --to external32 -o e.dat --spec e.json
    mpiio-view convert atoms.json --to big-endian -o b.dat --spec b.json
    cmp <(mpiio-view dump atoms.json -r 0) <(mpiio-view dump e.json -r 0)
    cmp <(mpiio-view dump atoms.json -r 0) <(mpiio-view dump b.json -r 0)
}

@test "dump: a reader that goes ends it quietly, a full device does not" {
    local status=0
    make_file d.dat 8000000
    echo '{ "viewspec": 1, "file": "d.dat", "view": { "etype": "double" } }' >d.json
    { mpiio-view dump d.json -r 0 2>err || echo "$?" >status; } | head -n 1 >/dev/null
    [ ! -s err ]
    [[ $(cat status) =~ ^(1|141)$ ]]
    mpiio-view dump d.json -r 0 >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    [ "$(cat err)" = "mpiio-view: standard output: No space left on device" ]
}

@test "dump: a file that is made shorter meanwhile is told" {
    local status=0
    make_file d.dat 8000000
    echo '{ "viewspec": 1, "file": "d.dat", "view": { "etype": "uint64_t" } }' >d.json
    # The pipe is full long before the end; then the file is cut.
    { mpiio-view dump d.json -r 0 2>err || echo "$?" >status; } | {
        read -r
        truncate -s 80 d.dat
        cat >/dev/null
    }
    [ "$(cat status)" -eq 1 ]
    [ "$(cat err)" = "mpiio-view: $tmp/d.dat: the file was made shorter meanwhile" ]
}
