# SPDX-License-Identifier: MIT
"""Opening a shared file with a spec of its views."""
from __future__ import annotations

import functools
import io
import json
import operator
import os
import shutil
import stat
import subprocess
import threading
import weakref
import zlib
from ctypes import byref, c_char_p, c_void_p
from errno import ENOENT, ESTALE
from typing import Any, Iterable, Iterator, Mapping, Optional, Tuple, Union

from ._arrays import Slice, Whole
from ._library import DATAREP_LOAD, DATAREP_UNLOAD, Owner, SpecError, VsError, VsHeader, \
    VsOverrides, check, lib, make_explained

PathLike = Union[str, "os.PathLike[str]"]
Defines = Union[Mapping[str, int], Iterable[str]]

FLAGS = {"r": os.O_RDONLY, "r+": os.O_RDWR}


def open(spec: Union[PathLike, Mapping[str, Any], None] = None, *, file: Optional[PathLike] = None,
         view: Optional[str] = None, ranks: Optional[int] = None,
         defines: Optional[Defines] = None, decomposition: Optional[str] = None,
         mode: str = "r") -> "File":
    """Opens a shared file with its views.

    spec: the path of a viewspec(5); or its JSON as a dict; or the path of a file that describes
        itself, such as a netCDF file, whose variables then are the views. For these, mpiio-view(1)
        must be installed.
    view: the view in shorthand, instead of a spec
    file: the shared file. Required with view; replaces the file that a spec names.
    ranks: the number of ranks, instead of the spec's
    defines: names for expressions, {"nx": 100} or ["nx=100"]
    decomposition: how ranks share the variables of a file that describes itself, such as
        "none,block,block on 2x2". By default each rank has all of them.
    mode: "r" to read, "r+" to read and write

    Raises SpecError if the spec is wrong, and OSError if a file cannot be opened or has changed
    since the spec was made from its header.

    >>> import mpiio
    >>> with mpiio.open("field.json") as f:
    ...     f[3].shape, f[3][0, :2]
    ((3, 5), array([30405., 30406.]))
    >>> f = mpiio.open(file="field.dat",
    ...                view="darray 7x10 block,block on 2x2 of double at 64")
    >>> f.whole[3:5, 4]
    array([  304., 20404.])
    >>> f.close()
    """
    if mode not in FLAGS:
        raise ValueError(f"mode {mode!r}: only 'r' and 'r+' are possible")
    if (spec is None) == (view is None):
        raise TypeError("give either a spec or a view")
    if file is not None:
        file = os.path.abspath(file)
    if isinstance(spec, (str, os.PathLike)):
        spec = os.path.abspath(spec)
    words = [f"{name}={value}" for name, value in defines.items()] \
        if isinstance(defines, Mapping) else list(defines or ())
    arguments = {"file": file, "view": view, "ranks": ranks, "defines": words,
                 "decomposition": decomposition, "mode": mode}
    overrides = VsOverrides(file=None if file is None else os.fsencode(file), ranks=ranks or 0,
                            defines=(c_char_p * len(words))(*map(os.fsencode, words)),
                            define_count=len(words), load_datarep=DATAREP_LOAD,
                            unload_datarep=DATAREP_UNLOAD)
    loaded = _load(spec, view, overrides, ranks, decomposition)
    path = os.fsdecode(lib.vs_spec_file(loaded.pointer))
    _check_header(loaded, path)
    return File(loaded, _open_store(loaded, path, FLAGS[mode]), path, mode,
                functools.partial(open, spec, **arguments))


def _open_store(spec: Owner, path: str, flags: int) -> Owner:
    """Opens the file of a spec, or its members."""
    pointer, why = c_void_p(), VsError()
    result = lib.mpiio_store_open_spec(spec.pointer, flags, byref(pointer), byref(why))
    if result < 0 and why.code:
        raise OSError(-why.code, why.reason.decode(errors="replace"), path)
    check(result, path)
    return Owner(pointer.value, lib.mpiio_store_close, spec)


def _load(spec: Union[str, Mapping[str, Any], None], view: Optional[str], overrides: VsOverrides,
          ranks: Optional[int], decomposition: Optional[str]) -> Owner:
    """Returns the owner of the loaded spec."""
    if view is not None:
        return make_explained(lib.vs_spec_free, lib.mpiio_spec_load_shorthand, view.encode(),
                              byref(overrides))
    if isinstance(spec, str) and not _describes_itself(spec):
        return make_explained(lib.vs_spec_free, lib.mpiio_spec_load, os.fsencode(spec),
                              byref(overrides))
    if isinstance(spec, str):
        source, text = spec, _spec_from(spec, ranks, decomposition)
    else:
        source, text = "spec", json.dumps(spec).encode()
    return make_explained(lib.vs_spec_free, lib.vs_spec_parse, text, len(text), os.fsencode(source),
                          os.fsencode(os.getcwd()), byref(overrides))


def _describes_itself(path: str) -> bool:
    """Returns whether a file is something else than a spec."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False  # reading a pipe would consume the spec
        with io.open(path, "rb") as file:
            begin = file.read(4096).lstrip()
    except OSError:
        return False  # loading it reports why
    return bool(begin) and not begin.startswith(b"{")


def _spec_from(path: str, ranks: Optional[int], decomposition: Optional[str]) -> bytes:
    """Returns the spec that mpiio-view makes of a file that describes itself."""
    command = shutil.which("mpiio-view")
    if command is None:
        raise FileNotFoundError(ENOENT, "a file that is no spec needs mpiio-view (install "
                                        "mpiio-viewfs)", path)
    words = [command, "spec", "--from", path, "--all"]
    words += [] if ranks is None else ["-n", str(ranks)]
    words += [] if decomposition is None else [decomposition]
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SpecError(done.stderr.decode(errors="replace").strip())
    return done.stdout


def _check_header(spec: Owner, path: str) -> None:
    """Fails if the header of the file is not the one that the spec was made from."""
    part, number = VsHeader(), 0
    while lib.vs_spec_header(spec.pointer, number, byref(part)):
        name = path if part.file is None else os.fsdecode(part.file)
        with io.open(name, "rb") as file:
            file.seek(part.at)
            header = file.read(part.size)
        if len(header) != part.size or zlib.crc32(header) != part.crc32:
            raise OSError(ESTALE, "its header is not the one that the spec was made from "
                                  "(mpiio-view spec --from makes a new spec)", name)
        number += 1


class View:
    """One view of a file: view[3] is the slice of rank 3, view.whole the array of all ranks.

    name: the view's name, "" if the spec has a single view without one
    file: the open file
    """

    def __init__(self, file: "File", number: int) -> None:
        self.file = file
        spec, _ = file._opened()
        self._number = number
        self.name = (lib.vs_spec_view_name(spec.pointer, number) or b"").decode()

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self.file.ranks

    @property
    def whole(self) -> Whole:
        """The array that all ranks own together. Raises SpecError if they form none."""
        return Whole(self)

    def __len__(self) -> int:
        return self.ranks

    def __getitem__(self, rank: int) -> Slice:
        rank = operator.index(rank)
        if not -self.ranks <= rank < self.ranks:
            raise IndexError(f"rank {rank} is out of bounds for {self.ranks} ranks")
        return Slice(self, rank % self.ranks)

    def __iter__(self) -> Iterator[Slice]:
        return (self[rank] for rank in range(self.ranks))

    def __repr__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"<mpiio.View{name}: {self.ranks} ranks of {self.file.path}>"

    def __reduce__(self) -> tuple:
        return View, (self.file, self._number)


class File:
    """An open shared file with its views, made by mpiio.open.

    file["temp"] is the view of that name. If there is a single view, file[3] is the slice of rank 3
    in it, and file.whole the array of all ranks.

    path: the shared file
    mode: "r" or "r+"

    A file can be used by several threads at once. After close(), using it or one of its arrays
    raises ValueError. Pickling stores how the file was opened, and opens it again.
    """

    def __init__(self, spec: Owner, store: Owner, path: str, mode: str,
                 again: Any) -> None:
        self._spec: Optional[Owner] = spec
        self._store: Optional[Owner] = store
        self._lock = threading.Lock()  # of _slices
        self._slices: "weakref.WeakSet[Slice]" = weakref.WeakSet()
        self._again = again
        self.path = path
        self.mode = mode
        self.ranks: int = lib.vs_spec_ranks(spec.pointer)
        count = lib.vs_spec_view_count(spec.pointer)
        self.views: Tuple[str, ...] = tuple(View(self, number).name for number in range(count))

    def _opened(self) -> Tuple[Owner, Owner]:
        """Returns the spec and the store. They stay valid as long as the caller has them."""
        spec, store = self._spec, self._store
        if spec is None or store is None:
            raise ValueError("I/O operation on closed file")
        return spec, store

    def _register(self, part: Slice) -> None:
        """Makes close() close a new slice, too."""
        with self._lock:
            self._opened()
            self._slices.add(part)

    def _only(self) -> View:
        self._opened()
        if len(self.views) > 1:
            raise ValueError(f"{self.path} has several views: use file[NAME] (there are: "
                             f"{', '.join(self.views)})")
        return View(self, 0)

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._store is None

    @property
    def whole(self) -> Whole:
        """The array that all ranks of the single view own together."""
        return self._only().whole

    def __getitem__(self, key: Any) -> Any:
        """Returns a view by its name, or the slice of a rank in the single view."""
        if not isinstance(key, str):
            return self._only()[key]
        self._opened()
        if key not in self.views:
            raise KeyError(f"no view {key!r} (there are: {', '.join(self.views)})")
        return View(self, self.views.index(key))

    def __len__(self) -> int:
        return self.ranks

    def __iter__(self) -> Iterator[Slice]:
        return iter(self._only())

    def sync(self) -> None:
        """Waits until everything that was written is on the storage device."""
        _, store = self._opened()
        check(lib.mpiio_store_sync(store.pointer, False), self.path)

    def close(self) -> None:
        """Closes the file. Reads and writes of other threads finish first. Written data are in the
        file already; only sync() waits for the storage device."""
        with self._lock:
            self._spec = self._store = None
            for part in self._slices:
                part._slice = None

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.mode
        return f"<mpiio.File: {self.ranks} ranks of {self.path} ({state})>"

    def __reduce__(self) -> tuple:
        return self._again, ()
