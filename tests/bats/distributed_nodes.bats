#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Several hosts have one mount over a distributed filesystem. Each has its own client and page
# cache. MPIIO_PROGRAMS sets the number of random programs, MPIIO_CALLS the calls of each,
# MPIIO_SEED the first seed.

load helper
load cluster
load distributed
load ordered

# mount_distributed HOSTS BLOCK [OPTION]...: deals x.dat to one rank more than there are hosts, and
# mounts it on the hosts at at/0, at/1, ...
mount_distributed() {
    dealt "$tmp/dfs/x.dat" $(($1 + 1)) "$2" >x.json
    mount_hosts x.json "${@:3}"
}

# Unmounts, and waits for the daemons and engines. The clients of the filesystem remain.
umount_distributed() {
    mpiio-umount at/0
    await none_serve
}

@test "distributed nodes: opening a slice shows what another host or a foreign client has closed" {
    local options
    make_distributed 3
    make_hosts 2
    for options in auto,pool=off auto,pool=16M posix,pool=16M; do
        head -c 98304 /dev/zero >dfs2/x.dat
        mount_distributed 2 512 -o "store=$options"
        python opening_a_slice_shows_what_another "$options"
        umount_distributed
    done
}

# The foreign client writes half of its records after the hosts have cached their pages.
@test "distributed nodes: two hosts and a foreign client write side by side, and no record is lost" {
    local store run foreign rank writers
    make_distributed 3
    make_hosts 2
    for store in auto posix; do
        for run in 8 1024; do
            head -c $((run * 3 * 512)) /dev/zero >dfs2/x.dat
            mount_distributed 2 "$run" -o "store=$store"
            cat at/[01]/rank[012] >/dev/null
            python foreign "$run" 0
            python foreign "$run" 1 3>&- &
            foreign=$!
            writers=()
            for rank in 0 1; do
                head -c $((run * 512)) /dev/zero | tr '\0' "\\$((rank + 1))" >"part$rank"
                dd if="part$rank" of="at/$rank/rank$rank" bs=$((run * 64)) conv=notrunc,fsync status=none 3>&- &
                writers+=($!)
            done
            wait "${writers[0]}"
            wait "${writers[1]}"
            wait "$foreign"
            umount_distributed
            /usr/bin/python3 "$call" two_hosts_and_a_foreign_client "$store" "$run"
        done
    done
}

# everybody ETYPE [OPTION]...: mounts x.dat on three hosts. Each of three ranks sees all of it.
everybody() {
    echo "{ \"viewspec\": 1, \"file\": \"$tmp/dfs/x.dat\", \"ranks\": 3, \"view\": { \"etype\": $1 } }" >x.json
    mount_hosts x.json "${@:2}"
}

@test "distributed nodes: shared takes and appends each record once, ordered keeps the order of ranks" {
    local host writers=()
    make_distributed 3
    make_hosts 3
    seq -f %07.0f 0 899 >dfs0/x.dat
    cp dfs0/x.dat all
    everybody '{ "type": "contiguous", "count": 8, "oldtype": "byte" }'
    for host in 0 1 2 0 1 2; do
        /usr/bin/python3 "$top/tests/history/take.py" "at/$host/shared" 8 >"got${#writers[@]}" 3>&- &
        writers+=($!)
    done
    wait "${writers[@]}"
    umount_distributed
    sort got? | cmp - all

    : >dfs0/x.dat
    everybody '"byte"'
    writers=()
    for host in 0 1 2 0 1 2; do
        /usr/bin/python3 "$top/tests/history/put.py" "at/$host/shared" "${#writers[@]}" 60 3>&- &
        writers+=($!)
    done
    wait "${writers[@]}"
    umount_distributed
    /usr/bin/python3 "$top/tests/history/put.py" --check brick/x.dat 6 60

    : >dfs0/x.dat
    everybody '"short"' -o dirty_max=1M
    random_rounds 60 3 2 1500000 at/0 at/1 at/2
    umount_distributed
    cmp brick/x.dat want
}

@test "distributed nodes: without file locks there is no shared, the log says why, and another directory works" {
    # shellcheck disable=SC2034 # read by make_distributed
    local without_locks=1
    make_distributed 2
    make_hosts 2
    seq -f %07.0f 0 2 >dfs0/x.dat
    everybody '"byte"' -o "log=$tmp/log"
    [ ! -e at/1/shared ]
    [ ! -e at/1/ordered ]
    logged log 'no shared and ordered here: .x.dat.mpiio-pointers: the filesystem has no file locks'
    logged log 'no shared and ordered here: .x.dat.mpiio-pointers: node 0 has not created it'
    cmp at/1/rank0 brick/x.dat
    umount_distributed
    everybody '"byte"' -o "log=$tmp/log,pointers=$tmp"
    [ "$(head -c 8 at/1/shared)" = 0000000 ]
    [ "$(head -c 8 at/0/shared)" = 0000001 ]
    [ -e .x.dat.mpiio-pointers ]
    umount_distributed
    [ ! -e .x.dat.mpiio-pointers ]
}

@test "distributed nodes: random programs on three hosts and a foreign client agree with the model" {
    local seed=${MPIIO_SEED:-$RANDOM} i programs=$top/tests/cluster/programs.py
    make_distributed 4
    make_hosts 3
    make_file dfs0/x.dat 5000000
    "$programs" --spec "$tmp/dfs/x.dat" >x.json
    mount_hosts x.json
    for ((i = 0; i < ${MPIIO_PROGRAMS:-2}; i++)); do
        timeout -s KILL 600 "$programs" --foreign dfs3/x.dat brick/x.dat $((seed + i)) \
            "${MPIIO_CALLS:-300}" at/*
    done
    umount_distributed
}
