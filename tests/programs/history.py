# SPDX-License-Identifier: MIT
"""Programs of tests/bats/history.bats."""
import itertools
import math
import os
import random
import sys


sys.path.insert(0, os.path.join(os.environ["top"], "tests/history"))
import linear  # noqa: E402
from judge import against_time  # noqa: E402
from linear import Read, Write  # noqa: E402
from records import ARENA, ARENAS, CALL, GET, SET, START  # noqa: E402
from registers import Registers, Stamps, registers  # noqa: E402


def naive(calls, state, done=frozenset()):
    """Returns true if the calls are linearizable, by trying all orders."""
    left = [call for i, call in enumerate(calls) if i not in done]
    if all(call.end == math.inf for call in left):
        return True
    for i, call in enumerate(calls):
        if i in done or any(other.end < call.start for other in left):
            continue
        if isinstance(call, Read):
            if any(state.get(cell, 0) != value for cell, value in call.values.items()):
                continue
            after = state
        else:
            after = {**state, **{cell: call.value for cell in call.cells}}
        if naive(calls, after, done | {i}):
            return True
    return False


def random_calls(source):
    """Returns a small history of calls that took effect one after another. Some reads may have a
    wrong value."""
    calls, state, last = [], {}, {}
    for number in range(1, source.randint(3, 8)):
        start, end = number * 10 - source.randint(0, 40), number * 10 + source.randint(0, 40)
        cells = source.sample(range(3), source.randint(1, 3))
        if source.random() < 0.55:
            write = Write(start, end if source.random() < 0.8 else math.inf, tuple(cells), number, "w")
            if write.end < math.inf or source.random() < 0.5:
                last.update(state)
                state.update({cell: number for cell in cells})
            calls.append(write)
        else:
            values = {cell: state.get(cell, 0) for cell in cells}
            if source.random() < 0.5:
                values[cells[0]] = last.get(cells[0], 0)
            calls.append(Read(start, end, values, "r"))
    return calls


def the_checker_agrees_with_a_naive_one():
    source, verdicts = random.Random(1), [0, 0]
    for number in range(3000):
        calls = random_calls(source)
        expected = naive(calls, {})
        assert (linear.check(calls) is None) == expected, (number, calls, linear.check(calls))
        verdicts[expected] += 1
    print(verdicts)
    assert min(verdicts) > 300


def positions_agree_with_all_orders():
    """Draws calls that take one position each. Checks whether the order of positions is one of
    those that agree with real time."""
    source, verdicts = random.Random(3), [0, 0]
    for _ in range(1000):
        calls = []
        for position in range(source.randint(2, 5)):
            start = position * 10 + source.randint(-20, 20)
            calls.append((position, start, start + source.randint(1, 25)))
        orders = [order for order in itertools.permutations(calls)
                  if all(later[2] >= earlier[1] for earlier, later in itertools.combinations(order, 2))]
        expected = tuple(calls) in orders
        assert (against_time(source.sample(calls, len(calls))) == []) == expected, calls
        verdicts[expected] += 1
    assert min(verdicts) > 200, verdicts


def a_long_history_takes_few_steps():
    """Draws 4000 overlapping calls with the values of one order. Then makes one read return an old
    value."""
    source, state, calls = random.Random(2), {}, []
    for number in range(1, 4000):
        start, end = number * 10 - source.randint(0, 40), number * 10 + source.randint(0, 40)
        cells = source.sample(range(20), source.choice((1, 2, 5, 20)))
        if number % 2:
            state.update({cell: number for cell in cells})
            calls.append(Write(start, end, tuple(cells), number, "w"))
        else:
            calls.append(Read(start, end, {cell: state.get(cell, 0) for cell in cells}, "r"))
    linear.STEPS = 100000
    assert linear.check(calls) is None
    late = next(call for call in calls[2000:] if isinstance(call, Read))
    late.values.update({cell: 1 for cell in late.values})
    text = linear.check(calls)
    assert text and "undecided" not in text, text


class Arena:
    """The logs of workers on registers, whose calls take effect one after another."""

    def __init__(self):
        self.registers = registers(5, 4)
        self.cells = [one.cells() for one in self.registers]
        self.words = [0] * ARENA * ARENAS
        self.logs, self.clock, self.sequence = {}, 0, 0

    def write_log(self, worker, kind, error, index, sequence, start, data=b""):
        parts = self.registers[index].count
        self.logs.setdefault(worker, bytearray()).extend(
            CALL.pack(kind, error, parts, start, self.clock, index << 32 | sequence) + data)

    def begin(self, worker, index):
        self.clock += 10
        self.sequence += 1
        self.write_log(worker, START, 0, index, self.sequence, self.clock)
        return Stamps(self.registers[index]).of(worker, self.sequence)

    def write(self, worker, index, cells=None, error=0):
        """Stores the cells of a register, or the first of them."""
        data = self.begin(worker, index)
        for i, cell in enumerate(self.cells[index][:cells]):
            self.words[cell] = int.from_bytes(data[8 * i:8 * i + 8], "little")
        start = self.clock
        self.clock += 10
        self.write_log(worker, SET, error, index, self.sequence, start)

    def read(self, worker, index):
        start = self.clock + 10
        self.clock += 20
        data = b"".join(self.words[cell].to_bytes(8, "little") for cell in self.cells[index])
        self.write_log(worker, GET, 0, index, 0, start, data)

    def judged(self, crashed=()):
        """Returns the violations."""
        wrong = []
        found = Registers(5, 4, wrong.append)
        for worker, log in self.logs.items():
            with open("log", "wb") as file:
                file.write(log)
            found.add_log("log", worker, f"worker {worker}", worker in crashed)
        with open("x.dat", "wb") as file:
            file.write(b"".join(word.to_bytes(8, "little") for word in self.words))
        found.add_file("x.dat", 0)
        found.judge()
        return wrong


WHOLE, DEALT = 8, 11  # registers: all cells of arena 0, and some with gaps


def the_judge_of_registers_sees_what_is_wrong():
    for register in registers(5, 4):
        cells = register.cells()
        assert cells[0] // ARENA == cells[-1] // ARENA == register.arena and len(set(cells)) == register.count

    def arena(*steps):
        one = Arena()
        for worker in (1, 2):
            for index in (WHOLE, 3, DEALT):
                one.write(worker, index)
                one.read(3 - worker, WHOLE)
        for step in steps:
            step(one)
        return one

    def torn(one):
        one.write(1, WHOLE, 4000)

    def lost(one):
        before = list(one.words)
        one.write(1, DEALT)
        one.words = before

    def failed(one):
        one.write(1, WHOLE, 4000, 107)

    def fails_whole(one):
        one.write(1, WHOLE, error=5)

    def never(one):
        one.begin(1, WHOLE)

    def moved(one):
        one.words[7], one.words[9] = one.words[9], one.words[7]

    def stale(one):
        before = list(one.words)
        one.write(1, 2)
        one.words, after = before, one.words
        one.read(2, WHOLE)
        one.words = after

    def strange(one):
        one.words[77] = 9 << 48 | 5 << 16 | 77

    def read(one):
        one.read(2, WHOLE)

    for steps in ((), (read,), (never,), (fails_whole,), (fails_whole, read), (never, read)):
        assert arena(*steps).judged() == [], steps
    for steps in ((torn,), (torn, read), (lost,), (lost, read), (failed,), (stale,), (moved,), (strange,)):
        assert arena(*steps).judged(), steps
    assert arena(failed, read).judged(crashed={1}) == []
    assert arena(torn).judged(crashed={1}), "a write that has succeeded is whole"
    assert "belong elsewhere" in arena(moved).judged()[0]
    assert "which was never made" in arena(strange).judged()[0]
