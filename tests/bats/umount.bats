#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-umount if other mount namespaces have the mount, too, and how it finds the mount's daemon.

load helper

# has_copy PID: succeeds if the process's mount namespace, which is not the test's, also has the
# mount.
has_copy() {
    [ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ] &&
        grep -qF " $mnt " "/proc/$1/mountinfo"
}

in_namespace() {
    [ -n "$(marked sleep)" ]
}

# copy_mount: starts a process whose mount namespace also has the mount. $other is its number.
copy_mount() {
    as_root "$top/tests/let_go" --keep "$tmp" sleep 1000 3>&- &
    await in_namespace
    other=$(marked sleep)
    await has_copy "$other"
}

@test "mpiio-umount: reports a mount that another mount namespace has, too; -f ends it there" {
    local daemon other begun
    scatter_spec
    for force in '' -f; do
        mount_spec s.json
        daemon=$(daemon_pid)
        copy_mount
        begun=$SECONDS
        run -0 --separate-stderr timeout 300 mpiio-umount $force "$mnt"
        echo "$stderr; $((SECONDS - begun)) s"
        run ! is_mounted
        if [ -z "$force" ]; then
            [ "$stderr" = "mpiio-umount: $mnt: unmounted here, but still mounted in the mount namespace of sleep ($other); the daemon (process $daemon) keeps running (SIGTERM to it unmounts everywhere)" ]
            kill -TERM "$daemon"
        else
            [ -z "$stderr" ]
        fi
        gone "$daemon"
        as_root kill "$other"
        gone "$other"
    done
    # Mounts it a second time in this namespace.
    mkdir copy
    mount_spec s.json
    as_root mount --bind "$mnt" copy
    daemon=$(daemon_pid)
    run -0 --separate-stderr mpiio-umount "$mnt"
    [[ $stderr == *"still mounted "*"at $tmp/copy"*"; the daemon "* ]]
    mpiio-umount copy
    gone "$daemon"
}

@test "mpiio-umount: reports that a mount namespace of another user still has the mount" {
    local daemon other
    user_folder own
    scatter_spec
    mv s.json s.dat own
    mnt=$tmp/own/mnt
    as_user mkdir own/mnt
    as_user "$MPIIO_BIN/mpiio-mount" own/s.json own/mnt
    daemon=$(as_user cat own/mnt/.mpiio/stats.json | jq .pid)
    # Systems without systemd may not have it.
    local connections=/sys/fs/fuse/connections
    mountpoint -q $connections && connections='' || as_root mount -t fusectl fusectl $connections
    copy_mount
    complains 0 "mpiio-umount: own/mnt: unmounted here, but still mounted in a mount namespace of another user; the daemon (process $daemon) keeps running (SIGTERM to it unmounts everywhere)" \
        as_user timeout 300 "$MPIIO_BIN/mpiio-umount" own/mnt
    as_root kill "$other"
    gone "$other"
    gone "$daemon"
    [ -z "$connections" ] || as_root umount -l "$connections"
}

is_unmounted() {
    ! is_mounted
}

is_traced() {
    ! grep -q '^TracerPid:[[:space:]]*0$' "/proc/$1/status"
}

# mount_by_number SPEC NUMBER: mounts SPEC at other1, other2, ... until one of the mounts has that
# device number, and sets $place. The kernel assigns the lowest free number. Fails if another
# program, such as a test that runs beside this one, got the number.
mount_by_number() {
    for place in other{1..9}; do
        mkdir -p "$place"
        mpiio-mount "$1" "$place"
        [ "$(stat -c %d "$place")" != "$2" ] || return 0
    done
    return 1
}

unmount_others() {
    for place in other*; do
        ! is_mounted "$place" || mpiio-umount "$place"
    done
}

# until_it_is_free COMMAND: runs the command again if another program got the number (status 9).
until_it_is_free() {
    local status
    for _ in {1..20}; do
        status=0
        "$1" || status=$?
        [ "$status" -eq 9 ] || return "$status"
    done
    return 1
}

# Delays the daemon's exit, because mpiio-umount only looks for other users of the mount after 5 s.
number_of_one_that_goes() {
    local daemon number umounting found=0
    mount_spec s.json || return
    daemon=$(daemon_pid)
    number=$(stat -c %d "$mnt")
    as_root strace -f -p "$daemon" -o strace.log -e trace=exit_group \
        -e inject=exit_group:delay_enter=8000000 2>/dev/null 3>&- &
    await is_traced "$daemon" || return
    mpiio-umount "$mnt" 2>err 3>&- &
    umounting=$!
    await is_unmounted || return
    mount_by_number g.json "$number" || found=9
    wait "$umounting" || return
    unmount_others || return
    [ ! -s err ] || return 1
    gone "$daemon" || return
    return "$found"
}

@test "mpiio-umount: another mount that gets the number of the one being unmounted is not confused with it" {
    scatter_spec
    gaps_spec
    until_it_is_free number_of_one_that_goes
}

# The first daemon is frozen when its mount ends, so it keeps running, with its connection.
number_of_a_frozen_one() {
    local first second number place
    mount_spec s.json || return
    first=$(daemon_pid)
    number=$(stat -c %d "$mnt")
    stop_process "$first" || return
    as_root umount -l "$mnt" || return
    if mount_by_number s.json "$number"; then
        second=$(daemon_pid "$tmp/$place")
        mpiio-umount -f "$place" || return
        gone "$second" || return
        ! has_ended "$first" || return 1
    else
        second=
    fi
    kill -CONT "$first"
    gone "$first" || return
    unmount_others || return
    [ -n "$second" ] || return 9
}

@test "mpiio-umount: -f does not end a daemon that got the number of the mount's connection" {
    scatter_spec
    until_it_is_free number_of_a_frozen_one
}

@test "mpiio-umount: waits for a mount namespace that has the mount for a moment" {
    local other
    mount_new scatter
    copy_mount
    {
        await is_unmounted
        sleep 0.5
        as_root kill "$other"
    } 3>&- &
    mpiio-umount "$mnt"
    wait
}

# nobody_is_seen LOG DELAY: uses root's mount through another mount on a slice, which no process has
# open. Begins to unmount it; each try is DELAY microseconds late. Returns when the mount was found
# in use. $umounting is the number of mpiio-umount.
nobody_is_seen() {
    as_root "$MPIIO_BIN/mpiio-mount" s.json "$mnt"
    as_root mount --bind s.json "$mnt/rank0"
    as_root strace -f -qq -o "$1" -e trace=umount2 -e inject=umount2:delay_enter="$2" \
        "$MPIIO_BIN/mpiio-umount" "$mnt" 2>said 3>&- &
    umounting=$!
    logged "$1" EBUSY
}

@test "mpiio-umount: waits for an invisible user of the mount for a moment, and no longer" {
    local umounting
    scatter_spec
    nobody_is_seen log 500000
    as_root umount "$mnt/rank0"
    wait "$umounting"
    [ ! -s said ]
    run ! is_mounted
    nobody_is_seen log2 1
    wait "$umounting" && return 1
    [ "$(<said)" = "mpiio-umount: $mnt: busy (-f unmounts it all the same)" ]
    [ "$(grep -c EBUSY log2)" -gt 10 ]
    as_root umount "$mnt/rank0"
    as_root "$MPIIO_BIN/mpiio-umount" "$mnt"
}

@test "mpiio-umount: finds the daemon even if the kernel does not show who owns a connection" {
    local pid info state
    scatter_spec
    for state in answers stopped; do
        mount_spec s.json
        pid=$(daemon_pid)
        info=$(find "/proc/$pid/fd" -lname /dev/fuse -printf '/proc/%P\n')
        info=/proc/$pid/fdinfo/${info##*/}
        [ "$state" = answers ] || kill -STOP "$pid"
        as_root strace -f -o strace.log -P "$info" -e inject=openat:error=EACCES \
            "$(type -P mpiio-umount)" -f "$mnt" 3>&-
        grep -q 'EACCES.*INJECTED' strace.log
        has_ended "$pid"
    done
}

@test "mpiio-umount: reports the whole reason of fusermount3" {
    user_folder own
    as_user true # makes /dev/fuse accessible
    scatter_spec
    chmod 666 s.dat
    cp -a /etc etc
    rm etc/mtab
    # shellcheck disable=SC2016 # for the other shell
    as_root "$top/tests/let_go" --keep "$tmp" bash -euc '
        as_nobody() { HOME=$tmp setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
        as_nobody mpiio-mount s.json own
        mount --bind etc /etc
        as_nobody mpiio-umount own || true
        umount /etc
        as_nobody mpiio-umount own' 2>err 3>&-
    [ "$(<err)" = "mpiio-umount: own: cannot unmount: failed to open /etc/mtab: No such file or directory (ln -s /proc/self/mounts /etc/mtab creates it)" ]
}
