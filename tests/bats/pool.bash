# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Hosts with stores of their own. Each store shows the files of a directory, has its own page cache,
# and counts the bytes read. Load it after cluster.

# slow_stores FOLDER [MIB]: every daemon that is started afterwards has its own store over the
# directory, which reads MIB MiB a second. On hosts, the engine uses it, too.
slow_stores() {
    mkdir -p "$tmp/read"
    executable "$tmp/fused" <<END
count=$tmp/read/\$\$
"$MPIIO_BUILD/tests/pool/slowfs" "$tmp/$1" "$tmp/$1" ${2:-0} "\$count" >/dev/null 2>&1 3>&- &
for ((i = 0; i < 200; i++)); do
    mountpoint -q "$tmp/$1" && exec "$MPIIO_SBIN/mpiio-fused" "\$@"
    sleep 0.05
done
END
    export MPIIO_FUSED=$tmp/fused
}

# Prints the number of bytes that all stores have read.
stores_read() {
    cat "$tmp"/read/* | od -A n -t u8 -v -w8 | awk '{ sum += $1 } END { printf "%d\n", sum }'
}

# pool_sum KEY: prints the sum of a pool statistic over the hosts.
pool_sum() {
    cat at/*/.mpiio/stats.json | jq -s "map(.pool.$1) | add"
}

# settle SLICE...: reads the first bytes of each slice until the pool of its mount serves them. The
# pool first waits for the file's writers, on a busy machine for longer than a read waits for the
# pool.
settle() {
    local slice at served
    for slice; do
        at=${slice%%/rank*} at=${at%/whole}
        served=$(stat_of pool.served "$at")
        while [ "$(stat_of pool.served "$at")" -eq "$served" ]; do
            dd if="$slice" of=/dev/null bs=8 count=1 iflag=direct status=none
        done
    done
}

# reads_once SPEC FILE NODES RANKS: mounts the spec on that many hosts, which read all bytes twice,
# together. They must read them from storage once, and send each other those whose home is another
# node. The bytes are those of FILE.
reads_once() {
    local size passed sent foreign read
    size=$(stat -c %s "$2")
    export hosts
    hosts=$(seq -s , -f node%g 0 $(($3 - 1)))
    rm -f read/*
    mount_hosts "$1" -o ro,pool=64M
    settle at/*/rank0
    passed=$(pool_sum passed)
    sent=$(pool_sum sent_bytes)
    foreign=$(read_slices "${@:2}")
    read=$(stores_read)
    echo "$3 nodes: $read bytes of $size were read, $foreign had to travel"
    [ "$read" -ge "$size" ]
    [ "$read" -le $((size + 4 * 1048576)) ]
    [ "$(pool_sum storage_bytes)" -eq "$size" ]
    [ "$(pool_sum sent_bytes)" -eq $((sent + foreign)) ]
    [ "$(pool_sum received_bytes)" -eq $((sent + foreign)) ]
    [ "$(pool_sum passed)" -eq "$passed" ]
    read_slices "${@:2}"
    [ "$(stores_read)" -eq "$read" ]
    [ "$(pool_sum received_bytes)" -eq $((sent + 2 * foreign)) ]
    umount_hosts
}

# read_slices FILE NODES RANKS: node i reads the slices i, i + NODES, ... of the file, which is dealt
# by 8 bytes to RANKS ranks. All nodes read at once, past the page cache. Prints the bytes whose home
# is another node.
read_slices() {
    topic=$top/tests/programs/pool.py python read_slices "$@"
}
