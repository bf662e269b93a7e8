# SPDX-License-Identifier: MIT
"""Arithmetic of indices: which box of an array a key selects, and in which pieces to transfer it.

A box has a range for each dimension, with a step of at least 1.
"""
from __future__ import annotations

import math
from typing import Any, Iterator, List, Sequence, Tuple

import numpy

Box = Tuple[range, ...]

# The number of bytes that take about as long to read as another call does. A short run of the file
# costs a page.
GAP = 16384
PAGE = 4096
# The most bytes that are read beside those that are wanted, at once.
SCRATCH = 64 << 20


def _entries(key: Any) -> Iterator[Tuple[Any, int]]:
    """Yields the entries of a key. A mask becomes an array of positions for each of its dimensions;
    the number beside it is the mask's size there, or -1 beside other entries."""
    for entry in key if isinstance(key, tuple) else (key,):
        if isinstance(entry, (slice, type(Ellipsis), type(None))) or type(entry) is int:
            yield entry, -1
            continue
        array = numpy.asarray(entry)
        if isinstance(entry, (list, tuple)) and not array.size:
            array = array.astype(int)
        if array.dtype == bool and array.ndim:
            yield from zip(array.nonzero(), array.shape)
        elif array.dtype.kind in "iu":
            yield array.astype(numpy.int64) if array.ndim else int(array), -1
        else:
            raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and arrays of "
                             "integers or booleans are valid indices")


def _positions(entry: Any, size: int, axis: int) -> Tuple[range, Any]:
    """Returns the range of a dimension that an entry selects from, and the index within it."""
    if isinstance(entry, slice):
        found = range(size)[entry]
        backwards = found.step < 0
        if backwards:
            found = found[::-1]
        if len(found) < 2:
            found = range(found.start, found.start + len(found))
        return found, slice(None, None, -1) if backwards else slice(None)
    if isinstance(entry, int):
        first = last = entry
    elif entry.size:
        first, last = int(entry.min()), int(entry.max())
    else:
        return range(0), entry
    if first < -size or last >= size:
        raise IndexError(f"index {first if first < -size else last} is out of bounds for axis "
                         f"{axis} with size {size}")
    if isinstance(entry, int):
        return range(entry % size, entry % size + 1), 0
    entry = entry % size  # counts from the end where it is negative
    first = int(entry.min())
    return range(first, int(entry.max()) + 1), entry - first


def select(key: Any, shape: Sequence[int]) -> Tuple[Box, tuple]:
    """Returns the smallest box that holds all that NumPy's index key selects of an array of this
    shape, and the index that selects it from the box.

    >>> select((slice(1, None), -1), (4, 10))
    ((range(1, 4), range(9, 10)), (slice(None, None, None), 0))
    """
    entries = list(_entries(key))
    dots = [i for i, (entry, _) in enumerate(entries) if entry is Ellipsis]
    used = sum(entry is not Ellipsis and entry is not None for entry, _ in entries)
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but "
                         f"{used} were indexed")
    rest = len(shape) - used
    at = dots[0] if dots else len(entries)
    entries[at:at + 1] = [(slice(None), -1)] * rest
    box: List[range] = []
    within: List[Any] = []
    for entry, masked in entries:
        if entry is None:
            within.append(None)
            continue
        axis = len(box)
        if masked not in (-1, shape[axis]):
            raise IndexError(f"boolean index did not match indexed array along dimension {axis}; "
                             f"dimension is {shape[axis]} but corresponding boolean dimension is "
                             f"{masked}")
        found, inside = _positions(entry, shape[axis], axis)
        box.append(found)
        within.append(inside)
    if dots and not rest:
        within.insert(at, Ellipsis)  # the result is an array then, also without dimensions
    return tuple(box), tuple(within)


def is_exact(within: tuple) -> bool:
    """Returns whether an index of select takes each element of its box."""
    return not any(isinstance(entry, numpy.ndarray) for entry in within)


def lengths(box: Box) -> Tuple[int, ...]:
    """Returns the shape of a box."""
    return tuple(map(len, box))


def strides_of(shape: Sequence[int], item: int) -> Tuple[int, ...]:
    """Returns the distances in bytes between neighbours of an array in C order."""
    return tuple(item * math.prod(shape[axis + 1:]) for axis in range(len(shape)))


def span_of(counts: Sequence[int], steps: Sequence[int], item: int) -> int:
    """Returns how many bytes there are from the first to the last one of a box."""
    return item + sum((count - 1) * step for count, step in zip(counts, steps))


def run_of(counts: Sequence[int], steps: Sequence[int], item: int) -> int:
    """Returns how many bytes of a box are adjacent. steps are the distances of neighbours, item is
    the size of an element."""
    for count, step in zip(reversed(counts), reversed(steps)):
        if count > 1 and step != item:
            break
        item *= count
    return item


def runs(box: Box, array: numpy.ndarray,
         wanted: numpy.ndarray) -> Iterator[Tuple[Box, numpy.ndarray]]:
    """Yields the parts of a box, and of its array, that hold adjacent wanted elements."""
    found = numpy.argwhere(wanted)
    if not len(found):
        return
    follows = (numpy.diff(found[:, :-1], axis=0) == 0).all(1) & (numpy.diff(found[:, -1]) == 1)
    begins = numpy.flatnonzero(numpy.concatenate(([True], ~follows)))
    lengths_found = numpy.diff(numpy.append(begins, len(found)))
    for first, length in zip(found[begins].tolist(), lengths_found.tolist()):
        index = (*(slice(i, i + 1) for i in first[:-1]), slice(first[-1], first[-1] + length))
        yield tuple(part[chosen] for part, chosen in zip(box, index)), array[index]


def pieces(box: Box, strides: Sequence[int], array: numpy.ndarray,
           gap: int) -> Iterator[Tuple[int, int, numpy.ndarray, list]]:
    """Divides the transfer of a box of an array that lies in C order in a slice.

    array: the elements in memory, with the shape of the box, in C order
    gap: pieces include gaps of the box that have up to so many bytes on average

    Yields for each piece the slice offset of its first byte, the bytes up to its last one, the part
    of the array that it holds, and the distances of neighbours in the slice.
    """
    if not array.size:
        return
    steps = [part.step * stride for part, stride in zip(box, strides)]
    counts = array.shape
    span = span_of(counts, steps, array.itemsize)
    gaps = span - array.nbytes
    merge = gaps <= array.nbytes // run_of(counts, steps, array.itemsize) * gap
    if not gaps or (merge and span <= SCRATCH):
        first = sum(part[0] * stride for part, stride in zip(box, strides))
        yield first, span, array, steps
        return
    axis = next(axis for axis, count in enumerate(counts) if count > 1)
    width = 1
    if merge:
        width = max(1, (SCRATCH - span + (counts[axis] - 1) * steps[axis]) // steps[axis])
    index: List[slice] = [slice(None)] * len(counts)
    for start in range(0, counts[axis], width):
        index[axis] = slice(start, start + width)
        part = (*box[:axis], box[axis][start:start + width], *box[axis + 1:])
        yield from pieces(part, strides, array[tuple(index)], gap)
