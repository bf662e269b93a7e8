#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The Debian packages: what scripts/package builds, and the effect of installing and removing them.

load helper

# in_root ARGUMENT...: runs dpkg for an empty system in the directory root. Scripts of packages find
# the programs of the directory stubs first.
in_root() {
    as_root env PATH="$tmp/stubs:$PATH" dpkg --root="$tmp/root" --force-depends --force-not-root \
        --force-script-chrootless --log=/dev/null "$@"
}

# Makes stubs for the programs that compile a package's modules after its installation. They would
# look for the package among those of the machine.
make_stubs() {
    local program
    mkdir stubs
    for program in py3compile py3clean pypy3compile pypy3clean; do
        printf '#!/bin/sh\necho "%s $*" >>%q\n' "$program" "$tmp/stubs.log" >"stubs/$program"
        chmod +x "stubs/$program"
    done
}

# upgraded FOLDER: makes a later version of the packages in out.
upgraded() {
    local package
    mkdir "$1"
    for package in out/*.deb; do
        rm -rf unpacked
        dpkg-deb -R "$package" unpacked
        sed -i -E 's/^Version: .*/&+later/; s/\(= ([^)]*)\)/(= \1+later)/' unpacked/DEBIAN/control
        dpkg-deb -Zgzip -z1 --root-owner-group -b unpacked "$1" >built
    done
}

@test "package: the packages and the sources pass lintian, install and are removed" {
    # Compiling with -g and -O2 would take most of the time.
    CC='' DEB_CFLAGS_STRIP=-g DEB_CFLAGS_APPEND=-O1 DEB_BUILD_OPTIONS="nocheck parallel=2" "$top/scripts/package" out
    (cd out && printf '%s\n' *) | sed 's/_.*//' | sort -u >built
    diff built - <<LINES
libmpiio-dev
libmpiio0
mpiio-viewfs
mpiio-viewfs-mpi
mpiio-viewfs-openmpi
mpiio-viewfs-slurm
python3-mpiio
LINES
    # The source package has all files that git has.
    (cd out && dpkg-source --no-check -x ./*.dsc sources) >extracted
    (cd out/sources && find . -type f -o -type l) | sed 's|^\./||' | sort >packed
    diff /dev/null <(git -c safe.directory='*' -C "$top" ls-files | while read -r file; do
        [ ! -e "$top/$file" ] || echo "$file"
    done | grep -vx .gitignore | sort | comm -23 - packed)
    rm -r out/sources
    mkdir -p root/var/lib/dpkg/{info,updates,triggers}
    touch root/var/lib/dpkg/status
    make_stubs
    in_root -i out/*.deb >installed
    grep -q '^py3compile -p python3-mpiio' stubs.log
    # Each file of an installation from source is in a package.
    (cd "$MPIIO_STAGE" && find . -type f \( -name 'mpiio*' -o -name '*.h' -o -name 'libmpiio*' \)) |
        sed 's|.*/||' | sort -u >sources
    (cd root && find usr -type f -o -type l) | sed -E 's|.*/||; s|\.gz$||' | sort -u >packages
    [ -s sources ]
    diff /dev/null <(comm -23 sources packages)
    [ -n "$(find root/usr/lib -name libmpiio.so.0 -type l)" ]
    compgen -G "root/var/lib/dpkg/info/libmpiio0:*.symbols"
    [ -s root/usr/share/doc/mpiio-viewfs/examples/views-field.mount ]
    [ -s root/usr/share/bash-completion/completions/mpiio-mount ]
    for page in "$top"/man/*.scd; do
        page=$(basename "$page" .scd)
        [ -s "root/usr/share/man/man${page##*.}/$page.gz" ]
    done
    while read -r page; do
        hardened "$page" 2 || { echo "not hardened: $page" && false; }
    done < <(find root/usr -type f -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print)
    # Release builds have no assertions.
    run -1 grep -rq __assert_fail root/usr/bin root/usr/sbin root/usr/lib
    # Upgrades to a later version, and removes everything. One file of configuration remains.
    upgraded later
    in_root -i later/*.deb >installed
    [ "$(grep -c '^Version: .*+later$' root/var/lib/dpkg/status)" -eq 7 ]
    in_root -r libmpiio-dev libmpiio0 mpiio-viewfs mpiio-viewfs-mpi mpiio-viewfs-{openmpi,slurm} python3-mpiio >removed
    [ "$(find root -path root/var -prune -o -type f -print -o -type l -print)" = root/etc/slurm/plugstack.conf.d/mpiio.conf ]
    in_root -P libmpiio-dev libmpiio0 mpiio-viewfs mpiio-viewfs-mpi mpiio-viewfs-{openmpi,slurm} python3-mpiio >removed
    [ -z "$(find root -path root/var -prune -o -type f -print -o -type l -print)" ]
    run -1 grep -rl mpiio root/var/lib/dpkg/info
    run -1 grep mpiio root/var/lib/dpkg/status
}
