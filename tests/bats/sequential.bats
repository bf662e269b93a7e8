#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# -o sequential: a FIFO or a character device behind the shared file pointer.

# shellcheck disable=SC2154 # helper.bash sets mnt and tmp
load helper

# fifo_spec [ETYPE]: makes a FIFO f, and s.json, in which 3 ranks have the same view of it.
fifo_spec() {
    mkfifo f
    one_view f 3 '{ "etype": '"${1:-\"byte\"}"', "filetype": { "type": "broadcast" } }' >s.json
}

# asked KIND COUNT: succeeds once the kernel has sent that many requests.
asked() {
    [ "$(jq ".requests.$1" "$mnt/.mpiio/stats.json")" -ge "$2" ]
}

# has_open PID FILE: succeeds once the process has the file open.
has_open() {
    [[ $(readlink "/proc/$1/fd/"*) == *"/$2"* ]]
}

record='{ "type": "contiguous", "count": 16, "oldtype": "byte" }'

# refuses STATUS MESSAGE ARGUMENT...: mpiio-mount must complain in this way.
refuses() {
    complains "$1" "mpiio-mount: $2" mpiio-mount "${@:3}" "$mnt"
}

@test "sequential: processes take whole records from a FIFO, each once" {
    fifo_spec "$record"
    mount_spec s.json -o ro,sequential
    [ "$(ls -A "$mnt")" = .mpiio ]
    [ "$(ls "$mnt/ordered")" = $'rank0\nrank1\nrank2' ]
    [ "$(readlink "$mnt/.mpiio/file")" = "$tmp/f" ]
    python processes_take_whole_records
    errors_are <<'END'
EROFS os.open(m + "/shared", os.O_WRONLY)
ENOENT os.open(m + "/rank0", os.O_RDONLY)
ESPIPE os.lseek(os.open(m + "/shared", 0), 0, 1)
END
    [[ $(error_of 'os.getxattr(m + "/shared", "user.mpiio.shared_position")') == E*NOTSUP* ]]
    mpiio-umount "$mnt"
}

@test "sequential: records that processes write leave a FIFO whole, and ranks' output in order" {
    local reader
    fifo_spec "$record"
    mount_spec s.json -o sequential
    cat f >got &
    reader=$!
    await has_open "$reader" f
    python records_that_processes_write_come_whole
    mpiio-umount "$mnt"
    wait "$reader"
    [ "$(wc -l <got)" -eq 2003 ]
    [ "$(head -n 2000 got | sort -u | wc -l)" -eq 2000 ]
    [ "$(head -n 2000 got | grep -cE '^[0-3]: line [0-9]{7}$')" -eq 2000 ]
    [ "$(tail -n 3 got | cut -c 1-6)" = $'rank 0\nrank 1\nrank 2' ]
}

@test "sequential: a process that waits for the other end can be interrupted, and blocks no unmount" {
    local reader writer status name count=2
    fifo_spec
    mount_spec s.json -o ro,sequential
    cat "$mnt/shared" &
    reader=$!
    cat "$mnt/ordered/rank0" &
    writer=$!
    await asked read 2
    kill "$reader"
    status=0
    wait "$reader" || status=$?
    [ "$status" -eq 143 ]
    end_daemon TERM
    wait "$writer" || true
    # Writers without a reader, after the FIFO is full.
    mount_spec s.json -o sequential
    for name in shared ordered/rank0; do
        dd if=/dev/zero of="$mnt/$name" bs=64k count=4 status=none &
        writer=$!
        await asked write "$count"
        kill "$writer"
        status=0
        wait "$writer" || status=$?
        [ "$status" -eq 143 ]
        count=3
    done
    { dd if=/dev/zero of="$mnt/shared" bs=64k count=4 status=none 2>err || true; } &
    writer=$!
    await asked write 4
    mpiio-umount -f "$mnt"
    wait "$writer"
}

@test "sequential: character devices" {
    echo '{ "viewspec": 1, "file": "/dev/zero", "view": { "etype": "double" } }' >z.json
    mount_spec z.json -o ro,sequential
    [ "$(dd if="$mnt/shared" bs=1001 count=1 status=none | tr -d '\0' | wc -c)" -eq 0 ]
    [ "$(dd if="$mnt/shared" bs=1001 count=1 status=none | wc -c)" -eq 1000 ]
    [ "$(dd if="$mnt/shared" bs=3M count=1 iflag=fullblock status=none | wc -c)" -eq 3145728 ]
    mpiio-umount "$mnt"
    mpiio-mount -f /dev/null -o sequential z.json "$mnt"
    head -c 3000000 /dev/zero >"$mnt/shared"
    head -c 3000000 /dev/zero >"$mnt/ordered/rank0"
    mpiio-umount "$mnt"
}

@test "sequential: incompatible options and files are refused" {
    fifo_spec
    : >plain
    refuses 1 "$tmp/plain: not a FIFO or a character device" -o sequential -f plain s.json
    refuses 2 's.json: sequential: rw: the file is either read (ro) or written' -o rw,sequential s.json
    refuses 2 's.json: sequential: not possible with create or delete_on_close' -o sequential,delete_on_close s.json
    refuses 2 's.json: sequential: not possible with append or atomic' -o sequential,atomic s.json
    refuses 2 's.json: sequential: not possible with npy, nc, vti or zarr' -o sequential,zarr s.json
    refuses 2 's.json: sequential: not possible with cache=back' -o sequential,cache=back s.json
    local gaps='the view has gaps, a displacement, an end or another representation, or is not that of all ranks'
    refuses 2 "--view: sequential: $gaps" -o sequential --view 'scatter 8 on 2' f
    refuses 2 "--view: sequential: $gaps" -o sequential --view 'broadcast of double at 8' f
    refuses 2 "--view: sequential: $gaps" -o sequential --view 'broadcast of double as external32' f
    refuses 1 "$tmp/f: not a regular file or a block device" s.json
    run ! is_mounted
}
