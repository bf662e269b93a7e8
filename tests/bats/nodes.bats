#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Several nodes write back and flush together, come and go, and show each other what they have.

load helper
load nodes

@test "nodes: interleaved slices of 8-byte blocks, one fsync: stored once, in merged runs" {
    spec 8
    start_nodes 2
    python <<'END'
parts = [slice_of(rank, 400000, 1) for rank in range(4)]
files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
for rank in range(4):
    for start in range(0, 400000, 40000):
        os.pwrite(files[rank], parts[rank][start:start + 40000], start)
assert os.stat("f.dat").st_size == 0, "nothing is in the file yet"
for rank in range(4):
    assert os.pread(files[rank], 400000, 0) == parts[rank], "a writer reads what it has written"
os.fsync(files[2])
assert open("f.dat", "rb").read() == merged(parts, 8)
END
    [ "$(stat_sum .cluster.stored_bytes)" -eq 1600000 ]
    [ "$(stat_sum .cluster.dirty_bytes)" -eq 1600000 ]
    [ "$(stat_sum .cluster.store_calls)" -le "$(stat_sum .cluster.merged_runs)" ]
    [ "$(stat_sum .cluster.merged_runs)" -le 2 ]
    [ "$(stat_sum .store_writes)" -eq 0 ]
    [ "$(attribute m0 epoch)" -eq 1 ]
    [ "$(attribute m1 nodes)" -eq 2 ]
    [ "$(attribute m1 state)" = ok ]
    [ "$(attribute m1 atomicity)" -eq 0 ]
    stop_nodes
}

@test "nodes: what was closed or synced on one is seen by who opens or syncs on another" {
    spec 512
    head -c 8192 /dev/zero >f.dat
    start_nodes 3 -o flush_interval=0
    python <<'END'
reader = os.open("m2/rank1", os.O_RDONLY)
assert os.read(reader, 2048) == bytes(2048)
for round in range(20):
    writer, other = f"m{round % 3}", f"m{(round + 1) % 3}"
    part = slice_of(1, 2048 + 512 * round, round)
    with open(f"{writer}/rank1", "r+b") as out:
        out.write(part)
    assert os.stat(f"{other}/rank1").st_size == len(part)
    assert open(f"{other}/rank1", "rb").read() == part, round
    os.fsync(reader)
    assert os.pread(reader, 65536, 0) == part, round
    # An fsync while both have it open.
    fd = os.open(f"{writer}/rank1", os.O_WRONLY)
    part = slice_of(1, len(part), round + 100)
    os.pwrite(fd, part, 0)
    os.fsync(fd)
    os.fsync(reader)
    assert os.pread(reader, 65536, 0) == part, round
    os.close(fd)
END
    stop_nodes
}

@test "nodes: pages are kept across opens, and not across a flush, whatever the file's times tell" {
    spec 512
    head -c 8192 /dev/zero >f.dat
    sleep 0.1 # so that the file's times count as settled
    run_daemons env "LD_PRELOAD=$MPIIO_BUILD/tests/engine/libstale.so" "STALE_FILE=$tmp/f.dat"
    start_nodes 2 -o flush_interval=0
    python <<'END'
def reads():
    return json.load(open("m1/.mpiio/stats.json"))["slice_reads"]
zeros = bytes(2048)
assert open("m1/rank1", "rb").read() == zeros
before = reads()
assert open("m1/rank1", "rb").read() == zeros
assert reads() == before
for round in range(5):
    part = slice_of(1, 2048, round)
    with open("m0/rank1", "r+b") as out:
        out.write(part)
    assert open("m1/rank1", "rb").read() == part, round
END
    stop_nodes
}

@test "nodes: a node reads at once what it has written, through any slice and view" {
    cat >s.json <<'END'
{ "viewspec": 1, "file": "f.dat", "ranks": 2, "views": {
    "dealt": { "filetype": { "type": "scatter", "blocklength": 16 } },
    "all": { "filetype": { "type": "broadcast" } } } }
END
    head -c 4096 /dev/zero >f.dat
    start_nodes 2 -o flush_interval=0
    python <<'END'
parts = [slice_of(rank, 2048, 3) for rank in range(2)]
first, second = (os.open(f"m0/dealt/rank{rank}", os.O_RDWR) for rank in range(2))
assert open("m0/all/rank0", "rb").read() == bytes(4096)
os.write(first, parts[0])
assert open("m0/all/rank0", "rb").read() == merged([parts[0], bytes(2048)], 16)
os.write(second, parts[1])
assert open("m0/all/rank1", "rb").read() == merged(parts, 16)
assert open("f.dat", "rb").read() == bytes(4096)
os.pwrite(second, b"more" * 4, 2048)
assert os.stat("m0/all/rank0").st_size == 4096 + 32
assert time.time() - os.stat("m0/all/rank0").st_mtime < 60
# It is closed: in the file.
os.close(first)
assert os.stat("f.dat").st_size == 4096 + 32
assert open("m1/all/rank0", "rb").read() == merged([parts[0] + bytes(16), parts[1] + b"more" * 4], 16)
END
    stop_nodes
}

@test "nodes: what nobody syncs is stored after flush_interval" {
    spec 8
    start_nodes 2 -o flush_interval=1
    python <<'END'
first, second = os.open("m0/rank0", os.O_RDWR), os.open("m1/rank1", os.O_RDWR)
begin = time.monotonic()
os.write(first, b"01234567")
os.write(second, b"89abcdef")
assert os.stat("f.dat").st_size == 0 or time.monotonic() - begin > 0.9
await_true(lambda: open("f.dat", "rb").read() == b"0123456789abcdef")
await_true(lambda: json.load(open("m0/.mpiio/stats.json"))["dirty_bytes"] == 0)
END
    [ "$(stat_sum .cluster.left_blocks)" -eq 0 ]
    stop_nodes
}

@test "nodes: writers of more than dirty_max wait, and requests are answered meanwhile" {
    spec 4096
    start_nodes 2 -o dirty_max=4M,flush_interval=0,threads=2
    python <<'END'
parts = [slice_of(rank, 1 << 20, 5) for rank in range(4)]
def write(rank):
    fd = os.open(f"m{rank % 2}/rank{rank}", os.O_WRONLY)
    for i in range(16):
        os.pwrite(fd, parts[rank], i << 20)
    os.close(fd)
threads = [threading.Thread(target=write, args=(rank,)) for rank in range(4)]
for thread in threads:
    thread.start()
while any(thread.is_alive() for thread in threads):
    assert os.stat("m0/rank0").st_size >= 0
    time.sleep(0.01)
assert open("f.dat", "rb").read() == merged(parts, 4096) * 16
END
    [ "$(stat_sum .cluster.stored_bytes)" -eq $((64 << 20)) ]
    [ "$(stat_of dirty_memory m0)" -eq 0 ]
    stop_nodes
}

@test "nodes: what a node has no room for waits for what another writes beside it, if nobody else waits" {
    spec 8 2
    start_nodes 2 -o dirty_max=8M,flush_interval=0
    python <<'END'
parts = [slice_of(rank, 29 << 16, 7) for rank in range(2)]
def sums(key):
    return sum(json.load(open(f"m{node}/.mpiio/stats.json"))["cluster"][key] for node in range(2))
files = [os.open(f"m{rank}/rank{rank}", os.O_WRONLY) for rank in range(2)]
# The last of them is more than half of dirty_max has room for.
for i in range(29):
    os.pwrite(files[0], parts[0][i << 16:(i + 1) << 16], i << 16)
await_true(lambda: sums("left_blocks") == 4)
assert sums("stored_bytes") == 0
for i in range(29):
    os.pwrite(files[1], parts[1][i << 16:(i + 1) << 16], i << 16)
await_true(lambda: sums("stored_bytes") == 29 << 17)
assert sums("merged_runs") == 1
assert open("f.dat", "rb").read() == merged(parts, 8)
# Nobody writes beside this one: a second flush stores it, and a sync does so at once.
os.pwrite(files[0], parts[1][:8], 0)
assert open("f.dat", "rb").read(8) == parts[0][:8]
os.fsync(files[0])
assert open("f.dat", "rb").read(8) == parts[1][:8]
END
    stop_nodes
}

@test "nodes: a full disk is told to those whose data is unsaved; with room again all is stored" {
    local how
    ram_disk 8m
    for how in auto posix mpiio; do
        rm -f disk/*
        file=disk/f.dat spec 1048576
        start_nodes 2 -o "flush_interval=0,store=$how,npy"
        head -c 5M /dev/zero >disk/filler
        python <<'END'
parts = [slice_of(rank, 1 << 20, 7) for rank in range(4)]
files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
for rank in range(2):
    os.pwrite(files[rank], parts[3 - rank], 0)
os.fsync(files[0])
for rank in range(3):
    os.pwrite(files[rank], parts[rank], 0)
# The last one has no room; both of its files tell so, though it is written through one.
os.pwrite(os.open("m1/rank3.npy", os.O_RDWR), parts[3], 128)
results = [fails(os.fsync, fd) for fd in files]
assert results == [None, None, None, "ENOSPC"], results
assert fails(os.fsync, files[3]) == "ENOSPC", "it is told as long as it is so"
for name in "rank3", "rank3.npy":
    assert fails(os.close, os.open("m1/" + name, os.O_RDWR)) == "ENOSPC", name
assert fails(os.fsync, os.open("m1/rank3.npy", os.O_RDWR)) == "ENOSPC"
assert os.pread(files[3], 1 << 20, 0) == parts[3]
assert open("disk/f.dat", "rb").read()[:3 << 20] == merged(parts, 1 << 20)[:3 << 20]
# Dirty data of others is not in the way of what is stored.
os.pwrite(files[0], parts[1], 0)
os.fsync(files[0])
os.pwrite(files[0], parts[0], 0)
os.unlink("disk/filler")
for fd in files:
    os.fsync(fd)
    os.close(fd)
assert open("disk/f.dat", "rb").read() == merged(parts, 1 << 20)
END
        stop_nodes
    done
    run ! grep -q "not all is stored" log
}

@test "nodes: times that are set stay, though data was written before" {
    spec 8
    start_nodes 2
    printf 'some data that is copied' >source
    touch -d '2001-02-03 04:05:06' source
    cp -p --no-preserve=mode,ownership source m0/rank1
    [ "$(stat -c %Y m1/rank1)" -eq "$(stat -c %Y source)" ]
    [ "$(stat -c %Y f.dat)" -eq "$(stat -c %Y source)" ]
    cmp source <(head -c 24 m1/rank1)
    stop_nodes
}

@test "nodes: local shows each node its block of ranks" {
    spec 8 7
    head -c 56 /dev/zero >f.dat
    start_nodes 3 -o local
    [ "$(ls m0)" = "rank0
rank1" ]
    [ "$(ls m1)" = "rank2
rank3" ]
    [ "$(ls m2)" = "rank4
rank5
rank6" ]
    printf 12345678 >m2/rank6
    [ "$(tail -c 8 f.dat)" = 12345678 ]
    run ! cat m0/rank2
    [ "$(PMI_RANK=3 readlink m1/self)" = rank3 ]
    run ! env PMI_RANK=4 readlink m1/self
    stop_nodes
    start_nodes 3 -o local,npy
    [ "$(PMI_RANK=3 ls m1)" = "rank2
rank2.npy
rank3
rank3.npy
self
self.npy" ]
    [ "$(PMI_RANK=3 readlink m1/self.npy)" = rank3.npy ]
    run ! env PMI_RANK=4 readlink m1/self.npy
    [ ! -e m0/rank2.npy ]
    [ ! -e m2/rank3.npy ]
    [ "$(tail -c 8 m2/rank6.npy)" = 12345678 ]
    stop_nodes
}

@test "nodes: behind NumPy headers: written back, and in atomic mode" {
    spec 8 4
    head -c 3200 /dev/zero >f.dat
    start_nodes 2 -o npy
    python <<'END'
import numpy
def append_to(rank, node, count):
    """Header, sizes and data of all files after an append, before and after it is synced."""
    before = numpy.load(f"m{node}/rank{rank}.npy")
    more = slice_of(rank, count, node)
    fd = os.open(f"m{node}/rank{rank}.npy", os.O_RDWR | os.O_APPEND)
    os.write(fd, more)
    here = numpy.load(f"m{node}/rank{rank}.npy")
    assert here.tobytes() == before.tobytes() + more
    size = os.stat(f"m{node}/rank{rank}.npy").st_size
    assert size == 128 + len(here) == 128 + os.stat(f"m{node}/rank{rank}").st_size
    assert open(f"m{node}/rank{rank}", "rb").read() == here.tobytes()
    os.fsync(fd)
    os.close(fd)
    assert numpy.load(f"m{1 - node}/rank{rank}.npy").tobytes() == here.tobytes()
def save(rank, node, seed):
    array = numpy.load(f"m{node}/rank{rank}.npy")
    new = numpy.frombuffer(slice_of(rank, array.nbytes, seed), array.dtype)
    numpy.save(f"m{node}/rank{rank}.npy", new)
    for name, start in ("", 0), (".npy", 128):
        assert open(f"m{1 - node}/rank{rank}{name}", "rb").read()[start:] == new.tobytes()
for atomic in b"0", b"1", b"0":
    os.setxattr("m0", "user.mpiio.atomicity", atomic)
    for rank in range(4):
        append_to(rank, rank % 2, 80)
        save(rank, 1 - rank % 2, rank)
        other = os.open(f"m{rank % 2}/rank{rank}.npy", os.O_RDWR)
        assert fails(os.pwrite, other, b"#", 0) == "EPERM"
        os.close(other)
END
    stop_nodes
}

@test "nodes: hints go to MPI-IO and back" {
    spec 8 4 '"hints": {"cb_nodes": "1", "cb_buffer_size": "65536"},'
    start_nodes 2
    [ "$(jq -r .cluster.hints.cb_nodes m1/.mpiio/stats.json)" = 1 ]
    [ "$(jq -r .cluster.hints.cb_buffer_size m0/.mpiio/stats.json)" = 65536 ]
    [ "$(stat_of 'cluster.peers[0].last_heard_ms' m0)" -lt 5000 ]
    stop_nodes
}

@test "nodes: all kinds of store, written through, and read-only" {
    local options
    for options in store=posix store=mpiio cache=through; do
        rm -f f.dat
        spec 8
        start_nodes 2 -o "$options"
        python <<'END'
parts = [slice_of(rank, 80000, 9) for rank in range(4)]
files = [os.open(f"m{rank % 2}/rank{rank}", os.O_RDWR) for rank in range(4)]
for rank in range(4):
    os.write(files[rank], parts[rank])
for fd in files:
    os.fsync(fd)
assert open("f.dat", "rb").read() == merged(parts, 8)
for rank in range(4):
    assert open(f"m{(rank + 1) % 2}/rank{rank}", "rb").read() == parts[rank]
END
        stop_nodes
    done
    start_nodes 2 -o ro
    cmp <(head -c 8 f.dat) <(head -c 8 m1/rank0)
    run ! sh -c 'printf x >m1/rank0'
    stop_nodes
}

@test "nodes: one that cannot mount is told of with its host, and nothing is left" {
    spec 8
    mkdir m0
    : >m1
    run ! start_nodes 2
    [ "$(cat err)" = "nodes: $(hostname): $tmp/m1: Not a directory" ]
    run ! mountpoint -q m0
    stop_nodes
    rm m1
    echo '{}' >s.json
    run ! start_nodes 2
    [ "$(wc -l <err)" -eq 1 ]
    stop_nodes
}

# Of the daemon that is mounted there: how many descriptors it may have.
allowed() {
    awk '/^Max open files/ { print $4 ":" $5 }' "/proc/$(daemon_pid "$1")/limits"
}

@test "nodes: node 0 has descriptors for all nodes, or none is mounted" {
    spec 8
    run_daemons prlimit --nofile=129:1000
    start_nodes 3 -o pool=off
    [ "$(allowed m0)" = 130:1000 ]
    [ "$(allowed m1)" = 129:1000 ]
    stop_nodes
    # And eight more for each other node of the pool, on all nodes.
    start_nodes 3
    [ "$(allowed m0)" = 146:1000 ]
    [ "$(allowed m1)" = 146:1000 ]
    stop_nodes
    run_daemons prlimit --nofile=131:1000
    start_nodes 3 -o pool=off
    [ "$(allowed m0)" = 131:1000 ]
    stop_nodes
    run_daemons prlimit --nofile=100:129
    run ! start_nodes 3
    [ "$(cat err)" = "nodes: $(hostname): 3 nodes need 130 open files in the daemon of node 0, which may have 129 (ulimit -Hn)" ]
    run ! mountpoint -q m0
    run ! mountpoint -q m1
    stop_nodes
    start_nodes 2
    stop_nodes
}

@test "nodes: one is unmounted alone, with what it holds, and the others go on" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python <<'END'
import ctypes, mmap
fd = os.open("m1/rank1", os.O_RDWR)
os.write(fd, b"AAAAAAAABBBBBBBB")
with mmap.mmap(fd, 16) as view:
    view[8:16] = b"mapped.."
os.close(fd)
END
    as_root umount m1
    python <<'END'
part = slice_of(0, 4000, 1)
fd = os.open("m0/rank0", os.O_RDWR)
os.write(fd, part)
os.fsync(fd)
assert open("m2/rank0", "rb").read()[:4000] == part
assert open("m2/rank1", "rb").read()[:16] == b"AAAAAAAAmapped.."
END
    [ "$(attribute m2 state)" = ok ]
    await grep -qs 'node 1 .* is unmounted' log
    kill -TERM "$(daemon_pid m2)"
    await run ! is_mounted m2
    printf 01234567 >m0/rank2
    [ "$(tail -c +17 f.dat | head -c 8)" = 01234567 ]
    stop_nodes
}

@test "nodes: signals make no node that is unmounted give up what it holds, nor leave the others" {
    local pid signal
    ram_disk 8m
    file=disk/f.dat spec 1048576
    start_nodes 2 -o flush_interval=0
    pid=$(daemon_pid m1)
    head -c 8M /dev/zero >disk/filler || true
    run ! sh -c 'head -c 1M /dev/urandom | tee copy >m1/rank1'
    kill -TERM "$pid"
    logged log "is unmounted"
    run ! mountpoint -q m1
    for signal in TERM INT HUP; do
        : >log
        kill "-$signal" "$pid"
        logged log "[$pid]: $tmp/m1: unmounted, and waiting for the other nodes to be: SIGKILL would lose what is not stored, 1048576 bytes held here"
    done
    [ "$(attribute m0 state)" = ok ]
    rm disk/filler
    stop_nodes
    cmp copy <(tail -c +1048577 disk/f.dat)
    run ! grep "are lost" log
}

# holds BYTES MOUNTPOINT: so much is written there and not stored.
holds() {
    [ "$(stat_of dirty_bytes "$2")" -eq "$1" ]
}

# signalled PID TEXT: sends SIGTERM once more; true if the text is in the log.
signalled() {
    kill -TERM "$1"
    grep -qF -- "$2" log
}

@test "nodes: a second signal says what a daemon that is to end still waits for" {
    local ends other writer
    spec 8
    start_nodes 2 -o flush_interval=0,peer_timeout=100
    ends=$(daemon_pid m0) other=$(daemon_pid m1)
    sh -c 'printf 01234567; exec sleep 100' >m0/rank0 3>&- &
    writer=$!
    await holds 8 m0
    # What is to be stored needs all nodes.
    stop_process "$other"
    await signalled "$ends" "still storing what was written: SIGKILL would lose what is not stored, 8 bytes held here"
    is_mounted m0
    kill -CONT "$other"
    kill "$writer"
    logged log "is unmounted"
    stop_nodes
    [ "$(cat f.dat)" = 01234567 ]
}

@test "nodes: all are unmounted from one of them, unless something is unsaved or in use" {
    ram_disk 8m
    file=disk/f.dat spec 1048576
    start_nodes 3 -o flush_interval=0
    head -c 8M /dev/zero >disk/filler || true
    exec 5<>m1/rank1
    run ! sh -c 'head -c 1M /dev/zero >&5'
    [ "$output" = "head: write error: No space left on device" ]
    run ! getfattr -n user.mpiio.unmount m0
    [[ $(attribute m0 unsaved) == *"$(hostname): $tmp/m1: not all is stored: No space left on device"* ]]
    is_mounted m0
    is_mounted m1
    rm disk/filler
    run ! getfattr -n user.mpiio.unmount m0
    [[ $(attribute m0 unsaved) == *"$tmp/m1: Device or resource busy"* ]]
    exec 5>&-
    getfattr -n user.mpiio.unmount m0
    run ! is_mounted m1
    run ! is_mounted m2
    is_mounted m0
    stop_nodes
    [ "$(stat -c %s disk/f.dat)" -eq 2097152 ]
}

@test "nodes: an engine that dies leaves each node on its own, with all that it holds" {
    spec 8
    start_nodes 3 -o flush_interval=0
    python <<'END'
import signal
parts = [slice_of(rank, 400000, 1) for rank in range(4)]
files = [os.open(f"m{rank % 3}/rank{rank}", os.O_RDWR) for rank in range(4)]
for rank in range(4):
    os.write(files[rank], parts[rank])
mine = os.environ["MPIIO_TEST"].encode()
def is_engine(pid):
    try:
        return (b"mpiio-engine" in os.readlink(f"/proc/{pid}/exe").encode() and
                b"MPIIO_TEST=" + mine in open(f"/proc/{pid}/environ", "rb").read())
    except OSError:
        return False
engines = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_engine(pid)]
assert len(engines) == 3, engines
os.kill(engines[1], signal.SIGKILL)
for rank in range(4):
    os.fsync(files[rank])
assert open("f.dat", "rb").read() == merged(parts, 8)
for rank in range(4):
    assert os.getxattr(f"m{rank % 3}", "user.mpiio.state") == b"degraded"
    os.pwrite(files[rank], b"written through.", 0)
    assert open("f.dat", "rb").read()[rank * 8:rank * 8 + 8] == b"written "
assert fails(os.setxattr, "m0", "user.mpiio.atomicity", b"1") == "EBUSY"
END
    await grep -qs "degraded: node .* (.*): " log
    [ "$(jq '.cluster.dead.node >= 0' m0/.mpiio/stats.json)" = true ]
    stop_nodes
}

@test "nodes: cache=back on one: stored at close, fsync, and by its age" {
    spec 8
    mount_spec s.json -o cache=back,flush_interval=1
    python <<'END'
fd = os.open("mnt/rank0", os.O_RDWR)
begin = time.monotonic()
os.write(fd, b"01234567")
assert os.stat("f.dat").st_size == 0 or time.monotonic() - begin > 0.9
assert open("mnt/rank0", "rb").read() == b"01234567"
os.fsync(os.open("mnt/rank0", os.O_RDONLY))
assert open("f.dat", "rb").read() == b"01234567"
os.write(fd, b"89abcdef")
await_true(lambda: open("f.dat", "rb").read()[32:] == b"89abcdef")
END
    printf ABCDEFGH >"$mnt/rank1"
    [ "$(head -c 16 f.dat)" = 01234567ABCDEFGH ]
    mpiio-umount "$mnt"
}

@test "nodes: converted slices: written back, parts of values, and in atomic mode" {
    cat >s.json <<'END'
{ "viewspec": 1, "file": "f.dat", "ranks": 2,
  "view": { "etype": "long_double", "filetype": { "type": "scatter" }, "datarep": "external32" } }
END
    : >f.dat
    start_nodes 2
    python <<'END'
import numpy
values = [numpy.arange(500, dtype=numpy.longdouble) * (rank + 3) for rank in range(2)]
def write_all(how):
    files = [os.open(f"m{rank}/rank{rank}", os.O_RDWR) for rank in range(2)]
    for rank in range(2):
        data = values[rank].tobytes()
        for start in range(0, len(data), how):
            os.pwrite(files[rank], data[start:start + how], start)
    for fd in files:
        os.fsync(fd)
        os.close(fd)
    for rank in range(2):
        have = numpy.frombuffer(open(f"m{1 - rank}/rank{rank}", "rb").read(), numpy.longdouble)
        assert (have == values[rank]).all(), (how, rank)
write_all(100)
values[0] += 1
os.setxattr("m0", "user.mpiio.atomicity", b"1")
write_all(100)
END
    stop_nodes
}

is_degraded() {
    [ "$(attribute "$1" state)" = degraded ]
}

@test "nodes: the manual names each number of stats.json" {
    spec 8
    start_nodes 2
    kill -KILL "$(daemon_pid m1)"
    await is_degraded m0
    jq -r 'del(.requests[], .cluster.hints[]) | [paths[-1] | strings] | unique[]' \
        m0/.mpiio/stats.json >keys
    cat keys
    [ "$(grep -cx 'why\|lost_bytes\|last_heard_ms' keys)" -eq 3 ]
    sed 's/.*/_&_/' keys | while read -r key; do
        grep -qF -- "$key" "$top/man/mpiio-fused.8.scd" || echo "$key: not in the manual"
    done >bad
    cat bad
    [ ! -s bad ]
    as_root umount -l m1
    stop_nodes
}
