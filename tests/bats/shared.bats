#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shared: the shared file pointer of what all ranks see.

load helper
load nodes

# records COUNT [RANKS]: f.dat has so many numbered records of 8 bytes; s.json shows all to each rank.
records() {
    seq -f %07.0f 0 $(($1 - 1)) >f.dat
    record_spec "${2:-4}"
}

record_spec() {
    cat >s.json <<END
{"viewspec": 1, "file": "f.dat", "ranks": $1,
 "view": {"etype": {"type": "contiguous", "count": 8, "oldtype": "byte"}}}
END
}

position() {
    getfattr --only-values -n user.mpiio.shared_position "${1:-mnt/shared}"
}

@test "shared: is there where all ranks see the same, and is not listed" {
    records 10 1
    mount_spec s.json
    [ -f mnt/shared ]
    [ "$(ls mnt)" = rank0 ]
    as_root umount mnt
    records 10
    mount_spec s.json
    [ -f mnt/shared ]
    as_root umount mnt
    dealt f.dat 4 8 >other.json
    mount_spec other.json
    [ ! -e mnt/shared ]
}

@test "shared: what is the same is found by what the maps are" {
    records 40
    sed -i 's/"view": {/&"disp": "(rank * 8) % 8", /' s.json
    mount_spec s.json
    [ -f mnt/shared ]
    as_root umount mnt
    # One that differs for the last rank alone.
    sed -i 's/% 8"/% 24"/' s.json
    mount_spec s.json
    [ ! -e mnt/shared ]
}

@test "shared: each view has a pointer of its own, where its ranks see the same" {
    records 20
    cat >s.json <<'END'
{"viewspec": 1, "file": "f.dat", "ranks": 2, "views": {
 "all": {"etype": "double"}, "own": {"disp": "8 * rank", "etype": "double"}, "late": {"disp": 80, "etype": "double"}}}
END
    mount_spec s.json
    [ "$(head -c 16 mnt/all/shared)" = $'0000000\n0000001' ]
    [ "$(head -c 8 mnt/late/shared)" = 0000010 ]
    [ "$(position mnt/all/shared) $(position mnt/late/shared)" = "2 1" ]
    [ ! -e mnt/own/shared ] && [ ! -e mnt/shared ]
}

@test "shared: reads and writes whole etypes at the pointer, and cannot be sought" {
    records 1000
    mount_spec s.json
    /usr/bin/python3 - <<'END'
import errno, mmap, os

def fails(code, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == code, error
    else:
        raise AssertionError(call)

def position():
    return int(os.getxattr("mnt/shared", "user.mpiio.shared_position"))

file = os.open("mnt/shared", os.O_RDWR)
other = os.open("mnt/shared", os.O_RDWR | os.O_APPEND | os.O_TRUNC)
assert os.read(file, 23) == b"0000000\n0000001\n"
assert os.read(other, 8) == b"0000002\n"
assert position() == 3
fails(errno.EINVAL, os.read, file, 7)
fails(errno.EINVAL, os.write, file, b"1234567")
fails(errno.EINVAL, os.write, file, b"123456789")
fails(errno.ESPIPE, os.lseek, file, 0, os.SEEK_SET)
fails(errno.ESPIPE, os.pread, file, 8, 0)
fails(errno.ESPIPE, os.pwrite, file, b"12345678", 0)
assert position() == 3
assert os.write(other, b"aaaaaaa\nbbbbbbb\n") == 16
assert os.write(file, b"ccccccc\n") == 8
assert position() == 6
assert open("mnt/rank1", "rb").read(64)[16:] == b"0000002\naaaaaaa\nbbbbbbb\nccccccc\n0000006\n0000007\n"
for wrong in b"", b"-1", b"1x", b"99999999999999999999":
    fails(errno.EINVAL, os.setxattr, "mnt/shared", "user.mpiio.shared_position", wrong)
os.setxattr("mnt/shared", "user.mpiio.shared_position", b"998")
assert os.read(file, 800) == b"0000998\n0000999\n"
assert os.read(file, 800) == b"" and position() == 1000
os.write(file, b"ddddddd\n")
assert os.path.getsize("mnt/rank3") == 8008 and position() == 1001
with mmap.mmap(file, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ):
    pass
assert position() == 1001
END
    jq -e '.shared_takes == 6 and .shared_etypes == 9' mnt/.mpiio/stats.json
}

@test "shared: a call of more than a request has its first part, and says so" {
    records 0
    mount_spec s.json
    /usr/bin/python3 - <<'END'
import os

def position():
    return int(os.getxattr("mnt/shared", "user.mpiio.shared_position"))

record = os.urandom(1 << 20)
for flags in 0, os.O_APPEND:
    file = os.open("mnt/shared", os.O_RDWR | flags)
    before = position()
    for size in 8, 65536, (1 << 20) - 4096:
        assert os.write(file, record[:size]) == size
    for many in 2, 5:
        put = os.write(file, record * many)
        assert (1 << 20) - 8192 < put <= 1 << 20 and put % 8 == 0, put
        assert 8 * (position() - before) == size + 65536 + 8 + put
        before += put // 8
os.setxattr("mnt/shared", "user.mpiio.shared_position", b"0")
file = os.open("mnt/shared", os.O_RDONLY)
end = 0
while (got := os.read(file, 3 << 20)):
    assert len(got) <= 1 << 20
    end += len(got)
    assert 8 * position() == end
assert end == os.path.getsize("f.dat")
# splice(2) counts by itself.
before = position()
there = os.open("mnt/shared", os.O_WRONLY)
inlet, outlet = os.pipe()
for text in b"aaaaaaa\n", b"bbbbbbb\n":
    os.write(outlet, text)
    assert os.splice(inlet, there, 8) == 8
assert position() == before + 2
END
}

@test "shared: begins at the end with append; on a read-only mount it is set by a name" {
    records 10
    mount_spec s.json -o append
    [ "$(position)" = 10 ]
    echo aaaaaaa >>mnt/shared
    echo bbbbbbb >mnt/shared
    [ "$(tail -c 16 f.dat)" = $'aaaaaaa\nbbbbbbb' ]
    as_root umount mnt
    mount_spec s.json -o append,ro
    [ "$(position)" = 12 ]
    getfattr -n user.mpiio.shared_seek.11 mnt/shared
    [ "$(cat mnt/shared)" = bbbbbbb ]
    run ! getfattr -n user.mpiio.shared_seek.x mnt/shared
    [ "$(position)" = 12 ]
}

@test "shared: writes behind the last tile take nothing" {
    records 0 1
    sed -i 's/"view": {/&"tiles": 3, /' s.json
    mount_spec s.json
    printf '%s' aaaaaaa. bbbbbbb. >mnt/shared
    /usr/bin/python3 -c 'import os; assert os.write(os.open("mnt/shared", os.O_WRONLY), b"ccccccc.ddddddd.") == 8'
    run ! sh -c 'echo eeeeeee >mnt/shared'
    [ "$(position)" = 3 ]
    [ "$(cat f.dat)" = aaaaaaa.bbbbbbb.ccccccc. ]
}

@test "shared: eight processes take each record once" {
    records 20000
    mount_spec s.json
    local i
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/pointers/take.py" mnt/shared 8 >"got$i" &
    done
    wait
    sort got? | cmp - f.dat
}

@test "shared: eight processes write records of different lengths, whole, in one order" {
    printf '' >f.dat
    echo '{"viewspec": 1, "file": "f.dat", "view": {"etype": "byte"}}' >s.json
    mount_spec s.json -o append
    local i
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/pointers/put.py" mnt/shared "$i" 1250 &
    done
    wait
    /usr/bin/python3 "$top/tests/pointers/put.py" --check f.dat 8 1250
}

# MPIIO_TEST_RECORDS=100000: so many are taken and written on four nodes.

# take_on NODE...: a process on each takes what there is, into got0, got1, ...
take_on() {
    local node number=0
    takers=()
    for node; do
        /usr/bin/python3 "$top/tests/pointers/take.py" "m$node/shared" 8 >"got$number" &
        takers+=($!)
        number=$((number + 1))
    done
}

@test "shared: eight processes on four nodes take each record once" {
    local many=${MPIIO_TEST_RECORDS:-8000}
    records "$many"
    start_nodes 4
    take_on 0 1 2 3 0 1 2 3
    wait "${takers[@]}"
    sort got? | cmp - f.dat
    [ "$(position m2/shared)" = "$many" ]
    [ "$(stat_sum .shared_etypes)" = "$many" ]
    stop_nodes
}

@test "shared: eight processes on four nodes write records of different lengths, whole" {
    printf '' >f.dat
    echo '{"viewspec": 1, "file": "f.dat", "view": {"etype": "byte"}}' >s.json
    start_nodes 4
    local i writers=() many=${MPIIO_TEST_RECORDS:-3200}
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/pointers/put.py" "m$((i % 4))/shared" "$i" "$((many / 8))" &
        writers+=($!)
    done
    wait "${writers[@]}"
    /usr/bin/python3 "$top/tests/pointers/put.py" --check f.dat 8 "$((many / 8))"
    stop_nodes
}

# daemon_at NODE: its process.
daemon_at() {
    jq .pid "m$1/.mpiio/stats.json"
}

# has_begun: much is taken, and much is not.
has_begun() {
    [ "$(cat got? | wc -l)" -gt 1500 ]
}

# survive DEAD NODE...: while a process on each takes what there is, the daemon of a node is killed
# when some has been taken. Nothing is taken twice; what is not there had been taken on that node.
survive() {
    local dead=$1 killed
    shift
    records 6000
    start_nodes 4 -o peer_timeout=4
    killed=$(daemon_at "$dead")
    take_on "$@"
    await has_begun
    kill -KILL "$killed"
    wait "${takers[@]}" || true
    sort got? >got
    [ -z "$(uniq -d got)" ]
    missing=$(comm -13 got f.dat | wc -l)
}

@test "shared: when the node that keeps the pointer is killed, the others take the rest once" {
    survive 0 1 2 3 1 2 3
    [ "$missing" = 0 ]
    [ "$(position m2/shared)" = 6000 ]
    logged log "shared file pointers are kept by node 1"
}

@test "shared: of what is taken on a node that is killed nothing is taken again" {
    survive 0 0 1 2 3 0 1 2 3
    # Each of its two had asked for one at most that it was not told of.
    [ "$missing" -le 2 ]
    [ "$(position m3/shared)" = 6000 ]
}

@test "shared: when another node is killed, no other misses a record" {
    survive 2 0 1 2 3 0 1 2 3
    [ "$missing" -le 2 ]
    [ "$(position m0/shared)" = 6000 ]
}

@test "shared: of two nodes the first goes on when the other is silent" {
    records 100
    start_nodes 2 -o peer_timeout=2
    [ "$(head -c 8 m1/shared)" = 0000000 ]
    local other
    other=$(daemon_at 1)
    kill -STOP "$other"
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000001 ]
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000002 ]
    kill -KILL "$other"
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000003 ]
}

@test "shared: is not granted to programs under mpiio-run" {
    records 10
    mount_spec s.json
    [ "$(mpiio-run head -c 8 mnt/shared)" = 0000000 ]
    [ "$(mpiio-run head -c 8 mnt/shared)" = 0000001 ]
    jq -e '.grants == 0 and .shared_takes == 2' mnt/.mpiio/stats.json
}

@test "shared: writers do not wait for each other in the kernel" {
    records 100
    mount_spec s.json -o atomic
    cat >side.py <<'END'
import fcntl, json, os, subprocess, sys, time
def writes():
    return json.load(open("mnt/.mpiio/stats.json"))["requests"]["write"]
lock = os.open("f.dat", os.O_RDWR)
before = writes()
fcntl.lockf(lock, fcntl.LOCK_EX) # writes wait for it in the daemon
writers = [subprocess.Popen([sys.executable, "-c", """import os, sys
fd = os.open("mnt/shared", os.O_WRONLY)
assert os.write(fd, b"record%s\\n" % sys.argv[1].encode()) == 8""", str(i)]) for i in range(2)]
end = time.monotonic() + 60
while writes() < before + 2 and time.monotonic() < end:
    time.sleep(0.01)
there = writes() - before
os.close(lock)
assert [writer.wait() for writer in writers] == [0, 0]
assert there == 2, there
print(*sorted(open("f.dat").read(16).split()))
END
    run -0 /usr/bin/python3 side.py
    [ "$output" = "record0 record1" ]
    [ "$(position)" = 2 ]
}
