#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Hosts with their own networks, which only TCP connects. Each has a mount of the same file.
# MPIIO_PROGRAMS sets the number of random programs, MPIIO_SEED the first seed.

load helper
load cluster

# spec_of RANKS BLOCK: makes x.json, which deals the blocks of x.dat to ranks.
spec_of() {
    dealt "${3:-x.dat}" "$1" "$2" >x.json
    [ -e "${3:-x.dat}" ] || : >"${3:-x.dat}"
}

# hosts_with_spec COUNT: makes hosts, and x.json, which deals x.dat to as many ranks.
hosts_with_spec() {
    make_hosts "$1"
    spec_of "$1" 8
}

# mount_on COUNT [OPTION]...: also mounts x.json on the hosts.
mount_on() {
    hosts_with_spec "$1"
    mount_hosts x.json "${@:2}"
}

# total KEY: prints the sum of a cluster statistic over the nodes.
total() {
    cat at/*/.mpiio/stats.json | jq -s "map(.cluster.$1) | add"
}

# Prints the bytes that the hosts have sent over their links.
sent() {
    at switch cat /proc/net/dev | awk '/port/ { total += $2 } END { print total }'
}

@test "cluster: 8-byte slices written on four hosts, one fsync: stored once, and over TCP alone" {
    local processes process before
    mount_on 4 -o flush_interval=0
    before=$(sent)
    /usr/bin/python3 "$call" interleaved_slices_on_four_hosts
    [ "$(total dirty_bytes)" -eq $((4 << 20)) ]
    [ "$(total stored_bytes)" -eq $((4 << 20)) ]
    # Four nodes write 4 MiB, whose home is one of them, so they are stored as one run.
    [ "$(total merged_runs)" -eq 1 ]
    [ "$(total store_calls)" -eq 1 ]
    # Three quarters of the data have crossed the network, because the hosts share no memory.
    [ "$(total sent_bytes)" -ge $((3 << 20)) ]
    [ $(($(sent) - before)) -ge "$(total sent_bytes)" ]
    mapfile -t processes < <(of_host node0 mpiio-engine-mpich && of_host node3 mpiio-engine-mpich)
    [ ${#processes[@]} -eq 2 ]
    for process in "${processes[@]}"; do
        run ! grep -E '/dev/shm|/SYSV|ucx_shm' "/proc/$process/maps"
        grep -qzxF UCX_TLS=tcp,self "/proc/$process/environ"
    done
    umount_hosts 2
}

@test "cluster: what is closed or synced on one host is seen by an open or sync on another; a mount that is unmounted lazily while in use keeps the others mounted" {
    mount_on 2
    /usr/bin/python3 "$call" what_is_closed_or_synced
    exec 9<at/1/rank0
    as_root umount -l at/1
    complains 1 "mpiio-umount: at/0: node1: $tmp/at/1: Device or resource busy (though unmounted lazily)" \
        mpiio-umount at/0
    exec 9<&-
    umount_hosts
}

# random_programs [OPTION]: random programs with this option of programs.py run on three hosts.
random_programs() {
    local seed=${MPIIO_SEED:-$RANDOM} i programs=("$top/tests/cluster/programs.py" "$@")
    make_hosts 3
    make_file x.dat 5000000
    "${programs[@]}" --spec "$tmp/x.dat" >x.json
    mount_hosts x.json
    for ((i = 0; i < ${MPIIO_PROGRAMS:-2}; i++)); do
        timeout -s KILL 300 "${programs[@]}" x.dat $((seed + i)) 200 at/*
    done
    umount_hosts 1
}

@test "cluster: random programs over three hosts give what the model allows" {
    random_programs
}

@test "cluster: random programs in atomic mode find what was written last" {
    random_programs --atomic
}

# Waits until the six users of a shared file have begun.
all_here() {
    [ "$(compgen -G 'here*' | wc -l)" -eq 6 ]
}

@test "cluster: atomic mode: no torn or old data, also with a program in MPI's atomic mode" {
    local size=65536 start=$(((1 << 20) - 32768)) node users=()
    make_hosts 3
    make_file x.dat $((start + size))
    head -c $size /dev/zero | dd of=x.dat bs=1k seek=$((start >> 10)) conv=notrunc status=none
    # Rank 0 has the even words, rank 1 all words.
    cat >x.json <<END
{ "viewspec": 1, "file": "x.dat", "ranks": 2, "atomic": true,
  "view": { "disp": $start, "etype": "double", "per_rank": [
    { "filetype": { "type": "resized", "lb": 0, "extent": 16, "oldtype": "double" } },
    { "filetype": "double" } ] } }
END
    mount_hosts x.json
    for node in 0 1 2; do
        "$top/tests/cluster/atomic.py" use "at/$node/rank0" $((size / 2)) 60 $((node + 1)) 1 \
            >"half$node" &
        users+=($!)
        "$top/tests/cluster/atomic.py" use "at/$node/rank1" $size 60 $((node + 11)) 0 >"all$node" &
        users+=($!)
    done
    timeout -s KILL 300 "$MPIIO_BUILD/tests/mpi/atomic_peer" x.dat $start $((size / 8)) 60 21 \
        >peer &
    users+=($!)
    await all_here
    touch go
    wait "${users[@]}"
    "$top/tests/cluster/atomic.py" check half* all* peer
    [ "$(cat half* all* peer | wc -l)" -eq 420 ]
    umount_hosts
}

@test "cluster: a full disk in a flush is reported where data is unsaved; with room, all is stored" {
    make_hosts 3
    small_disk 24
    spec_of 3 1048576 disk/x.dat
    fallocate -l 14M disk/ballast
    mount_hosts x.json -o flush_interval=0
    /usr/bin/python3 "$call" a_full_disk_in_a_flush
    umount_hosts 1
    as_root umount disk
}

@test "cluster: a host that fails, or has another spec or file, is named once, and nothing is left" {
    hosts_with_spec 3
    rmdir at/1
    hosts_refuse 1 "node1: $tmp/at/1: No such file or directory*" x.json
    mkdir at/1
    echo '{}' >y.json
    hosts_refuse 2 "node0: $tmp/y.json:*" y.json
    hosts_refuse 1 "node?: *nowhere.dat: No such file or directory*" x.json -f nowhere.dat
    touch unreachable-node2
    hosts_refuse 1 "ssh: connect to host node2: No route" x.json
    rm unreachable-node2
    touch silent-node2
    # On a busy machine the other hosts may not have answered yet.
    MPIIO_START_TIMEOUT=10 run -1 --separate-stderr mount_hosts x.json
    [[ $stderr =~ ^"mpiio-mount: no answer from "(node0, )?(node1, )?"node2 within 10 s"$ ]]
    nothing_mounted
    rm silent-node2
    # On node1 the same path leads to another file.
    # shellcheck disable=SC2016 # for the daemon's shell
    daemons_first '[ "$(hostname)" != node1 ] || mount --bind "$tmp/other" "$tmp/$place"'
    export place=x.json
    sed 's/: 8 /: 16 /' x.json >other
    hosts_refuse 2 "node1: the spec is not the same here as on node 0" x.json
    hosts_refuse 2 "*" x.json -o ro
    : >other
    place=x.dat
    hosts_refuse 1 "node1: $tmp/x.dat: not the same file here as on node 0 (node0)" x.json
}

@test "cluster: a signal at any moment of the start leaves nothing" {
    local i mounting
    hosts_with_spec 2
    for i in 05 1 15 2 25 3 4 6; do
        (exec nsenter --net="$tmp/net/switch" \
            "$MPIIO_BIN/mpiio-mount" --hosts="$hosts" x.json "$tmp/at/%n" 3>&- 2>err) &
        mounting=$!
        sleep "0.$i"
        kill -TERM "$mounting" || true # it may have exited
        status=0
        wait "$mounting" || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 143 ]
        if mountpoint -q at/0; then
            # Only if it has mounted.
            [ "$status" -eq 0 ]
            [ ! -s err ]
            mpiio-umount at/0
        fi
        nothing_mounted
    done
}

@test "cluster: mpiio-umount on any host unmounts all, also read-only ones, and reports what keeps a mount busy; -f does not wait; one node can be unmounted alone" {
    mount_on 3
    exec 9<at/2/rank0
    complains 1 "mpiio-umount: at/0: node2: $tmp/at/2: Device or resource busy" mpiio-umount at/0 9<&-
    exec 9<&-
    mountpoint -q at/0
    mountpoint -q at/2
    umount_hosts 2
    mount_hosts x.json
    exec 9<at/2/rank0
    timeout 300 mpiio-umount -f at/0 9<&-
    exec 9<&-
    nothing_mounted
    mount_hosts x.json -o ro
    run ! as_user getfattr -n user.mpiio.unmount at/0
    umount_hosts 1
    mount_hosts x.json
    printf 12345678 >at/1/rank1
    mpiio-umount --node at/1
    run ! mountpoint -q at/1
    printf abcdefgh >at/2/rank2
    [ "$(cat at/0/rank2)" = abcdefgh ]
    [ "$(attribute at/0 state)" = ok ]
    umount_hosts
    cmp x.dat <(printf '\0\0\0\0\0\0\0\00012345678abcdefgh')
}

@test "cluster: a mount point whose name has a newline does not count as in use" {
    hosts_with_spec 2
    mkdir at/{0,1}/$'a\nb'
    at switch mpiio-mount --hosts="$hosts" x.json $'at/%n/a\nb'
    mpiio-umount at/1/$'a\nb'
    nothing_left
}

@test "cluster: mpiio-umount on all hosts at once unmounts all" {
    local node
    hosts_with_spec 3
    for _ in {1..5}; do
        mount_hosts x.json
        printf 12345678 >at/1/rank1
        for node in 0 1 2; do
            mpiio-umount "at/$node" 2>"told$node" 3>&- &
        done
        wait
        # A late call finds the mount gone.
        sed -i '/^mpiio-umount: at\/[0-2]: not mounted$/d' told*
        cat told*
        [ -z "$(cat told*)" ]
        nothing_left
        cmp x.dat <(printf '\0\0\0\0\0\0\0\00012345678')
    done
}

@test "mpiio-mount --hosts: without space for mpiexec's output, or after a signal, no directory is left" {
    scatter_spec
    mkdir commands
    ram_disk 4k
    export TMPDIR=$tmp/disk MPIIO_MPIEXEC="sleep 10"
    one_line 1 "mpiio-mount: $TMPDIR/tmp.*: cannot write there (choose another folder with TMPDIR)" mpiio-mount --hosts=a,b s.json m%n
    [ -z "$(ls disk)" ]
    TMPDIR=$tmp/none run -1 --separate-stderr mpiio-mount --hosts=a,b s.json m%n
    [[ $stderr == "mpiio-mount: $tmp/none/tmp."*": cannot write there (choose another folder with TMPDIR)" ]]
    as_root umount disk
    executable commands/mktemp <<END
$(type -P mktemp) "\$@"
: >"$tmp/made"
sleep 0.5
END
    PATH=$tmp/commands:$PATH command mpiio-mount --hosts=a,b s.json m%n 3>&- &
    while [ ! -e made ]; do
        sleep 0.05
    done
    kill -TERM $!
    wait $! || [ $? -eq 143 ]
    [ -z "$(ls disk)" ]
}

# second_network COUNT: gives the hosts the addresses 10.78.0.NUMBER as well, at eth1.
second_network() {
    local i
    at switch ip link add second type bridge
    at switch ip link set second up
    for ((i = 0; i < $1; i++)); do
        at switch ip link add "other$i" type veth peer name eth1 netns "$tmp/net/node$i"
        at switch ip link set "other$i" master second up
        at "node$i" ip address add "10.78.0.$((i + 1))/24" dev eth1
        at "node$i" ip link set eth1 up
    done
}

# sockets HOST OPTION: prints the addresses of the daemon there, without their ports.
sockets() {
    at "$1" ss -Htnp "${@:2}" | awk '/"mpiio-fused"/ { print $4, $5 }' | sed 's/:[0-9*]*\( \|$\)/\1/g' | sort -u
}

nobody_listens() {
    [ -z "$(sockets node0 -l)$(sockets node1 -l)" ]
}

@test "cluster: daemons listen at the interface that is named, and connect by it" {
    local interface
    make_hosts 2
    second_network 2
    # To reach an address of the second network, the kernel would use the first one.
    at node1 ip route add 10.78.0.1/32 dev eth0
    make_file f.dat 67108864
    dealt "$tmp/f.dat" 2 4096 >s.json
    for interface in eth1 10.78.0.0/24; do
        mount_hosts s.json -o "interface=$interface,pool=64M"
        # The pool connects on the first read.
        cat at/0/rank0 >/dev/null
        cat at/1/rank1 >/dev/null
        [ "$(stat_of pool.received_bytes at/1)" -gt 0 ]
        [ "$(sockets node0 -l)" = "10.78.0.1 0.0.0.0" ]
        [ "$(sockets node1 -l)" = "10.78.0.2 0.0.0.0" ]
        [ "$(sockets node0)" = "10.78.0.1 10.78.0.2" ]
        [ "$(sockets node1)" = "10.78.0.2 10.78.0.1" ]
        umount_hosts
    done
    mount_hosts s.json
    [ "$(sockets node0 -l)" = "* *" ]
    umount_hosts
    # Without a pool no daemon listens once all have met.
    mount_hosts s.json -o pool=off
    await nobody_listens
    [ -n "$(sockets node0)" ]
    umount_hosts
    for interface in eth2 10.79.0.0/16; do
        one_line 1 "mpiio-mount: node[01]: interface=$interface: there is no such address here" mount_hosts s.json -o "interface=$interface"
    done
    one_line 1 "*: interface=10.78.0.0/33: neither an interface nor an address nor a network" mount_hosts s.json -o interface=10.78.0.0/33
    run ! is_mounted at/0
    nothing_left
}

# ports HOST: prints the ports at which daemons listen, one a line.
ports() {
    at "$1" ss -Hltnp | awk '/"mpiio-fused"/ { sub(/.*:/, "", $4); print $4 }' | sort
}

# A firewall does not have to allow any other port.
@test "cluster: a daemon listens at one port, the first free one of those that are named" {
    local other
    make_hosts 2
    make_file f.dat 67108864
    dealt "$tmp/f.dat" 2 4096 >s.json
    mount_hosts s.json -o port=7000-7001,pool=64M
    other=$tmp/at/other
    mkdir -p "$other"{0,1} third/{0,1}
    at switch mpiio-mount --hosts="$hosts" -o port=7000-7001 s.json "$other%n"
    run -1 --separate-stderr at switch mpiio-mount --hosts="$hosts" -o port=7000-7001 s.json "$tmp/third/%n"
    [[ $stderr == "mpiio-mount: node"[01]": no TCP port from 7000 to 7001 is free (each mount on a machine needs its own: -o port=PORT-PORT)" ]]
    cmp at/0/rank1 "${other}1/rank1"
    cmp at/1/rank0 "${other}0/rank0"
    [ "$(stat_of pool.received_bytes at/1)" -gt 0 ]
    for host in node0 node1; do
        [ "$(ports "$host" | xargs)" = "7000 7001" ]
    done
    # After connections to a port have closed, the next mount can use that port.
    at node0 mpiio-umount at/0
    mount_hosts s.json -o port=7000
    at node0 mpiio-umount at/0
    at node0 mpiio-umount "${other}0"
    nothing_left
}

# asks WORDS COMMAND...: the command must fail, and start the engines by a program that takes the
# place of mpiexec, prints its arguments and fails. The arguments before the engine match WORDS.
asks() {
    run -1 --separate-stderr "${@:2}"
    echo "$stderr"
    # shellcheck disable=SC2053 # a pattern
    [[ $(sed -n 's/^mpiio-mount: \(.*\) [^ ]*mpiio-engine-mpich .*/\1/p' <<<"$stderr") = $1 ]]
}

@test "mpiio-mount: in a Slurm job, srun starts the engines on its hosts; a daemon in a step gives a warning" {
    local warning="mpiio-mount: warning: Slurm kills the daemon at the end of step 12.3: mount in the batch script, or keep a step for the daemon (--foreground)"
    scatter_spec
    mkdir bin
    executable bin/srun <<'END'
[ "$1" != --mpi=list ] || exec echo "MPI plugin types are... none ${plugins-pmi2 pmix}"
echo "$*" >&2
exit 1
END
    cp bin/srun bin/mpiexec.hydra
    unset MPIIO_MPIEXEC SLURM_STEP_ID
    export PATH=$tmp/bin:$PATH SLURM_JOB_ID=12 SLURM_JOB_NODELIST='n[08-10]'
    asks "--mpi=pmi2 --nodelist n08,n09,n10 --nodes=3 * --overlap * -n 3" mpiio-mount s.json mnt
    [[ $stderr == *"mpiio-engine-mpich --report --stay "* ]]
    asks "* --nodelist n08,n10 * -n 2" mpiio-mount --hosts=n10,n08 s.json mnt
    # Not for other hosts, a host that is listed twice, another MPI, or a user's own command.
    asks "-hosts n10,n11 -ppn 1 -n 2" mpiio-mount --hosts=n10,n11 s.json mnt
    asks "-hosts n10,n10 -ppn 1 -n 2" mpiio-mount --hosts=n10,n10 s.json mnt%n
    plugins=pmi2x asks "-hosts n08,n09,n10 -ppn 1 -n 3" mpiio-mount s.json mnt
    MPIIO_MPIEXEC=mpiexec.hydra asks "-hosts n08,n09,n10 -ppn 1 -n 3" mpiio-mount s.json mnt

    export SLURM_STEP_ID=3
    run -0 --separate-stderr mpiio-mount s.json mnt
    [ "$stderr" = "$warning" ]
    mpiio-umount mnt
    run -1 --separate-stderr mpiio-mount -o ro,store=mpiio s.json mnt
    [ "${stderr_lines[0]}" = "$warning" ]
    # No warning for a daemon in the foreground, or for engines that srun starts in a step of their
    # own.
    mpiio-mount -F s.json mnt 2>err 3>&- &
    await is_mounted mnt
    mpiio-umount mnt
    [ ! -s err ]
    run -1 --separate-stderr mpiio-mount --hosts=n08 s.json mnt
    [[ $stderr != *warning* ]]
    # A batch script, and the shell of salloc as a step.
    for SLURM_STEP_ID in '' 4294967291 4294967290; do
        run -0 --separate-stderr mpiio-mount --hosts= s.json mnt
        [ -z "$stderr" ]
        mpiio-umount mnt
    done
}

@test "mpiio-mount --hosts: lists of hosts, Slurm's allocation, and wrong usage" {
    local list
    scatter_spec
    # Takes the place of mpiexec, and prints its arguments.
    executable mpiexec <<'END'
echo "$*" >&2
exit 1
END
    export MPIIO_MPIEXEC="$tmp/mpiexec -x 1"
    unset SLURM_JOB_NODELIST SLURM_NODELIST SLURM_STEP_ID
    asks "-x 1 -hosts a,b.c -ppn 1 -n 2" mpiio-mount --hosts=a,b.c s.json mnt
    [[ $stderr == *" -- $tmp/s.json $tmp/mnt" ]]
    asks "-x 1 -hosts n08,n09,n10,n3,x1y0z,x1y1z,x2y0z,x2y1z,end -ppn 1 -n 9" \
        mpiio-mount --hosts='n[08-10,3],x[1-2]y[0-1]z,end' s.json mnt
    SLURM_JOB_NODELIST='n[1-2]' asks "-x 1 -hosts n1,n2 -ppn 1 -n 2" mpiio-mount s.json mnt
    asks "-x 1 -n 1" mpiio-mount -o ro,store=mpiio s.json mnt
    # Only this machine.
    SLURM_JOB_NODELIST='n[1-2]' mpiio-mount --hosts= s.json mnt
    mpiio-umount mnt
    SLURM_JOB_NODELIST='n[1-2]' SLURM_STEP_ID=0 mpiio-mount s.json mnt
    mpiio-umount mnt
    SLURM_JOB_NODELIST=n1 mpiio-mount -o store=mpiio,store=auto s.json mnt
    mpiio-umount mnt
    for list in 'a b' 'n[1-' 'n[a-b]' 'a,,b' '-x' 'a;b' 'n[1-2]]'; do
        complains 2 "mpiio-mount: $list: not a list of hosts" mpiio-mount --hosts="$list" s.json mnt
    done
    complains 2 "mpiio-mount: a2 is named more than once: MOUNTPOINT needs %n, the node's number" \
        mpiio-mount --hosts='b,a[1-2],a2' s.json mnt
    complains 2 "mpiio-mount: --foreground is for one node without an engine" mpiio-mount -F --hosts=a s.json mnt
    # Another MPI may own the name "mpiexec".
    mkdir hydra
    mv mpiexec hydra/mpiexec.hydra
    MPIIO_MPIEXEC='' PATH=$tmp/hydra:$PATH one_line 1 "mpiio-mount: -hosts a -ppn 1 -n 1 *" mpiio-mount --hosts=a s.json mnt
    MPIIO_MPIEXEC=no-such-mpiexec complains 1 "mpiio-mount: no-such-mpiexec: program not found" \
        mpiio-mount --hosts=a s.json mnt
}

@test "cluster: mpiio-umount --hosts unmounts nodes that have lost each other, and reports what is left" {
    local unmount=(at switch mpiio-umount --hosts='node[0-2]' "$tmp/at/%n")
    mount_on 3 -o peer_timeout=1
    kill -KILL "$(of_host node1 mpiio-fused)"
    await is_degraded at/0
    await is_degraded at/2
    : >unreachable-node1
    exec 9<at/2/rank0
    run -1 --separate-stderr "${unmount[@]}" 9<&-
    exec 9<&-
    echo "$stderr"
    [ "${stderr_lines[0]}" = "mpiio-umount: node1: $tmp/at/1: ssh: connect to host node1: No route" ]
    [[ ${stderr_lines[1]} == "mpiio-umount: node2: $tmp/at/2: busy"* ]]
    [ ${#stderr_lines[@]} -eq 2 ]
    run ! mountpoint -q at/0
    rm unreachable-node1
    "${unmount[@]}"
    nothing_mounted
    complains 1 "mpiio-umount: $tmp/at/%n: not mounted" "${unmount[@]}"
    complains 2 "mpiio-umount: n[1-: not a list of hosts" mpiio-umount --hosts='n[1-' mnt
    complains 2 "mpiio-umount: --node and --hosts exclude each other" mpiio-umount --hosts=a --node mnt
    # All together, if they have not lost each other.
    mount_hosts x.json
    "${unmount[@]}"
    nothing_mounted
}

# Traces the engines of mount_hosts: their writes to x.dat are in calls.N.
trace_engines() {
    executable engine <<END
exec strace -f -qq -o "$tmp/calls.\$PMI_RANK" -P "$tmp/x.dat" -e trace=pwrite64 "$MPIIO_SBIN/mpiio-engine-mpich" "\$@"
END
    export MPIIO_ENGINE=$tmp/engine
}

# write_striped UNIT FACTOR [OPTION]...: mounts a file with such stripes (FACTOR '': unknown). All
# hosts write 24 MiB in turn, 64 KiB each.
write_striped() {
    rm -f calls.* x.dat
    : >x.dat
    dealt x.dat 3 65536 "\"hints\": {\"striping_unit\": \"$1\"${2:+, \"striping_factor\": \"$2\"}}," >x.json
    mount_hosts x.json -o flush_interval=0 "${@:3}"
    python write_together 65536 $((8 << 20)) 1
    mpiio-umount at/1
}

# stored_by UNIT: prints "STRIPE NODE" once for each stripe that was stored, by stripe.
stored_by() {
    awk -v unit="$1" '{
        sub(/.*pwrite64\([0-9]+, .*, /, "length,"); split(FILENAME, name, ".")
        match($0, /[0-9]+\) *= [0-9]+$/); split(substr($0, RSTART), words, /\) *= /)
        for (i = int(words[1] / unit); i * unit < words[1] + words[2]; i++) print i, name[2]
    }' calls.* | sort -nu
}

@test "cluster: one node stores each stripe, whether it is less, more, or no power of two; no more nodes than servers" {
    make_hosts 3
    trace_engines
    # Stripes of 3 MiB, in stretches of 6 MiB: 4 of the file's 24 MiB.
    write_striped $((3 << 20)) '' -o store=posix
    [ "$(stored_by $((3 << 20)) | paste -sd ,)" = "0 0,1 0,2 1,3 1,4 2,5 2,6 0,7 0" ]
    # One node for each server.
    write_striped $((1 << 20)) 2
    [ "$(stored_by $((1 << 20)) | awk '{ print $2 != $1 % 2 }' | sort | uniq -c | tr -s ' ')" = " 24 0" ]
    # Three servers, and stretches of 4 MiB that span all of them.
    write_striped 262144 3 -o store=mpiio
    [ "$(stored_by 262144 | awk '{ print $2 != int($1 / 16) % 3 }' | sort | uniq -c | tr -s ' ')" = " 96 0" ]
    nothing_left
}
