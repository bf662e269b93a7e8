# SPDX-License-Identifier: MIT
"""Attacks programs that other users run with this user's number:  snoop.py UNTIL SHELL

Until the file UNTIL exists, it attacks every process of this user that has started meanwhile and
that belongs to the test with the shell SHELL: is the process on a terminal, can it be traced, are
its descriptors, environment and memory accessible? Prints "ready" first, then "saw NUMBER NAME"
once for each process, and a line "NUMBER NAME: ..." for each success. Other tests on this machine
have processes of this user, too. The test's own processes are those below its shell, and those with
its mark, which a process keeps after its parent has exited.
"""
import ctypes
import os
import sys

PTRACE_SEIZE = 0x4206
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
libc.syscall.restype = ctypes.c_long
told = set()

SHELL = int(sys.argv[2])
MARK = b"MPIIO_TEST=" + os.environb[b"MPIIO_TEST"]


def tell(text):
    if text not in told:
        told.add(text)
        print(text, flush=True)


def fields(pid):
    """Returns the name, terminal and parent of a process."""
    with open("/proc/%d/stat" % pid) as file:
        text = file.read()
    name = text[text.index("(") + 1:text.rindex(")")]
    rest = text[text.rindex(")") + 2:].split()
    return name, int(rest[4]), int(rest[1])


def is_below(pid, shell):
    while pid not in (0, shell):
        pid = fields(pid)[2]
    return pid == shell


def is_marked(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return MARK in file.read().split(b"\0")
    except OSError:
        return False


def user_of(pid):
    with open("/proc/%d/status" % pid) as file:
        return [int(line.split()[1]) for line in file if line.startswith("Uid:")][0]


def descriptors(pid):
    """Returns the names of the descriptors that pidfd_getfd gives."""
    process = libc.syscall(SYS_PIDFD_OPEN, pid, 0)
    got = []
    for number in range(64) if process >= 0 else []:
        mine = libc.syscall(SYS_PIDFD_GETFD, process, number, 0)
        if mine >= 0:
            got.append("%d is %s" % (number, os.readlink("/proc/self/fd/%d" % mine)))
            os.close(mine)
    if process >= 0:
        os.close(process)
    return got


def readable(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as file:
            return name == "mem" or bool(file.read(1))
    except OSError:
        return False


def traced(pid):
    """Traces the process from a child, whose exit releases it."""
    child = os.fork()
    if child == 0:
        os._exit(libc.ptrace(PTRACE_SEIZE, pid, 0, 0) != 0)
    return os.waitpid(child, 0)[1] == 0


def attack(pid):
    if user_of(pid) != os.getuid() or not (is_below(pid, SHELL) or is_marked(pid)):
        return
    name, terminal, _ = fields(pid)
    who = "%d %s" % (pid, name)
    tell("saw " + who)
    if terminal != 0:
        tell(who + ": on a terminal")
    for descriptor in descriptors(pid):
        tell(who + ": descriptor " + descriptor)
    for file in "environ", "mem":
        if readable(pid, file):
            tell(who + ": " + file)
    if traced(pid):
        tell(who + ": traced")


def processes():
    return {int(entry) for entry in os.listdir("/proc") if entry.isdigit()}


before = processes()
tell("ready")
while not os.path.exists(sys.argv[1]):
    for process in processes() - before:
        try:
            attack(process)
        except OSError:
            pass  # it has exited
