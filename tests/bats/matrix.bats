#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The matrix of faults: tests/matrix/faults.txt has the result of each operation under each fault.

load helper

matrix() {
    PYTHONDONTWRITEBYTECODE=1 timeout -k 5 800 /usr/bin/python3 "$top/tests/matrix/matrix.py" "$@" 3>&-
}

# fault NAME: checks the cells of a fault against the table, on one node and on two.
fault() {
    dealt disk/file 4 512 >s.json
    matrix run "$1"
}

@test "matrix: no space left" {
    fault ENOSPC
}

@test "matrix: a limit of file sizes" {
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

@test "matrix: the file is read-only" {
    fault read-only
}

@test "matrix: a daemon is killed" {
    fault SIGKILL
}

@test "matrix: the device can be neither read nor written" {
    fault EIO
}

@test "matrix: a daemon is stopped" {
    fault SIGSTOP
}

@test "matrix: /dev/fuse is gone" {
    fault /dev/fuse
}

@test "matrix: no file descriptors" {
    fault files
}

@test "matrix: no memory" {
    fault memory
}

@test "matrix: the manual has this table" {
    matrix page >shown
    [ "$(sed -n '/^fault /,/^```/p' "$top/man/mpiio-fused.8.scd" | sed '$d')" = "$(cat shown)" ]
    run ! grep -E '.{70}' shown # with the page's margins, 80 columns
}
