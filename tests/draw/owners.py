#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares a drawing with the map of each rank's slice.

owners.py RANKS ELEMENT SPEC OPTION...: draws SPEC with the options and reads what the drawing
says of each cell. A line's cells stand for `scale` bytes each from the line's displacement on; of
an array, for `scale` elements of ELEMENT bytes in each of `down` lines (ELEMENT 0: no array)."""
import collections
import re
import subprocess
import sys


def view(*words):
    return subprocess.run(["mpiio-view", *words], check=True, capture_output=True, text=True).stdout


def owners(spec, ranks, options, end):
    """Returns how often each rank has each byte below end."""
    held = collections.defaultdict(list)
    for rank in range(ranks):
        words = ["map", spec, "-r", str(rank), "--length", str(end * 2), *options]
        for line in view(*words).splitlines():
            _, displacement, length = map(int, line.split())
            for byte in range(displacement, min(displacement + length, end)):
                held[byte].append(rank)
    return held


def meaning(held, cell):
    """Returns what a cell of these bytes must show."""
    of_bytes = [held.get(byte, []) for byte in cell]
    ranks = {rank for byte in of_bytes for rank in byte}
    if any(len(byte) > 1 for byte in of_bytes):
        return "#"
    if not ranks:
        return "."
    if len(ranks) > 1:
        return "+"
    return f"{ranks.pop()}" + ("" if all(of_bytes) else "~")


def main():
    ranks, element, spec, options = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    of_view = []
    for name in ("-v", "-n"):
        if name in options:
            of_view += [name, options[options.index(name) + 1]]
    text = view("draw", spec, *options)
    down = 1
    if element:
        found = re.search(r"a cell is (\d+) lines? of (\d+) elements?", text)
        down, scale = (int(found[1]), int(found[2]) * element) if found else (1, element)
    else:
        scale = int(re.search(r"a cell is (?:\d+ etypes?: )?(\d+) byte", text)[1])
    pattern = r"^ *(\d+) +(\d+)((?:[ |>]+[0-9.#+<~]+)+)\|?$" if element else \
        r"^ *(\d+)((?:[ |>]+[0-9.#+<~]+)+)\|?$"
    text = re.sub(r"\n(plane .*)?\n .*\n", r"\n", text)  # removes the numbers above the columns
    lines = [m.groups() for m in re.finditer(pattern, text, re.M)]
    assert lines, text
    begins = [int(line[-2]) for line in lines]
    array = re.search(r"array ([0-9x ]+) in (C|Fortran)", text)
    width = 0
    if element:
        sizes = [int(n) for n in array[1].split(" x ")]
        width = element * (sizes[-1] if array[2] == "C" else sizes[0])
    end = max(begins) + max(width * down, scale * 200)
    held = owners(spec, ranks, of_view, end)
    wrong = cells = 0
    for begin, line in zip(begins, lines):
        for number, said in enumerate(re.findall(r"[0-9.#+<~]+", line[-1])):
            start = begin + number * scale
            stop = min(start + scale, begin + width) if element else start + scale
            cell = [b + d * width for d in range(down) for b in range(start, stop)]
            right = meaning(held, cell)
            cells += 1
            if said != right and not (said == "<" and right == "."):
                wrong += 1
                print(f"at {start}: {said}, not {right}")
    print(f"{cells} cells, {wrong} wrong")
    sys.exit(wrong > 0 or cells < 4)


main()
