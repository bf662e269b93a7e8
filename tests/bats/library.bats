#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# libmpiio as programs use it: its installed headers, its exported symbols, and the program of its
# manual page.

load helper

setup() {
    begin_test
    prefix=${MPIIO_BIN%/bin}
    headers=$prefix/include/mpiio
    library=$(find "$prefix" -name libmpiio.so)
}

# declared: prints the functions that the installed headers declare, as the compiler lists them.
declared() {
    find "$headers" -name '*.h' -printf '#include <mpiio/%f>\n' >all.c
    gcc -std=c11 -fsyntax-only -aux-info all.txt -I"$prefix/include" all.c
    sed -nE "s,^/\* $headers/[^ ]* \*/ extern ([^(]*[ *])?([a-z_0-9]+)( \(.*)?;\$,\2,p" all.txt | sort
}

# pkg_config_flags: sets the array flags to those that pkg-config prints for programs with libmpiio.
pkg_config_flags() {
    local pc
    pc=$(find "$MPIIO_STAGE" -name mpiio.pc)
    read -ra flags < <(PKG_CONFIG_PATH=${pc%/*} pkg-config --define-variable=prefix="$prefix" --cflags --libs mpiio)
}

# exported: prints the functions that the library exports.
exported() {
    nm -D --defined-only "$library" | awk '{ print $3 }' | sort
}

@test "library: each header compiles by itself, without GNU's extensions, and includes none that is not installed" {
    local header name
    [ "$(find "$headers" -name '*.h' | wc -l)" -gt 10 ]
    for header in "$headers"/*.h; do
        echo "#include <mpiio/${header##*/}>" >one.c
        gcc -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" one.c
    done
    for header in "$headers"/*.h; do
        grep -v '^#include <' "$header" | grep -oE '[a-z_/0-9]+\.h\b' | while read -r name; do
            [ -e "$headers/$name" ] || echo "${header##*/}: $name"
        done
    done >"$tmp/bad"
    empty "$tmp/bad"
}

@test "library: a C++ program includes all headers and links with the functions that it calls" {
    local header flags
    pkg_config_flags
    for header in "$headers"/*.h; do
        echo "#include <mpiio/${header##*/}>" >one.cc
        g++ -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$prefix/include" one.cc
    done
    {
        find "$headers" -name '*.h' -printf '#include <mpiio/%f>\n'
        echo 'int main() { return mpiio_store_open("/none", 0, nullptr) == vs_basic_number(nullptr); }'
    } >all.cc
    g++ -std=c++11 -o all all.cc "${flags[@]}"
}

@test "library: it exports what its headers declare, as in debian/libmpiio0.symbols and the manual page" {
    declared >ours
    [ "$(wc -l <ours)" -gt 50 ]
    diff ours <(exported)
    run -1 grep -vE '^(libmpiio\.so\.0 libmpiio0 #MINVER#| [a-z_0-9]+@Base [0-9.]+)$' "$top/debian/libmpiio0.symbols"
    diff <(exported) <(sed -n 's/^ \([a-z_0-9]*\)@.*/\1/p' "$top/debian/libmpiio0.symbols" | sort)
    man -l "$prefix/share/man/man3/libmpiio.3" | sed -n '/^FUNCTIONS/,/^EXAMPLE/p' |
        grep -oE '\b(mpiio|vs)_[a-z_0-9]+' | grep -v '^vs_overrides$' | sort -u >named
    diff ours named
}

@test "library: the manual's program is built with pkg-config and scales a slice" {
    local flags
    pkg_config_flags
    # The text that a reader copies: the page as man formats it.
    MANWIDTH=100 man -l "$prefix/share/man/man3/libmpiio.3" |
        sed -n '/\/\* scale SPEC/,/^ *\$ gcc/{ /\$ gcc/!p }' >scale.c
    gcc -std=c11 -Wall -Wextra -pedantic -Werror -o scale scale.c "${flags[@]}"
    export LD_LIBRARY_PATH=${library%/*}

    /usr/bin/python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack(">8d", *range(1, 9)))' >d.dat
    mpiio-view spec --view 'scatter 4 of double at 0 as external32' -n 2 -f d.dat >d.json
    ./scale d.json 1 0.5
    [ "$(mpiio-view dump d.json -r 0 | paste -sd' ')" = "1.0 2.0 3.0 4.0" ]
    [ "$(mpiio-view dump d.json -r 1 | paste -sd' ')" = "2.5 3.0 3.5 4.0" ]

    complains 1 "scale: d.json: the spec has no such view or rank" ./scale d.json 2 0.5
    rm d.dat
    complains 1 "scale: $tmp/d.dat: No such file or directory" ./scale d.json 0 0.5
}

@test "library: errors name the caller's arguments, and no options of commands" {
    local flags
    pkg_config_flags
    cat >wrong.c <<'END'
#include <mpiio/load.h>
#include <stdio.h>

static void load(const char *text, struct vs_overrides overrides)
{
    struct vs_spec *spec = NULL;
    struct vs_error error = {0};
    char line[1024];

    if (mpiio_spec_load_shorthand(text, &overrides, &spec, &error) == 0)
        vs_spec_free(spec);
    puts(vs_error_text(&error, line, sizeof(line)));
}

int main(void)
{
    const char *one = "n=x", *two = "n";

    load("scatter blob", (struct vs_overrides){.file = "f"});
    load("scatter n", (struct vs_overrides){.file = "f", .defines = &one, .define_count = 1});
    load("scatter 2", (struct vs_overrides){.file = "f", .defines = &two, .define_count = 1});
    load("scatter 2", (struct vs_overrides){.file = "f", .ranks = 1L << 40});
    load("scatter 2", (struct vs_overrides){0});
    load("scatter 2", (struct vs_overrides){.members = "m"});
    load("scatter 2 on 2", (struct vs_overrides){.members = "m"});
    load("", (struct vs_overrides){.members = "m{member}", .pieces = "vector 4x5 stride 3 on 2"});
    load("scatter -1", (struct vs_overrides){.members = "m{member}", .pieces = "scatter on 2"});
    return 0;
}
END
    gcc -std=c11 -Wall -Wextra -pedantic -Werror -o wrong wrong.c "${flags[@]}"
    export LD_LIBRARY_PATH=${library%/*}
    ./wrong >lines
    cat lines
    [ "$(wc -l <lines)" -eq 9 ]
    run ! grep -E -- '(^|[ (])--?[a-zA-Z]' lines
    [ "$(cut -d: -f1 lines | paste -sd,)" = "view,n=x,n,ranks,view,members,members,pieces,view" ]
}
