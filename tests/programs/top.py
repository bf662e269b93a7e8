# SPDX-License-Identifier: MIT
"""Programs of tests/bats/top.bats."""
import json
import re
import sys

from common import main


def all_numbers_of_stats_json():
    stats = json.load(open(sys.argv[1] + "/.mpiio/stats.json"))
    found = {}
    for line in open("mpiio.prom"):
        if not line.startswith("#"):
            match = re.fullmatch(r'mpiio_(\w+)\{mountpoint="([^"]*)"(?:,kind="(\w+)")?\} (\d+)\n', line)
            assert match and match[2] == sys.argv[1], line
            found[match[1], match[3]] = int(match[4])
    assert found["up", None] == 1 and found["degraded", None] == 0
    assert found["slice_read_bytes_total", None] == stats["slice_read_bytes"] > 0
    assert set(kind for name, kind in found if name == "requests_total") == set(stats["requests"])
    for name in ("store_writes", "lost_bytes", "nodes"):
        assert found.get((name, None), found.get((name + "_total", None))) == stats[name], name


main(globals())
