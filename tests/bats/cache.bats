#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The shared file changes under a mount. A slice that is opened or fsynced afterwards shows the
# current file. Pages are kept only while the file does not change.

load helper

# expected RANK: prints the bytes of that rank's slice in the current file.
expected() {
    py "from slices import dealt; os.write(1, dealt(open('b.dat', 'rb').read(), 4, 4096)[$1])"
}

# Waits until the file's times count as settled.
settle() {
    sleep 0.1
}

@test "cache: pages of an unchanged file are kept across opens" {
    local before
    blocks_spec
    settle
    mount_spec b.json
    cat "$mnt/rank1" >/dev/null
    before=$(stat_of slice_reads)
    cmp "$mnt/rank1" <(expected 1)
    cmp "$mnt/rank1" <(expected 1)
    [ "$(stat_of slice_reads)" -eq "$before" ]
}

@test "cache: a file rewritten in place is seen by the next open, also just after an open" {
    local i
    mount_new blocks
    for i in 1 2 3 4 5 6 7 8 9 10; do
        cmp "$mnt/rank1" <(expected 1)
        python patch $((4096 + i * 16384)) 100 "$i"
        cmp "$mnt/rank1" <(expected 1)
    done
    # Two changes within one tick of the filesystem's clock leave the same times.
    python changes_a_moment_after_an_open "$mnt/rank1"
}

@test "cache: a file that grows shows its new end at once, also to a slice that was opened before" {
    mount_new blocks 1050000
    cmp "$mnt/rank0" <(expected 0)
    exec 5<"$mnt/rank0" # stays open
    make_file more 300001
    cat more >>b.dat
    [ "$(stat -c %s "$mnt/rank0")" -eq "$(expected 0 | wc -c)" ]
    [ "$(wc -c <"$mnt/rank0")" -eq "$(expected 0 | wc -c)" ]
    cmp <(tail -c 5000 "$mnt/rank0") <(expected 0 | tail -c 5000)
    cmp "$mnt/rank0" <(expected 0)
    cmp <(cat <&5) <(expected 0)
    exec 5<&-
    python a_slice_opened_before_the_file "$mnt/rank0"
}

@test "cache: no stale zeros behind the old end of a file that grows" {
    mount_new blocks 1050000
    # Puts the slice's last page into the cache, with zeros behind its end.
    tail -c 100 "$mnt/rank0" >/dev/null
    exec 5<"$mnt/rank0"
    cat <&5 >/dev/null
    make_file more 200000
    cat more >>b.dat
    cmp "$mnt/rank0" <(expected 0)
    cmp <(dd bs=4096 if=/dev/fd/5 status=none) <(expected 0)
    exec 5<&-
}

@test "cache: a truncated file ends at its new end, for new and for open readers" {
    mount_new blocks
    exec 5<"$mnt/rank1"
    cmp "$mnt/rank1" <(expected 1)
    truncate -s 300000 b.dat
    [ "$(stat -c %s "$mnt/rank1")" -eq "$(expected 1 | wc -c)" ]
    cmp "$mnt/rank1" <(expected 1)
    cmp <(cat <&5) <(expected 1)
    truncate -s 0 b.dat
    [ "$(stat -c %s "$mnt/rank1")" -eq 0 ]
    [ "$(wc -c <"$mnt/rank1")" -eq 0 ]
    exec 5<&-
}

@test "cache: a file truncated and grown again never shows its earlier bytes" {
    local i
    mount_new blocks
    exec 5<"$mnt/rank1"
    for i in 1 2 3 4 5; do
        cmp "$mnt/rank1" <(expected 1)
        truncate -s $((100000 * i + 10)) b.dat
        [ "$i" -gt 2 ] || cat "$mnt/rank1" >/dev/null
        truncate -s 1048576 b.dat
        python patch 800000 50000 "$i"
        cmp "$mnt/rank1" <(expected 1)
        cmp /proc/self/fd/5 <(expected 1)
    done
    exec 5<&-
}

@test "cache: open readers see at once what a direct writer has written" {
    mount_new blocks 1050000
    python what_a_writer_past_the_page "$mnt"
}

@test "cache: open readers of other slices see at once what is written to shared bytes" {
    local options
    make_file b.dat 4096
    all_and_dealt b.dat 8 >two.json
    for options in npy,cache=through npy,cache=back,flush_interval=0; do
        mpiio-mount -o "$options" two.json "$mnt"
        python other_slices_that_show "$mnt"
        mpiio-umount "$mnt"
    done
}

# Here pages are dropped late, so a write that does not wait for that would show old bytes.
@test "cache: a write to a slice with readers waits until other slices show it" {
    make_file b.dat 4096
    all_and_dealt b.dat 8 >two.json
    LD_PRELOAD=$MPIIO_BUILD/tests/engine/liblate.so mpiio-fused two.json "$mnt" 3>&-
    python a_writer_whose_slice_others_read "$mnt"
    mpiio-umount "$mnt"
}

@test "cache: slices that show the same bytes, all written and read at once, never deadlock" {
    make_file b.dat 65536
    echo '{"viewspec": 1, "file": "b.dat", "ranks": 2, "view": {"filetype": {"type": "broadcast"}}}' >two.json
    mpiio-mount -o threads=2 two.json "$mnt"
    python slices_that_show_the_same_bytes "$mnt"
    mpiio-umount "$mnt"
}

@test "cache: fsync shows an open reader, and a mapping, what others have written" {
    blocks_spec
    settle
    mount_spec b.json
    python fsync_of_an_open_reader_shows "$mnt/rank1"
    python fsync_shows_a_mapping "$mnt/rank1"
}

@test "cache: more fsyncs than threads at once, beside readers" {
    mount_new blocks 16777216 -o threads=2
    python fsyncs_of_many_readers "$mnt"
    [ "$(stat_of requests.fsync)" -gt 8 ]
    cmp "$mnt/rank1" <(expected 1)
}

@test "cache: mappings and readers of a file that is truncated and grown do not hurt the daemon" {
    local pid
    mount_new blocks
    pid=$(daemon_pid)
    # Past the end the reader itself may get SIGBUS, as on any file. Here it stays before the end.
    python a_mapping_of_a_slice_whose "$mnt/rank1"
    cmp "$mnt/rank1" <(expected 1)
    # A read never returns more bytes than the file had. Bytes that are cut off and written again
    # during a read may read as zeros, as with a read(2) of the file. The kernel cannot detect that.
    python readers_of_a_file "$mnt"
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "cache: sendfile after the file has grown sends all of it" {
    mount_new blocks
    cat "$mnt/rank1" >/dev/null
    python patch 1048576 500000 7
    # Without a stat in between, which would give the kernel the new size.
    python sendfile_after_the_file_has_grown "$mnt/rank1"
    cmp out <(expected 1)
}

@test "cache: a program that has a slice of a truncated file open reads to the end, not zeros" {
    local i
    blocks_spec
    cp b.dat whole.dat
    # A separate mount each, so that pages dropped for one read do not affect the next one.
    for i in 0 1 2 3; do
        cp whole.dat b.dat
        LD_PRELOAD=$MPIIO_BUILD/tests/engine/liblate.so mpiio-fused b.json "$mnt" 3>&-
        python who_has_a_slice_open_whose "$i"
        mpiio-umount "$mnt"
    done
}

# The kernel copies written bytes into its pages and unlocks these while the write is in transit.
# Here the pages are dropped and read again before the bytes are stored.
@test "cache: a writer reads what it wrote, though others open and read the slice meanwhile" {
    blocks_spec
    settle
    mount_spec b.json
    run -0 inject pwrite64 delay_enter=3000000 python a_writer_reads_what_it_wrote "$mnt"
    echo "$output"
}

# The slice shows the last 10 bytes of each tile first. The file ends 5 bytes before the end of its
# second tile, so the slice ends there, and the kernel fills the page with zeros.
@test "cache: bytes that the file has behind the end of a slice appear when the slice grows" {
    local how option
    cat >t.json <<'END'
{ "viewspec": 1, "file": "t.dat", "ranks": 1, "view": { "filetype": { "type": "contiguous", "count": 1000 },
  "buftype": { "type": "indexed", "blocklengths": [990, 10], "displacements": [10, 0] } } }
END
    for how in ftruncate fallocate write far append; do
        for option in rw unique; do
            printf '%1990sccccc' '' | tr ' ' b >t.dat
            mount_spec t.json -o "$option"
            python grows_over_bytes_of_the_file "$mnt/rank0" "$how"
            umount_all
        done
    done
}
