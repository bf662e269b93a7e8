# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# An attacker's testbed. Load it after helper. Besides root there are two unprivileged users: alice,
# who is careful, and mallory, who attacks. Needs root.
#
#   as_alice, as_mallory COMMAND...   runs it as that user, without descriptors of the test
#   folder_of USER NAME               makes a directory that belongs to the user
#   hostile MOUNTPOINT [WORD]...      mallory mounts a filesystem that looks like one of ours and
#                                     attacks programs that look inside: tests/attacks/hostile.c
#   hostile_stats [KEY=VALUE]...      prints a stats.json for it, of one node; VALUE is JSON
#   snooped COMMAND...                runs it while mallory attacks every process of the test that
#                                     starts with his user number (tests/attacks/snoop.py); the file
#                                     loot has what he gets
#   on_terminal COMMAND...            runs it as root on a terminal of its own, as an administrator
#                                     would; the file "terminal" has its output

# Users by their roles here. Every Debian system has these users, and no other test uses them.
declare -gA attack_users=([alice]=mail [mallory]=games)

# Call this in a file's setup.
begin_attack() {
    begin_test
    umask 022
    as_user true # makes /dev/fuse accessible to users
    cp "$MPIIO_BUILD/tests/attacks/hostile" "$top/tests/attacks/snoop.py" .
    chmod 755 hostile snoop.py
}

as_someone() {
    local user=${attack_users[$1]}
    as_root env HOME=/nonexistent setpriv --reuid "$user" --regid "$(id -g "$user")" \
        --clear-groups "${@:2}" 3>&-
}

as_alice() {
    as_someone alice "$@"
}

as_mallory() {
    as_someone mallory "$@"
}

folder_of() {
    local user=${attack_users[$1]}
    mkdir -p "$2"
    as_root chown "$user:$(id -g "$user")" "$2"
}

hostile() {
    as_mallory "$tmp/hostile" "$@" </dev/null >hostile.out 2>&1 &
    # Other users, including root, may not look inside.
    await grep -qF " $1 " /proc/self/mountinfo
}

hostile_stats() {
    local word stats='{ "pid": 1, "nodes": 1, "cluster": {"state": "ok"}, "lost_bytes": 0 }'
    for word in "$@"; do
        stats=$(jq --argjson value "${word#*=}" ".${word%%=*} = \$value" <<<"$stats")
    done
    printf '%s\n' "$stats"
}

snooped() {
    local snoop status=0
    rm -f loot snooped
    as_mallory /usr/bin/python3 "$tmp/snoop.py" "$tmp/snooped" $$ >loot 2>&1 &
    snoop=$!
    logged loot ready
    "$@" || status=$?
    touch snooped
    wait "$snoop"
    return "$status"
}

on_terminal() {
    as_root script -qefc "${*@Q}" terminal </dev/null >/dev/null 3>&-
}
