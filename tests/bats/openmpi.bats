#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-engine with Open MPI, which the build makes in addition to the installed one.

load helper
load cluster

setup() {
    begin_test
    engine=$MPIIO_BUILD/tests/engine/engine-openmpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # Open MPI leaves files there when it is killed.
    export TMPDIR=$tmp
}

# write_all: each host writes 1 MiB to its slice, with new bytes each time. One of them syncs.
write_all() {
    /usr/bin/python3 "$topic" write_all "$1"
}

is_degraded() {
    [ "$(attribute "at/$1" state)" = degraded ]
}

@test "openmpi: three hosts write together, over TCP alone; an engine dies, and the daemons continue" {
    local node
    make_hosts 3
    dealt x.dat 3 512 >x.json
    : >x.dat
    export MPIIO_ENGINE=$engine
    export MPIIO_MPIEXEC="mpiexec.openmpi --mca plm_rsh_agent $tmp/launcher --mca pml ob1 --mca btl tcp,self"
    mount_hosts x.json -o "flush_interval=0,log=$tmp/log"
    write_all 1
    # 3 MiB have a single home.
    [ "$(cat at/*/.mpiio/stats.json | jq -s 'map(.cluster.store_calls) | add')" -eq 1 ]
    [ "$(cat at/*/.mpiio/stats.json | jq -s 'map(.cluster.sent_bytes) | add')" -ge $((2 << 20)) ]
    mpiio-umount at/2
    nothing_left
    mount_hosts x.json -o "flush_interval=0,log=$tmp/log"
    printf kept >at/2/rank2
    exec 8<>at/0/rank0
    printf held >&8
    as_root kill -KILL "$(of_host node1 engine-openmpi)"
    for node in 0 1 2; do
        await is_degraded $node
    done
    exec 8>&-
    [ "$(head -c 4 x.dat)" = held ]
    [ "$(tail -c +1025 x.dat | head -c 4)" = kept ]
    at switch mpiio-umount --hosts="$hosts" "$tmp/at/%n"
    nothing_left
}

@test "openmpi: random blocks of three nodes are in the file byte for byte, by ROMIO with its hints" {
    local store
    for store in auto mpiio; do
        make_file field.dat 5000001
        cp field.dat field.dat.before
        rm -f report*
        run -0 timeout -s KILL 300 mpiexec.openmpi --oversubscribe --bind-to none -n 3 "$engine" --report \
            --daemon="$MPIIO_BUILD/tests/engine/fake_daemon" -- --file="$tmp/field.dat" --mode=random \
            --blocks=30 --epochs=2 --seed=3 --store=$store "$tmp/report%n" </dev/null 3>&-
        [ "$(sort <<<"$output" | paste -sd ,)" = \
            "met 0,met 1,met 2,mounted 0,mounted 1,mounted 2,ready,started 0,started 1,started 2" ]
        jq -e -s 'last.ended == "done" and all(.[]; has("wrong") | not)' report0
    done
}

@test "openmpi: an engine of another MPI than mpiexec's is reported, and nothing is mounted" {
    scatter_spec
    [[ $("$engine" --version) == *" (Open MPI)" ]]
    MPIIO_ENGINE=$engine MPIIO_MPIEXEC=$(mpich_mpiexec) run -1 --separate-stderr mpiio-mount \
        --hosts=localhost,localhost s.json "$tmp/m%n"
    [ "$stderr" = "mpiio-mount: the launcher started 2 engines that do not know of each other: it is not that of Open MPI (choose another with MPIIO_MPIEXEC)" ]
    run -1 --separate-stderr timeout -s KILL 300 mpiexec.openmpi --oversubscribe -n 2 \
        "$MPIIO_SBIN/mpiio-engine" -- s.json "$tmp/m%n" </dev/null 3>&-
    [[ $stderr == *"mpiio-engine: the launcher started 2 engines that do not know of each other: it is not that of MPICH"* ]]
    nothing_left
}
