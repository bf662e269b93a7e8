#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The Debian packages: what scripts/package builds, and what installing and removing them does.

load helper

# in_root ARGUMENT...: dpkg, of an empty system in the folder root.
in_root() {
    as_root dpkg --root="$tmp/root" --force-depends --force-not-root --log=/dev/null "$@"
}

@test "package: four packages and the sources, which lintian takes, install and are removed" {
    CC='' DEB_BUILD_OPTIONS="nocheck parallel=2" "$top/scripts/package" out
    (cd out && printf '%s\n' *) | sed -E 's/_.*//; /dbgsym/d' | sort -u >built
    diff built - <<LINES
libmpiio-dev
libmpiio0
mpiio-viewfs
mpiio-viewfs-mpi
LINES
    mkdir -p root/var/lib/dpkg/{info,updates,triggers}
    touch root/var/lib/dpkg/status
    rm out/*dbgsym*
    in_root -i out/*.deb >installed
    # Each file that an installation from source has is in a package.
    (cd "$MPIIO_STAGE" && find . -type f \( -name 'mpiio*' -o -name '*.h' -o -name 'libmpiio*' \)) |
        sed 's|.*/||' | sort -u >sources
    (cd root && find usr -type f -o -type l) | sed -E 's|.*/||; s|\.gz$||' | sort -u >packages
    [ -s sources ]
    diff /dev/null <(comm -23 sources packages)
    [ -n "$(find root/usr/lib -name libmpiio.so.0 -type l)" ]
    # Again, as an upgrade does, and away with all.
    in_root -i out/*.deb >installed
    in_root -P libmpiio-dev libmpiio0 mpiio-viewfs mpiio-viewfs-mpi >removed
    [ -z "$(find root -path root/var -prune -o -type f -print)" ]
}
