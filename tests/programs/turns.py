# SPDX-License-Identifier: MIT
"""Programs of tests/bats/turns.bats."""
import os
import random
import re
import signal
import sys
import threading
import time

from common import await_true, in_processes, stats
from ordered import ranks_read_in_turn


def ranks_on_several_nodes_read_one():
    data, read = ranks_read_in_turn("m2", "m1", "m0")
    one = os.open("m1/ordered/rank1", os.O_WRONLY)
    os.write(one, b"more")
    before = stats("m1")["ordered_waits"]
    syncer = threading.Thread(target=os.fsync, args=(one,))
    syncer.start()
    await_true(lambda: stats("m1")["ordered_waits"] == before + 1)
    read(0, 4)
    syncer.join()
    assert open("f.dat", "rb").read() == data + b"more"


def of_daemons_that_are_killed():
    victims, rounds = [int(victim) for victim in sys.argv[1:]], 60
    def work(rank):
        """Ranks 0 to 3 are on nodes that stay, the others on nodes that are killed."""
        r = random.Random(rank)
        nodes = (1, 2) if rank < 4 else (0, 3)
        for round in range(rounds):
            try:
                with open(f"m{r.choice(nodes)}/ordered/rank{rank}", "wb", buffering=0) as out:
                    out.write(b"%d %d\n" % (round, rank))
            except OSError:
                assert rank >= 4
                time.sleep(0.02)
    holes = re.compile(rb"\0+")
    def lines():
        """Returns the contributions that are there. Each hole has the place of one that is
        missing."""
        return [tuple(map(int, line.split())) for line in holes.sub(b"", open("f.dat", "rb").read()).splitlines()]
    def kill():
        await_true(lambda: len(lines()) >= 100)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
            time.sleep(1)
        # The ranks of those nodes are gone. The others leave their places empty.
        for round in range(rounds):
            for rank in range(4, 8):
                open(f"m{1 + rank % 2}/ordered/rank{rank}", "wb").close()
    killer = threading.Thread(target=kill)
    killer.start()
    in_processes(work, range(8))
    killer.join()
    await_true(lambda: all(sum(rank == own for _, rank in lines()) == rounds for own in range(4)))
    got = lines()
    for own in range(8):
        mine = [round for round, rank in got if rank == own]
        assert mine == sorted(set(mine)), (own, mine)
    stayed = [(round, rank) for round, rank in got if rank < 4]
    assert stayed == [(round, rank) for round in range(rounds) for rank in range(4)], stayed
    missing = [len(hole) for hole in holes.findall(open("f.dat", "rb").read())]
    print(len(got), "lines; holes:", missing)
    assert len(missing) <= len(victims) and set(missing) <= {4, 5}, missing
