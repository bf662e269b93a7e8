# SPDX-License-Identifier: MIT
"""Functions that the tests' programs share. They load slow modules only when needed."""
import errno
import os
import signal
import time


def fails(call, *arguments):
    """Returns the name of the error that the call raises, or None."""
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return None


def stats(mount="mnt"):
    """Returns the contents of the mount's stats.json."""
    import json
    with open(f"{mount}/.mpiio/stats.json") as file:
        return json.load(file)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def overwrite(path, data, offsets=(0,)):
    """Opens the file, and writes the data at each of these offsets."""
    with open(path, "r+b", buffering=0) as file:
        for offset in offsets:
            assert os.pwrite(file.fileno(), data, offset) == len(data)


def await_true(condition):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def stop_process(pid):
    """Returns when all threads of the process have stopped, because kill(2) does not wait for
    that."""
    from processes import states
    os.kill(pid, signal.SIGSTOP)
    await_true(lambda: all(state == "T" for state in states(pid)))


def at_once(work, arguments):
    """Runs a thread for each of the arguments. Raises an exception that one of them raises."""
    import concurrent.futures
    with concurrent.futures.ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(work, arguments))


def in_processes(work, arguments):
    """Does the same with processes."""
    import multiprocessing
    fork = multiprocessing.get_context("fork")
    jobs = [fork.Process(target=work, args=(argument,)) for argument in arguments]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert not any(job.exitcode for job in jobs), [job.exitcode for job in jobs]


def slice_of(rank, length, seed):
    """Returns the bytes that a rank writes. They differ by rank and seed."""
    pattern = bytes((rank * 37 + seed * 101 + i * 7 + i // 251) % 255 + 1 for i in range(4096))
    return (pattern * (length // 4096 + 1))[:length]
