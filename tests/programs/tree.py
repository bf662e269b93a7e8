# SPDX-License-Identifier: MIT
"""Programs of tests/bats/tree.bats."""
import ctypes
import errno
import os
import sys


def the_protocol_of_getxattr_and_listxattr():
    libc = ctypes.CDLL(None, use_errno=True)
    path = sys.argv[1].encode()
    buffer = ctypes.create_string_buffer(4096)
    assert libc.getxattr(path, b"user.mpiio.extent", None, 0) == 2
    assert libc.getxattr(path, b"user.mpiio.extent", buffer, 1) == -1
    assert ctypes.get_errno() == errno.ERANGE
    assert libc.getxattr(path, b"user.mpiio.extent", buffer, 2) == 2 and buffer.raw[:2] == b"32"
    size = libc.listxattr(path, None, 0)
    assert size > 0
    assert libc.listxattr(path, buffer, size - 1) == -1
    assert ctypes.get_errno() == errno.ERANGE
    assert libc.listxattr(path, buffer, size) == size
    assert buffer.raw[:size].count(b"\0") == 9


def a_folder_is_read():
    libc = ctypes.CDLL(None)
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.c_void_p
    for call in (libc.readdir, libc.telldir, libc.seekdir):
        call.argtypes = [ctypes.c_void_p]
    libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
    libc.telldir.restype = ctypes.c_long
    folder = libc.opendir(sys.argv[1].encode())
    def read():
        entry = libc.readdir(folder)
        return ctypes.string_at(entry + 19) if entry else None
    places = []
    while True:
        place = libc.telldir(folder)
        name = read()
        if name is None:
            break
        places.append((place, name))
    assert len(places) == 5003, len(places)
    for place, name in places[::-1][::97] + places[::101]:
        libc.seekdir(folder, place)
        assert read() == name


def what_was_listed_is_asked():
    sizes = [entry.stat().st_size for entry in os.scandir("mnt") if entry.name.startswith("rank")]
    assert sizes == [8] * 5000
    for size in range(2, 40):
        entries = [entry for entry in os.scandir("mnt") if entry.name.startswith("rank")]
        entries[4000].stat()
        os.truncate("l.dat", 5000 * 8 * size)
        for entry in entries[:4000:400]:
            with open(entry.path, "rb") as file:
                assert os.fstat(file.fileno()).st_size == 8 * size
                assert len(file.read()) == 8 * size


def in_a_small_folder_each_answer():
    for size in range(1, 40):
        names = [name for name in os.listdir("mnt") if name.startswith("rank")]
        os.truncate("l.dat", 200 * 8 * size)
        assert {os.stat("mnt/" + name).st_size for name in names} == {8 * size}
