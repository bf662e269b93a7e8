# SPDX-License-Identifier: MIT
"""Programs of tests/bats/sequential.bats."""
import os

from common import fails, in_processes


def processes_take_whole_records():
    records = 5000
    def feed():
        text = b"".join(b"record %08d\n" % i for i in range(records))
        with open("f", "wb", buffering=0) as out:
            for start in range(0, len(text), 777):
                out.write(text[start:start + 777])
    def work(number):
        if number == 4:
            return feed()
        with open("mnt/shared", "rb", buffering=0) as source, open(f"out{number}", "wb") as out:
            while data := source.read(1000):
                assert len(data) % 16 == 0
                out.write(data)
    in_processes(work, range(5))
    got = sorted(b"".join(open(f"out{i}", "rb").read() for i in range(4)).splitlines())
    assert got == [b"record %08d" % i for i in range(records)]


def records_that_processes_write_come_whole():
    def work(number):
        with open("mnt/shared", "wb", buffering=0) as out:
            for i in range(500):
                out.write(b"%d: line %07d\n" % (number, i))
            assert fails(out.write, b"short") == "EINVAL"
    in_processes(work, range(4))
    for rank in (2, 1, 0):
        with open(f"mnt/ordered/rank{rank}", "wb") as out:
            out.write(b"rank %d         \n" % rank)
    assert fails(os.open, "mnt/shared", os.O_RDONLY) == "EACCES"
