# SPDX-License-Identifier: MIT
"""Signals to processes, and the states of their threads."""
import contextlib
import os
import signal


def states(pid):
    """Returns the states of a process's threads, except those that exit meanwhile."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(f"/proc/{pid}/task/{task}/stat") as stat:
            yield stat.read().rpartition(")")[2].split()[0]


def kill_all(pids, how=signal.SIGKILL):
    """Sends a signal to the processes, of which some may have exited."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
