#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# libmpiio as those who build with it get it: its installed headers.

load helper

setup() {
    begin_test
    prefix=${MPIIO_BIN%/bin}
    headers=$prefix/include/mpiio
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
