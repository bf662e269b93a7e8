#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Counts the instructions for each byte that is read or written, by valgrind, which does not depend
# on other load of the machine. The kernel's instructions do not count.

load helper

# instructions PROGRAM [ARGUMENT...]: prints the instructions of the function counted.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted \
        "$MPIIO_BUILD/tests/bench/$1" "${@:2}" 2>&1 | sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}

# check WAY DATAREP RUN LIMIT... The limits are 1.1 times the count (gcc 12, 64-bit). If a change
# lowers a count, lower its limit.
check() {
    local counted
    command -v valgrind >/dev/null || skip "valgrind is missing"
    [ -x "$MPIIO_BUILD/tests/bench/bench-calls" ] || skip "not gcc's code, or one with sanitizers"
    truncate -s 16M file
    while [ $# -gt 0 ]; do
        # The function makes four calls of 1 MiB.
        counted=$(($(instructions bench-calls file "$1" "$2" "$3" 1048576 4) * 1000 / (4 << 20)))
        echo "$1 $2, runs of $3: $counted instructions in 1000 bytes, limit $4"
        [ "$counted" -gt 0 ]
        [ "$counted" -le "$4" ]
        shift 4
    done
}

@test "instructions: reading and writing a byte take no more than the limit" {
    check read native 8 449 read native 64 260 read native 512 311
    check write native 8 449 write native 64 260 write native 512 309
}

@test "instructions: swapping doubles that are read or written takes no more than the limit" {
    if grep -qw avx2 /proc/cpuinfo; then
        check read external32 8 659 read external32 64 470 read external32 512 521 \
            write external32 8 656 write external32 64 467 write external32 512 516
    else
        check read external32 8 1277 read external32 64 1088 read external32 512 1140 \
            write external32 8 1275 write external32 64 1086 write external32 512 1135
    fi
}

@test "instructions: opening and closing a slice takes no more if many are open" {
    local kind few many
    for kind in one many; do
        few=$(instructions bench-opens $kind 100)
        many=$(instructions bench-opens $kind 4000)
        echo "$kind: $few instructions beside 100 open handles, $many beside 4000"
        [ "$few" -gt 1000 ]
        [ "$many" -le $((few + few / 5)) ]
    done
}
