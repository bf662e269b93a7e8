# SPDX-License-Identifier: MIT
"""Damages the text of files that describe themselves: damage.py FILE...

mpiio-view must accept each file, or refuse it with its own messages: one line for a file, and lines
for variables that cannot be views.
"""
import os
import random
import subprocess
import sys

dice = random.Random(5)


def damage(data, first=4, end=None, values=(0, 1, 127, 255)):
    """Returns the data with other values in one to four of its bytes, between two offsets."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        data[dice.randrange(first, end or len(data))] = dice.choice(values)
    return data


def spec(path, *arguments):
    done = subprocess.run(["mpiio-view", "spec", "--from", path, *arguments], capture_output=True, timeout=300, check=False)
    lines = done.stderr.decode(errors="replace").splitlines()
    assert done.returncode in (0, 1, 2), (path, done.returncode, lines)
    assert all(line.startswith("mpiio-view: ") for line in lines), (path, lines)
    assert done.returncode == 0 or lines and not done.stdout, (path, lines)
    assert done.returncode == 0 or arguments or len(lines) == 1, (path, lines)
    return done.returncode, lines


def main(paths):
    refused = 0
    for path in paths:
        if not os.path.exists(path):  # a pattern that matched no file
            continue
        with open(path, "rb") as file:
            whole = file.read()
        damaged = "damaged" + os.path.splitext(path)[1]
        header = min(len(whole), 2000)
        for i in range(8):
            cut = whole[:dice.randrange(header)]
            with open(damaged, "wb") as file:
                file.write(cut if i < 3 else damage(whole, 4, header, b"\0\n 0179-{}<>\"'\xff"))
            refused += spec(damaged)[0] != 0
            spec(damaged, "--all")
    print(refused)
    assert refused > len(paths) // 2, refused


if __name__ == "__main__":
    main(sys.argv[1:])
