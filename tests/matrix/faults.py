# SPDX-License-Identifier: MIT
"""The faults of the matrix: how to inject and remove each one. With two nodes, a fault of a daemon
hits node 1's, and the operation runs on node 0. Other faults hit both nodes."""
import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

from cells import contents
from mounts import Mount, Wrong, await_true, device, family, in_kernel
from processes import states

LET_GO = Path(__file__).parents[1] / "let_go"


def fill(path):
    """Writes until the disk is full."""
    with open(path, "wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(bytes(65536))


class Fault:
    passes = True  # it can be removed, and the mount used again
    alone = False  # each operation still has its own mount
    options = ""  # of the mount, each after a comma

    def fresh(self):
        """Makes a disk with the file, and the spec. Called for each mount."""
        if not os.path.ismount("disk"):
            os.makedirs("disk", exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", "disk"], check=True)
        for name in os.listdir("disk"):
            if name != "lost+found":
                os.unlink(f"disk/{name}")
        self.make("disk/file")

    def make(self, path):
        data = contents()
        with open(path, "wb") as out:
            out.write(data[:len(data) // 2])
            out.truncate(len(data))

    def begin(self, mount):
        raise NotImplementedError

    def meanwhile(self, cell):
        """Injects the fault while the operation runs. Returns true if the operation waits for its
        end."""
        return False

    def clear(self, mount):
        """Removes the fault, if possible."""

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
        """Applies the fault's own effect to the model of the file."""
        return data

    def keeps(self, cell):
        """Returns true if acknowledged data survives the fault."""
        return True


class Full(Fault):
    def begin(self, mount):
        fill("disk/ballast")

    def clear(self, mount):
        if os.path.exists("disk/ballast"):
            os.unlink("disk/ballast")


class Limit(Fault):
    """A limit of the daemons and engines."""

    def __init__(self, what, most, mounting, alone=False):
        self.what, self.most, self.mounting, self.alone = what, most, mounting, alone
        self.before = {}

    def begin(self, mount):
        for pid in mount.all():
            self.before[pid] = resource.prlimit(pid, self.what)
            resource.prlimit(pid, self.what, (self.most, self.before[pid][1]))

    def clear(self, mount):
        for pid, limits in self.before.items():
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, self.what, limits)
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
    """The file can no longer be opened for writing. Open descriptors still work."""
    passes = False

    def begin(self, mount):
        os.chmod("disk/file", 0o444)
        subprocess.run(["chattr", "+i", "disk/file"], capture_output=True).returncode

    def clear(self, mount):
        subprocess.run(["chattr", "-i", "disk/file"], capture_output=True)


class DaemonFault(Fault):
    """A fault of the last node's daemon. For mounting, of the daemon of another mount of the
    file."""

    def mount(self, mount):
        other = Mount(mount.nodes, "other", self.options)
        if other.start() != "ok":
            raise Wrong("the other is not mounted")
        try:
            self.begin(other)
            return mount.start()
        finally:
            self.clear(other)
            other.remove()


class Killed(DaemonFault):
    passes = False
    options = ",peer_timeout=1"  # so that the other node continues alone sooner

    def begin(self, mount):
        os.kill(mount.daemon_of(mount.nodes - 1), signal.SIGKILL)
        # While the kernel ends the connection, a request may get ECONNABORTED, or an answer.
        await_true(lambda: self.is_dead(mount.folders[-1]), "a killed daemon does not end")

    def is_dead(self, folder):
        try:
            os.listdir(folder)
        except OSError as error:
            return error.errno == errno.ENOTCONN
        return False


class Stopped(DaemonFault):
    """With one node, the operation waits until the daemon continues. With two, it answers
    before."""
    options = ",peer_timeout=1"

    def begin(self, mount):
        self.passes = mount.nodes == 1
        self.pid = mount.daemon_of(mount.nodes - 1)
        os.kill(self.pid, signal.SIGSTOP)
        await_true(lambda: all(state == "T" for state in states(self.pid)), "it is not stopped")

    def clear(self, mount):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def meanwhile(self, cell):
        if cell.nodes == 1:
            await_true(lambda: in_kernel(cell.child), "it does not wait")
            self.clear(cell.mount)
        return cell.nodes == 1

    def unmount(self, mount):
        if mount.nodes > 1:
            return mount.unmount()
        self.begin(mount)
        answer = mount.unmount(meanwhile=self.until_it_waits)
        return "waits" if answer == "ok" else answer

    def until_it_waits(self, command):
        await_true(lambda: any(map(in_kernel, family(command.pid))), "mpiio-umount does not wait")
        self.clear(None)


class Aborted(DaemonFault):
    """The kernel ends the connection. For mounting, /dev/fuse does not exist."""
    passes = False

    def begin(self, mount):
        os.makedirs("connections", exist_ok=True)
        subprocess.run(["mount", "-t", "fusectl", "none", "connections"], check=True)
        try:
            with open(f"connections/{device(mount.folders[-1])}/abort", "w") as out:
                out.write("1")
        finally:
            subprocess.run(["umount", "connections"], check=True)

    WITHOUT = """
        mount -t tmpfs tmpfs dev
        cp -a /dev/null /dev/zero /dev/urandom dev
        mkdir dev/shm
        mount --bind dev /dev
        exec "$@" """

    def mount(self, mount):
        os.makedirs("dev", exist_ok=True)
        return mount.start(["bash", "-c", """
            [ "${PMI_RANK:-1}" = 1 ] || exec "${@:2}"
            exec "$1" --keep "$PWD" bash -ec "$0" bash "${@:2}" """, self.WITHOUT, LET_GO])


class Broken(Fault):
    """A disk in a loop device whose image is empty and immutable, so it can be neither read nor
    written. The image is on another such disk, because not every filesystem refuses writes to an
    open file."""
    passes = False

    def fresh(self):
        if os.path.ismount("disk"):
            subprocess.run(["umount", "disk"], check=True)
        if not os.path.ismount("below"):
            self.disk("image", 6, "below")
        self.disk("below/image", 4, "disk")
        self.make("disk/file")
        with open("disk/file", "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def disk(self, image, size, folder):
        with open(image, "wb") as out:
            out.truncate(size << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image], check=True)
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["mount", "-o", "loop,errors=continue", image, folder], check=True)

    def begin(self, mount):
        shutil.copy("below/image", "saved")
        os.truncate("below/image", 0)
        subprocess.run(["chattr", "+i", "below/image"], check=True)

    def clear(self, mount):
        if os.path.getsize("below/image") == 0:
            subprocess.run(["chattr", "-i", "below/image"], check=True)
            with open("saved", "rb") as saved, open("below/image", "r+b") as image:
                shutil.copyfileobj(saved, image)


FAULTS = {
    "ENOSPC": Full,
    "EIO": Broken,
    "EFBIG": lambda: Limit(resource.RLIMIT_FSIZE, 65536, "--fsize=65536"),
    "replaced": Replaced,
    "truncated": Truncated,
    "deleted": Deleted,
    "read-only": ReadOnly,
    "SIGKILL": Killed,
    "SIGSTOP": Stopped,
    "/dev/fuse": Aborted,
    "files": lambda: Limit(resource.RLIMIT_NOFILE, 0, "--nofile=4", alone=True),
    "memory": lambda: Limit(resource.RLIMIT_AS, 0, "--as=16000000", alone=True),
}
