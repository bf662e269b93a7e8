# SPDX-License-Identifier: MIT
"""Programs of tests/bats/ordered.bash."""
import os
import random
import sys
import time

from common import await_true, in_processes, slice_of, stats


def random_rounds():
    rounds, ranks, etype, largest = map(int, sys.argv[1:5])
    mounts = sys.argv[5:]
    def share(rank, round):
        r = random.Random(rank * 1000 + round)
        length = r.choice([0, 1, 3, 4, 5000, 70000]) if round % 50 else largest
        return slice_of(rank, length, round)
    def work(rank):
        r = random.Random(rank)
        for round in range(rounds):
            if r.random() < 0.2:
                time.sleep(r.random() / 50)
            data = share(rank, round)
            with open(f"{r.choice(mounts)}/ordered/rank{rank}", "wb", buffering=0) as out:
                while data:
                    n = out.write(data[:r.randrange(1, 300000)])
                    data = data[n:]
                if r.random() < 0.02:
                    os.fsync(out)
    def total(key):
        return sum(stats(mount)[key] for mount in mounts)
    in_processes(work, range(ranks))
    await_true(lambda: total("ordered_shares") == rounds * ranks)
    with open("want", "wb") as want:
        for round in range(rounds):
            for rank in range(ranks):
                data = share(rank, round)
                want.write(data + bytes(-len(data) % etype))
    assert total("ordered_waiting_bytes") == 0 and total("ordered_waits") > 0
    await_true(lambda: all(os.getxattr(f"{mount}/ordered", "user.mpiio.turn") == b"0" for mount in mounts))
