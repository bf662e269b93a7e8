# SPDX-License-Identifier: MIT
"""Programs of tests/bats/vectors.bats."""
import json
import os
import subprocess
import sys

from common import contents


def cat_and_mounts_show_every_slice():
    with open(sys.argv[1], encoding="ascii") as file:
        cases = [json.loads(line) for line in file]
    assert len(cases) == 258
    for case in cases:
        os.mkdir(folder := f"case{case['case']}")
        spec = f"{folder}/spec.json"
        with open(spec, "w", encoding="ascii") as out:
            json.dump(case["spec"], out)
        with open(f"{folder}/data.bin", "wb") as out:
            out.write(bytes.fromhex(case["data"]))
        subprocess.run(["mpiio-mount", spec, "mnt"], check=True)
        assert case["slices"], case
        for rank, slice in enumerate(case["slices"]):
            want = bytes.fromhex(slice)
            cat = subprocess.run(["mpiio-view", "cat", spec, "-r", str(rank)], stdout=subprocess.PIPE, check=True)
            assert cat.stdout == want, (case["case"], rank)
            assert contents(f"mnt/rank{rank}") == want, (case["case"], rank)
        subprocess.run(["umount", "mnt"], check=True)
