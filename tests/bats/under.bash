# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Functions for tests of programs under mpiio-run: `load under`, after helper.

# under COMMAND...: runs a command under mpiio-run. The file counts gets the statistics of its
# processes. The library needs what MPIIO_SANITIZER names (scripts/test).
under() {
    local status=0 said
    said=$(mktemp "$tmp/said.XXXXXX")
    env ${MPIIO_SANITIZER:+LD_PRELOAD="$MPIIO_SANITIZER"} mpiio-run -s "$@" 2>"$said" || status=$?
    tee -a counts <"$said" >&2
    rm "$said"
    return "$status"
}

# counted NAME: prints the sum of a statistic over all processes so far.
counted() {
    sed -n "s/^mpiio-run: .*[ (]$1=\([0-9]*\).*/\1/p" counts | awk '{ sum += $1 } END { print sum + 0 }'
}

# served SLICES: succeeds if all calls on that many slices were served since counts was removed.
served() {
    [ "$(counted slices)" -eq "$1" ]
    [ "$(counted granted)" -eq "$1" ]
    [ "$(counted fell_back)" -eq 0 ]
    rm counts
}
