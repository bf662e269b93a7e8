# SPDX-License-Identifier: MIT
"""Each test runs in an empty folder."""
import json

import numpy
import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def field():
    """Writes the file of tests/mpi/write_demo.c and its spec: 7 x 10 doubles in blocks of 2 x 2
    ranks, behind 64 bytes. Returns the array."""
    rows, columns = numpy.indices((7, 10))
    array = (rows // 4 * 2 + columns // 5) * 10000.0 + rows * 100 + columns
    with open("field.dat", "wb") as file:
        file.write(bytes(64) + array.tobytes())
    with open("field.json", "w", encoding="utf-8") as file:
        json.dump({"viewspec": 1, "file": "field.dat", "ranks": 4, "view": {
            "disp": 64, "etype": "double", "filetype": {
                "type": "darray", "gsizes": [7, 10], "distribs": ["block", "block"],
                "dargs": [None, None], "psizes": [2, 2], "order": "C"}}}, file)
    return array
