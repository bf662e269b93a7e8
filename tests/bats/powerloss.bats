#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Crashes of daemons, and losses of power below mounts. Acknowledged data survives as CRASHES in
# mpiio-fused(8) promises, no bytes appear that were never written, and the file can be mounted
# again. The disk is the filesystem of tests/powerloss, whose power can be cut. MPIIO_CRASHES sets
# the number of crashes of each kind (8), MPIIO_SEED the first seed.

load helper

crash() {
    PYTHONDONTWRITEBYTECODE=1 timeout -k 5 800 "$top/tests/let_go" /usr/bin/python3 \
        "$top/tests/powerloss/crash.py" "$@" 3>&-
}

# Prints the table of the manual, without its header, each column after one space.
promises() {
    sed -n '/^mount .*crash/,/^```/p' "$top/man/mpiio-fused.8.scd" | sed '1d;$d' | tr -s ' '
}

# keep MOUNT...: checks that crashes of these mounts keep exactly what the manual promises.
keep() {
    local row
    crash --rounds "${MPIIO_CRASHES:-8}" --seed "${MPIIO_SEED:-1}" "${@/#/--only=}" >kept
    tail -n +2 kept | tr -s ' ' >rows
    [ -s rows ]
    while read -r row; do
        promises | grep -qxF -- "$row" || {
            echo "not in the manual: $row" >&2
            return 1
        }
    done <rows
}

@test "powerloss: one node, through, back, direct and unique" {
    keep cache=through cache=back direct unique
}

@test "powerloss: a converted view, passthrough and mpiio-run" {
    keep external32 passthrough mpiio-run
}

@test "powerloss: members, and files that the mount creates" {
    keep create members members,create
}

@test "powerloss: a shared file pointer" {
    keep shared ordered
}

@test "powerloss: two nodes" {
    keep nodes nodes,atomic
}

@test "powerloss: two nodes, members and a shared file pointer" {
    keep nodes,members nodes,shared
}

@test "powerloss: the manual's table has these mounts" {
    [ "$(promises | cut -d ' ' -f 1,2)" = "$(crash --names)" ]
    run ! grep -E '^mount .*crash.{60}' "$top/man/mpiio-fused.8.scd"
}
