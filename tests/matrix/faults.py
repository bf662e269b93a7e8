# SPDX-License-Identifier: MIT
"""The faults of the matrix: how each comes about, and how it is taken away again. On two nodes
SIGKILL is node 1's, where the operation is node 0's; others are
everybody's."""
import os
import resource
import signal
import subprocess

from cells import contents
from mounts import Mount, Wrong, await_true


class Fault:
    passes = True  # it can be taken away: the mount is used again

    def fresh(self):
        """A disk with the file, and the spec. For each mount."""
        if not os.path.ismount("disk"):
            os.makedirs("disk", exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", "disk"], check=True)
        for name in os.listdir("disk"):
            os.unlink(f"disk/{name}")
        self.make("disk/file")

    def make(self, path):
        data = contents()
        with open(path, "wb") as out:
            out.write(data[:len(data) // 2])
            out.truncate(len(data))

    def begin(self, mount):
        raise NotImplementedError

    def meanwhile(self, mount):
        """While the operation is under way."""

    def clear(self, mount):
        """Takes it away, where that is possible."""

    def unmount(self, mount):
        return mount.unmount()

    def mount(self, mount):
        """Mounts under the fault."""
        self.begin(mount)
        try:
            return mount.start()
        finally:
            self.clear(mount)

    def cut(self, data):
        """What the fault itself makes of the file."""
        return data

    def keeps(self, cell):
        """True if what was acknowledged outlives the fault."""
        return True


class Full(Fault):
    def begin(self, mount):
        with open("disk/ballast", "wb", buffering=0) as out:
            try:
                while True:
                    out.write(bytes(65536))
            except OSError:
                pass

    def clear(self, mount):
        if os.path.exists("disk/ballast"):
            os.unlink("disk/ballast")


class Limit(Fault):
    """A limit of the daemons and engines."""

    def __init__(self, what, most, mounting):
        self.what, self.most, self.mounting = what, most, mounting
        self.before = {}

    def begin(self, mount):
        for pid in mount.all():
            self.before[pid] = resource.prlimit(pid, self.what, (self.most, -1))

    def clear(self, mount):
        for pid, limits in self.before.items():
            try:
                resource.prlimit(pid, self.what, limits)
            except ProcessLookupError:
                pass
        self.before = {}

    def mount(self, mount):
        return mount.start(["prlimit", self.mounting])


class Replaced(Fault):
    passes = False

    def begin(self, mount):
        self.make("disk/new")
        os.rename("disk/new", "disk/file")


class Deleted(Fault):
    passes = False

    def begin(self, mount):
        os.unlink("disk/file")


class Truncated(Fault):
    passes = False

    def begin(self, mount):
        os.truncate("disk/file", 0)

    def cut(self, data):
        return bytes(len(data))

    def keeps(self, cell):
        return cell.operation in ("write", "store")


class ReadOnly(Fault):
    """It may not be opened for writing any more; what has it open goes on."""
    passes = False

    def begin(self, mount):
        os.chmod("disk/file", 0o444)
        subprocess.run(["chattr", "+i", "disk/file"], capture_output=True).returncode

    def clear(self, mount):
        subprocess.run(["chattr", "-i", "disk/file"], capture_output=True)


class Killed(Fault):
    passes = False

    def begin(self, mount):
        os.kill(mount.daemon_of(mount.nodes - 1), signal.SIGKILL)
        # What is asked before the connection has ended may get ECONNABORTED.
        await_true(lambda: self.is_dead(mount.folders[-1]), "a killed daemon does not end")

    def is_dead(self, folder):
        try:
            os.listdir(folder)
        except OSError:
            return True
        return False

    def mount(self, mount):
        other = Mount(mount.nodes, "other")
        if other.start() != "ok":
            raise Wrong("the other is not mounted")
        try:
            self.begin(other)
            return mount.start()
        finally:
            self.clear(other)
            other.remove()


FAULTS = {
    "ENOSPC": Full,
    "EFBIG": lambda: Limit(resource.RLIMIT_FSIZE, 65536, "--fsize=65536"),
    "replaced": Replaced,
    "truncated": Truncated,
    "deleted": Deleted,
    "read-only": ReadOnly,
    "SIGKILL": Killed,
}
