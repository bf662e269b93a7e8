# SPDX-License-Identifier: MIT
"""Programs of tests/bats/bench.bats."""
import contextlib
import sys
import xml.etree.ElementTree as tree


sys.dont_write_bytecode = True
# First, because this folder has other modules of the same names.
sys.path.insert(0, sys.path[0] + "/../bench")
from blocks import block_data, read_blocks  # noqa: E402
from rows import BLOCKS, RECORDS, table  # noqa: E402
from runners import RUNNERS  # noqa: E402
from testbed import MIB, Failure, Testbed  # noqa: E402


def marks():
    """Prints the kind of each mark in a chart, and its position from left to right."""
    for circle in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}circle"):
        kind = circle.get("class").split()
        if kind[0] == "mark":
            print(kind[1], circle.get("cx"))


def takes_and_writes_records():
    with contextlib.closing(Testbed(True)) as bench:
        bench.records = 800
        values = {value for row in table() if row.id == "P18" for value in row.values()}
        for value in sorted(values):
            runner, name = value.split(".")
            assert RUNNERS[runner](bench, RECORDS)[name] > 0, value
    assert {"take_nodes.rate", "put_mount.rate", "ordered_nodes.rate", "ordered_romio.rate"} < values


def writes_and_reads_blocks():
    def fails(work, *arguments):
        try:
            work(*arguments)
        except Failure as error:
            return str(error)
        raise AssertionError("wrong data was not detected")
    with contextlib.closing(Testbed(True)) as bench:
        bench.write = 8 * MIB
        for setting in BLOCKS:
            names = {value.split(".")[0] for row in table() if row.setting == setting
                     for value in row.values()}
            assert names == {"array_nodes", "array_romio"}
            for name in sorted(names):
                rates = RUNNERS[name](bench, setting)
                assert rates["write_rate"] > 0 and rates["read_rate"] > 0, name
        data = block_data(bench, setting)
        data[3] = data[3][:-8] + bytes(8)
        assert fails(read_blocks, bench, setting).endswith("read wrong data")
        assert fails(RUNNERS["array_nodes"], bench, setting).endswith("wrong data in the file")
