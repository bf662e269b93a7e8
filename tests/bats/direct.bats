#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mount option direct: reads bypass the page cache, and the daemon reads ahead.

load helper

# direct_spec [MORE]: makes d.dat of 24 MiB and d.json: blocks of 512 bytes alternate between two
# ranks. MORE: keys of the view. rank0 and rank1 have the ranks' bytes.
direct_spec() {
    make_file d.dat $((24 << 20))
    cat >d.json <<END
{ "viewspec": 1, "file": "d.dat", "ranks": 2,
  "view": { ${1:-} "filetype": { "type": "scatter", "blocklength": 512 } } }
END
    mpiio-view cat d.json -r 0 >rank0
    mpiio-view cat d.json -r 1 >rank1
}

@test "direct: reads return the right bytes in pieces of any size, at random, by threads; large ones were read ahead" {
    local size
    mount_new direct -o direct
    for size in 1M 4M 128k 96k 4k; do
        dd if="$mnt/rank0" bs=$size status=none | cmp - rank0
        dd if="$mnt/rank1" bs=$size status=none | cmp - rank1
    done
    cmp "$mnt/rank0" rank0
    [ "$(stat_of prefetched)" -gt 100 ]
    tail -c 100000 "$mnt/rank1" | cmp - <(tail -c 100000 rank1)
    /usr/bin/python3 "$call" random_reads "$mnt/rank1" "$RANDOM"
}

@test "direct: the next read sees a write through the mount, whatever was read ahead" {
    mount_new direct -o direct
    /usr/bin/python3 "$call" a_write_through_the_mount "$mnt" "$RANDOM" rank0
    [ "$(stat_of prefetched)" -gt 50 ]
}

# zarr_spec: also makes s.json: the same blocks, as halves of the rows of an array.
zarr_spec() {
    direct_spec
    jq '.view = { name: "rows", etype: "byte", tiles: 1, filetype: { type: "subarray", order: "C",
        sizes: [24576, 1024], subsizes: [24576, 512], starts: [0, "512 * rank"] } }' d.json >s.json
}

@test "direct: the same in a chunk of a Zarr store" {
    zarr_spec
    mount_spec s.json -o direct,zarr
    cmp "$mnt/zarr/rows/0.1" rank1
    /usr/bin/python3 "$call" a_write_through_the_mount "$mnt" "$RANDOM" zarr/rows/0.0
    [ "$(stat_of prefetched)" -gt 50 ]
}

@test "direct: nothing is read ahead in atomic mode, also for files that were open before" {
    zarr_spec
    mount_spec s.json -o direct,zarr
    /usr/bin/python3 "$call" atomic_mode_ends_reading_ahead "$mnt"
}

@test "direct: fsync and the next open show others' writes; the end moves" {
    mount_new direct -o direct
    /usr/bin/python3 "$call" others_writes_are_seen_after_fsync "$mnt/rank0"
}

@test "direct: slices can be mapped, and stores through mappings reach the file" {
    mount_new direct -o direct
    /usr/bin/python3 "$call" slices_can_be_mapped "$mnt/rank0"
    mpiio-umount "$mnt"
    mpiio-view cat d.json -r 0 | cmp - rank0
}

@test "direct: a mapping shows writes through another view, in atomic mode, too" {
    local options
    make_file d.dat 65536
    cat >views.json <<'END'
{ "viewspec": 1, "file": "d.dat", "ranks": 2, "views": {
  "a": { "filetype": { "type": "scatter", "blocklength": 512 } },
  "b": { "filetype": { "type": "scatter", "blocklength": 4096 } } } }
END
    for options in direct direct,atomic; do
        mount_spec views.json -o $options
        /usr/bin/python3 "$call" a_mapping_shows_what_another_view_writes "$mnt"
        mpiio-umount "$mnt"
    done
}

@test "direct: with npy, unique and atomic mode, in another representation" {
    local options
    direct_spec '"etype": "double", "datarep": "external32",'
    for options in npy unique atomic; do
        mount_spec d.json -o "direct,$options"
        dd if="$mnt/rank0" bs=1M status=none | cmp - rank0
        printf '12345678' | dd of="$mnt/rank0" bs=8 seek=3 conv=notrunc status=none
        dd if="$mnt/rank0" bs=128k status=none |
            cmp - <(head -c 24 rank0; printf '12345678'; tail -c +33 rank0)
        head -c 32 rank0 | dd of="$mnt/rank0" conv=notrunc status=none
        if [ $options = npy ]; then
            /usr/bin/python3 -c "
import numpy
assert numpy.load('$mnt/rank0.npy').tobytes() == open('rank0', 'rb').read()"
        fi
        mpiio-umount "$mnt"
    done
}

@test "direct: many readers at once, closes during read-ahead, and unmounting under a reader" {
    local i jobs=()
    mount_new direct -o direct,threads=4
    for i in 0 1 0 1 0 1 0 1 0 1 0 1; do
        cmp "$mnt/rank$i" "rank$i" 3>&- &
        jobs+=($!)
        head -c 2500000 "$mnt/rank$i" >/dev/null
    done
    for i in "${jobs[@]}"; do wait "$i"; done
    exec 7<"$mnt/rank0"
    dd bs=128k count=24 <&7 of=/dev/null status=none
    kill -TERM "$(stat_of pid)"
    nothing_left
    exec 7>&-
}
