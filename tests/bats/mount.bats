#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The main function: the mount shows the bytes that MPI ranks wrote.

load helper

# write_demo ROWS COLUMNS RANKS: an MPI program writes field.dat in the working directory: 2-D
# doubles in blocks behind 64 bytes. It also writes rankN.expected. field.json is the spec.
write_demo() {
    local psizes=([1]="1, 1" [2]="2, 1" [3]="3, 1" [4]="2, 2" [6]="3, 2")
    mpi_run "$3" "$MPIIO_BUILD/tests/mpi/write_demo" field.dat "$1" "$2"
    cat >field.json <<END
{ "viewspec": 1, "file": "field.dat", "ranks": $3,
  "view": { "disp": 64, "etype": "double",
            "filetype": { "type": "darray", "gsizes": [$1, $2], "psizes": [${psizes[$3]}],
                          "distribs": ["block", "block"], "dargs": [null, null],
                          "order": "C" } } }
END
}

# shows_what_was_written RANKS: each rank's slice is what that rank wrote.
shows_what_was_written() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        cmp "$mnt/rank$rank" "rank$rank.expected"
    done
}

# own_spec: goes to a directory of the user of as_user, with scatter_spec's files and a directory mnt.
own_spec() {
    user_folder own
    cd own || return
    (scatter_spec)
    user_folder mnt
}

@test "mount: each rank's slice is what that rank wrote" {
    write_demo 7 10 4
    mount_spec field.json
    [ "$(ls "$mnt")" = $'rank0\nrank1\nrank2\nrank3' ]
    shows_what_was_written 4
}

@test "mount: large blocks, uneven edges, six ranks" {
    write_demo 1201 997 6
    mount_spec field.json
    shows_what_was_written 6
    shows_what_was_written 6 # from the kernel's pages
}

@test "mount: a rank that owns nothing has an empty slice" {
    write_demo 2 5 6
    [ ! -s rank4.expected ]
    mount_spec field.json
    shows_what_was_written 6
    [ "$(stat -c %s "$mnt/rank4")" -eq 0 ]
}

@test "mount: usable when mpiio-mount returns, twenty times in a row" {
    local i
    scatter_spec
    for ((i = 0; i < 20; i++)); do
        mount_spec s.json
        cmp <(head -c 512 s.dat) <(head -c 512 "$mnt/rank0")
        mpiio-umount "$mnt"
    done
}

@test "mount: an unprivileged user mounts, reads and unmounts, and so does root; a file that may not be opened, and a limit, are named" {
    local pid
    own_spec
    chmod 644 s.dat s.json
    as_user mpiio-mount s.json mnt
    [ "$(findmnt -n -o FSTYPE "$PWD/mnt")" = fuse.mpiio ]
    as_user cmp -n 512 s.dat mnt/rank0
    pid=$(as_user cat mnt/.mpiio/stats.json | jq .pid)
    [ "$(stat -c %u "/proc/$pid")" -ne 0 ]
    as_user mpiio-umount mnt
    gone "$pid"
    run ! is_mounted mnt
    as_user mpiio-mount s.json mnt
    pid=$(as_user cat mnt/.mpiio/stats.json | jq .pid)
    as_root "$(type -P mpiio-umount)" mnt
    has_ended "$pid"
    as_root chown root s.dat
    as_root chmod 600 s.dat
    one_line 1 "mpiio-mount: *s.dat: Permission denied" as_user mpiio-mount s.json mnt
    run ! is_mounted mnt
    local processes="too many processes and threads (raise the limit with ulimit -u)"
    as_root chown nobody s.dat
    complains 1 "mpiio-mount: cannot start: $processes" as_user prlimit --nproc=2 mpiio-mount s.json mnt
    one_line 1 "mpiio-fused: mnt: cannot mount: *: $processes" as_user prlimit --nproc=1 mpiio-fused s.json mnt
    fails 1 "capture: $processes" as_user prlimit --nproc=1 mpiio-view capture -o . true
    complains 1 "mpiio-mount: cannot start: too many open files (raise the limit with ulimit -n)" \
        as_user prlimit --nofile=10 mpiio-mount s.json mnt
    run ! is_mounted mnt
}
