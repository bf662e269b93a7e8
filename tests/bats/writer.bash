# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# A program that writes numbered lines until a call fails. Load it after helper.

# spec_of BLOCK [FILE]: makes a spec that deals blocks of that many bytes to two ranks.
spec_of() {
    dealt "${2:-disk/x.dat}" 2 "$1" >x.json
}

# writer PATH [OPTION...]: writes numbered lines of 64 bytes in order, 512 a call, until a call
# fails. Prints "ERROR CALL BYTES": the error's name, the call, and the acknowledged bytes. sync=N:
# fsync after every N calls. start=N, stop=N: bytes.
writer() {
    topic=$top/tests/programs/writer.py /usr/bin/python3 "$call" writer "$@"
}

# lines_there FILE BYTES: checks that the file begins with the first BYTES bytes of the writer's
# output.
lines_there() {
    topic=$top/tests/programs/writer.py /usr/bin/python3 "$call" lines_there "$@"
}

# lines_stored BYTES: checks that rank 0's slice equals its bytes in the file, and begins with that
# many bytes of the writer's output.
lines_stored() {
    mpiio-view cat x.json -r 0 >slice
    lines_there slice "$1"
}
