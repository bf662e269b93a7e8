# SPDX-License-Identifier: MIT
"""Programs of tests/bats/pointers.bats."""
import contextlib
import io
import os
import sys


sys.path.insert(0, os.path.join(os.environ["top"], "tests/history"))
import judge  # noqa: E402
from records import (APPEND, CALL, CLOSE, DONE, FSYNC, OPEN, RECORD, TAKE, TAKEN, WRITE, records,  # noqa: E402
                     view_start)

COUNT = 40


class History:
    """The calls of two nodes, in order, and the resulting file."""

    def __init__(self):
        self.logs, self.clock = {}, 0
        self.taken = [records(TAKEN, number, 1) for number in range(COUNT)]
        self.views = [[], []]  # appended records, and records of contributions
        self.next = 0

    def call(self, log, kind, parts=0, value=0, error=0):
        self.clock += 10
        self.logs.setdefault(log, []).append([kind, error, parts, self.clock, self.clock + 5, value])

    def put(self, log, kind, view, sequence, parts, first=0, last=None):
        data = records(int(log.split(".")[2]), sequence, parts, first, last)
        self.views[view] += [data[i:i + RECORD] for i in range(0, len(data), RECORD)]
        self.call(log, kind, len(data) // RECORD, sequence)

    def take(self, log, parts):
        self.call(log, TAKE, parts, self.next)
        self.next += parts

    def contribute(self, log, number, parts):
        self.call(log, OPEN, 0, number)
        self.put(log, WRITE, 1, number, parts, 0, 1)
        if parts > 1:
            self.put(log, WRITE, 1, number, parts, 1, parts)
        self.call(log, CLOSE, 0, number)

    def judged(self, *options):
        """Writes the history, and returns the judge's findings."""
        os.makedirs("calls", exist_ok=True)
        for name, calls in self.logs.items():
            with open(f"calls/{name}", "wb") as file:
                file.write(b"".join(CALL.pack(*call) for call in calls))
        with open("x.dat", "wb") as file:
            file.write(b"".join(self.taken))
            for offset, view in enumerate(self.views):
                for number, record in enumerate(view):
                    file.seek(view_start(COUNT) + (2 * number + offset) * RECORD)
                    file.write(record)
        arguments = ["x.dat", str(COUNT), *(f"calls/{name}" for name in self.logs), *options]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            status = judge.main(arguments)
        return int(status), output.getvalue()


TAKES, APPENDS, FIRST, SECOND = "0.take.1", "1.append.2", "0.contribute0.3", "1.contribute1.4"


def good():
    history = History()
    for number in range(10):
        history.take(TAKES, 1 + number % 3)
        history.put(APPENDS, APPEND, 0, number, 1 + number % 3)
        history.contribute(FIRST, number, 1 + number % 3)
        history.contribute(SECOND, number, 1 + number % 2)
    history.call(APPENDS, FSYNC, 0, 9)
    history.call(APPENDS, CLOSE, 0, 9)
    for log in history.logs:
        history.call(log, DONE)
    return history


@contextlib.contextmanager
def wrong(expected, *options):
    """The judge must find this in the history, after the caller has changed it."""
    history = good()
    yield history
    status, text = history.judged(*options)
    assert status == 1 and expected in text, (expected, text)


def first_call(history, log, kind, number=0):
    return [call for call in history.logs[log] if call[0] == kind][number]


def the_judge_sees_what_is_wrong():
    status, text = good().judged()
    assert status == 0, text
    with wrong("records were taken twice") as history:
        first_call(history, TAKES, TAKE, 1)[5] = 0
    with wrong("records were left out") as history:
        history.logs[TAKES].remove(first_call(history, TAKES, TAKE, 3))
    with wrong("takes have positions against the order of time") as history:
        one, other = first_call(history, TAKES, TAKE), first_call(history, TAKES, TAKE, 3)
        one[5], other[5] = other[5], one[5]
    for options in (), ("--failed", "1"):
        with wrong("are acknowledged, and not there", *options) as history:
            history.views[0][5] = bytes(RECORD)
    with wrong("writes lie there twice") as history:
        history.views[0][:3] = history.views[0][9:12]
    with wrong("writes") as history:
        view = history.views[0]
        view[1], view[2] = view[2], view[1]
        view[1:2] = [bytes(RECORD), view[1]]
    with wrong("records are neither a worker's nor zeros") as history:
        history.views[0][4] = b"x" * RECORD
    with wrong("records are zeros, where 0 may be") as history:
        history.views[1][3:3] = [bytes(RECORD)]
    with wrong("contributions are not in the order of ranks") as history:
        history.views[1][0:2] = history.views[1][0:2][::-1]
    with wrong("are acknowledged, and not there") as history:
        history.views[1].pop()
    with wrong("appends have positions against the order of time") as history:
        calls = history.logs[APPENDS]
        calls[0][3:5], calls[4][3:5] = calls[4][3:5], calls[0][3:5]
    with wrong("node 1: fsync gave EIO 1 times") as history:
        first_call(history, APPENDS, FSYNC)[1] = 5
    with wrong("that is more than 60") as history:
        first_call(history, APPENDS, FSYNC)[4] += 10**11
    with wrong("worker 4 of node 1 did not end") as history:
        history.logs[SECOND].pop()
    with wrong("records to be taken have changed") as history:
        history.taken[7] = bytes(RECORD)
