#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Grants to programs under mpiio-run: which programs get them, and what they see after one is
# revoked.

load helper
load under

@test "grants: calls without a grant go to the mount, and the count says why" {
    mount_new scatter
    under bash -c "printf abc >>$mnt/rank0" || true
    under dd if=/dev/zero of="$mnt/rank0" bs=8 count=1 oflag=append conv=notrunc status=none
    grep -q 'not granted: the flags of open' counts
    under dd if=/dev/zero of="$mnt/rank1" bs=8 count=1 oflag=sync conv=notrunc status=none
    [ "$(counted granted)" -eq 0 ]
    mpiio-umount "$mnt"
    for option in atomic unique cache=back npy; do
        rm -f counts
        mount_spec s.json -o "$option"
        under cat "$mnt"/rank0* | cmp - <(cat "$mnt"/rank0*)
        [ "$(counted granted)" -eq "$([ "$option" = npy ] && echo 1 || echo 0)" ]
        [[ $(stat_of grants) == "$(counted granted)" ]]
        mpiio-umount "$mnt"
    done
    rm counts
    printf '{ "viewspec": 1, "file": "s.dat", "view": { "etype": "long", "datarep": "external32" } }' >x.json
    mount_spec x.json
    under cat "$mnt/rank0" | cmp - "$mnt/rank0"
    grep -q 'not granted: values are converted: 1' counts
    mpiio-umount "$mnt"
    printf '{ "viewspec": 1, "file": "s.dat", "view": { "etype": "int", "datarep": "big-endian" } }' >x.json
    mount_spec x.json
    rm counts
    under cat "$mnt/rank0" | cmp - "$mnt/rank0"
    served 1
}

@test "grants: a program that has opened another file of the mount gets them, too" {
    mount_new scatter
    under cat "$mnt/.mpiio/stats.json" "$mnt/rank0" | tail -c 8 | cmp - <(tail -c 8 "$mnt/rank0")
    served 1
}

@test "grants: a reader with pages in the kernel sees each of 10000 writes" {
    make_file t.dat 65536
    all_and_dealt t.dat 24 >t.json
    mount_spec t.json
    for how in w rw; do
        /usr/bin/python3 "$call" reader "$mnt/dealt/rank0" "$mnt/all/rank0" $how 2>>counts
        [ "$(counted granted)" -eq 1 ]
        [ "$(counted writes)" -eq 1001 ] || [ "$(counted writes)" -eq 1000 ]
        [ "$(counted taken_back)" -ge 3999 ]
        rm counts
    done
    [ "$(stat_of grants_taken_back)" -eq 2 ]
}

@test "grants: a write in progress when its grant is revoked is seen" {
    make_file x.dat 8388608
    mount_dealt x.dat 2 16
    /usr/bin/python3 "$call" reader_2 "$mnt/rank0" 2>>counts
    [ "$(counted granted)" -gt 100 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: a reader under mpiio-run sees stores through a mapping" {
    mount_new scatter
    /usr/bin/python3 "$call" stores "$mnt/rank1" 2>>counts
    [ "$(counted reads)" -eq 1 ]
    [ "$(counted taken_back)" -eq 100 ]
}

@test "grants: a program that has mapped a slice past its end sees bytes that granted writes add there" {
    : >e.dat
    mount_dealt e.dat 2 512
    # The first look revokes the grant. If the program only looks at the last write, all writes have
    # used the grant.
    for when in each end; do
        : >e.dat
        /usr/bin/python3 "$call" mapper "$mnt/rank1" $when 2>>counts
    done
    [ "$(counted granted)" -eq 2 ]
    [ "$(counted writes)" -eq 6 ]
}

@test "grants: a writer queries the size only while a program without a grant has the slice open" {
    counts_requests
    : >e.dat
    mount_dealt e.dat 2 512
    under /usr/bin/python3 "$call" a_writer_asks_for_the_size "$mnt"
    served 1
    [ "$(stat_of requests.write)" -eq 0 ]
}

@test "grants: random programs, half of them under mpiio-run, against a model" {
    local seed=$RANDOM
    make_file t.dat 65536
    all_and_dealt t.dat 24 >t.json
    mount_spec t.json
    echo "seed $seed"
    /usr/bin/python3 "$top/tests/run/model.py" "$seed" 3000 t.dat "$mnt/dealt/rank0" "$mnt/dealt/rank1" \
        "$mnt/all/rank0" 2>>counts
    mpiio-umount "$mnt"
    cmp t.dat model
    [ "$(counted reads)" -gt 0 ]
    [ "$(counted writes)" -gt 0 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: threads at once, and their children" {
    local seed=$RANDOM round
    make_file x.dat 1000000
    mount_dealt x.dat 4 40
    echo "seed $seed"
    under "$MPIIO_BUILD/tests/run/run-threads" "$seed" "$mnt/rank0"
    [ "$(counted writes)" -gt 100 ]
    [ "$(counted fell_back)" -eq 0 ]
    rm counts
    # Repeats until a grant is revoked during a call, which is a matter of chance.
    for ((round = 0; round < 20; round++)); do
        under "$MPIIO_BUILD/tests/run/run-threads" $((seed + round)) "$mnt/rank1" forks
        [ "$(counted taken_back)" -eq 0 ] || break
    done
    [ "$(counted writes)" -gt 10 ]
    [ "$(counted taken_back)" -gt 0 ]
}

@test "grants: SIGKILL to the program loses nothing that was acknowledged" {
    mount_new scatter
    for _ in 1 2 3; do
        mpiio-run /usr/bin/python3 "$call" endless "$mnt/rank2" >told &
        program=$!
        cat "$mnt/rank2" >/dev/null # revokes grants
        await test -s told
        sleep 0.2
        kill -KILL "$program"
        wait "$program" || true
        /usr/bin/python3 "$call" sigkill_to_the_program_loses_nothing "$mnt/rank2"
        cmp "$mnt/rank2" <(mpiio-view cat s.json -r 2)
    done
}

@test "grants: if the daemon is killed, calls fail as without mpiio-run" {
    mount_new scatter
    under /usr/bin/python3 "$call" dead "$mnt/rank0" "$(daemon_pid)"
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted writes)" -eq 1 ]
    [ "$(head -c 6 s.dat)" = stored ]
}

@test "grants: a program gets no permission by asking for a grant" {
    mount_new scatter
    /usr/bin/python3 "$call" a_program_gets_no_right "$mnt" "$(daemon_pid)"
    # A file that may only be read stays read-only through a mount of another user.
    mpiio-umount "$mnt"
    mount_spec s.json -o allow_other,default_permissions
    cp s.dat before
    chmod 644 s.dat
    run ! as_user mpiio-run dd if=/dev/zero of="$mnt/rank0" bs=8 count=1 conv=notrunc
    as_user mpiio-run cat "$mnt/rank0" | cmp - "$mnt/rank0"
    chmod 600 s.dat
    run ! as_user mpiio-run cat "$mnt/rank0"
    cmp s.dat before
}

@test "grants: root accepts none from another user's daemon, which could name any file to open" {
    scatter_spec
    user_folder u
    cp s.dat s.json u
    chmod 666 u/s.dat
    mkdir u/mnt
    chown nobody: u/mnt
    as_user true
    echo user_allow_other >fuse.conf
    cat >others <<'END'
set -e
mount --bind fuse.conf /etc/fuse.conf
cd u
user="setpriv --reuid nobody --regid nogroup --clear-groups"
$user mpiio-mount -o allow_other s.json mnt
for who in "" "$user"; do
    $who mpiio-run -s dd if=/dev/zero of=mnt/rank0 bs=8 count=1 conv=notrunc status=none
done
$user mpiio-umount mnt
END
    as_root "$top/tests/let_go" --keep "$tmp" bash others 2>counts 3>&-
    cat counts
    [ "$(grep -c 'granted=0' counts)" -eq 1 ]
    [ "$(grep -c 'granted=1' counts)" -eq 1 ]
    [[ $(head -n 2 counts) == *granted=0*"not granted: the mount is another user's: 1"* ]]
}

# Prints the grants that were refused because of their number.
refused() {
    sed -n 's/.*too many slices are granted: \([0-9]*\).*/\1/p' counts | awk '{ n += $1 } END { print n + 0 }'
}

# Succeeds once all ten processes have reported whether they got grants.
all_told() {
    [ "$(($(counted granted) + $(refused)))" -ge 4200 ]
}

@test "grants: if there are too many grants, other calls go to the mount" {
    make_file m.dat 50000
    mount_dealt m.dat 5000 10
    # In processes with 420 slices each, because the limit of open files may be a usual one.
    under /usr/bin/python3 "$call" many_programs "$mnt"
    await all_told
    [ "$(counted granted)" -eq 4096 ]
    [ "$(refused)" -eq 104 ]
    rm counts
    under cat "$mnt/rank0" | cmp - <(head -c 10 m.dat)
    served 1
}

@test "grants: appends go to the end, by fdopen and by a flag that a child process sets" {
    mount_new scatter
    local how
    for how in fork spawn vfork; do
        rm -f counts
        under /usr/bin/python3 "$call" append "$mnt/rank3" $how
        [ "$(mpiio-view cat s.json -r 3 | tail -c 22)" = streamstreamwriteagain ]
        [ "$(counted granted)" -eq 3 ]
        [ "$(counted flags)" -gt 0 ]
    done
}
