# SPDX-License-Identifier: MIT
"""libmpiio by ctypes: its functions and structures, the owners of its objects, and its errors.

ctypes releases the interpreter's lock during each call, so other threads run meanwhile.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_long, \
    c_size_t, c_ssize_t, c_uint8, c_uint32, c_void_p
from errno import EINVAL, ENOMEM
from typing import Any, Callable, NoReturn, Optional, Tuple


class SpecError(ValueError):
    """A spec, a shorthand or an argument is wrong. The text is the library's.

    line, column: the place in the spec's text, from 1; 0 if the error has no place there
    pointer: the JSON pointer (RFC 6901) of the value, "" for the whole text
    """

    line = column = 0
    pointer = ""


class VsError(ctypes.Structure):
    _fields_ = [("code", c_int), ("line", c_int), ("column", c_int), ("source", c_char * 256),
                ("pointer", c_char * 512), ("shorthand", c_bool), ("reason", c_char * 512)]

    def throw(self) -> NoReturn:
        """Raises the exception for this error."""
        reason = self.reason.decode(errors="replace")
        if -self.code == ENOMEM:
            raise MemoryError(reason)
        if -self.code != EINVAL:
            raise OSError(-self.code, reason, os.fsdecode(self.source))
        text = ctypes.create_string_buffer(2048)
        wrong = SpecError(lib.vs_error_text(byref(self), text, len(text)).decode(errors="replace"))
        wrong.line, wrong.column = self.line, self.column
        wrong.pointer = self.pointer.decode(errors="replace")
        raise wrong


class VsOverrides(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("ranks", c_int64), ("defines", POINTER(c_char_p)),
                ("define_count", c_size_t), ("by_file", c_bool), ("file_optional", c_bool),
                ("datarep", c_char_p), ("datarep_library", c_char_p), ("load_datarep", c_void_p),
                ("unload_datarep", c_void_p), ("datarep_argument", c_void_p),
                ("members", c_char_p), ("pieces", c_char_p), ("missing", c_char_p),
                ("from_options", c_bool)]


class VsHeader(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("at", c_int64), ("size", c_int64), ("crc32", c_uint32)]


class VsBasic(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("size", c_uint8), ("external", c_uint8),
                ("align", c_uint8), ("parts", c_uint8), ("extended", c_uint8)]


class VsGlobalField(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("basic", POINTER(VsBasic)), ("values", c_int64),
                ("value_dim", c_char_p), ("big_endian", c_bool)]


class VsGlobalFacts(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("view", c_char_p), ("dimensions", c_int64),
                ("sizes", POINTER(c_int64)), ("block", POINTER(c_int64)),
                ("dims", POINTER(c_char_p)), ("fortran", c_bool), ("records", c_bool),
                ("whole", c_bool), ("fields", c_int64), ("field", POINTER(VsGlobalField)),
                ("has_grid", c_bool), ("origin", c_double * 3), ("spacing", c_double * 3)]


class VsGlobalShape(ctypes.Structure):
    _fields_ = [("dimensions", c_int), ("sizes", c_int64 * 32), ("block", c_int64 * 32),
                ("dims", c_char_p * 32)]


class VsLocal(ctypes.Structure):
    _fields_ = [("box", c_bool), ("start", c_int64 * 32), ("count", c_int64 * 32)]


class VsBox(ctypes.Structure):
    _fields_ = [("field", c_int64), ("record", c_int64), ("records", c_int64),
                ("start", POINTER(c_int64)), ("count", POINTER(c_int64)), ("raw", c_bool)]


HANDLE = POINTER(c_void_p)  # where a function stores the object that it makes
FUNCTIONS = {
    "mpiio_spec_load": (c_int, c_char_p, POINTER(VsOverrides), HANDLE, POINTER(VsError)),
    "mpiio_spec_load_shorthand": (c_int, c_char_p, POINTER(VsOverrides), HANDLE, POINTER(VsError)),
    "vs_spec_parse": (c_int, c_char_p, c_size_t, c_char_p, c_char_p, POINTER(VsOverrides), HANDLE,
                      POINTER(VsError)),
    "vs_spec_free": (None, c_void_p),
    "vs_spec_file": (c_char_p, c_void_p),
    "vs_spec_ranks": (c_int64, c_void_p),
    "vs_spec_view_count": (c_size_t, c_void_p),
    "vs_spec_view_name": (c_char_p, c_void_p, c_size_t),
    "vs_spec_find_view": (c_long, c_void_p, c_char_p),
    "vs_spec_header": (c_bool, c_void_p, c_size_t, POINTER(VsHeader)),
    "vs_spec_view": (c_int, c_void_p, c_size_t, c_int64, HANDLE, POINTER(VsError)),
    "vs_view_ref": (c_void_p, c_void_p),
    "vs_view_has_order": (c_bool, c_void_p),
    "vs_view_unref": (None, c_void_p),
    "vs_npy_new": (c_int, c_void_p, HANDLE),
    "vs_npy_free": (None, c_void_p),
    "vs_npy_length": (c_int64, c_void_p),
    "vs_npy_header": (None, c_void_p, c_int64, c_char_p),
    "vs_error_text": (c_char_p, POINTER(VsError), c_char_p, c_size_t),
    "vs_global_new": (c_int, c_void_p, c_size_t, c_int64, HANDLE, POINTER(VsError)),
    "vs_global_free": (None, c_void_p),
    "vs_global_facts": (POINTER(VsGlobalFacts), c_void_p),
    "vs_global_records": (c_int64, c_void_p, c_int64),
    "vs_global_shape": (None, c_void_p, c_int64, c_int64, POINTER(VsGlobalShape)),
    "vs_global_box": (c_int, c_void_p, POINTER(VsBox), HANDLE, POINTER(VsError)),
    "vs_global_local": (c_int, c_void_p, c_int64, POINTER(VsLocal), POINTER(VsError)),
    "mpiio_store_open_spec": (c_int, c_void_p, c_int, HANDLE, POINTER(VsError)),
    "mpiio_store_close": (None, c_void_p),
    "mpiio_store_sync": (c_int, c_void_p, c_bool),
    "mpiio_store_size": (c_int64, c_void_p),
    "mpiio_slice_new": (c_int, c_void_p, c_void_p, c_int, HANDLE),
    "mpiio_slice_free": (None, c_void_p),
    "mpiio_slice_is_writable": (c_bool, c_void_p),
    "mpiio_slice_size": (c_int64, c_void_p),
    "mpiio_slice_read": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_int64),
    "mpiio_slice_write": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_int64),
    "mpiio_slice_settle": (c_int, c_void_p, c_bool, POINTER(c_int64), POINTER(c_int64)),
}


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libmpiio.so.0")
    except OSError as error:
        raise ImportError(f"{error} (install libmpiio0, or name its folder in LD_LIBRARY_PATH)") \
            from error
    for name, (result, *arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()
DATAREP_LOAD, DATAREP_UNLOAD = (ctypes.cast(getattr(lib, name), c_void_p).value
                                for name in ("mpiio_datarep_load", "mpiio_datarep_unload"))


class Owner:
    """Owns an object of the library, and keeps the owners of what that object borrows.

    The object is freed with the last reference, so never while a thread uses it.
    """

    def __init__(self, pointer: Optional[int], free: Callable[[Any], None],
                 *borrowed: "Owner") -> None:
        self.pointer, self._free, self._borrowed = pointer, free, borrowed

    def __del__(self) -> None:
        self._free(self.pointer)


def check(result: int, path: Optional[str]) -> int:
    """Returns a result that is not negative. Raises the OSError of a negative errno."""
    if result < 0:
        raise OSError(-result, os.strerror(-result), path)
    return result


def make(free: Callable[[Any], None], function: Callable[..., int], *arguments: Any,
         borrowed: Tuple[Owner, ...] = (), path: Optional[str] = None) -> Owner:
    """Returns the owner of the object that the function makes in its last argument."""
    pointer = c_void_p()
    check(function(*arguments, byref(pointer)), path)
    return Owner(pointer.value, free, *borrowed)


def make_explained(free: Callable[[Any], None], function: Callable[..., int], *arguments: Any,
                   borrowed: Tuple[Owner, ...] = ()) -> Owner:
    """Does the same for a function with a struct vs_error behind that argument."""
    pointer, error = c_void_p(), VsError()
    result = function(*arguments, byref(pointer), byref(error))
    if result < 0:
        error.code = error.code or result
        error.throw()
    return Owner(pointer.value, free, *borrowed)
