# SPDX-License-Identifier: MIT
"""Decides whether calls on cells are linearizable: whether there is an order of the calls that
agrees with real time, in which each read returns what the writes before it have stored.

The algorithm is that of Wing and Gong ("Testing and verifying concurrent objects", 1993) with
Lowe's memoisation ("Testing for linearizability", 2017): it takes one call after another that could
be the next, and returns to the last choice when none can. Each write stores a value of its own,
which makes two shortcuts possible. A read that finds its values is taken at once, because reads
change nothing. A write is not taken while a later read needs a value that it overwrites, because no
other write stores that value.

A write that returned an error, or did not return, has no end. It may take effect at any time after
its start, or never.
"""
import collections
import math

# A write stores its value in all its cells. values has the values that a read returned, by cell.
# All cells are 0 at first.
Write = collections.namedtuple("Write", "start end cells value name")
Read = collections.namedtuple("Read", "start end values name")

STEPS = 5000000


class Search:
    def __init__(self, calls):
        self.calls = sorted(calls, key=lambda call: call.start)
        self.state = collections.defaultdict(int)
        self.needed = collections.Counter(
            item for call in calls if isinstance(call, Read) for item in call.values.items())
        # Calls that were not taken, as a linked list in the order of their starts. -1 is its head.
        self.next = {i: i + 1 for i in range(-1, len(calls))}
        self.before = {i: i - 1 for i in range(len(calls) + 1)}
        self.taken = 0  # a bit for each call
        self.mandatory = sum(call.end < math.inf for call in calls)
        self.history = []  # calls that were taken, with the values that they replaced
        self.deepest, self.stuck = -1, ""

    def candidates(self):
        """Yields the calls that could be the next: no other one has ended before their start."""
        limit, i = math.inf, self.next[-1]
        while i < len(self.calls):
            call = self.calls[i]
            if call.start > limit:
                break
            limit = min(limit, call.end)
            yield i
            i = self.next[i]

    def reads_here(self, call):
        return all(self.state[cell] == value for cell, value in call.values.items())

    def is_possible(self, call):
        """Returns true if no read that was not taken needs a value that the write overwrites."""
        return not any(self.needed[cell, self.state[cell]] for cell in call.cells)

    def take(self, i):
        call, old = self.calls[i], None
        if isinstance(call, Read):
            self.needed.subtract(call.values.items())
        else:
            old = [self.state[cell] for cell in call.cells]
            for cell in call.cells:
                self.state[cell] = call.value
        self.next[self.before[i]], self.before[self.next[i]] = self.next[i], self.before[i]
        self.taken |= 1 << i
        self.mandatory -= call.end < math.inf
        self.history.append((i, old))

    def give_back(self):
        i, old = self.history.pop()
        call = self.calls[i]
        if old is None:
            self.needed.update(call.values.items())
        else:
            self.state.update(zip(call.cells, old))
        self.next[self.before[i]] = self.before[self.next[i]] = i
        self.taken &= ~(1 << i)
        self.mandatory += call.end < math.inf

    def take_reads(self):
        """Takes all reads that find their values."""
        found = True
        while found:
            found = False
            for i in list(self.candidates()):
                if isinstance(self.calls[i], Read) and self.reads_here(self.calls[i]):
                    self.take(i)
                    found = True

    def choices(self):
        """Returns the writes that may be next, the best last."""
        some = [i for i in self.candidates()
                if isinstance(self.calls[i], Write) and self.is_possible(self.calls[i])]
        return sorted(some, key=lambda i: -self.calls[i].end)

    def note(self):
        """Keeps a description of the state in which most calls were taken."""
        if len(self.history) <= self.deepest:
            return
        self.deepest = len(self.history)
        waiting = sorted((self.calls[i] for i in self.candidates()), key=lambda call: call.end)
        text = f"{self.deepest} of {len(self.calls)} calls have an order; not among them:"
        for call in waiting[:4]:
            text += f"\n  {describe(call)}"
            bad = [(cell, value, self.state[cell]) for cell, value in sorted(getattr(call, "values", {}).items())
                   if self.state[cell] != value]
            text += "".join(f"\n    class {cell}: {show(value)}, not {show(now)}" for cell, value, now in bad[:3])
        self.stuck = text

    def run(self):
        """Returns None if there is an order, or a description of the problem."""
        self.take_reads()
        stack, seen = [(len(self.history), self.choices())], set()
        for _ in range(STEPS):
            if self.mandatory == 0:
                return None
            depth, choices = stack[-1]
            while len(self.history) > depth:
                self.give_back()
            if not choices:
                self.note()
                stack.pop()
                if not stack:
                    return self.stuck
                continue
            self.take(choices.pop())
            self.take_reads()
            key = self.taken, tuple(sorted(self.state.items()))
            if key not in seen:
                seen.add(key)
                stack.append((len(self.history), self.choices()))
        return f"undecided after {STEPS} steps: {self.stuck}"


def show(value):
    return f"write {value & 0xFFFFFFFF} of worker {value >> 32}" if value else "0"


def describe(call):
    kind = "a read" if isinstance(call, Read) else show(call.value)
    return f"{kind} by {call.name} from {call.start} to {call.end} ns"


def check(calls):
    """Returns None if the calls are linearizable, or a description of the problem."""
    written = {call.value for call in calls if isinstance(call, Write)} | {0}
    for call in calls:
        unknown = set(call.values.values()) - written if isinstance(call, Read) else None
        if unknown:
            return f"{describe(call)} found {show(min(unknown))}, which was never made"
    return Search(calls).run()
