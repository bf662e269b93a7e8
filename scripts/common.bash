# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Functions that scripts/quickstart and scripts/test share. Sourced; not installed.

top=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=${MPIIO_BUILD:-$top/build}

# Runs a command quietly. Shows its output only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ $status -eq 0 ] || cat "$log" >&2
    rm -f "$log"
    return $status
}

# Configures the build directory if it is not configured yet, or not with the given options
# (NAME=VALUE, as meson takes them). A directory that belongs to another user (for example root,
# after sudo) is left alone and reported.
configure_all() {
    local option
    if [ -e "$build" ] && [ ! -w "$build" ]; then
        echo "${0##*/}: $build: not writable (built by another user?)" >&2
        return 1
    fi
    if [ ! -f "$build/build.ninja" ]; then
        quietly meson setup "$build" "$top" "${@/#/-D}" || return
    fi
    for option in "$@"; do
        if ! grep -qxF "${option/=/ = }" "$build/meson-private/cmd_line.txt"; then
            quietly meson configure "$build" "${@/#/-D}" || return
            break
        fi
    done
}

# build_all OPTION...: configures the build directory, and builds what has changed (of
# $build_target, if set; at the priority $build_nice).
build_all() {
    configure_all "$@" || return
    quietly nice -n "${build_nice:-0}" meson compile -C "$build" ${build_target:+"$build_target"}
}

# Sets mpiexec to MPICH's, also if another MPI owns the plain name.
find_mpiexec() {
    for mpiexec in mpiexec.mpich mpiexec.hydra mpiexec; do
        if command -v "$mpiexec" >/dev/null; then
            return
        fi
    done
    echo "${0##*/}: mpiexec: program not found" >&2
    return 1
}
