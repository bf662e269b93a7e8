#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The commands mpiio-mount and mpiio-umount, the mount helper, and the scripts of the source tree.

load helper

teardown() {
    if [ -n "${helper:-}" ]; then
        as_root rm -f "$helper"
    fi
    end_test
}

# Makes mount(8) find the helper, as with an installation under /usr.
place_helper() {
    [ ! -e /sbin/mount.fuse.mpiio ]
    helper=/sbin/mount.fuse.mpiio
    as_root ln -s "$MPIIO_SBIN/mount.fuse.mpiio" "$helper"
}

@test "scripts: wrong usage of mpiio-mount and mpiio-umount" {
    complains 2 "mpiio-mount: expected SPEC and MOUNTPOINT (see mpiio-mount --help)" mpiio-mount
    run -2 mpiio-mount a b c
    complains 2 "mpiio-mount: unrecognized option '--frob'" mpiio-mount --frob a b
    complains 2 "mpiio-mount: option requires an argument -- 'n'" mpiio-mount -n
    complains 2 "mpiio-umount: expected MOUNTPOINT (see mpiio-umount --help)" mpiio-umount
    run -2 mpiio-umount a ''
    run -2 mpiio-umount -x
}

@test "scripts: --help and --version; mpiio-mount --help lists each mount option of the manual, like the daemon's" {
    local command option
    for command in mpiio-mount mpiio-umount mpiio-fused; do
        run -0 "$command" --help
        [[ ${lines[0]} == "Usage: $command "* ]]
        run -0 "$command" --version
        [[ $output =~ ^$command\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
    sed -n '/^# MOUNT OPTIONS/,/^# /s/^\*\([a-z_]*\)[*=].*/\1/p' "$top/man/mpiio-mount.1.scd" >options
    [ "$(wc -l <options)" -ge 15 ]
    mpiio-mount --help >help
    mpiio-fused --help >daemon.help
    while read -r option; do
        grep -qw -- "$option" help
        grep -qw -- "$option" daemon.help
    done <options
}

@test "mpiio-mount: a missing or invalid spec, mount point or shared file: one line, nothing mounted" {
    one_line 2 "mpiio-mount: none.json: *No such file or directory" mpiio-mount none.json "$mnt"
    printf '{ "viewspec": 1, "file": "s.dat",\n  "view": { "disp": -1 } }\n' >bad.json
    one_line 2 "mpiio-mount: bad.json:2:*: /view/disp: *" mpiio-mount bad.json "$mnt"
    scatter_spec
    complains 1 "mpiio-mount: none: No such file or directory (create the folder first)" mpiio-mount s.json none
    complains 1 "mpiio-mount: s.dat: Not a directory" mpiio-mount s.json s.dat
    rm s.dat
    one_line 1 "mpiio-mount: *s.dat: No such file or directory (create it with -o create, or name another with -f)" mpiio-mount s.json "$mnt"
    run ! is_mounted
}

@test "mpiio-mount: long options, -n, -f and -D reach the daemon" {
    scatter_spec
    mv s.dat other.dat
    cat >s.json <<'END'
{ "viewspec": 1, "file": "s.dat", "let": { "n": 512 },
  "view": { "filetype": { "type": "scatter", "blocklength": "n" } } }
END
    mpiio-mount --ranks=2 --file=other.dat --define=n=1024 --options=ro s.json "$mnt"
    [ "$(ls "$mnt")" = $'rank0\nrank1' ]
    cmp "$mnt/rank1" <(dd if=other.dat bs=1024 skip=1 count=1 status=none
        dd if=other.dat bs=1024 skip=3 count=1 status=none)
    mpiio-umount "$mnt"
    mpiio-mount -n 4 -f other.dat -D n=512 -o ro s.json "$mnt"
    [ "$(stat -c %s "$mnt/rank3")" -eq 1024 ]
}

@test "mpiio-mount: relative paths, spaces, symlinks, any working directory" {
    mkdir -p "a folder/on disk" elsewhere
    (cd "a folder" && scatter_spec)
    ln -s "a folder" link
    cd elsewhere
    mpiio-mount ../link/s.json "../a folder/on disk/"
    cmp <(head -c 512 "../a folder/s.dat") <(head -c 512 "../a folder/on disk/rank0")
    mpiio-umount "../link/on disk"
    run ! is_mounted "../a folder/on disk"
    [ -z "$(ls -A "../a folder/on disk")" ]
}

@test "mpiio-mount: -F stays in the foreground until unmounted" {
    scatter_spec
    "$MPIIO_BIN/mpiio-mount" -F s.json "$mnt" 3>&- &
    local pid=$!
    await is_mounted
    [ "$(stat -c %s "$mnt/rank0")" -eq 1024 ]
    [ "$(daemon_pid)" -eq "$pid" ]
    mpiio-umount "$mnt"
    wait "$pid"
}

@test "mpiio-umount: several mount points, one after the other, though one of them fails" {
    scatter_spec
    mkdir in in/one two
    "$MPIIO_BIN/mpiio-mount" s.json in/one
    "$MPIIO_BIN/mpiio-mount" s.json two
    cd in
    complains 1 "mpiio-umount: ../s.dat: not mounted" mpiio-umount ../s.dat one "$tmp/two"
    [ -z "$(ls -A one)$(ls -A ../two)" ]
    "$MPIIO_BIN/mpiio-mount" ../s.json one
    "$MPIIO_BIN/mpiio-mount" ../s.json ../two
    mpiio-umount one ../two
    [ -z "$(ls -A one)$(ls -A ../two)" ]
}

@test "mpiio-umount: returns when the daemon has exited; not a mount, another's mount: status 1 and the reason" {
    local pid
    mount_new scatter
    pid=$(daemon_pid)
    [ -e "/proc/$pid" ]
    mpiio-umount "$mnt"
    has_ended "$pid"
    run ! is_mounted
    complains 1 "mpiio-umount: mnt: not mounted" mpiio-umount mnt
    complains 1 "mpiio-umount: none/here: No such file or directory" mpiio-umount none/here
    complains 1 "mpiio-umount: s.dat: not mounted" mpiio-umount s.dat
    complains 1 "mpiio-umount: /proc/: a mount of type proc, not fuse.mpiio" mpiio-umount /proc/
}

# has_open PID: succeeds if the process has a file of the mount open.
has_open() {
    find "/proc/$1/fd" -lname "$mnt/*" | grep -q .
}

@test "mpiio-umount: a busy mount stays and the process that uses it is named, also its own shell; -f unmounts it" {
    local pid user
    mount_new scatter
    cd "$mnt"
    one_line 1 "mpiio-umount: .: busy: in use by *" mpiio-umount .
    cd "$tmp"
    pid=$(daemon_pid)
    tail -f "$mnt/rank0" >/dev/null 3>&- &
    user=$!
    await has_open "$user"
    complains 1 "mpiio-umount: $mnt: busy: in use by tail ($user) (-f unmounts it all the same)" mpiio-umount "$mnt"
    [ "$(stat -c %s "$mnt/rank0")" -eq 1024 ]
    mpiio-umount -f "$mnt"
    run ! is_mounted
    gone "$pid"
    kill "$user" 2>/dev/null || true # tail may have noticed
}

@test "mpiio-umount: unmounts the mount of a dead daemon" {
    mount_new scatter
    kill -KILL "$(daemon_pid)"
    await run ! ls "$mnt"
    mpiio-umount mnt/
    run ! is_mounted
    [ -z "$(ls -A "$mnt")" ]
}

@test "mpiio-umount: -f ends a daemon that does not answer" {
    mount_new scatter
    local pid
    pid=$(daemon_pid)
    stop_process "$pid"
    run -0 timeout 300 mpiio-umount -f "$mnt"
    run ! is_mounted
    gone "$pid"
}

@test "mpiio-umount: unmounts the upper one of two mounts at one place" {
    scatter_spec
    mkdir own
    as_root mount --bind own own
    as_root mount --make-private own # so that mounts there can be moved
    mkdir own/lower own/upper
    mpiio-mount s.json own/lower
    mpiio-mount -n 2 s.json own/upper
    as_root mount --move own/upper own/lower
    [ "$(ls own/lower)" = $'rank0\nrank1' ]
    mpiio-umount own/lower
    [ "$(ls own/lower)" = $'rank0\nrank1\nrank2\nrank3' ]
    mpiio-umount own/lower
    run ! is_mounted own/lower
}

@test "mpiio-mount: a place that is mounted already is reported, and nothing is mounted on it" {
    mount_new scatter
    ln -s mnt link
    complains 1 "mpiio-mount: link: already mounted (unmount it first with mpiio-umount)" mpiio-mount -n 2 s.json link
    complains 1 "mpiio-mount: $(hostname): $mnt: already mounted (unmount it first with mpiio-umount)" mpiio-mount -o store=mpiio s.json mnt
    # The check does not wait for the daemon there.
    local pid
    pid=$(daemon_pid)
    stop_process "$pid"
    complains 1 "mpiio-mount: mnt: already mounted (unmount it first with mpiio-umount)" timeout 300 mpiio-mount s.json mnt
    kill -CONT "$pid"
    [ "$(grep -c " $mnt " /proc/self/mountinfo)" -eq 1 ]
    mpiio-umount mnt
    # Another kind of filesystem does not matter.
    ram_disk 1m
    mpiio-mount s.json disk
    mpiio-umount disk
}

# ignoring_children COMMAND...: runs a command that inherits an ignored SIGCHLD.
ignoring_children() {
    # shellcheck disable=SC2016 # variables of perl
    perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$@"
}

@test "mpiio-mount and mpiio-umount: of callers that ignore SIGCHLD" {
    mount_new scatter
    end_daemon KILL
    complains 1 "mpiio-mount: mnt: the daemon of this mount has exited (unmount it first with mpiio-umount)" \
        ignoring_children mpiio-mount s.json mnt
    ignoring_children mpiio-umount mnt
    ignoring_children mpiio-mount -o store=mpiio s.json mnt
    ignoring_children mpiio-umount mnt
    within=60 await none_marked # mpiexec has ended, too
}

@test "mpiio-mount: lists of hosts that are invalid, or too long, are refused immediately" {
    local list
    scatter_spec
    for list in 'n[3-1]' 'n[1-2' 'n[]' 'n[1-]' 'a,,b' 'n[1-2-3]' ',a'; do
        complains 2 "mpiio-mount: $list: not a list of hosts" mpiio-mount --hosts="$list" s.json "$mnt%n"
    done
    for list in 'n[1-999999]' 'n[1-4097]' 'n[1-999][1-999]' 'n[000000000-999999999]'; do
        complains 2 "mpiio-mount: $list: more than 4096 hosts" timeout 300 mpiio-mount --hosts="$list" s.json "$mnt%n"
    done
    MPIIO_START_TIMEOUT=abc complains 2 "mpiio-mount: MPIIO_START_TIMEOUT=abc: expected a number of seconds" mpiio-mount -o store=mpiio s.json "$mnt"
    # The hosts that a list expands to.
    # shellcheck disable=SC2016 # for that shell
    printf '#!/bin/sh\nprintf "%%s\\n" "$2" >&2\nexit 1\n' >tell
    chmod +x tell
    export MPIIO_MPIEXEC=$tmp/tell
    complains 1 "mpiio-mount: n08x,n09x,n10x,n3x,l,m15,m16,m25,m26" mpiio-mount --hosts='n[08-10,3]x,l,m[1-2][5-6]' s.json "$mnt%n"
    run -1 --separate-stderr mpiio-mount --hosts='n[0001-4096]' s.json "$mnt%n"
    [ "$(tr , '\n' <<<"$stderr" | wc -l)" -eq 4096 ]
}

# script NAME LINE: makes a program of one line.
script() {
    printf '#!/bin/sh\n%s\n' "$2" >"$1"
    chmod +x "$1"
}

@test "mpiio-mount: ends what mpiexec has started, even if that ignores signals" {
    scatter_spec
    script engine 'exec sleep 1000'
    script proxy "trap : TERM; setsid ./engine"
    script heedless "trap : TERM; setsid ./proxy & while :; do wait; done"
    MPIIO_START_TIMEOUT=1 MPIIO_MPIEXEC=$tmp/heedless complains 1 "mpiio-mount: no answer within 1 s" mpiio-mount -o store=mpiio s.json "$mnt"
    nothing_left
}

@test "mpiio-mount: reports a program that does not exist, and a reason if mpiexec or the engine prints nothing" {
    scatter_spec
    MPIIO_FUSED=$tmp/s.dat complains 1 "mpiio-mount: MPIIO_FUSED=$tmp/s.dat: not a program" mpiio-mount s.json "$mnt"
    MPIIO_ENGINE=$tmp/none complains 1 "mpiio-mount: MPIIO_ENGINE=$tmp/none: not a program" mpiio-mount -o store=mpiio s.json "$mnt"
    script silent 'exit 3'
    # shellcheck disable=SC2016 # for that shell
    script killed 'kill -KILL $$'
    script asleep 'exec sleep 1000'
    MPIIO_MPIEXEC=$tmp/silent complains 1 "mpiio-mount: $tmp/silent ended with status 3 without a message" mpiio-mount -o store=mpiio s.json "$mnt"
    MPIIO_MPIEXEC=$tmp/killed complains 1 "mpiio-mount: $tmp/killed was killed by signal 9 without a message" mpiio-mount -o store=mpiio s.json "$mnt"
    MPIIO_ENGINE=$tmp/silent one_line 1 "mpiio-mount: mpiexec* ended with status 3 without a message" mpiio-mount -o store=mpiio s.json "$mnt"
    MPIIO_ENGINE=$tmp/killed run -1 --separate-stderr mpiio-mount -o store=mpiio s.json "$mnt"
    [[ $stderr =~ ^"mpiio-mount: "[^$'\n']+$ ]]
    UCX_TLS=bogus run -1 --separate-stderr mpiio-mount -o store=mpiio s.json "$mnt"
    [[ $stderr =~ ^"mpiio-mount: MPI cannot start: "[^$'\n']*"bogus"[^$'\n']*$ ]]
    export MPIIO_START_TIMEOUT=1
    MPIIO_ENGINE=$tmp/asleep complains 1 "mpiio-mount: no answer from localhost within 1 s" mpiio-mount --hosts=localhost s.json "$mnt"
    # mpiexec only reports it when it is terminated.
    MPIIO_START_TIMEOUT=300 MPIIO_MPIEXEC="$(mpich_mpiexec) -launcher ssh -launcher-exec $tmp/no-ssh" \
        complains 1 "mpiio-mount: $tmp/no-ssh: No such file or directory (mpiexec's launcher)" mpiio-mount --hosts=elsewhere,nowhere s.json "$mnt"
    # A daemon that does not start, until its engine is gone.
    script asleep 'exec cat <&3 >/dev/null'
    MPIIO_FUSED=$tmp/asleep complains 1 "mpiio-mount: no answer from localhost within 1 s" mpiio-mount --hosts=localhost s.json "$mnt"
    nothing_left
    run ! is_mounted
}

@test "mpiio-mount: two names of one machine need different mount points" {
    scatter_spec
    mkdir at0 at1
    complains 2 "mpiio-mount: $(hostname): nodes 0 and 1 are on this machine: the mount point needs %n, the node's number" \
        timeout 300 mpiio-mount --hosts=localhost,127.0.0.1 s.json "$mnt"
    nothing_left
    run ! is_mounted
    mpiio-mount --hosts=localhost,127.0.0.1 s.json "at%n"
    mpiio-umount at0
    nothing_left
}

@test "mount.fuse.mpiio: mount -t fuse.mpiio, and lines of fstab: with options of mount(8), with a view in shorthand" {
    scatter_spec
    place_helper
    as_root mount -t fuse.mpiio s.json "$mnt" 3>&-
    [ "$(stat -c %s "$mnt/rank3")" -eq 1024 ]
    as_root umount "$mnt"
    run ! is_mounted
    echo "$tmp/s.json $mnt fuse.mpiio ro,noauto,nofail,_netdev,x-systemd.automount,comment=a 0 0" \
        >fstab
    as_root mount -T fstab "$mnt" 3>&-
    [ "$(stat -c %s "$mnt/rank3")" -eq 1024 ]
    mpiio-umount "$mnt"
    make_file m.dat 1024
    printf '%s\n' "$tmp/m.dat $mnt fuse.mpiio noauto,ro,view=darray\\04012x10\\040block\\040cyclic(3)\\040on\\0402x2\\040of\\040double\\040at\\04064 0 0" \
        >fstab
    as_root mount -T fstab "$mnt" 3>&-
    cmp "$mnt/rank3" <(mpiio-view cat -f m.dat -r 3 \
        --view 'darray 12x10 block,cyclic(3) on 2x2 of double at 64')
    mpiio-umount "$mnt"
}

@test "mount.fuse.mpiio: the options that reach mpiio-mount" {
    mkdir bin
    cp "$MPIIO_SBIN/mount.fuse.mpiio" bin
    printf '#!/bin/sh\nprintf "[%%s]" "$@"\n' >bin/mpiio-mount
    chmod +x bin/mpiio-mount
    gives '[-o][fsname=a\,b,nodev,allow_other][--][s.json][m]' bin/mount.fuse.mpiio s.json m -o rw,noauto,fsname=a\\,b,nodev,x-a=b,users,allow_other
    gives '[--][s.json][m]' bin/mount.fuse.mpiio s.json m -sv -n -t fuse.mpiio -o defaults
    gives '' bin/mount.fuse.mpiio s.json m -f -o ro
    run -2 bin/mount.fuse.mpiio s.json
}

@test "mount.fuse.mpiio: as root it ignores the environment; a user's own counts" {
    local name
    scatter_spec
    place_helper
    mkdir evil u
    chmod 777 u
    executable evil/program <<END
echo chosen >>$tmp/u/chosen
exit 1
END
    for name in getopt readlink dirname env mpiio-mount mpiio-fused fusermount3 sed bash; do
        cp evil/program "evil/$name"
    done
    echo "touch $tmp/u/read" >evil/script
    as_root env "BASH_FUNC_getopt%%=() { touch $tmp/u/imported; }" "PATH=$tmp/evil:$PATH" MPIIO_FUSED="$tmp/evil/program" MPIIO_ENGINE="$tmp/evil/program" \
        MPIIO_MPIEXEC="$tmp/evil/program" BASH_ENV="$tmp/evil/script" ENV="$tmp/evil/script" \
        "$MPIIO_SBIN/mount.fuse.mpiio" s.json "$mnt" -o rw 3>&-
    [ -z "$(ls u)" ]
    [ "$(tr '\0' '\n' <"/proc/$(daemon_pid)/environ" | sed 's/=.*//' | grep -vx 'PWD\|SHLVL\|_' | sort)" = PATH ]
    mpiio-umount "$mnt"
    chmod 711 "$tmp"
    run -1 as_user env MPIIO_FUSED="$tmp/evil/program" "$MPIIO_SBIN/mount.fuse.mpiio" s.json "$mnt" -o rw
    [ "$(<u/chosen)" = chosen ]
}

@test "mount.fuse.mpiio: a failing mount reports the reason and a status" {
    place_helper
    run as_root mount -t fuse.mpiio "$tmp/none.json" "$mnt"
    [ "$status" -ne 0 ]
    [[ $output == *"none.json"*"No such file or directory"* ]]
    run ! is_mounted
}

@test "deps: all installed, quick and silent from another directory; unknown group" {
    gives '' "$top/scripts/deps" build run mpi test
    run -2 "$top/scripts/deps" frob
}

# unknown_options OPTION=VALUE...: prints the options that meson would not accept.
unknown_options() {
    meson introspect "$MPIIO_BUILD" --buildoptions >options.json
    # shellcheck disable=SC2016 # variables of jq
    jq -r '(map({(.name): .}) | add) as $known |
        $ARGS.positional | unique[] | . as $given | capture("(?<name>[^=]*)=(?<value>.*)") as {$name, $value} |
        $known[$name] | select(. == null or .type == "combo" and (.choices | index($value) | not)) |
        "\($given): not known to meson"' options.json --args "$@"
}

# libraries: prints the libraries that the build finds by pkg-config.
libraries() {
    grep -rhoE --include=meson.build "(dependency\(|^.*'mpi(ch)?': )'[a-z0-9-]+'" "$top" |
        grep -oE "'(expat|jansson|libsodium|fuse3|cmocka|mpich|hdf5)[a-z0-9-]*'" | tr -d "'" | sed 's/-.*//' | sort -u
}

@test "examples: the RPM spec is valid, with options that meson has and the build's dependencies" {
    local spec=$top/scripts/examples/mpiio-viewfs.spec name
    HOME=$tmp run -0 --separate-stderr rpmspec -P "$spec"
    [ -z "$stderr" ]
    printf '%s\n' "$output" >parsed
    [ "$(grep -c '^%files' parsed)" -eq 7 ]
    grep -q "^Version: *$(meson introspect "$MPIIO_BUILD" --projectinfo | jq -r .version)$" parsed
    mapfile -t given < <(grep -oE -- '-D[a-z_0-9]+=[a-z0-9]+' parsed | sed 's/^-D//')
    [ "${#given[@]}" -ge 7 ]
    unknown_options "${given[@]}" >bad
    libraries >wanted
    [ "$(wc -l <wanted)" -eq 7 ]
    while read -r name; do
        grep -qE "^BuildRequires: *(pkgconfig\($name\)|$name-devel)" parsed || echo "$name: not required"
    done <wanted >>bad
    # Everything that is installed is in a package.
    (cd "$MPIIO_STAGE" && find . -mindepth 2 -type f -name '*[a-z]*' ! -name LICENSE) | sed 's,.*/,,' | sort -u >installed
    sed -n '/^%files/,$p' parsed | sed -n 's,^/.*/,,p' >listed
    # In directories that are listed, or that only Fedora's macros name.
    printf '%s\n' '*.h' views-field.mount 'slurm-*' '*.py' py.typed METADATA entry_points.txt >>listed
    while read -r name; do
        while read -r pattern; do
            # shellcheck disable=SC2053 # a pattern
            [[ $name != $pattern ]] || continue 2
        done <listed
        echo "$name: in no package"
    done <installed >>bad
    empty bad
}

@test "examples: the Spack recipe is valid, with options that meson has and the build's dependencies" {
    local name
    run -0 --separate-stderr /usr/bin/python3 "$top/tests/layout/recipe.py" "$top/scripts/examples/spack/package.py"
    [ -z "$stderr" ]
    printf '%s\n' "$output" >told
    mapfile -t given < <(grep -oE -- '-D[a-z_0-9]+=[a-z0-9]+' told | sed 's/^-D//')
    [ "$(printf '%s\n' "${given[@]}" | cut -d= -f1 | sort -u | wc -l)" -eq 7 ]
    unknown_options "${given[@]}" >bad
    libraries | while read -r name; do
        # Spack's name for MPICH or another MPI is mpi.
        grep -qE "^depends (lib)?${name%3}(@|$)" told ||
            { [ "$name" = mpich ] && grep -qx "depends mpi" told; } || echo "$name: not depended on"
    done >>bad
    empty bad
    # A directive, an argument or a type that Spack does not have is reported.
    for name in 's/depends_on("mpi"/depend_on("mpi"/' 's/default=True/defaults=True/' 's/type="test"/type="tests"/' \
        's/when="+hdf5"/when="+hdf"/'; do
        sed "$name" "$top/scripts/examples/spack/package.py" >wrong.py
        run ! /usr/bin/python3 "$top/tests/layout/recipe.py" wrong.py
    done
}

@test "quickstart: from another directory, with a compiler of several words, leaves nothing behind" {
    mkdir place
    CC="env ${CC:-cc}" TMPDIR=$tmp/place run -0 "$top/scripts/quickstart" 3>&-
    [ "$(grep -c '^equal$' <<<"$output")" -eq 5 ]
    [[ $output == *'$ mpiio-mount -o npy field.json mnt'* ]]
    [ -z "$(ls -A place)" ]
}
