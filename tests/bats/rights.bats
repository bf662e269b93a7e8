#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Access by other users (allow_other): they may do what the shared file allows them.

load helper

# The test's users, by number. Some of them are in the group $team.
readonly denied=65001 member=65002 listed=65003 stranger=65004 team=65100

setup() {
    begin_test
    inside=()
}

# as USER COMMAND...: runs a command as the user, with the team's group if the user is in it.
as() {
    local user=$1 group=$1 groups=--clear-groups
    shift
    case $user in
    "$denied" | "$member") groups=--groups=$team ;;
    nobody) group=nogroup ;;
    esac
    as_root "${inside[@]}" setpriv --reuid "$user" --regid "$group" "$groups" "$@" 3>&-
}

# reads USER PATH, writes USER PATH: succeed if the file allows it.
reads() {
    as "$1" dd if="$2" of=/dev/null bs=1 count=1 status=none 2>err
}

writes() {
    as "$1" dd if=/dev/zero of="$2" bs=1 count=1 conv=notrunc status=none 2>err
}

# team_file: makes b.dat. The team may read and write it, except for one member; one more user may
# read it.
team_file() {
    blocks_spec 65536
    chmod 660 b.dat
    as_root chgrp "$team" b.dat
    setfacl -m "u:$denied:---,u:$listed:r--" b.dat
}

# as_listed SLICE: checks that the mount gives users the access that the list of b.dat gives them.
as_listed() {
    local user
    for user in "$denied" "$stranger"; do
        run ! reads "$user" "$1"
        grep -q 'Permission denied' err
        run ! writes "$user" "$1"
    done
    reads "$member" "$1"
    writes "$member" "$1"
    reads "$listed" "$1"
    run ! writes "$listed" "$1"
    run -1 as "$denied" truncate -s 70000 "$1"
    run -1 as "$listed" truncate -s 70000 "$1"
    run -1 as "$denied" touch "$1"
    run -1 as "$denied" getfattr -n user.mpiio.view "$1"
}

@test "rights: root's mount gives other users the access that the file's list gives them, also when it changes; no list allows writing a read-only mount, or executing a slice" {
    team_file
    mount_spec b.json -o allow_other
    as_listed "$mnt/rank0"
    diff <(getfacl -cp b.dat) <(getfacl -cp "$mnt/rank0")
    one_line 1 "*Operation not permitted*" setfacl -b "$mnt/rank0"
    run ! reads "$denied" "$mnt/rank0"
    setfacl -m "u:$denied:rw-" b.dat
    writes "$denied" "$mnt/rank0"
    setfacl -m "u:$denied:---" b.dat
    run ! reads "$denied" "$mnt/rank0"
    setfacl -b b.dat
    chmod 660 b.dat
    writes "$denied" "$mnt/rank0"
    run ! reads "$listed" "$mnt/rank0"
    # A list is added to a file that had none.
    setfacl -m "u:$denied:---" b.dat
    run ! reads "$denied" "$mnt/rank0"
    reads "$member" "$mnt/rank0"
    setfacl -m "u:$stranger:rwx" b.dat
    writes "$stranger" "$mnt/rank0"
    run ! as "$stranger" test -x "$mnt/rank0"
    mpiio-umount "$mnt"
    mount_spec b.json -o ro,allow_other
    reads "$stranger" "$mnt/rank0"
    run ! writes "$stranger" "$mnt/rank0"
    [ "$(getfacl -cp "$mnt/rank0" | grep -c w)" -eq 0 ]
}

@test "rights: with every cache, on an npy slice and below a view" {
    local options
    team_file
    for options in unique cache=back atomic npy; do
        mount_spec b.json -o "allow_other,$options"
        as_listed "$mnt/rank1"
        [ "$options" != npy ] || run ! reads "$denied" "$mnt/rank1.npy"
        mpiio-umount "$mnt"
    done
}

# users_mounts: from here on, "as" runs commands in a mount namespace where users may allow others
# access.
users_mounts() {
    echo user_allow_other >fuse.conf
    # shellcheck disable=SC2016 # for the other shell
    as_root "$top/tests/let_go" --keep "$tmp" bash -c '
        mount --bind fuse.conf /etc/fuse.conf && echo $$ >holder && exec sleep 1000' 3>&- &
    await test -s holder
    inside=(nsenter --mount="/proc/$(cat holder)/ns/mnt")
}

@test "rights: a user's own mount does the same; only that user sets the mount's attribute" {
    user_folder own
    user_folder own/m
    (cd own && team_file)
    as_root chown nobody own/b.dat
    as_user true # makes /dev/fuse accessible
    users_mounts
    as nobody "$MPIIO_BIN/mpiio-mount" -o allow_other "$tmp/own/b.json" "$tmp/own/m"
    as_listed "$tmp/own/m/rank0"
    run -1 as "$member" setfattr -n user.mpiio.atomicity -v 1 "$tmp/own/m"
    as nobody setfattr -n user.mpiio.atomicity -v 1 "$tmp/own/m"
    as nobody touch "$tmp/own/m/new" 2>err && false
    grep -q 'Operation not permitted' err
    [ "$(as "$stranger" getfattr --absolute-names --only-values -n user.mpiio.atomicity \
        "$tmp/own/m")" = 1 ]
    as nobody "$MPIIO_BIN/mpiio-umount" "$tmp/own/m"
    as_root kill "$(cat holder)"
}

@test "rights: spec.json can be read by those who can read the spec" {
    team_file
    chmod 666 b.dat
    chmod 640 b.json
    as_root chgrp "$team" b.json
    setfacl -m "u:$denied:---" b.json
    mount_spec b.json -o allow_other
    [ "$(stat -c '%a %u %g' "$mnt/.mpiio/spec.json")" = "440 $(stat -c '%u %g' b.json)" ]
    reads "$member" "$mnt/.mpiio/spec.json"
    run ! reads "$denied" "$mnt/.mpiio/spec.json"
    run ! reads "$stranger" "$mnt/.mpiio/spec.json"
    reads "$stranger" "$mnt/.mpiio/stats.json"
    mpiio-umount "$mnt"
    # If a user may read the file, a view in shorthand is no secret to him.
    mpiio-mount -o allow_other --view 'scatter 4096 on 4' b.dat "$mnt"
    reads "$member" "$mnt/.mpiio/spec.json"
    run ! reads "$denied" "$mnt/.mpiio/spec.json"
}

@test "rights: of an assembled file, others may do what all its members allow" {
    local i all=(files/0 files/1 files/2)
    mkdir -m 755 files
    for i in "${all[@]}"; do head -c 4096 /dev/zero >"$i"; done
    chmod 666 "${all[@]}"
    cat >s.json <<'TEXT'
{ "viewspec": 1, "members": { "count": 3, "file": "files/{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 512 } } } }
TEXT
    mount_spec s.json -o allow_other
    reads "$stranger" "$mnt/whole"
    writes "$stranger" "$mnt/rank0"
    # A single member that denies access is enough, and its present mode counts.
    chmod 644 files/1
    reads "$stranger" "$mnt/whole"
    run ! writes "$stranger" "$mnt/whole"
    chmod 640 files/2
    run ! reads "$stranger" "$mnt/whole"
    # A mode has one group. Access by the group of another member is not reported.
    as_root chgrp "$team" files/2
    run ! reads "$stranger" "$mnt/whole"
    as_root chgrp "$team" "${all[@]}"
    reads "$member" "$mnt/whole"
    run ! writes "$member" "$mnt/whole"
    run ! reads "$stranger" "$mnt/whole"
    # One member has another owner.
    chmod 664 "${all[@]}"
    as_root chown "$listed" files/0
    reads "$stranger" "$mnt/whole"
    writes "$member" "$mnt/whole"
    chmod 600 files/1
    run ! reads "$member" "$mnt/whole"
    run ! reads "$listed" "$mnt/whole"
    chmod 664 files/1
    # The lists of several files are not combined into one.
    setfacl -m "u:$denied:---" files/1
    run ! reads "$denied" "$mnt/whole"
    run ! reads "$stranger" "$mnt/whole"
    mpiio-umount "$mnt"
    complains 1 "mpiio-mount: member 1, $tmp/files/1: allow_other: a member with an access control list is not possible" \
        mount_spec s.json -o allow_other
    for i in {0..300}; do echo x >"files/$i"; done
    complains 1 "mpiio-mount: $tmp/files/{member}: allow_other: the file has 301 members, and at most 256 are possible" \
        mount_spec <(sed 's/"count": 3/"count": 301/; s/512/2/; s,files,'"$tmp"'/files,' s.json) -o allow_other
}

@test "rights: a failed mount reports what fusermount3 needs" {
    user_folder own
    as_user true # makes /dev/fuse accessible
    scatter_spec
    cp "$(type -P fusermount3)" plain # without the set-user-ID bit
    : >none
    # shellcheck disable=SC2016 # for the other shell
    as_root "$top/tests/let_go" --keep "$tmp" bash -uc '
        for program in plain none; do
            mount --bind $program "$(type -P fusermount3)"
            setpriv --reuid nobody --regid nogroup --clear-groups "$MPIIO_BIN/mpiio-mount" s.json own
            umount "$(type -P fusermount3)"
        done' 2>err 3>&-
    diff err - <<'LINES'
mpiio-mount: own: cannot mount: mount failed: Operation not permitted (fusermount3 has to be set-user-ID root; a container needs CAP_SYS_ADMIN)
mpiio-mount: own: cannot mount: failed to exec fusermount3: Permission denied
LINES
}
