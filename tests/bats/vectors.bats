#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Slices that are known in advance: the vectors, made element by element, and the examples of the
# literature, through the commands and through mounts.

load helper

# classic NAME [OPTION...]: mounts tests/specs/valid/NAME.json over data.bin.
classic() {
    mount_spec "$top/tests/specs/valid/$1.json" -f data.bin "${@:2}"
}

# numbers FORMAT BYTES FILE: prints the numbers in FILE on one line.
numbers() {
    od -An -v -t "$1" -w"$2" "$3" | tr -d ' ' | paste -sd ' '
}

@test "vectors: the tutorial's items, dealt to four processes in turn" {
    local name
    py 'open("data.bin", "wb").write(struct.pack("<16i", *range(16)))'
    for name in tutorial-darray tutorial-items; do
        classic $name
        [ "$(numbers d4 4 "$mnt/rank0")" = "0 4 8 12" ]
        [ "$(numbers d4 4 "$mnt/rank1")" = "1 5 9 13" ]
        [ "$(numbers d4 4 "$mnt/rank3")" = "3 7 11 15" ]
        umount "$mnt"
    done
}

@test "vectors: the overview's matrix, its rows dealt to three processes in turn" {
    py 'open("data.bin", "wb").write(struct.pack("25d", *range(25)))'
    classic overview-row-cyclic -n 3 -D n=5
    [ "$(numbers fD 8 "$mnt/rank0")" = "0 1 2 3 4 15 16 17 18 19" ]
    [ "$(numbers fD 8 "$mnt/rank1")" = "5 6 7 8 9 20 21 22 23 24" ]
    [ "$(numbers fD 8 "$mnt/rank2")" = "10 11 12 13 14" ]
}

@test "vectors: mpiio-view cat and a mount show every slice" {
    python cat_and_mounts_show_every_slice "$top/tests/vectors/cases.jsonl"
}

@test "vectors: with 64 M runs in one tile, the daemon stays small" {
    truncate -s 1G data.bin
    printf 12345678 | dd of=data.bin bs=8 seek=$((2 * 67108863 + 1)) conv=notrunc status=none
    mpiio-mount --view 'vector 67108864x1 stride 2 on 2 of double at 8*rank' data.bin "$mnt"
    [ "$(stat -c %s "$mnt/rank1")" -eq $((512 << 20)) ]
    [ "$(tail -c 8 "$mnt/rank1")" = 12345678 ]
    [ "$(head -c 1 "$mnt/rank0" | od -An -tu1)" = "   0" ]
    [ "$(awk '/^VmHWM/ { print $2 }' "/proc/$(daemon_pid)/status")" -lt 32768 ]
}
