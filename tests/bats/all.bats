#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-umount --all unmounts what a user has mounted on this host, and nothing else. Each test has
# a mount namespace of its own, without the mounts of tests that run beside it.

load helper

# alone SCRIPT: runs bash steps. $a and $b are mount points of the user as whom the function "user"
# runs commands. $c is a mount point of root. b.json is a spec of four ranks.
alone() {
    blocks_spec 4096
    mkdir c
    user_folder a
    user_folder b
    cat >steps.bash <<STEPS
set -eEu -o pipefail
trap 'echo "failed: \$BASH_COMMAND" >&2' ERR
user() { HOME=$tmp setpriv --reuid nobody --regid nogroup --clear-groups "\$@"; }
mounted() { grep -q " $tmp/\$1 " /proc/self/mountinfo; }
status() { local status=0; "\${@:2}" || status=\$?; [ "\$status" -eq "\$1" ]; }
kill_b_and_unmount_dead() {
    local pid
    pid=\$(user jq .pid b/.mpiio/stats.json)
    kill -KILL "\$pid"
    while [ -e "/proc/\$pid" ] && ! grep -q '^State:.Z' "/proc/\$pid/status"; do sleep 0.01; done
    status 3 user mpiio-umount --all --dead 2>said
    diff said - <<<"mpiio-umount: $tmp/b: its daemon had ended: what it had not stored is lost"
}
STEPS
    cat >>steps.bash
    chmod 666 b.dat
    chmod 666 /dev/fuse
    as_root "$top/tests/let_go" bash steps.bash 3>&-
}

@test "all: a user's mounts are unmounted and store their data; another user's stay" {
    alone <<'STEPS'
mpiio-mount b.json c
user mpiio-mount b.json a
user mpiio-mount -o cache=back b.json b
printf 'written and kept' | user dd of=b/rank2 conv=notrunc status=none
[ -z "$(user mpiio-umount --all 2>&1)" ]
status 1 mounted a
status 1 mounted b
mounted c
[ "$(head -c 16 c/rank2)" = 'written and kept' ]
[ -z "$(user mpiio-umount --all 2>&1)" ]
user mpiio-mount b.json a
mpiio-umount --all --user=nobody
status 1 mounted a
mounted c
mpiio-umount --all --user=0
status 1 mounted c
STEPS
}

@test "all: --dead unmounts only mounts whose daemon has ended, and reports them" {
    alone <<'STEPS'
user mpiio-mount b.json a
user mpiio-mount b.json b
kill_b_and_unmount_dead
mounted a
status 1 mounted b
status 0 user mpiio-umount --all
STEPS
}

@test "all: a daemon that outlives its mount is not taken for the daemon of another mount with the same number" {
    alone <<'STEPS'
number() { awk -v place="$PWD/$1" '$5 == place { print $3 }' /proc/self/mountinfo; }
again() {
    user mpiio-mount b.json a
    number=$(number a)
    stays=$(user jq .pid a/.mpiio/stats.json)
    kill -STOP "$stays"
    umount a
    user mpiio-mount b.json b
}
again
# A mount of a test that runs beside this one may have got the number first.
while [ "$(number b)" != "$number" ]; do
    kill -KILL "$stays"
    user mpiio-umount b
    again
done
kill_b_and_unmount_dead
status 1 mounted b
[ "$(awk '/^State:/ { print $2 }' "/proc/$stays/status")" = T ]
kill -CONT "$stays"
STEPS
}

@test "all: a mount in use stays, with a line, and the others are unmounted" {
    alone <<'STEPS'
user mpiio-mount b.json a
user mpiio-mount b.json b
exec 8< <(user bash -c 'exec 9<b/rank0; echo open; exec sleep 1000')
read -r -u 8
status 1 user mpiio-umount --all 2>said
[ "$(wc -l <said)" -eq 1 ]
grep "^mpiio-umount: $PWD/b: busy" said
status 1 mounted a
mounted b
status 0 user mpiio-umount --all --force
status 1 mounted b
STEPS
}

@test "all: mounts that do not answer stay, and do not delay others; -f unmounts all of them" {
    alone <<'STEPS'
for i in {1..12}; do
    install -d -o nobody "m$i"
    user mpiio-mount b.json "m$i"
    kill -STOP "$(user jq .pid "m$i/.mpiio/stats.json")"
done
user mpiio-mount b.json a
install -d -o nobody z
user mpiio-mount -o cache=back b.json z
printf 'written and kept' | user dd of=z/rank2 conv=notrunc status=none
begun=$SECONDS
status 1 timeout 300 mpiio-umount --all --user=nobody 2>said
sort said | diff - <(printf "mpiio-umount: $PWD/m%d: no answer; still mounted\n" {1..12} | sort)
status 1 mounted a
status 1 mounted z
[ "$(dd if=b.dat bs=1 skip=8192 count=16 status=none)" = 'written and kept' ]
status 3 timeout 300 mpiio-umount --all --force --user=nobody 2>said
[ "$(grep -c 'not synced: no answer' said)" -eq 12 ]
# One by one, each needs at least ten seconds.
[ $((SECONDS - begun)) -lt 120 ]
status 1 grep -q ' fuse.mpiio ' /proc/self/mountinfo
STEPS
}

@test "all: a mount whose file lies on an older mount is unmounted before that one" {
    alone <<'STEPS'
user mpiio-mount b.json a
echo "{ \"viewspec\": 1, \"file\": \"$PWD/a/rank1\", \"ranks\": 1, \"view\": {} }" >upper.json
user mpiio-mount -o cache=back upper.json b
printf 'through both' | user dd of=b/rank0 conv=notrunc status=none
status 0 user mpiio-umount --all
status 1 mounted a
status 1 mounted b
[ "$(dd if=b.dat bs=1 skip=4096 count=12 status=none)" = 'through both' ]
STEPS
}

@test "all: options that exclude each other are refused" {
    complains 2 "mpiio-umount: --all goes with no mount point, --node or --hosts" mpiio-umount --all "$mnt"
    run -2 mpiio-umount --all --node
    complains 2 "mpiio-umount: --dead and --user go with --all" mpiio-umount --dead "$mnt"
    complains 2 "mpiio-umount: --user is for root" as_user mpiio-umount --all --user=root
    complains 2 "mpiio-umount: --user: no such user" as_root "$MPIIO_BIN/mpiio-umount" --all --user=nobody-of-this-name
}
