# SPDX-License-Identifier: MIT
"""Arrays in a shared file: a rank's slice, and the array that all ranks own together."""
from __future__ import annotations

import concurrent.futures
import errno
import functools
import io
import math
import operator
import os
from ctypes import byref, c_int64, create_string_buffer
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional, Tuple

import numpy

from . import _index
from ._library import Owner, SpecError, VsBox, VsError, VsGlobalShape, VsLocal, check, lib, make, \
    make_explained

if TYPE_CHECKING:
    from ._file import View

REFUSE = 0  # of enum mpiio_narrow
# Several threads read a long range, each at least so many bytes, because one thread cannot use all
# of the memory's bandwidth.
THREADS = min(4, len(os.sched_getaffinity(0)))
THREAD_BYTES = 8 << 20
# A box of a slice with more gaps than this, in bytes, is read as a view of its own.
SCATTERED = 65536


class Array:
    """An array in the file. Indices read from it and write to it, as with a NumPy array.

    Reading returns NumPy arrays in native byte order, which are copies. Only bytes that an index
    selects are read; bytes between them are read as well where that is faster. Several threads may
    use an array at once.

    shape: elements in each dimension
    dtype: the type of an element
    order: "C", or "F" if the first index varies fastest in the slice
    """

    shape: Tuple[int, ...]
    dtype: numpy.dtype
    order: Literal["C", "F"]
    _view: "View"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size in memory, in bytes."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> numpy.ndarray:
        if copy is False:
            raise ValueError("the array is in a file: reading it makes a copy")
        return numpy.asarray(self[...], dtype)

    def __getitem__(self, key: Any) -> Any:
        box, within = _index.select(key, self.shape)
        return self._read(box)[within]

    def __setitem__(self, key: Any, value: Any) -> None:
        box, within = _index.select(key, self.shape)
        new = numpy.empty(_index.lengths(box), self.dtype, self.order)
        new[within] = value
        wanted = None
        if not _index.is_exact(within):
            wanted = numpy.zeros(new.shape, bool)
            wanted[within] = True
        self._write(box, new, wanted)

    def _read(self, box: _index.Box) -> numpy.ndarray:
        """Returns the elements of a box, in the shape of the box."""
        array = numpy.empty(_index.lengths(box), self.dtype, self.order)
        if array.size:
            source, box, shape = self._open(box)
            source.read(box, shape, array, self.order)
        return array

    def _write(self, box: _index.Box, array: numpy.ndarray,
               wanted: Optional[numpy.ndarray]) -> None:
        """Writes an array in the shape of the box: those elements that are wanted, or all."""
        if array.size:
            target, box, shape = self._open(box)
            target.write(box, shape, array, self.order, wanted)

    def _open(self, box: _index.Box) -> Tuple["_Slice", _index.Box, Tuple[int, ...]]:
        """Returns an open slice that holds a box, the box in it, and the shape of the slice."""
        raise NotImplementedError


class _Slice:
    """An open struct mpiio_slice.

    run: bytes of the slice that are adjacent in the file, or PAGE if there are more, or unknown
    """

    def __init__(self, store: Owner, view: Owner, path: str, run: int = _index.PAGE) -> None:
        self.path, self.run = path, min(run, _index.PAGE)
        self._owner = make(lib.mpiio_slice_free, lib.mpiio_slice_new, store.pointer,
                           lib.vs_view_ref(view.pointer), REFUSE, borrowed=(store,), path=path)
        self.pointer = self._owner.pointer

    def read(self, box: _index.Box, shape: Tuple[int, ...], array: numpy.ndarray,
             order: str) -> None:
        """Reads a box of a slice that has this shape and order."""
        if order == "F":  # in the order of the slice, it is the transpose in C order
            box, shape, array = box[::-1], shape[::-1], array.T
        strides = _index.strides_of(shape, array.dtype.itemsize)
        gap = _index.GAP * self.run // _index.PAGE
        for offset, span, part, steps in _index.pieces(box, strides, array, gap):
            if span == part.nbytes:
                self._read_all(offset, span, part.ctypes.data)
            else:
                scratch = numpy.empty(span, numpy.uint8)
                self._read_all(offset, span, scratch.ctypes.data)
                part[...] = numpy.ndarray(part.shape, part.dtype, scratch, 0, steps)

    def write(self, box: _index.Box, shape: Tuple[int, ...], array: numpy.ndarray, order: str,
              wanted: Optional[numpy.ndarray]) -> None:
        """Writes a box, or the wanted elements of it."""
        if order == "F":
            box, shape, array = box[::-1], shape[::-1], array.T
            wanted = None if wanted is None else wanted.T
        strides = _index.strides_of(shape, array.dtype.itemsize)
        parts = iter([(box, array)]) if wanted is None else _index.runs(box, array, wanted)
        for part_box, part_array in parts:
            for offset, _, part, _ in _index.pieces(part_box, strides, part_array, 0):
                self._write(offset, part)
        self._settle()

    def _read_all(self, offset: int, length: int, memory: int) -> None:
        """Reads a range to an address of memory, a long one by several threads."""
        part = max(THREAD_BYTES, -(-length // THREADS))
        if length <= part:
            self._read(offset, length, memory)
            return
        with concurrent.futures.ThreadPoolExecutor(THREADS - 1) as pool:
            jobs = [pool.submit(self._read, offset + at, min(part, length - at), memory + at)
                    for at in range(part, length, part)]
            self._read(offset, part, memory)
        for job in jobs:
            job.result()

    def _read(self, offset: int, length: int, memory: int) -> None:
        while length > 0:
            count = check(lib.mpiio_slice_read(self.pointer, memory, length, offset), self.path)
            if not count:
                raise OSError(errno.EIO, "the file ends within the array", self.path)
            offset, length, memory = offset + count, length - count, memory + count

    def _write(self, offset: int, array: numpy.ndarray) -> None:
        array = numpy.ascontiguousarray(array)
        length, memory = array.nbytes, array.ctypes.data
        while length > 0:
            count = check(lib.mpiio_slice_write(self.pointer, memory, length, offset), self.path)
            offset, length, memory = offset + count, length - count, memory + count

    def _settle(self) -> None:
        """Stores values of which only a part was written. Raises the first one's error."""
        offset, length = c_int64(), c_int64()
        error = 0
        while True:
            result = lib.mpiio_slice_settle(self.pointer, True, byref(offset), byref(length))
            if not result:
                break
            error = error or result
        check(error, self.path)


class Slice(Array):
    """The part of one rank: an array in the file.

    It is the rank's local array if the view is a part of an array and the file holds whole tiles of
    it; several tiles add a dimension that varies slowest. Otherwise it has one dimension. The shape
    is that of the time when the slice was made.
    """

    def __init__(self, view: "View", rank: int) -> None:
        file = view.file
        spec, store = file._opened()
        compiled = make_explained(lib.vs_view_unref, lib.vs_spec_view, spec.pointer, view._number,
                                  rank)
        self.rank = rank
        self._view = view
        self._slice: Optional[_Slice] = _Slice(store, compiled, file.path)
        size = check(lib.mpiio_slice_size(self._slice.pointer), file.path)
        self.shape, fortran, self.dtype = npy_header(compiled, size)
        self.order = "F" if fortran else "C"
        item = self.dtype.itemsize
        self._strides = _index.strides_of(self.shape[::-1], item)[::-1] if fortran else \
            _index.strides_of(self.shape, item)
        self._reordered: bool = lib.vs_view_has_order(compiled.pointer)
        self._found: Optional[Tuple["Whole", Tuple[int, ...]]] = None
        self._searched = False
        file._register(self)

    @property
    def writable(self) -> bool:
        """Whether the file is open for writing, and the slice has no byte of it twice."""
        return lib.mpiio_slice_is_writable(self._opened().pointer)

    def _open(self, box: _index.Box) -> Tuple[_Slice, _index.Box, Tuple[int, ...]]:
        opened = self._opened()
        counts, strides = _index.lengths(box), self._strides
        steps = [part.step * stride for part, stride in zip(box, strides)]
        item = self.dtype.itemsize
        gaps = _index.span_of(counts, steps, item) - math.prod(counts) * item
        if gaps > SCATTERED and all(part.step == 1 for part in box):
            place = self._place()
            if place is not None:
                whole, start = place
                return whole._open(tuple(range(part.start + at, part.stop + at)
                                         for part, at in zip(box, start)))
        return opened, box, self.shape

    def _opened(self) -> _Slice:
        if self._slice is None:
            raise ValueError("I/O operation on closed file")
        return self._slice

    def _place(self) -> Optional[Tuple["Whole", Tuple[int, ...]]]:
        """Returns the array of all ranks and where this slice begins in it; None if the slice is no
        box of it."""
        if not self._searched:
            self._found, self._searched = self._find_place(), True
        return self._found

    def _find_place(self) -> Optional[Tuple["Whole", Tuple[int, ...]]]:
        local = VsLocal()
        if self._reordered or self.dtype.names:
            return None
        try:
            whole = self._view.whole
        except SpecError:
            return None
        facts, error = whole._facts, VsError()
        if lib.vs_global_local(whole._global.pointer, self.rank, byref(local), byref(error)) < 0:
            error.throw()
        if not local.box or not facts.dimensions:
            return None
        start, counts = local.start[:facts.dimensions], local.count[:facts.dimensions]
        slow, fast = [whole._count] * facts.records, list(whole._values())
        before, after = (fast, slow) if facts.fortran else (slow, fast)
        if self.shape != (*before, *counts, *after):
            return None
        return whole, (*[0] * len(before), *start, *[0] * len(after))

    def __repr__(self) -> str:
        return f"<mpiio.Slice: rank {self.rank}, {self.shape} {self.dtype} in " \
               f"{self._view.file.path}>"

    def __reduce__(self) -> tuple:
        return operator.getitem, (self._view, self.rank)


class Whole(Array):
    """The array that all ranks of a view own together, by the indices of the spec.

    If the array repeats in the file, there is one more dimension for its records, which varies
    slowest. If an element has several values, there is one for them, which varies fastest. An etype
    of several basic types makes an array of structures; whole["f0"] is the array of one field.

    name: what the spec calls the array
    dims: the names of the dimensions
    block: the shape of a rank's part if all ranks have such blocks, else the shape of a record
    records: the number of the dimension that records have, or None
    fields: the names of the fields, or () if there is only one
    grid: (origin, spacing) of each dimension that the spec's "grid" describes, by its name
    """

    def __init__(self, view: "View", field: Optional[str] = None,
                 whole: Optional["Whole"] = None) -> None:
        """whole: an array of the same view, to share what is found of it"""
        self._view = view
        view.file._opened()
        self._global, self._facts, self._names, self._count = self._find() if whole is None else \
            (whole._global, whole._facts, whole._names, whole._count)
        if field is not None and field not in self._names:
            raise KeyError(f"no field {field!r} (there are: {', '.join(self._names)})")
        self._name = field
        self.name: str = self._facts.name.decode()
        self.order = "F" if self._facts.fortran else "C"
        self.fields = tuple(self._names) if len(self._names) > 1 and field is None else ()
        self._field = self._names[field] if field is not None else 0
        self._describe()
        self._parts = [Whole(view, name, self) for name in self.fields]
        if self._parts:
            self.dtype = numpy.dtype([(name, part.dtype, part._values())
                                      for name, part in zip(self.fields, self._parts)])

    def _find(self) -> Tuple[Owner, Any, Dict[str, int], int]:
        """Returns the library's array, its facts, the numbers of its fields by their names, and how
        many records the file has now."""
        spec, store = self._view.file._opened()
        size = check(lib.mpiio_store_size(store.pointer), self._view.file.path)
        found = make_explained(lib.vs_global_free, lib.vs_global_new, spec.pointer,
                               self._view._number, size, borrowed=(spec,))
        facts: Any = lib.vs_global_facts(found.pointer).contents
        names = {facts.field[i].name.decode(): i for i in range(facts.fields)}
        return found, facts, names, lib.vs_global_records(found.pointer, size)

    def _describe(self) -> None:
        """Sets the shape and the type of the field, or of the structures."""
        facts, shape = self._facts, VsGlobalShape()
        lib.vs_global_shape(self._global.pointer, self._field, self._count, byref(shape))
        axes = slice(None)
        if self.fields and facts.field[self._field].values > 1:  # the type has that dimension
            axes = slice(1, None) if facts.fortran else slice(-1)
        count = shape.dimensions
        self.shape = tuple(shape.sizes[:count][axes])
        self.block = tuple(shape.block[:count][axes])
        self.dims = tuple(name.decode() for name in shape.dims[:count][axes])
        self.records: Optional[int] = None
        if facts.records:
            self.records = len(self.shape) - 1 if facts.fortran else 0
        self.grid: Dict[str, Tuple[float, float]] = {}
        if facts.has_grid:
            first = int(facts.records and not facts.fortran)
            self.grid = {facts.dims[first + d].decode(): (facts.origin[d], facts.spacing[d])
                         for d in range(facts.dimensions)}
        _, _, self.dtype = npy_header(self._box(0, 1, [(0, 1)] * facts.dimensions), 0)

    def _values(self) -> Tuple[int, ...]:
        """Returns the shape of an element."""
        values = self._facts.field[self._field].values
        return (values,) if values > 1 else ()

    def _box(self, record: int, records: int, bounds: List[Tuple[int, int]]) -> Owner:
        """Returns the compiled view of a box: its first element and its size in each dimension."""
        sizes = c_int64 * len(bounds)
        if self._facts.whole:
            bounds = [(0, size) for size in self._facts.sizes[:len(bounds)]]
        box = VsBox(self._field, record, records, sizes(*(start for start, _ in bounds)),
                    sizes(*(count for _, count in bounds)))
        return make_explained(lib.vs_view_unref, lib.vs_global_box, self._global.pointer,
                              byref(box))

    def _open(self, box: _index.Box) -> Tuple[_Slice, _index.Box, Tuple[int, ...]]:
        facts = self._facts
        _, store = self._view.file._opened()
        values = self._values()
        axes = box[::-1] if facts.fortran else box  # the slowest one first
        records, axes = axes[:facts.records], axes[facts.records:len(axes) - len(values)]
        bounds = [(part[0], part[-1] - part[0] + 1) for part in axes]
        if facts.whole:
            bounds = [(0, size) for size in facts.sizes[:len(axes)]]
            bounds = bounds[::-1] if facts.fortran else bounds
        bounds += [(0, value) for value in values]
        sizes = self.shape[::-1] if facts.fortran else self.shape
        run = _index.run_of([count for _, count in bounds],
                            _index.strides_of(sizes[facts.records:], self.dtype.itemsize),
                            self.dtype.itemsize)
        first, last = (records[0][0], records[0][-1]) if records else (0, 0)
        spec = bounds[:len(axes)][::-1] if facts.fortran else bounds[:len(axes)]
        view = self._box(first, last - first + 1, spec)
        bounds = [(first, last - first + 1)] * facts.records + bounds
        if facts.fortran:
            bounds = bounds[::-1]
        inside = tuple(range(part.start - start, part.stop - start, part.step)
                       for part, (start, _) in zip(box, bounds))
        return (_Slice(store, view, self._view.file.path, run), inside,
                tuple(count for _, count in bounds))

    def _with_values(self, box: _index.Box) -> _index.Box:
        """Returns a box of structures as a box of this field of theirs."""
        values = tuple(map(range, self._values()))
        return values + box if self.order == "F" else box + values

    def _of_structures(self, array: numpy.ndarray, name: str) -> numpy.ndarray:
        """Returns a field of structures in the shape of the field's own array."""
        part = array[name]
        if part.ndim > array.ndim and self.order == "F":
            part = numpy.moveaxis(part, -1, 0)
        return part

    def _read(self, box: _index.Box) -> numpy.ndarray:
        if not self._parts:
            return super()._read(box)
        array = numpy.empty(_index.lengths(box), self.dtype, self.order)
        for name, part in zip(self.fields, self._parts):
            self._of_structures(array, name)[...] = part._read(part._with_values(box))
        return array

    def _write(self, box: _index.Box, array: numpy.ndarray,
               wanted: Optional[numpy.ndarray]) -> None:
        if not self._parts:
            super()._write(box, array, wanted)
        for name, part in zip(self.fields, self._parts):
            values = self._of_structures(array, name)
            chosen = wanted
            if wanted is not None and values.ndim > wanted.ndim:
                chosen = numpy.broadcast_to(wanted if self.order == "F" else wanted[..., None],
                                            values.shape)
            part._write(part._with_values(box), values, chosen)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return Whole(self._view, key, self)
        return super().__getitem__(key)

    def __repr__(self) -> str:
        return f"<mpiio.Whole: {self.shape} {self.dtype} in {self._view.file.path}>"

    def __reduce__(self) -> tuple:
        return Whole, (self._view, self._name)


def npy_header(view: Owner, size: int) -> Tuple[Tuple[int, ...], bool, numpy.dtype]:
    """Returns the shape, whether it is in Fortran order, and the type that a compiled view's slice
    of size bytes has for NumPy."""
    npy = make(lib.vs_npy_free, lib.vs_npy_new, view.pointer)
    header = create_string_buffer(lib.vs_npy_length(npy.pointer))
    lib.vs_npy_header(npy.pointer, size, header)
    return _parse_header(header.raw)


@functools.lru_cache(256)
def _parse_header(header: bytes) -> Tuple[Tuple[int, ...], bool, numpy.dtype]:
    stream = io.BytesIO(header)
    version = numpy.lib.format.read_magic(stream)
    parse: Any = numpy.lib.format.read_array_header_1_0 if version == (1, 0) else \
        numpy.lib.format.read_array_header_2_0
    return parse(stream, max_header_size=len(header))
