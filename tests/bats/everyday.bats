#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Everyday copies to and from a mount end with status 0, as mpiio-mount(1), COPYING, shows them.

load helper

# there_and_back COMMAND...: checks that data is unchanged after the command has copied files into
# the mount.
there_and_back() {
    shred -n1 "$mnt/rank0"
    [ "$(stat -c %s "$mnt/rank0")" -eq 524288 ]
    "$@"
    cmp data before
}

@test "everyday: cp, tar and rsync copy slices out and back, cpio out, and shred keeps the size" {
    local option
    for option in rw direct cache=back allow_other; do
        head -c 1048576 /dev/urandom >data
        cp data before
        mpiio-mount --view 'scatter 64k on 2 of byte' -o "$option" data "$mnt"
        rm -rf bk
        mkdir bk
        rsync -a --exclude=/.mpiio "$mnt/" bk/
        there_and_back rsync -aIO --inplace bk/ "$mnt/"
        there_and_back rsync -aIOAX --filter='-x user.mpiio.*' --inplace bk/ "$mnt/"
        rm -rf bk
        cp -a "$mnt" bk
        there_and_back cp -p bk/rank* "$mnt"
        there_and_back cp -a bk/rank* "$mnt"
        tar -C "$mnt" -cf slices.tar rank0 rank1
        there_and_back tar -C "$mnt" --overwrite -xf slices.tar
        (cd "$mnt" && printf '%s\n' rank* | cpio -o --quiet) | (cd bk && cpio -iu --quiet)
        cmp -n 65536 bk/rank0 data
        mpiio-umount "$mnt"
    done
}

@test "everyday: a different mode or list is refused" {
    head -c 1048576 /dev/zero >data
    mpiio-mount --view 'scatter 64k on 2 of byte' data "$mnt"
    chmod "$(stat -c %a "$mnt/rank0")" "$mnt/rank0"
    run -1 chmod 600 "$mnt/rank0"
    run -1 setfacl -m u:1:rwx "$mnt/rank0"
    head -c 524288 /dev/zero >source
    chmod 600 source
    run -1 cp -p source "$mnt/rank0"
}
