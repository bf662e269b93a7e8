# SPDX-License-Identifier: MIT
"""Programs of tests/bats/top.bats."""
import re
import sys

from common import stats


def all_numbers_of_stats_json():
    now = stats(sys.argv[1])
    found = {}
    for line in open("mpiio.prom"):
        if not line.startswith("#"):
            match = re.fullmatch(r'mpiio_(\w+)\{mountpoint="([^"]*)"(?:,kind="(\w+)")?\} (\d+)\n', line)
            assert match and match[2] == sys.argv[1], line
            found[match[1], match[3]] = int(match[4])
    assert found["up", None] == 1 and found["degraded", None] == 0
    assert found["slice_read_bytes_total", None] == now["slice_read_bytes"] > 0
    assert set(kind for name, kind in found if name == "requests_total") == set(now["requests"])
    for name in ("store_writes", "lost_bytes", "nodes"):
        assert found.get((name, None), found.get((name + "_total", None))) == now[name], name
