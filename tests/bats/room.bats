#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# If the disk has no space for data, the program that writes the data gets the error, by the right
# call. The data is kept, and stored once there is space.

load helper
load nodes
load writer

# Fills the disk with runs of BLOCK bytes. Acknowledged bytes must be in the file. Then frees space.
full_disk() {
    local acknowledged pid
    small_disk 24
    : >disk/x.dat
    fallocate -l 8M disk/ballast
    spec_of "$1"
    mount_spec x.json
    pid=$(daemon_pid)
    run -0 writer "$mnt/rank0"
    [[ $output == "ENOSPC write "* ]]
    acknowledged=${output##* }
    [ "$acknowledged" -gt 1000000 ]
    lines_there "$mnt/rank0" "$acknowledged"
    # The other slice and the mount can still be read. A write that needs space fails, too.
    [ "$(head -c 4 "$mnt/rank1" | wc -c)" -eq 4 ]
    run -0 writer "$mnt/rank0" start="$acknowledged"
    [[ $output == "ENOSPC write $acknowledged" ]]
    # Existing data can be written without new space.
    gives "done - 100000" writer "$mnt/rank0" stop=100000

    rm disk/ballast
    gives "done - $((acknowledged + 1500000))" writer "$mnt/rank0" start="$acknowledged" stop=$((acknowledged + 1500000))
    [ "$(daemon_pid)" -eq "$pid" ]
    mpiio-umount "$mnt"
    lines_stored $((acknowledged + 1500000))
}

@test "room: a full disk, then freed: runs of 8 bytes" {
    full_disk 8
}

@test "room: a full disk, then freed: runs of 4 KiB" {
    full_disk 4096
}

@test "room: a full disk, then freed: runs of 1 MiB" {
    full_disk 1048576
}

@test "room: holes of a file on a full disk" {
    local acknowledged
    small_disk 16
    truncate -s 256M disk/x.dat
    spec_of 8
    mount_spec x.json
    run -0 writer "$mnt/rank0"
    [[ $output == "ENOSPC write "* ]]
    acknowledged=${output##* }
    [ "$acknowledged" -gt 1000000 ]
    lines_there "$mnt/rank0" "$acknowledged"
    # The slice has the same size as before.
    [ "$(stat -c %s "$mnt/rank0")" -eq $((128 << 20)) ]
    one_line 1 "*No space left on device*" fallocate -l 100M "$mnt/rank1"
    is_mounted
}

@test "room: with unique, fsync or close reports a full disk" {
    local pid
    small_disk 8
    : >disk/x.dat
    fill_disk
    spec_of 512
    mount_spec x.json -o unique
    pid=$(daemon_pid)
    run -0 writer "$mnt/rank0" stop=3000000
    [[ $output == "ENOSPC "* ]]
    rm disk/ballast
    gives "done - 3000000" writer "$mnt/rank0" stop=3000000
    [ "$(daemon_pid)" -eq "$pid" ]
    mpiio-umount "$mnt"
    lines_stored 3000000
}

# full_file SIZE: makes a sparse file of SIZE MiB on a full disk, and a spec of it.
full_file() {
    small_disk 8
    truncate -s "${1}M" disk/x.dat
    fill_disk
    spec_of 512
}

# held HOW WHAT: writes lines by stores to a mapping or by write(2), as HOW says, without space for
# them, and prints the result of each step. WHAT=fsync: then frees space and syncs again. WHAT=over:
# overwrites the first lines before that.
held() {
    /usr/bin/python3 "$call" held "$mnt" "$@"
}

# stored_later HOW SIZE SAID [OPTION...]: once there is space, fsync stores the data and succeeds.
stored_later() {
    full_file "$2"
    mount_spec x.json "${@:4}"
    gives "$3" held "$1" fsync
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    lines_stored $((64 * 16384))
}

@test "room: stores to a mapped slice that found no space are stored by the next fsync" {
    stored_later mapped 64 "ENOSPC ENOSPC ENOSPC 0 0 ENOSPC 0 0 "
}

@test "room: writes (unique) that found no space are stored by the next fsync" {
    stored_later written 0 "ENOSPC ENOSPC 0 0 ENOSPC 0 0 " -o unique
}

@test "room: bytes that found no space do not overwrite a later write" {
    full_file 64
    mount_spec x.json
    gives "ENOSPC ENOSPC ENOSPC 0 0 ENOSPC 0 0 " held mapped over
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    [ "$(tail -c +101 slice | head -c 6400 | tr -d over | wc -c)" -eq 0 ]
    lines_there slice 100
    one_line 1 "6??? of 1048576 bytes are not there, first 100" lines_there slice $((64 * 16384))
}

# unsaved HOW [OPTION...]: no program has the slice open. Unmounting and SIGTERM store the data.
unsaved() {
    local how=$1 size=$2
    shift 2
    full_file "$size"
    mount_spec x.json "$@"
    run -0 held "$how" none
    [[ $output == *"ENOSPC " ]]
    [ "$(stat_of lost_bytes)" -gt 0 ]
    run -1 mpiio-umount "$mnt"
    [[ $output =~ "No space left on device; "[0-9]+" bytes could not be stored; still mounted" ]]
    rm disk/ballast
    if [ "$how" = mapped ]; then
        mpiio-umount "$mnt"
    else
        end_daemon TERM
    fi
    run ! is_mounted
    lines_stored $((64 * 16384))
}

@test "room: unmounting stores data that found no space before" {
    unsaved mapped 64
}

@test "room: SIGTERM stores data that found no space before (unique)" {
    unsaved written 0 -o unique
}

@test "room: SIGTERM while there is still no space: the log reports the lost bytes, status 1" {
    local how pid bytes
    full_file 0
    for how in unique cache=back; do
        command mpiio-fused -F -o "log=$tmp/log,$how" x.json "$mnt" 3>&- &
        pid=$!
        await is_mounted
        head -c 1M /dev/zero >"$mnt/rank0" || true
        bytes=$(jq '.lost_bytes + .dirty_bytes' "$mnt/.mpiio/stats.json")
        [ "$bytes" -gt 0 ]
        kill -TERM "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq 1 ]
        run ! is_mounted
        grep -q "not all is stored: No space left on device" log
        grep -q "]: $mnt: $bytes bytes that could not be stored are lost" log
        rm log
    done
}

# Space appears and disappears under writers that sync after each change. Each reads what it wrote
# last, and in the end the file has that.
room_comes_and_goes() {
    small_disk 8
    truncate -s 2M disk/x.dat
    spec_of 512
    mount_spec x.json "$@"
    timeout 300 /usr/bin/python3 "$call" room_comes_and_goes "$mnt"
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 | cmp - -n 524288 want
}

@test "room: space that appears and disappears loses nothing" {
    room_comes_and_goes
}

@test "room: space that appears and disappears loses nothing (unique)" {
    room_comes_and_goes -o unique
}

@test "room: a full disk gives ENOSPC at the write, and later space saves the rest" {
    ram_disk 4m
    mount_dealt disk/f.dat 2 8 -o create
    head -c 1m /dev/urandom >disk/ballast
    /usr/bin/python3 "$call" a_full_disk_is_enospc "$mnt/rank1"
    mpiio-umount "$mnt"
}

@test "room: unmounting reports what the kernel could not store (unique), -f gives it up" {
    ram_disk 1m
    mount_dealt disk/f.dat 2 8 -o create,unique
    dd if=/dev/zero of="$mnt/rank0" bs=64k count=32 conv=notrunc,fsync 2>err || true
    grep -q 'No space left' err
    run -1 mpiio-umount "$mnt"
    [[ $output =~ "cannot sync: No space left on device; "[0-9]+" bytes could not be stored; still mounted" ]]
    is_mounted
    [ "$(stat_of lost_bytes)" -gt 500000 ]
    # With space the bytes can be written again, and then none are missing.
    as_root mount -o remount,size=8m disk
    dd if=/dev/zero of="$mnt/rank0" bs=64k count=32 conv=notrunc,fsync status=none
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    rm disk/f.dat
    as_root mount -o remount,size=1m disk
    mount_spec f.json -o create,unique
    dd if=/dev/zero of="$mnt/rank0" bs=64k count=32 conv=notrunc,fsync 2>err || true
    run -0 mpiio-umount -f "$mnt"
    [[ $output =~ "given up: "[0-9]+" bytes could not be stored" ]]
    run ! is_mounted
}

@test "room: with cache=back, a hole of the file on a full disk is reported, and stored later" {
    ram_disk 4m
    head -c 4096 /dev/zero >disk/f.dat # so that a later run fails, and not the first one
    truncate -s 1M disk/f.dat
    fill_disk
    mount_dealt disk/f.dat 2 64 -o cache=back,flush_interval=0
    /usr/bin/python3 "$call" a_hole_on_a_full_disk
    mpiio-umount "$mnt"
}

@test "room: a request that waits until lost data is stored does not block a flush" {
    ram_disk 8m
    head -c 64K /dev/zero >disk/f.dat
    truncate -s 6M disk/f.dat
    one_view disk/f.dat 2 '{ "datarep": "external32", "filetype": { "type": "scatter", "blocklength": 131072 },
            "etype": { "type": "struct", "types": ["int", "long"], "blocklengths": [1, 1],
                       "displacements": [0, 4] } }' >s.json
    start_nodes 2 -o dirty_max=1M,flush_interval=0,peer_timeout=60
    head -c 4096 /dev/zero >disk/little
    fill_disk
    engine=$(marked mpiio-engine-mpich | head -n 1) python who_waits_for_it_to_store
    stop_nodes
}

@test "room: with cache=back, mpiio-umount reports how many bytes find no space, -f gives them up" {
    ram_disk 1m
    mount_dealt disk/f.dat 1 65536 -o create,cache=back,flush_interval=0
    dd if=/dev/zero of="$mnt/rank0" bs=64k count=32 status=none 2>err || true
    run -1 mpiio-umount "$mnt"
    [[ $output =~ "cannot sync: No space left on device; "[0-9]+" bytes could not be stored; still mounted" ]]
    run -0 mpiio-umount -f "$mnt"
    [[ $output =~ "given up: "[1-9][0-9]+" bytes could not be stored" ]]
    run ! is_mounted
}
