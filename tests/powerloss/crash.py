#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Cuts the power below mounts, or kills daemons, at random. Then compares the files with the writes
that were acknowledged. Prints the table of mpiio-fused(8). Run it as root, in an empty folder, with
the commands on the PATH, tests/shared in PYTHONPATH, and MPIIO_SBIN and MPIIO_BUILD in the
environment.
"""
import argparse
import contextlib
import os
import random
import selectors
import shutil
import signal
import subprocess
import sys
import time

from configurations import CONFIGURATIONS, KILLED, NODE, POWER, write_spec
from model import LEVELS, judge, judge_records, read_log, unmounted
from mounts import LIMIT, Mount, Wrong, await_true, device, page
from processes import kill_all

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 60
NAMES = ("mpiio-fused", "mpiio-engine-mp", "hydra_pmi_proxy")


class Disk:
    """The filesystem whose power is cut, mounted at volatile. The folder disk has the durable
    files."""

    def __init__(self, strict):
        self.program = subprocess.Popen(
            [os.environ["MPIIO_BUILD"] + "/tests/powerloss/powerloss", *["--strict"] * strict, "disk", "volatile"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.expect(b"ready")

    def tell(self, command):
        with contextlib.suppress(BrokenPipeError):
            self.program.stdin.write(command.encode() + b"\n")

    def expect(self, word):
        said = self.program.stdout.readline().strip()
        if said == b"held" and word == b"lost":
            said = self.program.stdout.readline().strip()
        if said != word:
            raise Wrong(f"powerloss says {said}")

    def end(self):
        """Ends the program. Changes that are not durable are in its memory, and are lost with
        it."""
        self.program.stdin.close()
        self.program.wait(LIMIT)
        subprocess.run(["umount", "-l", "volatile"], stderr=subprocess.DEVNULL)
        self.program.stdout.close()


def contents(folder):
    return {name: open(f"{folder}/{name}", "rb").read() for name in os.listdir(folder)}


def cut_off(folders):
    """Ends the connections of mounts whose daemons were killed. If a daemon was making the kernel
    invalidate pages, its connection would stay until the pages are written back, which never
    happens."""
    for folder in folders:
        with contextlib.suppress(Wrong, FileNotFoundError):
            with open(f"connections/{device(folder)}/abort", "w") as out:
                out.write("1")


class Round:
    """A mount, a worker, and a crash."""

    unmounts = then_power = left = False

    def __init__(self, configuration, event, seed, number):
        """The crashes of the first three rounds are not random. They occur at the end, and lose as
        much as possible: after writes that were not synced, after unmounting, and after many
        operations."""
        self.configuration, self.event, self.seed = configuration, event, seed
        self.rng, self.random = random.Random(seed), number > 2
        self.steps = STEPS if number else 0
        self.unmounts = number == 1

    def arm(self):
        """Chooses when the crash occurs: at some request, or after the worker's last operation."""
        after = self.rng.choice((self.rng.randint(1, 12), self.rng.randint(1, 120), 1 << 30))
        how = self.rng.choice(("all", "none", "some", "some", "some"))
        if not self.random:
            after, how = 1 << 30, "all"
        self.cut = f"{how} {self.rng.randrange(1 << 30)}"
        self.disk.tell(f"lose {after} {self.cut}" if self.event == POWER else f"hold {after}")

    def victims(self):
        if self.event == NODE:
            pids = [self.mount.daemon_of(1)]
            return pids + [pid for pid in self.mount.processes("mpiio-engine-mp") if self.mount.number_of(pid) == 1]
        return self.mount.processes(*NAMES)

    def kill(self):
        """Kills the daemons that the event kills, and their engines."""
        kill_all(self.victims())
        cut_off(self.mount.folders[1:] if self.event == NODE else self.mount.folders)

    def work(self):
        """Runs the worker until it has finished, or until the crash."""
        folders = [os.path.abspath(folder) for folder in self.mount.folders]
        self.worker = subprocess.Popen(
            [*self.configuration.runner, "/usr/bin/python3", f"{HERE}/worker.py", str(self.seed),
             str(self.steps), self.configuration.kind, *self.configuration.paths(folders)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.log, self.crashed = b"", False
        with selectors.DefaultSelector() as ready:
            ready.register(self.worker.stdout, selectors.EVENT_READ)
            ready.register(self.disk.program.stdout, selectors.EVENT_READ)
            while True:
                found = [key.fileobj for key, _ in ready.select(LIMIT)]
                if not found:
                    raise Wrong("the worker hangs")
                if self.disk.program.stdout in found:
                    self.fall(ready)
                    if self.event == POWER:
                        return
                elif not self.read_log() or self.log.endswith(b"d\n"):
                    return

    def read_log(self):
        more = os.read(self.worker.stdout.fileno(), 65536)
        self.log += more
        return more

    def fall(self, ready):
        """Handles a crash that occurs while the worker runs."""
        ready.unregister(self.disk.program.stdout)
        self.disk.expect(b"lost" if self.event == POWER else b"held")
        self.crashed = True
        if self.event == POWER:
            self.switch_off()
            return
        self.kill()
        self.disk.tell("go")

    def switch_off(self):
        kill_all([self.worker.pid, *self.mount.processes(*NAMES)])
        cut_off(self.mount.folders)
        while self.read_log():
            pass

    def finish(self):
        """Causes the crash if it has not occurred yet, perhaps after unmounting."""
        if self.event == NODE and not self.crashed:
            self.kill()
            self.disk.tell("go")
            self.crashed = True
        if self.crashed and self.event != NODE:
            return
        self.unmounts |= self.event == NODE or self.random and self.rng.random() < 0.5
        if self.event == NODE and self.random and self.rng.random() < 0.5:
            # The other node goes on and syncs, and then loses power, too.
            self.then_power = True
            self.disk.tell(f"lose 0 {self.cut}")
            self.disk.expect(b"lost")
        elif self.unmounts:
            self.worker.stdin.close()
            self.worker.wait(LIMIT)
            self.unmount()
        if self.crashed:
            return
        if self.event == POWER:
            self.disk.tell(f"lose 0 {self.cut}")
            self.disk.expect(b"lost")
        else:
            self.kill()

    def unmount(self):
        """Unmounts. The crash may occur meanwhile."""
        command = subprocess.Popen(["mpiio-umount", self.mount.folders[0]], stderr=subprocess.PIPE)
        with selectors.DefaultSelector() as ready:
            ready.register(command.stderr, selectors.EVENT_READ)
            if self.event != NODE:
                ready.register(self.disk.program.stdout, selectors.EVENT_READ)
            found = [key.fileobj for key, _ in ready.select(LIMIT)]
        self.crashed |= self.disk.program.stdout in found
        if self.crashed and self.event != NODE:
            command.kill()
            kill_all(self.mount.processes(*NAMES))
            cut_off(self.mount.folders)
            self.disk.tell("go")
        said = command.communicate(timeout=LIMIT)[1]
        self.left = command.returncode == 0 and (self.event == NODE or not self.crashed)
        if self.event == NODE and not self.left:
            raise Wrong(f"mpiio-umount: {said}")

    def settle(self):
        """Ends all processes and mounts. Returns the files that survive."""
        kill_all([self.worker.pid, *self.mount.processes(*NAMES)])
        cut_off(self.mount.folders)
        self.disk.tell("go")
        if self.worker.wait(LIMIT) > 0:
            raise Wrong("the worker fails")
        while self.read_log():
            pass
        self.worker.stdout.close()
        self.mount.kill()
        await_true(lambda: not self.mount.processes(*NAMES), "processes do not end")
        lost = self.event == POWER or self.then_power
        if lost:
            self.disk.program.wait(LIMIT)
        left = contents("disk" if lost else "volatile")
        self.disk.end()
        if not lost:  # the next round begins with the files as programs see them
            for name, data in left.items():
                with open(f"disk/{name}", "wb") as out:
                    out.write(data)
        return left

    def run(self, strict):
        self.mount = Mount(self.configuration.nodes, options=self.configuration.options + ",coherence=local")
        self.disk = Disk(strict)
        try:
            return self.run_on_disk()
        except BaseException:
            kill_all(self.mount.processes(*NAMES))
            cut_off(self.mount.folders)
            self.mount.kill()
            self.disk.end()
            raise

    def run_on_disk(self):
        configuration = self.configuration
        configuration.begin(self.rng)
        write_spec(configuration, os.path.abspath("volatile"), "s.json")
        if self.mount.start() != "ok":
            raise Wrong("not mounted: " + open("said", "rb").read().decode())
        before = contents("volatile")
        if configuration.kind in ("records", "ordered"):
            self.before = before["file"]
        else:
            self.before = configuration.slices(before)
            self.compare()
        self.arm()
        self.work()
        self.finish()
        return self.judge(self.settle())

    def compare(self):
        """Checks that the mount shows the files that survived earlier rounds."""
        for path, want in zip(self.configuration.paths(self.mount.folders), self.before):
            got = open(path, "rb").read()
            if got != want:
                raise Wrong(f"{path} differs from the file: {len(got)} of {len(want)} bytes")

    def judge(self, files):
        operations = read_log(self.log)
        kept, complaint = self.judge_all(operations, files)
        if self.then_power:
            kept = {level: held for level, held in kept.items() if level == "fsync"}
        return kept, complaint

    def judge_all(self, operations, files):
        if self.left:
            # The slices of a killed daemon are not unmounted.
            unmounted([op for op in operations if self.event != NODE or op.index % 2 == 0])
        if self.configuration.kind in ("records", "ordered"):
            before = {self.before[at:at + 64] for at in range(0, len(self.before), 64)} - {bytes(64)}
            return judge_records(before, files.get("file", b""), operations, self.seed)
        kept, complaint = {}, None
        parts = self.configuration.slices(files)
        for index, (base, got) in enumerate(zip(self.before, parts)):
            # Slices with the same bytes have their operations together.
            mine = [op for op in operations if op.index == index or self.configuration.ranks == 1]
            more, strange = judge(base, got, mine, self.seed, self.configuration.kind)
            complaint = complaint or strange and f"slice {index}: {strange}"
            for level, held in more.items():
                kept[level] = kept.get(level, True) and held
        return kept, complaint


def prepare(configuration):
    subprocess.run(["umount", "-l", "volatile"], stderr=subprocess.DEVNULL)
    shutil.rmtree("disk", ignore_errors=True)
    for folder in ("disk", "volatile"):
        os.makedirs(folder, exist_ok=True)
    for name, data in configuration.files().items():
        with open(f"disk/{name}", "wb") as out:
            out.write(data)


def rounds(name, event, seed, count):
    """Yields the levels at which each round kept its data."""
    configuration = CONFIGURATIONS[name]
    prepare(configuration)
    for number in range(max(3, round(count * configuration.weight))):
        if configuration.fresh:
            prepare(configuration)
        here = f"{name}, {event}, seed {seed + number}"
        try:
            kept, complaint = Round(configuration, event, seed + number, number).run(number % 2 == 1)
        except Wrong as wrong:
            kept, complaint = {}, str(wrong)
        if complaint:
            raise Wrong(f"{here}: {complaint}")
        yield here, kept


def table(cells):
    lines = [("mount", "crash", *LEVELS)]
    for (name, event), kept in cells.items():
        lines.append((name, event, *({True: "kept", False: "lost", None: "-"}[kept.get(level)] for level in LEVELS)))
    return page(lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first round (1)")
    parser.add_argument("--rounds", type=int, default=10, help="crashes of each kind for each mount (10)")
    parser.add_argument("--seconds", type=float, help="repeat with other seeds for this time")
    parser.add_argument("--only", action="append", choices=CONFIGURATIONS, help="only this mount; may be repeated")
    parser.add_argument("--event", choices=(POWER, KILLED, NODE), help="only this kind of crash")
    parser.add_argument("--names", action="store_true", help="print the mounts and their crashes")
    parser.add_argument("--verbose", action="store_true", help="print the result of each crash")
    return parser.parse_args()


def main():
    options, cells, crashes = arguments(), {}, 0
    if options.names:
        for name, configuration in CONFIGURATIONS.items():
            for event in configuration.events:
                print(name, event)
        return
    os.makedirs("connections", exist_ok=True)
    subprocess.run(["mount", "-t", "fusectl", "none", "connections"], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    end = time.monotonic() + (options.seconds or 0)
    seed = options.seed
    while True:
        for name in options.only or CONFIGURATIONS:
            for event in CONFIGURATIONS[name].events:
                if options.event not in (None, event):
                    continue
                cell = cells.setdefault((name, event), {})
                for here, kept in rounds(name, event, seed, options.rounds):
                    crashes += 1
                    if options.verbose:
                        print(here, kept, file=sys.stderr, flush=True)
                    for level in ("fsync", "unmount"):
                        if kept.get(level) is False:
                            raise Wrong(f"{here}: lost after {level}")
                    for level, held in kept.items():
                        cell[level] = cell.get(level, True) and held
        seed += 1000
        if time.monotonic() >= end:
            break
    print(table(cells))
    print(f"{crashes} crashes", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"crash.py: {wrong}")
