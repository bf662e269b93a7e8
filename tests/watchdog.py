#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Ends tests that hang:  watchdog.py OWNER STAGE LIMIT [END]

STAGE is the directory of a run of tests. Each running test has a file STAGE/running.* of three
lines: the number of the test's shell, its directory, its name. The watchdog ends a test that runs
for more than LIMIT seconds, and every test after END (seconds since 1970):

- It reports the test's processes, where they wait, and the end of its daemons' log, among the
results
  (descriptor 3 of OWNER, which is bats) and in STAGE/overtime.*, which marks the test as failed.
- It aborts the FUSE connections of mounts in the test's directory, and kills the test's processes.
  So it also ends processes that wait for a mount where no signal reaches them.
- It ends a shell that continues after 20 seconds, by force after 60.

A minute after END it kills every process of the run. It exits when STAGE is gone, or when the
process OWNER has exited.

The watchdog never waits for a process under test. The memory of a process that hangs, which
contains its environment, may be locked, so a thread that is never joined reads it.
"""
import collections
import glob
import os
import signal
import sys
import threading
import time

TICK = float(os.environ.get("MPIIO_TEST_TICK", "2"))  # seconds between two looks
SOFT, HARD = 10, 30  # looks after which a shell is ended, and killed
LOG = 20  # lines of the daemons' log that are reported


def text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def environment(pid):
    """Returns the contents, or None if they are not available."""
    found = []

    def read():
        found.append(text(f"/proc/{pid}/environ").split("\0"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(2)
    return found[0] if found else None


def marked(name, folder):
    """Returns the processes with a variable that names the directory, or a path in it."""
    mark = f"{name}={folder}"
    own = os.getpid()
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != own:
            if any(value == mark or value.startswith(mark + "/")
                   for value in environment(pid) or ()):
                yield int(pid)


def told(pid):
    """Describes a process in a line, without reading its memory."""
    stat = text(f"/proc/{pid}/stat")
    state = stat[stat.rfind(")") + 2:][:1]
    places = collections.Counter(text(path) for path in glob.glob(f"/proc/{pid}/task/*/wchan"))
    line = f"{pid} {text(f'/proc/{pid}/comm').strip()} {state}"
    for place, threads in sorted(places.items()):
        line += f" {place}" + (f" x{threads}" if threads > 1 else "")
    if state == "D":
        line += " < " + " < ".join(frame.split(" ")[-1].split("+")[0]
                                   for frame in text(f"/proc/{pid}/stack").splitlines()[:8])
    return line


def connections(folder):
    """Returns the numbers of the FUSE mounts below a directory, in any namespace."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/mountinfo"):
        for line in text(path).splitlines():
            fields = line.split(" ")
            kind = fields[fields.index("-") + 1]
            if kind.startswith("fuse") and kind != "fusectl" and fields[4].startswith(folder + "/"):
                found.add(fields[2].split(":")[1])
    return found


def write(path, what):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(what)
    except OSError:
        pass


def kill(pid, how):
    try:
        os.kill(pid, how)
    except OSError:
        pass


class Test:
    """A test that hangs."""

    def __init__(self, path, why):
        self.path = path
        self.why = why
        self.looks = 0

    def end(self, owner):
        lines = text(self.path).splitlines()
        if len(lines) < 3:
            return
        shell, folder, name = int(lines[0]), lines[1], lines[2]
        if not os.path.exists(f"/proc/{shell}"):
            os.unlink(self.path)
        processes = list(marked("MPIIO_TEST", folder))
        if self.looks == 0:
            report = [f"watchdog: {name}: {self.why}; its processes:"]
            report += ["  " + told(pid) for pid in [shell] + processes]
            if os.path.isfile(folder + "/log"):
                report += ["  log: " + line for line in text(folder + "/log").splitlines()[-LOG:]]
            write(self.path.replace("running.", "overtime."), "\n".join(report) + "\n")
            write(f"/proc/{owner}/fd/3", "".join(f"# {line}\n" for line in report))
        for number in connections(folder):
            write(f"/sys/fs/fuse/connections/{number}/abort", "1")
        for pid in processes:
            kill(pid, signal.SIGKILL)
        if self.looks in (SOFT, HARD):
            kill(shell, signal.SIGTERM if self.looks == SOFT else signal.SIGKILL)
        self.looks += 1


def watch(owner, stage, limit, end):
    over = {}
    while os.path.isdir(stage) and os.path.exists(f"/proc/{owner}"):
        now = time.time()
        running = glob.glob(stage + "/running.*")
        for path in running:
            try:
                age = now - os.stat(path).st_mtime
            except OSError:
                continue
            if path not in over and (age > limit or now > end):
                why = f"runs for {age:.0f} s" if age > limit else "the time for all tests is over"
                over[path] = Test(path, why)
        for path in set(over) - set(running):
            del over[path]
        for test in over.values():
            test.end(owner)
        if now > end + 60:
            for pid in marked("MPIIO_STAGE", stage):
                kill(pid, signal.SIGKILL)
        time.sleep(TICK)


if __name__ == "__main__":
    watch(sys.argv[1], sys.argv[2], float(sys.argv[3]), float((sys.argv + ["inf"])[4]))
