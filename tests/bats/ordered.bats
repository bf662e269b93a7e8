#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# "ordered": ranks read and write in the order of ranks, whatever the order of their arrival.

# shellcheck disable=SC2154 # helper.bash sets mnt and tmp
load helper
load ordered

# waiting: prints how many bytes wait for their turn.
waiting() {
    stat_of ordered_waiting_bytes
}

# ranks_done COUNT: succeeds once that many contributions have had their turn.
ranks_done() {
    [ "$(stat_of ordered_shares)" -eq "$1" ]
}

# waits COUNT: succeeds once that many contributions have had to wait.
waits() {
    [ "$(stat_of ordered_waits)" -ge "$1" ]
}

@test "ordered: the output of ranks is in their order, round after round" {
    local rank
    common 16
    mount_spec s.json
    for _ in 1 2 3; do
        # shellcheck disable=SC2016 # the ranks' shells expand it
        mpi_run 16 sh -c 'seq -f "rank $PMI_RANK: line %g" 300 >'"$mnt/ordered/self"
    done
    await ranks_done 48
    [ "$(tail -n 1 "$mnt/rank03")" = 'rank 15: line 300' ]
    for _ in 1 2 3; do
        for rank in {0..15}; do
            seq -f "rank $rank: line %g" 300
        done
    done | cmp - f.dat
    cmp f.dat "$mnt/rank07"
    [ "$(waiting)" -eq 0 ]
}

@test "ordered: names are found and not listed; the last rank's contribution waits for the first" {
    common 3
    mount_spec s.json
    [ "$(ls "$mnt")" = $'rank0\nrank1\nrank2' ]
    [ "$(ls "$mnt/ordered")" = $'rank0\nrank1\nrank2' ]
    [ "$(error_of 'os.open(m + "/ordered/rank3", 0)')" = ENOENT ]
    [ "$(error_of 'os.lseek(os.open(m + "/ordered/rank0", 0), 3, 0)')" = ESPIPE ]
    # Rank 0 has made an empty contribution.
    echo third >"$mnt/ordered/rank2"
    [ "$(waiting)" -eq 6 ]
    await turn_is "$mnt" 1
    [ ! -s f.dat ]
    echo second >>"$mnt/ordered/rank1"
    await ranks_done 3
    [ "$(cat f.dat)" = $'second\nthird' ]
    # Unmounting places the waiting contributions, without the ranks that never came.
    echo late >"$mnt/ordered/rank1"
    echo later >"$mnt/ordered/rank1"
    echo latest >"$mnt/ordered/rank0"
    await ranks_done 5
    mpiio-umount "$mnt"
    [ "$(cat f.dat)" = $'second\nthird\nlatest\nlate\nlater' ]
    # If ranks see different bytes, there is no "ordered".
    mount_new scatter
    [ ! -e "$mnt/ordered" ]
}

@test "ordered: 200 rounds with random arrival, and memory for less than a contribution, against a model" {
    common 5 int
    mount_spec s.json -o dirty_max=1M
    random_rounds 200 5 4 1500000 mnt
    cmp f.dat want
}

@test "ordered: a killed writer's contribution is what he had written" {
    common 3
    mount_spec s.json
    python a_share_of_one
}

@test "ordered: a writer without room waits, and can be killed; fsync waits until all is stored" {
    local writer syncer status
    common 3
    mount_spec s.json -o dirty_max=1M
    head -c 3000000 /dev/urandom >big
    dd if=big of="$mnt/ordered/rank1" bs=600k status=none &
    writer=$!
    await waits 1
    [ "$(waiting)" -le 1048576 ]
    # A signal ends the writer. Its contribution is what it has written so far.
    kill -TERM "$writer"
    status=0
    wait "$writer" || status=$?
    [ "$status" -eq 143 ]
    python a_writer_without_room_waits &
    syncer=$!
    await waits 2
    echo zero >"$mnt/ordered/rank0"
    wait "$syncer"
    cmp f.dat <(echo zero; head -c 614400 big; printf two)
}

@test "ordered: unmounting by force and SIGTERM do not wait for waiting writers" {
    local writer pid way
    common 2
    mount_spec s.json -o dirty_max=1M
    for way in TERM force lazy; do
        : >f.dat
        { dd if=/dev/zero of="$mnt/ordered/rank1" bs=600k count=4 status=none 2>/dev/null || true; } &
        writer=$!
        await waits 1
        pid=$(daemon_pid)
        case $way in
        TERM) as_root kill -TERM "$pid" ;;
        force) mpiio-umount -f "$mnt" ;;
        lazy)
            as_root umount -l "$mnt"
            as_root kill -TERM "$pid"
            ;;
        esac
        gone "$pid"
        wait "$writer"
        # Bytes that had arrived are in the file.
        [ "$(stat -c %s f.dat)" -ge 614400 ]
        run is_mounted
        [ "$status" -ne 0 ] || as_root umount -l "$mnt"
        mount_spec s.json -o dirty_max=1M
    done
}

@test "ordered: mpiio-umount -f reports how many bytes waited in a daemon that it has killed" {
    common 4
    mount_spec s.json
    pid=$(daemon_pid)
    echo one >"$mnt/ordered/rank1"
    echo three >"$mnt/ordered/rank3"
    stop_process "$pid"
    run -3 mpiio-umount -f "$mnt"
    [ "${lines[0]}" = "mpiio-umount: $mnt: not synced: no answer" ]
    [ "${lines[1]}" = "mpiio-umount: $mnt: unmounted, but 10 bytes of ordered that waited for their turn are lost" ]
    [ "${#lines[@]}" -eq 2 ]
    gone "$pid"
    run ! is_mounted
    # The number does not include bytes that were placed.
    mount_spec s.json
    pid=$(daemon_pid)
    echo one >"$mnt/ordered/rank1"
    echo zero >"$mnt/ordered/rank0"
    await ranks_done 2
    stop_process "$pid"
    gives "mpiio-umount: $mnt: not synced: no answer" mpiio-umount -f "$mnt"
}

@test "ordered: mpiio-umount fails if bytes wait while another mount keeps the daemon running" {
    common 4
    mount_spec s.json
    pid=$(daemon_pid)
    mkdir copy
    as_root mount --bind "$mnt" copy
    echo three >"$mnt/ordered/rank3"
    run -1 mpiio-umount "$mnt"
    [[ $output == *"still mounted "*"at $tmp/copy"*"; 6 bytes of ordered wait for their turn; "* ]]
    run -0 mpiio-umount copy
    gone "$pid"
    [ "$(<f.dat)" = three ]
}

@test "ordered: ranks read in turn, each as much as it wants" {
    common 3 int
    seq -f %3.0f 0 299 >f.dat
    mount_spec s.json
    python ranks_read_one_after_the_other
}

@test "ordered: data that cannot be stored is reported by fsync and close, else in the log and by unmounting" {
    small_disk 4
    common 2
    mv f.dat disk
    mpiio-mount -o "log=$tmp/log" -f disk/f.dat s.json "$mnt"
    fill_disk
    python what_cannot_be_stored_is_told
    as_root umount "$mnt"
    logged log '1048576 bytes that could not be stored are lost'
}

@test "ordered: with write-back, views with folders and in atomic mode" {
    cat >v.json <<'END'
{ "viewspec": 1, "file": "v.dat", "ranks": 2,
  "views": { "a": { "filetype": { "type": "broadcast" } },
             "b": { "disp": 100, "etype": "double",
                    "filetype": { "type": "vector", "count": 2, "blocklength": 1, "stride": 3 } } } }
END
    local how
    for how in cache=back atomic; do
        : >v.dat
        mount_spec v.json -o "$how"
        printf 'b1b1b1b1' >"$mnt/b/ordered/rank1"
        printf 'a1' >"$mnt/a/ordered/rank1"
        printf 'a0' >"$mnt/a/ordered/rank0"
        printf 'b0b0b0b0B0B0B0B0' >"$mnt/b/ordered/rank0"
        await ranks_done 4
        [ "$(head -c 4 "$mnt/a/rank1")" = a0a1 ]
        [ "$(cat "$mnt/b/rank0")" = b0b0b0b0B0B0B0B0b1b1b1b1 ]
        mpiio-umount "$mnt"
        [ "$(head -c 4 v.dat)" = a0a1 ]
        [ "$(tail -c +125 v.dat | head -c 8)" = B0B0B0B0 ]
    done
}
