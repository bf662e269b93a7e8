# SPDX-License-Identifier: MIT
"""Mounts of the matrix, the soak and the crashes: on one node by mpiio-mount, on several by
mpiio-engine; their processes, and the page of a table."""
import contextlib
import errno
import os
import shutil
import subprocess
import time

from processes import kill_all, states

RANKS, BLOCK = 4, 512
REGION = 8192  # bytes of a slice; a cell has one with data and one that is a hole of the file
REGIONS = 8
DATA = REGION * REGIONS * RANKS  # bytes of the file before its hole
LIMIT = 300  # seconds; no call may take longer


class Wrong(Exception):
    pass


def await_true(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Wrong(what)
        time.sleep(0.01)


def errno_in(line):
    """Returns the error that a message names, or that its advice is for, as a word; "fails" if it
    names none."""
    for advice, name in (("ulimit -n", "EMFILE"), ("ulimit -u", "EAGAIN")):
        if advice in line:
            return name
    for code, name in errno.errorcode.items():
        if os.strerror(code) in line:
            return name
    return "fails"


def mounted(folder):
    path = os.path.abspath(folder)
    return any(line.split()[4] == path for line in open("/proc/self/mountinfo", errors="replace"))


def device(folder):
    """Returns the mount's number, which is also that of its FUSE connection."""
    path = os.path.abspath(folder)
    for line in open("/proc/self/mountinfo", errors="replace"):
        if line.split()[4] == path:
            return int(line.split()[2].split(":")[1])
    raise Wrong(f"{folder} is not mounted")


def one_line(text, command):
    lines = text.decode(errors="replace").splitlines()
    if len(lines) != 1 or not lines[0].startswith(command):
        raise Wrong(f"not one line of {command}: {lines}")
    return errno_in(lines[0])


def run(*command, meanwhile=None, **more):
    """Runs a command with the time limit. Returns its status and its standard error."""
    with open("said", "w+b") as said:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=said, **more)
        try:
            if meanwhile:
                meanwhile(running)
            running.wait(LIMIT)
        except (Wrong, subprocess.TimeoutExpired):
            running.kill()
            raise Wrong(f"{command[0]} hangs")
        said.seek(0)
        return running.returncode, said.read()


def in_kernel(pid):
    """Returns true if it sleeps in a call that is not about pipes or other processes."""
    try:
        if not all(state in "SD" for state in states(pid)):
            return False
        stack = open(f"/proc/{pid}/stack").read()
    except OSError:
        return False
    return not any(word in stack for word in ("pipe_read", "do_wait", "do_poll", "do_sys_poll", "nanosleep"))


def family(pid):
    """Returns the process and all its descendants."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            found += map(int, open(f"/proc/{parent}/task/{parent}/children").read().split())
    return found


def page(lines):
    """Formats lines of words in columns that are as narrow as possible."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(" ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip()
                     for line in lines)


class Mount:
    """The views of s.json on one node or several, at NAME0 (NAME1, ...), with mount options."""

    def __init__(self, nodes, name="m", options=""):
        self.options = "log=" + os.path.abspath("log") + options
        self.nodes, self.name, self.engine = nodes, name, None
        self.folders = [f"{name}{i}" for i in range(nodes)]
        for folder in self.folders:
            os.makedirs(folder, exist_ok=True)

    def start(self, wrapper=()):
        """Mounts. wrapper: a command that runs each node's. Returns "ok" or the errno in the one
        line of output."""
        self.mark = f"MPIIO_CELL={os.path.abspath(self.name)}"
        self.environment = {**os.environ, "MPIIO_CELL": os.path.abspath(self.name)}
        return self.start_one(wrapper) if self.nodes == 1 else self.start_several(wrapper)

    def start_one(self, wrapper):
        status, said = run(*wrapper, "mpiio-mount", "-o", self.options, "s.json", self.folders[0],
                           env=self.environment)
        if status == 0:
            return "ok"
        self.nothing_there()
        return one_line(said, "mpiio-mount: ")

    def start_several(self, wrapper):
        with open("out", "wb") as out, open("err", "wb") as err:
            self.engine = subprocess.Popen(
                [mpiexec(), "-n", str(self.nodes), *wrapper, os.environ["MPIIO_SBIN"] + "/mpiio-engine-mpich",
                 "--name", "mpiio-mount", "--", "-o", self.options, "s.json",
                 os.path.abspath(self.name) + "%n"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment)
        await_true(lambda: b"ready" in open("out", "rb").read() or self.engine.poll() is not None,
                   "mounting hangs")
        if b"ready" in open("out", "rb").read():
            # A daemon starts its last threads after that, and answers once it has all of them.
            for folder in self.folders:
                if run("stat", "-f", folder)[0] != 0:
                    raise Wrong(f"{folder} does not answer")
            return "ok"
        self.nothing_there()
        # mpiexec and MPI print lines of their own, which mpiio-mount would hide.
        said = open("err", "rb").read().decode(errors="replace").splitlines()
        return errno_in("".join(line for line in said if line.startswith("mpiio-mount: ")))

    def nothing_there(self):
        for folder in self.folders:
            if mounted(folder):
                raise Wrong(f"{folder} is left mounted")
        self.ended()

    def processes(self, *names):
        """Returns the processes of programs with these names that belong to the mount, by
        number."""
        found = []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            with contextlib.suppress(OSError):
                comm = open(f"/proc/{pid}/comm").read().strip()
                if comm in names and self.mark.encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
                    found.append(pid)
        return found

    def daemons(self):
        return self.processes("mpiio-fused")

    def all(self):
        return self.processes("mpiio-fused", "mpiio-engine-mp")

    def daemon_of(self, node):
        """Finds the daemon by its arguments, because a stopped one does not answer."""
        end = os.path.abspath(self.folders[node]).encode()
        for pid in self.daemons():
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            if any(word in (end, self.folders[node].encode(), os.path.abspath(self.name).encode() + b"%n")
                   for word in words) and (self.nodes == 1 or self.number_of(pid) == node):
                return pid
        raise Wrong(f"no daemon of node {node}")

    def number_of(self, pid):
        """Returns the node of a daemon: its engine's rank."""
        for word in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
            if word.startswith(b"PMI_RANK="):
                return int(word[9:])
        raise Wrong("a daemon without a rank")

    def unmount(self, *options, meanwhile=None):
        """Unmounts by mpiio-umount. Returns "ok" or the errno in the one line of output."""
        status, said = run("mpiio-umount", *options, self.folders[0], meanwhile=meanwhile)
        if status == 0:
            if said:
                raise Wrong(f"unmounting says {said}")
            return "ok"
        answer = one_line(said, "mpiio-umount: ")
        if answer == "fails":
            raise Wrong(said)
        return answer

    def ended(self):
        await_true(lambda: not self.all(), "its processes do not end")
        if self.engine:
            try:
                self.engine.wait(LIMIT)
            except subprocess.TimeoutExpired:
                raise Wrong("mpiexec does not end")
            self.engine = None

    def remove(self):
        """Unmounts what is still mounted, whatever its state."""
        for folder in self.folders:
            if mounted(folder):
                status, said = run("mpiio-umount", "-f", "--node", folder)
                if mounted(folder):
                    raise Wrong(f"-f leaves {folder} mounted: {status} {said}")
        self.ended()

    def kill(self):
        """Ends processes that no longer respond."""
        for folder in self.folders:
            while mounted(folder):
                subprocess.run(["umount", "-l", folder])
        kill_all(self.all())
        if self.engine:
            self.engine.kill()
            self.engine.wait()
            self.engine = None


def mpiexec():
    for name in ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"):
        if shutil.which(name):
            return name
    raise Wrong("no mpiexec")
