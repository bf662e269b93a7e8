#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The levels of the daemon's log, and its lines for requests.

load helper

# log_mount OPTION...: mounts s.json with these mount options, and logs to the file log.
log_mount() {
    mount_spec s.json -o "log=$tmp/log,$(IFS=, && echo "$*")"
}

# requests PATTERN: prints the lines of the log for requests that match, from the request's name on.
requests() {
    sed -nE "s,^[^ ]*Z debug mpiio-mount\[[0-9]+\]: [^ ]*: ($1),\1,p" log
}

# unmount_with_warning: unmounts a mount with delete_on_close, which logs a warning.
unmount_with_warning() {
    mv s.dat moved.dat
    mpiio-umount "$mnt"
    mv moved.dat s.dat
}

@test "log: lines have their level; those below log_level are dropped, which can be changed while the file is mounted" {
    local level
    scatter_spec
    for level in info warning error; do
        rm -f log
        log_mount delete_on_close coherence=none log_level=$level
        [ "$(attribute "$mnt" log)" = "$level" ]
        unmount_with_warning
        sed -E 's/^[^ ]*Z ([a-z]+) .*/\1/' log >levels.$level
    done
    diff levels.info - <<<$'info\nwarning'
    diff levels.warning - <<<warning
    [ ! -s levels.error ]
    grep -qE "^[-0-9]{10}T[:0-9]{8}Z warning mpiio-mount\[[0-9]+\]: $mnt: .*s.dat is not removed: " <(
        log_mount delete_on_close && unmount_with_warning && cat log
    )
    rm log
    log_mount delete_on_close
    [ "$(attribute "$mnt" log)" = info ]
    setfattr -n user.mpiio.log -v error "$mnt"
    [ "$(attribute "$mnt" log)" = error ]
    unmount_with_warning
    [ ! -s log ]
    log_mount delete_on_close log_level=error
    setfattr -n user.mpiio.log -v warning "$mnt"
    unmount_with_warning
    grep -q ' warning .*: .*s.dat is not removed: ' log
}

@test "log: at level debug each request is a line" {
    counts_requests
    scatter_spec
    log_mount rw log_level=debug
    [ "$(requests 'init ' | wc -l)" -eq 1 ]
    : >log
    dd if="$mnt/rank3" of=/dev/null bs=512 count=1 skip=1 iflag=direct status=none
    dd if=s.dat of="$mnt/rank2" bs=256 count=1 seek=3 conv=notrunc,fsync oflag=direct status=none
    mkdir "$mnt/new" 2>/dev/null && false
    requests 'read unique=[0-9]+ file=rank3 offset=512 length=512 result=512 us=[0-9]+$' >read.lines
    requests 'write unique=[0-9]+ file=rank2 offset=768 length=256 result=256 us=[0-9]+$' >write.lines
    requests 'fsync unique=[0-9]+ file=rank2 result=0 us=[0-9]+$' >fsync.lines
    requests 'mkdir unique=[0-9]+ file=/ result=-1 us=[0-9]+$' >mkdir.lines
    wc -l ./*.lines
    [ "$(cat ./*.lines | wc -l)" -eq 4 ]
}

@test "log: lines for requests name files in folders, and the results of lseek" {
    cat >v.json <<'END'
{ "viewspec": 1, "file": "s.dat", "ranks": 2, "views": {
    "a": { "filetype": { "type": "scatter", "blocklength": 512 } },
    "b": { "filetype": "byte" } } }
END
    make_file s.dat 4096
    mount_spec v.json -o "log=$tmp/log,log_level=debug"
    [ "$(error_of "f = os.open(m + '/a/rank1', os.O_RDONLY)" "os.lseek(f, 100, os.SEEK_HOLE)")" = none ]
    ls "$mnt/b" "$mnt/.mpiio" >/dev/null
    requests 'lseek unique=[0-9]+ file=a/rank1 offset=100 result=2048 us=[0-9]+$' | grep .
    requests 'opendir unique=[0-9]+ file=b/ result=0 us=[0-9]+$' | grep .
    requests '(readdir|readdirplus) unique=[0-9]+ file=.mpiio offset=0 length=[0-9]+ result=[1-9][0-9]* us=[0-9]+$' | grep .
}

@test "log: turning debug off and on while requests are in progress; other levels, and longer words, are refused" {
    local word
    scatter_spec
    log_mount rw
    python switch_while_reading
    [ "$(attribute "$mnt" log)" = info ]
    requests 'open .*' | grep -q .
    : >log
    cat "$mnt/rank0" >/dev/null
    [ -z "$(requests 'open .*')" ]
    for word in notice INFO infos inf ''; do
        [ "$(error_of "os.setxattr(m, 'user.mpiio.log', b'$word')")" = EINVAL ]
        [ "$(error_of "os.getxattr(m, 'user.mpiio.log.$word')")" = EINVAL ]
    done
    [ "$(attribute "$mnt" log)" = info ]
}

@test "log: other users see the level but cannot change it" {
    scatter_spec
    chmod 666 s.dat
    as_root chown root s.dat
    as_root env "PATH=$PATH" mpiio-mount -o allow_other,log="$tmp/log" s.json "$mnt"
    [ "$(as_user getfattr --absolute-names --only-values -n user.mpiio.log "$mnt")" = info ]
    run -1 as_user setfattr -n user.mpiio.log -v debug "$mnt"
    run -1 as_user getfattr -n user.mpiio.log.debug "$mnt"
    [ "$(attribute "$mnt" log)" = info ]
    as_root setfattr -n user.mpiio.log -v debug "$mnt"
    [ "$(attribute "$mnt" log)" = debug ]
}

@test "log: users change the level of their own mounts" {
    scatter_spec
    user_folder own
    as_user "$MPIIO_BIN/mpiio-mount" -o ro s.json own
    as_user setfattr -n user.mpiio.log -v debug own && false
    as_user getfattr -n user.mpiio.log.debug own
    [ "$(as_user getfattr --only-values -n user.mpiio.log own)" = debug ]
    as_user "$MPIIO_BIN/mpiio-umount" own
    as_user "$MPIIO_BIN/mpiio-mount" s.json own
    as_user setfattr -n user.mpiio.log -v warning own
    [ "$(as_user getfattr --only-values -n user.mpiio.log own)" = warning ]
    as_user "$MPIIO_BIN/mpiio-umount" own
}
