#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Attacks on root and on other users, by users who may mount. The testbed is attacks.bash.

load helper
load attacks

setup() {
    begin_attack
}

# Checks the test itself: mallory takes over a program that is run carelessly.
@test "attacks: a program that root runs as the user on root's terminal is taken over" {
    snooped on_terminal setpriv --reuid games --regid games --clear-groups \
        sleep 3
    cat loot
    grep -q 'sleep: on a terminal$' loot
    grep -q 'sleep: descriptor 0 is /dev/pts/' loot
    grep -q 'sleep: environ$' loot
    grep -q 'sleep: traced$' loot
}

@test "attacks: a hostile filesystem looks like one of ours, and unmounts itself when a program looks inside" {
    folder_of mallory m
    folder_of mallory m/mnt
    hostile_stats nodes=3 >stats.json
    hostile "$tmp/m/mnt" stats="$tmp/stats.json" leave=/proc
    grep " $tmp/m/mnt .* - fuse.mpiio " /proc/self/mountinfo
    [ "$(as_mallory jq .nodes m/mnt/.mpiio/stats.json)" -eq 3 ]
    [ "$(readlink m/mnt)" = /proc ]
    nothing_left
}

@test "attacks: names that mallory puts beside alice's file do not redirect capture" {
    folder_of alice own
    mkdir shared
    chmod 777 shared # and not sticky, so the kernel does not protect its links
    cp "$MPIIO_BUILD/tests/capture/kinds" .
    as_alice bash -c 'echo mine >own/letter'
    # If mallory can predict the name that alice's process will use, he has created it already.
    cat >captured <<'SHELL'
echo $$ >shared/number
until [ -e shared/planted ]; do sleep 0.05; done
cd own && exec ../kinds darray ../shared/data
SHELL
    as_alice env PATH="$PATH" mpiio-view capture bash captured >out 2>&1 &
    await test -s shared/number
    # shellcheck disable=SC2016 # for mallory's shell
    as_mallory bash -c 'ln -s ../own/letter shared/data.view.json
        ln -s ../own/letter "shared/data.view.json.$(hostname).$(cat shared/number)"
        touch shared/planted'
    wait $! || [ $? -eq 3 ]
    grep -q 'wrote .*/shared/data.view.json: 1 rank, 1 view' out
    [ "$(as_alice cat own/letter)" = mine ]
    [ "$(stat -c %U shared/data.view.json)" = "${attack_users[alice]}" ]
}

@test "attacks: mallory, in the group but denied by the access control list, reads and writes no slice and no spec" {
    local group
    group=$(id -g "${attack_users[mallory]}")
    scatter_spec
    as_root chgrp "$group" s.dat s.json
    chmod 660 s.dat s.json
    setfacl -m "u:${attack_users[mallory]}:---" s.dat s.json
    cp s.dat before.dat
    mount_spec s.json -o allow_other
    run ! as_mallory cat "$mnt/rank0"
    run ! as_mallory bash -c "echo x >'$mnt/rank0'"
    run ! as_mallory truncate -s 9000 "$mnt/rank3"
    run ! as_mallory touch "$mnt/rank0"
    run ! as_mallory getfattr -n user.mpiio.filetype "$mnt/rank0"
    run ! as_mallory setfacl -b "$mnt/rank0"
    run ! as_mallory setfattr -n user.mpiio.atomicity -v 1 "$mnt"
    run ! as_mallory cat "$mnt/.mpiio/spec.json"
    cmp s.dat before.dat
    cmp "$mnt/rank0" <(mpiio-view cat s.json -r 0)
}

@test "attacks: mallory, who may only read, does not move the shared file pointer of a writable mount" {
    make_file s.dat 4096
    echo '{ "viewspec": 1, "file": "s.dat", "ranks": 2, "view": { "etype": "double" } }' >s.json
    chmod 644 s.dat
    mount_spec s.json -o allow_other
    head -c 800 /dev/zero >"$mnt/shared"
    run ! as_mallory setfattr -n user.mpiio.shared_position -v 0 "$mnt/shared"
    one_line 1 "*Permission denied" as_mallory getfattr -n user.mpiio.shared_seek.0 "$mnt/shared"
    [ "$(attribute "$mnt/shared" shared_position)" = 100 ]
    # Users with write permission move it, as the manual says.
    chmod 666 s.dat
    as_mallory setfattr -n user.mpiio.shared_position -v 7 "$mnt/shared"
    [ "$(attribute "$mnt/shared" shared_position)" = 7 ]
    mpiio-umount "$mnt"
    # On a read-only mount every reader moves it.
    mount_spec s.json -o allow_other,ro
    as_mallory getfattr -n user.mpiio.shared_seek.5 "$mnt/shared"
    [ "$(attribute "$mnt/shared" shared_position)" = 5 ]
}

@test "attacks: a write through root's mount clears the bits of a set-user-ID program" {
    local option
    dealt s.dat 2 8 >s.json
    for option in cache=through cache=back; do
        make_file s.dat 65536
        mount_spec s.json -o "allow_other,$option"
        chmod 6777 s.dat
        # Runs of 8 bytes are stored through a mapping.
        as_mallory dd if=/dev/zero of="$mnt/rank1" bs=4096 count=4 conv=notrunc,fsync status=none
        [ "$(stat -c %a s.dat)" = 777 ]
        chmod 4777 s.dat
        as_mallory truncate -s 60000 "$mnt/rank0"
        mpiio-umount "$mnt"
        [ "$(stat -c %a s.dat)" = 777 ]
    done
    # Members, and writes by mpiio-view put.
    head -c 4096 s.dat >m0
    head -c 4096 s.dat >m1
    mpiio-mount -o allow_other --members 'm{member:1}' --pieces 'scatter 4096 on 2' --view 'scatter 8 on 2' "$mnt"
    chmod 6777 m0 m1
    as_mallory dd if=/dev/zero of="$mnt/rank0" bs=4096 count=1 conv=notrunc status=none
    [ "$(stat -c %a m0 m1 | xargs)" = '777 777' ]
    chmod 6777 s.dat
    head -c 4096 /dev/zero | as_mallory "$MPIIO_BIN/mpiio-view" put "$tmp/s.json" -r 0
    [ "$(stat -c %a s.dat)" = 777 ]
}

# All of our processes that look into a mount of mallory's for root run with his user number, but
# nothing in them is his to use. (If the test could not find them, it would prove nothing.)
@test "attacks: root's mpiio-umount gives the user who mounted neither its terminal nor its descriptors" {
    folder_of mallory m
    hostile_stats >stats.json
    hostile "$tmp/m" stats="$tmp/stats.json" hang=fsync log=/dev/null
    snooped on_terminal timeout 300 mpiio-umount -f "$tmp/m"
    cat terminal loot
    grep '^saw ' loot
    run ! grep ': ' loot
    nothing_left
}

@test "attacks: root's mpiio-umount does not follow a link that replaces the mount" {
    local force
    folder_of mallory m
    mkdir system
    as_root mount -t tmpfs tmpfs system
    hostile_stats >stats.json
    for force in '' -f; do
        rm -f m/mnt
        folder_of mallory m/mnt
        hostile "$tmp/m/mnt" stats="$tmp/stats.json" leave="$tmp/system" log="$tmp/m/log"
        timeout 300 mpiio-umount $force "$tmp/m/mnt" || true
        is_mounted system
        await as_root grep -qx left m/log
        nothing_left
    done
}

@test "attacks: root's mpiio-umount does not unmount another mount that replaces the mount" {
    folder_of mallory m
    folder_of mallory m/mnt
    hostile_stats >stats.json
    hostile "$tmp/m/mnt" stats="$tmp/stats.json" hang=fsync log="$tmp/m/log"
    mpiio-umount "$tmp/m/mnt" 2>err 3>&- &
    await as_root grep -qsx fsync m/log
    as_mallory fusermount3 -uz "$tmp/m/mnt"
    as_root mount -t tmpfs tmpfs m/mnt
    as_root kill -KILL "$(marked hostile)"
    wait $!
    is_mounted m/mnt
}

@test "attacks: mpiio-umount -f kills no daemon except the mount's own" {
    local victim bystander pid
    folder_of mallory m
    # Another user's daemon, and one of mallory's.
    mount_new scatter
    victim=$(daemon_pid)
    folder_of mallory other
    as_mallory "$(type -P mpiio-mount)" -o ro "$tmp/s.json" "$tmp/other"
    bystander=$(as_mallory jq .pid other/.mpiio/stats.json)
    for pid in "$victim" "$bystander" 1 "$$"; do
        hostile_stats "pid=$pid" >stats.json
        hostile "$tmp/m" stats="$tmp/stats.json"
        as_mallory head -c 1 m/.mpiio/stats.json
        timeout 300 mpiio-umount -f "$tmp/m"
        await none_marked hostile
        run ! has_ended "$victim"
        run ! has_ended "$bystander"
        is_mounted
        as_mallory stat other/rank0
    done
}

@test "attacks: mpiio-umount -f ends, whichever call a hostile mount does not answer" {
    local call begun
    folder_of mallory m
    hostile_stats nodes=2 >stats.json
    for call in read getxattr fsync; do
        hostile "$tmp/m" stats="$tmp/stats.json" hang="$call" value=x
        begun=$SECONDS
        timeout 300 mpiio-umount -f "$tmp/m"
        echo "$call: $((SECONDS - begun)) s"
        run ! grep " $tmp/m " /proc/self/mountinfo
        nothing_left
    done
}

@test "attacks: output from a hostile mount is bounded, and its control characters reach no terminal" {
    folder_of mallory m
    local word
    hostile_stats nodes=2 >stats.json
    hostile "$tmp/m" stats="$tmp/stats.json" refuse value=$'\e]0;owned\a\nline\r\xc2\x9b2J'
    run -1 --separate-stderr mpiio-umount "$tmp/m"
    [ "$stderr" = "mpiio-umount: $tmp/m: ?]0;owned?
mpiio-umount: $tmp/m: line??2J" ]
    run -0 --separate-stderr mpiio-umount -f "$tmp/m"
    nothing_left
    hostile_stats >stats.json
    for word in endless stats=/dev/zero; do
        hostile "$tmp/m" "$word"
        run -0 --separate-stderr timeout 300 mpiio-umount "$tmp/m"
        nothing_left
    done
    printf '{"pid": -1, "nodes": 99999999999999999999, "state": "ok", "lost_bytes": "x"' >stats.json
    hostile "$tmp/m" stats="$tmp/stats.json"
    run -0 --separate-stderr timeout 300 mpiio-umount "$tmp/m"
    nothing_left
}

@test "attacks: at mount points of another user, mpiio-umount may do no more than that user" {
    scatter_spec
    folder_of alice a
    as_alice "$(type -P mpiio-mount)" -o ro "$tmp/s.json" "$tmp/a"
    run -1 --separate-stderr as_mallory "$(type -P mpiio-umount)" "$tmp/a"
    [[ $stderr == "mpiio-umount: $tmp/a: cannot sync: Permission denied (only user "[0-9]*" or root can unmount it); still mounted" ]]
    run -1 --separate-stderr as_mallory "$(type -P mpiio-umount)" -f "$tmp/a"
    echo "$stderr"
    as_alice stat a/rank0
    # Root may unmount, also by a link of mallory's: the mount that the link names is unmounted.
    ln -s "$tmp/a" link
    mpiio-umount link
    run ! grep " $tmp/a " /proc/self/mountinfo
    [ -L link ]
}

# what_is_open: prints the descriptors behind standard error of the processes that the test has
# left.
what_is_open() {
    local process
    for process in $(marked); do
        as_root find "/proc/$process/fd" -printf "$(<"/proc/$process/comm") %f %l\n"
    done | awk '$2 > 2'
}

# holds_nothing COMMAND...: the command mounts at $mnt. Then none of its caller's descriptors is
# open.
holds_nothing() {
    exec 9>lock
    flock 9
    "$@"
    exec 9>&-
    grep -F " $mnt " /proc/self/mountinfo # root may not look into a user's mount
    what_is_open >open
    run ! grep -F "$tmp/lock" open
    flock -n lock true
    mpiio-umount "$mnt"
    nothing_left
}

@test "attacks: the daemon and its helpers do not inherit the descriptors of the user who mounts" {
    scatter_spec
    chmod 666 s.dat
    holds_nothing mpiio-mount s.json "$mnt"
    holds_nothing mpiio-fused s.json "$mnt"
    holds_nothing mount.fuse.mpiio s.json "$mnt"
    holds_nothing mpiio-mount -o store=mpiio s.json "$mnt"
    user_folder "$mnt"
    holds_nothing as_user "$MPIIO_BIN/mpiio-mount" s.json "$mnt"
    # If 0, 1 and 2 are closed, no file of the daemon gets one of these numbers.
    mpiio-fused s.json "$mnt" <&- >&- 2>&-
    [ "$(as_root readlink /proc/"$(daemon_pid)"/fd/{0,1,2} | sort -u)" = /dev/null ]
    mpiio-umount "$mnt"
    # A spec may be one of the caller's descriptors.
    mpiio-mount -f "$tmp/s.dat" /dev/fd/7 "$mnt" 7<s.json
    cmp "$mnt/rank1" <(mpiio-view cat s.json -r 1)
    mpiio-umount "$mnt"
}

@test "attacks: a reader of the mount command's output does not wait for the daemon to exit" {
    local how
    scatter_spec
    for how in '' '-o store=mpiio'; do
        # shellcheck disable=SC2016 # for that shell
        gives "[]" timeout 300 bash -c 'echo "[$(mpiio-mount $1 s.json "$2" 2>&1 7>&1)]"' sh "$how" "$mnt"
        is_mounted
        mpiio-umount "$mnt"
    done
}

# says STATUS COMMAND...: the command fails with this status and prints a single line. The line is
# safe for a terminal, and still has the readable parts of $evil.
says() {
    local status=0
    "${@:2}" >out 2>err || status=$?
    cat -v err
    [ "$status" -eq "$1" ]
    /usr/bin/python3 - err <<'END'
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode()
assert text.endswith("\n") and text.count("\n") == 1, text
assert not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in text[:-1]), text
assert "ö" in text, text
END
}

@test "attacks: control characters of names, paths and specs reach no terminal and no log" {
    # ESC, line ends, DEL, CSI as a character and as a byte, invalid UTF-8, and valid UTF-8.
    local evil=$'e\e[2Jv\ni\rl\x7f\xc2\x9b31m\x9b\xff_ö'
    scatter_spec
    cp s.json "$evil.json"
    says 2 mpiio-mount "$evil" "$mnt"
    says 1 mpiio-mount s.json "$evil"
    says 1 mpiio-mount -f "$evil" s.json "$mnt"
    says 2 mpiio-mount -D "$evil" s.json "$mnt"
    says 2 mpiio-mount -o "cache=$evil" s.json "$mnt"
    says 2 mpiio-mount --hosts="$evil" s.json "$mnt"
    says 2 mpiio-mount "--$evil" s.json "$mnt"
    says 2 mpiio-mount --view $'e\e[2J\x7f\xc2\x9b31m_ö' s.dat "$mnt"
    says 2 mpiio-mount -o store=mpiio "$evil" "$mnt"
    says 2 mpiio-fused "--$evil" s.json "$mnt"
    says 1 mpiio-umount "$evil"
    says 2 mpiio-view check "$evil"
    says 2 mpiio-view "$evil"
    says 2 mpiio-view cat -r 0 -v "$evil" s.json
    says 127 mpiio-view capture "$evil"
    # The output of mpiexec may be another user's, too.
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\nprintf "%%s\\n" "$EVIL" >&2\nexit 1\n' >tell
    chmod +x tell
    EVIL=${evil//$'\n'/} MPIIO_MPIEXEC=$tmp/tell says 1 mpiio-mount -o store=mpiio s.json "$mnt"
    # A key of the spec, and a view that is found to be wrong only when it is used.
    printf '{ "viewspec": 1, "file": "s.dat", "k\\u001b[2J\\n\\u007f\\u009b\\u202e_ö": 1, "view": {} }' \
        >key.json
    says 2 mpiio-view check key.json
    says 2 mpiio-mount key.json "$mnt"
    printf '%s' '{ "viewspec": 1, "file": "s.dat", "ranks": 5000, "view": {
        "disp": "(rank - 7) * (rank - 7) - 1" } }' >"$evil.json"
    mpiio-mount -o "log=$tmp/log" "$evil.json" "$mnt"
    run ! cat "$mnt/rank7"
    mpiio-umount "$mnt"
    says 0 sh -c 'cat log >&2'
}
