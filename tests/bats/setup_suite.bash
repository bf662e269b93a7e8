# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Once before all tests: installs the build into a folder that every user can read, so that the
# tests run what a package would contain, from wherever the source tree lies.

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
    mkfifo "$MPIIO_STAGE/no-input" # mpi_run's stdin
    meson install -C "$MPIIO_BUILD" --no-rebuild --quiet --destdir "$MPIIO_STAGE"
    # The folder of the commands depends on the prefix of the build.
    MPIIO_BIN=$(dirname -- "$(find "$MPIIO_STAGE" -name mpiio-mount -path '*/bin/*')")
    export MPIIO_BIN
    MPIIO_FUSE_MODE=$(stat -c %a /dev/fuse)
    export MPIIO_FUSE_MODE
    export MPIIO_SBIN=${MPIIO_BIN%/bin}/sbin
    MPIIO_RUN_LIBRARY=$(find "$MPIIO_STAGE" -name libmpiio-run.so)
    export MPIIO_RUN_LIBRARY
    start_watchdog
}

# No test takes longer than a quarter of an hour; none goes on after MPIIO_TEST_END, seconds since 1970.
start_watchdog() {
    local command=("$top/tests/watchdog.py" $$ "$MPIIO_STAGE" "${MPIIO_TEST_LIMIT:-900}" "${MPIIO_TEST_END:-inf}")
    [ "$(id -u)" -eq 0 ] || command=(sudo "${command[@]}")
    env -u MPIIO_STAGE "${command[@]}" </dev/null &>/dev/null 3>&- 4>&- &
}

teardown_suite() {
    rm -rf "${MPIIO_STAGE:-}"
    # Other runs may need it as it is.
    if ! compgen -G '/var/tmp/mpiio-stage.*' >/dev/null &&
        [ -n "${MPIIO_FUSE_MODE:-}" ] && [ "$(stat -c %a /dev/fuse)" != "$MPIIO_FUSE_MODE" ]; then
        if [ "$(id -u)" -eq 0 ]; then
            chmod "$MPIIO_FUSE_MODE" /dev/fuse
        else
            sudo chmod "$MPIIO_FUSE_MODE" /dev/fuse
        fi
    fi
}
