#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tests the files that meson install installs. The suite's setup has installed them into
# $MPIIO_STAGE.

load helper

setup() {
    begin_test
    prefix=${MPIIO_BIN%/bin}
    export MANWIDTH=100
}

# in_stage PATTERN: prints the paths below the prefix that match a pattern, or fails.
in_stage() {
    compgen -G "$prefix/$1" || {
        echo "not installed: $1" >&2
        return 1
    }
}

@test "install: commands, headers, libraries, the Python module, completions, the licence, and no files of the tests" {
    local name header file command
    for name in bin/mpiio-{mount,run,umount,view} sbin/mpiio-{fused,engine-mpich,engine-openmpi} sbin/mount.fuse.mpiio; do
        [ -x "$(in_stage "$name")" ]
    done
    for header in basic conversion datarep element error map shorthand spec slice store; do
        in_stage "include/mpiio/$header.h"
    done
    in_stage 'lib*/**/pkgconfig/mpiio.pc' || in_stage 'lib*/pkgconfig/mpiio.pc'
    for name in capture capture-mpich capture-openmpi; do
        in_stage "lib*/mpiio/libmpiio-$name.so" || in_stage "lib*/*/mpiio/libmpiio-$name.so"
    done
    in_stage 'lib*/mpiio/libmpiio-run.so' || in_stage 'lib*/*/mpiio/libmpiio-run.so'
    in_stage 'lib*/libmpiio.so.0' || in_stage 'lib*/*/libmpiio.so.0'
    for file in __init__ _arrays _file _index _library _xarray; do
        in_stage "lib/python3*/dist-packages/mpiio/$file.py"
    done
    in_stage 'lib/python3*/dist-packages/mpiio/py.typed'
    in_stage 'lib/python3*/dist-packages/mpiio-*.dist-info/METADATA'
    in_stage 'lib/python3*/dist-packages/mpiio-*.dist-info/entry_points.txt'
    for command in mpiio-mount mpiio-run mpiio-umount mpiio-view; do
        in_stage "share/bash-completion/completions/$command"
    done
    cmp "$(in_stage share/doc/mpiio-viewfs/LICENSE)" "$top/LICENSE"
    run find "$MPIIO_STAGE" -name '*test*' -o -name '*demo*' -o -name '*.a'
    [ -z "$output" ]
}

@test "install: man pages that man can format" {
    local page
    for page in man3/libmpiio.3 man3/mpiio-python.3 man1/mpiio-mount.1 man1/mpiio-run.1 man1/mpiio-umount.1 man1/mpiio-view.1 man8/mpiio-engine.8 \
        man8/mpiio-engine-mpich.8 man8/mpiio-engine-openmpi.8 \
        man8/mpiio-fused.8 man5/viewspec.5 man7/mpiio-containers.7 man7/mpiio-cookbook.7 man7/mpiio-formats.7 \
        man7/mpiio-datarep.7 man7/mpiio-routines.7 man7/mpiio-security.7 man7/mpiio-slurm.7 man7/mpiio-troubleshooting.7 \
        man7/mpiio-capture.7; do
        in_stage "share/man/$page"
        run -0 --separate-stderr man --warnings -l "$prefix/share/man/$page"
        [[ $output == *NAME* ]]
        [ -z "$stderr" ]
    done
}

@test "install: a mount unit that systemd accepts, for the manual's example" {
    local unit
    unit=$(in_stage share/doc/mpiio-viewfs/examples/views-field.mount)
    gives '' systemd-analyze verify --man=no "$unit"
    [ "$(systemd-escape -p --suffix=mount "$(sed -n s/^Where=//p "$unit")")" = "${unit##*/}" ]
    # The lines of the unit are those of the manual.
    man -l "$prefix/share/man/man1/mpiio-mount.1" | sed -n 's/^ *\(\[Mount\]\|[A-Z][a-z]*=\)/\1/p' \
        >lines
    [ "$(wc -l <lines)" -eq 5 ]
    run ! grep -vxF -f "$unit" lines
}

@test "install: programs and libraries are hardened" {
    local file optimization count=0
    optimization=$(meson introspect "$MPIIO_BUILD" --buildoptions |
        jq -r '.[] | select(.name == "optimization").value')
    while read -r file; do
        hardened "$file" "$optimization" || { echo "not hardened: $file" && false; }
        count=$((count + 1))
    done < <(find "$prefix" -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print)
    [ "$count" -ge 5 ]
}

@test "install: the same version everywhere" {
    local version command
    version=$(meson introspect "$MPIIO_BUILD" --projectinfo | jq -r .version)
    for command in mpiio-mount mpiio-umount mpiio-view mpiio-fused; do
        gives "$command $version" "$command" --version
    done
    [ "$(mpiio-engine-mpich --version)" = "mpiio-engine $version (MPICH)" ]
    [ "$(mpiio-engine-openmpi --version)" = "mpiio-engine $version (Open MPI)" ]
    grep -qF "## [$version]" "$top/CHANGELOG.md"
}
