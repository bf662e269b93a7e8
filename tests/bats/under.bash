# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# What tests of programs under mpiio-run share: `load under`, after helper.

# under COMMAND...: runs it under mpiio-run; what its processes were served goes to counts. What
# MPIIO_SANITIZER names, the library needs (scripts/test).
under() {
    local status=0 said
    said=$(mktemp "$tmp/said.XXXXXX")
    env ${MPIIO_SANITIZER:+LD_PRELOAD="$MPIIO_SANITIZER"} mpiio-run -s "$@" 2>"$said" || status=$?
    tee -a counts <"$said" >&2
    rm "$said"
    return "$status"
}

# counted NAME: the sum over all processes so far.
counted() {
    sed -n "s/^mpiio-run: .*[ (]$1=\([0-9]*\).*/\1/p" counts | awk '{ sum += $1 } END { print sum + 0 }'
}

# served SLICES: all calls on that many slices, since counts was removed.
served() {
    [ "$(counted slices)" -eq "$1" ]
    [ "$(counted granted)" -eq "$1" ]
    [ "$(counted fell_back)" -eq 0 ]
    rm counts
}
