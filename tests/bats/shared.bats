#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# "shared": the shared file pointer of a view that all ranks have.

load helper
load nodes
load under

# records COUNT [RANKS]: makes f.dat with COUNT numbered records of 8 bytes. In s.json each rank has
# all of them.
records() {
    seq -f %07.0f 0 $(($1 - 1)) >f.dat
    cat >s.json <<END
{"viewspec": 1, "file": "f.dat", "ranks": ${2:-4},
 "view": {"etype": {"type": "contiguous", "count": 8, "oldtype": "byte"}}}
END
}

# mount_records COUNT [OPTION...]: mounts records for 4 ranks.
mount_records() {
    records "$1"
    mount_spec s.json "${@:2}"
}

position() {
    getfattr --only-values -n user.mpiio.shared_position "${1:-mnt/shared}"
}

@test "shared: exists if all ranks see the same bytes, by their maps, and is not listed" {
    mount_records 10 -n 1
    [ -f mnt/shared ]
    [ "$(ls mnt)" = rank0 ]
    as_root umount mnt
    mount_records 10
    [ -f mnt/shared ]
    as_root umount mnt
    mount_dealt f.dat 4 8
    [ ! -e mnt/shared ]
    as_root umount mnt
    records 40
    sed -i 's/"view": {/&"disp": "(rank * 8) % 8", /' s.json
    mount_spec s.json
    [ -f mnt/shared ]
    as_root umount mnt
    # A view that differs only for the last rank.
    sed -i 's/% 8"/% 24"/' s.json
    mount_spec s.json
    [ ! -e mnt/shared ]
}

@test "shared: each view has a pointer of its own, if its ranks see the same bytes" {
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

@test "shared: a mapping of the only rank shows what is written" {
    records 10 1
    sed -i 's/"view": {/&"disp": 8, /' s.json
    mount_spec s.json
    /usr/bin/python3 "$call" mapped mnt/rank0 mnt/shared
}

@test "shared: reads and writes whole etypes at the pointer, and cannot be sought" {
    counts_requests
    mount_records 1000
    /usr/bin/python3 "$call" reads_and_writes_whole_etypes
    jq -e '.shared_takes == 6 and .shared_etypes == 9' mnt/.mpiio/stats.json
}

@test "shared: a call longer than a request is cut to its first part, and returns that length" {
    mount_records 0
    /usr/bin/python3 "$call" a_call_of_more
}

@test "shared: with append it starts at the end; on a read-only mount an attribute sets it" {
    mount_records 10 -o append
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

@test "shared: writes past the last tile do not move the pointer" {
    records 0 1
    sed -i 's/"view": {/&"tiles": 3, /' s.json
    mount_spec s.json
    printf '%s' aaaaaaa. bbbbbbb. >mnt/shared
    /usr/bin/python3 -c 'import os; assert os.write(os.open("mnt/shared", os.O_WRONLY), b"ccccccc.ddddddd.") == 8'
    run ! sh -c 'echo eeeeeee >mnt/shared'
    [ "$(position)" = 3 ]
    [ "$(cat f.dat)" = aaaaaaa.bbbbbbb.ccccccc. ]
}

# MPIIO_TEST_RECORDS sets the number of records to take and write: 100000 by hand, fewer on slow
# filesystems.

@test "shared: eight processes take each record once" {
    records "${MPIIO_TEST_RECORDS:-20000}"
    mount_spec s.json
    local i
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/history/take.py" mnt/shared 8 >"got$i" &
    done
    wait
    sort got? | cmp - f.dat
}

@test "shared: eight processes write whole records of different lengths, in one order" {
    printf '' >f.dat
    echo '{"viewspec": 1, "file": "f.dat", "view": {"etype": "byte"}}' >s.json
    mount_spec s.json -o append
    local i many=${MPIIO_TEST_RECORDS:-10000}
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/history/put.py" mnt/shared "$i" "$((many / 8))" &
    done
    wait
    /usr/bin/python3 "$top/tests/history/put.py" --check f.dat 8 "$((many / 8))"
}

# take_on NODE...: on each node, a process takes all records that it gets, into got0, got1, ...
take_on() {
    local node number=0
    takers=()
    for node; do
        /usr/bin/python3 "$top/tests/history/take.py" "m$node/shared" 8 >"got$number" &
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

@test "shared: eight processes on four nodes write whole records of different lengths" {
    printf '' >f.dat
    echo '{"viewspec": 1, "file": "f.dat", "view": {"etype": "byte"}}' >s.json
    start_nodes 4
    local i writers=() many=${MPIIO_TEST_RECORDS:-3200}
    for i in 0 1 2 3 4 5 6 7; do
        /usr/bin/python3 "$top/tests/history/put.py" "m$((i % 4))/shared" "$i" "$((many / 8))" &
        writers+=($!)
    done
    wait "${writers[@]}"
    /usr/bin/python3 "$top/tests/history/put.py" --check f.dat 8 "$((many / 8))"
    stop_nodes
}

# has_begun: succeeds if many records are taken, and many are not.
has_begun() {
    [ "$(cat got? | wc -l)" -gt $((many / 4)) ]
}

# survive DEAD NODE...: on each node a process takes records. The daemon of node DEAD is killed when
# some are taken. No record is taken twice. Missing records had been taken on that node.
survive() {
    local dead=$1 killed
    shift
    many=${MPIIO_TEST_RECORDS:-6000}
    records "$many"
    start_nodes 4 -o peer_timeout=4
    killed=$(daemon_pid "m$dead")
    take_on "$@"
    await has_begun
    kill -KILL "$killed"
    wait "${takers[@]}" || true
    sort got? >got
    [ -z "$(uniq -d got)" ]
    missing=$(comm -13 got f.dat | wc -l)
}

@test "shared: when a node that takes no records is killed, the others take the rest once" {
    survive 0 1 2 3 1 2 3
    [ "$missing" = 0 ]
    [ "$(position m2/shared)" = "$many" ]
}

@test "shared: records that were taken on a killed node are not taken again" {
    survive 0 0 1 2 3 0 1 2 3
    # Each of its two processes had at most one unanswered request.
    [ "$missing" -le 2 ]
    [ "$(position m3/shared)" = "$many" ]
}

@test "shared: when another node is killed, no other node misses a record" {
    survive 2 0 1 2 3 0 1 2 3
    [ "$missing" -le 2 ]
    [ "$(position m0/shared)" = "$many" ]
}

@test "shared: of two nodes the first continues when the other is silent" {
    records 100
    start_nodes 2 -o peer_timeout=2
    [ "$(head -c 8 m1/shared)" = 0000000 ]
    local other
    other=$(daemon_pid m1)
    kill -STOP "$other"
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000001 ]
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000002 ]
    kill -KILL "$other"
    [ "$(timeout 300 head -c 8 m0/shared)" = 0000003 ]
}

@test "shared: programs under mpiio-run take records past the daemon, beside others" {
    counts_requests
    mount_records 10
    [ "$(under head -c 8 mnt/shared)" = 0000000 ]
    [ "$(head -c 8 mnt/shared)" = 0000001 ]
    [ "$(under head -c 16 mnt/shared)" = $'0000002\n0000003' ]
    [ "$(position)" = 4 ]
    setfattr -n user.mpiio.shared_position -v 8 mnt/shared
    [ "$(under head -c 80 mnt/shared)" = $'0000008\n0000009' ]
    [ -z "$(under head -c 80 mnt/shared)" ]
    jq -e '.grants == 4 and .shared_takes == 1' mnt/.mpiio/stats.json
    served 4
}

@test "shared: under mpiio-run all calls are as on the mount" {
    mount_records 1000
    under /usr/bin/python3 "$call" reads_and_writes_whole_etypes
    [ "$(counted reads)" -gt 0 ] && [ "$(counted writes)" -gt 0 ]
    as_root umount mnt
    mount_records 0
    under /usr/bin/python3 "$call" a_call_of_more
    as_root umount mnt
    # A stream reads as many records as the C library asks for.
    mount_records 2000
    under sort mnt/shared | cmp - f.dat
    as_root umount mnt
    # Another view, whose values are of the other byte order.
    mpiio-mount --view 'broadcast on 4 of int as big-endian' f.dat mnt
    rm counts
    [ "$(under head -c 4 mnt/shared)" = 0000 ]
    served 1
}

@test "shared: of eight processes, half of them under mpiio-run, each takes records in order" {
    local i many=${MPIIO_TEST_RECORDS:-20000}
    records "$many"
    mount_spec s.json
    for i in 0 1 2 3; do
        under /usr/bin/python3 "$top/tests/history/take.py" mnt/shared 8 0.0002 >"got$i" &
        /usr/bin/python3 "$top/tests/history/take.py" mnt/shared 16 0.0002 >"got$((i + 4))" &
    done
    wait
    sort got? | cmp - f.dat
    for i in got?; do
        sort -c "$i"
    done
    [ "$(position)" = "$many" ]
    served 4
}

@test "shared: eight processes write whole records, half of them under mpiio-run" {
    printf '' >f.dat
    echo '{"viewspec": 1, "file": "f.dat", "view": {"disp": 3, "etype": "byte"}}' >s.json
    mount_spec s.json
    local i many=${MPIIO_TEST_RECORDS:-10000}
    for i in 0 2 4 6; do
        under /usr/bin/python3 "$top/tests/history/put.py" mnt/shared "$i" "$((many / 8))" &
        /usr/bin/python3 "$top/tests/history/put.py" mnt/shared "$((i + 1))" "$((many / 8))" &
    done
    wait
    tail -c +4 f.dat >all
    /usr/bin/python3 "$top/tests/history/put.py" --check all 8 "$((many / 8))"
    served 4
}

@test "shared: a program that is killed between taking and writing leaves a hole of its own" {
    mount_records 0
    echo aaaaaaa >mnt/shared
    run -137 strace -qq -o calls -e inject=pwrite64:signal=KILL \
        mpiio-run dd if=/dev/urandom of=mnt/shared bs=24 count=1 status=none
    under sh -c 'echo bbbbbbb >mnt/shared'
    echo ccccccc >mnt/shared
    cmp f.dat <(echo aaaaaaa; head -c 24 /dev/zero; echo bbbbbbb; echo ccccccc)
}

# The writer has taken its record, and is delayed in the kernel before it writes it. Meanwhile a
# reader maps the page, which revokes the grant. If the delay ends too early, the test passes
# without checking this.
@test "shared: a write during which the grant is revoked is seen in mappings, and takes once" {
    mount_records 10 -o passthrough=off
    /usr/bin/python3 "$call" revoked 2>counts
    [ "$(counted writes)" = 1 ]
    [ "$(position)" = 1 ]
    [ "$(cat f.dat)" = "$(echo aaaaaaa; seq -f %07.0f 1 9)" ]
}

@test "shared: under mpiio-run nothing is taken once the daemon is killed, or in atomic mode" {
    mount_records 10
    under /usr/bin/python3 "$call" kills_daemon
    cmp f.dat <(echo aaaaaaa; seq -f %07.0f 1 9)
    [ "$(counted writes)" = 1 ]
    as_root umount -l mnt
    mount_spec s.json -o atomic
    [ "$(under head -c 8 mnt/shared)" = aaaaaaa ]
    grep -q 'not granted: atomic mode' counts
}

@test "shared: writers do not wait for each other in the kernel" {
    mount_records 100 -o atomic
    gives "record0 record1" /usr/bin/python3 "$call" side
    [ "$(position)" = 2 ]
}
