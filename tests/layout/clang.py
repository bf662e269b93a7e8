# SPDX-License-Identifier: MIT
"""clang.py BUILD: has clang look at each source that a build folder compiles, without the tests."""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

build = sys.argv[1]


def look(entry):
    words = [word for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D", "-W", "-std"))]
    return subprocess.run(["clang", "-fsyntax-only", *words, entry["file"]],
                          cwd=entry["directory"]).returncode


with open(os.path.join(build, "compile_commands.json")) as file:
    entries = {entry["file"]: entry for entry in json.load(file)
               if not entry["file"].startswith("../tests/")}
assert len(entries) > 300, len(entries)
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    sys.exit(any(pool.map(look, entries.values())))
