#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view top: the activity of mounts, as a table and for Prometheus.

load helper

@test "top: a row for each mount, with the bytes read and written in a second; all numbers of stats.json for Prometheus, in a file that is replaced atomically" {
    mount_new blocks 4096
    run -0 mpiio-view top -d 0.2 -c 1 "$mnt"
    [ "$(sed -n 1p <<<"$output" | xargs)" = \
        "READ/s WRITE/s IN/s OUT/s CALLS/s DIRTY POOL NODES STATE MOUNT POINT" ]
    read -r -a row <<<"${lines[1]}"
    [ "${row[7]} ${row[8]} ${row[9]}" = "1 ok $mnt" ]
    ln -s "$mnt" link
    run -0 mpiio-view top -d 0.2 -c 1 link mnt
    [ "${#lines[@]}" -eq 2 ] # one mount
    [[ ${lines[1]} == *" ok "*" $mnt" ]]
    # Reads and writes while top looks. The first four columns are checked.
    while :; do
        dd if="$mnt/rank1" of=/dev/null bs=4k iflag=direct status=none
        dd if=/dev/zero of="$mnt/rank2" bs=4k count=1 conv=notrunc status=none
    done 3>&- &
    load=$!
    run -0 mpiio-view top -d 1 -c 1 mnt/
    kill "$load"
    read -r -a row <<<"${lines[1]}"
    [ "${row[0]}" != 0 ]
    [ "${row[1]}" != 0 ]
    [ "${row[4]}" != 0 ]
    cat "$mnt/rank0" >/dev/null
    ln -s elsewhere mpiio.prom
    fails 1 "mpiio.prom: is there already, and not a regular file" \
        mpiio-view top --prometheus -o mpiio.prom "$mnt"
    rm mpiio.prom
    echo old >mpiio.prom
    gives '' mpiio-view top --prometheus -o mpiio.prom "$mnt"
    /usr/bin/python3 "$call" all_numbers_of_stats_json "$mnt"
    ram_disk 64k
    echo old >disk/mpiio.prom
    fill_disk
    fails 1 "disk/mpiio.prom: No space left on device" mpiio-view top --prometheus -o disk/mpiio.prom "$mnt"
    [ "$(cat disk/mpiio.prom)" = old ]
    [ "$(find disk -type f | sort | xargs -n 1 basename | xargs)" = "ballast mpiio.prom" ]
}

# The daemon has received the request when it stops. Then no signal ends the process that waits for
# it.
@test "top: a daemon that does not answer does not block it, and the others are reported" {
    blocks_spec 4096
    mkdir other
    mount_spec b.json
    mpiio-mount b.json other
    pid=$(daemon_pid)
    as_root strace -f -p "$pid" -o strace.log -e trace=read \
        -e inject=read:delay_exit=100000000 2>strace.err 3>&- &
    tracer=$!
    logged strace.err "Process $pid attached" # all its threads
    run -0 timeout 300 mpiio-view top -d 0.1 -c 1 "$mnt" other
    as_root kill "$tracer"
    [[ ${lines[1]} == *" no answer $mnt" ]]
    [[ ${lines[2]} == *" ok "*" $tmp/other" ]]
}

# has_no_zombies PID: succeeds while no child of the process is a zombie.
has_no_zombies() {
    [[ $(ps --ppid "$1" -o stat=) != *Z* ]]
}

# tables COUNT: succeeds once top has printed that many tables.
tables() {
    [ "$(grep -c 'MOUNT POINT' tables)" -ge "$1" ]
}

# A stopped daemon blocks a child of top until its mount is gone from the table. Then top gives it
# up.
@test "top: children that were given up do not stay as zombies" {
    mount_new blocks 4096
    stop_process "$(daemon_pid)"
    mpiio-view top -d 0.1 >tables 3>&- &
    watcher=$!
    logged tables "no answer $mnt"
    as_root umount -l "$mnt"
    count=$(grep -c 'MOUNT POINT' tables)
    await tables $((count + 3)) # the last ones without the mount
    run ! grep -qF "$mnt" <(tac tables | sed '/MOUNT POINT/q')
    within=60 await has_no_zombies "$watcher"
    kill "$watcher"
}

# hostile_top WORD...: prints the output of root's mpiio-view top, as a table and for Prometheus,
# for a mount of nobody's with allow_other: tests/attacks/hostile.c has the words.
hostile_top() {
    local pid
    user_folder "$mnt"
    cp "$MPIIO_BUILD/tests/attacks/hostile" .
    echo user_allow_other >fuse.conf
    as_user true # makes /dev/fuse accessible
    # shellcheck disable=SC2016 # for the other shell
    as_root "$top/tests/let_go" --keep "$tmp" bash -c '
        mount --bind fuse.conf /etc/fuse.conf
        setpriv --reuid nobody --regid nogroup --clear-groups ./hostile "$@" &
        until grep -q " $1 " /proc/self/mountinfo; do sleep 0.05; done
        mpiio-view top -d 0.1 -c 1 "$1" && mpiio-view top --prometheus "$1"
        umount "$1"' top "$mnt" other "$@" 3>&-
}

@test "top: root follows no link of a user's mount, and reads with that user's permissions" {
    echo '{ "nodes": 77 }' >secret
    chmod 600 secret
    run -0 hostile_top "link=$tmp/secret"
    run ! grep 77 <<<"$output"
    run -0 hostile_top link=/dev/zero
    grep -q 'mpiio_up.* 0$' <<<"$output"
}

@test "top: names from a hostile mount reach neither the terminal nor the metrics" {
    jq -n '{ nodes: 3, cluster: { state: "\u001b]0;owned\u0007" },
        requests: { "read\"} 1\nmpiio_up{mountpoint=\"/x\"} 1\n#": 2, write: 5 } }' >stats.json
    run -0 hostile_top "stats=$tmp/stats.json"
    cat -v <<<"$output"
    grep -q 'kind="write"} 5' <<<"$output"
    grep -q " 3  unknown   $mnt" <<<"$output"
    run ! grep -E 'owned|/x' <<<"$output"
    run -0 hostile_top endless
    grep -q 'mpiio_up.* 0$' <<<"$output"
}

@test "top: a path that is not a mount, and wrong usage" {
    fails 1 "$mnt: no mount of mpiio-mount" mpiio-view top "$mnt"
    run -1 mpiio-view top nowhere
    misused "-d 0: expected seconds, 0.1 .. 86400" top -d 0
    misused "-c 99999999999999999999: expected a number of tables" top -c 99999999999999999999
    misused "--count: the value is missing" top --count
    run -2 mpiio-view top -o file
    misused "--bogus: no such option" top --bogus
    run -0 mpiio-view top --help
}
