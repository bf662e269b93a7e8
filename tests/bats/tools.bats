#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Ordinary tools read a slice as they read a plain file.

# shellcheck disable=SC2002 # a pipe is what is tested
load helper

# Mounts a file slightly larger than 3 MB, of which three ranks have blocks of 1000 bytes in turn.
# want0, want1 and want2 have their bytes.
mount_thirds() {
    make_file b.dat 3000500
    dealt b.dat 3 1000 >b.json
    py '
from slices import dealt
for rank, part in enumerate(dealt(open("b.dat", "rb").read(), 3, 1000)):
    open(f"want{rank}", "wb").write(part)'
    mount_spec b.json
}

# mount_huge DISPLACEMENT...: mounts a sparse file whose slices have 10^12 bytes each, with data only
# at these displacements of the file.
mount_huge() {
    truncate -s 4000000000000 h.dat
    local place
    for place in "$@"; do
        printf 'data at %s' "$place" | dd of=h.dat bs=1 seek="$place" conv=notrunc status=none
    done
    mpiio-mount --view 'scatter 1000 on 4 of double' h.dat "$mnt"
}

@test "tools: cat, md5sum, cmp, cp, head, tail, wc, dd, od, awk, split, and tar of slices and back" {
    local size rank
    mount_thirds
    cmp <(cat "$mnt"/rank*) <(cat want0 want1 want2)
    [ "$(md5sum <"$mnt/rank2")" = "$(md5sum <want2)" ]
    cmp "$mnt/rank0" want0
    cp "$mnt/rank1" copy
    cmp copy want1
    # cp -a keeps mode and times.
    cp -a "$mnt/rank1" same
    cmp same want1
    [ "$(stat -c '%Y %a' same)" = "$(stat -c '%Y %a' "$mnt/rank1")" ]
    cp "$mnt/rank0" "$mnt/rank1" "$mnt/rank2" mnt/../.
    cmp rank2 want2
    cmp <(head -c1 "$mnt/rank1") <(head -c1 want1)
    cmp <(head -c 12345 "$mnt/rank1") <(head -c 12345 want1)
    cmp <(tail -c 1 "$mnt/rank1") <(tail -c 1 want1)
    cmp <(tail -c 54321 "$mnt/rank1") <(tail -c 54321 want1)
    cmp <(tail -c +700001 "$mnt/rank1") <(tail -c +700001 want1)
    [ "$(wc -c <"$mnt/rank1")" -eq "$(wc -c <want1)" ]
    [ "$(cat "$mnt/rank1" | wc -c)" -eq "$(wc -c <want1)" ]
    for size in 1 7 512 4096 65537 3000000; do
        cmp <(dd if="$mnt/rank1" bs="$size" skip=13 count=29 status=none) \
            <(dd if=want1 bs="$size" skip=13 count=29 status=none)
    done
    cmp <(dd if="$mnt/rank1" bs=1M iflag=direct status=none) want1
    cmp <(dd if="$mnt/rank1" bs=64k skip=900001 iflag=skip_bytes status=none) <(tail -c +900002 want1)
    [ "$(dd if="$mnt/rank1" bs=1M skip=100 status=none | wc -c)" -eq 0 ]
    cmp <(od -An -tx8 -j 8000 -N 800 "$mnt/rank0") <(od -An -tx8 -j 8000 -N 800 want0)
    split -b 100000 "$mnt/rank1" part.
    cmp <(cat part.*) want1
    od -An -v -tu1 -w1 "$mnt/rank2" | awk '{ sum += $1 } END { print sum }' >have
    [ "$(cat have)" = "$(od -An -v -tu1 -w1 want2 | awk '{ sum += $1 } END { print sum }')" ]
    mkdir out
    tar -C "$mnt" -cf - rank0 rank1 rank2 | tar -C out -xf -
    for rank in 0 1 2; do
        cmp "out/rank$rank" "want$rank"
    done
    tar -C "$mnt" --sparse -cf - rank1 | tar -C out -xf -
    cmp out/rank1 want1
}

@test "tools: python and numpy map a slice; sendfile, copy_file_range, reads at random offsets, many readers at once" {
    local i
    mount_thirds
    /usr/bin/python3 "$call" python_maps_a_slice "$mnt/rank1"
    /usr/bin/python3 "$call" numpy_maps_a_slice "$mnt/rank1"
    /usr/bin/python3 "$call" sendfile_and_copy_file_range "$mnt/rank1"
    /usr/bin/python3 "$call" reads_at_random_places_agree "$mnt"
    for ((i = 0; i < 12; i++)); do
        cmp "$mnt/rank$((i % 3))" "want$((i % 3))" 3>&- &
        dd if="$mnt/rank$((i % 3))" bs=64k iflag=direct status=none 3>&- |
            cmp - "want$((i % 3))" 3>&- &
    done
    while [ -n "$(jobs -p)" ]; do
        wait -n
    done
}

@test "tools: SEEK_DATA and SEEK_HOLE; cp of a sparse slice of 10^12 bytes is quick, and sparse" {
    mount_huge 8192 2000000008192
    /usr/bin/python3 "$call" seek_data_and_seek_hole "$mnt"
    [ "$(dd if="$mnt/rank1" bs=1 skip=192 count=12 status=none)" = "data at 8192" ]
    [ "$(stat -c %s "$mnt/rank1")" -eq 1000000000000 ]
    # A copy of holes as zeros would take an hour.
    timeout 300 cp "$mnt/rank1" copy
    [ "$(stat -c %s copy)" -eq 1000000000000 ]
    [ "$(stat -c %b copy)" -lt 1000 ]
    cmp -n 100000 copy "$mnt/rank1"
    cmp -n 100000 -i 499999950000 copy "$mnt/rank1"
    timeout 300 cp --sparse=always "$mnt/rank1" again
    [ "$(stat -c %b again)" -lt 1000 ]
}

@test "tools: the ends of a slice of 10^12 bytes" {
    mount_huge 3999999999990
    [ "$(timeout 300 head -c1 "$mnt/rank1" | od -An -tu1)" = "   0" ]
    [ "$(timeout 300 tail -c 16384 "$mnt/rank3" | wc -c)" -eq 16384 ]
    [ "$(timeout 300 dd if="$mnt/rank2" bs=8 skip=100000000000 count=1 status=none | wc -c)" -eq 8 ]
}

@test "tools: a million ranks over a sparse file of 8 TB: the daemon stays small" {
    local pid
    truncate -s 8000000000000 h.dat
    mpiio-mount --view 'scatter 1 on 1000000 of double' h.dat "$mnt"
    pid=$(daemon_pid)
    # Slices that no program has opened are not kept: 1024 of them took 4 MiB.
    [ "$(awk '/\[heap\]/ { heap = 1 } heap && /^Rss/ { print $2; exit }' "/proc/$pid/smaps")" -lt 2048 ]
    [ "$(timeout 300 head -c1 "$mnt/rank999999" | od -An -tu1)" = "   0" ]
    [ "$(stat -c %s "$mnt/rank500000")" -eq 8000000 ]
    /usr/bin/python3 - "$mnt" <<'EOF'
import os, sys
for rank in range(0, 1000000, 125):
    os.stat("%s/rank%d" % (sys.argv[1], rank))
EOF
    [ "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 32768 ]
}

# there_and_back COMMAND...: checks that data is unchanged after the command has copied files into
# the mount.
there_and_back() {
    shred -n1 "$mnt/rank0"
    [ "$(stat -c %s "$mnt/rank0")" -eq 524288 ]
    "$@"
    cmp data before
}

@test "tools: cp, tar and rsync copy slices out and back, cpio out, and shred keeps the size" {
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

@test "tools: a different mode or list is refused" {
    head -c 1048576 /dev/zero >data
    mpiio-mount --view 'scatter 64k on 2 of byte' data "$mnt"
    chmod "$(stat -c %a "$mnt/rank0")" "$mnt/rank0"
    run -1 chmod 600 "$mnt/rank0"
    run -1 setfacl -m u:1:rwx "$mnt/rank0"
    head -c 524288 /dev/zero >source
    chmod 600 source
    run -1 cp -p source "$mnt/rank0"
}
