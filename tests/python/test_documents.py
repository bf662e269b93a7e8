# SPDX-License-Identifier: MIT
"""The examples of the docstrings and of mpiio-python(3), and the metadata."""
import doctest
import importlib
import importlib.metadata
import pathlib
import re

import mpiio
import pytest
import xarray

TOP = pathlib.Path(__file__).parents[2]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name,least", [("mpiio", 2), ("mpiio._file", 5), ("mpiio._index", 1)])
def test_the_examples_of_docstrings_work(field, name, least):
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert not failed and tried >= least


def test_the_examples_of_the_manual_work(field):
    page = (TOP / "man/mpiio-python.3.scd").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(>>> .*?)^```$", page, re.M | re.S)
    examples = "\n".join(re.sub(r"\\(.)", r"\1", block) for block in blocks)  # as scdoc does
    test = doctest.DocTestParser().get_doctest(examples, {}, "mpiio-python(3)", None, 0)
    assert len(test.examples) > 8
    assert not doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed


def test_the_manual_has_each_name():
    page = (TOP / "man/mpiio-python.3.scd").read_text(encoding="utf-8")
    names = set(mpiio.__all__)
    for kind in (mpiio.File, mpiio.View, mpiio.Slice, mpiio.Whole):
        names |= {name for name in vars(kind) if not name.startswith("_")}
    missing = {name for name in names - {"Array", "View"} if not re.search(rf"\b{name}\b", page)}
    assert not missing


def test_each_public_name_has_a_docstring():
    for name in mpiio.__all__:
        value = getattr(mpiio, name)
        assert value.__doc__
        for member, what in vars(value).items() if isinstance(value, type) else ():
            if callable(what) or isinstance(what, property):
                assert member.startswith("_") or what.__doc__, f"{name}.{member}"


def test_the_metadata_are_installed():
    assert importlib.metadata.entry_points(group="xarray.backends")["mpiio"].load()
    assert "mpiio" in xarray.backends.list_engines()
    version = re.search(r"version: '(.*)'", (TOP / "meson.build").read_text())[1]
    assert importlib.metadata.version("mpiio") == version
    assert (pathlib.Path(mpiio.__file__).parent / "py.typed").exists()
