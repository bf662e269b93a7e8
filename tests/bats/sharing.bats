#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# A slice is written while other slices, mounts and programs use the same file.

load helper

@test "sharing: O_TRUNC by one program does not hurt another's mapping; locks on a slice work between processes" {
    mount_new blocks 65536
    /usr/bin/python3 "$call" o_trunc_of_one_does_not_hurt "$mnt/rank1"
    python locks_on_a_slice_work_between "$mnt/rank1"
}

@test "sharing: many processes append to one slice while others make the file grow" {
    mount_new blocks 0
    python many_append_to_one_slice_while "$mnt"
}

@test "sharing: an append lands at the end that another writer has moved" {
    mount_new gaps 1060
    /usr/bin/python3 "$call" an_append_lands_at_the_end "$mnt/rank1" "$mnt/rank0"
}

@test "sharing: plain writers and slice writers of interleaved bytes lose nothing" {
    local count=${MPIIO_TEST_UPDATES:-20000}
    make_file w.dat 262144
    mount_dealt w.dat 4 8
    limit=500 python posix_writers_and_slice_writers "$mnt" "$count"
}

@test "sharing: close-to-open between views, mounts and programs that use the file" {
    mkdir second
    make_file v.dat 65536
    all_and_dealt v.dat 8 >v.json
    mount_spec v.json
    mpiio-mount v.json second
    /usr/bin/python3 "$call" close_to_open_between_views "$mnt" second
    mpiio-umount second
}

# write_long FILE SLICE: a program is inside one write(2) to FILE, all of which SLICE shows, while
# the slice is opened and read. After the call, an open sees the written bytes. The bytes come from
# a mapping on a mount whose daemon is stopped, so the call lasts until that continues.
write_long() {
    local daemon
    mkdir -p second
    head -c 1M /dev/zero | tr '\0' n >source.dat
    mpiio-mount --view 'broadcast of byte' -o passthrough=off source.dat second
    daemon=$(mnt=$tmp/second daemon_pid)
    python write_long "$1" "$2" "$daemon"
    mpiio-umount second
}

@test "sharing: an open sees the bytes of another program's long write(2) after that returns" {
    local options
    for options in passthrough=off passthrough=off,pool=64M; do
        make_file f.dat $((8 << 20))
        mpiio-mount --view 'broadcast of byte' -o "$options" f.dat "$mnt"
        write_long f.dat "$mnt/rank0"
        mpiio-umount "$mnt"
    done
    # The file may also be assembled, here from a single member.
    make_file member.0 $((8 << 20))
    cat >a.json <<END
{ "viewspec": 1, "members": { "count": 1, "file": "$tmp/member.{member}",
  "view": { "filetype": { "type": "broadcast" } } },
  "view": { "filetype": { "type": "broadcast" } } }
END
    for options in rw pool=64M; do
        mount_spec a.json -o "$options"
        write_long member.0 "$mnt/rank0"
        mpiio-umount "$mnt"
        make_file member.0 $((8 << 20))
    done
}

@test "sharing: a deleted file can still be read and written, as by an open descriptor" {
    mount_new blocks 65536
    rm b.dat
    printf still >"$mnt/rank1"
    [ "$(head -c 5 "$mnt/rank1")" = still ]
    sync "$mnt/rank1"
    mpiio-umount "$mnt"
    [ ! -e b.dat ]
}

@test "sharing: the next write makes a file grow again that was truncated under a mount, but a mapping does not" {
    mount_new blocks 1048576
    exec 5<>"$mnt/rank1"
    cat <&5 >/dev/null
    truncate -s 10000 b.dat
    printf new | dd of="$mnt/rank1" bs=1 seek=100000 conv=notrunc status=none
    cmp <(dd if="$mnt/rank1" bs=100000 count=1 status=none) \
        <(tail -c +4097 b.dat | head -c 4096; head -c 95904 /dev/zero)
    exec 5<&-
    /usr/bin/python3 "$call" a_mapping_does_not_make "$mnt/rank1"
    [ "$(stat -c %s b.dat)" -eq 6000 ]
    [ "$(tail -c +5097 b.dat | head -c 4)" = here ]
}

@test "sharing: dirty pages of a sparse slice are not a hole" {
    local options
    dealt d.dat 2 4096 >d.json
    for options in cache=through unique cache=back atomic; do
        rm -f d.dat
        truncate -s 8M d.dat
        mount_spec d.json -o "$options"
        python what_the_kernel_holds "$mnt/rank0" "$options"
        umount_all
        rm -f d.dat
        truncate -s 8M d.dat
    done
    # Without a writer, holes are reported.
    mount_spec d.json
    [ "$(/usr/bin/python3 -c 'import os, sys; print(os.lseek(os.open(sys.argv[1], 0), 0, os.SEEK_HOLE))' "$mnt/rank1")" -eq 0 ]
}
