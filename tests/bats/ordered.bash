# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tests of "ordered" have in common: load it after helper.

# common RANKS [ETYPE]: s.json, a view that all ranks have of f.dat, which is empty.
common() {
    cat >s.json <<END
{ "viewspec": 1, "file": "f.dat", "ranks": $1,
  "view": { "etype": "${2:-byte}", "filetype": { "type": "broadcast" } } }
END
    : >f.dat
}

# random_rounds ROUNDS RANKS ETYPE LARGEST MOUNT...: in each round each rank comes when it likes to any of
# the mounts and writes a share of random length, up to LARGEST bytes; "want" becomes what f.dat must
# be, with etypes of so many bytes.
random_rounds() {
    limit=600 python "$@" <<'END'
import random
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
    return sum(json.load(open(f"{mount}/.mpiio/stats.json"))[key] for mount in mounts)
in_processes(work, range(ranks))
await_true(lambda: total("ordered_shares") == rounds * ranks)
with open("want", "wb") as want:
    for round in range(rounds):
        for rank in range(ranks):
            data = share(rank, round)
            want.write(data + bytes(-len(data) % etype))
assert total("ordered_waiting_bytes") == 0 and total("ordered_waits") > 0
await_true(lambda: all(os.getxattr(f"{mount}/ordered", "user.mpiio.turn") == b"0" for mount in mounts))
END
}
