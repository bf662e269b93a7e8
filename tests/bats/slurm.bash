# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2016,SC2154 # what other shells expand; the variables are helper.bash's
# A separate Slurm for a topic, on this machine: a controller and two nodes. Each node has a mount
# namespace. Ports are free ones, and munge has its own key and socket. Everything is in the
# directory $slurm, which also marks its processes. Nothing has a name outside. Needs root.

# start_slurm: call it in setup_file.
start_slurm() {
    local _
    begin_test
    export slurm=$tmp first="a${tmp##*.}" second="b${tmp##*.}" SLURM_CONF=$tmp/slurm.conf
    mkdir -p "$slurm/cgroup/freezer" "$slurm/jobs"
    mount -t cgroup -o freezer mpiio-test "$slurm/cgroup/freezer"
    start_munge
    write_programs
    # Another process may take a port before it is bound.
    for _ in 1 2 3; do
        write_conf
        start_daemons
        if within=20 await nodes_are_idle; then
            return
        fi
        stop_daemons
    done
    cat "$slurm"/*.log >&2
    return 1
}

start_munge() {
    dd if=/dev/urandom of="$slurm/munge.key" bs=1k count=1 status=none
    chmod 600 "$slurm/munge.key"
    munged --foreground --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" \
        --pid-file="$slurm/munge.pid" --seed-file="$slurm/munge.seed" \
        --log-file="$slurm/munge.log" >/dev/null 2>&1 3>&- &
    await test -S "$slurm/munge.socket"
}

# The examples, unchanged. slurmd sets their environment. Their log is ./log.
write_programs() {
    local name
    mkdir "$slurm/bin"
    printf '#!/bin/sh\nexec sed "s/^/$2: /" >>%s\n' "$slurm/log" >"$slurm/bin/logger"
    for name in prolog epilog; do
        cat >"$slurm/bin/$name" <<END
#!/bin/sh
export PATH=$slurm/bin:$MPIIO_BIN:$MPIIO_SBIN:/usr/bin:/bin MPIIO_JOBS=$slurm/jobs
echo \$SLURMD_NODENAME >>$slurm/$name-\$SLURM_JOB_ID
exec $top/scripts/examples/slurm-$name
END
    done
    chmod +x "$slurm"/bin/*
    export MPIIO_JOBS=$slurm/jobs
}

write_conf() {
    local ports
    mapfile -t ports < <(/usr/bin/python3 -c '
import socket
for s in [socket.create_server(("", 0)) for i in range(3)]: print(s.getsockname()[1])')
    cat >"$slurm/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${ports[0]}
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool-%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd-%n.log
SlurmctldParameters=idle_on_node_suspend
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
PlugStackConfig=$slurm/plugstack.conf
Prolog=$slurm/bin/prolog
Epilog=$slurm/bin/epilog
PrologFlags=Alloc
MailProg=/bin/true
ReturnToService=2
KillWait=15
MinJobAge=3600
InactiveLimit=0
NodeName=$first NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=64 State=UNKNOWN
NodeName=$second NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=64 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=60 State=UP
END
    echo "optional $(find "$MPIIO_STAGE" -name mpiio-spank.so)" >"$slurm/plugstack.conf"
    cat >"$slurm/cgroup.conf" <<END
CgroupPlugin=cgroup/v1
CgroupMountpoint=$slurm/cgroup
CgroupAutomount=no
END
}

# Each node has its own directory for jobs, like /run.
start_daemons() {
    local node
    slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 3>&- &
    for node in "$first" "$second"; do
        mkdir -p "$slurm/jobs-$node"
        "$top/tests/let_go" --keep "$slurm" bash -c \
            "mount --bind '$slurm/jobs-$node' '$slurm/jobs'"' && exec "$@"' bash \
            slurmd -D -N "$node" -f "$SLURM_CONF" >/dev/null 2>&1 3>&- &
    done
}

# Stops each daemon that has started.
stop_daemons() {
    local name
    for name in slurmctld slurmd; do
        marked "$name" | xargs -r kill 2>/dev/null || true # it may have exited meanwhile
    done
    await none_marked slurmctld
    await none_marked slurmd
    rm -rf "$slurm/state"
}

nodes_are_idle() {
    [ "$(timeout 5 sinfo -h -o %D -t idle 2>/dev/null)" = 2 ]
}

# stop_slurm: call it in teardown_file.
stop_slurm() {
    # If it has not started, the failure of setup_file has the reason.
    [ -n "${slurm:-}" ] || return 0
    tmp=$slurm
    export MPIIO_TEST=$tmp
    stop_daemons
    await groups_are_empty
    groups | xargs -r -d '\n' rmdir
    end_test
}

# Prints the control groups of jobs, each after those inside it.
groups() {
    find "$slurm/cgroup/freezer" -mindepth 1 -depth -type d \
        \( -path "*/slurm_$first*" -o -path "*/slurm_$second*" \)
}

# Kills the processes in them. slurmstepd overwrites its environment, and so the test's mark.
groups_are_empty() {
    local left
    mapfile -t left < <(groups | sed 's,$,/cgroup.procs,' | xargs -r -d '\n' cat)
    [ ${#left[@]} -eq 0 ] || {
        kill -KILL "${left[@]}" 2>/dev/null
        return 1
    }
}

# on NODE COMMAND...: runs a command in the mount namespace of a node.
on() {
    nsenter -t "$(<"$slurm/slurmd-$1.pid")" -m --wd="$PWD" "${@:2}" 3>&-
}

# submit [OPTION]... [SCRIPT...]: submits a batch job, or one whose script is standard input, and sets
# $job. Its output is ./out.
submit() {
    job=$(sbatch --parsable --output="$PWD/out" "$@" 3>&-)
}

state_is() {
    [ "$(squeue -h --states=all -j "$job" -o %T)" = "$1" ]
}

is_over() {
    case $(squeue -h --states=all -j "$job" -o %T) in
    PENDING | CONFIGURING | RUNNING | COMPLETING) return 1 ;;
    esac
}

# over [STATE]: waits until the job has finished, in that state, and the nodes have released it.
over() {
    within=300 await has_epilogs
    within=300 await is_over
    state_is "${1:-COMPLETED}" || {
        scontrol show job "$job" >&2
        return 1
    }
}

has_epilogs() {
    cmp -s "$slurm/prolog-$job" "$slurm/epilog-$job" ||
        [ "$(sort "$slurm/prolog-$job" 2>/dev/null)" = "$(sort "$slurm/epilog-$job" 2>/dev/null)" ] &&
        [ -s "$slurm/epilog-$job" ]
}

# clean: checks that no node has a mount of the test or of the job, that no process is left, and
# that the job's directory is gone.
clean() {
    local node
    nothing_left
    for node in "$first" "$second"; do
        run ! on "$node" grep -E " ($tmp|$slurm/jobs/$job)[ /]" /proc/self/mounts
        [ ! -e "$slurm/jobs-$node/$job" ]
    done
}
