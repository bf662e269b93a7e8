#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mounts over a distributed filesystem, whose clients have page caches of their own.

load helper
load distributed
load under

# mount_both OPTION: mounts the spec in the file both over both clients, at m0 and m1. Its paths
# begin with CLIENT, which stands for the directory of a client.
mount_both() {
    local i
    for i in 0 1; do
        sed "s,CLIENT,$tmp/dfs$i," both >"s$i.json"
        mkdir -p "m$i"
        mpiio-mount -o "$1" "s$i.json" "m$i"
    done
}

# two_mounts RUN OPTION: mounts x.dat, dealt to two ranks in runs of RUN bytes, over both clients.
two_mounts() {
    dealt CLIENT/x.dat 2 "$1" >both
    mount_both "$2"
}

# write_both SIZE [COMMAND...]: both ranks write their halves of the file at once. Both clients have
# pages of the whole file. COMMAND runs dd.
write_both() {
    local rank writers=() size=$1
    shift
    cat m[01]/rank[01] >/dev/null
    for rank in 0 1; do
        head -c $((size / 2)) /dev/zero | tr '\0' "\\$((rank + 1))" >"part$rank"
        "$@" dd if="part$rank" of="m$rank/rank$rank" bs=64k conv=notrunc,fsync status=none 3>&- &
        writers+=($!)
    done
    for rank in 0 1; do
        wait "${writers[rank]}"
    done
}

@test "distributed: two mounts write interleaved slices, and no record is lost" {
    local run size option
    make_distributed 2
    for option in rw cache=back unique; do
        for run in 8 1024 2048 16384; do
            size=$((run * (run < 1024 ? 2048 : 64)))
            head -c $size /dev/zero >dfs0/x.dat
            two_mounts "$run" "$option"
            write_both $size
            mpiio-umount m0 m1
            python none_lost "$run" $size
        done
    done
}

@test "distributed: members are written by two mounts, and no record is lost" {
    local i
    make_distributed 2
    mkdir dfs0/f
    for i in 0 1 2; do
        head -c 16384 /dev/zero >"dfs0/f/T.$i"
    done
    cat >both <<'END'
{ "viewspec": 1, "members": { "count": 3, "file": "CLIENT/f/T.{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 16384 } } },
  "ranks": 2, "view": { "filetype": { "type": "scatter", "blocklength": 64 } } }
END
    mount_both rw
    write_both 49152
    mpiio-umount m0 m1
    cat brick/f/T.* >brick/x.dat
    python none_lost 64 49152
}

# An open shows earlier closed writes, on the other client, too. A program that keeps reading an
# open descriptor may not see them.
@test "distributed: opening a slice shows what another client or program has closed" {
    local option
    make_distributed 2
    for option in rw direct cache=back ro; do
        head -c 65536 /dev/zero >dfs0/x.dat
        two_mounts 512 rw
        if [ $option != rw ]; then
            mpiio-umount m1
            mpiio-mount -o "$option" s1.json m1
        fi
        python opening_a_slice_shows_what_another $option
        mpiio-umount m0 m1
    done
}

# moved CALL: prints how many such calls the server has made on x.dat, and how many bytes they
# moved.
moved() {
    # GlusterFS also opens files by a path below .glusterfs. There is no other file.
    cat calls.* | awk -v call="$1" '$1 ~ "^" call && /brick\/(x\.dat|\.glusterfs)/ { count++; bytes += $NF }
        END { print count + 0, bytes + 0 }'
}

reads_nothing() {
    local before
    before=$(moved pread)
    cat m1/rank0 >/dev/null
    [ "$(moved pread)" = "$before" ]
}

@test "distributed: each run is sent to the server once, and unchanged data is not read again" {
    local i
    # shellcheck disable=SC2034 # make_distributed uses it
    tracer=(strace -ff -qq -y -o "$tmp/calls" -e 'trace=/^p(read|write)')
    make_distributed 2
    head -c 131072 /dev/zero >brick/x.dat
    two_mounts 1024 rw
    head -c 65536 /dev/zero | tr '\0' x | dd of=m0/rank0 bs=64k iflag=fullblock conv=notrunc,fsync status=none
    [ "$(moved pwrite)" = "64 65536" ]
    # Once the file has not been accessed for a moment, its pages stay.
    await reads_nothing
    for ((i = 0; i < 10; i++)); do
        reads_nothing
    done
    head -c 65536 /dev/zero | tr '\0' y | dd of=m0/rank1 bs=64k iflag=fullblock conv=notrunc,fsync status=none
    [ "$(moved pwrite)" = "128 131072" ]
    run ! reads_nothing
}

@test "distributed: in atomic mode each read returns the last write of any client" {
    make_distributed 3
    head -c 65536 /dev/zero >dfs0/x.dat
    two_mounts 512 atomic
    python in_atomic_mode_each_read_returns
}

@test "distributed: programs under mpiio-run write concurrently, and read what others have closed" {
    local run size
    make_distributed 2
    for run in 8 1024; do
        size=$((run * (run < 1024 ? 2048 : 64)))
        head -c $size /dev/zero >dfs0/x.dat
        two_mounts "$run" rw
        write_both $size under
        [ "$(counted writes)" -gt 0 ]
        rm counts
        python none_lost "$run" $size
        mpiio-umount m0 m1
    done
    two_mounts 1024 rw
    under /usr/bin/python3 "$call" programs_under_mpiio_run_write_beside
    [ "$(counted writes)" -eq 40 ]
    [ "$(counted reads)" -ge 120 ]
}

@test "distributed: the log, stats.json and check report the coherence of the file's filesystem" {
    local option
    make_distributed 1
    scatter_spec
    cp s.dat dfs0/x.dat
    dealt "$tmp/dfs0/x.dat" 4 512 >x.json
    run -0 mpiio-view check x.json
    [[ $output == *"filesystem: FUSE, whose clients may have page caches of their own: treated as coherence=close-to-open"* ]]
    mount_spec x.json -o "log=$tmp/log"
    [ "$(stat_of filesystem)" = '"FUSE"' ]
    [ "$(stat_of coherence)" = '"close-to-open"' ]
    grep -qF "$tmp/dfs0/x.dat: on FUSE, whose clients may have page caches of their own" log
    mpiio-umount mnt
    for option in local close-to-open none; do
        mount_spec x.json -o "log=$tmp/log,coherence=$option"
        [ "$(stat_of coherence)" = "\"$option\"" ]
        cmp mnt/rank1 <(dd if=s.dat bs=512 skip=1 count=1 status=none && dd if=s.dat bs=512 skip=5 count=1 status=none)
        printf changed >mnt/rank1
        mpiio-umount mnt
        grep -qF "on FUSE, treated as coherence=$option (mount option)" log
        cp s.dat dfs0/x.dat
    done
    # On the local disk nothing is reported.
    rm log
    run -0 mpiio-view check s.json
    [[ $output != *coherence* ]]
    mount_spec s.json -o "log=$tmp/log"
    [ "$(stat_of coherence)" = '"local"' ]
    [ ! -s log ]
    mpiio-umount mnt
    one_line 2 "*coherence= needs auto, local, close-to-open or none: some*" mpiio-mount -o coherence=some s.json mnt
}

@test "distributed: the least coherent filesystem of the members counts" {
    local first
    make_distributed 1
    cat >s.json <<END
{ "viewspec": 1, "ranks": 1, "members": { "count": 2, "file": "$tmp/links/T.{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 64 } } },
  "view": { "filetype": { "type": "broadcast" } } }
END
    head -c 4096 /dev/zero | tee dfs0/T >T
    mkdir links
    for first in 0 1; do
        ln -sf "$tmp/T" "links/T.$first"
        ln -sf "$tmp/dfs0/T" "links/T.$((1 - first))"
        mpiio-mount s.json mnt
        [ "$(stat_of coherence)" = '"close-to-open"' ]
        mpiio-umount mnt
    done
}

# md-cache answers statx(2) from memory, even if the call requires an answer of the server. With
# close-to-open, all of these reads would be stale.
@test "distributed: coherence=none shows closed data even if the client caches attributes" {
    # shellcheck disable=SC2034 # make_distributed uses it
    local above=$'type performance/md-cache\n    option md-cache-timeout 600'
    make_distributed 2 --attribute-timeout=600 --entry-timeout=600 --fopen-keep-cache=yes
    head -c 65536 /dev/zero >dfs0/x.dat
    two_mounts 512 coherence=none
    python coherence_none_shows_closed_data_even
}

# whole_mounts OPTION: mounts x.dat over both clients. Rank 0 has the whole file.
whole_mounts() {
    one_view CLIENT/x.dat 1 '{ "etype": "byte" }' >both
    mount_both "$1"
}

@test "distributed: in atomic mode two mounts and a foreign client append, and no record is lost" {
    make_distributed 3
    : >dfs2/x.dat
    whole_mounts atomic
    python in_atomic_mode_two_mounts
}

@test "distributed: opening a slice shows holes, reserved space and growth by other clients" {
    make_distributed 3
    truncate -s 1048576 dfs2/x.dat
    whole_mounts rw
    python opening_a_slice_shows_holes
}

@test "distributed: delete_on_close removes the file for all clients" {
    make_distributed 2
    head -c 4096 /dev/zero >dfs0/x.dat
    dealt "$tmp/dfs0/x.dat" 1 512 >s.json
    mpiio-mount -o delete_on_close s.json "$mnt"
    [ -s "$mnt/rank0" ]
    mpiio-umount "$mnt"
    [ ! -e brick/x.dat ]
    await test ! -e dfs1/x.dat
}

# Runs other topics with all their files on this filesystem, where a record takes ten times as long.
# By hand: MPIIO_TEST_DIR=... scripts/test bats TOPIC.
@test "distributed: the tests of other topics pass with their files on it" {
    local names
    make_distributed 1
    mapfile -t names < <(compgen -v BATS_)
    env "${names[@]/#/--unset=}" MPIIO_TEST_DIR="$tmp/dfs0" MPIIO_TEST_RECORDS=1600 bats \
        "$top"/tests/bats/{calls,delete_on_close,shared}.bats 3>&-
}
