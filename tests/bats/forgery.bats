#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Forged grants: mallory's filesystem (tests/attacks/forger.c) answers root's mpiio-run, which must
# not print or change a file that mallory may not use. See src/DESIGN.md, "Grants".

load helper
load attacks
load under

# Each test is a script in its own mount namespace, where users may give others access.
setup() {
    begin_attack
    cp "$MPIIO_BUILD/tests/attacks/forger" "$topic" "$call" "${topic%/*}/common.py" .
    chmod 755 forger forgery.py call.py common.py # mallory may be unable to read the tree
    folder_of mallory evil
    # A forged page names root's file "secret". Root mounts the other file with allow_other.
    make_file secret 4096
    make_file shown.dat 4096
    cp shown.dat before.dat
    cp secret before
    chmod 600 secret
    chmod 666 shown.dat
    dealt shown.dat 2 512 >shown.json
    dealt secret 1 4096 >spec
    chmod 644 spec
    echo user_allow_other >fuse.conf
    cat >private <<END
set -e
mount --bind fuse.conf /etc/fuse.conf
mallory=(env HOME=/nonexistent setpriv --reuid "${attack_users[mallory]}"
    --regid "$(id -g "${attack_users[mallory]}")" --clear-groups)
END
    cat >>private <<'END'
forge() { # [WORD]...: mallory mounts
    "${mallory[@]}" ./forger "$PWD/evil" "$PWD/spec" "$@" </dev/null >>forger.out 2>&1 &
    until grep -qF " $PWD/evil " /proc/self/mountinfo; do
        kill -0 $!
        sleep 0.05
    done
}
leave() { # and waits until it is gone
    kill -KILL $!
    wait $! || true
    umount -l evil
}
attack() { # root uses mallory's file
    mpiio-run -s cat evil/rank0 >out 2>>counts
    [ "$(cat out)" = mine ]
    printf 'mallory was here' |
        mpiio-run -s dd of=evil/rank0 conv=notrunc status=none 2>>counts
    cmp secret before
    cmp shown.dat before.dat
}
END
}

teardown() {
    end_test
}

# private: runs the script on standard input, after the functions above.
private() {
    cat >script
    as_root "$top/tests/let_go" --keep "$tmp" bash -c '. ./private; . ./script' 3>&-
    cat counts
}

@test "forgery: a daemon grants nothing to another user, and reveals nothing" {
    private <<'END'
mpiio-mount -o allow_other shown.json mnt
/usr/bin/python3 call.py ask O_RDWR mnt/rank0 >root
for flags in O_RDONLY O_WRONLY O_RDWR; do
    "${mallory[@]}" /usr/bin/python3 call.py ask "$flags" mnt/rank0 >>told
done
jq -e '.grants == 1' mnt/.mpiio/stats.json
mpiio-umount mnt
touch counts
END
    python grants_nothing_to_mallory
}

@test "forgery: root does not believe a page that mallory made" {
    private <<'END'
mpiio-mount -o allow_other shown.json mnt
forge file="$PWD/secret"
attack
leave
forge shown="$PWD/secret"
attack
leave
END
    granted 0 of 4
}

@test "forgery: root's daemon gives mallory no grant that he could relay to root" {
    private <<'END'
mpiio-mount -o allow_other shown.json mnt
forge relay="$PWD/mnt/rank0"
attack
leave
END
    granted 0 of 2
}

# granted GRANTS of SLICES: checks how many slices programs under mpiio-run opened, and how many
# grants they had.
granted() {
    [ "$(counted slices) $(counted granted)" = "$3 $1" ]
}

@test "forgery: answers with forged, replayed and swapped fields open nothing" {
    private <<'END'
mpiio-mount -o allow_other shown.json mnt
touch answer
forge answer="$PWD/answer"
mpiio-run -s /usr/bin/python3 call.py forged 2>>counts
cmp secret before
cmp shown.dat before.dat
leave
END
    [ "$(counted slices)" -gt 100 ]
    [ "$(counted granted)" -eq 2 ]
}

@test "forgery: a mount cannot relay grants of another mount of the same user" {
    private <<'END'
mpiio-mount shown.json mnt
mallory=() # the forger belongs to root
forge relay="$PWD/mnt/rank0"
attack
leave
mount --bind mnt evil # does not count as another mount
mpiio-run -s cat evil/rank1 2>>counts | cmp - mnt/rank1
END
    granted 1 of 3
}

@test "forgery: a process that becomes root again does not believe a page that it mapped as mallory" {
    private <<'END'
chown "$(stat -c %u:%g evil)" spec
forge file="$PWD/secret"
mpiio-run -s /usr/bin/python3 call.py becomes_root_again 2>>counts
cmp secret before
leave
END
    granted 0 of 2
}

@test "forgery: mallory's mount gains nothing by the reused number of a mount whose daemon lingers" {
    private <<'END'
for i in {1..50}; do
    mpiio-mount -o allow_other shown.json mnt
    number=$(stat -c %d mnt/rank0)
    /usr/bin/python3 call.py ask O_RDWR mnt/rank0 >answer
    daemon=$(jq .pid mnt/.mpiio/stats.json)
    kill -STOP "$daemon"
    until grep -q '^State:.T' "/proc/$daemon/status"; do sleep 0.05; done
    umount -l mnt
    forge answer="$PWD/answer"
    reused=$(stat -c %d evil/rank0)
    [ "$reused" -ne "$number" ] || attack
    kill -KILL "$daemon"
    leave
    [ "$reused" -ne "$number" ] || break
done
[ "$reused" -eq "$number" ]
END
    granted 0 of 2
}
