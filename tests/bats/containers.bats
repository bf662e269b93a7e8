#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mounts in containers: a descriptor that another process has mounted, user namespaces, Podman, and
# bubblewrap, also on several hosts.

load helper
load cluster

setup() {
    begin_test
    user_folder own
    user_folder own/mnt
    cd own || return
    make_file b.dat 65536
    dealt b.dat 4 4096 >b.json
    cp b.dat want
    chmod 666 b.dat
    printf changed | dd of=want bs=4096 seek=2 conv=notrunc status=none
}

# inside COMMAND...: runs a command as an ordinary user, without mounts of other tests, which a
# container would keep busy.
inside() {
    as_user true # makes /dev/fuse accessible
    if [ "$EUID" -eq 0 ]; then
        HOME=$tmp "$top/tests/let_go" --keep "$tmp" \
            setpriv --reuid nobody --regid nogroup --clear-groups "$@" 3>&-
    else
        "$@" 3>&-
    fi
}

# Mounts b.json at mnt, reads and writes a slice, and unmounts.
# shellcheck disable=SC2016 # for the shell in the container
readonly session='
    set -e
    mpiio-mount b.json mnt
    [ "$(od -An -td8 -N8 mnt/rank2)" = "$(od -An -td8 -j8192 -N8 b.dat)" ]
    printf changed | dd of=mnt/rank2 conv=notrunc status=none
    mpiio-umount mnt
    [ -z "$(ls mnt)" ]
    cmp b.dat want'

@test "containers: a descriptor that the caller has mounted" {
    as_root python mount_descriptor mnt mpiio-mount -F b.json /dev/fd/FD 2>log 3>&- &
    await test -e mnt/rank2
    od -An -td8 -N8 mnt/rank2 | cmp - <(od -An -td8 -j8192 -N8 b.dat)
    printf changed | as_root dd of=mnt/rank2 conv=notrunc status=none
    cmp b.dat want
    # Its user unmounts it, by mpiio-umount, which waits for the daemon, or by umount.
    as_root mpiio-umount mnt
    wait $!
    [ -z "$(ls mnt)" ]
    as_root python mount_descriptor mnt mpiio-mount -o log="$tmp/own/log" b.json /dev/fd/FD 3>&-
    await test -e mnt/rank2
    as_root cmp -n 4096 mnt/rank0 b.dat
    as_root umount mnt
    nothing_left
}

@test "containers: a daemon that gets SIGTERM stores its data, and leaves the mount to the caller" {
    local daemon
    as_root python mount_descriptor mnt mpiio-mount -F -o cache=back,flush_interval=0 b.json /dev/fd/FD \
        2>log 3>&- &
    await test -e mnt/rank2
    daemon=$(jq .pid mnt/.mpiio/stats.json)
    printf changed | as_root dd of=mnt/rank2 conv=notrunc status=none
    as_root kill -TERM "$daemon"
    wait $!
    cmp b.dat want
    run ! ls mnt
    as_root umount mnt
    nothing_left
}

@test "containers: what is not an open /dev/fuse, or is for several nodes, is refused" {
    local why='not an open /dev/fuse (mpiio-containers(7) has an example)'
    # The daemon replaces standard input, even if that is /dev/fuse.
    complains 1 "mpiio-mount: /dev/fd/0: $why" mpiio-mount b.json /dev/fd/0 <>/dev/fuse
    complains 1 "mpiio-mount: /dev/fd/5: $why" mpiio-mount b.json /dev/fd/5 5</dev/null
    complains 1 "mpiio-mount: /dev/fd/77: $why" mpiio-mount b.json /dev/fd/77
    one_line 2 "*/dev/fd/77: a descriptor as the mount point is for one node without an engine*" mpiio-mount --hosts=a,b b.json /dev/fd/77
    one_line 1 "*/dev/fd/7x: No such file or directory*" mpiio-mount b.json /dev/fd/7x
}

@test "containers: in a user namespace, without privileges" {
    inside unshare --user --map-root-user --mount bash -c "$session"
    # The file belongs to a user whom the namespace does not have.
    make_file own.dat 65536
    inside sh -c 'cat own.dat >its.dat'
    [ "$EUID" -ne 0 ] || [ "$(stat -c %U its.dat b.dat)" = $'nobody\nroot' ]
    dealt its.dat 4 4096 >b.json
    inside unshare --user --map-root-user --mount bash -c "${session//b.dat/its.dat}"
    nothing_left
}

@test "containers: in bubblewrap, as root and as an ordinary user in it" {
    inside bwrap --unshare-user --uid 0 --gid 0 --cap-add CAP_SYS_ADMIN --dev-bind / / bash -c "$session"
    cp b.dat want
    # A mount from outside, of the same user.
    as_user mpiio-mount b.json mnt
    as_user bwrap --unshare-user --ro-bind / / --bind mnt "$PWD/mnt" \
        bash -c 'cat mnt/rank0; printf more | dd of=mnt/rank1 conv=notrunc status=none' >rank0
    cmp -n 4096 rank0 b.dat
    printf more | dd of=want bs=4096 seek=1 conv=notrunc status=none
    as_user mpiio-umount mnt
    cmp b.dat want
    nothing_left
}

# rootless COMMAND...: runs a command in a container of an ordinary user by Podman. It needs no image:
# the programs are those of this machine. crun, its runtime, refuses a mixture of the versions of
# control groups.
# shellcheck disable=SC2016 # for the shell in the namespace
rootless() {
    as_user true # makes /dev/fuse accessible
    mkdir -p "$tmp"/root/{dev,etc,proc,run,sys,tmp,usr,var/tmp}
    ln -s usr/{bin,lib,lib64,sbin} "$tmp/root"
    user_folder "$tmp/run"
    chown -R nobody:nogroup "$tmp/root"
    HOME=$tmp/run XDG_RUNTIME_DIR=$tmp/run "$top/tests/let_go" --keep "$tmp" bash -c '
        [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] || {
            umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || exit
        }
        exec setpriv --reuid nobody --regid nogroup --clear-groups "$@"' \
        bash podman --log-level=error --cgroup-manager=cgroupfs --events-backend=file --storage-driver=vfs \
        run --rm --cgroups=disabled --network=host --device /dev/fuse --cap-add SYS_ADMIN \
        -v /usr:/usr -v /etc:/etc:ro -v "$MPIIO_STAGE:$MPIIO_STAGE" -v "$tmp:$tmp" -w "$PWD" \
        -e PATH -e MPIIO_TEST --rootfs "$tmp/root" "$@" 3>&-
}

@test "containers: in rootless Podman" {
    rootless bash -c "$session"
    kill "$(<"$tmp/run/libpod/tmp/pause.pid")" # keeps Podman's namespaces
    nothing_left
}

# start_containers: starts a container of an ordinary user on each host. MPIIO_MPIEXEC then starts
# programs in them.
start_containers() {
    local host
    as_user true # makes /dev/fuse accessible
    for host in ${hosts//,/ }; do
        as_root "$tmp/launcher" "$host" exec setpriv --reuid nobody --regid nogroup --clear-groups \
            bwrap --unshare-user --uid 0 --gid 0 --cap-add CAP_SYS_ADMIN --unshare-pid --unshare-ipc \
            --die-with-parent --dev-bind / / --proc /proc sleep 1000 3>&- &
        await has_container "$host"
        of_host "$host" sleep >"$tmp/container-$host"
    done
    executable "$tmp/enter" <<'END'
while [[ $1 == -* ]]; do shift; done
exec nsenter --all --target "$(<"$tmp/container-$1")" --wdns="$PWD" bash -c "${*:2}"
END
    MPIIO_MPIEXEC=${MPIIO_MPIEXEC/"$tmp/launcher"/"$tmp/enter"}
}

has_container() {
    [ -n "$(of_host "$1" sleep)" ]
}

# in_container HOST COMMAND
in_container() {
    as_root "$tmp/enter" "$@" 3>&-
}

@test "containers: on two hosts, the engines and daemons run in bubblewrap" {
    make_hosts 2
    start_containers
    at switch mpiio-mount --hosts="$hosts" b.json "$PWD/mnt"
    [ -z "$(ls mnt)" ] # the mounts are in the containers
    # Each host has a program and a mount of its own, and all programs are in the containers.
    [ "$(of_host node0 mpiio-fused | wc -l) $(of_host node1 mpiio-engine-mpich | wc -l)" = "1 1" ]
    diff <(ns_of node1 sleep) <(ns_of node1 mpiio-fused)
    in_container node0 'od -An -td8 -N8 mnt/rank2' | cmp - <(od -An -td8 -j8192 -N8 b.dat)
    in_container node0 'printf changed | dd of=mnt/rank2 conv=notrunc,fsync status=none'
    in_container node1 'printf more | dd of=mnt/rank3 seek=1 bs=4096 conv=notrunc,fsync status=none'
    printf more | dd of=want bs=4096 seek=7 conv=notrunc status=none
    [ "$(in_container node1 'head -c 7 mnt/rank2')" = changed ]
    [ "$(in_container node0 'tail -c +4097 mnt/rank3 | head -c 4')" = more ]
    # It enters the containers in the same way.
    at switch mpiio-umount --hosts="$hosts" "$PWD/mnt"
    cmp b.dat want
    [ -z "$(marked mpiio-fused)$(marked mpiio-engine-mpich)" ]
}

# ns_of HOST NAME: prints the namespaces of a program on a host.
ns_of() {
    as_root readlink "/proc/$(of_host "$1" "$2")"/ns/{user,mnt,pid,net}
}
