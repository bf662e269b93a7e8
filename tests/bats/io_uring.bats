#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Requests by io_uring (Linux 6.14, where the administrator has it enabled): what a mount does stays
# as without. Where it cannot be enabled here, the same is tested of mounts that do without.

load helper

enabled=/sys/module/fuse/parameters/enable_uring

# Whether it is ours to enable.
ours() {
    [ -e "$enabled" ] && as_root test -w "$enabled"
}

# enabled_for COMMAND...: while it runs, the kernel has it enabled; then it is as it was.
enabled_for() {
    local before status=0
    if ! ours; then
        "$@"
        return
    fi
    {
        flock 9
        before=$(cat "$enabled")
        echo Y | as_root tee "$enabled" >/dev/null
        "$@" 9>&- || status=$?
        echo "$before" | as_root tee "$enabled" >/dev/null
    } 9>"$MPIIO_STAGE/uring.lock"
    return "$status"
}

# mount_and_ask SPEC [OPTION...]: as mount_spec; returns when the kernel and the daemon have agreed.
mount_and_ask() {
    mount_spec "$@" 3>&-
    stat_of io_uring >/dev/null
}

# mount_rings SPEC [OPTION...]: the same, by io_uring if that can be had here.
mount_rings() {
    enabled_for mount_and_ask "$@"
    [ "$(stat_of io_uring)" = "$(ours && echo true || echo false)" ]
}

exercise() {
    timeout -k 5 300 "$MPIIO_BUILD/tests/exercise/exercise" --seconds=2 --ops=0 --slices "$@" 3>&-
}

@test "io_uring: names, attributes, large reads and writes are as without" {
    make_file b.dat 33554432
    dealt b.dat 4 4096 >b.json
    mount_rings b.json
    cmp "$mnt/rank1" <(mpiio-view cat b.json -r 1)
    [ "$(ls "$mnt")" = "$(printf 'rank%d\n' 0 1 2 3)" ]
    [ "$(stat -c %s "$mnt/rank2")" = 8388608 ]
    [ "$(attribute "$mnt/rank2" rank)" = 2 ]
    [ "$(error_of 'os.unlink(m + "/rank0")')" = EPERM ]
    [ "$(error_of 'os.stat(m + "/rank4")')" = ENOENT ]
    jq . "$mnt/.mpiio/spec.json" >/dev/null
    make_file new 8388611
    dd if=new of="$mnt/rank3" bs=1M conv=notrunc,fsync status=none
    cmp new <(mpiio-view cat b.json -r 3)
    mpiio-umount "$mnt"
    mount_rings b.json -o direct
    cmp new "$mnt/rank3"
    mpiio-umount "$mnt"
}

@test "io_uring: programs that write at random find what a model says" {
    : >x.dat
    dealt x.dat 4 512 >x.json
    mount_rings x.json
    exercise --scatter=512 "$mnt"/rank{0,1,2,3}
    exercise --threads "$mnt"/rank{0,1,2,3}
    mpiio-umount "$mnt"
    mount_rings x.json -o unique
    exercise --unique "$mnt"/rank{0,1,2,3}
    mpiio-umount "$mnt"
}

# More requests than a processor has threads at first wait for a lock.
@test "io_uring: requests that wait for a lock hold up no others on their processor" {
    blocks_spec
    mount_rings b.json -o atomic
    timeout 300 /usr/bin/python3 - "$mnt" 3>&- <<'END'
import fcntl, os, subprocess, sys, time
m = sys.argv[1]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
file = os.open("b.dat", os.O_RDWR)
fcntl.lockf(file, fcntl.LOCK_EX)
writers = [subprocess.Popen(["dd", "if=/dev/zero", f"of={m}/rank{i % 4}", "bs=64", "count=1",
                             f"seek={i}", "conv=notrunc", "status=none"]) for i in range(12)]
time.sleep(0.2)
for i in range(20):
    assert os.stat(f"{m}/rank{i % 4}").st_size == 262144
    assert open(f"{m}/.mpiio/spec.json").read().startswith("{")
assert all(writer.poll() is None for writer in writers)
fcntl.lockf(file, fcntl.LOCK_UN)
assert [writer.wait(300) for writer in writers] == [0] * 12
END
    mpiio-umount "$mnt"
}

# An fsync waits until the kernel has dropped pages, and that until a read of them is answered, which
# comes by the same queue.
@test "io_uring: writers that wait for their turn hold up no others on their processor" {
    dealt f.dat 40 8 >s.json
    sed -i 's/"scatter", "blocklength": 8/"broadcast"/' s.json
    : >f.dat
    mount_rings s.json -o dirty_max=1M
    python <<'END'
size = 200000
def work(rank):
    with open(f"mnt/ordered/rank{rank:02}", "wb", buffering=0) as out:
        for i in range(2):
            assert out.write(b"%02d" % rank * (size // 2)) == size
def waits():
    return json.load(open("mnt/.mpiio/stats.json"))["ordered_waits"]
fork = multiprocessing.get_context("fork")
jobs = [fork.Process(target=work, args=(rank,)) for rank in range(1, 40)]
for job in jobs:
    job.start()
await_true(lambda: waits() >= 36)
assert open("mnt/rank00", "rb").read() == b""
work(0)
for job in jobs:
    job.join()
    assert job.exitcode == 0
await_true(lambda: os.stat("f.dat").st_size == 40 * 2 * size)
assert open("f.dat", "rb").read() == b"".join(b"%02d" % rank * size for rank in range(40))
END
}

@test "io_uring: an fsync does not wait for a read that waits for it" {
    blocks_spec 16777216
    mount_rings b.json
    timeout 300 /usr/bin/python3 - "$mnt/rank1" 3>&- <<'END'
import os, sys, threading, time
file = os.open("b.dat", os.O_WRONLY)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
end = time.monotonic() + 3
def work(fd):
    while time.monotonic() < end:
        os.pwrite(file, os.urandom(8), 4096)
        os.pread(fd, 1 << 20, 0)
        os.fsync(fd)
for i in range(6):
    threading.Thread(target=work, args=(os.open(sys.argv[1], os.O_RDONLY),)).start()
END
    mpiio-umount "$mnt"
}

# busy_mount: $mnt and programs that read and write it without end, until they are told an error.
busy_mount() {
    local rank
    blocks_spec
    rm -f busy?
    mount_rings b.json
    pid=$(daemon_pid)
    cat >busy.py <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    while True:
        os.pwrite(fd, os.urandom(5000), 100)
        os.pread(fd, 1 << 18, 0)
        os.stat(sys.argv[1])
        os.fsync(fd)
        print("goes on", flush=True)
except OSError:
    pass
END
    for rank in 0 1 2; do
        timeout 300 /usr/bin/python3 busy.py "$mnt/rank$rank" >"busy$rank" 3>&- &
    done
    await eval '[ -s busy0 ] && [ -s busy1 ] && [ -s busy2 ]'
}

@test "io_uring: a daemon in use is stopped, killed and unmounted by force" {
    local pid
    busy_mount
    kill -TERM "$pid"
    gone "$pid"
    wait
    run ! is_mounted
    busy_mount
    kill -KILL "$pid"
    gone "$pid"
    wait
    mpiio-umount "$mnt"
    busy_mount
    mpiio-umount -f "$mnt"
    gone "$pid"
    wait
    mount_rings b.json
    pid=$(daemon_pid)
    cat "$mnt/rank0" >/dev/null
    mpiio-umount "$mnt"
    gone "$pid"
}

# refused_mount: a mount for whose daemon there is no io_uring.
refused_mount() {
    strace -D -f -o /dev/null -e trace=io_uring_setup -e inject=io_uring_setup:error=EPERM \
        mpiio-fused -o log="$tmp/said" b.json "$mnt" 3>&- >said 2>&1
    stat_of io_uring >/dev/null
}

@test "io_uring: without a word not where it is not wanted, not enabled or not to be had" {
    blocks_spec
    enabled_for mount_and_ask b.json -o io_uring=off
    [ "$(stat_of io_uring)" = false ]
    mpiio-umount "$mnt"
    if [ ! -e "$enabled" ] || [ "$(cat "$enabled")" = N ]; then
        mount_spec b.json
        [ "$(stat_of io_uring)" = false ]
        mpiio-umount "$mnt"
    fi
    enabled_for refused_mount
    [ "$(stat_of io_uring)" = false ]
    cmp "$mnt/rank1" <(mpiio-view cat b.json -r 1)
    mpiio-umount "$mnt"
    [ ! -s said ]
}
