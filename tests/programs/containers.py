# SPDX-License-Identifier: MIT
"""Programs of tests/bats/containers.bats."""
import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def mount_descriptor():
    """Opens /dev/fuse, mounts it, and becomes the command, in which FD stands for the descriptor. So do
    Apptainer's --fusemount, and drivers for Kubernetes."""
    mountpoint, *command = sys.argv[1:]
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if LIBC.mount(b"spec", os.fsencode(mountpoint), b"fuse.mpiio", ctypes.c_ulong(6), options.encode()) != 0:
        sys.exit(f"{mountpoint}: {os.strerror(ctypes.get_errno())}")
    os.set_inheritable(fuse, True)
    os.execvp(command[0], [word.replace("FD", str(fuse)) for word in command])
