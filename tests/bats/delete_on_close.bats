#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# -o delete_on_close: the file is removed when the last node is unmounted. No other file is removed.

load helper
load nodes

@test "delete_on_close: the file exists while it is mounted, and is gone when mpiio-umount returns; with create, a scratch file" {
    scatter_spec
    ln -s s.dat link
    ln s.dat other
    mpiio-mount -o delete_on_close -f link s.json "$mnt"
    head -c 512 s.dat >expected
    cmp -n 512 expected "$mnt/rank0"
    echo hello 1<>"$mnt/rank1"
    [ -e s.dat ]
    mpiio-umount "$mnt"
    [ ! -e s.dat ]
    # Other names of the file stay: a symbolic link, and a hard link, which has the written bytes.
    [ -L link ]
    [ "$(dd if=other bs=1 skip=512 count=5 status=none)" = hello ]
    dealt new.dat 2 8 >s.json
    mpiio-mount -o create,delete_on_close s.json "$mnt"
    echo 1234567 >"$mnt/rank0"
    [ -s new.dat ]
    as_root umount "$mnt"
    await test ! -e new.dat
}

@test "delete_on_close: SIGTERM unmounts and removes, SIGKILL does not" {
    scatter_spec
    cp s.dat copy
    mpiio-mount -o delete_on_close s.json "$mnt"
    end_daemon KILL
    mpiio-umount "$mnt"
    cmp s.dat copy
    mpiio-mount -o delete_on_close s.json "$mnt"
    end_daemon TERM
    [ ! -e s.dat ]
}

@test "delete_on_close: another file with its name stays, and so does a file that was renamed" {
    scatter_spec
    mpiio-mount -o "delete_on_close,log=$tmp/log" s.json "$mnt"
    mv s.dat moved
    echo other >s.dat
    mpiio-umount "$mnt"
    [ "$(cat s.dat)" = other ]
    [ -s moved ]
    grep -qF 's.dat is not removed: another file has its name now' log
    mv moved s.dat
    mpiio-mount -o "delete_on_close,log=$tmp/log" s.json "$mnt"
    mv s.dat moved
    mpiio-umount "$mnt"
    [ -s moved ]
    grep -qF 's.dat is not removed: it has another name now' log
    # If the file is gone already, nothing is reported.
    mv moved s.dat
    : >log
    mpiio-mount -o "delete_on_close,log=$tmp/log" s.json "$mnt"
    rm s.dat
    mpiio-umount "$mnt"
    run ! grep -F removed log
}

@test "delete_on_close: a file that cannot be removed is refused, also one in a sticky directory of another user, which forbids it" {
    scatter_spec
    dd if=s.dat of=m0 bs=2048 count=1 status=none
    dd if=s.dat of=m1 bs=2048 skip=1 status=none
    complains 2 "mpiio-mount: --members: delete_on_close is not possible with an assembled file" \
        mpiio-mount -o delete_on_close --members 'm{member:1}' --pieces 'scatter 2048 on 2' --view 'scatter 8 on 2' "$mnt"
    # A directory that this user may not write to.
    mkdir closed open
    cp s.dat closed/s.dat
    chmod 666 closed/s.dat
    user_folder open
    complains 1 "mpiio-mount: $tmp/closed/s.dat: delete_on_close: the file cannot be removed: Permission denied" \
        as_user mpiio-mount -o delete_on_close -f closed/s.dat s.json open
    run ! is_mounted "$mnt"
    [ -e closed/s.dat ]
    truncate -s 1M disk.img
    device=$(as_root losetup --show -f disk.img)
    run ! mpiio-mount -o delete_on_close -f "$device" s.json "$mnt"
    as_root losetup -d "$device"
    [ "$output" = "mpiio-mount: $device: delete_on_close: the file cannot be removed: not a regular file" ]
    mkdir sticky
    chmod 1777 sticky
    cp s.dat sticky/s.dat
    chmod 666 sticky/s.dat
    complains 1 "mpiio-mount: $tmp/sticky/s.dat: delete_on_close: the file cannot be removed: Operation not permitted" \
        as_user mpiio-mount -o delete_on_close -f sticky/s.dat s.json open
    # The file's owner may remove it, and so may root.
    as_user cp s.dat sticky/own.dat
    as_user mpiio-mount -o delete_on_close -f sticky/own.dat s.json open
    as_user mpiio-umount open
    [ ! -e sticky/own.dat ]
    as_user cp s.dat sticky/own.dat
    mpiio-mount -o delete_on_close -f sticky/own.dat s.json "$mnt"
    mpiio-umount "$mnt"
    [ ! -e sticky/own.dat ]
}

@test "delete_on_close: the file is removed from its own directory, wherever the path leads by then" {
    scatter_spec
    mkdir own keep
    mv s.dat own
    ln own/s.dat keep/s.dat
    mpiio-mount -o delete_on_close -f own/s.dat s.json "$mnt"
    mv own moved
    ln -s keep own
    mpiio-umount "$mnt"
    [ -e keep/s.dat ]
    [ ! -e moved/s.dat ]
}

@test "delete_on_close: with several nodes, the last one removes it" {
    local first last
    for first in 0 1; do
        last=$((2 - 2 * first))
        spec 512
        start_nodes 3 -o delete_on_close
        head -c 512 /dev/urandom >m2/rank1
        mpiio-umount --node "m$first"
        [ -e f.dat ]
        cmp -n 512 f.dat <(head -c 512 /dev/zero)
        mpiio-umount "m$last"
        [ ! -e f.dat ]
        nothing_left
    done
    # Unmounts one by one.
    spec 512
    start_nodes 2 -o delete_on_close
    mpiio-umount --node m1
    [ -e f.dat ]
    mpiio-umount --node m0
    await test ! -e f.dat
    nothing_left
}

@test "delete_on_close: the file stays if a node was lost, and the log says so" {
    spec 512
    start_nodes 2 -o delete_on_close
    as_root kill -KILL "$(daemon_pid m1)"
    logged log 'node 1'
    as_root umount -l m1
    mpiio-umount --node m0
    [ -e f.dat ]
    grep -qF 'f.dat is not removed: the nodes have lost each other' log
    nothing_left
}
