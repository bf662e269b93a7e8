#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs of users (filesystems, databases, MPI programs, fio) use slices, in the modes of
# mpiio-mount(1): through, unique, back, atomic. In atomic mode all of them work except those that
# need a shared mapping of a slice. The errors that these get are tested here, too.
# MPIIO_EXERCISE_SECONDS makes fio write more (3).

load helper

seconds=${MPIIO_EXERCISE_SECONDS:-3}

# mount_in MODE SPEC: mounts a spec in one of the modes, as mount_spec does.
mount_in() {
    local -A options=([through]=cache=through [unique]=unique [back]=cache=back [atomic]=atomic)
    mount_spec "$2" -o "${options[$1]:?}"
}

# in_each_mode FUNCTION: calls the function with each mode, in a directory of its own.
in_each_mode() {
    local mode
    for mode in through unique back atomic; do
        echo "mode $mode:"
        mkdir "$mode"
        cd "$mode" || return
        "$1" "$mode"
        cd ..
    done
}

# part_of FILE RANKS BLOCK RANK: prints a rank's bytes of a file of whole tiles, whose blocks are
# dealt. Reads the file itself, so the result depends on neither the mount nor the library.
part_of() {
    /usr/bin/python3 "$call" part_of "$@"
}

# SQLite.

# A file that is one slice: pages of 4 KiB, each behind 512 bytes that belong to no rank.
database_spec() {
    : >x.dat
    mpiio-view spec --view 'contiguous 4096 at 512 every 4608 on 1' -f x.dat >x.json
}

# fill_database JOURNAL: writes some thousand rows in many transactions, and rolls one of them back.
fill_database() {
    {
        echo "pragma journal_mode=$1; pragma synchronous=full;"
        echo "create table t(id integer primary key, word text); create index w on t(word);"
        awk 'BEGIN { for (i = 0; i < 300; i++) {
            print "begin;";
            for (j = 0; j < 10; j++)
                printf "insert into t(word) values(hex(randomblob(%d)));\n", 20 + i % 200;
            print "commit;" } }'
        [ "$1" = off ] || echo "begin; update t set word = 'gone'; rollback;"
        echo "delete from t where id % 7 = 0; pragma integrity_check; select count(*) from t;"
    } | sqlite3 -bail "$mnt/rank0"
}

# holds DATABASE ROWS: checks that the database is intact and has that many rows.
holds() {
    gives ok$'\n'"$2" sqlite3 "$1" 'pragma integrity_check; select count(*) from t' </dev/null
}

# file_holds ROWS: checks the same in the file without a mount, and that the bytes between its pages
# are unchanged.
file_holds() {
    /usr/bin/python3 "$call" file_holds
    holds copy.db "$1"
}

@test "programs: an SQLite database in a slice, with its journal in memory or none" {
    local mode
    for mode in memory off; do
        database_spec
        mount_spec x.json
        gives "$mode"$'\nok\n2572' fill_database "$mode"
        mpiio-umount "$mnt"
        mount_spec x.json
        holds "$mnt/rank0" 2572
        mpiio-umount "$mnt"
        file_holds 2572
    done
}

# sqlite_pair MODE: runs two processes. The second one reads through a mapping if possible. In
# atomic mode that is impossible, and SQLite must do without.
sqlite_pair() {
    local writers=() pid i j
    database_spec
    mount_in "$1" x.json
    sqlite3 -cmd 'pragma journal_mode=memory' "$mnt/rank0" \
        'create table t(id integer primary key, who int, word text); create index w on t(word)' \
        </dev/null
    for i in 1 2; do
        for ((j = 0; j < 200; j++)); do
            echo "insert into t(who, word) values($i, hex(randomblob($j)));"
        done | sqlite3 -bail -cmd '.timeout 60000' -cmd 'pragma journal_mode=memory' \
            -cmd "pragma mmap_size=$(((i - 1) << 24))" "$mnt/rank0" 3>&- &
        writers+=($!)
    done
    for pid in "${writers[@]}"; do
        wait "$pid"
    done
    holds "$mnt/rank0" 400
    # Every commit was synced, so it survives the daemon.
    kill -KILL "$(daemon_pid)"
    umount_all
    file_holds 400
}

@test "programs: two SQLite processes on one database exclude each other by its locks, in each mode" {
    in_each_mode sqlite_pair
}

@test "programs: SQLite reports that it cannot create a journal beside the database; nothing is lost" {
    local mode
    database_spec
    mount_spec x.json
    fill_database memory
    for mode in delete truncate persist wal; do
        run sqlite3 -bail -cmd "pragma journal_mode=$mode" "$mnt/rank0" \
            "insert into t(word) values('x')" </dev/null
        [ "$status" -ne 0 ]
        [[ $output == *"unable to open database file"* ]]
    done
    holds "$mnt/rank0" 2572
}

# Filesystems. Slices 0 and 1 contain one each, and slice 2 none. Runs have 1500 bytes, so that the
# two filesystems share sectors.

image_bytes=$((8192 * 1500))

# make_images MODE: makes x.dat and mounts it, and makes a new ext4 in each of slices 0 and 1, which
# grow for it. neighbour gets the bytes of slice 2 in the file.
make_images() {
    local rank
    make_file x.dat $((image_bytes / 2 * 3))
    dealt x.dat 3 1500 >x.json
    mount_in "$1" x.json
    truncate -s "$image_bytes" "$mnt"/rank{0,1,2}
    part_of x.dat 3 1500 2 >neighbour
    for rank in 0 1; do
        mkfs.ext4 -q -b 1024 "$mnt/rank$rank"
        mkdir "fs$rank" "want$rank"
    done
}

# However the test ends, the loop devices are removed with the mounts.
mount_images() {
    local rank
    for rank in 0 1; do
        as_root mount -o loop "${1:-$mnt/rank}$rank" "fs$rank"
    done
}

# Returns when the filesystems are gone, also from other mount namespaces, which copy all mounts
# when they are created.
umount_images() {
    as_root umount fs0 fs1
    await no_loops
}

no_loops() {
    ! losetup -ln -O BACK-FILE | grep -qF "$tmp/"
}

# churn SEED FOLDER FOLDER: makes 600 changes in each of the directories, both at once. The same
# seed makes the same changes to a plain directory as to a filesystem in a slice.
churn() {
    as_root chmod 777 "${@:2}"
    python churn "$@"
}

# Checks that the filesystems have the contents of the plain directories.
same_trees() {
    local rank
    for rank in 0 1; do
        diff -r -x lost+found "want$rank" "fs$rank"
        [ "$(find "fs$rank" -type f | wc -l)" -gt 10 ]
    done
}

# images_are_sound: after all is unmounted, checks that the file has two filesystems without errors
# and with the right contents, and that the neighbour's bytes are unchanged.
images_are_sound() {
    local rank
    cmp <(part_of x.dat 3 1500 2) neighbour
    for rank in 0 1; do
        part_of x.dat 3 1500 "$rank" >"image$rank"
    done
    mount_images image
    same_trees
    umount_images
    fsck.ext4 -fn image0
    fsck.ext4 -fn image1
}

# filesystems MODE: twice: until all is unmounted, and until the daemon is killed after a sync. Then
# the journals repair the filesystems.
filesystems() {
    make_images "$1"
    mount_images
    churn 1 fs0 fs1
    churn 1 want0 want1
    umount_images
    fsck.ext4 -fn "$mnt/rank0"
    fsck.ext4 -fn "$mnt/rank1"
    [ "$(stat_of requests.fsync)" -gt 20 ]
    mpiio-umount "$mnt"
    images_are_sound

    mount_in "$1" x.json
    mount_images
    same_trees
    churn 2 fs0 fs1
    churn 2 want0 want1
    sync -f fs0
    sync -f fs1
    kill -KILL "$(daemon_pid)"
    umount_all
    images_are_sound
}

# A loop device needs no mapping, so it works in atomic mode.
@test "programs: an ext4 in each of two interleaved slices, in each mode" {
    in_each_mode filesystems
}

# MPI programs.

roundtrip() {
    mpi_run "${ranks:-4}" "$MPIIO_BUILD/tests/mpi/roundtrip" "$@"
}

@test "programs: MPI reads what is written through slices, and slices show what MPI writes" {
    local kinds kind rank size
    for kinds in 'darray m.dat' 'vector m.dat' 'darray m.dat external32' 'vector m.dat external32'; do
        read -ra kind <<<"$kinds"
        : >m.dat
        roundtrip spec "${kind[@]}" >m.json
        # One tile more than the views need, so that every slice has its full length.
        truncate -s 200000 m.dat
        mount_spec m.json
        roundtrip read "${kind[@]}" # makes the files whose sizes are used below
        for rank in 0 1 2 3; do
            [ -s "rank$rank.read" ]
            size=$(stat -c %s "rank$rank.read")
            head -c "$size" /dev/urandom >"rank$rank.slice"
            dd if="rank$rank.slice" of="$mnt/rank$rank" bs=1000 conv=notrunc status=none
        done
        roundtrip read "${kind[@]}"
        for rank in 0 1 2 3; do
            cmp "rank$rank.read" "rank$rank.slice"
            head -c "$(stat -c %s "rank$rank.read")" /dev/urandom >"rank$rank.write"
        done
        roundtrip write "${kind[@]}"
        for rank in 0 1 2 3; do
            cmp -n "$(stat -c %s "rank$rank.write")" "$mnt/rank$rank" "rank$rank.write"
        done
        mpiio-umount "$mnt"
    done
}

# both_programs read|write: runs one in each of the directories, at once, on slices 0 and 1.
both_programs() {
    local programs=() pid
    (cd darray && ranks=2 roundtrip "$1" darray "$mnt/rank0") 3>&- &
    programs+=($!)
    (cd vector && ranks=2 roundtrip "$1" vector "$mnt/rank1") 3>&- &
    programs+=($!)
    for pid in "${programs[@]}"; do
        wait "$pid"
    done
}

# views_on_slices MODE: what ROMIO does with noncontiguous runs: collectively, in two phases; and
# each rank by itself, which reads, changes and writes back under a lock.
views_on_slices() {
    local how kind rank
    make_file x.dat 240000
    dealt x.dat 3 1000 >x.json
    mkdir darray vector
    export ROMIO_HINTS=$tmp/hints
    for how in enable disable; do
        printf 'romio_cb_%s\n' "write $how" "read $how" >"$ROMIO_HINTS"
        printf 'romio_ds_%s enable\n' write read >>"$ROMIO_HINTS"
        cp x.dat before.dat
        mount_in "$1" x.json
        both_programs read # makes the files whose sizes are used below
        for kind in darray vector; do
            for rank in 0 1; do
                head -c "$(stat -c %s "$kind/rank$rank.read")" /dev/urandom >"$kind/rank$rank.write"
            done
        done
        both_programs write
        both_programs read
        for kind in darray vector; do
            for rank in 0 1; do
                cmp "$kind/rank$rank.read" "$kind/rank$rank.write"
            done
        done
        mpiio-umount "$mnt"
        python composed
    done
}

@test "programs: MPI programs set views of their own on slices, in each mode" {
    in_each_mode views_on_slices
}

# fio.

# fio_runs ENGINE [OPTION]...: writes to two slices at random at once, and reads back by checksums.
fio_runs() {
    local engine=$1
    shift
    timeout -k 5 $((seconds * 20 + 60)) fio --output-format=terse --ioengine="$engine" --size=4m \
        --io_size=$((seconds * 4))m --rw=randwrite --norandommap --bsrange=512-64k \
        --bs_unaligned=0 --serialize_overlap=1 --verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 \
        --allow_file_create=0 --overwrite=1 --fallocate=none --group_reporting "$@" \
        --name=one --filename="$mnt/rank1" --name=two --filename="$mnt/rank2" \
        >fio.log 2>&1 3>&-
}

# fio_verify MODE ENGINE [OPTION]...: does that, and checks that the slices beside them are
# unchanged.
fio_verify() {
    local neighbour
    make_file x.dat $((16 << 20))
    cp x.dat before.dat
    dealt x.dat 4 512 >x.json
    mount_in "$1" x.json
    neighbour=$(cat "$mnt/rank0" "$mnt/rank3" | md5sum)
    fio_runs "${@:2}" || {
        cat fio.log
        return 1
    }
    [ "$(cat "$mnt/rank0" "$mnt/rank3" | md5sum)" = "$neighbour" ]
    mpiio-umount "$mnt"
    python two_parts_have_changed
}

@test "programs: fio --verify=crc32c, by each engine and in each mode" {
    local row rows queue=io_uring
    # Kernels and containers may refuse io_uring. Then the C library queues the requests.
    fio --name=probe --filename=probe.dat --size=4k --rw=write --ioengine=io_uring >fio.log 2>&1 ||
        queue=posixaio
    rows=(
        "through psync" "through libaio --iodepth=8" "through mmap" "through $queue --iodepth=8"
        "through libaio --iodepth=8 --direct=1"
        "unique psync" "unique mmap"
        "back psync" "back mmap" "back libaio --iodepth=8 --direct=1"
        "atomic libaio --iodepth=8"
    )
    for row in "${rows[@]}"; do
        echo "$row:"
        # shellcheck disable=SC2086 # several words
        fio_verify $row
    done
}

@test "programs: fio by mmap is refused in atomic mode, and nothing is changed" {
    make_file x.dat $((16 << 20))
    cp x.dat before.dat
    dealt x.dat 4 512 >x.json
    mount_in atomic x.json
    run fio_runs mmap
    cat fio.log
    [[ $status -gt 0 && $status -lt 124 ]] # the status of fio, not of a timeout
    grep -F func=mmap fio.log
    [ "$(error_of 'mmap.mmap(os.open(m + "/rank1", os.O_RDWR), 4096)')" = ENODEV ]
    # Other programs can still use the mount, and no process keeps it busy.
    cmp "$mnt/rank1" <(part_of before.dat 4 512 1)
    mpiio-umount "$mnt"
    cmp x.dat before.dat
}
