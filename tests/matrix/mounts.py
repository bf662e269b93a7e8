# SPDX-License-Identifier: MIT
"""Mounts of the matrix and of the soak: on one node by mpiio-mount, on several by mpiio-engine;
their processes."""
import errno
import os
import shutil
import signal
import subprocess
import time

RANKS, BLOCK = 4, 512
REGION = 8192  # of a slice; a cell has one that holds data and one that is a hole of the file
REGIONS = 8
DATA = REGION * REGIONS * RANKS  # bytes of the file in front of its hole
LIMIT = 300  # seconds that anything may take


class Wrong(Exception):
    pass


def await_true(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Wrong(what)
        time.sleep(0.01)


def errno_in(line):
    """The error that a message names, or that its advice is for, as a word; "fails" where it names none."""
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
    """Its number: a FUSE connection has the same."""
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
    """Runs it with the limit of time; returns status and what it said on standard error."""
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


def states(pid):
    """Of its threads."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat") as stat:
            yield stat.read().rpartition(")")[2].split()[0]


def in_kernel(pid):
    """True if it sleeps in a call that is not about pipes or other processes."""
    try:
        if not all(state in "SD" for state in states(pid)):
            return False
        stack = open(f"/proc/{pid}/stack").read()
    except OSError:
        return False
    return not any(word in stack for word in ("pipe_read", "do_wait", "do_poll", "do_sys_poll", "nanosleep"))


def family(pid):
    """The process and all below it."""
    found = [pid]
    for parent in found:
        try:
            found += map(int, open(f"/proc/{parent}/task/{parent}/children").read().split())
        except OSError:
            pass
    return found


class Mount:
    """The views of s.json on one node or several, at NAME0 (NAME1, ...), with mount options."""

    def __init__(self, nodes, name="m", options=""):
        self.options = "log=" + os.path.abspath("log") + options
        self.nodes, self.name, self.engine = nodes, name, None
        self.folders = [f"{name}{i}" for i in range(nodes)]
        for folder in self.folders:
            os.makedirs(folder, exist_ok=True)

    def start(self, wrapper=()):
        """Mounts; wrapper: a command in front of each node's. Returns "ok" or the errno that the one
        line tells."""
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
                [mpiexec(), "-n", str(self.nodes), *wrapper, os.environ["MPIIO_SBIN"] + "/mpiio-engine",
                 "--name", "mpiio-mount", "--", "-o", self.options, "s.json",
                 os.path.abspath(self.name) + "%n"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.environment)
        await_true(lambda: b"ready" in open("out", "rb").read() or self.engine.poll() is not None,
                   "mounting hangs")
        if b"ready" in open("out", "rb").read():
            # A daemon starts its last threads after that, and answers when it has them all.
            for folder in self.folders:
                if run("stat", "-f", folder)[0] != 0:
                    raise Wrong(f"{folder} does not answer")
            return "ok"
        self.nothing_there()
        # mpiexec and MPI have lines of their own, which mpiio-mount would hide.
        said = open("err", "rb").read().decode(errors="replace").splitlines()
        return errno_in("".join(line for line in said if line.startswith("mpiio-mount: ")))

    def nothing_there(self):
        for folder in self.folders:
            if mounted(folder):
                raise Wrong(f"{folder} is left mounted")
        self.ended()

    def processes(self, *names):
        """Of the programs of those names that belong to the mount, in order of their numbers."""
        found = []
        for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                comm = open(f"/proc/{pid}/comm").read().strip()
                if comm in names and self.mark.encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
                    found.append(pid)
            except OSError:
                pass
        return found

    def daemons(self):
        return self.processes("mpiio-fused")

    def all(self):
        return self.processes("mpiio-fused", "mpiio-engine")

    def daemon_of(self, node):
        """By its arguments, as one that is stopped does not answer."""
        end = os.path.abspath(self.folders[node]).encode()
        for pid in self.daemons():
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            if any(word in (end, self.folders[node].encode(), os.path.abspath(self.name).encode() + b"%n")
                   for word in words) and (self.nodes == 1 or self.number_of(pid) == node):
                return pid
        raise Wrong(f"no daemon of node {node}")

    def number_of(self, pid):
        """Which node a daemon is: its engine's rank."""
        for word in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
            if word.startswith(b"PMI_RANK="):
                return int(word[9:])
        raise Wrong("a daemon without a rank")

    def unmount(self, *options, meanwhile=None):
        """By mpiio-umount. Returns "ok" or the errno that the one line tells."""
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
        """Unmounts what is mounted still, whatever its state."""
        for folder in self.folders:
            if mounted(folder):
                status, said = run("mpiio-umount", "-f", "--node", folder)
                if mounted(folder):
                    raise Wrong(f"-f leaves {folder} mounted: {status} {said}")
        self.ended()

    def kill(self):
        """For what no longer obeys."""
        for folder in self.folders:
            while mounted(folder):
                subprocess.run(["umount", "-l", folder])
        for pid in self.all():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.engine:
            self.engine.kill()
            self.engine.wait()
            self.engine = None


def mpiexec():
    for name in ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"):
        if shutil.which(name):
            return name
    raise Wrong("no mpiexec")
