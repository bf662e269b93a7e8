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

# judge: compares the rows of all crashes so far with the manual's. Status 1: something was lost that
# the manual promises to keep, or a row is not in the manual; 2: what may be lost was always kept.
judge() {
    awk 'NR == FNR { promise[$1, $2] = $0; next }
         { if (!(($1, $2) in promise)) { print "not in the manual: " $0; bad = 1; next }
           split(promise[$1, $2], wanted)
           for (i = 3; i <= NF; i++) {
               lost[$1, $2, i] = lost[$1, $2, i] || $i == "lost"
               if (($i == "-") != (wanted[i] == "-") || ($i == "lost" && wanted[i] == "kept")) {
                   print "against the manual: " $0; bad = 1 }
               may[$1, $2, i] = wanted[i] == "lost" } }
         END { for (cell in may) if (may[cell] && !lost[cell]) always = 1
               exit bad ? 1 : always ? 2 : 0 }' <(promises) rows >&2
}

# keep MOUNT...: checks that crashes of these mounts keep exactly what the manual promises. Chance
# decides what is lost, so if nothing was, there are more crashes, of other seeds.
keep() {
    local seed status
    : >rows
    for seed in {0..5}; do
        crash --rounds "${MPIIO_CRASHES:-8}" --seed "$((${MPIIO_SEED:-1} + 1000 * seed))" "${@/#/--only=}" >kept
        tail -n +2 kept | tr -s ' ' >>rows
        [ -s rows ]
        status=0
        judge || status=$?
        [ "$status" -eq 2 ] || return "$status"
    done
    cat rows
    return 1
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
