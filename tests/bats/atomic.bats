#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Atomic mode: no call sees a part of another one, also through other nodes or programs that use
# locks.

load helper
load nodes

@test "atomic: set on all nodes, by attribute, while no slice is open" {
    spec 8
    head -c 3200 /dev/zero >f.dat
    start_nodes 2
    exec 5<m1/rank0
    one_line 1 "*Device or resource busy*" setfattr -n user.mpiio.atomicity -v 1 m0
    exec 5<&-
    printf 'dirty...' >m1/rank3
    setfattr -n user.mpiio.atomicity -v 1 m0
    [ "$(attribute m1 atomicity)" -eq 1 ]
    run -1 setfattr -n user.mpiio.atomicity -v 2 m0
    python atomicity
    # The written data is in the file already, and does not change its times later.
    touch -d '2001-02-03 04:05:06' m0/rank1
    [ "$(stat -c %Y m0/rank1)" -eq "$(date -d '2001-02-03 04:05:06' +%s)" ]
    setfattr -n user.mpiio.atomicity -v 0 m1
    [ "$(attribute m0 atomicity)" -eq 0 ]
    python writes_are_cached_again
    logged log "atomic mode is on"
    stop_nodes
}

@test "atomic: no call sees a part of another one, on any node, or of a program that uses the file itself" {
    all_and_dealt f.dat 16 '"atomic": true,' >s.json
    head -c 131072 /dev/zero >f.dat
    start_nodes 2
    python no_call_sees_a_part
    [ "$(stat_sum .lock_waits)" -gt 0 ]
    stop_nodes
}

@test "atomic: on one node with -o atomic; refused if the file has no locks" {
    spec 8
    mount_spec s.json -o atomic
    [ "$(attribute "$mnt" atomicity)" -eq 1 ]
    [ "$(attribute "$mnt" nodes)" -eq 1 ]
    printf 01234567 >"$mnt/rank0"
    printf more >>"$mnt/rank0"
    [ "$(head -c 8 f.dat)" = 01234567 ]
    setfattr -n user.mpiio.atomicity -v 0 "$mnt"
    [ "$(attribute "$mnt" atomicity)" -eq 0 ]
    umount_all
    cat >nolocks.c <<'END'
#include <errno.h>
#include <fcntl.h>
int fcntl64(int fd, int command, ...);
int fcntl64(int fd, int command, ...)
{
    (void)fd;
    (void)command;
    errno = ENOLCK;
    return -1;
}
END
    cc -shared -fPIC -o nolocks.so nolocks.c
    complains 1 "mpiio-fused: $tmp/f.dat: atomic mode: the filesystem has no file locks" \
        env LD_PRELOAD="$tmp/nolocks.so" "$MPIIO_SBIN/mpiio-fused" -o atomic s.json "$mnt" 3>&-
    run ! is_mounted
}

@test "atomic: a partial write of a converted value does not wait for its own access" {
    one_view l.dat 2 '{ "etype": "long_double", "datarep": "external32",
          "filetype": { "type": "scatter", "blocklength": 1 } }' >l.json
    : >l.dat
    mount_spec l.json -o atomic
    python parts_of_converted_values "$mnt"
}
