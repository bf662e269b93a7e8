#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Does random operations in four processes, two of them under mpiio-run, on slices of one file, one
by one. Each result must agree with a model of the file.

    model.py SEED OPERATIONS FILE DEALT0 DEALT1 WHOLE     writes the expected file: model

Needs tests/shared in PYTHONPATH.
"""
import os
import random
import subprocess
import sys
import time

from slices import Runs

PROGRAM = r"""
import mmap, os, sys
def say(data):
    sys.stdout.buffer.write(len(data).to_bytes(8, "little") + data)
    sys.stdout.buffer.flush()
opened, maps = {}, {}
for line in sys.stdin:
    what, key, *words = line.split()
    if what == "open":
        opened[key] = os.open(words[0], int(words[1]))
        say(b"")
    elif what == "close":
        if key in maps:
            maps.pop(key).close()
        os.close(opened.pop(key))
        say(b"")
    elif what == "dup":
        opened[key] = os.dup(opened[words[0]])
        say(b"")
    elif what == "pread":
        say(os.pread(opened[key], int(words[0]), int(words[1])))
    elif what == "read":
        os.lseek(opened[key], int(words[1]), 0)
        say(os.read(opened[key], int(words[0])))
    elif what == "pwrite":
        say(b"%d" % os.pwrite(opened[key], bytes.fromhex(words[0]), int(words[1])))
    elif what == "write":
        os.lseek(opened[key], int(words[1]), 0)
        say(b"%d" % os.write(opened[key], bytes.fromhex(words[0])))
    elif what == "map":
        if key not in maps:
            maps[key] = mmap.mmap(opened[key], 0)
        data = bytes.fromhex(words[0])
        maps[key][int(words[1]):int(words[1]) + len(data)] = data
        maps[key].flush()
        say(b"")
"""
SLICES = Runs(0, 24, 48), Runs(24, 24, 48), Runs(0, 1, 1)
PAGE = 4096


class Process:
    def __init__(self, under):
        command = ["/usr/bin/python3", "-c", PROGRAM]
        environment = dict(os.environ)
        if under:
            command = ["mpiio-run", "-s"] + command
            environment["LD_PRELOAD"] = os.environ.get("MPIIO_SANITIZER", "")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.open = {}  # key: (slice, may write)

    def ask(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()
        length = int.from_bytes(self.process.stdout.read(8), "little")
        return self.process.stdout.read(length)

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("a process failed")


def read(process, model, words, slice, start, end):
    """If the writer's slice is also open for reading elsewhere, its bytes may show a moment
    later."""
    want = bytes(model[i] for i in SLICES[slice].places(start, end))
    for _ in range(400):
        if process.ask(*words) == want:
            return
        time.sleep(0.005)
    sys.exit(f"wrong data: {words}")


def step(number, process, paths, model):
    choice = random.random()
    if not process.open or choice < 0.1:
        slice = random.randrange(len(paths))
        flags = random.choice((os.O_RDONLY, os.O_WRONLY, os.O_RDWR))
        process.open[number] = (slice, flags)
        process.ask("open", number, paths[slice], flags)
        return
    key = random.choice(list(process.open))
    slice, flags = process.open[key]
    size = SLICES[slice].size(len(model))
    start = random.randrange(size)
    end = min(size, start + random.choice((1, 8, 100, 5000)))
    if choice < 0.15:
        del process.open[key]
        process.ask("close", key)
    elif choice < 0.2:
        process.open[number] = (slice, flags)
        process.ask("dup", number, key)
    elif flags == os.O_RDONLY or flags == os.O_RDWR and choice < 0.6:
        what = random.choice(("read", "pread"))
        read(process, model, (what, key, end - start, start), slice, start, end)
    else:
        data = random.randbytes(end - start)
        ways = ("write", "pwrite") + (("map",) if flags == os.O_RDWR and choice > 0.9 else ())
        way = random.choice(ways)
        if way == "map":  # pages are stored as a whole, so they must be the file's before
            first, last = start // PAGE * PAGE, min(size, -(-end // PAGE) * PAGE)
            read(process, model, ("pread", key, last - first, first), slice, first, last)
        put = process.ask(way, key, data.hex(), start)
        if put not in (b"", b"%d" % len(data)):
            sys.exit(f"{put} bytes written of {len(data)}")
        for i, byte in zip(SLICES[slice].places(start, end), data):
            model[i] = byte


def main(seed, operations, file, *paths):
    random.seed(int(seed))
    with open(file, "rb") as before:
        model = bytearray(before.read())
    processes = [Process(under) for under in (True, True, False, False)]
    for number in range(int(operations)):
        if number % 500 == 0:  # the processes without mpiio-run pause for a while
            for process in processes:
                for key in list(process.open):
                    del process.open[key]
                    process.ask("close", key)
        step(number, random.choice(processes[:2 if number % 500 < 250 else 4]), paths, model)
    for process in processes:
        process.end()
    with open("model", "wb") as after:
        after.write(model)


main(*sys.argv[1:])
