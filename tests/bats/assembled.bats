#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Assembled files on several nodes: homes write the members' pieces, and prove that they have the
# same file. MPIIO_TILINGS sets the number of random tilings, MPIIO_SEED the first seed.

load helper
load nodes
load cluster
load pool

# tiles [BYTES [VIEW]]: makes members T.0000.data ... T.0003.data, each with BYTES bytes of
# whole.dat in one piece, and s.json with a view of four ranks.
tiles() {
    local view=${2:-'"filetype": { "type": "scatter", "blocklength": 8 }'}
    make_file whole.dat $((4 * ${1:-1048576}))
    split -d -a 4 -b "${1:-1048576}" --additional-suffix .data whole.dat T.
    cat >s.json <<END
{ "viewspec": 1,
  "members": { "count": 4, "file": "$tmp/T.{member:4}.data", "view": { "filetype": {
      "type": "darray", "gsizes": ["4 * ${1:-1048576}"], "psizes": [4], "distribs": ["block"], "dargs": [null],
      "order": "C" } } },
  "ranks": 4, "view": { $view } }
END
}

@test "assembled: random tilings, written and read by two to four nodes at once" {
    local seed=${MPIIO_SEED:-$RANDOM} number nodes mode
    for ((number = seed; number < seed + ${MPIIO_TILINGS:-4}; number++)); do
        rm -f piece*
        "$top/tests/members/tiling.py" make "$number"
        nodes=$((2 + number % 3))
        mode=$((number % 2))
        start_nodes $nodes -o "flush_interval=$((mode * 5)),store=$([ $mode = 0 ] && echo posix || echo auto)"
        "$top/tests/members/tiling.py" run "$number" 3 $(seq -f m%g 0 $((nodes - 1)))
        stop_nodes
        "$top/tests/members/tiling.py" check
        rm -r m[0-9]*
    done
}

@test "assembled: each home stores exactly its blocks of the whole, and syncs the members that it has written" {
    tiles 2097152
    start_nodes 2 -o flush_interval=0
    cmp m1/whole whole.dat
    # Both nodes write all 8-byte blocks of their ranks, across four members of two blocks of 4 MiB.
    python py_both
    [ "$(stat_sum .cluster.stored_bytes)" -eq 8388608 ]
    [ "$(jq .cluster.stored_bytes m0/.mpiio/stats.json)" -eq 4194304 ]
    # One call for each MiB, not one for each 8-byte block.
    [ "$(stat_sum .cluster.store_calls)" -eq 8 ]
    [ "$(stat_sum .store_writes)" -eq 0 ]
    # There are no hints, because ROMIO does not store assembled files.
    [ "$(jq -c '.cluster.hints' m0/.mpiio/stats.json)" = "{}" ]
    stop_nodes
    cmp <(cat T.*) model.dat
}

@test "assembled: members that are missing, shorter or another file on some host are named" {
    make_hosts 2
    tiles 65536
    mkdir other
    export trick
    # shellcheck disable=SC2016 # for the daemon's shell
    daemons_first '[ "$(hostname)" != node1 ] || eval "$trick"'
    cp T.0002.data other/same
    trick="mount --bind '$tmp/other/same' '$tmp/T.0002.data'"
    hosts_refuse 1 "node1: member 2, $tmp/T.0002.data: not the same file here as on node 0 (node0)" s.json
    cat T.0001.data T.0000.data >other/long
    trick="mount --bind '$tmp/other/long' '$tmp/T.0003.data'"
    hosts_refuse 1 "node1: *s.json:*: /members: member 0, $tmp/T.0000.data: too short: *" s.json
    head -c 65000 T.0003.data >other/short
    trick="mount --bind '$tmp/other/short' '$tmp/T.0003.data'"
    hosts_refuse 1 "node1: *s.json:*: /members: member 3, $tmp/T.0003.data: too short: *" s.json
    hosts_refuse 1 "node1: members have not the same amount of data here as on node 0" s.json -o missing=zero
    hosts_refuse 1 "node1: members have not the same amount of data here as on node 0" s.json -o ro,missing=zero
    trick="mkdir -p '$tmp/empty' && mount -t tmpfs none '$tmp/empty' && cp '$tmp'/T.0000.data '$tmp'/empty &&
        cp s.json empty && mount --bind '$tmp/empty' '$tmp'"
    hosts_refuse 1 "node1: *s.json:*: /members: member 1, $tmp/T.0001.data: no such file (missing=zero reads zeros instead)" s.json
    trick=""
    sed 's/"block"\]/"cyclic"]/' s.json >other/s.json
    trick="mount --bind '$tmp/other/s.json' '$tmp/s.json'"
    hosts_refuse 2 "node1: the spec is not the same here as on node 0" s.json
    # All nodes have the same members. Read-only members can be read by all.
    trick=""
    mount_hosts s.json -o ro
    cmp at/0/whole whole.dat
    cmp at/1/whole whole.dat
    umount_hosts
}

@test "assembled: a member that is read-only makes the mount read-only, on all nodes or none" {
    make_hosts 2
    tiles 65536
    export read_only=node1
    # shellcheck disable=SC2016 # for the daemon's shell
    daemons_first 'case $read_only in *$(hostname)*)
    mount --bind "$tmp/T.0001.data" "$tmp/T.0001.data"
    mount -o remount,bind,ro "$tmp/T.0001.data"
    ;;
esac'
    hosts_refuse 1 "node1: the file is read-only here, and not on other nodes (mount it read-only with -o ro)" s.json
    hosts_refuse 1 "node1: *s.json:2:3: /members: member 1, $tmp/T.0001.data: Read-only file system" s.json -o rw
    read_only="node0 node1"
    mount_hosts s.json
    cmp at/1/whole whole.dat
    [ "$(error_of 'open("at/1/rank0", "r+b")')" = EROFS ]
    umount_hosts
}

@test "assembled: a full disk of one member is reported to its writers, and to no others" {
    ram_disk 8m
    tiles 4194304 '"filetype": { "type": "darray", "gsizes": ["4 * 4194304"], "psizes": [4], "distribs": ["block"],
        "dargs": [null], "order": "C" }'
    mv T.0003.data disk/ && truncate -s 0 disk/T.0003.data && truncate -s 4M disk/T.0003.data
    ln -s disk/T.0003.data T.0003.data
    start_nodes 2 -o flush_interval=0
    head -c 6M /dev/zero >disk/filler
    python a_full_disk_of_one_member
    stop_nodes
    run ! grep -q "not all is stored" log
}

@test "assembled: two nodes write parts of the same values, and all parts are stored" {
    tiles 8192 '"etype": "double", "datarep": "big-endian",
        "filetype": { "type": "scatter", "blocklength": 1, "oldtype": "double" }'
    start_nodes 2 -o flush_interval=0
    python parts_of_values_of_two_nodes
    stop_nodes
}

@test "assembled: if an engine or a node dies, all acknowledged data is stored and synced" {
    local round
    for round in engine node; do
        tiles 2097152
        start_nodes 3 -o flush_interval=0,peer_timeout=10
        python kill_and_sync $round
        stop_nodes || true
        umount_all
        nothing_left
        cmp <(cat T.*) model.dat
        rm -r m[0-9]* log
    done
}

@test "assembled: atomic mode: no call sees a part of another one, on any node, and programs' locks stay theirs" {
    tiles 65536
    start_nodes 2 -o atomic
    [ "$(attribute m1 atomicity)" -eq 1 ]
    # Another program holds a lock on the first member while others write to it. The lock must not
    # block them.
    python atomic_mode_no_call_sees
    [ "$(stat_sum .lock_waits)" -gt 0 ]
    stop_nodes
    # Also on one node, where the bytes are in the members at once.
    mount_spec s.json -o atomic
    printf 12345678 | dd of="$mnt/rank1" conv=notrunc status=none
    [ "$(dd if=T.0000.data bs=8 skip=1 count=1 status=none)" = 12345678 ]
}

# cyclic COUNT BYTES [RANKS]: makes COUNT members in f, whose blocks of 4096 bytes alternate in
# f/whole.dat.
cyclic() {
    mkdir -p f
    make_file f/whole.dat "$2"
    python cyclic "$1"
    cat >s.json <<END
{ "viewspec": 1, "members": { "count": $1, "file": "$tmp/f/T.{member}",
    "view": { "filetype": { "type": "scatter", "blocklength": 4096 } } },
  "ranks": ${3:-4}, "view": { "filetype": { "type": "scatter", "blocklength": 8 } } }
END
}

@test "assembled: with a pool, bytes of members that nodes read together are read from storage once" {
    local nodes
    make_hosts 3
    slow_stores f
    for nodes in 2 3; do
        cyclic $((5 * nodes - 9)) $((24 * 1048576)) 6
        reads_once s.json f/whole.dat $nodes 6
    done
}

@test "assembled: with a pool, all nodes see what is closed on one host, or written by another program" {
    make_hosts 2
    cyclic 1 $((9 * 1048576)) 2
    mount_hosts s.json -o pool=32M
    "$top/tests/pool/close_to_open.py" f/T.0 "${MPIIO_SEED:-$RANDOM}" 30 at/*
    [ "$(pool_sum served)" -gt 0 ]
    [ "$(pool_sum received_bytes)" -gt 0 ]
    umount_hosts 1
    # Several members, on one node.
    cyclic 7 $((9 * 1048576)) 2
    mount_spec s.json -o pool=16M
    python pool_shows_what_is_closed
    [ "$(stat_of pool.served)" -gt 0 ]
}

# The daemon does not query times for each read, but they show whether blocks of the pool are
# current.
@test "assembled: with a pool, a mount reads at once what it has written" {
    local how
    tiles
    for how in through back; do
        mpiio-mount -o "pool=16M,cache=$how,flush_interval=0" s.json "$mnt"
        /usr/bin/python3 "$call" pool_shows_what_is_written "$mnt" 3>&-
        mpiio-umount "$mnt"
    done
    nothing_left
}
