#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The house: folders, layers, the shape of sources and scripts.

load helper

# The files of the source tree, with what is not committed yet, without what is ignored.
tree() {
    (cd "$top" && git -c safe.directory='*' ls-files -co --exclude-standard -z -- "$@" | xargs -0r ls -d --) 2>/dev/null || true
}

bash_files() {
    cd "$top" && tree | xargs awk '
        FNR == 1 && (/^#!.*bash/ || FILENAME ~ /\.(bash|bats)$/) { print FILENAME }
        { nextfile }'
}

# includes FOLDER: every file that the compiler read for the objects of a folder, from the build.
includes() {
    ninja -C "$MPIIO_BUILD" -t deps | awk -v folder="$1/" '
        /^[^ ]/ { ours = index($0, folder) == 1 && /VALID/ }
        /^ / && ours { print $1 }' | sort -u
}

# foreign FOLDER LAYERS: prints those of them that belong to MPI, to FUSE, or to one of the LAYERS.
foreign() {
    includes "$1" | grep -E "/mpi\.h$|/mpich/|/fuse3?/|(^|/)($2)/" || true
}

# The layers, and what each must not include beside MPI and FUSE.
@test "layers: each includes only those below it, no MPI, no FUSE" {
    local folder layers
    while IFS=: read -r folder layers; do
        [ -n "$(includes "$folder")" ] || echo "$folder: includes nothing"
        foreign "$folder" "${layers# }" | sed "s,^,$folder includes ,"
    done <<'END' >findings
viewspec: src|fusefs
src/core: src/(capture|cluster|pool|view|engine)|fusefs
src/view: src/(capture|engine|pool)|fusefs
src/pool: src/(capture|cluster|engine|run|umount|view)|fusefs
src/pointers: src/(capture|cluster|engine|run|umount|view)|fusefs
src/from: src/(capture|cluster|view|engine)|fusefs
src/run: src/(capture|cluster|engine|pool|umount|view)|fusefs
END
    empty findings
}

@test "layers: src/umount, which root runs on users' mounts, includes of the others what cleans lines alone" {
    [ -n "$(includes src/umount)" ]
    run -1 grep -v '/viewspec/base/line\.[ch]$' \
        <(foreign src/umount 'viewspec|src/(capture|core|engine|view)|fusefs')
}

@test "layers: src/mounts, which looks into users' mounts, includes none of the others" {
    [ -n "$(tree 'src/mounts/*.c')" ]
    run -1 grep -rhE '^#include "[^"]*/' "$top/src/mounts"
}

@test "layers: src/capture includes viewspec and MPI, no FUSE" {
    [ -n "$(includes src/capture)" ]
    run -1 grep -E '/fuse3?/|(^|/)(src/(core|view|engine)|fusefs)/' <(includes src/capture)
}

@test "layers: fusefs includes core, viewspec and FUSE, no MPI" {
    [ -n "$(includes fusefs)" ]
    run -1 grep -E '/mpi\.h$|/mpich/|(^|/)src/(capture|run|view|engine)/' <(includes fusefs)
}

# The rooms, and what each may use beside itself: other rooms, or single headers of them.
rooms() {
    cat <<'END'
viewspec/base: viewspec
viewspec/text: viewspec viewspec/base
viewspec/map: viewspec viewspec/base
viewspec/types: viewspec viewspec/base viewspec/text viewspec/map
viewspec/members: viewspec viewspec/base viewspec/text
viewspec/export: viewspec viewspec/base viewspec/text viewspec/map viewspec/types
viewspec: viewspec/base viewspec/text viewspec/map viewspec/types viewspec/members viewspec/export
src/core/base: viewspec/base/line.h
src/core/file: src/core/base src/core/counters.h viewspec viewspec/base/integer.h
src/core/cache: src/core/base src/core/file viewspec viewspec/base
src/core/convert: src/core/base src/core/conversion.h src/core/datarep.h src/core/load.h viewspec viewspec/types/byte_order.h
src/core/members: src/core/base src/core/file src/core/counters.h viewspec viewspec/base viewspec/map viewspec/members
src/core: src/core/base src/core/file src/core/members src/core/cache src/core/convert viewspec viewspec/base viewspec/export/export.h viewspec/map/cover.h
src/net: src/core/base viewspec/base
src/cluster: src/core/base src/core/cache/homes.h src/net viewspec/base
src/pool: src/core/base src/core/cache src/core/file src/net viewspec
src/pointers: src/core/base src/core/file src/net viewspec/base/integer.h
src/engine: src/core/base src/core/file src/core/members src/core/cache src/core/store_layers.h src/cluster viewspec viewspec/base viewspec/members
src/view: src/core src/core/base src/from src/mounts src/view/draw viewspec viewspec/base viewspec/map/cover.h viewspec/members viewspec/types
src/view/draw: src/view src/core viewspec viewspec/base
src/from: src/core/header.h src/core/base/process.h viewspec viewspec/base viewspec/members
src/from/hdf5: src/from viewspec viewspec/base viewspec/members
src/capture: viewspec viewspec/base
src/run: src/core src/core/base viewspec viewspec/base/line.h viewspec/members
src/mounts:
src/slurm:
src/umount: src/mounts viewspec/base/line.h
fusefs/base: src/core src/core/base src/core/file src/cluster src/net viewspec viewspec/base/line.h
fusefs/names: src/core src/core/base viewspec viewspec/base/list.h viewspec/export/export.h viewspec/members
fusefs/storing: fusefs/names fusefs/base fusefs src/core src/core/base src/core/cache src/core/file/freshness.h src/core/file/source.h src/cluster src/net src/pointers src/pool viewspec viewspec/types/ranks.h viewspec/members
fusefs/kernel: fusefs/names fusefs/base fusefs/storing fusefs src/core src/core/base src/core/file src/core/members/assembled.h src/core/cache viewspec viewspec/map/cover.h viewspec/members
fusefs/jobs: fusefs/names fusefs/base fusefs/storing fusefs/kernel fusefs src/core src/core/base src/core/cache src/cluster viewspec
fusefs/requests: fusefs/names fusefs/base fusefs/storing fusefs/kernel fusefs/jobs fusefs src/core src/core/base src/core/file src/core/cache src/cluster src/mounts/ending.h src/pointers viewspec viewspec/members
fusefs: fusefs/base fusefs/names fusefs/storing fusefs/kernel fusefs/jobs fusefs/requests src/core src/core/base src/core/cache src/mounts src/pointers viewspec viewspec/base/list.h viewspec/members
END
}

# keeps_to RULE...: true where tests/layout/house.py has found nothing against it.
keeps_to() {
    gives '' /usr/bin/python3 "$top/tests/layout/house.py" "$@"
}

@test "rooms: each uses only those that the table says" {
    keeps_to rooms < <(rooms)
}

@test "rooms: src/README.md names each" {
    local room
    rooms | while IFS=: read -r room _; do
        grep -qF "\`$room/\`" "$top/src/README.md" || echo "$room: not in src/README.md"
    done >missing
    empty missing
}

@test "doors: no files call each other in a circle" {
    keeps_to circles "$MPIIO_BUILD"
}

@test "doors: what a source has for others, its own header declares" {
    keeps_to headers "$MPIIO_BUILD"
}

@test "doors: a source without a header says what it is for" {
    keeps_to paragraphs
}

@test "layers: fusefs does no I/O on the shared file of its own" {
    cd "$top"
    run -1 grep -rnE --include='*.c' '\b(read|write|pread|pwrite|readv|writev|preadv|pwritev|lseek|mmap|ftruncate)(64|2)?\(.*mpiio_store_fd' \
        fusefs
    run -1 grep -rnE --include='*.c' '\b(mmap|pwrite|ftruncate)(64)?\(' fusefs
}

@test "layout: the folders are the architecture" {
    local folders
    folders=$(tree | sed -n 's,/.*,,p' | sort -u | paste -sd' ')
    [ "$folders" = ".ci debian fusefs man scripts src tests viewspec" ]
    folders=$(tree src | cut -d/ -f2 | grep -v '\.build$' | sort -u | paste -sd' ')
    [ "$folders" = "DESIGN.md README.md capture cluster core engine from mounts net pointers pool python run slurm umount view" ]
}

@test "layout: the sources that README.md and DESIGN.md name exist" {
    tree >files
    grep -ohE '\b[A-Za-z0-9_/]+\.(c|h|bats|py)\b' "$top/src/README.md" "$top/src/DESIGN.md" | sort -u >names
    [ "$(wc -l <names)" -gt 100 ]
    # A name may lack folders from the left.
    awk 'NR == FNR { for (name = $0; ; ) { known[name]; if (!sub("^[^/]*/", "", name)) next } }
        !/NAME|TOPIC/ && !($0 in known) { print $0 ": no such source" }' files names >missing
    empty missing
}

@test "layout: each layer lists its C sources in its meson.build" {
    local file folder
    tree '*.c' | while read -r file; do
        case $file in
        tests/*) ;;
        *)
            folder=${file%/*}
            [ -f "$top/$folder/meson.build" ] || folder=${folder%/*}
            grep -qF "'${file#"$folder"/}'" "$top/$folder/meson.build" || echo "$file: not built"
            ;;
        esac
    done >unlisted
    empty unlisted
}

@test "sources: each names its license" {
    {
        tree '*.c' '*.h' '*meson.build' '*.py' meson_options.txt
        tree scripts
        bash_files
    } | sort -u >all
    cd "$top"
    xargs grep -L 'SPDX-License-Identifier: MIT' <"$tmp/all" >"$tmp/bad" || true
    empty "$tmp/bad"
}

@test "sources: clang warns of nothing" {
    /usr/bin/python3 "$top/tests/layout/clang.py" "$MPIIO_BUILD" >said 2>&1 || { cat said && false; }
    run ! grep -E '(warning|error):' said
}

@test "sources: formatted as .clang-format says" {
    cd "$top"
    tree '*.c' '*.h' | xargs clang-format --dry-run -Werror
}

@test "sources: written in one dialect" {
    cd "$top"
    tree '*.c' '*.h' | xargs tests/layout/dialect.py >"$tmp/other"
    empty "$tmp/other"
}

@test "sources: no file of C and no test is over 600 lines" {
    cd "$top"
    tree '*.c' '*.h' '*.bash' '*.bats' | xargs awk 'FNR == 601 { print FILENAME }' >"$tmp/long"
    empty "$tmp/long"
}

@test "sources: no function is over 50 lines, in tests over 80" {
    cd "$top"
    tree '*.c' | xargs awk '
        FNR == 1 { start = 0 }
        /^{/ { start = FNR }
        /^}/ && start { if (FNR - start - 1 > (FILENAME ~ /^tests/ ? 80 : 50)) print FILENAME ":" start; start = 0 }' \
        >"$tmp/long"
    empty "$tmp/long"
}

@test "prose: comments open with a subject or a verb, and use the words of the field; lines are short" {
    cd "$top"
    gives '' tests/layout/prose.py headless words width
}

@test "scripts: shellcheck has nothing to say" {
    cd "$top"
    bash_files | grep -v '\.bats$' | xargs shellcheck -x -P SCRIPTDIR
    # Tests run in subshells (SC2030, SC2031) and use what helper.bash sets (SC2154); to divide
    # before multiplying is how whole elements are counted (SC2017).
    tree '*.bats' | xargs shellcheck -x -P SCRIPTDIR -e SC2017,SC2030,SC2031,SC2154
}

@test "scripts: pyflakes has nothing to say" {
    cd "$top"
    {
        tree '*.py' ':!scripts/examples/spack' # Spack's way is to import all
        tree | xargs awk 'FNR == 1 && /^#!.*python/ { print FILENAME } { nextfile }'
    } | sort -u | xargs /usr/bin/python3 -m pyflakes
}

@test "scripts: executable, and strict" {
    local file
    bash_files | grep -E '^(scripts|\.ci)/' | while read -r file; do
        if [[ $file != *.bash ]]; then
            [ -x "$top/$file" ] || echo "$file: not executable"
            grep -q '^set -euo pipefail$' "$top/$file" || echo "$file: not strict"
        fi
    done >bad
    empty bad
}

# A namespace made elsewhere would keep mounts of concurrent tests alive.
@test "tests: only tests/let_go creates mount namespaces" {
    cd "$top"
    run -1 grep -rnE 'unshare\>.*( |")(-[A-Za-z]*m|--mount)|CLONE_NEWNS|netns exec' tests scripts .ci \
        --exclude=let_go --exclude=layout.bats --exclude=forger.c --exclude=containers.bats
    [ -z "$output" ]
}
