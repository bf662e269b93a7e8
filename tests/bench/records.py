# SPDX-License-Identifier: MIT
"""P18: processes of a job take the records of a file from `shared`, put records there, and write
them in the order of ranks (tests/bench/records.c)."""
import json
from functools import partial

from distributed import HOSTS, hosts_of
from testbed import RECORD


def record_spec(bench, path, processes):
    """Returns a spec in which all ranks see the same records."""
    spec = bench.dir / f"{path.stem}{processes}.json"
    spec.write_text(json.dumps(
        {"viewspec": 1, "file": str(path), "ranks": processes,
         "view": {"etype": {"type": "contiguous", "count": RECORD, "oldtype": "byte"}}}))
    return spec


def run_records(bench, _setting, action, nodes=0, processes=8, share=1, under=False):
    """Returns records a second. nodes: 0 for MPI's own functions, else the number of nodes with
    mounts. share: how many records each process writes in a round, in order. under: the processes
    run under mpiio-run."""
    path = bench.words_file("records.dat", bench.records * RECORD) if action == "take" \
        else bench.fresh("put.dat")
    command = ("bench-records", action, bench.records, share, path)
    if nodes == 0:
        seconds = bench.mpi(*command, ranks=processes)
    elif nodes == 1:
        with bench.mounted(record_spec(bench, path, processes)) as point:
            seconds = bench.mpi(*command, point, ranks=processes, under=under)
    else:
        with bench.mounted_nodes(record_spec(bench, path, processes), nodes) as points:
            seconds = bench.mpi(*command, *points, ranks=processes)
    return {"rate": bench.records / float(seconds)}


def run_on_hosts(bench, _setting, action, processes=8, share=1):
    """The same on hosts that share a distributed filesystem, with fewer records."""
    unit = processes * share
    hosts, count = hosts_of(bench), max(unit, bench.records // 5 // unit * unit)
    path = bench.words_file("distributed/dfs3/records.dat", count * RECORD) if action == "take" \
        else bench.fresh("distributed/dfs3/put.dat")
    spec = record_spec(bench, hosts.dir / "dfs" / path.name, processes)
    with hosts.mounted(spec, HOSTS, "rw") as points:
        seconds = bench.mpi("bench-records", action, count, share, hosts.dir / "brick" / path.name,
                            *points, ranks=processes)
    return {"rate": count / float(seconds)}


# The actions, by name. In the order of ranks, MPI's processes spin while they wait. One record a
# round is measured with as many processes as there are processors.
ACTIONS = {
    "take": {"action": "take"},
    "put": {"action": "put"},
    "ordered": {"action": "ordered", "share": 100},
    "ordered_two": {"action": "ordered", "processes": 2},
}


def record_runners():
    """Returns a runner for each action, by MPI and through mounts on one node, on four, and on
    hosts. For `shared`, also returns runners under mpiio-run."""
    return {f"{name}_{how}": partial(run_records, nodes=nodes, **action)
            for name, action in ACTIONS.items()
            for how, nodes in (("romio", 0), ("mount", 1), ("nodes", 4))} | \
        {f"{name}_hosts": partial(run_on_hosts, **action) for name, action in ACTIONS.items()} | \
        {f"{name}_under": partial(run_records, nodes=1, under=True, **ACTIONS[name])
         for name in ("take", "put")}
