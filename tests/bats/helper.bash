# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2119,SC2120 # other files give marked a name
# The helper of all bats files: `load helper` first. Each test starts in its own empty directory on
# a real disk, with the installed commands on its PATH. The teardown removes everything that a test
# leaves (mounts, daemons, processes, files), also if it fails.
#
#   $top             the source tree
#   $tmp             the test's directory; the working directory at the start
#   $mnt             $tmp/mnt, an empty directory to mount on
#   $topic           the topic's programs in Python, tests/programs/TOPIC.py: functions that
#   $call            calls by their names: /usr/bin/python3 "$call" FUNCTION [ARGUMENT...]
#   $MPIIO_BUILD     the build directory
#   $MPIIO_STAGE     where it was installed; $MPIIO_BIN, $MPIIO_SBIN: its bin and sbin
#
# A file with its own setup or teardown calls begin_test and end_test in them.

bats_require_minimum_version 1.5.0

setup() {
    begin_test
}

teardown() {
    end_test
}

begin_test() {
    top=$(cd -P -- "$BATS_TEST_DIRNAME/../.." && pwd)
    tmp=$(mktemp -d "${MPIIO_TEST_DIR:-/var/tmp}/mpiio-test.XXXXXX")
    mnt=$tmp/mnt
    topic=${BATS_TEST_FILENAME##*/}
    topic=$top/tests/programs/${topic%.bats}.py
    call=$top/tests/programs/call.py
    chmod 755 "$tmp"
    mkdir "$mnt"
    PATH=$MPIIO_BIN:$MPIIO_SBIN:$PATH:/usr/sbin:/sbin
    PYTHONPATH=$top/tests/shared
    # Every process that the test starts has this mark, and so do daemons.
    export MPIIO_TEST=$tmp top tmp mnt topic call PATH PYTHONPATH
    # With MPIIO_TEST_RUN=1 the test starts its programs under mpiio-run.
    if [ -n "${MPIIO_TEST_RUN:-}" ]; then
        export LD_PRELOAD=$MPIIO_RUN_LIBRARY
    fi
    export LC_ALL=C.UTF-8
    # In MPI_Init, MPICH's ranks spin until all ranks of the host have started, and look for PCI
    # devices: starting four takes 0.31 s of processor time. If each rank seems to be on its own
    # host, it takes 0.17 s.
    export MPIR_CVAR_NOLOCAL=1 HWLOC_COMPONENTS=-pci,-linuxio
    trace_lightly
    # Tells the watchdog about this test.
    printf '%s\n' $$ "$tmp" "${BATS_TEST_DESCRIPTION:-}" >"$MPIIO_STAGE/running.${tmp##*.}"
    cd "$tmp" || return
}

# Replaces the DEBUG trap of bats, which records the whole stack before each command and takes 0.2 ms
# for it. bash knows the stack of a failed command in the ERR trap, too. The new trap only records
# lines of the test, for failures without a stack there: exit, return, an unset variable, a signal,
# "! command". The commands of the EXIT trap count as line 1.
trace_lightly() {
    # shellcheck disable=SC2016 # bash expands it later
    local record='BATS_DEBUG_LAST_STACK_TRACE=("$LINENO $FUNCNAME $BASH_SOURCE")'
    # shellcheck disable=SC2064 # expands record now
    trap '[[ ${FUNCNAME-} != "$BATS_TEST_NAME" || $LINENO = 1 ]] || '"$record" DEBUG
    # shellcheck disable=SC2034 # bats uses it
    BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

# Replaces the function that bats calls in the ERR trap.
# shellcheck disable=SC2034 # bats uses it
bats_error_trap() {
    bats_check_status_from_trap
    if [[ ${FUNCNAME[1]-} != bats_perform_test ]]; then
        bats_capture_stack_trace
        BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
    fi
}

# counts_requests: runs the test without mpiio-run, because it counts the daemon's requests.
counts_requests() {
    unset LD_PRELOAD
}

end_test() {
    local status=0
    # Without a directory of its own, the test would take all mounts of the machine for its own.
    if [ -z "${tmp:-}" ]; then
        echo "the test has not begun" >&2
        return 1
    fi
    cd /
    umount_all
    reap || status=1
    if ! has_mounts; then
        rm -rf "$tmp" 2>/dev/null || as_root rm -rf "$tmp"
    fi
    rm -f "$MPIIO_STAGE/running.${tmp##*.}"
    # The watchdog has killed the test's processes.
    if [ -e "$MPIIO_STAGE/overtime.${tmp##*.}" ]; then
        status=1
        cat "$MPIIO_STAGE/overtime.${tmp##*.}" || true # the watchdog may remove it
    fi
    return "$status"
}

# mount_spec SPEC [OPTION...]: mounts SPEC at $mnt with options of mpiio-mount.
mount_spec() {
    local spec=$1
    shift
    mpiio-mount "$@" "$spec" "$mnt"
}

# has_mounts [FOLDER]: succeeds if there are mounts below the folder, or $tmp.
has_mounts() {
    [[ $(</proc/self/mountinfo) == *" ${1:-$tmp}/"* ]]
}

# umount_all [FOLDER]: unmounts every mount below the folder, or $tmp, in use or not, the newest
# first.
umount_all() {
    local place
    has_mounts "$@" || return 0 # most tests have unmounted their mounts
    while read -r place; do
        printf -v place %b "$place"
        as_root umount -l -- "$place" || true
    done < <(awk -v dir="${1:-$tmp}/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | tac)
}

# Ends every process that the test has left: jobs of its shell, and processes with its mark, by
# number.
reap() {
    local round left
    mapfile -t left <<<"$(jobs -p)"
    kill -KILL "${left[@]}" 2>/dev/null || true
    for ((round = 0; round < 100; round++)); do
        mapfile -t left < <(marked)
        [ ${#left[@]} -gt 0 ] || return 0
        # A daemon without a mount exits by itself, so it gets a moment.
        if [ "$round" -gt 10 ]; then
            as_root kill -KILL "${left[@]}" 2>/dev/null || true
        fi
        sleep 0.1
    done
    echo "processes that do not end: ${left[*]}" >&2
    return 1
}

# marked [NAME]: prints the numbers of the processes, or of those of a program, that started with
# the test's mark in their environment. (The test's own shell did not. Zombies have no environment.)
# The kernel keeps the first 15 characters of a program's name.
marked() {
    local file comm
    for file in $(as_root grep -lszxF -- "MPIIO_TEST=$tmp" /proc/[0-9]*/environ); do
        file=${file%/environ}
        if { read -r comm <"$file/comm"; } 2>/dev/null && [[ -z ${1:-} || $comm == "${1:0:15}" ]]; then
            echo "${file#/proc/}"
        fi
    done
}

# nothing_left: succeeds once all processes of the test have exited. Waits as await does.
nothing_left() {
    await none_marked || {
        marked | xargs -r ps -o pid,stat,args >&2
        return 1
    }
}

# none_marked [NAME]: succeeds if no process of the test is left, or none of a program.
none_marked() {
    [ -z "$(marked "$@")" ]
}

as_root() {
    if [ "$EUID" -eq 0 ]; then
        "$@"
    else
        sudo --preserve-env=MPIIO_TEST,PATH "$@"
    fi
}

# Runs a command as an unprivileged user: nobody, if the tests run as root. Systems with udev let
# all users open /dev/fuse. On other systems this makes it accessible until the suite ends.
as_user() {
    if [ "$(stat -c %a /dev/fuse)" != 666 ]; then
        as_root chmod 666 /dev/fuse
    fi
    if [ "$(id -u)" -eq 0 ]; then
        HOME=$tmp setpriv --reuid nobody --regid nogroup --clear-groups "$@" 3>&-
    else
        "$@" 3>&-
    fi
}

# user_folder NAME: makes a directory that belongs to the user of as_user.
user_folder() {
    mkdir -p "$1"
    if [ "$(id -u)" -eq 0 ]; then
        chown nobody:nogroup "$1"
    fi
}

# make_file PATH BYTES: makes a file of this length whose 8-byte words all differ. Its bytes are
# always the same.
make_file() {
    "$MPIIO_BUILD/tests/programs/make_file" "$1" "$2"
}

# Prints the name of MPICH's mpiexec, also if another MPI owns that name.
mpich_mpiexec() {
    local name
    for name in mpiexec.mpich mpiexec.hydra mpiexec; do
        if command -v "$name" >/dev/null; then
            break
        fi
    done
    echo "$name"
}

# patient COMMAND [ARGUMENT...]: runs a command whose MPI programs sleep while they wait for each
# other (tests/mpi/patience.c).
patient() {
    LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$MPIIO_BUILD/tests/mpi/libpatience.so "$@"
}

# mpi_run RANKS COMMAND [ARGUMENT...]: runs a command under MPICH's mpiexec, with a stdin that never
# ends. mpiexec would forward the end of its stdin, and SIGPIPE kills it if programs without MPI
# have exited before (1 of 100 on a busy machine).
mpi_run() {
    patient "$(mpich_mpiexec)" -n "$1" "${@:2}" <>"$MPIIO_STAGE/no-input" 3>&-
}

# dealt FILE RANKS BLOCK [MORE]: prints the spec of a file whose blocks of BLOCK bytes are dealt to
# the ranks. MORE: keys of the spec.
dealt() {
    cat <<END
{ "viewspec": 1, "file": "$1", "ranks": $2, ${4:-}
  "view": { "filetype": { "type": "scatter", "blocklength": $3 } } }
END
}

# one_view FILE RANKS VIEW: prints the spec of a file with this view, which is JSON.
one_view() {
    printf '{ "viewspec": 1, "file": "%s", "ranks": %s,\n  "view": %s }\n' "$@"
}

# all_and_dealt FILE BLOCK [MORE]: prints the spec of a file for two ranks. Its view "all" has all
# bytes. In the view "dealt" blocks of BLOCK bytes are dealt to the ranks. MORE: keys of the spec.
all_and_dealt() {
    cat <<END
{ "viewspec": 1, "file": "$1", "ranks": 2, ${3:-} "views": {
  "all": { "filetype": { "type": "broadcast" } },
  "dealt": { "filetype": { "type": "scatter", "blocklength": $2 } } } }
END
}

# scatter_spec: makes s.dat of 4096 bytes, whose 512-byte blocks are dealt to 4 ranks, and s.json.
scatter_spec() {
    make_file s.dat 4096
    dealt s.dat 4 512 >s.json
}

# blocks_spec [BYTES]: makes b.dat and b.json: blocks of 4 KiB are dealt to four ranks. With 1 MiB,
# rank 1 has 256 KiB; its first block is at 4096.
blocks_spec() {
    make_file b.dat "${1:-1048576}"
    dealt b.dat 4 4096 >b.json
}

# gaps_spec [BYTES]: makes g.dat and g.json: behind 100 bytes, blocks of 24 bytes are dealt to three
# ranks and to none in turn.
gaps_spec() {
    make_file g.dat "${1:-100100}"
    cat >g.json <<'END'
{ "viewspec": 1, "file": "g.dat", "ranks": 3,
  "view": { "disp": 100, "etype": "double",
            "filetype": { "type": "resized", "lb": 0, "extent": 96,
                          "oldtype": { "type": "hindexed", "blocklengths": [3],
                                       "displacements": ["rank * 24"] } } } }
END
}

# mount_new KIND [BYTES] [OPTION...]: makes the spec by the function KIND_spec (scatter_spec, or one
# of the topic), whose argument is BYTES, and mounts it at $mnt with options of mpiio-mount.
mount_new() {
    local kind=$1 bytes=()
    shift
    if [[ ${1:-} =~ ^[0-9]+$ ]]; then
        bytes=("$1")
        shift
    fi
    "${kind}_spec" "${bytes[@]}"
    mount_spec "${kind:0:1}.json" "$@"
}

# mount_dealt FILE RANKS BLOCK [OPTION...]: makes a spec by dealt, named as the file, and mounts it at
# $mnt with options of mpiio-mount.
mount_dealt() {
    local spec=${1##*/}
    spec=${spec%.*}.json
    dealt "$1" "$2" "$3" >"$spec"
    mount_spec "$spec" "${@:4}"
}

# small_disk MIB: mounts a disk of this size at disk.
small_disk() {
    truncate -s "${1}M" disk.img
    mkfs.ext4 -q -m 0 -O ^has_journal disk.img
    mkdir disk
    as_root mount -o loop disk.img disk
    as_root chmod 777 disk
    mountpoint -q disk
}

# ram_disk SIZE: mounts a tmpfs at disk. SIZE is an option of tmpfs.
ram_disk() {
    mkdir -p disk
    as_root mount -t tmpfs -o "size=$1,mode=777" tmpfs disk
    mountpoint -q disk
}

# Fills the disk completely, until disk/ballast is removed.
fill_disk() {
    dd if=/dev/zero of=disk/ballast bs=64k status=none 2>/dev/null || true
}

# gives TEXT COMMAND...: the command must succeed and print this text, and nothing else.
gives() {
    run -0 "${@:2}"
    echo "$output"
    [ "$output" = "$1" ]
}

# more_than NUMBER COMMAND...: the command must succeed and print a larger number.
more_than() {
    run -0 "${@:2}"
    echo "$output"
    [ "$output" -gt "$1" ]
}

# complains STATUS MESSAGE COMMAND...: the command must print only this message, on standard error,
# and exit with this status.
complains() {
    run -"$1" --separate-stderr "${@:3}"
    # shellcheck disable=SC2154 # run sets it
    echo "$stderr"
    [ "$stderr" = "$2" ]
    [ -z "$output" ]
}

# one_line STATUS PATTERN COMMAND...: the command must print one line, which matches, on standard
# error, and exit with this status.
one_line() {
    job_line "$@"
    [ -z "$output" ]
}

# job_line STATUS PATTERN COMMAND...: the same for a command that may print on standard output.
job_line() {
    run -"$1" --separate-stderr "${@:3}"
    echo "$stderr"
    # shellcheck disable=SC2053 # a pattern
    [[ $stderr = $2 && $stderr != *$'\n'* ]]
}

# fails STATUS MESSAGE COMMAND...: mpiio-view must complain in this way.
fails() {
    complains "$1" "mpiio-view: $2" "${@:3}"
}

# misused MESSAGE SUBCOMMAND ARGUMENT...: this subcommand of mpiio-view must report wrong usage.
misused() {
    fails 2 "$2: $1 (see mpiio-view $2 --help)" mpiio-view "${@:2}"
}

# no_spec MESSAGE FILE ARGUMENT...: mpiio-view spec --from FILE must complain in this way.
no_spec() {
    fails 2 "$1" mpiio-view spec --from "${@:2}"
}

# empty FILE: prints the findings of a test in this file, and fails if there are any.
empty() {
    cat "$1"
    [ ! -s "$1" ]
}

# executable FILE: makes an executable bash script of standard input.
executable() {
    {
        echo '#!/bin/bash'
        cat
    } >"$1"
    chmod 755 "$1"
}

# names_in FOLDER: prints the names in a directory, without hidden ones, separated by blanks.
names_in() {
    (cd "$1" && echo *)
}

# error_of CODE...: runs python code with os, fcntl, mmap and m (the mount). Prints the name of the
# error that it ends with, or "none".
error_of() {
    /usr/bin/python3 - "$mnt" "$@" <<'END'
import errno, fcntl, mmap, os, sys
m, *code = sys.argv[1:]
try:
    exec("\n".join(code))
    print("none")
except OSError as error:
    print(errno.errorcode[error.errno])
END
}

# errors_are: reads lines of an error's name and of Python code, which can use os, fcntl, mmap and m
# (the mount). The code must end with that error, or with "none". Each has a process of its own.
errors_are() {
    /usr/bin/python3 -c '
import errno, fcntl, mmap, os, sys
m, wrong, rows = sys.argv[1], 0, 0
def result(code):
    try:
        exec(code, globals())
    except OSError as error:
        return errno.errorcode[error.errno]
    return "none"
for line in sys.stdin:
    want, code = line.split(maxsplit=1)
    rows += 1
    if (child := os.fork()) == 0:
        got = result(code)
        if got != want:
            sys.exit(f"{got} instead of {want}: {code.strip()}")
        os._exit(0)
    wrong |= os.waitpid(child, 0)[1]
sys.exit(wrong != 0 or rows == 0)' "$mnt"
}

# python FUNCTION [ARGUMENT...]: runs a function of $topic, for at most $limit seconds.
python() {
    timeout -s KILL "${limit:-300}" /usr/bin/python3 "$call" "$@"
}

# py CODE: runs Python code that can use os, struct, np (NumPy), h5py and netCDF4. The last three
# load slowly, so py imports them only if the code names them.
py() {
    local module modules=os,struct
    for module in h5py netCDF4; do
        [[ $1 != *"$module."* ]] || modules+=,$module
    done
    [[ $1 != *np.* ]] || modules+=',numpy as np'
    /usr/bin/python3 -c "import $modules"$'\n'"$1" 3>&-
}

# np CODE: runs Python code with numpy as np, the mount as m, and fails of common.py. If an assert
# fails, it prints the line.
np() {
    PYTHONPATH+=:$top/tests/programs /usr/bin/python3 -W error - "$mnt" 3>&- <<END
import mmap, os, sys, time, numpy as np
from common import fails
m = sys.argv[1]
$1
END
}

# use_module: lets /usr/bin/python3 find the installed module mpiio and its library.
use_module() {
    local module library
    module=$(find "$MPIIO_STAGE" -path '*/mpiio/__init__.py')
    library=$(find "$MPIIO_STAGE" -name libmpiio.so.0)
    PYTHONPATH=${module%/mpiio/*}:$top/tests/shared
    export PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH=${library%/*}
}

# from PROGRAM ARGUMENT...: runs tests/from/PROGRAM.py with the module mpiio. It makes files, or
# compares their slices and prints the number of slices.
from() {
    use_module
    /usr/bin/python3 "$top/tests/from/$1.py" "${@:2}" 3>&-
}

# stat_of KEY [MOUNTPOINT]: prints a value of stats.json. KEY may be any expression of jq.
stat_of() {
    local file=${2:-$mnt}/.mpiio/stats.json
    # jq takes 30 ms to start, so a number at the top level is found without it.
    if [[ $1 =~ ^[a-z_]+$ && $(<"$file") =~ $'\n  "'$1'": '([0-9]+)[,$'\n'] ]]; then
        echo "${BASH_REMATCH[1]}"
    else
        jq ".$1" "$file"
    fi
}

# attribute PATH NAME: prints the value of user.mpiio.NAME.
attribute() {
    getfattr --absolute-names --only-values -n "user.mpiio.$2" "$1"
}

# Prints the process number of the daemon behind $mnt, as stats.json reports it.
daemon_pid() {
    stat_of pid "$@"
}

# end_daemon SIGNAL [MOUNTPOINT]: sends a signal to the daemon, and waits until it has exited.
end_daemon() {
    local pid
    pid=$(daemon_pid "${@:2}")
    as_root kill "-$1" "$pid"
    gone "$pid"
}

# is_degraded MOUNTPOINT: succeeds once the node has lost others.
is_degraded() {
    [ "$(attribute "$1" state)" = degraded ]
}

is_mounted() {
    mountpoint -q "${1:-$mnt}"
}

# await COMMAND...: waits until the command succeeds, for at most $within seconds, or five minutes.
# It tries less often over time.
await() {
    local end=$((SECONDS + ${within:-300})) nap_ms=25 nap
    until "$@"; do
        if [ "$SECONDS" -ge "$end" ]; then
            echo "it did not come to pass: $*" >&2
            return 1
        fi
        printf -v nap '0.%03d' "$nap_ms"
        sleep "$nap"
        nap_ms=$((nap_ms < 200 ? nap_ms * 5 / 4 : 250))
    done
}

# gone PID: waits until the process has exited, as await does.
gone() {
    await has_ended "$1"
}

has_ended() {
    grep -qs '^State:[[:space:]]*Z' "/proc/$1/status" || [ ! -e "/proc/$1" ]
}

# stop_process PID...: stops processes, and returns when each of their threads has stopped, because
# kill(2) does not wait for that.
stop_process() {
    local pid
    kill -STOP "$@"
    for pid in "$@"; do
        await has_stopped "$pid"
    done
}

has_stopped() {
    # A thread may exit meanwhile. cat then continues with the others.
    [ -z "$(cat "/proc/$1"/task/*/status 2>/dev/null | awk '/^State:/ && $2 != "T"')" ]
}

# logged FILE TEXT: waits until the text is in the file, as await does.
logged() {
    await grep -qsF -- "$2" "$1"
}

# inject CALLS WHAT COMMAND...: runs a command while the daemon's system calls of these names have a
# fault, as with strace -e inject=CALLS:WHAT. $untrace is the signal that ends strace (default:
# TERM). Use KILL if the daemon exits, because strace may then wait forever for one of its threads.
inject() {
    local calls=$1 what=$2 pid tracer result=0
    shift 2
    pid=$(daemon_pid)
    rm -f strace.err
    as_root strace -f ${only:+-P "$only"} -o strace.log -e trace="$calls" -e inject="$calls:$what" -p "$pid" \
        >strace.err 2>&1 3>&- &
    # Waits until all threads are attached.
    logged strace.err "Process $pid attached" || return
    tracer=$(awk '/^TracerPid/ { print $2 }' "/proc/$pid/status")
    "$@" || result=$?
    as_root kill "-${untrace:-TERM}" "$tracer" || true # it exits with the daemon
    wait $! || true
    return "$result"
}

# hardened FILE OPTIMIZATION: checks that an ELF file has read-only tables after loading, guarded
# stacks, and, if it was optimized, checked calls.
hardened() {
    readelf -hldW "$1" >elf
    readelf -W --dyn-syms "$1" >symbols
    grep -q 'Type: *DYN' elf
    grep -q GNU_RELRO elf
    grep -qE 'BIND_NOW|FLAGS_1.* NOW' elf
    run ! grep -qE 'GNU_STACK.*E ' elf
    grep -q __stack_chk_fail symbols
    [[ $2 == [0gp]* ]] || grep -qE '__[a-z]+_chk' symbols
}
