#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # what other shells expand
# Mounts in jobs of a separate Slurm, with the unchanged examples of scripts/examples. However a job
# ends, written data is stored, and nothing stays mounted.

load helper
load slurm

setup_file() {
    start_slurm
    start_limited
}

teardown_file() {
    stop_slurm
}

# Starts jobs that will reach their time limit. Slurm checks limits twice a minute, so the last test
# looks at them.
start_limited() {
    limited example "$top/scripts/examples/slurm-batch" s.json ./writer
    limited option script
}

# limited FOLDER SCRIPT...: starts such a job in a new folder.
limited() {
    mkdir "$slurm/$1"
    cd "$slurm/$1" || return
    scatter_spec
    held_writer
    script_with_mount
    submit "${@:2}"
    echo "$job" >job
    logged out written
    # The controller refuses the update if that second has passed when it reads it.
    await scontrol update JobId="$job" EndTime=now+1
}

# held_writer: makes writer, a program that writes "held RANK" to its slice, and keeps the slice
# open until it gets SIGTERM.
held_writer() {
    executable writer <<'END'
trap 'exit 0' TERM
exec 7<>"$1"
printf 'held %s' "$SLURM_PROCID" >&7
echo written
sleep 1000 &
wait
END
}

# script_with_mount: makes script, which runs ./writer for each slice of its mount.
script_with_mount() {
    cat >script <<END
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --mpiio=s.json:$slurm/jobs/%j
srun ./writer "\$SLURM_MPIIO_MOUNT/self"
END
}

# held RANK: checks that the rank's bytes are in the file.
held() {
    [ "$(dd if=s.dat bs=512 skip="$1" count=1 status=none | head -c 6)" = "held $1" ]
}

@test "slurm: the batch example on two nodes: a slice a task, and steps beside the mount" {
    scatter_spec
    executable program <<'END'
# The mount has its own step, which must leave room for this one.
printf 'node %s' "$SLURM_NODEID" >"$2"
readlink "$2" >>"$1.$SLURM_PROCID"
END
    submit --nodes=2 --ntasks-per-node=2 "$top/scripts/examples/slurm-batch" s.json "$PWD/program" "$PWD/of"
    over
    empty out
    [ "$(cat of.*)" = "$(printf 'rank%s\n' 0 1 2 3)" ]
    [ "$(for i in 0 1 2 3; do dd if=s.dat bs=512 skip="$i" count=1 status=none | head -c 6; done)" = \
        "node 0node 0node 1node 1" ]
    [ "$(wc -l <"$slurm/epilog-$job")" -eq 2 ]
    clean
    run ! grep "job $job" "$slurm/log"
}

@test "slurm: a user's job on one node; the job ends with the status of its program" {
    mkdir u
    chmod 777 u
    cd u
    scatter_spec
    chmod 666 s.dat
    printf '#!/bin/bash\necho mine >"$1"; exit 7\n' >program
    chmod 755 program
    as_user true
    job=$(as_user sbatch --parsable --output=out "$top/scripts/examples/slurm-batch" s.json "$PWD/program")
    over FAILED
    [[ $(scontrol show job "$job") == *"UserId=nobody"*"ExitCode=7:0"* ]]
    [ "$(dd if=s.dat bs=512 skip=0 count=1 status=none | head -c 4)" = mine ]
    clean
}

@test "slurm: the recipe of mpiio-cookbook(7)" {
    ln -s "$top/tests" "$top/scripts" .
    PATH=/usr/bin:$PATH gives "recipes: 1" /usr/bin/python3 tests/readme/run.py "$top/man/mpiio-cookbook.7.scd" slurm
    job=$(squeue -h --states=all -n slurm-batch -o %i | sort -n | tail -n 1)
    over
    clean
}

# cancelled [COMMAND]: cancels a job whose ranks have written, after the command. All that they have
# written must be stored.
cancelled() {
    scatter_spec
    held_writer
    submit --nodes=2 --ntasks-per-node=2 "$top/scripts/examples/slurm-batch" s.json "$PWD/writer"
    await written 4
    "$@"
    scancel "$job"
    over CANCELLED
    for i in 0 1 2 3; do held "$i"; done
    clean
    run ! grep "job $job" "$slurm/log"
}

@test "slurm: scancel: what was written on either node is stored and unmounted" {
    cancelled
}

# written COUNT: succeeds once that many ranks have reported their write.
written() {
    [ "$(grep -csx written out)" = "$1" ]
}

@test "slurm: an engine that is killed does not take its daemon with it" {
    cancelled kill_engine
}

@test "slurm: mpiio-umount --hosts reaches the nodes by srun when they have lost each other" {
    scatter_spec
    submit --nodes=2 <<'END'
#!/bin/bash
set -e
m=$MPIIO_JOBS/$SLURM_JOB_ID
mpiio-mount s.json "$m"
srun --ntasks-per-node=1 --nodes=2 bash -c 'printf "held %s" "$SLURM_PROCID" >"$1/rank$SLURM_PROCID"' - "$m"
echo written
until [ -e lost ]; do sleep 0.1; done
mpiio-umount --hosts="$SLURM_JOB_NODELIST" "$m"
srun --ntasks-per-node=1 --nodes=2 bash -c '! mountpoint -q "$1"' - "$m"
echo unmounted
END
    await written 1
    kill_engine
    : >lost
    over || { cat out && return 1; }
    grep -x unmounted out
    held 0
    held 1
    clean
}

# Prints the engine of the MPI program: its parent, which waits for it, has the same name.
engine_of_node() {
    local engines process parent
    mapfile -t engines < <(marked mpiio-engine-mpich)
    for process in "${engines[@]}"; do
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$process/status")
        if [[ " ${engines[*]} " == *" $parent "* ]] && grep -qzx "PMI_RANK=$1" "/proc/$process/environ"; then
            echo "$process"
        fi
    done
}

# Kills the engine of node 1, and waits until all nodes have lost each other.
kill_engine() {
    kill -KILL "$(engine_of_node 1)"
    within=300 await all_degraded
}

all_degraded() {
    local node
    for node in "$first" "$second"; do
        [ "$(on "$node" getfattr --absolute-names --only-values -n user.mpiio.state "$slurm/jobs/$job")" = degraded ]
    done
}

@test "slurm: scancel: a batch script's own mount stays until the script has unmounted it" {
    scatter_spec
    submit <<'END'
#!/bin/bash
trap 'sleep 1; echo late >m/rank2; mpiio-umount m; exit' TERM
mkdir m
mpiio-mount -o cache=back,flush_interval=0 s.json m
exec 7<>m/rank1
printf 'held 1' >&7
echo written
sleep 1000 &
exec 7>&-
wait
END
    await written 1
    scancel "$job"
    over CANCELLED
    held 1
    [ "$(dd if=s.dat bs=512 skip=2 count=1 status=none | head -c 4)" = late ]
    clean
}

@test "slurm: a batch script that does not unmount: closed data is stored, the epilog cleans up" {
    local nodes
    scatter_spec
    for nodes in 1 2; do
        submit --nodes="$nodes" --wrap='mkdir p; mpiio-mount s.json p
            printf "held %d" $SLURM_JOB_NUM_NODES >p/rank$SLURM_JOB_NUM_NODES'
        over
        cat out
        held "$nodes"
        clean
        # With several nodes, each may have got SIGTERM before it was killed.
        [ "$nodes" -eq 2 ] ||
            grep "job $job: mpiio-umount: $tmp/p: its daemon had ended: what it had not stored is lost" "$slurm/log"
        rmdir p
    done
}

@test "slurm: a program that does not end within KillWait" {
    scatter_spec
    submit <<'END'
#!/bin/bash
trap '' TERM
mnt=$MPIIO_JOBS/$SLURM_JOB_ID
mpiio-mount s.json "$mnt"
exec 7<>"$mnt/rank3"
printf 'held 3' >&7
echo written
sleep 1000
END
    await written 1
    scancel "$job"
    over CANCELLED
    held 3
    clean
    grep "job $job: mpiio-umount: $slurm/jobs/$job: its daemon had ended" "$slurm/log"
}

@test "slurm: a daemon in a step gives a warning and is killed with it; one in a step of its own stores" {
    scatter_spec
    mkdir m
    submit <<'END'
#!/bin/bash
srun bash -c 'mpiio-mount s.json m 2>told && printf "held 0" >m/rank0'
for ((i = 0; i < 600; i++)); do
    ls m >/dev/null 2>&1 || break
    sleep 0.1
done
ls m
mpiio-umount m
srun --overlap mpiio-mount --foreground -o cache=back,flush_interval=0 s.json m &
until mountpoint -q m; do sleep 0.1; done
exec 7<>m/rank1
printf 'held 1' >&7
echo written
wait
END
    await written 1
    cat out
    [[ $(<out) == "ls: cannot access 'm': Transport endpoint is not connected"* ]]
    [ "$(<told)" = "mpiio-mount: warning: Slurm kills the daemon at the end of step $job.0: mount in the batch script, or keep a step for the daemon (--foreground)" ]
    held 0
    scancel "$job"
    over CANCELLED
    held 1
    clean
}

# The option --mpiio of the plugin (mpiio-slurm(7)).

@test "slurm: --mpiio in a batch script: a mount on all nodes, which its steps use" {
    scatter_spec
    submit <<END
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --mpiio=s.json:$slurm/jobs/%j
srun -Q bash -c 'printf "node %s" "\$SLURM_NODEID" >"\$SLURM_MPIIO_MOUNT/self"; readlink "\$SLURM_MPIIO_MOUNT/self"' >of
trap 'echo got USR1 >>of' USR1
scancel --batch --signal=USR1 \$SLURM_JOB_ID
sleep 2
exit 7
END
    over FAILED
    empty out
    [ "$(sort of)" = "$(printf '%s\n' 'got USR1' rank0 rank1 rank2 rank3)" ]
    [ "$(for i in 0 1 2 3; do dd if=s.dat bs=512 skip="$i" count=1 status=none | head -c 6; done)" = \
        "node 0node 0node 1node 1" ]
    [[ $(scontrol show job "$job") == *"ExitCode=7:0"* ]]
    clean
    run ! grep "job $job" "$slurm/log"
}

@test "slurm: srun --mpiio from another host: mounted for the step, and unmounted after it" {
    local nodes
    scatter_spec
    for nodes in 1 2; do
        run -5 srun --nodes="$nodes" --ntasks=2 --mpiio="s.json:$slurm/jobs/%j:cache=back,flush_interval=0" \
            bash -c 'printf "of %s " "$1" >"$SLURM_MPIIO_MOUNT/self"; exit 5' - "$nodes"
        echo "$output"
        for i in 0 1; do [ "$(dd if=s.dat bs=512 skip="$i" count=1 status=none | head -c 4)" = "of $nodes" ]; done
        job=$(squeue -h --states=all -o %i | sort -n | tail -n 1)
        over FAILED
        clean
        run ! grep "job $job" "$slurm/log"
    done
}

@test "slurm: srun --mpiio in a batch script: a mount for each step" {
    scatter_spec
    submit --nodes=2 --ntasks-per-node=2 <<END
#!/bin/bash
set -e
for nodes in 1 2; do
    srun -Q --nodes=\$nodes --ntasks=\$((2 * nodes)) --mpiio=s.json:$slurm/jobs/%j \\
        bash -c 'printf "of %s " "\$1" >"\$SLURM_MPIIO_MOUNT/self"' - "\$nodes"
    srun -Q --nodes=2 --ntasks=2 --ntasks-per-node=1 bash -c '! mountpoint -q "\$1"' - $slurm/jobs/\$SLURM_JOB_ID
    tail -c +513 s.dat | head -c 4
done
END
    over || { cat out && return 1; }
    cat out
    [ "$(<out)" = "of 1of 2" ]
    [ "$(dd if=s.dat bs=512 skip=3 count=1 status=none | head -c 4)" = "of 2" ]
    clean
    run ! grep "job $job" "$slurm/log"
}

@test "slurm: --mpiio and scancel, and a node that fails: what was written is stored" {
    local end
    scatter_spec
    held_writer
    script_with_mount
    for end in CANCELLED NODE_FAIL; do
        rm -f out
        submit --no-requeue script
        await written 4
        if [ $end = CANCELLED ]; then
            scancel "$job"
        else
            scontrol update NodeName="$second" State=DOWN Reason=test
        fi
        over $end
        cat out
        for i in 0 1 2 3; do held "$i"; done
        scontrol update NodeName="$second" State=RESUME || true # slurmd has done it
        await nodes_are_idle
        clean
        scatter_spec
    done
}

@test "slurm: a job with --mpiio whose data is lost has failed" {
    scatter_spec
    submit <<END
#!/bin/bash
#SBATCH --mpiio=s.json:$slurm/jobs/%j:cache=back,flush_interval=0
exec 7<>"\$SLURM_MPIIO_MOUNT/rank1"
printf 'lost' >&7
kill -KILL \$(jq .pid "\$SLURM_MPIIO_MOUNT/.mpiio/stats.json")
END
    over FAILED
    cat out
    [ "$(<out)" = "mpiio: $slurm/jobs/$job: the daemon was killed: data that it had not stored is lost" ]
    [[ $(scontrol show job "$job") == *"ExitCode=1:0"* ]]
    clean
}

@test "slurm: mistakes in --mpiio: one line" {
    scatter_spec
    run ! --separate-stderr srun --mpiio=s.json:m true
    [ "${stderr_lines[0]}" = "srun: error: --mpiio=s.json:m: expected SPEC:/MOUNTPOINT[:OPTIONS]" ]
    printf '#!/bin/bash\n#SBATCH --mpiio=:/m\n' >script
    run ! --separate-stderr sbatch script
    [ "${stderr_lines[0]}" = "sbatch: error: --mpiio=:/m: expected SPEC:/MOUNTPOINT[:OPTIONS]" ]
    printf '#!/bin/bash\n#SBATCH --mpiio=none.json:%s/jobs/%%j\necho ran\n' "$slurm" >script
    submit script
    over FAILED
    cat out
    [ "$(<out)" = "mpiio-mount: none.json: No such file or directory" ]
    clean
    run ! srun -Q --mpiio="s.json:$tmp/nowhere" echo ran
    echo "$output"
    [[ ${lines[0]} == "mpiio-mount: "*": $tmp/nowhere: No such file or directory (create the folder first)" ]]
    [[ ${lines[1]} == "srun: error: "*": task 0: Exited with exit code 1" ]]
    [ "${#lines[@]}" -eq 2 ]
}

# Slurm's pmix cannot serve two nodes on one machine.
@test "slurm: srun starts the engine for Open MPI, and mpiio-umount --hosts enters the node by it" {
    scatter_spec
    submit --nodes=1 <<'END'
#!/bin/bash
set -e
m=$MPIIO_JOBS/$SLURM_JOB_ID
export MPIIO_ENGINE=$MPIIO_SBIN/mpiio-engine-openmpi
mpiio-mount --hosts="$SLURM_JOB_NODELIST" s.json "$m"
printf "held 1" >"$m/rank1"
until [ -e seen ]; do sleep 0.1; done
mpiio-umount --hosts="$SLURM_JOB_NODELIST" "$m"
echo unmounted
END
    await held 1
    tr '\0' ' ' <"/proc/$(marked srun | head -n 1)/cmdline" | grep -e '--mpi=pmix .*/mpiio-engine-openmpi --report --stay'
    : >seen
    over || { cat out && return 1; }
    grep -x unmounted out
    clean
}

@test "slurm: capture of programs that srun starts, with either MPI" {
    local folder options suffix
    export OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1
    while read -r folder options suffix; do
        mkdir "$folder"
        # shellcheck disable=SC2086 # several words
        run -3 --separate-stderr env -C "$folder" mpiio-view capture srun -Q -n 4 ${options//,/ } \
            "$MPIIO_BUILD/tests/capture/kinds$suffix" darray data </dev/null 3>&-
        [[ $stderr == *"mpiio-view: wrote $PWD/$folder/data.view.json: 4 ranks, 1 view" ]]
    done <<'END'
mpich --mpi=pmi2,--nodes=2
openmpi --mpi=pmix,--nodes=1 -openmpi
END
    diff mpich/data.view.json openmpi/data.view.json
}

@test "slurm: a job that reaches its time limit" {
    local folder
    for folder in example option; do
        cd "$slurm/$folder"
        job=$(<job)
        over TIMEOUT
        cat out
        held 0
        tmp=$slurm/$folder clean
    done
}
