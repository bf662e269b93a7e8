# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# A program that writes numbered lines until a call fails: load it after helper.

# spec_of BLOCK [FILE]: blocks of that many bytes dealt to two ranks.
spec_of() {
    dealt "${2:-disk/x.dat}" 2 "$1" >x.json
}

# writer PATH [OPTION...]: writes numbered lines of 64 bytes, one after the other, 512 a call,
# until a call fails; prints "ERROR CALL BYTES": the error's name, the call, how much was
# acknowledged. sync=N: fsync after every N calls. start=N, stop=N: bytes.
writer() {
    /usr/bin/python3 "$top/tests/programs/writer.py" writer "$@"
}

# lines_there FILE BYTES: the file begins with the first BYTES bytes of what writer writes.
lines_there() {
    /usr/bin/python3 "$top/tests/programs/writer.py" lines_there "$@"
}

# lines_stored BYTES: as slice, rank 0's is what it is in the file, and begins with so many bytes of
# what writer writes.
lines_stored() {
    mpiio-view cat x.json -r 0 >slice
    lines_there slice "$1"
}
