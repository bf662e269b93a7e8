#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Mutates sources and runs the tests that cover them: scripts/mutate --help."""
import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from mutations import apply, describe, mutations  # noqa: E402

DESCRIPTION = """\
Applies single mutations to C sources (a comparison, an operator or a constant changed, a statement
dropped, two arguments swapped, a condition negated), builds each mutant, and runs the C tests that
execute the changed line, until one fails. Prints the fate of each mutant. Those that survive show
code that no test checks.
"""

EPILOG = """\
Works in a copy of the tree, with its own build. A mutant that does not compile, or that gcc -O2
compiles to the same object, does not count. tests/mutate/explained.txt lists survivors that no test
can or should kill, with the reasons. Run it as root (the tests run in their own process namespace).
Exit status: 0 if at least --goal percent of the mutants of each PATH were killed, 1 otherwise, 2
for wrong usage.
"""

# Runs a test in its own namespaces, so that nothing of it remains, and it cannot kill other
# processes.
CAGE = [TOP / "tests/let_go", "unshare", "--pid", "--fork", "--kill-child", "sh", "-c",
        'mount -t proc proc /proc && exec prlimit --core=0 --fsize=8589934592 -- "$@"', "sh"]

LONGEST = 60  # seconds; tests that take longer are left out
FIRST = 3  # tests of a mutant that run one by one, before the others
AT_ONCE = (os.cpu_count() or 1) + 2  # the maximum number of tests that run at the same time

Test = collections.namedtuple("Test", "name command environment folder seconds")


def arguments():
    parser = argparse.ArgumentParser(prog="mutate", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH[:LINE]", help="a directory or a source")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="try N mutants of each PATH, drawn at random (all)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the sample (1)")
    parser.add_argument("--list", action="store_true", help="only print the mutants")
    parser.add_argument("--goal", type=float, default=90, metavar="PERCENT",
                        help="how many of the mutants must be killed (90)")
    parser.add_argument("--work", type=pathlib.Path, metavar="DIR",
                        help="keep the copy, its build and the coverage there, for the next run")
    return parser.parse_args()


class Tree:
    """A copy of the sources, its build, and the coverage of each test."""

    def __init__(self, folder):
        self.top, self.build = folder / "tree", folder / "build"
        self.profiles, self.cover = folder / "profiles", folder / "cover.json"
        self.running = set()  # process groups of tests; guarded by the lock, like ending
        self.ending = False  # no test starts
        self.lock = threading.Lock()
        files = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, stdout=subprocess.PIPE, check=True).stdout
        names = [TOP / os.fsdecode(name) for name in files.split(b"\0") if name]
        sources = (name.read_bytes() for name in names if HERE not in name.parents)
        self.digest = hashlib.sha256(b"".join(sources)).hexdigest()
        self.top.mkdir(parents=True, exist_ok=True)
        subprocess.run(["rsync", "-a", "--no-times", "--checksum", "--from0", "--files-from=-", f"{TOP}/", self.top],
                       input=files, check=True)
        if not (self.build / "build.ninja").exists():
            quiet("meson", "setup", self.build, self.top, "--optimization=g", "-Db_ndebug=false",
                  "-Db_coverage=true", "-Dman=disabled", "-Dpython=disabled")
        self.commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            path = (self.build / entry["file"]).resolve()
            self.commands.setdefault(path, shlex.split(entry["command"]))

    def parse(self, path):
        """Returns the mutations of a source; none if it is not built."""
        source = self.top / path
        options = [f"-I{self.build / word[2:]}" if word.startswith("-I") else word
                   for word in self.commands.get(source, ()) if word[:2] in ("-I", "-D") or word[:4] == "-std"]
        library = subprocess.run(["gcc", "-print-file-name=include"], stdout=subprocess.PIPE, text=True, check=True)
        return mutations(source, [*options, f"-I{library.stdout.strip()}"]) if options else []

    def tests(self):
        listed = subprocess.run(["meson", "introspect", "--tests", self.build],
                                stdout=subprocess.PIPE, check=True).stdout
        for test in json.loads(listed):
            yield Test(test["name"], test["cmd"], test["env"], test["workdir"] or str(self.build), 0)

    def run(self, test, limit, profile):
        """Returns whether the test passes, and the seconds that it took."""
        environment = {**os.environ, **test.environment, "GCOV_PREFIX": str(profile)}
        start = time.monotonic()
        with self.lock:
            if self.ending:
                return False, 0
            process = subprocess.Popen([*CAGE, *test.command], cwd=test.folder, env=environment,
                                       start_new_session=True, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.running.add(process.pid)
        try:
            passes = process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            passes = False
            os.killpg(process.pid, signal.SIGKILL)
        with self.lock:
            self.running.discard(process.pid)
        process.wait()
        return passes, time.monotonic() - start

    def fails(self, test):
        """Returns whether the test fails twice. A single failure may be due to a lack of memory or
        processes."""
        return not any(self.run(test, 10 + 5 * test.seconds, self.profiles)[0] for _ in range(2))

    def first_failure(self, tests):
        """Builds the programs of the tests, and runs them. Returns the first test that fails, or
        None. Raises CalledProcessError if the build fails."""
        programs = {name for test in tests for name in self.program(test)}
        if not tests:
            return None
        subprocess.run(["ninja", "-C", self.build, *sorted(programs)], stdout=subprocess.DEVNULL, check=True)
        self.ending = False
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            started = {pool.submit(self.fails, test): test for test in tests}
            try:
                for done in concurrent.futures.as_completed(started):
                    if done.result():
                        return started[done]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                self.end_running()
        return None

    def end_running(self):
        """Kills the tests that run. No other test starts."""
        with self.lock:
            self.ending = True
            for group in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)

    def coverage(self):
        """Builds. Returns for each source, by line, the tests that execute it, the fastest
        first."""
        quiet("ninja", "-C", self.build)
        kept = json.loads(self.cover.read_text()) if self.cover.exists() else {}
        if kept.get("digest") == self.digest:
            return {path: {int(line): [Test(*test) for test in tests] for line, tests in lines.items()}
                    for path, lines in kept["lines"].items()}
        found = collections.defaultdict(lambda: collections.defaultdict(list))
        for test in self.tests():
            profile = self.profiles / test.name
            passes, seconds = self.run(test, LONGEST, profile)
            print(f"{test.name}: {seconds:.1f} s" + ", left out" * (not passes), file=sys.stderr, flush=True)
            if passes:
                for path, line in self.executed(profile):
                    found[path][line].append(test._replace(seconds=seconds))
            shutil.rmtree(profile, ignore_errors=True)
        for lines in found.values():
            for tests in lines.values():
                tests.sort(key=lambda test: test.seconds)
        self.cover.write_text(json.dumps({"digest": self.digest, "lines": found}))
        return found

    def executed(self, profile):
        """Returns the (source, line) that a test executed, as gcov finds them."""
        lines = set()
        for counts in profile.rglob("*.gcda"):
            notes = pathlib.Path("/") / counts.relative_to(profile).with_suffix(".gcno")
            shutil.copy(notes, counts.with_suffix(".gcno"))
            done = subprocess.run(["gcov", "--json-format", "--stdout", counts], cwd=self.build,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
            for file in (file for part in done.stdout.splitlines() for file in json.loads(part)["files"]):
                path = (self.build / file["file"]).resolve()
                if path.is_relative_to(self.top):
                    name = str(path.relative_to(self.top))
                    lines |= {(name, line["line_number"]) for line in file["lines"] if line["count"]}
        return lines

    def program(self, test):
        """Returns ninja's names of the programs and libraries that a test runs."""
        return [os.path.relpath(word, self.build) for word in test.command if word.startswith(f"{self.build}/")]

    def compiles_alike(self, path, *texts):
        """Returns whether gcc -O2 makes the same object of both texts of a source."""
        command, skip = [], False
        for word in self.commands[self.top / path]:
            if skip or word in ("-MQ", "-MF", "-o", "-c"):
                skip = not skip and word != "-c"
            elif word not in ("--coverage", "-Og", "-g", "-MD") and not word.endswith(".c"):
                command.append(word)
        objects = []
        for source in texts:
            (self.top / path).write_bytes(source)
            output = self.build / "alike.o"
            subprocess.run([*command, "-O2", "-g0", "-DNDEBUG", "-w", "-c", self.top / path, "-o", output],
                           cwd=self.build, check=True)
            objects.append(output.read_bytes())
        return objects[0] == objects[1]


def quiet(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"mutate: {shlex.join(map(str, command))}:\n{done.stdout}")


def try_mutant(tree, path, mutation, tests):
    """Returns the fate of a mutant: killed, survived, uncovered, alike, or invalid."""
    source = tree.top / path
    original = source.read_bytes()
    mutant = apply(original, mutation)
    try:
        source.write_bytes(mutant)
        for test in tests[:FIRST]:
            if tree.first_failure([test]):
                return f"killed by {test.name}"
        if tree.compiles_alike(path, original, mutant):
            return "alike"
        source.write_bytes(mutant)
        killer = tree.first_failure(tests[FIRST:])
        # Once more, alone: beside others, a test may fail because it is slow.
        if killer and tree.first_failure([killer]):
            return f"killed by {killer.name}"
        return "survived" if tests else "uncovered"
    except subprocess.CalledProcessError:
        return "invalid"
    finally:
        source.write_bytes(original)


def explanations():
    """Returns the (source, text of the line, mutation) of the survivors that are explained."""
    parts = [line.split("\t") for line in (HERE / "explained.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    return {(path, line, mutation) for path, line, mutation, _ in parts}


def chosen(tree, options):
    """Yields (source, mutation) of each PATH, sampled."""
    for word in options.paths:
        name, _, line = word.partition(":")
        path = TOP / name
        if not path.exists():
            sys.exit(f"mutate: {name}: no such file or directory of the tree")
        sources = [path] if path.is_file() else sorted(path.glob("*.c"))
        found = [(str(source.relative_to(TOP)), mutation) for source in sources
                 for mutation in tree.parse(source.relative_to(TOP))
                 if not line or mutation.line == int(line)]
        if options.sample and options.sample < len(found):
            found = sorted(random.Random(f"{options.seed} {name}").sample(found, options.sample))
        yield name, found


def work_on(tree, name, found, cover):
    """Tries the mutants of a PATH; prints survivors and a summary. Returns the percentage
    killed."""
    counts, kinds, explained = collections.Counter(), collections.Counter(), explanations()
    start = time.monotonic()
    for path, mutation in found:
        text = (tree.top / path).read_bytes()
        line = text.splitlines()[mutation.line - 1].decode().strip()
        what = describe(text, mutation)
        result = try_mutant(tree, path, mutation, cover.get(path, {}).get(mutation.line, []))
        if result in ("survived", "uncovered") and (path, line, what) in explained:
            result = "explained"
        print(f"{result}: {path}:{mutation.line}: {what}    {line}", flush=True)
        counts[result.split()[0]] += 1
        kinds[mutation.kind, result.split()[0]] += 1
    judged = counts["killed"] + counts["survived"] + counts["uncovered"]
    percent = 100 * counts["killed"] / judged if judged else 100
    print(f"{name}: {counts['killed']} of {judged} killed ({percent:.1f} %), {counts['survived']} survived, "
          f"{counts['uncovered']} uncovered; {counts['explained']} explained, {counts['alike']} compile alike, "
          f"{counts['invalid']} do not compile; {time.monotonic() - start:.0f} s", flush=True)
    return percent


def main():
    options = arguments()
    folder = options.work or pathlib.Path(os.environ["MUTATE_WORK"])
    tree = Tree(folder.resolve())
    parts = list(chosen(tree, options))
    if options.list:
        for path, mutation in (each for _, found in parts for each in found):
            print(f"{path}:{mutation.line}: {describe((tree.top / path).read_bytes(), mutation)}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # lets try_mutant restore the source
    try:
        cover = tree.coverage()
        return int(min(work_on(tree, name, found, cover) for name, found in parts) < options.goal)
    finally:
        tree.end_running()


if __name__ == "__main__":
    sys.exit(main())
