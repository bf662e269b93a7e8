#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Writes through slices on one node: exact, written through, with correct errors.

# shellcheck disable=SC2154 # helper.bash sets mnt and top
load helper

# random_writes SEED COUNT [COMMAND]: does writes of all kinds through the three slices of g.json,
# with a model of the file. The file must equal the model, including bytes of no view. COMMAND runs
# before the comparison.
random_writes() {
    /usr/bin/python3 "$call" random_writes "$mnt" "$@"
}

@test "write: only written bytes change in the file" {
    mount_new gaps
    random_writes 1 400
    random_writes "$RANDOM" 400
    [ "$(stat_of lost_bytes)" -eq 0 ]
}

@test "write: dd, cp, > and >> as on a plain file that never shrinks" {
    mount_new blocks 65536
    cp b.dat before.dat
    cp "$mnt/rank2" plain
    make_file new 9000
    dd if=new of="$mnt/rank2" bs=1000 seek=3 conv=notrunc status=none
    dd if=new of=plain bs=1000 seek=3 conv=notrunc status=none
    cmp plain "$mnt/rank2"
    printf overwritten >"$mnt/rank2"
    printf overwritten | dd of=plain conv=notrunc status=none
    cmp plain "$mnt/rank2"
    [ "$(stat -c %s "$mnt/rank2")" -eq 16384 ]
    cp new "$mnt/rank2"
    dd if=new of=plain conv=notrunc status=none
    cmp plain "$mnt/rank2"
    printf appended >>"$mnt/rank2"
    printf appended >>plain
    cmp plain "$mnt/rank2"
    # The other slices have their old bytes. The file has grown to what rank 2 needs.
    for rank in 0 1 3; do
        /usr/bin/python3 "$call" plain_file "$rank" "$mnt/rank$rank"
    done
    [ "$(stat -c %s b.dat)" -eq $((65536 + 2 * 4096 + 8)) ]
}

@test "write: past the end the file grows, and bytes that are not written are zeros" {
    mount_new blocks 10000
    [ "$(stat -c %s "$mnt/rank3")" -eq 0 ]
    printf x | dd of="$mnt/rank3" bs=1 seek=5000 conv=notrunc status=none
    [ "$(stat -c %s b.dat)" -eq $((7 * 4096 + 5001 - 4096)) ]
    [ "$(stat -c %s "$mnt/rank3")" -eq 5001 ]
    cmp <(head -c 5000 "$mnt/rank3") <(head -c 5000 /dev/zero)
    [ "$(tail -c 1 "$mnt/rank3")" = x ]
    # All other slices follow at once.
    [ "$(stat -c %s "$mnt/rank0")" -eq 8192 ]
    [ "$(stat -c %s "$mnt/rank2")" -eq 8192 ]
    cmp -n 10000 b.dat <(make_file again 10000 && cat again)
}

@test "write: truncate, fallocate and O_TRUNC" {
    mount_new blocks 65536
    cp b.dat before.dat
    # A truncate(2) is not confused with an open's O_TRUNC, even by a thread that has just opened
    # the file.
    errors_are <<'END'
EPERM os.truncate(m + "/rank1", 0)
EPERM os.truncate(m + "/rank1", 16383)
none os.truncate(m + "/rank1", 16384)
EPERM os.ftruncate(os.open(m + "/rank1", os.O_RDWR), 0)
EPERM fd = os.open(m + "/rank1", os.O_RDWR); os.truncate(m + "/rank1", 0)
EPERM os.open(m + "/rank1", os.O_RDWR | os.O_TRUNC); os.truncate(m + "/rank1", 0)
none fd = os.open(m + "/rank1", os.O_RDWR | os.O_TRUNC | os.O_CREAT); assert os.fstat(fd).st_size == 16384 == len(os.read(fd, 20000))
END
    cmp b.dat before.dat
    run -1 truncate -s 100 "$mnt/rank1"
    truncate -s 20000 "$mnt/rank1"
    [ "$(stat -c %s "$mnt/rank1")" -eq 20000 ]
    [ "$(stat -c %s b.dat)" -eq $((65536 + 4096 + 20000 - 16384)) ]
    fallocate -o 20000 -l 4480 "$mnt/rank1"
    [ "$(stat -c %s "$mnt/rank1")" -eq 24480 ]
    fallocate -o 0 -l 100 "$mnt/rank0"
    run -1 fallocate -n -o 0 -l 100 "$mnt/rank0"
    [[ $output == *" supported"* || $output == *unsupported* ]]
    run -1 fallocate -p -o 0 -l 100 "$mnt/rank0"
    [[ $output == *" supported"* || $output == *unsupported* ]]
    cmp -n 65536 b.dat before.dat
}

@test "write: touch changes the file's times; chmod and chown do not change the file" {
    blocks_spec 65536
    chmod 640 b.dat
    mount_spec b.json
    touch -d '2001-02-03 04:05:06' "$mnt/rank1"
    [ "$(stat -c %Y b.dat)" -eq "$(date -d '2001-02-03 04:05:06' +%s)" ]
    [ "$(stat -c %Y "$mnt/rank3")" -eq "$(stat -c %Y b.dat)" ]
    touch "$mnt/rank1"
    [ $(($(date +%s) - $(stat -c %Y b.dat))) -lt 10 ]
    [ "$(stat -c %a "$mnt/rank0")" = 640 ]
    [ "$(error_of 'os.chmod(m + "/rank0", 0o640)')" = none ]
    [ "$(error_of 'os.chmod(m + "/rank0", 0o644)')" = EPERM ]
    # A write changes the times of all slices.
    touch -d '2001-02-03 04:05:06' b.dat
    printf x | dd of="$mnt/rank1" conv=notrunc status=none
    [ "$(stat -c %Y "$mnt/rank2")" -gt 1000000000 ]
    [ "$(stat -c %Y "$mnt/rank2")" -eq "$(stat -c %Y b.dat)" ]
}

@test "write: basics as an unprivileged user; a read-only file is mounted read-only" {
    user_folder own
    cd own
    (blocks_spec 65536)
    if [ "$(id -u)" -eq 0 ]; then chown nobody b.dat; fi
    user_folder m
    as_user mpiio-mount b.json m
    as_user bash -c 'echo hello >m/rank1; echo more >>m/rank1; truncate -s 20000 m/rank1; touch m/rank1'
    [ "$(dd if=b.dat bs=1 skip=4096 count=5 status=none)" = hello ]
    [ "$(as_user stat -c %s m/rank1)" -eq 20000 ]
    as_user mpiio-umount m
    as_user mpiio-mount -o unique b.json m
    as_user bash -c 'seq 1 2000 | dd of=m/rank3 bs=7 conv=notrunc status=none'
    as_user mpiio-umount m
    mpiio-view cat b.json -r 3 | cmp -n 8000 - <(seq 1 2000)
    chmod 444 b.dat
    as_user mpiio-mount b.json m
    [ "$(as_user stat -c %a m/rank0)" = 444 ]
    one_line 1 "*Permission denied*" as_user bash -c 'echo x >m/rank0'
    as_user cmp -n 4096 m/rank0 b.dat
    as_user mpiio-umount m
    one_line 1 "mpiio-mount: *b.dat: Permission denied (mount it read-only with -o ro)" as_user mpiio-mount -o rw b.json m
    run ! is_mounted m
}

@test "write: other users have access according to the file's mode" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    blocks_spec 65536
    chmod 755 .
    chmod 644 b.dat
    mount_spec b.json -o allow_other
    one_line 1 "*Permission denied*" as_user bash -c "echo x >>'$mnt/rank0'"
    chmod 666 b.dat
    as_user bash -c "printf yes >'$mnt/rank0'"
    [ "$(head -c 3 b.dat)" = yes ]
}

@test "write: -o ro refuses all writes with EROFS" {
    blocks_spec 65536
    cp b.dat before.dat
    mount_spec b.json -o ro
    [ "$(stat -c %a "$mnt/rank0")" = 444 ]
    errors_are <<'END'
EROFS os.open(m + "/rank0", os.O_WRONLY)
EROFS os.open(m + "/rank0", os.O_RDWR | os.O_TRUNC)
EROFS os.truncate(m + "/rank0", 70000)
EROFS os.utime(m + "/rank0")
END
    cmp b.dat before.dat
}

@test "write: a view that has bytes twice can only be mounted read-only" {
    make_file o.dat 4096
    cat >o.json <<'END'
{ "viewspec": 1, "file": "o.dat", "ranks": 2, "views": { "fine": {}, "twice": {
  "filetype": { "type": "hindexed", "blocklengths": [1, 1], "displacements": [0, 0] } } } }
END
    run -2 mpiio-mount o.json "$mnt"
    [[ $output == "mpiio-mount: o.json: view twice, rank 0: "*"(-o ro)" ]]
    run ! is_mounted
    mount_spec o.json -o ro
    cat "$mnt/twice/rank0" >/dev/null
    run -2 mpiio-view put o.json -r 0 -v twice </dev/null
}

@test "write: create makes the file, with the umask, and only if it is missing" {
    blocks_spec 10
    rm b.dat
    one_line 1 "mpiio-mount: *b.dat: No such file or directory (create it with -o create, or name another with -f)" mpiio-mount b.json "$mnt"
    [ ! -e b.dat ]
    run -2 mpiio-mount -o ro,create b.json "$mnt"
    [ ! -e b.dat ]
    (umask 027 && mount_spec b.json -o create)
    [ "$(stat -c %a b.dat)" = 640 ]
    make_file data 10000
    cp data "$mnt/rank1"
    mpiio-umount "$mnt"
    mount_spec b.json -o create
    cmp data "$mnt/rank1"
}

@test "write: unique: contents, sizes and times are right" {
    mount_new gaps -o unique
    [ "$(stat_of writeback)" = true ]
    random_writes 7 300 "mpiio-umount $mnt"
    mount_spec g.json -o unique
    random_writes "$RANDOM" 300 "mpiio-umount $mnt"
    rm g.dat
    mount_spec g.json -o unique,create
    ls -l "$mnt" >/dev/null
    /usr/bin/python3 "$call" unique_slices "$mnt"
    # Far fewer requests than writes.
    [ "$(stat_of requests.write)" -lt 100 ]
    touch -d '2001-02-03 04:05:06' "$mnt/rank1"
    [ "$(stat -c %Y g.dat)" -eq "$(date -d '2001-02-03 04:05:06' +%s)" ]
}

@test "write: unique: O_TRUNC by one process does not cut what another has written" {
    gaps_spec
    rm g.dat
    mount_spec g.json -o unique,create,threads=1
    timeout 300 /usr/bin/python3 "$call" unique_o_trunc_of_one "$mnt"
    mpiio-umount "$mnt"
    mpiio-view cat g.json -r 1 | cmp -n 176000 - <(printf z; head -c 999 /dev/zero | tr '\0' m
        head -c 175000 /dev/zero | tr '\0' y)
}

@test "write: unique writes through if slices share bytes" {
    make_file o.dat 65536
    echo '{ "viewspec": 1, "file": "o.dat", "ranks": 2, "view": {} }' >o.json
    mount_spec o.json -o unique
    [ "$(stat_of writeback)" = false ]
    printf one >"$mnt/rank0"
    [ "$(head -c 3 "$mnt/rank1")" = one ]
    mpiio-umount "$mnt"
    echo '{ "viewspec": 1, "file": "o.dat", "views": { "a": {}, "b": {} } }' >o.json
    mount_spec o.json -o unique
    [ "$(stat_of writeback)" = false ]
}

@test "write: a full tile written by all ranks is stored without a read, byte for byte" {
    local rank
    counts_requests
    make_file data 262144
    mount_dealt c.dat 4 8 -o create
    for rank in 0 1 2 3; do
        dd if=data of="$mnt/rank$rank" bs=64k conv=notrunc status=none
    done
    [ "$(stat_of slice_write_bytes)" -eq 1048576 ]
    [ "$(stat_of store_reads)" -eq 0 ]
    [ "$(stat_of store_map_bytes)" -eq 0 ]
    [ $(($(stat_of store_write_bytes) + $(stat_of store_map_write_bytes))) -eq 1048576 ]
    [ "$(stat_of slice_writes)" -eq "$(stat_of requests.write)" ]
    for rank in 0 1 2 3; do
        cmp data "$mnt/rank$rank"
    done
}

@test "write: a write is one request" {
    counts_requests
    mount_new blocks 65536
    dd if=b.dat of="$mnt/rank0" bs=8 count=1000 conv=notrunc status=none
    [ "$(stat_of requests.write)" -eq 1000 ]
    [ "$(stat_of requests.xattr)" -lt 20 ]
    [ "$(stat_of requests.getattr)" -lt 20 ]
}

@test "write: mpiio-view put reports that the input is longer than the view's tiles" {
    truncate -s 0 t.dat
    echo '{ "viewspec": 1, "file": "t.dat", "ranks": 2, "view": { "etype": "int", "tiles": 3,
        "filetype": { "type": "scatter", "blocklength": 2 } } }' >t.json
    head -c 24 /dev/zero | tr '\0' a >data
    mpiio-view put t.json -r 1 <data
    [ "$(stat -c %s t.dat)" -eq 48 ]
    echo more >>data
    fails 1 "$tmp/t.dat: the slice of rank 1 ends at slice offset 24, with tile 3 of the view: the rest was not written (\"tiles\" limits their number)" \
        mpiio-view put t.json -r 1 <data
    fails 1 "$tmp/t.dat: the slice of rank 0 ends at slice offset 24, with tile 3 of the view: the rest was not written (\"tiles\" limits their number)" \
        mpiio-view put t.json -r 0 --offset 30 <data
    cmp <(mpiio-view cat t.json -r 1) <(head -c 24 data)
}

@test "write: mpiio-view put writes what cat reads" {
    gaps_spec
    cp g.dat before.dat
    make_file data 3000
    mpiio-view put g.json -r 1 --offset 1k <data
    mpiio-view cat g.json -r 1 --offset 1k --length 3000 | cmp - data
    /usr/bin/python3 "$call" mpiio_view_put_writes_what_cat
    mpiio-view cat g.json -r 2 | mpiio-view put g.json -r 0 --offset 100000
    mpiio-view cat g.json -r 0 --offset 100000 | cmp -n 25000 - <(mpiio-view cat g.json -r 2)
    run -2 mpiio-view put g.json -r 0 --length 5 </dev/null
    one_line 1 "mpiio-view: *missing: No such file or directory" mpiio-view put -f missing g.json -r 0 </dev/null
}
