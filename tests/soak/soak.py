#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Soaks mounts with random operations: scripts/soak --help says what and how."""
import argparse
import os
import random
import shutil
import sys
import time

sys.dont_write_bytecode = True

import mounts  # noqa: E402
from batch import Batch  # noqa: E402
from history import History  # noqa: E402
from round import Round  # noqa: E402
from workers import Worker  # noqa: E402

DESCRIPTION = """\
Mounts random views with random options and does random operations on their slices, which a model
follows byte by byte, round after round: a mixed load for as long as you like, and the fuzzing of the
daemon with random specs, options and operations.

Each round has a spec of its own (scatter, darray, vectors, tiles cut at random, or such whose pieces
several ranks share; some in an order of their own; basic etypes or structs; native, external32 or
big-endian, also with long, wchar and long double), mount options (cache, unique, npy, direct, pool,
atomic, dirty_max, ...) and one to three nodes on this machine; one file in five is assembled from
members. Three processes write, also parts of values and through rankN.npy, read, append,
truncate, store through mappings, fsync, close, fallocate, lseek and look; several at once on different
slices; slices go from node to node; atomic mode is turned on and off; the file is renamed and replaced;
another program writes bytes of no slice, and truncates the file. Daemons are ended by SIGTERM or
killed, of one node and of several, and mounted again, also read-only: what was synced is there. At the
end of a round all slices and the whole file are what the model says, the log says nothing that is not
expected, and no daemon has grown by more than 16 MiB (beside its pool) or 4 descriptors (beside 8
connections to each other node) since its first 40 operations.

In a batch, all of them do a dozen operations at the same time, through different nodes and names (slices,
rankN.npy, whole, the shared file itself), on bytes that they share or do not. Each read, and the file in
the end, must have values that the manual allows for what others were writing then: a byte that one process
writes has its last value, atomic mode shows no part of a write, and appends are all there. Afterwards every
name on every node, and mpiio-view cat, must show the same.
"""

EPILOG = """\
A round prints a line. A finding ends it: what differs, the spec, the last calls, and how to repeat it.
Rounds follow from the seed, apart from the order of operations at the same time: repeat a round that found
something in a batch some times, alone (--only batch) and on a busy machine. Run it as root. Exit status: 0 all is well, 1 a finding, 2 wrong usage.
"""


def arguments():
    parser = argparse.ArgumentParser(prog="soak", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=int, metavar="SECONDS",
                        help="begin no round after this time (60; without limit with --rounds)")
    parser.add_argument("--seed", type=int, help="of the random numbers; new at every start without")
    parser.add_argument("--round", type=int, default=0, help="begin with this round of the seed (0)")
    parser.add_argument("--rounds", type=int, help="end after so many rounds")
    parser.add_argument("--operations", type=int, default=150, help="of a round (150)")
    parser.add_argument("--only", metavar="OPERATION,...", type=lambda text: text.split(","),
                        help="do only these operations (" + ", ".join(
                            operation.__name__ for operation in Round.OPERATIONS) + ")")
    options = parser.parse_args()
    if options.only and not set(options.only) <= {operation.__name__ for operation in Round.OPERATIONS}:
        parser.error("--only: no such operation")
    return options


def soak(options):
    seed = random.randrange(1 << 31) if options.seed is None else options.seed
    limit = options.seconds or (float("inf") if options.rounds else 60)
    end, number = time.monotonic() + limit, options.round
    last = number + options.rounds if options.rounds else float("inf")
    print(f"seed {seed}", flush=True)
    while number < last and (time.monotonic() < end or number == options.round):
        if not one_round(seed, number, options):
            only = " --only " + ",".join(options.only) if options.only else ""
            print(f"again: scripts/soak --seed {seed} --round {number} --rounds 1 "
                  f"--operations {options.operations}{only}", flush=True)
            return 1
        number += 1
    print(f"{Round.count} operations; {Batch.calls_done} at the same time in {Batch.count} batches, with "
          f"{History.bytes} bytes judged, {History.loose_bytes} of which could have any value")
    print(f"{number - options.round} rounds, nothing found")
    return 0


def one_round(seed, number, options):
    folder = f"round{number}"
    os.mkdir(folder)
    os.chdir(folder)
    Worker.trace.clear()
    workers = [Worker(*wrapper) for wrapper in ((), (), (), ("mpiio-run",), ("mpiio-run",))]
    current = Round(f"{seed} {number}", workers)
    print(f"round {number}: {current.describe()}", flush=True)
    try:
        current.run(options.operations, options.only)
    except mounts.Wrong as wrong:
        print("\n".join(Worker.trace))
        print(open("s.json").read())
        print(f"log: {open('log').read()}")
        print(f"round {number}: {wrong}", flush=True)
        return False
    finally:
        for worker in workers:
            worker.end()
        current.give_up()
        os.chdir("..")
    shutil.rmtree(folder)
    return True


if __name__ == "__main__":
    sys.exit(soak(arguments()))
