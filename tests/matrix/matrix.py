#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The matrix of faults: the result of each operation on a mount under each fault, and the effect on
the data. tests/matrix/faults.txt has the expected results.

    matrix.py run FAULT...      runs their cells; prints those that differ; status 1 if any do
    matrix.py find FAULT...     prints the rows as they are
    matrix.py page              prints the table as mpiio-fused(8) shows it

Run it as root in an empty folder, with the commands on the PATH, tests/shared in PYTHONPATH and
MPIIO_SBIN in the environment.

Each cell works on its own 8 KiB of rank 0 (on several nodes: at node 0). The operations define what
is prepared before the fault, and done during it. After each cell, the fault is removed and the file
is compared with a model: other ranks' bytes are unchanged, bytes acknowledged by fsync are there,
and refused bytes are as before or as written.
"""
import os
import sys

from cells import OPERATIONS, Cell
from faults import FAULTS
from mounts import Wrong, page

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults.txt")


def table():
    """Returns {(fault, nodes): [answer, ...]}, in the order of the file."""
    rows = {}
    for line in open(TABLE):
        words = line.split("#")[0].split()
        if words:
            fault, nodes, *answers = words
            assert len(answers) == len(OPERATIONS), line
            rows[fault, int(nodes)] = answers
    return rows


def answers_of(fault, nodes):
    """Runs the cells of a row. If the fault can be removed, cells share a mount."""
    answers, mount = [], None
    try:
        for number, operation in enumerate(OPERATIONS):
            cell = Cell(FAULTS[fault](), nodes, operation, number)
            try:
                answer, mount = cell.run(mount)
            except Wrong as wrong:
                answer = f"wrong({wrong})"
                cell.give_up()
                mount = None
            answers.append(answer)
    finally:
        if mount:
            mount.remove()
    return answers


def main():
    command, *names = sys.argv[1:]
    if command == "page":
        lines = [(fault, str(nodes), *answers) for (fault, nodes), answers in table().items()]
        return print(page([("fault", "n", *OPERATIONS), *lines]))
    expected, bad = table(), 0
    for fault in names:
        rows = (1, 2) if command == "find" else [n for name, n in expected if name == fault]
        assert rows, fault
        for nodes in rows:
            answers = answers_of(fault, nodes)
            if command == "find":
                print(f"{fault:12} {nodes} ", *(f"{answer:10}" for answer in answers), flush=True)
                continue
            for operation, answer, want in zip(OPERATIONS, answers, expected[fault, nodes]):
                if answer != want:
                    bad += 1
                    print(f"{fault}, {nodes} nodes, {operation}: {answer} instead of {want}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
