# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Runs once before all tests. Installs the build into a directory that every user can read, so that
# the tests run what a package would contain, wherever the source tree is.

setup_suite() {
    local top
    top=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
    export MPIIO_BUILD=${MPIIO_BUILD:-$top/build}
    if [ ! -f "$MPIIO_BUILD/build.ninja" ]; then
        echo "$MPIIO_BUILD: nothing is built there: use scripts/test, or set MPIIO_BUILD" >&2
        return 1
    fi
    MPIIO_STAGE=$(mktemp -d /var/tmp/mpiio-stage.XXXXXX)
    export MPIIO_STAGE
    chmod 755 "$MPIIO_STAGE"
    mkfifo "$MPIIO_STAGE/no-input" # the stdin of mpi_run
    meson install -C "$MPIIO_BUILD" --no-rebuild --quiet --destdir "$MPIIO_STAGE"
    # The commands' directory depends on the build's prefix.
    MPIIO_BIN=$(dirname -- "$(find "$MPIIO_STAGE" -name mpiio-mount -path '*/bin/*')")
    export MPIIO_BIN
    MPIIO_FUSE_MODE=$(stat -c %a /dev/fuse)
    export MPIIO_FUSE_MODE
    export MPIIO_SBIN=${MPIIO_BIN%/bin}/sbin
    MPIIO_RUN_LIBRARY=$(find "$MPIIO_STAGE" -name libmpiio-run.so)
    export MPIIO_RUN_LIBRARY
    start_watchdog
}

# Ends each test after a quarter of an hour, and all tests at MPIIO_TEST_END, in seconds since 1970.
start_watchdog() {
    local command=("$top/tests/watchdog.py" $$ "$MPIIO_STAGE" "${MPIIO_TEST_LIMIT:-900}" "${MPIIO_TEST_END:-inf}")
    [ "$(id -u)" -eq 0 ] || command=(sudo "${command[@]}")
    env -u MPIIO_STAGE "${command[@]}" </dev/null &>/dev/null 3>&- 4>&- &
}

teardown_suite() {
    rm -rf "${MPIIO_STAGE:-}"
    # Another run may still need it.
    if ! compgen -G '/var/tmp/mpiio-stage.*' >/dev/null &&
        [ -n "${MPIIO_FUSE_MODE:-}" ] && [ "$(stat -c %a /dev/fuse)" != "$MPIIO_FUSE_MODE" ]; then
        if [ "$(id -u)" -eq 0 ]; then
            chmod "$MPIIO_FUSE_MODE" /dev/fuse
        else
            sudo chmod "$MPIIO_FUSE_MODE" /dev/fuse
        fi
    fi
}
