# SPDX-License-Identifier: MIT
"""Programs of tests/bats/calls.bats: calls from threads of their own."""
import os
import signal
import threading
import time

from common import fails, stats, stop_process

results = {}  # the result of each node's call


def call_node(node, name):
    begin = time.monotonic()
    attribute = f"m{node}", "user.mpiio." + name
    if name == "unmount":
        error = fails(os.getxattr, *attribute)
    else:
        error = fails(os.setxattr, *attribute, b"1")
    results[node] = error, time.monotonic() - begin


def begin_call(node, name):
    thread = threading.Thread(target=call_node, args=(node, name), daemon=True)
    thread.start()
    return thread


def end_calls(*threads):
    for thread in threads:
        thread.join(300)
    print(results, flush=True)


def daemon():
    """Returns the process of node 2."""
    return stats("m2")["pid"]


def unmount_from_two_nodes():
    victim = daemon()
    held = os.open("m0/rank0", os.O_RDWR)
    os.write(held, b"01234567")
    stop_process(victim)
    first = begin_call(0, "unmount")
    time.sleep(0.3)
    second = begin_call(1, "unmount")
    time.sleep(0.3)
    os.kill(victim, signal.SIGCONT)
    os.close(held)
    end_calls(first, second)
    assert results[0][0] is None and results[1][0] is None
    # The second one is still mounted, or was unmounted from the first.
    assert os.path.ismount("m0") and not os.path.ismount("m2")


def change_from_two_nodes():
    held = os.open("m0/rank0", os.O_RDWR)
    os.write(held, b"01234567")
    first, second = begin_call(1, "atomicity"), begin_call(0, "atomicity")
    time.sleep(0.02)
    os.close(held)
    end_calls(first, second)
    for error, seconds in results.values():
        assert error in (None, "EBUSY") and seconds < 60


def unmount_while_one_changes():
    victim = daemon()
    # It votes at least a fifth of a second later, because a slice is open there.
    held = os.open("m2/rank0", os.O_RDONLY)
    change = begin_call(0, "atomicity")
    time.sleep(0.1)
    stop_process(victim)
    unmount = begin_call(1, "unmount")
    time.sleep(0.5)
    os.kill(victim, signal.SIGCONT)
    os.close(held)
    end_calls(change, unmount)
    # The kernel has not finished the call that was just answered there.
    left = any(os.path.ismount(f"m{node}") for node in (0, 2))
    assert results[1][0] == ("EBUSY" if left else None)
    assert os.path.ismount("m1")
