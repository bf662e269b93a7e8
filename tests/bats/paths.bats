#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The paths that a mount opens: what is opened later is what was there when it was mounted.

load helper
load attacks

setup() {
    begin_attack
}

# hers [COUNT]: mallory's folder m with so many members of 4096 bytes, for all to read and write; s.json
# has their blocks of 512 bytes in turn. secret is root's alone.
hers() {
    local i count=${1:-4}
    mkdir m
    make_file all.dat $((count * 4096))
    for ((i = 0; i < count; i++)); do tail -c +$((i * 4096 + 1)) all.dat | head -c 4096 >"m/$i"; done
    chmod 666 m/*
    as_root chown -R "${attack_users[mallory]}" m
    head -c 4096 /dev/zero | tr '\0' S >secret
    chmod 600 secret
    cat >s.json <<TEXT
{ "viewspec": 1, "members": { "count": $count, "file": "m/{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 512 } } } }
TEXT
}

# by_mallory CODE: python of mallory's, in which f is the whole, open, and swap(N, FILE) puts a symbolic link
# in the place of member N. error(CALL...) is the name of its error, or "none".
by_mallory() {
    {
        cat <<'TEXT'
import errno, os, sys
mnt = os.environ["mnt"]
f = os.open(mnt + "/whole", os.O_RDWR)
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

@test "paths: what takes a member's name under allow_other is neither read, written, nor touched" {
    hers
    touch -d 2001-01-01 secret
    cp -p secret before
    mount_spec s.json -o allow_other,direct,log="$tmp/log"
    by_mallory <<'TEXT'
swap(2, os.path.abspath("secret"))
assert error(os.pread, f, 512, 1024) == "ESTALE"
assert error(os.pwrite, f, b"x" * 512, 1024) == "ESTALE"
assert error(os.utime, f) == "ESTALE"
# The others are there.
assert len(os.pread(f, 512, 512)) == 512 and os.pwrite(f, b"x" * 512, 1536) == 512
TEXT
    cmp secret before
    [ "$(stat -c %Y secret)" = "$(stat -c %Y before)" ]
    # Nobody is let in by the rights of a file that has taken the name.
    run ! as_mallory cat "$mnt/whole"
    [ "$(grep -c "member 2, $tmp/m/2: another file than when this was mounted" log)" -eq 1 ]
    # The file itself, under another name.
    mpiio-umount "$mnt"
    ln -sfn "$tmp/m/1" m/2
    mount_spec s.json -o allow_other,ro
    as_mallory cmp -n 512 "$mnt/whole" m/0
}

@test "paths: a device, a FIFO and a file with the inode of the one removed are no members" {
    hers
    mount_spec s.json -o allow_other,direct,log="$tmp/log"
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

@test "paths: a member is compared again when it is opened again, and links to it stay good" {
    hers 300
    # Members that are reached through links, of files and of folders.
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
    grep "member 200, $tmp/m/200: another file" log
}
