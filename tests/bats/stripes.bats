#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Homes follow the file's stripes. Three hosts write the file together, and the system calls of
# their engines show which node has stored which bytes.

load helper
load cluster

# Traces the engines of mount_hosts: their writes to x.dat are in calls.N.
trace_engines() {
    cat >engine <<END
#!/bin/bash
exec strace -f -qq -o "$tmp/calls.\$PMI_RANK" -P "$tmp/x.dat" -e trace=pwrite64 "$MPIIO_SBIN/mpiio-engine-mpich" "\$@"
END
    chmod +x engine
    export MPIIO_ENGINE=$tmp/engine
}

# write_striped UNIT FACTOR [OPTION]...: mounts a file with such stripes (FACTOR '': unknown). All
# hosts write 24 MiB in turn, 64 KiB each.
write_striped() {
    rm -f calls.* x.dat
    : >x.dat
    dealt x.dat 3 65536 "\"hints\": {\"striping_unit\": \"$1\"${2:+, \"striping_factor\": \"$2\"}}," >x.json
    mount_hosts x.json -o flush_interval=0 "${@:3}"
    topic=$top/tests/programs/hosts.py python write_together 65536 $((8 << 20)) 1
    mpiio-umount at/1
}

# stored_by UNIT: prints "STRIPE NODE" once for each stripe that was stored, by stripe.
stored_by() {
    awk -v unit="$1" '{
        sub(/.*pwrite64\([0-9]+, .*, /, "length,"); split(FILENAME, name, ".")
        match($0, /[0-9]+\) *= [0-9]+$/); split(substr($0, RSTART), words, /\) *= /)
        for (i = int(words[1] / unit); i * unit < words[1] + words[2]; i++) print i, name[2]
    }' calls.* | sort -nu
}

@test "stripes: one node stores each, whether it is less, more, or no power of two; no more nodes than servers" {
    make_hosts 3
    trace_engines
    # Stripes of 3 MiB, in stretches of 6 MiB: 4 of the file's 24 MiB.
    write_striped $((3 << 20)) '' -o store=posix
    [ "$(stored_by $((3 << 20)) | paste -sd ,)" = "0 0,1 0,2 1,3 1,4 2,5 2,6 0,7 0" ]
    # One node for each server.
    write_striped $((1 << 20)) 2
    [ "$(stored_by $((1 << 20)) | awk '{ print $2 != $1 % 2 }' | sort | uniq -c | tr -s ' ')" = " 24 0" ]
    # Three servers, and stretches of 4 MiB that span all of them.
    write_striped 262144 3 -o store=mpiio
    [ "$(stored_by 262144 | awk '{ print $2 != int($1 / 16) % 3 }' | sort | uniq -c | tr -s ' ')" = " 96 0" ]
    nothing_left
}
