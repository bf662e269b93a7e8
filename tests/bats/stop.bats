#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The daemon exits: acknowledged bytes are in the file, and so are bytes that the kernel held back.

load helper

# Waits until some hundred writes are done.
under_way() {
    [ "$(wc -l <"done")" -gt 300 ]
}

@test "stop: acknowledged bytes are in the file when the daemon is killed" {
    local writer
    gaps_spec 0
    : >"done"
    mount_spec g.json
    /usr/bin/python3 "$call" what_was_acknowledged "$mnt" 3>&- &
    writer=$!
    await under_way
    end_daemon KILL
    wait "$writer"
    umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
    mount_spec g.json -o ro
    /usr/bin/python3 "$call" acknowledged_is_stored "$mnt"
}

# dirty HOW KIND: leaves 200000 dirty bytes in the kernel that the daemon has not received, in a slice
# that a process has open: by a mapping, or by writes that the kernel holds back. Then HOW ends the
# daemon.
dirty() {
    /usr/bin/python3 "$call" dirty "$mnt" "$1" "$2"
    run ! is_mounted
    mpiio-view cat b.json -r 1 | cmp -n 200000 - <(seq -f %07.0f 0 24999)
}

@test "stop: SIGTERM stores dirty mappings, and like unmounting what the kernel holds back (unique)" {
    mount_new blocks
    dirty term mapped
    mount_new blocks 4096 -o unique
    dirty term written
    mount_new blocks 4096 -o unique
    dirty umount written
}

# stop_under_load TIMES [COMMAND...]: mounts by mpiio-mount, which COMMAND runs. Six threads write
# the file, read a slice and fsync it. Stops the daemon by SIGTERM. Does all this TIMES times.
stop_under_load() {
    local left=$1 pid load
    shift
    for (( ; left > 0; left--)); do
        rm -f loaded
        "$@" "$MPIIO_BIN/mpiio-mount" b.json "$mnt" 3>&-
        pid=$("$@" jq .pid "$mnt/.mpiio/stats.json")
        "$@" timeout 300 /usr/bin/python3 "$tmp/call.py" load "$mnt/rank1" >loaded 3>&- &
        load=$!
        until [ -s loaded ] || ! kill -0 "$load"; do
            sleep 0.01
        done
        "$@" kill -TERM "$pid"
        gone "$pid"
        wait "$load"
        run ! is_mounted "$mnt"
    done
}

# Makes a slice to read, and the program for the load.
load_files() {
    blocks_spec 16777216
    cp "$topic" "$call" "$top/tests/programs/common.py" . # users may not see the source tree
}

@test "stop: a daemon is stopped while reads and fsyncs are in progress" {
    load_files
    stop_under_load 10 env
}

@test "stop: a user's daemon is stopped while reads and fsyncs are in progress" {
    load_files
    chmod 666 b.dat
    user_folder "$mnt"
    stop_under_load 10 as_user
}
