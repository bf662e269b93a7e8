#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Faults below a mount are reported to the program that writes, by the right call, and to no other
# program. No data is lost silently, and the mount continues to work.

load helper
load writer

# All system calls that store data. The length of the runs decides which ones are used.
stores=pwrite64,pwritev,pwritev2

# mount_runs BLOCK [BYTES]: mounts x.dat of that many bytes, whose blocks are dealt to two ranks.
mount_runs() {
    make_file x.dat "${2:-0}"
    spec_of "$1" x.dat
    mount_spec x.json
}

# writes_all BYTES: a writer to rank 0 must succeed, and the slice must begin with its bytes.
writes_all() {
    gives "done - $1" writer "$mnt/rank0" stop="$1"
    lines_there "$mnt/rank0" "$1"
}

@test "faults: EIO and EDQUOT of a store are reported by the write, once; the next write is stored" {
    local error
    mount_runs 65536 1000000
    for error in EIO EDQUOT; do
        gives "$error write 0" inject "$stores" "error=$error" writer "$mnt/rank0" stop=300000
        writes_all 300000
    done
}

@test "faults: an error in the middle: the acknowledged part is in the file" {
    local acknowledged
    mount_runs 65536 8000000
    run -0 inject "$stores" error=ENOSPC:when=5+ writer "$mnt/rank0" stop=3000000 size=1000000
    [[ $output == "ENOSPC write "* ]]
    acknowledged=${output##* }
    lines_there "$mnt/rank0" "$acknowledged"
    mpiio-umount "$mnt"
    lines_stored "$acknowledged"
}

@test "faults: short runs at the end: the write reports that space or quota is used up" {
    local error
    mount_runs 8
    for error in ENOSPC EDQUOT EIO; do
        gives "$error write 0" inject "fallocate,$stores" "error=$error" writer "$mnt/rank0" stop=300000
        [ "$(stat -c %s "$mnt/rank0")" -eq 0 ]
    done
    writes_all 300000
}

@test "faults: a filesystem without fallocate" {
    mount_runs 8
    gives "done - 300000" inject fallocate error=EOPNOTSUPP writer "$mnt/rank0" stop=300000
    lines_there "$mnt/rank0" 300000
    one_line 1 "*not supported*" inject fallocate error=EOPNOTSUPP fallocate -l 900000 "$mnt/rank1"
}

@test "faults: EIO of the device is reported by fsync or close, to each writer, and again if it fails again" {
    mount_runs 512 1000000
    gives "EIO fsync 300000" inject fsync,fdatasync,msync,syncfs error=EIO writer "$mnt/rank0" stop=300000
    gives "EIO fsync 300000" inject fsync,fdatasync,msync,syncfs error=EIO writer "$mnt/rank1" stop=300000
    gives "done - 300000" writer "$mnt/rank0" stop=300000
    start_asking
    [ "$(inject fsync,fdatasync error=EIO ask fsync 0)" = EIO ]
    # The device works again.
    [ "$(ask fsync 1) $(ask close 2)" = "EIO EIO" ]
    [ "$(ask fsync 0) $(ask fsync 1) $(ask close 3)" = "0 0 0" ]
    exec 8>&- 9<&-
    wait $!
}

# Starts a program that writes through three of its four handles, and then takes commands from ask.
start_asking() {
    mkfifo calls answers
    /usr/bin/python3 "$call" ask "$mnt" <calls >answers 3>&- &
    exec 8>calls 9<answers
}

# ask CALL FILE: makes it call fsync or close on its handle. Prints the error, or 0.
ask() {
    local answer
    echo "$@" >&8
    read -r answer <&9
    echo "$answer"
}

# Writes a part of a page. The rest must be read from the disk first, which is broken.
broken_disk() {
    small_disk 16
    make_file disk/x.dat 4000000
    sync -f disk/x.dat
    spec_of "$1"
    mount_spec x.json
    truncate -s 64K disk.img
    dd if=disk/x.dat iflag=nocache count=0 status=none
    run -0 writer "$mnt/rank0" start=1000064 stop=1200000
    [[ $output == "EIO write "* || $output == "EROFS write "* ]]
    is_mounted
    [ "$(daemon_pid)" -gt 0 ]
}

@test "faults: EIO of a broken disk: runs of 8 bytes" {
    broken_disk 8
}

@test "faults: EIO of a broken disk: runs of 1000 bytes" {
    broken_disk 1000
}

# limited BLOCK: the file may have 1000000 bytes, and rank 0 writes runs until an error.
limited() {
    mount_runs "$1"
    pid=$(daemon_pid)
    as_root prlimit --pid "$pid" --fsize=1000000:
    run -0 writer "$mnt/rank0"
    [[ $output == "EFBIG write "* ]]
    [ "${output##* }" -gt 400000 ]
    [ "${output##* }" -le 503808 ]
    lines_there "$mnt/rank0" "${output##* }"
    [ "$(stat -c %s x.dat)" -le 1000000 ]
}

@test "faults: EFBIG at the limit of a file's size, and not below it" {
    local pid
    limited 4096
    one_line 1 "*File too large*" truncate -s 900000 "$mnt/rank1"
    as_root prlimit --pid "$pid" --fsize=unlimited:
    gives "done - 900000" writer "$mnt/rank0" stop=900000
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "faults: EFBIG with runs of 8 bytes" {
    local pid
    limited 8
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "faults: an offset that no file can have gives EFBIG" {
    mount_runs 8
    gives $'EFBIG\nEFBIG' python an_offset_that_no_file_can "$mnt/rank1"
    [ "$(stat -c %s x.dat)" -eq 0 ]
}

# Truncates the file again and again while writers write runs of BLOCK bytes.
truncated_while_writing() {
    local pid cutter
    mount_runs "$1" 4000000
    pid=$(daemon_pid)
    /usr/bin/python3 "$call" truncated_while_writing x.dat 3>&- &
    cutter=$!
    while kill -0 "$cutter" 2>/dev/null; do
        gives "done - 2000000" writer "$mnt/rank0" stop=2000000 size=100000
    done
    wait "$cutter"
    [ "$(daemon_pid)" -eq "$pid" ]
    # From now on the file is not truncated, so all written bytes stay.
    writes_all 2000000
}

@test "faults: the file is truncated while it is written: runs of 8 bytes" {
    truncated_while_writing 8
}

@test "faults: the file is truncated while it is written: runs of 64 KiB" {
    truncated_while_writing 65536
}

@test "faults: the file is deleted under the mount, which continues with its open file" {
    mount_runs 512 1000000
    exec 5<>"$mnt/rank0"
    rm x.dat
    writes_all 100000
    # The file still exists for programs that have it open, so it can be saved.
    cp "/proc/$(daemon_pid)/fd/$(file_fd)" saved.dat
    mpiio-view cat x.json -f saved.dat -r 0 >slice
    lines_there slice 100000
    exec 5<&-
    mpiio-umount "$mnt"
}

# Prints the daemon's descriptor of the deleted file.
file_fd() {
    find "/proc/$(daemon_pid)/fd" -lname '*x.dat (deleted)' -printf '%f\n' | head -n 1
}

@test "faults: the daemon's own limit of file sizes gives EFBIG, and the daemon survives" {
    local pid
    mount_new blocks 65536
    pid=$(daemon_pid)
    prlimit --pid "$pid" --fsize=70000
    [ "$(error_of 'os.pwrite(os.open(m + "/rank3", os.O_RDWR), b"x" * 8000, 16384)')" = EFBIG ]
    [ "$(error_of 'os.truncate(m + "/rank3", 80000)')" = EFBIG ]
    [ "$(error_of 'os.pwrite(os.open(m + "/rank3", os.O_RDWR), b"x" * 8000, 2**62)')" = EFBIG ]
    printf fine >"$mnt/rank3"
    [ "$(head -c 4 "$mnt/rank3")" = fine ]
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "faults: a limit of file sizes without room for write-back is reported by the mount command" {
    scatter_spec
    run -1 prlimit --fsize=$((1 << 20)) mpiio-mount -o cache=back s.json "$mnt"
    [ "$output" = "mpiio-mount: write-back: no room for its memory: File too large (raise \
the limit with ulimit -f)" ]
    run ! is_mounted
}

@test "faults: write-back continues within a limit of file sizes" {
    truncate -s 79M w.dat
    dealt w.dat 1 4096 >w.json
    prlimit --fsize=$((80 << 20)) mpiio-mount -o cache=back w.json "$mnt"
    # The limit leaves memory for 70 blocks.
    python write_back_goes_on_within
    mpiio-umount "$mnt"
}

# An fsync fails. Unmounting reports that and leaves the mount.
refuse_to_sync() {
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'os.write(fd, b"x")' 'os.fsync(fd)')" = EIO ] &&
        run -1 mpiio-umount "$mnt" &&
        [[ $output == *"cannot sync: Input/output error; still mounted" ]] &&
        is_mounted
}

@test "faults: an error of fsync is reported, and keeps the mount" {
    mount_new blocks 65536
    inject fsync error=EIO refuse_to_sync
    mpiio-umount "$mnt"
}

# A file without fsync is written, synced and unmounted like others.
nothing_to_sync() {
    [ "$(error_of 'fd = os.open(m + "/rank0", os.O_RDWR)' 'os.write(fd, b"x")' 'os.fsync(fd)')" = none ] &&
        mpiio-umount "$mnt"
}

@test "faults: a file on a filesystem without fsync can be synced and unmounted" {
    local cache
    for cache in through back; do
        mount_new blocks 65536 -o "cache=$cache"
        untrace=KILL inject fsync,fdatasync error=EINVAL nothing_to_sync
        grep -q 'EINVAL.*INJECTED' strace.log
        run ! is_mounted
        [ "$(head -c 1 b.dat)" = x ]
    done
}
