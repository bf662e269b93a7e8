# SPDX-License-Identifier: MIT
"""Programs of tests/bats/exercise.bats."""
import sys


def file_is_model():
    data = open(sys.argv[2], "rb").read()
    want = bytearray(open("before.dat", "rb").read())
    want += bytes(len(data) - len(want))
    for rank in range(int(sys.argv[1])):
        model = open(f"model{rank}", "rb").read()
        for line in open(f"map{rank}"):
            fields = line.split()
            if fields[0].isdigit():
                offset, displacement, length = map(int, fields)
                want[displacement:displacement + length] = model[offset:offset + length]
    if len(want) != len(data):
        sys.exit(f"{len(data)} bytes, {len(want)} expected")
    bad = [i for i in range(len(data)) if data[i] != want[i]]
    if bad:
        sys.exit(f"{len(bad)} bytes differ, first at {bad[0]}, last at {bad[-1]}")


def values_in_another_byte_order():
    import numpy
    data = open("x.dat", "rb").read()
    assert data[:6] == open("before.dat", "rb").read()[:6]
    records = len(data[6:]) // 20
    file = numpy.frombuffer(data, numpy.uint8, records * 20, 6).reshape(-1, 20)
    def parts(a):
        return numpy.concatenate([a[:, 0:10], a[:, 12:20]], axis=1)
    for rank in (0, 1):
        model = numpy.fromfile(f"model{rank}", numpy.uint8).reshape(-1, 18)
        want = model.copy()
        for start, end in ((0, 2), (2, 6), (6, 10), (10, 18)):
            want[:, start:end] = model[:, start:end][:, ::-1]
        got = parts(file[rank::2])
        assert (got == want[:len(got)]).all() and len(got) == len(want), rank
