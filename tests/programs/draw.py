# SPDX-License-Identifier: MIT
"""Programs of tests/bats/draw.bats."""
import json
import random
import sys
import xml.etree.ElementTree as tree


def random_views_say_what_the_map():
    r = random.Random(int(sys.argv[1]))
    blocks, at = [[], []], 0
    for _ in range(r.randint(1, 5)):
        blocks[0].append(r.randint(1, 4))
        blocks[1].append(at + r.randint(0, 3))
        at = blocks[0][-1] + blocks[1][-1]
    print(json.dumps({"viewspec": 1, "file": "r.dat", "ranks": 3, "view": {
        "disp": f"{r.randint(0, 9)} + {r.randint(0, 12)} * rank", "etype": "short",
        "filetype": {"type": "resized", "lb": 0, "extent": 2 * r.randint(at // 2 + 1, 2 * at),
                     "oldtype": {"type": "indexed", "blocklengths": blocks[0],
                                 "displacements": blocks[1]}}}}))


RANK = [(0x00, 0x72, 0xB2), (0xF0, 0xE4, 0x42), (0xD5, 0x5E, 0x00), (0x56, 0xB4, 0xE9)]  # their colours


def read_png(name):
    """Returns the image's lines, from the top, with three colours for each pixel."""
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOImage import vtkPNGReader
    reader = vtkPNGReader()
    reader.SetFileName(name)
    reader.Update()
    width, height, _ = reader.GetOutput().GetDimensions()
    pixels = vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars())
    return pixels.reshape(height, width, -1)[::-1, :, :3]


def cells_of_figure():
    """Returns the positions of f.svg's cells from left to right and from the top, and f.png's
    pixels."""
    pixels = read_png("f.png")
    root = tree.parse("f.svg").getroot()
    assert pixels.shape[:2] == (int(root.get("height")), int(root.get("width")))
    cells = [tuple(float(r.get(k)) for k in ("x", "y", "width"))
             for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")]
    cells = [c for c in cells if c[2] == cells[0][2]]
    return cells, pixels


def at(pixels, cell):
    """Returns the colour near a cell's corner."""
    return tuple(pixels[int(cell[1]) + 3, int(cell[0]) + 3])


def all_of(pixels, cell):
    """Returns the set of a cell's colours."""
    x, y, side = map(int, cell)
    return set(map(tuple, pixels[y + 2 : y + side - 2, x + 2 : x + side - 2].reshape(-1, 3)))


def distributed():
    cells, pixels = cells_of_figure()
    assert len(cells) == 70, len(cells)
    for number, cell in enumerate(cells):
        line, column = divmod(number, 10)
        assert at(pixels, cell) == RANK[line // 2 % 2 * 2 + column // 3 % 2], (line, column, at(pixels, cell))


def fortran():
    cells, pixels = cells_of_figure()
    assert len(cells) == 48, len(cells)
    for number, cell in enumerate(cells):
        line, column = divmod(number, 8)
        owner = [r for r in range(3)
                 if 2 * (r % 2) <= column < 2 * (r % 2) + 4 and 2 * r <= line < 2 * r + 2]
        if owner:
            assert at(pixels, cell) == RANK[owner[0]], (line, column, at(pixels, cell))
        else:  # hatched: white and grey, no RANK's colour
            seen = all_of(pixels, cell)
            assert (255, 255, 255) in seen and len(seen) > 3 and not seen & set(RANK)
            assert all(max(c) - min(c) < 3 for c in seen), seen


def overlapping():
    cells, pixels = cells_of_figure()
    assert len(cells) == 144, len(cells)
    for number, cell in enumerate(cells):
        line, column = divmod(number, 12)
        owners = {RANK[r] for r in range(4)
                  if 5 * (r % 2) <= column < 5 * (r % 2) + 7
                  and 5 * (r // 2) <= line < 5 * (r // 2) + 7}
        assert all_of(pixels, cell) & set(RANK) == owners, (line, column)
