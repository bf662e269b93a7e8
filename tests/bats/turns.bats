#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# "ordered" on several nodes: whose turn it is, whichever of them ends, is silent or is unmounted.

# shellcheck disable=SC2154 # helper.bash sets tmp
load helper
load nodes
load ordered

# MPIIO_TEST_ROUNDS=1000: so many rounds.

# is_file TEXT: true once f.dat is that.
is_file() {
    [ "$(cat f.dat)" = "$1" ]
}

# has_lines COUNT: true once f.dat has so many.
has_lines() {
    [ "$(wc -l <f.dat)" -eq "$1" ]
}

# waits_at NODE COUNT: true once so many have had to wait there.
waits_at() {
    [ "$(stat_of ordered_waits "m$1")" -ge "$2" ]
}

# share_at NODE RANK TEXT: a process has the rank's share open there, in $holder, and has written.
share_at() {
    /usr/bin/python3 -c '
import os, signal, sys
fd = os.open(sys.argv[1], os.O_WRONLY)
os.write(fd, sys.argv[2].encode())
open(sys.argv[3], "w").close()
signal.pause()' "m$1/ordered/rank$2" "$3" "held$2" 3>&- &
    holder=$!
    await test -e "held$2"
}

@test "turns: four nodes, 200 rounds of 8 ranks that come to any node at any time, against a model" {
    common 8 short
    start_nodes 4 -o dirty_max=1M
    random_rounds "${MPIIO_TEST_ROUNDS:-200}" 8 2 300000 m0 m1 m2 m3
    stop_nodes
    cmp f.dat want
}

@test "turns: ranks on several nodes read one after the other; fsync waits for others' turns" {
    common 3 int
    seq -f %3.0f 0 299 >f.dat
    on_nodes 3 ranks_on_several_nodes_read_one
}

@test "turns: of several nodes, what waits when they are unmounted is placed in order" {
    local way node rank
    common 8
    for way in all one-by-one TERM; do
        : >f.dat
        start_nodes 4
        # Nobody comes for rank 0, and for rank 4 of the next round.
        for rank in 7 5 2 6 3 1; do
            echo "rank $rank" >"m$((rank % 4))/ordered/rank$rank"
        done
        echo 'rank 3 again' >m2/ordered/rank3
        echo 'rank 5 again' >m0/ordered/rank5
        [ "$(stat_sum .ordered_waiting_bytes)" -eq 68 ]
        [ ! -s f.dat ]
        case $way in
        all)
            mpiio-umount m1
            # It is there when the command has ended.
            has_lines 8
            ;;
        TERM)
            for node in 0 1 2 3; do
                kill -TERM "$(daemon_pid "m$node")"
            done
            nothing_left
            ;;
        esac
        stop_nodes
        cmp f.dat <(printf 'rank %s\n' 1 2 3 5 6 7 '3 again' '5 again')
    done
}

@test "turns: unmounting several nodes by force ends, whoever waits, and keeps what had come" {
    local writers=() rank started
    common 4
    start_nodes 4 -o dirty_max=1M,peer_timeout=2,flush_interval=1
    share_at 3 0 $'first\n'
    writers+=("$holder")
    await is_file first
    for rank in 1 2 3; do
        { dd if=/dev/zero of="m$rank/ordered/rank$rank" bs=600k count=4 status=none 2>/dev/null || true; } 3>&- &
        writers+=($!)
    done
    for rank in 1 2 3; do
        await waits_at "$rank" 1
    done
    started=$SECONDS
    timeout -s KILL 300 mpiio-umount -f m0 || [ $? -ne 137 ]
    echo "$((SECONDS - started)) seconds"
    kill -KILL "$holder" || true
    wait "${writers[@]}" || true
    nothing_left
    [ "$(head -n 1 f.dat)" = first ]
}

@test "turns: a daemon that is killed at its turn, or before, keeps nobody waiting" {
    local holder
    common 6
    start_nodes 3 -o peer_timeout=4,cache=through
    share_at 1 0 $'zero\n'
    await is_file zero
    echo lost >m1/ordered/rank2
    echo one >m2/ordered/rank1
    echo three >m0/ordered/rank3
    is_file zero
    end_daemon KILL m1
    await is_file $'zero\none\nthree'
    # The others go on, and no number is given twice.
    echo four >m0/ordered/rank4
    echo five >m2/ordered/rank5
    echo again >m2/ordered/rank0
    await is_file $'zero\none\nthree\nfour\nfive\nagain'
    await turn_is m0 1
    kill -KILL "$holder"
    as_root umount -l m1
    stop_nodes
}

@test "turns: when the last node and then the first are killed, the others go on" {
    local holder rank node
    common 6
    start_nodes 4 -o peer_timeout=2,cache=through
    echo lost >m3/ordered/rank5
    echo lost >m0/ordered/rank2
    echo three >m1/ordered/rank3
    share_at 2 0 $'zero\n'
    echo four >m2/ordered/rank4
    await is_file zero
    for node in 3 0; do
        end_daemon KILL "m$node"
    done
    kill -KILL "$holder"
    echo one >m1/ordered/rank1
    await is_file $'zero\none\nthree\nfour'
    for rank in 5 4 3 2 1 0; do
        echo "$rank" >"m$((1 + rank % 2))/ordered/rank$rank"
    done
    await is_file $'zero\none\nthree\nfour\n0\n1\n2\n3\n4\n5'
    logged log 'ordered: node 0 has exited at the turn of rank 2'
    logged log 'ordered: node 3 has exited at the turn of rank 5'
    as_root umount -l m0 m3
    stop_nodes
}

@test "turns: what a daemon was placing when it is killed is a hole, which the log names" {
    local node
    common 3 int
    for node in 1 0; do
        : >f.dat
        start_nodes 3 -o peer_timeout=4,cache=through
        printf 'one.two.' >m2/ordered/rank0
        await is_file one.two.
        # The pointer is behind the twelve bytes then, and nothing is written.
        untrace=KILL only=$PWD/f.dat mnt=m$node run ! inject pwrite64,pwritev,pwritev2 error=EIO:signal=KILL write_lost
        printf end. >m2/ordered/rank2
        await has_end end.
        cmp f.dat <(printf 'one.two.\0\0\0\0\0\0\0\0\0\0\0\0end.')
        logged log "ordered: node $node has exited at the turn of rank 1: \
what it took last, before byte 20 of a slice, may be missing"
        as_root umount -l "m$node"
        stop_nodes
        rm log
    done
}

write_lost() {
    printf lostlostlost >"$mnt/ordered/rank1"
}

has_end() {
    [ "$(tail -c "${#1}" f.dat)" = "$1" ]
}

@test "turns: of daemons that are killed in the midst of rounds a write each is missing at most, and the others' order stays" {
    common 8
    start_nodes 4 -o peer_timeout=4,cache=through
    limit=300 python of_daemons_that_are_killed "$(daemon_pid m0)" "$(daemon_pid m3)"
    as_root umount -l m0 m3
    stop_nodes
}

@test "turns: a node that is silent at its turn is passed over, and told when it is back" {
    local silent holder writer
    common 3
    start_nodes 3 -o peer_timeout=3,flush_interval=1
    share_at 1 0 $'zero\n'
    await is_file zero
    /usr/bin/python3 -c '
import errno, os, time
fd = os.open("m1/ordered/rank2", os.O_WRONLY)
os.write(fd, b"late\n")
open("written", "w").close()
while not os.path.exists("back"):
    time.sleep(0.05)
try:
    for i in range(200):
        os.fsync(fd)
        os.write(fd, b"later\n")
        time.sleep(0.05)
except OSError as error:
    print(errno.errorcode[error.errno], file=open("told", "w"))' 3>&- &
    writer=$!
    await test -e written
    echo one >m2/ordered/rank1
    silent=$(daemon_pid m1)
    stop_process "$silent"
    within=100 await is_file $'zero\none'
    # Its later contribution is skipped, too, when its turn comes.
    echo again >m0/ordered/rank0
    within=100 await is_file $'zero\none\nagain'
    : >back
    kill -CONT "$silent"
    wait "$writer"
    [ "$(cat told)" = ESTALE ] || [ "$(cat told)" = EIO ]
    is_file $'zero\none\nagain'
    logged log 'ordered: node 1 was silent at the turn of rank 2: what it took last, before byte 9 of a slice'
    kill -KILL "$holder"
    wait "$holder" || true
    stop_nodes
}

@test "turns: on hosts of their own ranks are in order, and mpiio-umount places what waits" {
    local rank round
    load cluster
    common 4
    make_hosts 4
    mount_hosts s.json
    for round in 1 2 3; do
        for rank in 3 1 2 0; do
            echo "$round $rank" >"$tmp/at/$rank/ordered/rank$rank"
        done
    done
    # It takes a while to store: mpiio-umount waits for all nodes, not only for the one it asked.
    seq 2000000 >"$tmp/at/2/ordered/rank2"
    echo 'left 3' >"$tmp/at/0/ordered/rank3"
    at switch mpiio-umount "$tmp/at/3"
    {
        printf '%s\n' {1..3}' '{0..3}
        seq 2000000
        echo 'left 3'
    } | cmp - f.dat
    nothing_left
}

@test "turns: when all are unmounted, a node that is silent is not waited for for ever" {
    local silent
    common 4
    start_nodes 3 -o peer_timeout=3,cache=through
    # Nobody comes for ranks 0 and 1, before it.
    echo two >m1/ordered/rank2
    echo three >m2/ordered/rank3
    silent=$(daemon_pid m1)
    kill -TERM "$silent"
    await has_left 1 m0
    stop_process "$silent"
    mpiio-umount m0
    # If node 1 counts as failed by now, mpiio-umount does not wait for node 2.
    within=100 await is_file three
    logged log 'ordered: node 1 was silent at the turn of rank 2: what it took last, before byte 0 of a slice'
    kill -CONT "$silent"
    await test ! -e "/proc/$silent"
    is_file three
    logged log '4 bytes that could not be stored are lost'
    nothing_left
}

@test "turns: nodes that have lost each other are unmounted one by one, and wait for nobody for ever" {
    local holder
    common 4
    start_nodes 3 -o peer_timeout=2,cache=through
    share_at 0 0 $'zero\n'
    await is_file zero
    echo one >m1/ordered/rank1
    end_daemon KILL m2
    await is_degraded m1
    # Node 0 has a share open before; nobody comes for rank 2.
    echo three >m0/ordered/rank3
    is_file zero
    mpiio-umount m1
    is_file $'zero\none'
    logged log '4 bytes of ordered were placed before their turn came'
    kill -KILL "$holder"
    as_root umount -l m2
    mpiio-umount m0
    is_file $'zero\none\nthree'
    nothing_left
}

@test "turns: what waits on several nodes stays where one of them is in use, until it is not" {
    common 4
    start_nodes 3
    echo three >m2/ordered/rank3
    echo one >m0/ordered/rank1
    exec 9<m2/rank0
    run -1 timeout -s KILL 100 mpiio-umount m1 9<&-
    [ ! -s f.dat ]
    exec 9<&-
    mpiio-umount m1
    is_file $'one\nthree'
    nothing_left
}

@test "turns: mpiio-umount reports what could not be placed after unmounting, and exits with 3" {
    local holder
    common 4
    start_nodes 2 -o peer_timeout=2,cache=through
    echo one >m1/ordered/rank1
    # A process that holds the lock of the record, like a node that is frozen in the midst of a call.
    "$top/tests/history/work.py" lock .f.dat.mpiio-pointers 3>&- &
    holder=$!
    await test -e locked
    # Another call fails in time, and the log says why.
    run ! timeout 60 dd if=/dev/zero of=m0/shared bs=4 count=1
    [[ $output == *"Input/output error"* ]]
    logged log 'shared file pointers: .f.dat.mpiio-pointers: another node does not release its lock'
    complains 3 "mpiio-umount: m1: unmounted, but 4 bytes could not be stored and are lost" mpiio-umount m1
    logged log '4 bytes that could not be stored are lost'
    kill -KILL "$holder"
    nothing_left
}

@test "turns: on a disk that is full at the end, mpiio-umount reports what is lost" {
    local cache
    ram_disk 1m
    common 4
    sed -i 's,f\.dat,disk/&,' s.json
    : >disk/f.dat
    fill() {
        rm -f disk/rest
        head -c 100000 /dev/zero >"$1/ordered/rank1"
        ! cat /dev/zero >disk/rest 2>/dev/null
    }
    for cache in through back; do
        mount_spec s.json -o "cache=$cache"
        fill "$mnt"
        complains 3 "mpiio-umount: $mnt: unmounted, but 100000 bytes could not be stored and are lost" \
            mpiio-umount "$mnt"
        nothing_left
        rm disk/rest
        start_nodes 2 -o "cache=$cache"
        fill m0
        complains 3 "mpiio-umount: m0: unmounted, but 100000 bytes could not be stored and are lost" \
            mpiio-umount m0
        nothing_left
    done
    as_root umount disk
}
