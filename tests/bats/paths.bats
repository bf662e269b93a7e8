#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The paths that a mount opens: a file that is opened later must be the same as when it was mounted.

load helper
load attacks

setup() {
    begin_attack
}

# hers [COUNT]: makes mallory's directory m with COUNT members of 4096 bytes, which all users may
# read and write. s.json has their blocks of 512 bytes in turn. Only root may read secret.
hers() {
    local count=${1:-4}
    mkdir m
    make_file all.dat $((count * 4096))
    py "
data = open('all.dat', 'rb').read()
for i in range($count):
    open(f'm/{i}', 'wb').write(data[4096 * i:][:4096])"
    chmod 666 m/*
    as_root chown -R "${attack_users[mallory]}" m
    head -c 4096 /dev/zero | tr '\0' S >secret
    chmod 600 secret
    cat >s.json <<TEXT
{ "viewspec": 1, "members": { "count": $count, "file": "m/{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 512 } } } }
TEXT
}

# by_mallory CODE: runs python code as mallory. f is the whole of 200 members, open. swap(N, FILE)
# replaces member N by a symbolic link. error(CALL...) is the name of its error, or "none".
by_mallory() {
    {
        cat <<'TEXT'
import errno, os, sys
mnt = os.environ["mnt"]
f = os.open(mnt + "/whole", os.O_RDWR)
# The daemon closes the first members to open the last ones. Even and odd ones, because after a
# sequence it reads ahead, and would open the first ones again.
for member in [*range(0, 200, 2), *range(1, 200, 2)]:
    os.pread(f, 512, 512 * member)
def swap(member, target):
    os.symlink(target, "m/new")
    os.rename("m/new", f"m/{member}")
def error(call, *arguments):
    try:
        call(*arguments)
    except OSError as e:
        return errno.errorcode[e.errno]
    return "none"
TEXT
        cat
    } >program.py
    as_mallory timeout -s KILL 300 /usr/bin/python3 program.py
}

@test "paths: a file that replaces a member under allow_other is not read, written or touched" {
    hers 200
    touch -d 2001-01-01 secret
    cp -p secret before
    (ulimit -n 64 && mount_spec s.json -o allow_other,direct,log="$tmp/log")
    by_mallory <<'TEXT'
swap(2, os.path.abspath("secret"))
assert error(os.pread, f, 512, 1024) == "ESTALE"
assert error(os.pwrite, f, b"x" * 512, 1024) == "ESTALE"
assert error(os.utime, f) == "ESTALE"
# The other members still work.
assert len(os.pread(f, 512, 512)) == 512 and os.pwrite(f, b"x" * 512, 1536) == 512
TEXT
    cmp secret before
    [ "$(stat -c %Y secret)" = "$(stat -c %Y before)" ]
    # The permissions of a file that has taken the name give nobody access.
    run ! as_mallory cat "$mnt/whole"
    [ "$(grep -c "member 2, $tmp/m/2: replaced by another file since it was mounted" log)" -eq 1 ]
    # The same file under another name.
    mpiio-umount "$mnt"
    ln -sfn "$tmp/m/1" m/2
    mount_spec s.json -o allow_other,ro
    as_mallory cmp -n 512 "$mnt/whole" m/0
}

@test "paths: a device, a FIFO and a new file with the inode of the removed one are not members" {
    hers 200
    (ulimit -n 64 && mount_spec s.json -o allow_other,direct,log="$tmp/log")
    by_mallory <<'TEXT'
os.mkfifo("m/new")
os.rename("m/new", "m/0")
swap(1, "/dev/zero")
assert error(os.pread, f, 512, 0) == "ESTALE"
assert error(os.pread, f, 512, 512) == "ESTALE"
# ext4 gives the inode of the removed file to the next one.
inode = os.stat("m/2").st_ino
os.remove("m/2")
made = 0
while made < 100:
    with open(f"m/next{made}", "wb") as out:
        out.write(b"next" * 1024)
    if os.stat(f"m/next{made}").st_ino == inode:
        break
    made += 1
os.rename(f"m/next{min(made, 99)}", "m/2")
print("the same inode:", made < 100)
assert error(os.pread, f, 512, 1024) == "ESTALE"
TEXT
}

@test "paths: a member is compared again when it is reopened, and links to it remain valid" {
    hers 300
    # Members behind symbolic links of files and directories.
    mv m/7 seven
    ln -s "$tmp/seven" m/7
    (ulimit -n 64 && mount_spec s.json -o direct,log="$tmp/log")
    cmp -n 512 "$mnt/whole" m/0
    dd if="$mnt/whole" of=before bs=64k status=none
    chmod 600 m/0
    mv m moved
    ln -s moved m
    dd if="$mnt/whole" of=after bs=64k status=none
    cmp before after
    cp m/200 copy
    mv copy m/200
    [ "$(error_of 'f = os.open(m + "/whole", os.O_RDONLY)' 'os.pread(f, 512, 200 * 512)')" = ESTALE ]
    grep "member 200, $tmp/m/200: replaced by another file" log
    # After copytruncate the daemon appends at offset 0, without a hole.
    : >log
    cp m/201 copy
    mv copy m/201
    [ "$(error_of 'f = os.open(m + "/whole", os.O_RDONLY)' 'os.pread(f, 512, 201 * 512)')" = ESTALE ]
    [[ $(tr '\0' N <log) == [0-9]*"member 201, $tmp/m/201: replaced by another file"* ]]
}

# hidden PATH ARGUMENT...: mounting at mnt must be refused, because PATH lies below it.
hidden() {
    one_line 1 "mpiio-mount: $1: lies below the mount point, * (mount elsewhere)" \
        timeout -s KILL 60 mpiio-mount "${@:2}"
    run ! is_mounted
}

@test "paths: a mount over a path that it opens is refused: members, file, spec, log, FIFO, through links and binds" {
    hers 2
    mkdir bound elsewhere
    mv m "$mnt/m"
    ln -s "$mnt/m" m
    # Members below the mount point, by a link to a directory, by links of their own, by "..", and
    # by a bind mount.
    hidden "member 0, $tmp/m/0" s.json "$mnt"
    (cd "$mnt" && hidden "member 0, $tmp/m/0" ../s.json .)
    (cd "$mnt" && hidden "member 0, $tmp/mnt/../mnt/m/0" --members '../mnt/m/{member}' --view 'scatter 512 on 2 of byte' .)
    hidden "member 0, $tmp/mnt/../m/0" <(sed "s,\"m/,\"$mnt/../m/," s.json) "$mnt"
    as_root mount --bind "$mnt" bound
    hidden "member 0, $tmp/bound/m/0" <(sed "s,\"m/,\"$tmp/bound/m/," s.json) "$mnt"
    as_root umount bound
    rm m
    mkdir m
    cp "$mnt/m/0" m/0
    ln -s "$mnt/m/1" m/1
    hidden "member 1, $tmp/m/1" s.json "$mnt"
    # The link's own directory counts, too, although the link leads out of it.
    cp "$mnt/m/1" elsewhere/1
    ln -s "$tmp/elsewhere/1" "$mnt/out"
    ln -sfn "$mnt/out" m/1
    hidden "member 1, $tmp/m/1" s.json "$mnt"
    # Members that have to be created count, too. They are not created.
    rm -f m/0
    hidden "member 1, $tmp/m/1" s.json "$mnt" -o create
    [ ! -e m/0 ]
    # A single file, its spec, a log, a FIFO.
    scatter_spec
    cp s.dat s.json "$mnt"
    hidden "$tmp/mnt/s.dat" -f "$mnt/s.dat" s.json "$mnt"
    hidden "mnt/s.json" -f s.dat mnt/s.json mnt
    (cd "$mnt" && hidden "log" -o log=log "$tmp/s.json" .)
    hidden "$mnt/log" -o log="$mnt/log" s.json "$mnt"
    mkfifo "$mnt/fifo"
    hidden "$mnt/fifo" -o sequential,ro --view 'broadcast of byte on 2' "$mnt/fifo" "$mnt"
    # A path beside the mount point is not below it.
    mkdir mnt2
    cp s.dat mnt2
    mpiio-mount -f mnt2/s.dat s.json "$mnt"
    cmp "$mnt/rank1" <(mpiio-view cat s.json -r 1)
    mpiio-umount "$mnt"
    (cd "$mnt" && mpiio-mount -o log=../log -f ../s.dat ../s.json .)
    cmp "$mnt/rank1" <(mpiio-view cat s.json -r 1)
}

@test "paths: one file as two members is read-only, by hard link, symbolic link or name, and check reports it" {
    local same
    hers 3
    cp m/2 two
    for same in 'ln -f m/0 m/2' 'ln -sf 0 m/2'; do
        rm -f m/2
        $same
        complains 1 "mpiio-mount: s.json:1:18: /members: member 2, $tmp/m/2: the same file as member 0, $tmp/m/0: they can only be read (mpiio-mount -o ro)" \
            mount_spec s.json -o rw
        run ! is_mounted
        mount_spec s.json
        [ "$(error_of 'open(m + "/whole", "r+b")')" = EROFS ]
        cmp -n 512 "$mnt/whole" m/0
        mpiio-umount "$mnt"
        run -0 --separate-stderr mpiio-view check s.json
        [ "${stderr_lines[0]}" = "mpiio-view: warning: member 2, $tmp/m/2: the same file as member 0, $tmp/m/0: they can only be read" ]
        fails 1 "${stderr_lines[0]/*warning: /s.json:1:18: \/members: } (mpiio-mount -o ro)" mpiio-view put s.json -r 0 </dev/null
    done
    # Also members that are created.
    rm m/*
    echo '{ "viewspec": 1, "members": { "files": ["m/a", "m/b", "m/a"], "view": { "tiles": 1,
        "filetype": { "type": "scatter", "blocklength": 512 } } } }' >made.json
    one_line 1 "*member 2, $tmp/m/a: the same file as member 0, $tmp/m/a: *" mount_spec made.json -o rw,create
    # A copy is a different file.
    rm -rf m s.json
    hers 3
    mpiio-mount -o rw s.json "$mnt"
    run -0 --separate-stderr mpiio-view check s.json
    [[ $stderr != *"the same file"* ]]
}

@test "paths: mpiio-umount -f ends a daemon that waits for its own mount, which no signal does" {
    local daemon caller killed
    hers 2
    mv m/1 m/whole
    sed -i 's,"count": 2\, "file": "m/{member}","files": ["m/0"\, "m/whole"],' s.json
    for killed in no yes; do
        mount_spec s.json
        daemon=$(daemon_pid)
        # From now on the daemon looks up a member in the mount itself, by the name that the lookup
        # is for.
        as_root mount --bind "$mnt" m
        stat "$mnt/whole" >/dev/null 2>&1 3>&- &
        caller=$!
        await waits_in_kernel "$daemon"
        if [ "$killed" = yes ]; then
            kill -KILL "$daemon"
            await has_ended "$daemon" # its first thread, which is not the one that waits
            waits_in_kernel "$daemon"
        fi
        timeout -s KILL 300 mpiio-umount -f "$mnt"
        await is_free "$daemon"
        gone "$daemon"
        gone "$caller"
        run ! is_mounted
        as_root umount m
    done
}

is_free() {
    ! waits_in_kernel "$1"
}

# waits_in_kernel PID: succeeds if one of the process's threads cannot be interrupted.
waits_in_kernel() {
    cat "/proc/$1"/task/*/stat 2>/dev/null | grep -qE '\) D '
}
