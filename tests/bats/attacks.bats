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
