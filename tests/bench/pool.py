# SPDX-License-Identifier: MIT
"""P14: nodes that read all slices of a file together. Each node reads the file from its own store
(tests/pool/slowfs.c), which has a limited rate and counts the bytes read."""
import contextlib
import json
import os
import struct

from testbed import BUILD, MIB, TOP, Failure, Unavailable, at_once, dealt, import_numpy, run

RATE = 50  # MiB a second that a node's store reads

# A daemon in its own mount namespace, where the store covers the file's directory. Its own mount,
# in a shared directory, is visible outside.
DAEMON = """#!/bin/bash
exec "{top}/tests/let_go" --keep "{dir}" --share "{at}" bash -c '
    "{build}/tests/pool/slowfs" "{folder}" "{folder}" {rate} "{count}/$$" >/dev/null 2>&1 &
    for ((i = 0; i < 200; i++)); do
        mountpoint -q "{folder}" && exec "{build}/fusefs/mpiio-fused" "$@"
        sleep 0.05
    done' daemon "$@"
"""


def make_places(bench):
    """The directories of the file, of the counters and of the mounts. The last one is shared."""
    if os.geteuid() != 0:
        raise Unavailable("stores of each node's own need root")
    places = {name: bench.dir / name for name in ("at", "slow", "count")}
    places["slow"].mkdir()
    places["count"].mkdir()
    bench.words_file("slow/file.dat", bench.size // 8)
    bench.shared_folder(places["at"])
    return places


def stores_read(places):
    return sum(struct.unpack("Q", path.read_bytes())[0] for path in places["count"].iterdir())


@contextlib.contextmanager
def slow_nodes(bench, places, spec, count, pool):
    """New read-only mounts on that many nodes, all on this machine."""
    for path in places["count"].iterdir():
        path.unlink()
    daemon = bench.dir / "daemon"
    daemon.write_text(DAEMON.format(top=TOP, dir=bench.dir, at=places["at"], folder=places["slow"],
                                    rate=RATE, count=places["count"], build=BUILD))
    daemon.chmod(0o755)
    points = [bench.point(f"at/{node}") for node in range(count)]
    environment = {**bench.environment(), "MPIIO_FUSED": str(daemon)}
    run(TOP / "scripts/mpiio-mount", f"--hosts={','.join(['localhost'] * count)}",
        "-o", f"ro,direct,pool={pool}", spec, places["at"] / "%n", env=environment)
    try:
        yield points
    finally:
        run(BUILD / "src/umount/mpiio-umount", points[0], env=environment)


def read_slices(points, words):
    """Has each node read its slice, and checks the bytes."""

    def read(node, point):
        with open(point / f"rank{node}", "rb", buffering=MIB) as file:
            return file.read()

    slices, seconds = at_once(read, list(enumerate(points)))
    for node, data in enumerate(slices):
        if data != words[node::len(points)].tobytes():
            raise Failure(f"node {node} of {len(points)} read wrong data")
    return seconds


def run_pool(bench, setting, nodes, pool="128M"):
    """Runs of 8 bytes. There are as many ranks as nodes."""
    places = bench.once("P14", lambda: make_places(bench))
    numpy = import_numpy()
    spec = bench.dir / f"slow{nodes}.json"
    spec.write_text(json.dumps(dealt(places["slow"] / "file.dat", nodes, setting, "native")))
    words = numpy.fromfile(places["slow"] / "file.dat", "<u8")
    with slow_nodes(bench, places, spec, nodes, pool) as points:
        seconds = read_slices(points, words)
        first = stores_read(places)
        read_slices(points, words)
        again = stores_read(places) - first
    return {"rate": words.nbytes / seconds / 1e6, "storage": first / words.nbytes,
            "again": again / words.nbytes}
