#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# All nodes must have the same file: what proves that, and what does not.

load helper
load cluster

# own_files COMMAND: makes two hosts. On each, the command makes its own $tmp/own/x.dat.
own_files() {
    make_hosts 2
    mkdir own
    daemons_first "$1
stat -c '%i %W' '$tmp/own/x.dat' >'$tmp/inode-'\$(hostname)"
    dealt "$tmp/own/x.dat" 2 8 >x.json
}

# are_refused: both hosts must be named, and nothing is left or written.
are_refused() {
    hosts_refuse 1 "node1: $tmp/own/x.dat: not the same file here as on node 0 (node0)" x.json
}

@test "same: files on each host's own tmpfs are refused, though their inodes have one number" {
    own_files "mount -t tmpfs tmpfs '$tmp/own' && : >'$tmp/own/x.dat'"
    are_refused
    [ "$(cut -d ' ' -f 1 inode-node0)" = "$(cut -d ' ' -f 1 inode-node1)" ]
}

@test "same: files on copies of one disk are refused, though they have everything in common" {
    small_disk 4
    : >disk/x.dat
    as_root umount disk
    cp disk.img disk-node0
    cp disk.img disk-node1
    own_files "mount -o loop '$tmp/disk-'\$(hostname) '$tmp/own'"
    are_refused
    cmp inode-node0 inode-node1
}

@test "same: one file counts as one, in another directory of a host and read-only, too" {
    mkdir one
    : >one/x.dat
    own_files "mount --bind '$tmp/one' '$tmp/own'"
    mount_hosts x.json
    printf 12345678 >at/0/rank0
    [ "$(cat at/1/rank0)" = 12345678 ]
    mpiio-umount at/0
    mount_hosts x.json -o ro
    [ "$(cat at/1/rank0)" = 12345678 ]
    umount_hosts
}

# remote [COMMAND]: runs two engines for which $tmp/own, after COMMAND, is on a network filesystem.
remote() {
    run --separate-stderr timeout -s KILL 300 "$(mpich_mpiexec)" -n 2 "$top/tests/let_go" --keep "$tmp" bash -c "
        $1 exec env \"LD_PRELOAD=$MPIIO_BUILD/tests/engine/libremote.so\" \"\$@\"" own \
        "$MPIIO_SBIN/mpiio-engine-mpich" --daemon="$MPIIO_BUILD/tests/engine/fake_daemon" -- \
        --file="$tmp/own/x.dat" --store=posix --mode=full --blocks=2 --no-check "$tmp/report%n" </dev/null 3>&-
}

@test "same: on a network filesystem a lock identifies the file, or else a file beside it" {
    local before
    mkdir own
    : >own/x.dat
    before=$(stat -c %y own)
    remote ''
    [ "$status" -eq 0 ]
    [ "$output" = ready ]
    [ "$(stat -c %y own)" = "$before" ]
    export REMOTE_NO_LOCKS=
    remote ''
    [ "$status" -eq 0 ]
    # A marker file was created and removed.
    [ "$(stat -c %y own)" != "$before" ]
    [ "$(ls -A own)" = x.dat ]
}

@test "same: on network filesystems files of two servers are refused, with locks and without" {
    local locks
    mkdir own
    for locks in yes no; do
        [ $locks = yes ] || export REMOTE_NO_LOCKS=
        remote "mount -t tmpfs tmpfs '$tmp/own' && : >'$tmp/own/x.dat' &&"
        [ "$status" -eq 1 ]
        [ "$stderr" = "mpiio-engine: $(hostname): $tmp/own/x.dat: not the same file here as on node 0 ($(hostname))" ]
    done
}
