# SPDX-License-Identifier: MIT
"""Programs of tests/bats/convert.bats."""
import json
import re
import struct
import subprocess
import sys


def records():
    with open("r.dat", "wb") as out:
        out.write(b"sixteen bytes...")
        for i in range(800):
            out.write(struct.pack("<i4sd", i - 400, b"gap%d" % (i % 10), i / 3))
        out.write(b"tail")


def representations_of_one_size_keep_every():
    data, swapped = open("r.dat", "rb").read(), open("b.dat", "rb").read()
    assert len(data) == len(swapped) and data[:16] == swapped[:16] and data[-4:] == swapped[-4:]
    for at in range(16, 16 + 800 * 16, 16):
        number, gap, real = struct.unpack_from("<i4sd", data, at)
        assert struct.unpack_from(">i4sd", swapped, at) == (number, gap, real)


def to_external32_and_back():
    data, packed = open("r.dat", "rb").read(), open("e.dat", "rb").read()
    # The real number is at byte 8 of a record of 16, by the displacements of the spec.
    assert packed[:16] == data[:16] and len(packed) == 16 + 800 * 16
    for i in range(800):
        number, gap, real = struct.unpack_from(">i4sd", packed, 16 + 16 * i)
        assert (number, gap, real) == (i - 400, b"\0" * 4, i / 3)


def vectors():
    def view(*words, status=0):
        done = subprocess.run(["mpiio-view", *words], capture_output=True)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout if not status else done.stderr.decode()

    def held(spec, ranks):
        """Returns which bytes of the file are in slices."""
        bytes = set()
        for rank in range(ranks):
            for line in view("map", spec, "-r", str(rank)).decode().splitlines():
                _, place, length = map(int, line.split("\t"))
                bytes.update(range(place, place + length))
        return bytes

    done = refused = 0
    for line in open(sys.argv[1]):
        case = json.loads(line)
        if case["case"] % 3:
            continue
        open("data.bin", "wb").write(bytes.fromhex(case["data"]))
        json.dump({**case["spec"], "file": "data.bin"}, open("spec.json", "w"))
        data = open("data.bin", "rb").read()
        ranks, slices = len(case["slices"]), [bytes.fromhex(slice) for slice in case["slices"]]
        first = case["spec"]["view"].get("datarep", "native")
        ours = held("spec.json", ranks)
        for to in ("native", "big-endian", "external32"):
            command = ("convert", "spec.json", "--to", to, "-o", "out.bin", "--spec", "out.json",
                       "--force")
            finished = subprocess.run(["mpiio-view", *command], capture_output=True)
            if finished.returncode:
                # The only errors: a long that does not fit into external32, or data that would
                # overlap itself.
                assert re.search(b"a value does not fit at slice offset|bytes of the file twice|"
                                 b"as other types|: must|displacement|overlap", finished.stderr), finished.stderr
                refused += 1
                continue
            done += 1
            for rank, slice in enumerate(slices):
                assert view("cat", "out.json", "-r", str(rank)) == slice, (case["case"], to, rank)
            view("convert", "out.json", "--to", first, "-o", "back.bin", "--force")
            back = open("back.bin", "rb").read()
            if first != "external32" and to != "external32":
                assert back == data, (case["case"], to)
            assert all(back[place] == data[place] for place in ours), (case["case"], to)
    print(done, refused)
    assert done >= 200 and refused < 60


def slices_of_many_parts():
    import numpy
    numpy.random.default_rng(4).random(2700000).tofile("m.dat")
    numpy.fromfile("m.dat").astype(">f8").tofile("expected")
    records = numpy.fromfile("m.dat", dtype=[("c", "S1"), ("d", "<f8")])
    records.astype([("c", "S1"), ("d", ">f8")]).tofile("records")


def a_view_whose_order():
    import numpy
    words = numpy.fromfile("o.dat", dtype="<u8")
    # The slice ends before the first word that is not in the file: number 100001, of tile 40000.
    mine = numpy.zeros(len(words), dtype=bool)
    mine[0:80001:2] = True
    mine[20001::2] = True
    words[mine] = words[mine].byteswap()
    assert (numpy.fromfile("b.dat", dtype="<u8") == words).all()
