#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What nodes see while a flush is under way on others.

load helper
load nodes

@test "flush: who opens during a flush and again after the close sees what a home stored late" {
    spec 1048576 1
    head -c 8M /dev/zero >f.dat
    sleep 0.1 # so that the file's times count as settled
    # The times tell nothing; the home of the written blocks, node 1, waits in the middle of its store.
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libstale.so" "STALE_FILE=$tmp/f.dat"
    mkdir freeze
    FREEZE=$tmp/freeze LD_PRELOAD=$MPIIO_BUILD/tests/engine/libfreeze.so start_nodes 3 -o flush_interval=0
    echo hold >"freeze/$(hostname)"
    python "freeze/$(hostname)" <<'END'
half = 4 << 20
def write(number):
    with open("m0/rank0", "r+b") as out:
        out.seek(half)
        out.write(b"n" * half)
def read():
    with open("m2/rank0", "rb") as file:
        return os.pread(file.fileno(), half, half)
writer = multiprocessing.Process(target=write, args=(0,))
writer.start()
await_true(lambda: os.path.exists(sys.argv[1] + ".frozen"))
# Node 2 has nothing to store: its part of the flush is soon over.
await_true(lambda: json.load(open("m2/.mpiio/stats.json"))["cluster"]["epochs"] == 1)
assert read() == bytes(half)
open(sys.argv[1] + ".go", "w").close()
writer.join()
assert writer.exitcode == 0
assert read() == b"n" * half
END
    stop_nodes
}
