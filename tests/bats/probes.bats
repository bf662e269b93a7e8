#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The static probes of the daemon.

load helper

# manual_probes: prints the names of the probes in the manual.
manual_probes() {
    sed -n '/^# PROBES/,/^# FAULTS/p' "$top/man/mpiio-fused.8.scd" | sed -nE 's/^\|  ([a-z_]+)$/\1/p'
}

# one_liner NUMBER: prints that command of the manual, changed for the installed daemon.
one_liner() {
    sed -n '/^# PROBES/,/^# FAULTS/p' "$top/man/mpiio-fused.8.scd" |
        awk -v wanted="$1" '/^```/ { inside = !inside; number += inside; next } inside && number == wanted' |
        sed "s,/usr/sbin/mpiio-fused,$MPIIO_SBIN/mpiio-fused,g"
}

# traced NUMBER: runs the one-liner while slices are read, written and flushed, and mkdir fails,
# until it has seen the fifth mkdir (opcode 9). The file seen has its output.
traced() {
    local tracer end=$((SECONDS + 300))
    command -v bpftrace >/dev/null || skip "bpftrace is missing"
    as_root bpftrace -e 'BEGIN { exit(); }' &>/dev/null || skip "bpftrace cannot run here"
    one_liner "$1" >one-liner.sh
    sed -i "\$s,'\$, usdt:$MPIIO_SBIN/mpiio-fused:mpiio:request_begin /arg1 == 9/ { @mkdirs++; if (@mkdirs == 5) { exit(); } }'," \
        one-liner.sh
    as_root bash one-liner.sh >seen 2>&1 3>&- &
    tracer=$!
    while ! has_ended "$tracer" && [ "$SECONDS" -lt "$end" ]; do
        head -c 100 s.dat | dd of="$mnt/rank1" conv=notrunc,fsync status=none
        dd if="$mnt/rank2" of=/dev/null iflag=direct bs=512 count=1 status=none
        mkdir "$mnt/new" 2>/dev/null && false
        sleep 0.1
    done
    cat seen
    grep -q '^@mkdirs: 5' seen
}

@test "probes: the installed daemon has the manual's probes, and no others" {
    readelf -n "$MPIIO_SBIN/mpiio-fused" | awk '/Provider:/ { ours = $2 == "mpiio" } /Name:/ && ours { print $2 }' |
        sort -u >have
    diff have <(manual_probes | sort)
    [ "$(wc -l <have)" -ge 10 ]
}

@test "probes: bpftrace shows how long requests take, counts errors, and shows flushes" {
    mount_new scatter
    traced 1
    grep -q '^@us\[15\]:' seen
    grep -q '^@us\[20\]:' seen
    grep -qE '^\[[0-9]+(, [0-9]+\))?' seen
    traced 2
    grep -qE '^@errno\[1\]: [1-9]' seen
    mpiio-umount "$mnt"
    mount_spec s.json -o cache=back
    traced 3
    grep -qE '^1 blocks in [0-9]+ us' seen
}
