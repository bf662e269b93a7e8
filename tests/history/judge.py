#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges a file by the logs of all calls on it (records.py, work.py).

judge.py FILE COUNT [OPTION]... LOG...

A log is named NODE.KIND.WORKER, with KIND take, append, contributeRANK, or access. A node has
failed if it was killed, or was silent for longer than twice peer_timeout. Calls on such a node may
fail, or never return. The judge checks:

- No record is taken twice. Only calls that did not succeed may leave records out.
- The file has each append whole, and once. It has all records that were acknowledged: by fsync or
  close, or, on nodes that have not failed, by write.
- Takes, and appends, have real-time order: if one call ended before another began, the first call
  has the lower position.
- Contributions are in the order of rounds, and of ranks in each round. A contribution is whole and
  there; if its node has failed, its end may be missing unless it was synced.
- Reads and writes of registers, and the end of the file, are linearizable (linear.py). If a daemon
  was killed, a write on its node may be stored in part.
- The file has nothing else. Only calls that did not succeed may leave holes.
- No call on a node that has not failed returns an error, or lasts longer than the bound.
"""
import argparse
import collections
import errno
import math
import os
import re
import sys

import numpy

from records import (APPEND, BAD, CLOSE, DONE, FSYNC, GET, OPEN, RECORD, SET, TAKE, TAKEN, WRITE, calls,
                     cells_start, name, view_start)
from registers import Registers, parse

LARGEST = 8  # records of a call, at most


def against_time(placed):
    """Checks real-time order: no call with a higher position may end before one with a lower
    position begins. placed has the position, start and end of each call. Returns pairs of
    positions."""
    latest, first, bad = -math.inf, None, []
    for position, start, end in sorted(placed):
        if end < latest:
            bad.append((first, position))
        if start > latest:
            latest, first = start, position
    return bad


class Log:
    def __init__(self, path, failed):
        node, self.kind, worker = os.path.basename(path).split(".")
        self.node, self.worker = int(node), int(worker)
        self.rank = int(self.kind[10:]) if self.kind.startswith("contribute") else None
        self.path = path
        self.calls = [call for call, _ in parse(path)] if self.kind == "access" else calls(path)
        self.failed = self.node in failed
        self.ended = bool(self.calls) and self.calls[-1].kind == DONE
        self.acknowledged, self.put = set(), {}
        self.acknowledge()

    def acknowledge(self):
        """Finds the writes by number, and those that must be in the file."""
        pending = set()
        for call in self.calls:
            if call.kind in (APPEND, WRITE) and not call.error:
                before = self.put.get(call.value)
                parts = call.parts + (before.parts if before else 0)
                self.put[call.value] = call._replace(parts=parts)
                pending.add(call.value)
                if not self.failed:
                    self.acknowledged.add(call.value)
            elif call.kind in (APPEND, WRITE):
                # A contribution that lacks a part is not acknowledged.
                self.acknowledged.discard(call.value)
                pending.discard(call.value)
            elif call.kind in (FSYNC, CLOSE):
                # Closing a contribution does not wait for its turn.
                if not call.error and (call.kind == FSYNC or self.rank is None):
                    self.acknowledged |= pending
                pending = set()

    def unsure(self, kind):
        """Returns how many records calls may have left out because they failed or did not
        return."""
        lost = sum(call.parts for call in self.calls if call.kind == kind and call.error)
        return lost + (0 if self.ended else LARGEST)


class Judge:
    def __init__(self, args):
        self.args, self.wrong = args, 0
        self.logs = [Log(path, args.failed) for path in args.logs]
        self.words = numpy.fromfile(args.file, "<u8")
        self.words = self.words[:len(self.words) // 2 * 2].reshape(-1, 2)

    def say(self, *words):
        print(*words)
        self.wrong += 1

    def of(self, kind):
        return [log for log in self.logs if log.kind.startswith(kind)]

    def each(self, text, bad, show=5):
        """Reports the number of bad items, and the first of them."""
        bad = list(bad)
        if bad:
            self.say(f"{len(bad)} {text}:", ", ".join(map(str, sorted(bad)[:show])))

    def calls_end(self):
        names = {TAKE: "take", APPEND: "append", OPEN: "open", WRITE: "write", FSYNC: "fsync", CLOSE: "close",
                 GET: "read of a register", SET: "write of a register"}
        slowest, failed = 0, collections.Counter()
        for log in self.logs:
            self.each(f"calls of {log.node}.{log.kind}.{log.worker} gave other records than they should",
                      [call.value for call in log.calls if call.kind == BAD])
            for call in log.calls:
                if call.error:
                    failed[log.node, names[call.kind], errno.errorcode[call.error]] += 1
                if not log.failed:
                    slowest = max(slowest, call.end - call.start)
            if not log.ended and not log.failed and log.worker not in self.args.killed:
                self.say(f"worker {log.worker} of node {log.node} did not end")
        for (node, call, error), count in sorted(failed.items()):
            text = f"node {node}: {call} gave {error} {count} times"
            if node in self.args.failed or (error == "EIO" and self.args.may_fail):
                print(text)
            else:
                self.say(text)
        print(f"slowest call where no node failed: {slowest / 1e9:.3f} s")
        if slowest > self.args.bound * 1e9:
            self.say(f"that is more than {self.args.bound} s")

    def in_time(self, what, placed):
        self.each(f"{what} have positions against the order of time", against_time(placed))

    def takes(self):
        taken, placed = [], []
        for log in self.of("take"):
            for call in log.calls:
                if call.kind == TAKE and not call.error and call.parts:
                    taken.append((call.value, call.parts))
                    placed.append((call.value, call.start, call.end))
        if not taken:
            return
        first, parts = numpy.array(taken).T
        numbers = numpy.repeat(first - numpy.cumsum(parts) + parts, parts) + numpy.arange(parts.sum())
        times = numpy.bincount(numbers, minlength=self.args.count)
        self.each("records were taken twice", numpy.flatnonzero(times > 1))
        last = self.args.count if self.args.all else numbers.max() + 1
        missing = numpy.flatnonzero(times[:last] == 0)
        unsure = sum(log.unsure(TAKE) for log in self.of("take"))
        print(f"{len(numbers)} records taken by {len(taken)} calls, {len(missing)} left out")
        if len(missing) > unsure:
            self.each(f"records were left out, where {unsure} may be", missing)
        self.in_time("takes", placed)

    def read_view(self, offset, logs):
        """Returns the writes found, in the order of the file: position, worker, number, first part,
        number of parts found, and number of parts of the call. Also returns the number of records
        of zeros."""
        start = view_start(self.args.count) // RECORD + offset
        view = self.words[start::2]
        filled = numpy.flatnonzero(view[:, 0])
        view = view[:filled[-1] + 1] if len(filled) else view[:0]
        names = view[:, 0]
        good = view[:, 1] == names * numpy.uint64(0x9E3779B97F4A7C15) + numpy.uint64(0x1234567)
        self.each("records are neither a worker's nor zeros", numpy.flatnonzero(~good & (view != 0).any(axis=1)))
        found, position, names = [], 0, [int(value) if ok else 0 for value, ok in zip(names, good)]
        while position < len(names):
            value, count = names[position], 1
            if value:
                parts = value >> 8 & 0xFF
                while count < parts - (value & 0xFF) and position + count < len(names) and \
                        names[position + count] == value + count:
                    count += 1
                found.append((position, value >> 48, value >> 16 & 0xFFFFFFFF, value & 0xFF, count, parts))
            position += count
        known = {log.worker for log in logs}
        self.each("records are of nobody who wrote here", [one for one in found if one[1] not in known])
        print(f"{len(found)} writes found, {names.count(0)} records of zeros")
        return [one for one in found if one[1] in known], names.count(0)

    def holes(self, found, logs, kind, zeros):
        """Checks that no more records are zeros than calls that did not succeed, or failed nodes,
        may have left out."""
        there = {(worker, number) for _, worker, number, *_ in found}
        unsure = sum(log.unsure(kind) for log in logs)
        for log in logs:
            unsure += sum(call.parts for number, call in log.put.items()
                          if number not in log.acknowledged and (log.worker, number) not in there)
        if zeros > unsure:
            self.say(f"{zeros} records are zeros, where {unsure} may be")

    def whole(self, found, logs):
        """Checks that the file has each write at most once, and whole, or its beginning if it is
        not acknowledged."""
        amount = collections.Counter()
        bad, twice, seen = [], [], {}
        for position, worker, number, part, count, parts in found:
            if part != amount[worker, number]:
                twice.append((worker, number))
            elif part and seen[worker, number] != position:
                bad.append((worker, number))
            amount[worker, number] += count
            seen[worker, number] = position + count
        self.each("writes lie there twice, or in another order", twice)
        self.each("writes are torn", bad)
        for log in logs:
            missing = {number for number in log.acknowledged
                       if amount[log.worker, number] < log.put[number].parts}
            self.each(f"writes of worker {log.worker} on node {log.node} are acknowledged, and not there", missing)

    def appends(self):
        logs = self.of("append")
        found, zeros = self.read_view(0, logs)
        self.holes(found, logs, APPEND, zeros)
        self.whole(found, logs)
        put = {log.worker: log.put for log in logs}
        placed = [(position, put[worker][number]) for position, worker, number, *_ in found
                  if number in put[worker]]
        self.in_time("appends", [(position, call.start, call.end) for position, call in placed])

    def rounds_of(self, logs):
        """Returns the rank of each contribution, and its first and last possible rounds."""
        opens = collections.defaultdict(list)
        for log in logs:
            for call in log.calls:
                if call.kind == OPEN:
                    opens[log.rank].append((call, log))
            if not log.ended:
                opens[log.rank].append((None, log))
        bounds = {}
        for rank, those in opens.items():
            starts = sorted(call.start if call else 0 for call, _ in those)
            ends = sorted(call.end for call, _ in those if call and not call.error)
            for call, log in those:
                if call is None or call.error:
                    continue
                first = int(numpy.searchsorted(ends, call.start))
                last = int(numpy.searchsorted(starts, call.end)) - 1
                if call.end > self.args.leave:
                    last = math.inf
                bounds[log.worker, call.value] = rank, first, last
        return bounds

    def contributions(self):
        logs = self.of("contribute")
        found, zeros = self.read_view(1, logs)
        self.holes(found, logs, WRITE, zeros)
        self.whole(found, logs)
        bounds = self.rounds_of(logs)
        now, before, bad = (-1, 0), None, []
        for _, worker, number, *_ in found:
            if (worker, number) == before:  # two writes of one contribution
                continue
            # A node may have been killed before its open returned.
            rank, first, last = bounds.get((worker, number), (None, 0, math.inf))
            before = worker, number
            if rank is None:
                continue
            turn = first if (first, rank) > now else now[0] + (rank <= now[1])
            if turn > last:
                bad.append(((worker, number), f"rank {rank} round {last} behind {now}"))
            else:
                now = turn, rank
        self.each("contributions are not in the order of ranks", bad)
        for worker in self.args.absent:
            self.each("records were placed that came too late",
                      [one[:3] for one in found if one[1] == worker])

    def accesses(self):
        logs = self.of("access")
        found = Registers(self.args.seed, self.args.ranks, self.say)
        for log in logs:
            found.add_log(log.path, log.worker, f"worker {log.worker} of node {log.node}",
                          log.node in self.args.crashed)
        found.add_file(self.args.file, cells_start(self.args.count))
        found.judge()

    def run(self):
        start = self.words[:self.args.count, 0]
        wanted = numpy.array([name(TAKEN, number, 1, 0) for number in range(self.args.count)], "<u8")
        self.each("records to be taken have changed", numpy.flatnonzero(start != wanted))
        self.calls_end()
        self.takes()
        if self.of("append"):
            self.appends()
        if self.of("contribute"):
            self.contributions()
        if self.of("access"):
            self.accesses()
        return 1 if self.wrong else 0


def numbers(text):
    return {int(number) for number in re.findall(r"\d+", text)}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("count", type=int)
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--failed", type=numbers, default=set(), help="nodes that have failed")
    parser.add_argument("--crashed", type=numbers, default=set(), help="nodes whose daemon was killed")
    parser.add_argument("--killed", type=numbers, default=set(), help="workers that were killed")
    parser.add_argument("--may-fail", action="store_true", help="calls may give EIO anywhere")
    parser.add_argument("--all", action="store_true", help="all records were to be taken")
    parser.add_argument("--bound", type=float, default=60, help="seconds of a call, at most")
    parser.add_argument("--leave", type=int, default=sys.maxsize, help="when the first node was unmounted")
    parser.add_argument("--absent", type=numbers, default=set(), help="workers whose contributions came too late")
    parser.add_argument("--seed", type=int, help="the seed of the registers")
    parser.add_argument("--ranks", type=int)
    return Judge(parser.parse_args(arguments)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
