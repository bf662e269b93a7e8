# SPDX-License-Identifier: MIT
"""Opening and closing, errors, what is read, threads, pickling."""
import concurrent.futures
import ctypes
import errno
import json
import os
import pickle
import sys
import threading
import zlib

import mpiio
import numpy as np
import pytest
from mpiio import _arrays, _index, _library

SHORTHAND = "darray 7x10 block,block on 2x2 of double at 64"


def test_a_spec_may_be_a_path_a_dict_or_a_shorthand(field, tmp_path):
    with open("field.json", encoding="utf-8") as file:
        spec = json.load(file)
    for opened in (mpiio.open("field.json"), mpiio.open(tmp_path / "field.json"), mpiio.open(spec),
                   mpiio.open(file="field.dat", view=SHORTHAND)):
        with opened as file:
            assert file.path == str(tmp_path / "field.dat")
            assert (file.ranks, file.views, file.mode) == (4, ("",), "r")
            assert (file.whole[...] == field).all()


def test_file_ranks_and_defines_override_the_spec(field):
    os.rename("field.dat", "other.dat")
    with mpiio.open("field.json", file="other.dat") as file:
        assert (file[3][...] == field[4:, 5:]).all()
    view = "darray (rows)x10 block,none on (ranks)x1 of double at 64"
    for defines in ({"rows": 7}, ["rows=7"]):
        with mpiio.open(file="other.dat", view=view, ranks=7, defines=defines) as file:
            assert (file[-1][...] == field[6:]).all()


def test_views_have_names(field):
    view = {"disp": 64, "etype": "double"}
    with mpiio.open({"viewspec": 1, "file": "field.dat", "ranks": 2,
                     "views": {"one": view, "two": view}}) as file:
        assert file.views == ("one", "two")
        assert file["two"].name == "two" and len(file["two"]) == 2
        assert (file["one"][1][...] == field.ravel()).all()
        with pytest.raises(KeyError, match="no view 'three' .there are: one, two"):
            file["three"]
        with pytest.raises(ValueError, match="several views"):
            file[0]
        with pytest.raises(IndexError):
            file["one"][2]


def test_errors_have_the_text_of_the_library(field):
    with pytest.raises(mpiio.SpecError, match=r'^view:1:9: unknown name "blob"') as wrong:
        mpiio.open(file="field.dat", view="scatter blob")
    assert (wrong.value.line, wrong.value.column) == (1, 9) and isinstance(wrong.value, ValueError)
    with pytest.raises(mpiio.SpecError, match="/views: ") as wrong:
        mpiio.open({"viewspec": 1, "file": "field.dat", "views": 3})
    assert wrong.value.pointer == "/views"
    with pytest.raises(FileNotFoundError) as missing:
        mpiio.open("none.json")
    assert missing.value.filename == os.path.abspath("none.json")
    os.remove("field.dat")
    with pytest.raises(FileNotFoundError) as missing:
        mpiio.open("field.json")
    assert missing.value.filename == os.path.abspath("field.dat")
    for arguments in ({}, {"spec": "a", "view": "b"}):
        with pytest.raises(TypeError):
            mpiio.open(**arguments)
    with pytest.raises(ValueError, match="mode 'w'"):
        mpiio.open("field.json", mode="w")


def test_ranks_that_form_no_array_have_no_whole():
    with open("a", "wb") as file:
        file.write(bytes(range(24)))
    with mpiio.open({"viewspec": 1, "file": "a", "ranks": 2, "view": {
            "etype": "byte", "filetype": {"type": "indexed", "blocklengths": [1, 2],
                                          "displacements": ["rank", "4 + rank"]}}}) as file:
        assert file[1][:3].tolist() == [1, 5, 6]
        with pytest.raises(mpiio.SpecError, match="the ranks form no array"):
            file.whole


def test_a_file_that_is_open_for_reading_cannot_be_written(field):
    with mpiio.open("field.json") as file:
        assert not file[0].writable
        for array in (file[0], file.whole):
            with pytest.raises(OSError) as refused:
                array[0] = 1
            assert refused.value.errno == errno.EBADF
    with mpiio.open("field.json", mode="r+") as file:
        assert file[0].writable
        file[0][0, 0] = 1
        file.sync()


def test_a_closed_file_raises(field):
    file = mpiio.open("field.json")
    part, whole, view = file[0], file.whole, file[""]
    descriptors = len(os.listdir("/proc/self/fd"))
    file.close()
    file.close()
    assert file.closed and len(os.listdir("/proc/self/fd")) == descriptors - 1
    assert part.shape == (4, 5) and "rank 0" in repr(part) and "closed" in repr(file)
    for use in (lambda: part[0], lambda: whole[0], lambda: view[0], lambda: file[0],
                lambda: file.whole, file.sync, lambda: part.writable, lambda: list(file)):
        with pytest.raises(ValueError, match="closed file"):
            use()
    with pytest.raises(ValueError, match="closed file"):
        file._register(part)  # a slice that was made meanwhile


def test_a_file_that_nobody_uses_is_closed(field):
    descriptors = len(os.listdir("/proc/self/fd"))
    part = mpiio.open("field.json")[0]
    assert len(os.listdir("/proc/self/fd")) == descriptors + 1
    assert part[0, 1] == 1
    del part
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_file_that_was_truncated_is_an_error(field):
    with mpiio.open("field.json") as file:
        part, whole = file[3], file.whole
        os.truncate("field.dat", 600)
        assert part[1, 0] == field[5, 5]
        for array in (part, whole):
            with pytest.raises(OSError, match="the file ends within the array"):
                array[...]


def test_pickles_open_the_file_again(field):
    with mpiio.open("field.json") as file:
        copies = pickle.loads(pickle.dumps((file, file[2], file.whole, file[""])))
    assert (copies[0].whole[...] == field).all() and (copies[1][...] == field[4:, :5]).all()
    assert copies[2][6, 9] == field[6, 9] and copies[3].ranks == 4


def test_a_changed_header_is_refused(field):
    with open("field.json", encoding="utf-8") as file:
        spec = json.load(file)
    spec["header"] = [{"size": 64, "crc32": f"{zlib.crc32(bytes(64)):08x}"}]
    mpiio.open(spec).close()
    with open("field.dat", "r+b") as file:
        file.write(b"new")
    with pytest.raises(OSError, match="its header is not the one") as stale:
        mpiio.open(spec)
    assert stale.value.errno == errno.ESTALE


def test_a_file_that_describes_itself_needs_no_spec():
    want = np.arange(24, dtype=">f4").reshape(4, 6)
    np.save("a.npy", want)
    with mpiio.open("a.npy", decomposition="block,none on 2x1", ranks=2) as file:
        assert file.ranks == 2 and (file.whole[...] == want).all()
        assert (file[1][...] == want[2:]).all()
    with open("none.txt", "w", encoding="utf-8") as file:
        file.write("text")
    with pytest.raises(mpiio.SpecError, match="^mpiio-view: .*none.txt"):
        mpiio.open("none.txt")
    os.environ["PATH"], path = "/none", os.environ["PATH"]
    try:
        with pytest.raises(FileNotFoundError, match="needs mpiio-view"):
            mpiio.open("a.npy")
    finally:
        os.environ["PATH"] = path


def test_members():
    spec = {"viewspec": 1,
            "members": {"file": "m{i=0..1}_{j=0..2}",
                        "view": {"etype": "int", "filetype": {
                            "type": "subarray", "sizes": [4, 6], "subsizes": [2, 2],
                            "starts": ["2 * i", "2 * j"], "order": "C"}}},
            "view": {"etype": "int", "filetype": {
                "type": "darray", "gsizes": [4, 6], "distribs": ["none", "none"],
                "dargs": [None, None], "psizes": [1, 1], "order": "C"}}}
    with pytest.raises(FileNotFoundError, match="m0_0"):
        mpiio.open(spec)
    array = np.arange(24, dtype="i4").reshape(4, 6)
    for i in range(2):
        for j in range(3):
            array[2 * i:2 * i + 2, 2 * j:2 * j + 2].tofile(f"m{i}_{j}")
    with mpiio.open(spec, mode="r+") as file:
        assert (file.whole[...] == array).all() and (file[0][1:3, 3] == array[1:3, 3]).all()
        file.whole[3, 1:4] = 7
    assert (np.fromfile("m1_1", "i4") == [14, 15, 7, 7]).all()


class Counters(ctypes.Structure):
    """The beginning of struct mpiio_counters."""
    _fields_ = [("slice_reads", ctypes.c_uint64), ("slice_read_bytes", ctypes.c_uint64)]


class Counted:
    """Counts the reads of a file while it is a context."""

    def __init__(self, file):
        self.store = file._opened()[1]

    def now(self):
        memory = (ctypes.c_uint64 * 64)()
        _library.lib.mpiio_store_counters(ctypes.c_void_p(self.store.pointer), memory)
        counters = Counters.from_buffer(memory)
        return counters.slice_reads, counters.slice_read_bytes

    def __enter__(self):
        self.before = self.now()
        return self

    def __exit__(self, *_):
        self.calls, self.bytes = (now - before for now, before in zip(self.now(), self.before))


def test_only_what_is_indexed_is_read():
    os.truncate(os.open("huge", os.O_CREAT | os.O_WRONLY), 1 << 40)
    view = "darray 1024x16384x8192 block,block,none on 4x4x1 of double"
    with mpiio.open(file="huge", view=view) as file:
        part = file[5]
        assert part.nbytes == 1 << 36
        for array in (part, file.whole):
            for key, size, most in (
                    ((3, 4, 5), 8, 1), ((3, 4), 65536, 1), ((3, slice(4, 6)), 131072, 1),
                    ((slice(0, 100, 10), 7, slice(1000, 1002)), 160, 10),
                    ((slice(0, 2), slice(0, 3), slice(1024)), 49152, 6)):
                with Counted(file) as counted:
                    array[key]
                assert counted.bytes == size and counted.calls <= most, key
            # Short gaps are read, too.
            with Counted(file) as counted:
                array[0, 0, ::2]
            assert (counted.bytes, counted.calls) == (65536 - 8, 1)


def test_much_is_read_in_parts(monkeypatch):
    want = np.arange(30000, dtype="u2").reshape(10, 30, 100)
    want.tofile("a")
    monkeypatch.setattr(_index, "SCRATCH", 7000)
    monkeypatch.setattr(_arrays, "THREADS", 3)
    monkeypatch.setattr(_arrays, "THREAD_BYTES", 50)
    for gap in (0, 20, 100, 16384):
        monkeypatch.setattr(_index, "GAP", gap)
        view = "darray 10x30x100 none,none,none on 1x1x1 of uint16_t"
        with mpiio.open(file="a", view=view) as file:
            for key in (np.s_[:], np.s_[::3, ::2, ::4], np.s_[:, :, 7], np.s_[:, 5:20],
                        np.s_[2:9, ::-7, 1:]):
                assert (file[0][key] == want[key]).all() and (file.whole[key] == want[key]).all()


def test_reading_releases_the_interpreter():
    os.truncate(os.open("zeros", os.O_CREAT | os.O_WRONLY), 1 << 28)
    state, seen = {"reading": False}, False
    with mpiio.open(file="zeros", view="scatter 4 on 2 of double") as file:
        part = file[0]
        opened = part._opened()
        memory = np.ones(part.shape)

        def read():
            for _ in range(3):
                state["reading"] = True
                opened._read(0, memory.nbytes, memory.ctypes.data)
                state["reading"] = False

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # threads change only where one waits or calls the library
        try:
            thread = threading.Thread(target=read)
            thread.start()
            while thread.is_alive():
                seen = seen or state["reading"]
                thread.join(0.001)
        finally:
            sys.setswitchinterval(interval)
    assert seen and not memory.any()


def test_many_threads_read_and_write(field):
    def work(rank):
        for _ in range(50):
            assert (whole[...] >= 0).all()
            file[rank][...] = np.asarray(file[rank]) + 1
        return rank

    with mpiio.open("field.json", mode="r+") as file:
        whole = file.whole
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
        assert (whole[...] == field + 50).all()


def test_closing_while_threads_read_is_safe(field):
    def work(array):
        while True:
            try:
                assert (array[...] == wanted[array]).all() and file[2][0, 0] == field[4, 0]
            except ValueError as error:
                return str(error)

    for _ in range(20):
        file = mpiio.open("field.json")
        wanted = {file.whole: field, file[3]: field[4:, 5:]}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(work, array) for array in list(wanted) * 2]
            file.close()
            assert [job.result(60) for job in jobs] == ["I/O operation on closed file"] * 4


def test_wrong_keys_are_those_of_numpy(field):
    with mpiio.open("field.json") as file:
        part = file[0]
        for key in ("x", 1.5, (0, 0, 0), (Ellipsis, Ellipsis), True, [True], [[9]], 4, -5):
            with pytest.raises(IndexError):
                part[key]
        with pytest.raises(ValueError):
            part[0] = [1, 2]
        with pytest.raises(ValueError, match="makes a copy"):
            part.__array__(copy=False)
        assert np.asarray(part, "f4").dtype == np.float32
