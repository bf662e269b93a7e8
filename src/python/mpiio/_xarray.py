# SPDX-License-Identifier: MIT
"""The engine "mpiio" of xarray: a shared file as a dataset, whose variables are read lazily."""
from __future__ import annotations

import io
import os
import warnings
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple, Union

import numpy
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._arrays import Whole
from ._file import Defines, File, PathLike, open
from ._library import SpecError

# A chunk of many small records has about so many bytes.
CHUNK = 16 << 20


class LazyArray(BackendArray):
    """An array of the file, read when xarray computes with it. Threads may read it at once."""

    def __init__(self, array: Whole) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC,
                                                  self.array.__getitem__)


class MpiioBackendEntrypoint(BackendEntrypoint):
    """xarray.open_dataset("field.json", engine="mpiio")

    A variable for each field of each view, with the names and dimensions of the spec. Its chunks,
    if asked for by chunks={}, are the blocks of the ranks.
    """

    description = "Views of MPI programs on a shared file (viewspec)"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "file", "view", "ranks",
                               "defines", "decomposition")

    def open_dataset(self, filename_or_obj: Any,  # type: ignore[override]
                     drop_variables: Union[str, Iterable[str], None] = None, *,
                     file: Optional[PathLike] = None, view: Optional[str] = None,
                     ranks: Optional[int] = None, defines: Optional[Defines] = None,
                     decomposition: Optional[str] = None) -> xarray.Dataset:
        """Opens a dataset. filename_or_obj is the spec or, if view is a view in shorthand, the
        shared file. The other arguments are those of mpiio.open."""
        if view is None:
            opened = open(filename_or_obj, file=file, ranks=ranks, defines=defines,
                          decomposition=decomposition)
        else:
            opened = open(file=filename_or_obj, view=view, ranks=ranks, defines=defines)
        try:
            dropped = {drop_variables} if isinstance(drop_variables, str) else \
                set(drop_variables or ())
            arrays = {name: array for name, array in find_arrays(opened).items()
                      if name not in dropped}
            dataset = make_dataset(arrays)
        except BaseException:
            opened.close()
            raise
        dataset.set_close(opened.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Returns whether it is the path of a spec."""
        if not isinstance(filename_or_obj, (str, os.PathLike)) or \
                not os.path.isfile(filename_or_obj):
            return False
        with io.open(filename_or_obj, "rb") as file:
            begin = file.read(4096)
        return begin.lstrip().startswith(b"{") and b'"viewspec"' in begin


def find_arrays(file: File) -> Dict[str, Whole]:
    """Returns the arrays of all views by the names of their variables. Warns of views that have
    none; raises SpecError if no view has one, or if two have one name."""
    arrays: Dict[str, Whole] = {}
    for name in file.views:
        try:
            whole = (file[name] if name else file).whole
        except SpecError as error:
            if len(file.views) == 1:
                raise
            warnings.warn(f"{name} is left out: {error}", stacklevel=4)
            continue
        base = whole.name if whole.name not in arrays else name
        if whole.fields:
            prefix = f"{base}_" if len(file.views) > 1 else ""
            found = {prefix + field: whole[field] for field in whole.fields}
        else:
            found = {base: whole}
        for variable in found:
            if variable in arrays:
                raise SpecError(f'{file.path}: two arrays are called "{variable}"')
        arrays.update(found)
    if not arrays:
        raise SpecError(f"{file.path}: no view is an array of all ranks")
    return arrays


def make_dataset(arrays: Mapping[str, Whole]) -> xarray.Dataset:
    """Returns the dataset of arrays. Where two have dimensions of one name and different sizes, or
    different grids, the dimension of the later one is named after its variable as well. So is one
    that has the name of its variable, beside others."""
    known: Dict[str, Tuple[int, Optional[Tuple[float, float]]]] = {}
    variables, coordinates = {}, {}
    for name, array in arrays.items():
        dims = []
        for dim, size in zip(array.dims, array.shape):
            grid = array.grid.get(dim)
            other_size, other = known.get(dim, (size, grid))
            if size != other_size or (grid and other and grid != other) or \
                    (dim == name and array.ndim > 1):
                dim = f"{name}_{dim}"
            else:
                known[dim] = size, grid or other
            dims.append(dim)
            if grid is not None and dim not in arrays:
                coordinates[dim] = dim, grid[0] + grid[1] * numpy.arange(size)
        variables[name] = xarray.Variable(
            dims, indexing.LazilyIndexedArray(LazyArray(array)),
            encoding={"preferred_chunks": chunks_of(array, dims)})
    return xarray.Dataset(variables, coordinates)


def chunks_of(array: Whole, dims: Iterable[str]) -> Dict[str, int]:
    """Returns good sizes of chunks: the block of a rank, of as many records as make CHUNK bytes."""
    block = list(array.block)
    if array.records is not None:
        size = int(numpy.prod(block, dtype=object)) * array.dtype.itemsize
        block[array.records] = max(1, min(array.shape[array.records], CHUNK // max(size, 1)))
    return {dim: max(1, size) for dim, size in zip(dims, block)}
