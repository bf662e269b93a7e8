#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The daemon ends: what was acknowledged is in the file, and so is what the kernel held back.

load helper

# Some hundred writes are through.
under_way() {
    [ "$(wc -l <"done")" -gt 300 ]
}

@test "stop: what was acknowledged is in the file when the daemon is killed" {
    local pid writer
    gaps_spec 0
    : >"done"
    mount_spec g.json
    pid=$(daemon_pid)
    /usr/bin/python3 - "$mnt" 3>&- <<'END' &
import os, sys
fds = [os.open("%s/rank%d" % (sys.argv[1], rank), os.O_WRONLY) for rank in range(3)]
done = open("done", "ab", 0)
offset = 0
try:
    while True:
        for rank, fd in enumerate(fds):
            data = (b"%d:%06d" % (rank, offset)) * 50
            if os.pwrite(fd, data, offset * 400) != 400:
                break
            done.write(b"%d %d\n" % (rank, offset))
        offset += 1
except OSError:
    pass
END
    writer=$!
    await under_way
    kill -KILL "$pid"
    gone "$pid"
    wait "$writer"
    umount -l "$mnt" 2>/dev/null || fusermount3 -u -z "$mnt"
    mount_spec g.json -o ro
    /usr/bin/python3 - "$mnt" <<'END'
import sys
slices = [open("%s/rank%d" % (sys.argv[1], rank), "rb").read() for rank in range(3)]
for line in open("done"):
    rank, offset = map(int, line.split())
    assert slices[rank][offset * 400:(offset + 1) * 400] == (b"%d:%06d" % (rank, offset)) * 50
END
}

# dirty HOW: leaves 200000 bytes in the kernel that the daemon has not got yet, in a slice that a
# process has open: by a mapping, or by writes that the kernel holds back. Then the daemon gets HOW.
dirty() {
    /usr/bin/python3 - "$mnt" "$1" "$2" <<'END'
import json, mmap, os, signal, sys, time
m, how, kind = sys.argv[1:]
fd = os.open(m + "/rank1", os.O_RDWR)
data = b"".join(b"%07d\n" % i for i in range(25000))
stats = json.load(open(m + "/.mpiio/stats.json"))
if kind == "mapped":
    map = mmap.mmap(fd, len(data))
    map[:] = data
else:
    for i in range(0, len(data), 8):
        os.write(fd, data[i:i + 8])
    assert stats["writeback"]
    now = json.load(open(m + "/.mpiio/stats.json"))
    assert now["slice_write_bytes"] < len(data), now
if how == "umount":
    os.close(fd)
    assert os.system("mpiio-umount " + m) == 0
else:
    os.kill(stats["pid"], signal.SIGTERM)
    while os.path.exists("/proc/%d" % stats["pid"]):
        time.sleep(0.01)
END
    run ! is_mounted
    mpiio-view cat b.json -r 1 | cmp -n 200000 - <(seq -f %07.0f 0 24999)
}

@test "stop: SIGTERM stores what is in mappings" {
    blocks_spec
    mount_spec b.json
    dirty term mapped
}

@test "stop: SIGTERM stores what the kernel holds back (unique)" {
    blocks_spec 4096
    mount_spec b.json -o unique
    dirty term written
}

@test "stop: unmounting stores what the kernel holds back (unique)" {
    blocks_spec 4096
    mount_spec b.json -o unique
    dirty umount written
}

# stop_under_load TIMES [COMMAND...]: mounts with that command before mpiio-mount, has six threads
# write the file, read a slice and fsync it, and stops the daemon by SIGTERM, so many times.
stop_under_load() {
    local left=$1 pid load
    shift
    for (( ; left > 0; left--)); do
        rm -f loaded
        "$@" "$MPIIO_BIN/mpiio-mount" b.json "$mnt" 3>&-
        pid=$("$@" jq .pid "$mnt/.mpiio/stats.json")
        "$@" timeout 300 /usr/bin/python3 "$tmp/load.py" "$mnt/rank1" >loaded 3>&- &
        load=$!
        until [ -s loaded ] || ! kill -0 "$load"; do
            sleep 0.01
        done
        "$@" kill -TERM "$pid"
        gone "$pid"
        wait "$load"
        run ! is_mounted "$mnt"
    done
}

# A slice to read, and the load on it.
load_files() {
    blocks_spec 16777216
    cat >load.py <<'EOF'
import os, sys, threading
file = os.open("b.dat", os.O_WRONLY)
def work(fd):
    try:
        while True:
            os.pwrite(file, os.urandom(8), 4096)
            os.pread(fd, 1 << 20, 0)
            os.fsync(fd)
            print("goes on", flush=True)
    except OSError:
        pass
for fd in [os.open(sys.argv[1], os.O_RDONLY) for i in range(6)]:
    threading.Thread(target=work, args=(fd,)).start()
EOF
}

@test "stop: a daemon is stopped while reads and fsyncs are under way" {
    load_files
    stop_under_load 10 env
}

@test "stop: a user's daemon is stopped while reads and fsyncs are under way" {
    load_files
    chmod 666 b.dat
    user_folder "$mnt"
    stop_under_load 10 as_user
}
