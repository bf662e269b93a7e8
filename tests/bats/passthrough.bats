#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Slices that are the whole file, byte for byte. Since version 6.9, and for root, the kernel reads
# and writes the file itself. Programs see the same as without passthrough, up to the end of the
# file.

load helper

# identity: makes i.dat of 100000 bytes, and i.json: two ranks, each of which has the whole file.
identity() {
    make_file i.dat 100000
    echo '{ "viewspec": 1, "file": "i.dat", "ranks": 2, "view": { "etype": "int" } }' >i.json
}

# mount_identity: makes i.json by identity, and mounts it.
mount_identity() {
    identity
    mount_spec i.json
}

# offered: succeeds if this kernel is new enough for passthrough.
offered() {
    local version
    IFS=. read -r -a version < <(uname -r)
    [ "$(id -u)" -eq 0 ] && [ $((version[0] * 1000 + version[1])) -ge 6009 ]
}

is_passed() {
    [ "$(stat_of passthrough)" = "$(offered && echo true || echo false)" ]
}

# Checks that the daemon has served no read and no write, if the kernel supports passthrough.
none_asked() {
    ! offered || [ "$(stat_of slice_reads)$(stat_of slice_writes)" = 00 ]
}

@test "passthrough: reading, writing, appending, mapping, and opening again after a sync, without a request" {
    mount_identity
    is_passed
    cp i.dat before
    cmp -n 100000 i.dat "$mnt/rank0"
    dd if="$mnt/rank1" bs=1000 skip=50 count=49 status=none | cmp -n 49000 - <(tail -c +50001 before)
    printf 'HEAD' | dd of="$mnt/rank1" bs=4 seek=5 conv=notrunc status=none
    printf 'first' >"$mnt/rank0"
    printf 'behind it' >>"$mnt/rank0"
    /usr/bin/python3 "$call" all_ways_of_access "$mnt/rank0" "$mnt/rank1"
    for ((i = 0; i < 3; i++)); do
        sync "$mnt/rank0"
        cmp -n 100000 i.dat "$mnt/rank0"
    done
    none_asked
}

@test "passthrough: a slice has whole etypes, and while it is open also what was written" {
    local size
    mount_identity
    truncate -s 100003 i.dat
    [ "$(stat -c %s "$mnt/rank0")" -eq 100000 ]
    [ "$(head -c 200000 "$mnt/rank1" | wc -c)" -eq 100000 ]
    [ "$(stat_of slice_reads)" -gt 0 ]
    truncate -s 100000 i.dat
    size=$(stat_of slice_reads)
    exec 7<>"$mnt/rank0"
    printf xyz | dd of="$mnt/rank1" bs=1 seek=100000 conv=notrunc status=none
    [ "$(tail -c +100001 "$mnt/rank0" | head -c 3)" = xyz ]
    exec 7>&-
    # After a close the slice has whole etypes again, as through the daemon.
    [ "$(stat -c %s i.dat "$mnt/rank0" | uniq)" -eq 100004 ]
    [ "$(tail -c 4 i.dat | od -An -c | tr -d ' ')" = 'xyz\0' ]
    ! offered || [ "$(stat_of slice_reads)" -eq "$size" ]
}

@test "passthrough: holes are the file's" {
    mount_identity
    truncate -s 1048576 i.dat
    printf x | dd of="$mnt/rank0" bs=1 seek=1048579 conv=notrunc status=none
    /usr/bin/python3 "$call" holes_are_the_file "$mnt/rank0"
    truncate -s 8 i.dat
    [ "$(stat -c %s "$mnt/rank0")" -eq 8 ]
    [ "$(wc -c <"$mnt/rank1")" -eq 8 ]
}

@test "passthrough: unique uses it instead of delayed writes" {
    identity
    sed -i 's/"ranks": 2/"ranks": 1/' i.json
    mount_spec i.json -o unique
    is_passed
    printf one >"$mnt/rank0"
    ! offered || [ "$(head -c 3 i.dat)" = one ]
    none_asked
}

@test "passthrough: not for other views, users and modes, nor if it is turned off" {
    local options view
    identity
    for options in passthrough=off npy cache=back; do
        mount_spec i.json -o "$options"
        [ "$(stat_of passthrough)" = false ]
        cmp -n 100000 i.dat "$mnt/rank0"
        mpiio-umount "$mnt"
    done
    for view in '"view": { "disp": 4 }' '"view": { "filetype": { "type": "scatter", "blocklength": 8 } }' \
        '"view": { "etype": "int", "datarep": "external32" }' '"views": { "all": {}, "some": { "disp": 8 } }'; do
        echo "{ \"viewspec\": 1, \"file\": \"i.dat\", \"ranks\": 2, $view }" >o.json
        mount_spec o.json
        [ "$(stat_of passthrough)" = false ]
        mpiio-umount "$mnt"
    done
    user_folder own
    as_user dd of=own/i.dat status=none <i.dat
    cp i.json own
    as_user mkdir own/m
    as_user "$MPIIO_BIN/mpiio-mount" own/i.json own/m
    as_user grep -q '"passthrough": false' own/m/.mpiio/stats.json
    as_user cmp -n 100000 own/i.dat own/m/rank0
}

@test "passthrough: atomic mode goes through the daemon, and back again" {
    mount_identity
    is_passed
    setfattr -n user.mpiio.atomicity -v 1 "$mnt"
    printf atomic >"$mnt/rank0"
    [ "$(head -c 6 "$mnt/rank1")" = atomic ]
    [ "$(stat_of requests.write)" -eq 1 ]
    setfattr -n user.mpiio.atomicity -v 0 "$mnt"
    printf beyond >"$mnt/rank0"
    [ "$(head -c 6 "$mnt/rank1")" = beyond ]
    ! offered || [ "$(stat_of requests.write)" -eq 1 ]
}

@test "passthrough: O_DIRECT needs no alignment, and goes to the daemon" {
    mount_identity
    printf cached >"$mnt/rank0"
    dd if="$mnt/rank0" iflag=direct bs=6 count=1 status=none | grep -qx cached
    printf direct | dd of="$mnt/rank1" oflag=direct bs=6 conv=notrunc status=none
    [ "$(head -c 6 "$mnt/rank0")" = direct ]
    [ "$(stat_of requests.write)" -ge 1 ]
    # Pages that were read in this way are not kept. Otherwise the kernel would refuse to open the
    # slice.
    sleep 0.1
    dd if="$mnt/rank0" iflag=direct bs=6 count=1 status=none | grep -qx direct
    [ "$(head -c 6 "$mnt/rank0")" = direct ]
}

@test "passthrough: a full disk, a read-only mount, and other users' access are as without it" {
    ram_disk 1m
    identity
    echo '{ "viewspec": 1, "file": "disk/i.dat", "view": {} }' >d.json
    mount_spec d.json -o create
    is_passed
    run -1 dd if=/dev/zero of="$mnt/rank0" bs=64k count=64 conv=notrunc
    [[ $output == *"No space left on device"* ]]
    [ "$(stat -c %s "$mnt/rank0")" -eq "$(stat -c %s disk/i.dat)" ]
    mpiio-umount "$mnt"
    mount_spec d.json -o ro
    cmp disk/i.dat "$mnt/rank0"
    run -1 dd if=/dev/zero of="$mnt/rank0" bs=1 count=1 conv=notrunc
    [[ $output == *"Read-only file system"* ]]
    mpiio-umount "$mnt"
    [ "$(id -u)" -eq 0 ] || return 0
    chmod 644 i.dat
    mount_spec i.json -o allow_other
    as_user cmp -n 100000 i.dat "$mnt/rank0"
    one_line 1 "*Permission denied*" as_user dd if=/dev/zero of="$mnt/rank0" bs=1 count=1 conv=notrunc
}

@test "passthrough: written data is in the file when the daemon is killed" {
    mount_identity
    is_passed
    exec 7<>"$mnt/rank0"
    printf before >&7
    kill -KILL "$(stat_of pid)"
    nothing_left
    exec 7>&-
    [ "$(head -c 6 i.dat)" = before ]
    mpiio-umount "$mnt"
    mount_spec i.json
    [ "$(head -c 6 "$mnt/rank1")" = before ]
}

# Debian 12's linux/fuse.h lacks them.
@test "passthrough: the daemon compiles with the names that linux/fuse.h has had since 6.9" {
    local source flags
    mkdir -p newer/linux
    sed -E '/^struct fuse_open_out/,/^}/ s/uint32_t(.)padding/int32_t\1backing_id/
        /^struct fuse_init_out/,/^}/ s/uint32_t(.)unused\[7\]/uint32_t\1max_stack_depth, unused[6]/' \
        /usr/include/linux/fuse.h >newer/linux/fuse.h
    grep -q backing_id newer/linux/fuse.h
    grep -q max_stack_depth newer/linux/fuse.h
    flags=$(pkg-config --cflags fuse3)
    for source in "$top"/fusefs/kernel/{passthrough,trace}.c; do
        # shellcheck disable=SC2086 # the flags are words
        gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -isystem newer -I"$top" -I"$top/src" \
            -I"$top/viewspec" -I"$top/src/core" $flags "$source"
    done
}
