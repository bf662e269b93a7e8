# SPDX-License-Identifier: MIT
"""Programs of tests/bats/view.bats."""
import json
import re
import shlex
import subprocess
import sys


def make_slice():
    data = open(sys.argv[1], "rb").read()
    start = int(sys.argv[2]) + 8 * int(sys.argv[3])
    for at in range(start, len(data) - 7, 32):
        sys.stdout.buffer.write(data[at : at + 8])


def examples_are_true():
    text = open(sys.argv[1]).read()
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
    examples = outputs = 0
    spec = None
    for block in blocks:
        if block.startswith("{"):
            json.loads(block)
            spec = f"example{examples}.json"
            open(spec, "w").write(block)
            subprocess.run(["mpiio-view", "map", spec, "-r", "0", "--length", "1"], check=True,
                           stdout=subprocess.DEVNULL)
            examples += 1
            continue
        for command, expected in re.findall(r"^\$ mpiio-view (.*)\n((?:(?!\$).*\n)*)", block, re.M):
            words = [spec if word == "SPEC" else word for word in shlex.split(command)]
            got = subprocess.run(["mpiio-view"] + words, check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
            want = [line.split() for line in expected.splitlines()]
            outputs += 1
            assert [line.split() for line in got.splitlines()] == want, (spec, command, got)
    assert examples >= 18 and outputs >= examples, (examples, outputs)
