# SPDX-License-Identifier: MIT
"""P22 and P23: hosts that share a distributed filesystem, each through its own client and page
cache. GlusterFS runs without glusterd, all on this machine, as in tests/bats/distributed.bash."""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import subprocess
import time
from functools import partial

from pool import read_slices
from testbed import (BUILD, CALL, MIB, TOP, Failure, Unavailable, at_once, check_words, dealt, drop,
                     import_numpy, opened, program, run, wait_for, words_of, write_slice,
                     write_together)

HOSTS = 4
FILE = 64 * MIB  # bytes that P23 reads
WRITE = 16 * MIB  # bytes that each of two nodes writes
RUNS = 16384  # runs that each of two plain mounts writes, one request to the server for each

VOLUMES = TOP / "tests/cluster"  # as the tests of distributed.bats have them

# mpiexec starts this instead of ssh. It runs the command as a host with its own name, and with its
# own client of the filesystem at dfs. All hosts see the mounts in at.
LAUNCHER = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
exec unshare --uts "{top}/tests/let_go" --keep "{dir}" --share "{dir}/at" bash -c '
    mount --bind "{dir}/dfs${{1#host}}" "{dir}/dfs" && hostname "$1" && eval "$2"' \\
    launcher "$1" "${{*:2}}"
"""


class Hosts:
    """Starts a server, and a client for each host at dfs0, dfs1, ... At dfs each host sees its
    own."""

    def __init__(self, bench):
        if os.geteuid() != 0:
            raise Unavailable("hosts of a distributed filesystem need root")
        server, client = program("glusterfsd"), program("glusterfs")
        self.bench, self.dir = bench, bench.dir / "distributed"
        for name in ("brick", "dfs"):
            (self.dir / name).mkdir(parents=True)
        bench.shared_folder(self.dir / "at")
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        for name in ("server.vol", "client.vol"):
            text = (VOLUMES / name).read_text()
            self.write(name, text.replace("BRICK", str(self.dir / "brick"))
                       .replace("PORT", str(port)))
        self.write("launcher", LAUNCHER.format(top=TOP, dir=self.dir)).chmod(0o755)
        self.start(server, "-f", self.dir / "server.vol", f"--log-file={self.dir / 'server.log'}")
        for host in range(HOSTS):
            point, log = bench.point(f"distributed/dfs{host}"), self.dir / f"client{host}.log"
            self.start(client, f"--volfile={self.dir / 'client.vol'}", f"--log-file={log}", point)
            try:
                wait_for(lambda: log.exists() and "Connected, attached" in log.read_text() and
                         os.path.ismount(point), "glusterfs")
            except Failure as error:
                raise Unavailable(str(error)) from error

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def start(self, *words):
        self.bench.daemons.append(subprocess.Popen(
            [words[0], "-N", *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True))

    def sent(self):
        """Returns how many bytes the server has sent so far, from the dump in its log."""
        log = self.dir / "server.log"
        before = log.stat().st_size
        run("setfattr", "-n", "trusted.io-stats-dump", "-v", "x", self.dir / "dfs0")
        wait_for(lambda: "total-write=" in log.read_text()[before:], "glusterfsd")
        return int(re.search(r"total-write=(\d+)", log.read_text()[before:])[1])

    def environment(self):
        mpiexec = program("mpiexec.mpich", "mpiexec.hydra")
        launch = f"{mpiexec} -launcher ssh -launcher-exec {self.dir / 'launcher'} " \
                 "-localhost 127.0.0.1 -genv UCX_TLS tcp,self"
        return {**self.bench.environment(), "MPIIO_MPIEXEC": launch}

    def names(self, count):
        return ",".join(f"host{host}" for host in range(count))

    def spec(self, name, ranks, setting, folder="dfs"):
        return self.write(f"{name}.json", json.dumps(
            dealt(self.dir / folder / name, ranks, setting, "native")))

    @contextlib.contextmanager
    def mounted(self, spec, count, options):
        """Mounts on the first hosts."""
        points = [self.bench.point(f"distributed/at/{host}") for host in range(count)]
        run(TOP / "scripts/mpiio-mount", f"--hosts={self.names(count)}", "-o", options, spec,
            self.dir / "at/%n", env=self.environment())
        try:
            yield points
        finally:
            run(BUILD / "src/umount/mpiio-umount", points[0], env=self.environment())

    def fresh(self, size=0):
        """Makes x.dat, with zeros. No client has pages of it."""
        with open(self.dir / "dfs3/x.dat", "wb") as file:
            file.truncate(size)
        for host in range(HOSTS):
            drop(self.dir / f"dfs{host}/x.dat")

    def check(self, setting, size, what):
        check_words(self.dir / "brick/x.dat", 2 * size, f"{setting.name}, {what}")


def hosts_of(bench):
    return bench.once("P22", lambda: Hosts(bench))


# P22: two hosts that write interleaved slices.


def run_nodes(bench, setting):
    """One mount on both hosts. One fsync stores everything."""
    hosts, data = hosts_of(bench), words_of(setting.run, WRITE)
    hosts.fresh()
    with hosts.mounted(hosts.spec("x.dat", 2, setting), 2, "flush_interval=0") as points, \
            opened(points, os.O_WRONLY) as files:
        seconds = write_together(files, data)
    hosts.check(setting, WRITE, "two nodes")
    return {"rate": 2 * WRITE / seconds / 1e6}


def run_romio(bench, setting):
    hosts = hosts_of(bench)
    hosts.fresh()
    binary = bench.program_of_build("bench-romio", "mpich is not installed (libmpich-dev)")
    words = hosts.environment()["MPIIO_MPIEXEC"].split()
    seconds = float(run(*words, "-hosts", hosts.names(2), "-ppn", 1, "-n", 2, binary, "write_all",
                        hosts.dir / "dfs/x.dat", setting.run, WRITE, CALL))
    hosts.check(setting, WRITE, "ROMIO write_all")
    return {"rate": 2 * WRITE / seconds / 1e6}


def run_mounts(bench, setting):
    """A plain mount on each host, over its own client."""
    hosts, data = hosts_of(bench), words_of(setting.run, RUNS * setting.run)
    hosts.fresh(2 * RUNS * setting.run)
    with contextlib.ExitStack() as stack:
        points = []
        for host in (0, 1):
            spec = hosts.spec("x.dat", 2, setting, f"dfs{host}")
            points.append(stack.enter_context(bench.mounted(spec, name=f"distributed/plain{host}")))
        _, seconds = at_once(write_slice, [(point / f"rank{rank}", data[rank])
                                           for rank, point in enumerate(points)])
    hosts.check(setting, RUNS * setting.run, "two mounts")
    return {"rate": 2 * RUNS * setting.run / seconds / 1e6}


def write_raw(path, data, run_size, first):
    """Writes every other run of the file, from the run first on."""
    fd = os.open(path, os.O_WRONLY)
    for at in range(0, len(data), run_size):
        os.pwrite(fd, data[at:at + run_size], 2 * at + first * run_size)
    os.fsync(fd)
    os.close(fd)


def run_raw(bench, setting):
    """The same runs by pwrite(2), from a program on each host, without a mount."""
    hosts, data = hosts_of(bench), words_of(setting.run, RUNS * setting.run)
    hosts.fresh(2 * RUNS * setting.run)
    work = [(hosts.dir / f"dfs{rank}/x.dat", data[rank], setting.run, rank) for rank in (0, 1)]
    with concurrent.futures.ProcessPoolExecutor(2) as processes:
        list(processes.map(time.sleep, (0.1, 0.1)))  # until both have started
        start = time.perf_counter()
        for done in [processes.submit(write_raw, *words) for words in work]:
            done.result()
        seconds = time.perf_counter() - start
    hosts.check(setting, RUNS * setting.run, "pwrite")
    return {"rate": 2 * RUNS * setting.run / seconds / 1e6}


# P23: four hosts that read interleaved slices.


def run_pool(bench, setting, pool):
    hosts = hosts_of(bench)
    bench.words_file("distributed/dfs3/file.dat", FILE)
    for host in range(HOSTS):
        drop(hosts.dir / f"dfs{host}/file.dat")
    words = import_numpy().fromfile(hosts.dir / "brick/file.dat", "<u8")
    spec = hosts.spec("file.dat", HOSTS, setting)
    with hosts.mounted(spec, HOSTS, f"ro,direct,pool={pool}") as points:
        before = hosts.sent()
        seconds = read_slices(points, words)
        return {"rate": FILE / seconds / 1e6, "sent": (hosts.sent() - before) / FILE}


def distributed_runners():
    return {"distributed_nodes": run_nodes, "distributed_romio": run_romio,
            "distributed_mounts": run_mounts, "distributed_raw": run_raw,
            "distributed_pool": partial(run_pool, pool="128M"),
            "distributed_apart": partial(run_pool, pool="off")}
