#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Attacks on root and on other users, by users who may mount: the test-bed is attacks.bash.

load helper
load attacks

setup() {
    begin_attack
}

# That the test-bed has teeth: what mallory gets of a program that is run carelessly.
@test "attacks: a program that root runs as the user on root's terminal is taken over" {
    snooped on_terminal setpriv --reuid games --regid games --clear-groups \
        sleep 1
    cat loot
    grep -q 'sleep: on a terminal$' loot
    grep -q 'sleep: descriptor 0 is /dev/pts/' loot
    grep -q 'sleep: environ$' loot
    grep -q 'sleep: traced$' loot
}

@test "attacks: a hostile filesystem passes for one of ours, and leaves when it is looked into" {
    folder_of mallory m
    folder_of mallory m/mnt
    hostile_stats nodes=3 >stats.json
    hostile "$tmp/m/mnt" stats="$tmp/stats.json" leave=/proc
    grep " $tmp/m/mnt .* - fuse.mpiio " /proc/self/mountinfo
    [ "$(as_mallory jq .nodes m/mnt/.mpiio/stats.json)" -eq 3 ]
    [ "$(readlink m/mnt)" = /proc ]
    nothing_left
}

@test "attacks: names that mallory puts beside alice's file lead capture nowhere" {
    folder_of alice own
    mkdir shared
    chmod 777 shared # and not sticky: the kernel does not look after its links
    cp "$MPIIO_BUILD/tests/capture/kinds" .
    as_alice bash -c 'echo mine >own/letter'
    # The name that alice's process takes, if it can be foreseen, is there before.
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

@test "attacks: mallory, in the group and denied by the list, reads and writes no slice and no spec" {
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
