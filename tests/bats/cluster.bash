# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Several hosts on one machine. Load it after helper. Each host has its own network namespace, which
# the test's switch connects, and its own name, so MPI takes the hosts for different machines. They
# share the disk. Nothing has a name outside of the test's directory. end_test removes everything.
# Needs root.

# make_hosts N: makes hosts node0, node1, ..., and what mpiio-mount needs to reach them. All hosts
# see the mounts in $tmp/at. The function at runs commands on them.
make_hosts() {
    local name i
    mkdir -p "$tmp/net" "$tmp/at"
    as_root mount --bind "$tmp/at" "$tmp/at"
    as_root mount --make-private "$tmp/at"
    as_root mount --make-shared "$tmp/at"
    for name in switch $(seq -f node%g 0 $(($1 - 1))); do
        : >"$tmp/net/$name"
        as_root unshare --net="$tmp/net/$name" ip link set lo up
    done
    at switch ip link add bridge type bridge
    at switch ip address add 10.77.0.254/24 dev bridge
    at switch ip link set bridge up
    for ((i = 0; i < $1; i++)); do
        at switch ip link add "port$i" type veth peer name eth0 netns "$tmp/net/node$i"
        at switch ip link set "port$i" master bridge up
        at "node$i" ip address add "10.77.0.$((i + 1))/24" dev eth0
        at "node$i" ip link set eth0 up
        mkdir "$tmp/at/$i"
    done
    hosts=$(seq -s , -f node%g 0 $(($1 - 1)))
    make_launcher
}

# Makes the program that mpiexec starts instead of ssh. It drops ssh's options and runs the command
# on the host. The host has its own /sys, which shows its interfaces. All hosts see the mounts in
# $tmp/at. If a host has a client of a distributed filesystem (distributed.bash), that is at dfs.
make_launcher() {
    executable "$tmp/launcher" <<'END'
while [[ $1 == -* ]]; do shift; done
host=$1
shift
[ ! -e "$tmp/unreachable-$host" ] || { echo "ssh: connect to host $host: No route" >&2; exit 255; }
[ ! -e "$tmp/silent-$host" ] || exec sleep 1000
exec nsenter --net="$tmp/net/$host" unshare --uts "$top/tests/let_go" --keep "$tmp" --share "$tmp/at" bash -c '
    [ ! -e "$tmp/dfs${1#node}" ] || mount --bind "$tmp/dfs${1#node}" "$tmp/dfs"
    hostname "$1" && mount -t sysfs sysfs /sys && eval "$2"' \
    launcher "$host" "$*"
END
    # Over TCP alone, because UCX would use the shared memory of the single kernel.
    MPIIO_MPIEXEC="$(mpich_mpiexec) -launcher ssh -launcher-exec $tmp/launcher
        -localhost 10.77.0.254 -genv UCX_TLS tcp,self"
    export MPIIO_MPIEXEC
}

# at HOST COMMAND...: runs a command in the network of a host, or of the switch.
at() {
    as_root nsenter --net="$tmp/net/$1" "${@:2}" 3>&-
}

# mount_hosts SPEC [OPTION]...: mounts SPEC on all hosts, at $tmp/at/0, ..., within five minutes.
mount_hosts() {
    at switch timeout -s KILL 300 mpiio-mount --hosts="$hosts" "${@:2}" "$1" "$tmp/at/%n"
}

# daemons_first STEPS: every daemon that is started afterwards runs these bash steps before it executes
# mpiio-fused.
daemons_first() {
    printf '%s\nexec mpiio-fused "$@"\n' "$1" | executable "$tmp/first"
    export MPIIO_FUSED=$tmp/first
}

# nothing_mounted: succeeds once all processes of the test have exited, if no host has a mount left.
nothing_mounted() {
    nothing_left
    run ! grep " $tmp/at/[0-9]" /proc/self/mountinfo
}

# hosts_refuse STATUS PATTERN SPEC [OPTION]...: mounting SPEC on all hosts must exit with this status,
# print one line that matches, and leave nothing.
hosts_refuse() {
    one_line "$1" "mpiio-mount: $2" mount_hosts "${@:3}"
    nothing_mounted
}

# umount_hosts [NODE]: unmounts all hosts by a command on one of them (0), and nothing is left.
umount_hosts() {
    mpiio-umount "$tmp/at/${1:-0}"
    nothing_mounted
}

# of_host HOST [NAME]: prints the numbers of the test's processes on a host, or of a program there.
of_host() {
    local process net
    net=$(stat -c %i "$tmp/net/$1")
    for process in $(marked "${2:-}"); do
        if [ "$(as_root stat -L -c %i "/proc/$process/ns/net" 2>/dev/null)" = "$net" ]; then
            echo "$process"
        fi
    done
}
