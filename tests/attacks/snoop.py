# SPDX-License-Identifier: MIT
"""What a user tries on programs that others run under his number:  snoop.py UNTIL SHELL

Until the file UNTIL is there, every process of this user that has begun meanwhile, and that the test
has started whose shell is the process SHELL, is taken on: is it on a terminal, can it be traced, are
its descriptors, its environment and its memory to be had? Prints "saw NUMBER NAME" once for each, and
a line "NUMBER NAME: ..." for each thing got; first "ready". Other tests of this machine have processes
of this user, too. Those of the test are the ones below its shell, and those with its mark, which a
process keeps that no longer has its parent.
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
    """Name, terminal and parent of a process."""
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
    """What pidfd_getfd gives, as names."""
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
    """By a child whose end lets go of it."""
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
            pass  # it has ended
