#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# libmpiio as those who build with it get it: its installed headers, what it exports, and the
# program of its manual page.

load helper

setup() {
    begin_test
    prefix=${MPIIO_BIN%/bin}
    headers=$prefix/include/mpiio
    library=$(find "$prefix" -name libmpiio.so)
}

# declared FILE: the functions of our headers in what gcc -aux-info has written.
declared() {
    sed -nE "s,^/\* $headers/[^ ]* \*/ extern ([^(]*[ *])?([a-z_0-9]+)( \(.*)?;\$,\2,p" "$1" | sort -u
}

@test "library: each header compiles by itself, without GNU's extensions" {
    local header
    [ "$(find "$headers" -name '*.h' | wc -l)" -gt 10 ]
    for header in "$headers"/*.h; do
        echo "#include <mpiio/${header##*/}>" >one.c
        gcc -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" one.c
    done
}

@test "library: headers name no header of ours that is not installed" {
    local header name
    for header in "$headers"/*.h; do
        grep -v '^#include <' "$header" | grep -oE '[a-z_/0-9]+\.h\b' | while read -r name; do
            [ -e "$headers/$name" ] || echo "${header##*/}: $name"
        done
    done >"$tmp/bad"
    cat "$tmp/bad"
    [ ! -s "$tmp/bad" ]
}

@test "library: it exports what its headers declare" {
    find "$headers" -name '*.h' -printf '#include <mpiio/%f>\n' >all.c
    gcc -std=c11 -fsyntax-only -aux-info all.txt -I"$prefix/include" all.c
    declared all.txt >ours
    [ "$(wc -l <ours)" -gt 50 ]
    nm -D --defined-only "$library" | awk '{ print $3 }' | sort >exported
    diff ours exported
}
