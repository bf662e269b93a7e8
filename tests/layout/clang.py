# SPDX-License-Identifier: MIT
"""clang.py BUILD: checks each source of a build directory with clang, except for the tests.

Calls clang's library, because a process of clang takes longer to start than to parse most sources.
Each thread parses its share. Prints clang's findings."""
import ctypes
import json
import os
import shlex
import subprocess
import sys
import threading

build = sys.argv[1]
TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("flags", ctypes.c_uint)]


def library():
    folder = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=True).stdout
    lib = ctypes.CDLL(os.path.join(folder.strip(), "../../libclang.so.1"))
    pointer, number = ctypes.c_void_p, ctypes.c_uint
    for name, result, *arguments in (
            ("clang_createIndex", pointer, ctypes.c_int, ctypes.c_int),
            ("clang_parseTranslationUnit", pointer, pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p),
             ctypes.c_int, pointer, number, number),
            ("clang_disposeTranslationUnit", None, pointer),
            ("clang_getNumDiagnostics", number, pointer),
            ("clang_getDiagnostic", pointer, pointer, number),
            ("clang_formatDiagnostic", String, pointer, number),
            ("clang_defaultDiagnosticDisplayOptions", number),
            ("clang_getCString", ctypes.c_char_p, String)):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def look(lib, index, entry):
    """Returns clang's findings about a source, one a line."""
    words = [word.encode() for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-W", "-std"))]
    unit = lib.clang_parseTranslationUnit(index, entry["file"].encode(), (ctypes.c_char_p * len(words))(*words),
                                          len(words), None, 0, 0)
    if not unit:
        return [f"{entry['file']}: error: clang cannot parse it"]
    options = lib.clang_defaultDiagnosticDisplayOptions()
    said = [lib.clang_formatDiagnostic(lib.clang_getDiagnostic(unit, i), options)
            for i in range(lib.clang_getNumDiagnostics(unit))]
    lib.clang_disposeTranslationUnit(unit)
    return [lib.clang_getCString(text).decode() for text in said]


with open(os.path.join(build, "compile_commands.json")) as file:
    entries = {entry["file"]: entry for entry in json.load(file)}
os.chdir(build)
assert all(os.path.samefile(entry["directory"], ".") for entry in entries.values())
entries = {name: entry for name, entry in entries.items() if not os.path.realpath(name).startswith(TESTS)}
assert len(entries) > 250, len(entries)
lib = library()
shares = os.cpu_count() or 1
looked = []


def work(share):
    index = lib.clang_createIndex(0, 0)
    for entry in list(entries.values())[share::shares]:
        said = look(lib, index, entry)
        print(*said, sep="\n", end="\n" if said else "")
        looked.append(not said)


threads = [threading.Thread(target=work, args=(share,)) for share in range(shares)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(len(looked) != len(entries) or not all(looked))
