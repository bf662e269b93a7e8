# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# What tests of "ordered" have in common: load it after helper.

# common RANKS [ETYPE]: s.json, a view that all ranks have of f.dat, which is empty.
common() {
    cat >s.json <<END
{ "viewspec": 1, "file": "f.dat", "ranks": $1,
  "view": { "etype": "${2:-byte}", "filetype": { "type": "broadcast" } } }
END
    : >f.dat
}

# random_rounds ROUNDS RANKS ETYPE LARGEST MOUNT...: in each round each rank comes when it likes to any of
# the mounts and writes a share of random length, up to LARGEST bytes; "want" becomes what f.dat must
# be, with etypes of so many bytes.
random_rounds() {
    limit=600 topic=$top/tests/programs/rounds.py python random_rounds "$@"
}
