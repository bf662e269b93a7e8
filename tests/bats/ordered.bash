# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Functions for tests of "ordered": load it after helper.

# common RANKS [ETYPE]: makes s.json, in which each rank has the same view of f.dat, which is empty.
common() {
    mpiio-view spec --view "broadcast on $1 of ${2:-byte}" -f f.dat >s.json
    : >f.dat
}

# turn_is MOUNT RANK: succeeds if it is this rank's turn.
turn_is() {
    [ "$(attribute "$1/ordered" turn)" = "$2" ]
}

# random_rounds ROUNDS RANKS ETYPE LARGEST MOUNT...: in each round each rank, at a random time,
# writes a contribution of random length, up to LARGEST bytes, to one of the mounts. Etypes have
# ETYPE bytes. The file "want" gets the expected contents of f.dat.
random_rounds() {
    limit=600 topic=$top/tests/programs/ordered.py python random_rounds "$@"
}
