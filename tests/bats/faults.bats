#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What goes wrong below a mount is told to the program that writes, at the right call, and to
# nobody else; nothing is lost silently; the mount goes on.

load helper

# spec_of BLOCK [FILE]: blocks of that many bytes dealt to two ranks.
spec_of() {
    cat >x.json <<EOF
{ "viewspec": 1, "file": "${2:-disk/x.dat}", "ranks": 2,
  "view": { "filetype": { "type": "scatter", "blocklength": $1 } } }
EOF
}

# writer PATH [OPTION...]: writes numbered lines of 64 bytes, one after the other, 512 a call,
# until a call fails; prints "ERROR CALL BYTES": the error's name, the call, how much was
# acknowledged. sync=N: fsync after every N calls. start=N, stop=N: bytes.
writer() {
    /usr/bin/python3 - "$@" <<'EOF'
import errno, os, sys
options = dict(word.split("=") for word in sys.argv[2:])
start, stop = int(options.get("start", 0)), int(options.get("stop", 1 << 40))
sync, size = int(options.get("sync", 0)), int(options.get("size", 32768))
fd = os.open(sys.argv[1], os.O_WRONLY)
done, calls, call = start, 0, "write"
try:
    while done < stop:
        first = done // 64
        lines = b"".join(b"%063d\n" % i for i in range(first, first + size // 64 + 1))
        part = lines[done - first * 64:][:min(size, stop - done)]
        call = "write"
        done += os.pwrite(fd, part, done)
        calls += 1
        if sync and calls % sync == 0:
            call = "fsync"
            os.fsync(fd)
    call = "fsync"
    os.fsync(fd)
    call = "close"
    os.close(fd)
    print("done", "-", done)
except OSError as error:
    print(errno.errorcode[error.errno], call, done)
EOF
}

# lines_there FILE BYTES: the file begins with the first BYTES bytes of what writer writes.
lines_there() {
    /usr/bin/python3 - "$@" <<'EOF'
import sys
size = int(sys.argv[2])
want = b"".join(b"%063d\n" % i for i in range(size // 64 + 1))[:size]
got = open(sys.argv[1], "rb").read(size)
bad = [i for i in range(size) if got[i:i + 1] != want[i:i + 1]]
if bad:
    sys.exit(f"{len(bad)} of {size} bytes are not there, first {bad[0]}")
EOF
}

# A full disk: for runs of BLOCK bytes, acknowledged bytes are there; then space is made free.
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
    # The other slice and the mount go on, reading; a write that needs space is told, too.
    [ "$(head -c 4 "$mnt/rank1" | wc -c)" -eq 4 ]
    run -0 writer "$mnt/rank0" start="$acknowledged"
    [[ $output == "ENOSPC write $acknowledged" ]]
    # What is there already needs no space.
    run -0 writer "$mnt/rank0" stop=100000
    [ "$output" = "done - 100000" ]

    rm disk/ballast
    run -0 writer "$mnt/rank0" start="$acknowledged" stop=$((acknowledged + 1500000))
    [ "$output" = "done - $((acknowledged + 1500000))" ]
    [ "$(daemon_pid)" -eq "$pid" ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    lines_there slice $((acknowledged + 1500000))
}

@test "faults: a full disk, then freed: runs of 8 bytes" {
    full_disk 8
}

@test "faults: a full disk, then freed: runs of 4 KiB" {
    full_disk 4096
}

@test "faults: a full disk, then freed: runs of 1 MiB" {
    full_disk 1048576
}

@test "faults: holes of a file on a full disk" {
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
    # The end of the slice stays where it is: nothing has moved.
    [ "$(stat -c %s "$mnt/rank0")" -eq $((128 << 20)) ]
    run -1 fallocate -l 100M "$mnt/rank1"
    [[ $output == *"No space left on device"* ]]
    is_mounted
}

@test "faults: stores to a mapped slice on a full disk are told by msync" {
    small_disk 8
    truncate -s 64M disk/x.dat
    fill_disk
    spec_of 512
    mount_spec x.json
    run -0 /usr/bin/python3 - "$mnt/rank0" <<'EOF'
import errno, mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
size = 1 << 20
map = mmap.mmap(fd, size)
map[:] = b"x" * size
try:
    map.flush()
    print("stored")
except OSError as error:
    print(errno.errorcode[error.errno])
EOF
    [ "$output" = ENOSPC ]
    rm disk/ballast
    run -0 writer "$mnt/rank0" stop=1000000
    [ "$output" = "done - 1000000" ]
    lines_there "$mnt/rank0" 1000000
}

@test "faults: with unique, fsync or close tells of a full disk" {
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
    run -0 writer "$mnt/rank0" stop=3000000
    [ "$output" = "done - 3000000" ]
    [ "$(daemon_pid)" -eq "$pid" ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    lines_there slice 3000000
}

# full_file SIZE: a sparse file of so many MiB on a disk that is full, and a spec of it.
full_file() {
    small_disk 8
    truncate -s "${1}M" disk/x.dat
    fill_disk
    spec_of 512
}

# held HOW WHAT: writes lines by stores to a mapping or by write(2), as HOW says, where there is no
# room for them, and prints what each step says. WHAT=fsync: then makes room and syncs again;
# WHAT=over: writes over the first ones before that.
held() {
    /usr/bin/python3 - "$mnt" "$@" <<'EOF'
import errno, json, mmap, os, sys
mount, how, what = sys.argv[1:]
size = 64 * 16384
lines = b"".join(b"%063d\n" % i for i in range(size // 64))
fd = os.open(mount + "/rank0", os.O_RDWR)
def slice_reads():
    return json.load(open(mount + "/.mpiio/stats.json"))["slice_reads"]
def tell(call, *arguments):
    try:
        call(*arguments)
        print("0", end=" ")
    except OSError as error:
        print(errno.errorcode[error.errno], end=" ")
if how == "mapped":
    map = mmap.mmap(fd, size)
    map[:] = lines
    tell(map.flush)
    map.close()
else:
    os.pwrite(fd, lines, 0)
tell(os.fsync, fd)
tell(os.fsync, fd)
other = os.open(mount + "/rank1", os.O_RDWR)
tell(os.fsync, other)
tell(os.close, other)
tell(os.close, os.dup(fd))
# The kernel forgets its pages; what was written is still there.
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
reads = slice_reads()
assert os.pread(fd, size, 0) == lines
assert os.pread(fd, 100, size - 100) == lines[-100:]
assert slice_reads() > reads
if what != "none":
    os.remove("disk/ballast")
if what == "over":
    os.pwrite(fd, b"over" * 1600, 100)
if what != "none":
    tell(os.fsync, fd)
tell(os.close, fd)
EOF
}

@test "faults: stores to a mapped slice that found no room are stored by the next fsync" {
    full_file 64
    mount_spec x.json
    run -0 held mapped fsync
    [ "$output" = "ENOSPC ENOSPC ENOSPC 0 0 ENOSPC 0 0 " ]
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    lines_there slice $((64 * 16384))
}

@test "faults: what was written (unique) and found no room is stored by the next fsync" {
    full_file 0
    mount_spec x.json -o unique
    run -0 held written fsync
    [ "$output" = "ENOSPC ENOSPC 0 0 ENOSPC 0 0 " ]
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    lines_there slice $((64 * 16384))
}

@test "faults: what found no room does not come back over a later write" {
    full_file 64
    mount_spec x.json
    run -0 held mapped over
    [ "$output" = "ENOSPC ENOSPC ENOSPC 0 0 ENOSPC 0 0 " ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    [ "$(tail -c +101 slice | head -c 6400 | tr -d over | wc -c)" -eq 0 ]
    lines_there slice 100
    run -1 lines_there slice $((64 * 16384))
    [[ $output == "6"???" of 1048576 bytes are not there, first 100" ]]
}

# unsaved HOW [OPTION...]: nobody has the slice open any more; unmounting and SIGTERM save it.
unsaved() {
    local how=$1 size=$2 pid
    shift 2
    full_file "$size"
    mount_spec x.json "$@"
    run -0 held "$how" none
    [[ $output == *"ENOSPC " ]]
    [ "$(stat_of lost_bytes)" -gt 0 ]
    run -1 mpiio-umount "$mnt"
    [[ $output =~ "No space left on device; "[0-9]+" bytes could not be stored; still mounted" ]]
    pid=$(daemon_pid)
    rm disk/ballast
    if [ "$how" = mapped ]; then
        mpiio-umount "$mnt"
    else
        kill -TERM "$pid"
        gone "$pid"
    fi
    run ! is_mounted
    mpiio-view cat x.json -r 0 >slice
    lines_there slice $((64 * 16384))
}

@test "faults: unmounting stores what found no room before" {
    unsaved mapped 64
}

@test "faults: SIGTERM stores what found no room before (unique)" {
    unsaved written 0 -o unique
}

# Room comes and goes under writers that sync after each change: each reads what it wrote last, and
# in the end that is in the file.
room_comes_and_goes() {
    small_disk 8
    truncate -s 2M disk/x.dat
    spec_of 512
    mount_spec x.json "$@"
    timeout 60 /usr/bin/python3 - "$mnt" <<'EOF'
import mmap, os, random, sys, threading
size, writers = 131072, 4
errors, failed = [], [0]
fd = os.open(sys.argv[1] + "/rank0", os.O_RDWR)
def sync():
    try:
        os.fsync(fd)
    except OSError:
        failed[0] += 1
def write(me):
    chance = random.Random(me)
    map = mmap.mmap(fd, size, offset=me * size)
    want = bytearray(size)
    while not done.is_set():
        start = chance.randrange(size)
        part = bytes([chance.randrange(1, 256)]) * chance.randrange(1, size - start + 1)
        want[start:start + len(part)] = part
        map[start:start + len(part)] = part
        sync()
        if chance.randrange(3) == 0:
            os.posix_fadvise(fd, me * size, size, os.POSIX_FADV_DONTNEED)
        if os.pread(fd, size, me * size) != want:
            errors.append(me)
    results[me] = bytes(want)
results = [b""] * writers
done = threading.Event()
threads = [threading.Thread(target=write, args=(i,)) for i in range(writers)]
for i in range(8):
    with open("disk/ballast", "wb", 0) as out:
        try:
            while True:
                out.write(bytes(65536))
        except OSError:
            pass
    if i == 0:
        for thread in threads:
            thread.start()
        while not failed[0]:
            done.wait(0.01)
    done.wait(0.2)
    os.truncate("disk/ballast", i * 300000)
    done.wait(0.05)
os.remove("disk/ballast")
done.set()
for thread in threads:
    thread.join()
os.fsync(fd)
assert not errors, errors
assert failed[0]
open("want", "wb").write(b"".join(results))
EOF
    [ "$(stat_of lost_bytes)" -eq 0 ]
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 | cmp - -n 524288 want
}

@test "faults: room that comes and goes loses nothing" {
    room_comes_and_goes
}

@test "faults: room that comes and goes loses nothing (unique)" {
    room_comes_and_goes -o unique
}

# inject CALLS WHAT COMMAND...: runs a command while the daemon's system calls of those names have
# a fault, as strace -e inject=CALLS:WHAT says.
inject() {
    local calls=$1 what=$2 pid tracer=0 status=0 i
    shift 2
    pid=$(daemon_pid)
    as_root strace -f -q -o strace.log -e trace="$calls" -e inject="$calls:$what" -p "$pid" \
        >strace.err 2>&1 3>&- &
    for ((i = 0; i < 100 && tracer == 0; i++)); do
        sleep 0.05
        tracer=$(awk '/^TracerPid/ { print $2 }' "/proc/$pid/status")
    done
    "$@" || status=$?
    as_root kill -TERM "$tracer"
    wait $! || true
    return "$status"
}

# Of all calls that store data; which are used depends on the length of the runs.
stores=pwrite64,pwritev,pwritev2

@test "faults: EIO and EDQUOT of a store are told by the write, once; the next one is stored" {
    local error
    make_file x.dat 1000000
    spec_of 65536 x.dat
    mount_spec x.json
    for error in EIO EDQUOT; do
        run -0 inject "$stores" "error=$error" writer "$mnt/rank0" stop=300000
        [ "$output" = "$error write 0" ]
        run -0 writer "$mnt/rank0" stop=300000
        [ "$output" = "done - 300000" ]
        lines_there "$mnt/rank0" 300000
    done
}

@test "faults: an error in the middle: the acknowledged part is there" {
    local acknowledged
    make_file x.dat 8000000
    spec_of 65536 x.dat
    mount_spec x.json
    run -0 inject "$stores" error=ENOSPC:when=5+ writer "$mnt/rank0" stop=3000000 size=1000000
    [[ $output == "ENOSPC write "* ]]
    acknowledged=${output##* }
    lines_there "$mnt/rank0" "$acknowledged"
    mpiio-umount "$mnt"
    mpiio-view cat x.json -r 0 >slice
    lines_there slice "$acknowledged"
}

@test "faults: short runs at the end: no space or quota for them is told by the write" {
    local error
    : >x.dat
    spec_of 8 x.dat
    mount_spec x.json
    for error in ENOSPC EDQUOT EIO; do
        run -0 inject "fallocate,$stores" "error=$error" writer "$mnt/rank0" stop=300000
        [ "$output" = "$error write 0" ]
        [ "$(stat -c %s "$mnt/rank0")" -eq 0 ]
    done
    run -0 writer "$mnt/rank0" stop=300000
    [ "$output" = "done - 300000" ]
    lines_there "$mnt/rank0" 300000
}

@test "faults: a filesystem without fallocate" {
    : >x.dat
    spec_of 8 x.dat
    mount_spec x.json
    run -0 inject fallocate error=EOPNOTSUPP writer "$mnt/rank0" stop=300000
    [ "$output" = "done - 300000" ]
    lines_there "$mnt/rank0" 300000
    run inject fallocate error=EOPNOTSUPP fallocate -l 900000 "$mnt/rank1"
    [ "$status" -eq 1 ]
    [[ $output == *"not supported"* ]]
}

@test "faults: EIO of the device is told by fsync, and again where it fails again" {
    make_file x.dat 1000000
    spec_of 512 x.dat
    mount_spec x.json
    run -0 inject fsync,fdatasync,msync,syncfs error=EIO writer "$mnt/rank0" stop=300000
    [ "$output" = "EIO fsync 300000" ]
    run -0 inject fsync,fdatasync,msync,syncfs error=EIO writer "$mnt/rank1" stop=300000
    [ "$output" = "EIO fsync 300000" ]
    run -0 writer "$mnt/rank0" stop=300000
    [ "$output" = "done - 300000" ]
}

# Writes through three handles, then asks: prints what each fsync and close answers.
ask_in_turn() {
    /usr/bin/python3 - "$mnt" <<'EOF'
import errno, os, sys
def ask(call, handle):
    try:
        call(handle)
        return "0"
    except OSError as error:
        return errno.errorcode[error.errno]
files = [os.open("%s/rank%d" % (sys.argv[1], rank), os.O_RDWR) for rank in (0, 1, 1, 0)]
for file in files[:3]:
    os.pwrite(file, b"new", 0)
print(*[ask(os.fsync, file) for file in files[:2]], ask(os.close, files[2]),
      *[ask(os.fsync, file) for file in files[:2]], ask(os.close, files[3]))
EOF
}

@test "faults: EIO of the device is told to each who has written, by fsync or close" {
    make_file x.dat 1000000
    spec_of 512 x.dat
    mount_spec x.json -o threads=1 # strace counts calls for each thread
    run -0 inject fsync,fdatasync error=EIO:when=1 ask_in_turn
    [ "$output" = "EIO EIO EIO 0 0 0" ]
}

# A part of a page is written that must be read from the disk first, which has gone.
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

@test "faults: EFBIG at the limit of a file's size, and up to it" {
    local pid
    : >x.dat
    spec_of 4096 x.dat
    mount_spec x.json
    pid=$(daemon_pid)
    as_root prlimit --pid "$pid" --fsize=1000000:
    run -0 writer "$mnt/rank0"
    [[ $output == "EFBIG write "* ]]
    [ "${output##* }" -gt 400000 ]
    [ "${output##* }" -le 503808 ]
    lines_there "$mnt/rank0" "${output##* }"
    [ "$(stat -c %s x.dat)" -le 1000000 ]
    run -1 truncate -s 900000 "$mnt/rank1"
    [[ $output == *"File too large"* ]]
    as_root prlimit --pid "$pid" --fsize=unlimited:
    run -0 writer "$mnt/rank0" stop=900000
    [ "$output" = "done - 900000" ]
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "faults: EFBIG with runs of 8 bytes" {
    local pid
    : >x.dat
    spec_of 8 x.dat
    mount_spec x.json
    pid=$(daemon_pid)
    as_root prlimit --pid "$pid" --fsize=1000000:
    run -0 writer "$mnt/rank0"
    [[ $output == "EFBIG write "* ]]
    [ "${output##* }" -gt 400000 ]
    lines_there "$mnt/rank0" "${output##* }"
    [ "$(daemon_pid)" -eq "$pid" ]
}

@test "faults: an offset that no file can have is EFBIG" {
    : >x.dat
    spec_of 8 x.dat
    mount_spec x.json
    run -0 /usr/bin/python3 - "$mnt/rank1" <<'EOF'
import errno, os, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
for offset in (1 << 62, (1 << 63) - 20):
    try:
        os.pwrite(fd, b"x" * 10, offset)
        print("written")
    except OSError as error:
        print(errno.errorcode[error.errno])
EOF
    [ "$output" = $'EFBIG\nEFBIG' ]
    [ "$(stat -c %s x.dat)" -eq 0 ]
}

# The file is made shorter again and again under writers of runs of BLOCK bytes.
truncated_while_writing() {
    local pid cutter
    make_file x.dat 4000000
    spec_of "$1" x.dat
    mount_spec x.json
    pid=$(daemon_pid)
    /usr/bin/python3 - x.dat 3>&- <<'EOF' &
import os, sys, time
end = time.monotonic() + 3
while time.monotonic() < end:
    for size in (0, 5000, 1234567, 100):
        os.truncate(sys.argv[1], size)
        time.sleep(0.001)
EOF
    cutter=$!
    while kill -0 "$cutter" 2>/dev/null; do
        run -0 writer "$mnt/rank0" stop=2000000 size=100000
        [ "$output" = "done - 2000000" ]
    done
    wait "$cutter"
    [ "$(daemon_pid)" -eq "$pid" ]
    # Nobody cuts it any more: all that is written stays.
    run -0 writer "$mnt/rank0" stop=2000000
    [ "$output" = "done - 2000000" ]
    lines_there "$mnt/rank0" 2000000
}

@test "faults: the file is truncated while it is written: runs of 8 bytes" {
    truncated_while_writing 8
}

@test "faults: the file is truncated while it is written: runs of 64 KiB" {
    truncated_while_writing 65536
}

@test "faults: the file is deleted under the mount, which goes on with what it has open" {
    make_file x.dat 1000000
    spec_of 512 x.dat
    mount_spec x.json
    exec 5<>"$mnt/rank0"
    rm x.dat
    run -0 writer "$mnt/rank0" stop=100000
    [ "$output" = "done - 100000" ]
    lines_there "$mnt/rank0" 100000
    # The file is still there for whoever has it open: it can be saved.
    cp "/proc/$(daemon_pid)/fd/$(file_fd)" saved.dat
    mpiio-view cat x.json -f saved.dat -r 0 >slice
    lines_there slice 100000
    exec 5<&-
    mpiio-umount "$mnt"
}

# The daemon's descriptor of the deleted file.
file_fd() {
    find "/proc/$(daemon_pid)/fd" -lname '*x.dat (deleted)' -printf '%f\n' | head -n 1
}
