# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tests of "ordered" have in common: load it after helper.

# common RANKS [ETYPE]: s.json, a view that all ranks have of f.dat, which is empty.
common() {
    cat >s.json <<END
{ "viewspec": 1, "file": "f.dat", "ranks": $1,
  "view": { "etype": "${2:-byte}", "filetype": { "type": "broadcast" } } }
END
    : >f.dat
}
