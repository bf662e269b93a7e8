#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The engine for Open MPI, and the choice between the engines that are installed.

load helper
load cluster

setup() {
    begin_test
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # Open MPI leaves files there when it is killed.
    export TMPDIR=$tmp
}

@test "openmpi: three hosts write together, over TCP alone; an engine dies, and the daemons continue" {
    local node
    make_hosts 3
    dealt x.dat 3 512 >x.json
    : >x.dat
    export MPIIO_MPIEXEC="mpiexec.openmpi --mca plm_rsh_agent $tmp/launcher --mca pml ob1 --mca btl tcp,self"
    mount_hosts x.json -o "flush_interval=0,log=$tmp/log"
    topic=$top/tests/programs/cluster.py python write_together 512 $((1 << 20)) 1
    # 3 MiB have a single home.
    [ "$(cat at/*/.mpiio/stats.json | jq -s 'map(.cluster.store_calls) | add')" -eq 1 ]
    [ "$(cat at/*/.mpiio/stats.json | jq -s 'map(.cluster.sent_bytes) | add')" -ge $((2 << 20)) ]
    umount_hosts 2
    mount_hosts x.json -o "flush_interval=0,log=$tmp/log"
    printf kept >at/2/rank2
    exec 8<>at/0/rank0
    printf held >&8
    as_root kill -KILL "$(of_host node1 mpiio-engine-openmpi)"
    for node in 0 1 2; do
        await is_degraded at/$node
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
        run -0 timeout -s KILL 300 mpiexec.openmpi --oversubscribe --bind-to none -n 3 mpiio-engine-openmpi --report \
            --daemon="$MPIIO_BUILD/tests/engine/fake_daemon" -- --file="$tmp/field.dat" --mode=random \
            --blocks=30 --epochs=2 --seed=3 --store=$store "$tmp/report%n" </dev/null 3>&-
        [ "$(sort <<<"$output" | paste -sd ,)" = \
            "met 0,met 1,met 2,mounted 0,mounted 1,mounted 2,ready,started 0,started 1,started 2" ]
        jq -e -s 'last.ended == "done" and all(.[]; has("wrong") | not)' report0
    done
}

@test "openmpi: an engine of another MPI than mpiexec's is reported, and nothing is mounted" {
    scatter_spec
    MPIIO_ENGINE=$MPIIO_SBIN/mpiio-engine-openmpi MPIIO_MPIEXEC=$(mpich_mpiexec) run -1 --separate-stderr mpiio-mount \
        --hosts=localhost,localhost s.json "$tmp/m%n"
    [ "$stderr" = "mpiio-mount: the launcher started 2 engines that do not know of each other: it is not that of Open MPI (choose another with MPIIO_MPIEXEC)" ]
    run -1 --separate-stderr timeout -s KILL 300 mpiexec.openmpi --oversubscribe -n 2 \
        "$MPIIO_SBIN/mpiio-engine-mpich" -- s.json "$tmp/m%n" </dev/null 3>&-
    [[ $stderr == *"mpiio-engine: the launcher started 2 engines that do not know of each other: it is not that of MPICH"* ]]
    nothing_left
}

# Makes bin, a PATH without launchers, and prefix, a copy of mpiio-mount without engines.
make_prefix() {
    mkdir -p bin prefix/bin prefix/sbin
    ln -s /usr/bin/* bin
    rm -f bin/{mpiexec,mpirun}* bin/{orte,prte,ompi-}* bin/srun
    cp "$MPIIO_BIN/mpiio-mount" prefix/bin
    ln -s "$MPIIO_SBIN/mpiio-fused" prefix/sbin
}

# stand_in NAME [VERSION]: makes a program that prints its version, or its name and arguments.
stand_in() {
    executable "bin/$1" <<END
[ "\$1" != --version ] || exec echo "${2:-}"
[ "\$*" != --mpi=list ] || exec echo "MPI plugin types are... \$plugins"
echo "$1 \$*" >&2
exit 1
END
}

# takes COMMAND MPI: mpiio-mount must start that MPI's engine by a launcher, given its first words.
takes() {
    PATH=$tmp/bin one_line 1 "mpiio-mount: $1 */mpiio-engine-$2 --report *" prefix/bin/mpiio-mount --hosts=n1 s.json mnt
}

# refuses MESSAGE
refuses() {
    PATH=$tmp/bin complains 1 "mpiio-mount: $1" prefix/bin/mpiio-mount --hosts=n1 s.json mnt
}

@test "openmpi: the launcher that is found decides which engine starts, unless a variable does" {
    local hydra="HYDRA build details:" orte="mpiexec (OpenRTE) 4.1.4" name
    scatter_spec
    make_prefix
    unset MPIIO_MPIEXEC SLURM_JOB_ID SLURM_STEP_ID
    refuses "no engine is installed (several nodes need mpiio-engine-mpich or mpiio-engine-openmpi)"
    ln -s "$MPIIO_SBIN"/mpiio-engine-* prefix/sbin
    refuses "mpiexec: program not found"
    # "mpiexec" may be that of either. If it does not report which, it gets MPICH's engine.
    stand_in mpiexec "$orte"
    takes mpiexec openmpi
    stand_in mpiexec "$hydra"
    takes mpiexec mpich
    stand_in mpiexec "another MPI"
    takes mpiexec mpich
    # Other names come first: those of Open MPI, and before these MPICH's.
    for name in prterun orterun mpiexec.openmpi; do
        stand_in "$name"
        takes "$name" openmpi
    done
    stand_in mpiexec.hydra
    takes mpiexec.hydra mpich
    MPIIO_MPIEXEC=orterun takes orterun openmpi
    export MPIIO_ENGINE=$MPIIO_SBIN/mpiio-engine-openmpi
    takes mpiexec.openmpi openmpi
    MPIIO_MPIEXEC=mpiexec.hydra takes mpiexec.hydra openmpi
    unset MPIIO_ENGINE
    # srun starts the engine that Slurm supports. MPICH's comes first.
    stand_in srun
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST=n1
    plugins="none pmi2 pmix" takes "srun --mpi=pmi2" mpich
    plugins="none pmix" takes "srun --mpi=pmix" openmpi
    plugins="none" takes mpiexec.hydra mpich
    MPIIO_MPIEXEC=mpiexec.openmpi takes mpiexec.openmpi openmpi
    unset SLURM_JOB_ID SLURM_JOB_NODELIST
    # With one engine, a launcher of the other MPI is of no use.
    rm prefix/sbin/mpiio-engine-mpich
    takes mpiexec.openmpi openmpi
    rm bin/{mpiexec.openmpi,orterun,prterun}
    refuses_mpich() {
        refuses "$1: mpiio-engine-mpich, the engine for its MPI, is not installed (choose another launcher with MPIIO_MPIEXEC)"
    }
    takes mpiexec openmpi
    stand_in mpiexec "$hydra"
    refuses_mpich mpiexec
    MPIIO_MPIEXEC=mpiexec.hydra refuses_mpich mpiexec.hydra
}
