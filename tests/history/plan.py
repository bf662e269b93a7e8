#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""plan.py SEED SECONDS NODES: prints the faults of a history, one in each line, in their order.

A line has the seconds to wait first, and one of these faults:

  stop daemon|engine|node|launcher NODE SECONDS      SIGSTOP, and SIGCONT after SECONDS
  cut node blackhole|reject|link NODE - SECONDS      all messages to and from a node are lost
  cut pair|oneway blackhole|reject A B SECONDS       messages between A and B, or from A to B, are lost
  kill worker|daemon|engine|launcher NODE

The first faults are shorter than peer_timeout (2 s), and no cut among them resets connections, so
that no node is declared failed. Later ones may be longer. Each kind of fault occurs at least once,
even if that takes more than SECONDS. One daemon is killed, and only one other node is stopped for
longer than twice peer_timeout. The line "failed NODE" names that node in advance. The line "unmount
NODE..." has the order of unmounts.
"""
import random
import sys

SHORT = ("stop daemon", "stop engine", "stop node", "stop launcher", "cut pair", "cut node", "cut oneway",
         "kill worker")
LONG = ("stop node", "cut pair", "cut node", "cut oneway", "kill worker")
ONCE = ("kill engine", "kill launcher", "kill daemon")


class Plan:
    def __init__(self, seed, nodes):
        self.random = random.Random(f"plan {seed}")
        self.alive = list(range(nodes))
        self.doomed, self.frozen = self.random.sample(self.alive, 2)
        self.spent = 0

    def line(self, fault, long):
        """Returns a fault with its arguments."""
        seconds = self.random.uniform(0.05, 1.4)
        node = self.random.choice(self.alive)
        if fault == "kill daemon":
            node = self.doomed
            self.alive.remove(node)
        elif fault.startswith("stop") and long:
            node, seconds = self.frozen, self.random.uniform(4.5, 6)
        elif long:
            seconds = self.random.uniform(2, 4.5)
        if fault.startswith("kill"):
            return f"{fault} {node}"
        if fault.startswith("stop"):
            self.spent += seconds
            return f"{fault} {node} {seconds:.2f}"
        self.spent += seconds
        ways = ["blackhole"] + ["reject"] * long + ["link"] * (fault == "cut node")
        other = "-" if fault == "cut node" else self.random.choice([one for one in self.alive if one != node])
        return f"{fault} {self.random.choice(ways)} {node} {other} {seconds:.2f}"

    def shuffled(self, faults):
        return self.random.sample(faults, len(faults))

    def deal(self, faults, long):
        """Prints faults in their order."""
        for fault in faults:
            pause = self.random.uniform(0.05, 0.8)
            self.spent += pause
            print(f"{pause:.2f}", self.line(fault, long))


def main():
    seed, seconds, nodes = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    plan = Plan(seed, nodes)
    print("0 failed", plan.frozen)
    print("0 unmount", *plan.shuffled(range(nodes)))
    plan.deal(plan.shuffled(SHORT), False)
    while plan.spent < seconds * 0.4:
        plan.deal(plan.shuffled(SHORT), False)
    # Engines exit when the mount is degraded, so killing one has an effect only before that.
    plan.deal(plan.shuffled(ONCE) + plan.shuffled(LONG) if plan.random.random() < 0.6
              else plan.shuffled(ONCE + LONG), True)
    while plan.spent < seconds:
        plan.deal(plan.shuffled(SHORT + LONG), plan.random.random() < 0.3)


main()
