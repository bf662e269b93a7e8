#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mounts over a distributed filesystem, whose clients have page caches of their own.

load helper
load distributed

# two_mounts RUN OPTION [MORE]: x.dat, dealt to two ranks in runs of so many bytes, mounted over both
# clients at m0 and m1; MORE: keys of the spec.
two_mounts() {
    local i
    for i in 0 1; do
        dealt "$tmp/dfs$i/x.dat" 2 "$1" "${3:-}" >"s$i.json"
        mkdir -p "m$i"
        mpiio-mount -o "$2" "s$i.json" "m$i"
    done
}

# none_lost RUN SIZE: rank r has written r + 1 to all of its bytes.
none_lost() {
    python "$@" <<'END'
import sys
import numpy
run, size = map(int, sys.argv[1:])
data = numpy.fromfile("brick/x.dat", numpy.uint8).reshape(-1, 2, run)
lost = [int((data[:, rank] != rank + 1).any(axis=1).sum()) for rank in range(2)]
print(f"runs of {run}: of {data.shape[0]} records of each rank, lost are {lost}")
assert data.size == size and lost == [0, 0]
END
}

# write_both SIZE: both ranks at once write their halves of the file, of which both clients have pages.
write_both() {
    local rank writers=()
    cat m[01]/rank[01] >/dev/null
    for rank in 0 1; do
        head -c $(($1 / 2)) /dev/zero | tr '\0' "\\$((rank + 1))" >"part$rank"
        dd if="part$rank" of="m$rank/rank$rank" bs=64k conv=notrunc,fsync status=none 3>&- &
        writers+=($!)
    done
    for rank in 0 1; do
        wait "${writers[rank]}"
    done
}

@test "distributed: two mounts write interleaved slices, and no record is lost" {
    local run size option
    make_distributed 2
    for option in rw cache=back unique; do
        for run in 8 1024 2048 16384; do
            size=$((run * (run < 1024 ? 2048 : 64)))
            head -c $size /dev/zero >dfs0/x.dat
            two_mounts "$run" "$option"
            write_both $size
            mpiio-umount m0
            mpiio-umount m1
            none_lost "$run" $size
        done
    done
}

@test "distributed: members are written by two mounts, and no record is lost" {
    local i
    make_distributed 2
    mkdir dfs0/f
    for i in 0 1 2; do
        head -c 16384 /dev/zero >"dfs0/f/T.$i"
    done
    for i in 0 1; do
        cat >"s$i.json" <<END
{ "viewspec": 1, "members": { "count": 3, "file": "$tmp/dfs$i/f/T.{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 16384 } } },
  "ranks": 2, "view": { "filetype": { "type": "scatter", "blocklength": 64 } } }
END
        mkdir -p "m$i"
        mpiio-mount "s$i.json" "m$i"
    done
    write_both 49152
    mpiio-umount m0
    mpiio-umount m1
    cat brick/f/T.* >brick/x.dat
    none_lost 64 49152
}

# What is closed is read by whoever opens it later, on the other client, too; one that goes on
# reading a descriptor that it has had open need not see it.
@test "distributed: what was closed on one client, or by another program, is read where it is opened" {
    local option
    make_distributed 2
    for option in rw direct cache=back ro; do
        head -c 65536 /dev/zero >dfs0/x.dat
        two_mounts 512 rw
        if [ $option != rw ]; then
            mpiio-umount m1
            mpiio-mount -o "$option" s1.json m1
        fi
        python $option <<'END'
import sys
stale = {"slice": 0, "file": 0}
def read(path):
    with open(path, "rb") as file:
        return file.read()
for round in range(1, 21):
    value = bytes([round])
    read("m1/rank0")
    with open("m0/rank0", "r+b", buffering=0) as file:
        file.write(value * 32768)
    stale["slice"] += read("m1/rank0")[:32768] != value * 32768
    # Another program, beside the mounts.
    with open("dfs0/x.dat", "r+b", buffering=0) as file:
        for run in range(64):
            os.pwrite(file.fileno(), value * 512, run * 1024 + 512)
    stale["file"] += read("m1/rank1")[:32768] != value * 32768
    with open("dfs0/x.dat", "ab") as file:
        file.write(b"x" * 1024)
    stale["file"] += os.stat("m1/rank1").st_size != 32768 + 512 * round
print(sys.argv[1], stale)
assert not any(stale.values())
END
        mpiio-umount m0
        mpiio-umount m1
    done
}
