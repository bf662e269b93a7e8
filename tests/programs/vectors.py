# SPDX-License-Identifier: MIT
"""Programs of tests/bats/vectors.bats."""
import json
import os
import sys

from common import main


def lay_out_cases():
    for line in open(sys.argv[1]):
        case = json.loads(line)
        folder = f"case/{case['case']}"
        os.makedirs(folder)
        json.dump(case["spec"], open(f"{folder}/spec.json", "w"))
        open(f"{folder}/data.bin", "wb").write(bytes.fromhex(case["data"]))
        for rank, slice in enumerate(case["slices"]):
            open(f"{folder}/rank{rank}", "wb").write(bytes.fromhex(slice))


main(globals())
