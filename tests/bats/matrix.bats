#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The matrix of faults: tests/matrix/faults.txt says what each operation answers under each of them.

load helper

matrix() {
    PYTHONDONTWRITEBYTECODE=1 timeout -k 5 800 /usr/bin/python3 "$top/tests/matrix/matrix.py" "$@" 3>&-
}

# fault NAME: its cells are as the table says, on one node and on two.
fault() {
    dealt disk/file 4 512 >s.json
    matrix run "$1"
}

@test "matrix: no space left" {
    fault ENOSPC
}

@test "matrix: a limit of the file's size" {
    fault EFBIG
}

@test "matrix: the file is replaced" {
    fault replaced
}

@test "matrix: the file is truncated" {
    fault truncated
}

@test "matrix: the file is deleted" {
    fault deleted
}

@test "matrix: the file may only be read" {
    fault read-only
}

@test "matrix: a daemon is killed" {
    fault SIGKILL
}

@test "matrix: no reading from and no writing to the device" {
    fault EIO
}

@test "matrix: a daemon is stopped" {
    fault SIGSTOP
}

@test "matrix: /dev/fuse is gone" {
    fault /dev/fuse
}

@test "matrix: no descriptors" {
    fault files
}

@test "matrix: no memory" {
    fault memory
}

@test "matrix: the manual has its table" {
    matrix page >shown
    [ "$(sed -n '/^fault /,/^```/p' "$top/man/mpiio-fused.8.scd" | sed '$d')" = "$(cat shown)" ]
    run ! grep -E '.{70}' shown # with the page's margins, 80 columns
}
