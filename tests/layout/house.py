#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The house's rules that need more than a grep, for layout.bats: what is against them goes to
standard output, a line each.

    house.py rooms           includes against the table of rooms, which comes on standard input
    house.py circles BUILD   files whose functions call each other in a circle
    house.py headers BUILD   functions of a source that no header of its own declares
    house.py paragraphs      sources without a header of their own that do not say what they are for

Calls are read from the objects of the build, by nm: what an object defines, and what it needs.
"""
import functools
import os
import re
import subprocess
import sys

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
HOUSE = ("viewspec", "src", "fusefs")


def sources(*endings):
    found = []
    for folder in HOUSE:
        for path, _, names in os.walk(os.path.join(TOP, folder)):
            found += [os.path.relpath(os.path.join(path, name), TOP)
                      for name in names if name.endswith(endings)]
    return sorted(found)


def exists(path):
    return os.path.exists(os.path.join(TOP, path))


def text_of(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def included(path):
    """The files of the house that a source includes: from its own folder, or by room."""
    folder = os.path.dirname(path)
    for name in re.findall(r'^#include "([^"]+)"', text_of(path), re.M):
        places = [os.path.normpath(os.path.join(start, name))
                  for start in (folder, "", "src", "viewspec", "src/core")]
        found = next((place for place in places if exists(place)), None)
        if found is None:
            print(f"{path}: {name}: not found")
        else:
            yield found


def rooms():
    """A line of the table is a room and what it may use beside itself: rooms, or single headers."""
    table = {}
    for line in sys.stdin:
        room, _, uses = line.partition(":")
        table[room.strip()] = uses.split()
    for path in sources(".c", ".h"):
        room = os.path.dirname(path)
        if room not in table:
            print(f"{path}: the table has no such room")
            continue
        for target in included(path):
            if not {target, os.path.dirname(target)} & {room, *table[room]}:
                print(f"{path}: includes {target}")
            private = re.search(r"Private to (\S+)/", text_of(target))
            if private and not path.startswith(private[1]):
                print(f"{path}: includes {target}, which is private to {private[1]}")


def symbols(build):
    """For each source with an object in the build: the functions it defines, and what it needs."""
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True).stdout
    objects = {}
    for target, first in re.findall(r"^(\S+): #deps .*\(VALID\)\n +(\S+)$", deps, re.M):
        source = os.path.relpath(os.path.join(build, first), TOP)
        if source.startswith(HOUSE) and source.endswith(".c") and source not in objects.values():
            objects[target] = source
    # One nm for all objects: each start of nm takes a tenth of a second.
    table = subprocess.run(["nm", "-A", *objects], capture_output=True, text=True, check=True,
                           cwd=build).stdout
    defined = {source: set() for source in objects.values()}
    needed = {source: set() for source in objects.values()}
    for target, kind, name in re.findall(r"^(\S+):\w* +([TU]) (\w+)$", table, re.M):
        source = objects[target]
        if kind == "U":
            needed[source].add(name)
        # src/run catches calls of the C library, whose names they are.
        elif not source.startswith("src/run/") or re.fullmatch(r"run_\w+|main", name):
            defined[source].add(name)
    if not defined:
        print(f"{build}: no objects")
    return defined, needed


def calls(build):
    """The files that each file calls. A name of several programs is that of its own."""
    defined, needed = symbols(build)
    owners = {}
    for source in sorted(defined):
        for name in defined[source]:
            owners.setdefault(name, []).append(source)
    graph = {}
    for source, names in needed.items():
        graph[source] = set()
        for name in names:
            found = owners.get(name, [])
            near = [file for file in found if file.split("/")[:2] == source.split("/")[:2]]
            graph[source].update(near or found)
        graph[source].discard(source)
    return graph


def circles(build):
    """Strongly connected files, by Tarjan's algorithm."""
    graph = calls(build)
    number, low, stack = {}, {}, []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for target in sorted(graph[file]):
            if target not in number:
                visit(target)
                low[file] = min(low[file], low[target])
            elif target in stack:
                low[file] = min(low[file], number[target])
        if low[file] == number[file]:
            circle = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(circle) > 1:
                print("circle:", *sorted(circle))

    for file in sorted(graph):
        if file not in number:
            visit(file)


@functools.cache
def words(path):
    return set(re.findall(r"\w+", text_of(path)))


def headers(build):
    """
    X.c has X.h, X_private.h where it is installed, an installed one, or its module's: a header of
    its folder that it includes first, and the private part of that one. MPI's and Slurm's names are theirs.
    """
    lists = "".join(text_of(path) for path in ("viewspec/meson.build", "src/core/meson.build"))
    installed = set(re.findall(r"'(\w+\.h)'", lists))
    public = [path for path in sources(".h") if os.path.basename(path) in installed]
    for source, names in sorted(symbols(build)[0].items()):
        own = [source[:-2] + ".h", source[:-2] + "_private.h"]
        first = re.search(r'^#include "(\w+\.h)"', text_of(source), re.M)
        if first:
            module = f"{os.path.dirname(source)}/{first[1][:-2]}"
            own += [module + ".h", module + "_private.h"]
        declared = set()
        for header in filter(exists, own + public):
            declared |= words(header)
        for name in sorted(names):
            if name not in declared and name != "main" and not re.match("P?MPI_|slurm_spank_", name):
                print(f"{source}: {name} is not declared in {os.path.basename(own[0])}")


def paragraphs():
    for source in sources(".c"):
        folder, name = os.path.split(source[:-2] + ".h")
        if not exists(f"{folder}/{name}") and not exists(f"{os.path.dirname(folder)}/{name}"):
            body = re.sub(r"^(/\* SPDX.*|#(include|define|error).*|)\n", "", text_of(source),
                          flags=re.M)
            if not body.startswith("/*"):
                print(f"{source}: does not say what it is for")


sys.setrecursionlimit(10000)
{"rooms": rooms, "circles": circles, "headers": headers, "paragraphs": paragraphs}[
    sys.argv[1]](*sys.argv[2:])
