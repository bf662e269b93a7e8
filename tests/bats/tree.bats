#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The names and attributes of a mount, .mpiio, self, and what cannot be changed.

# shellcheck disable=SC2012 # what ls shows is what is tested
load helper

# spec RANKS: deals blocks of 8 bytes to that many ranks.
spec() {
    make_file t.dat 65536
    one_view t.dat "$1" '{ "disp": 16, "etype": "int", "filetype": { "type": "scatter", "blocklength": 2 } }' >t.json
}

# mount_ranks RANKS [OPTION...]: makes t.json by spec, and mounts it with options.
mount_ranks() {
    spec "$1"
    mount_spec t.json "${@:2}"
}

# Mounts two views of the same file, which three ranks have.
mount_views() {
    make_file t.dat 65536
    cat >t.json <<'EOF'
{ "viewspec": 1, "file": "t.dat", "ranks": 3,
  "views": {
    "rows": { "filetype": { "type": "scatter", "blocklength": 8 } },
    "all": { "etype": "double", "filetype": { "type": "broadcast" } } } }
EOF
    mount_spec t.json
}

@test "tree: the ranks and .mpiio are listed, and self for a process with a rank, under mpiexec, too; else it leads nowhere" {
    local value rank
    mount_ranks 4
    [ "$(ls -A "$mnt")" = $'.mpiio\nrank0\nrank1\nrank2\nrank3' ]
    [ "$(ls -A "$mnt/.mpiio")" = $'file\nspec.json\nstats.json' ]
    [ "$(stat -c %F "$mnt/rank0")" = "regular file" ]
    [ "$(PMI_RANK=1 ls "$mnt")" = $'rank0\nrank1\nrank2\nrank3\nself' ]
    [ "$(PMI_RANK=1 stat -c %F "$mnt/self")" = "symbolic link" ]
    [ "$(stat -c %F "$mnt/.mpiio")" = directory ]
    run ! cat "$mnt/self"
    [[ $output == *"No such file or directory"* ]]
    for value in 4 99999999999999999999 -1 x ''; do
        [ "$(PMI_RANK=$value error_of 'os.readlink(m + "/self")')" = ENOENT ]
    done
    [ "$(error_of 'os.readlink(m + "/self")')" = ENOENT ]
    mpi_run 4 readlink "$mnt/self" | sort >names
    [ "$(cat names)" = $'rank0\nrank1\nrank2\nrank3' ]
    # Each serial program reads its own slice. A program that a shell starts has the shell's rank.
    mpi_run 4 md5sum "$mnt/self" | cut -c -32 | sort >sums
    [ "$(cat sums)" = "$(md5sum "$mnt"/rank? | cut -c -32 | sort)" ]
    cat >copy.sh <<'EOF'
cp "$1/self" "copy.$(readlink "$1/self")"
EOF
    mpi_run 4 sh copy.sh "$mnt"
    for rank in 0 1 2 3; do
        cmp "copy.rank$rank" "$mnt/rank$rank"
    done
    # It also writes its own slice.
    cat >write.sh <<'EOF'
printf '%s---' "$(readlink "$1/self")" | dd of="$1/self" conv=notrunc status=none
EOF
    mpi_run 4 sh write.sh "$mnt"
    [ "$(dd if=t.dat bs=16 skip=1 count=2 status=none | tr -d '\0')" = rank0---rank1---rank2---rank3--- ]
}

@test "tree: numbers are padded to equal width, and both forms open" {
    mount_ranks 11
    [ "$(ls "$mnt" | head -n 3 | tr '\n' ' ')" = "rank00 rank01 rank02 " ]
    [ "$(stat -c %i "$mnt/rank7")" = "$(stat -c %i "$mnt/rank07")" ]
    cmp "$mnt/rank7" "$mnt/rank07"
    [ -e "$mnt/rank10" ]
    for name in rank11 rank007 rank011 rank rank-1 rank+1 rank1x Rank1 rank00000000000000000001; do
        [ ! -e "$mnt/$name" ]
    done
    mpiio-umount "$mnt"
    # Ten ranks need no padding.
    mount_ranks 10
    [ "$(ls "$mnt" | tail -n 1)" = rank9 ]
    [ ! -e "$mnt/rank00" ]
    mpiio-umount "$mnt"
    # Another number of ranks than the spec's.
    mount_ranks 4 -n 101
    [ -e "$mnt/rank100" ]
    [ -e "$mnt/rank7" ]
    [ -e "$mnt/rank007" ]
    [ ! -e "$mnt/rank07" ]
    [ "$(ls "$mnt" | head -n 1)" = rank000 ]
    [ "$(stat_of ranks)" -eq 101 ]
}

@test "tree: each view has a folder, with self and attributes of its own" {
    mount_views
    [ "$(ls -A "$mnt" | sort | tr '\n' ' ')" = ".mpiio all rows " ]
    [ "$(ls -A "$mnt/rows")" = $'rank0\nrank1\nrank2' ]
    [ ! -e "$mnt/rank0" ]
    [ ! -e "$mnt/rows/.mpiio" ]
    cmp "$mnt/all/rank2" t.dat
    cmp -n 8 "$mnt/rows/rank1" <(tail -c +9 t.dat)
    [ "$(find "$mnt" -name 'rank*' | wc -l)" -eq 6 ]
    [ "$(cd "$mnt/rows/.." && ls -A | wc -l)" -eq 3 ]
    [ "$(find "$mnt" -printf '%i\n' | sort | uniq -d)" = "" ]
    [ "$(PMI_RANK=2 readlink "$mnt/rows/self")" = rank2 ]
    PMI_RANK=1 cmp "$mnt/rows/self" "$mnt/rows/rank1"
    [ ! -L "$mnt/self" ]
    [ "$(attribute "$mnt/rows/rank0" view)" = rows ]
    run ! getfattr --absolute-names -n user.mpiio.nodes "$mnt/rows"
}

@test "tree: self leads to the slice of the caller's rank" {
    mount_ranks 12
    local name
    for name in PMI_RANK PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID; do
        [ "$(env "$name=2" readlink "$mnt/self")" = rank02 ]
        env "$name=11" cmp "$mnt/self" "$mnt/rank11"
    done
    [ "$(PMI_RANK=1 PMIX_RANK=2 SLURM_PROCID=3 readlink "$mnt/self")" = rank01 ]
    [ "$(SLURM_PROCID=3 OMPI_COMM_WORLD_RANK=4 readlink "$mnt/self")" = rank04 ]
    # Another process gets another answer, so nothing is cached.
    [ "$(PMI_RANK=5 readlink "$mnt/self")" = rank05 ]
}

@test "tree: .mpiio/stats.json counts; .mpiio/spec.json is the resolved spec, and can be mounted" {
    counts_requests
    mount_ranks 4 -n 6
    jq -e '.version and .pid and .mounted and .requests' "$mnt/.mpiio/stats.json"
    [ "$(stat_of slice_read_bytes)" -eq 0 ]
    cat "$mnt/rank1" >/dev/null
    [ "$(stat_of slice_read_bytes)" -eq "$(stat -c %s "$mnt/rank1")" ]
    [ "$(stat_of requests.read)" -gt 0 ]
    [ -e "/proc/$(stat_of pid)" ]
    # Also in small pieces, a read returns one snapshot.
    dd bs=7 if="$mnt/.mpiio/stats.json" status=none | jq -e .pid
    [ "$(jq .ranks "$mnt/.mpiio/spec.json")" -eq 6 ]
    [ "$(jq -r .file "$mnt/.mpiio/spec.json")" = "$tmp/t.dat" ]
    [ "$(stat -c %s "$mnt/.mpiio/spec.json")" -eq "$(wc -c <"$mnt/.mpiio/spec.json")" ]
    cp "$mnt/.mpiio/spec.json" again.json
    mkdir again
    mpiio-mount again.json again
    cmp again/rank5 "$mnt/rank5"
}

@test "tree: .mpiio/file leads to the shared file" {
    spec 4
    mkdir elsewhere
    cd elsewhere
    mount_spec ../t.json
    [ "$(readlink "$mnt/.mpiio/file")" = "$tmp/t.dat" ]
    cmp "$mnt/.mpiio/file" "$tmp/t.dat"
}

@test "tree: mode, owner, times and statfs are the file's; chmod and chown that change nothing succeed, others give EPERM" {
    spec 4
    touch -d 2001-02-03T04:05:06.789 t.dat
    chmod 750 t.dat
    mount_spec t.json
    [ "$(stat -c '%a %h' "$mnt/rank1")" = "640 1" ]
    [ "$(stat -c '%u %g %Y %y' "$mnt/rank1")" = "$(stat -c '%u %g %Y %y' t.dat)" ]
    chmod 604 t.dat
    [ "$(stat -c %a "$mnt/rank1")" = 604 ]
    [ "$(stat -c %s "$mnt/rank1")" -eq 16384 ]
    [ "$(stat -f -c '%b %c %S' "$mnt")" = "$(stat -f -c '%b %c %S' t.dat)" ]
    chmod 644 t.dat
    errors_are <<'END'
none os.chmod(m + "/rank0", 0o644)
EPERM os.chmod(m + "/rank0", 0o444)
none os.chown(m + "/rank0", os.getuid(), os.getgid())
none os.chown(m + "/rank0", -1, -1)
EPERM os.chown(m + "/rank0", 12345, -1)
EPERM os.chown(m + "/rank0", -1, 12345)
END
    [ "$(stat -c %a t.dat)" = 644 ]
}

@test "tree: extended attributes of a slice and of the mount point, and their protocol" {
    mount_ranks 4
    [ "$(getfattr -d --absolute-names "$mnt/rank3" | grep -c '^user.mpiio')" -eq 9 ]
    value() {
        attribute "$mnt/rank3" "$1"
    }
    [ "$(value rank)" = 3 ]
    [ "$(value disp)" = 16 ]
    [ "$(value etype)" = int ]
    [ "$(value datarep)" = native ]
    [ "$(value extent)" = 32 ]
    [ "$(value tile_size)" = 8 ]
    [ "$(value filetype | jq -r .type)" = scatter ]
    [ "$(value about)" = "rank 3 of 4: 2 x int of each 32 bytes from byte 16 on" ]
    getfattr -d --absolute-names "$mnt" | grep '^user' | sort >have
    diff have - <<'EOF'
user.mpiio.atomicity="0"
user.mpiio.epoch="0"
user.mpiio.log="info"
user.mpiio.nodes="1"
user.mpiio.state="ok"
EOF
    errors_are <<'END'
ENODATA os.getxattr(m + "/rank0", "user.mpiio.nodes")
ENODATA os.getxattr(m + "/rank0", "user.other")
ENOTSUP os.getxattr(m + "/rank0", "security.capability")
ENODATA os.getxattr(m, "user.mpiio.rank")
ENODATA os.getxattr(m + "/.mpiio", "user.mpiio.state")
END
    # Sizes: 0 asks for the length, and a size that is too small gives ERANGE.
    /usr/bin/python3 "$call" the_protocol_of_getxattr_and_listxattr "$mnt/rank0"
}

# about VIEW RANK: prints user.mpiio.about of a slice of that view, of six ranks.
about() {
    make_file t.dat 4096
    echo "{ \"viewspec\": 1, \"file\": \"t.dat\", \"ranks\": 6, \"view\": { $1 } }" >about.json
    mount_spec about.json
    attribute "$mnt/rank$2" about
    mpiio-umount "$mnt"
}

@test "tree: the attribute about describes a slice in words" {
    local array='"type": "darray", "psizes": [3, 2], "distribs": ["block", "block"],
        "dargs": [null, null]'
    [ "$(about '"disp": 7' 0)" = "rank 0 of 6: 1 x byte of each 1 byte from byte 7 on" ]
    [ "$(about "\"etype\": \"double\", \"filetype\": { $array, \"gsizes\": [6, 7],
        \"order\": \"Fortran\" }" 1)" = \
        "rank 1 of 6: 6 x double of each 336 bytes from byte 0 on; an array of 2 x 3, Fortran order" ]
    [ "$(about "\"filetype\": { $array, \"gsizes\": [2, 2], \"order\": \"C\" }" 5)" = \
        "rank 5 of 6: nothing" ]
    [ "$(about '"datarep": "big-endian", "etype": { "type": "struct", "types": ["byte", "char"],
        "blocklengths": [3, 1], "displacements": [0, 3] }' 2)" = \
        "rank 2 of 6: 1 etype of 4 bytes of each 4 bytes from byte 0 on; big-endian" ]
}

@test "tree: a spec may ask for atomic mode" {
    spec 2
    jq '.atomic = true' t.json >atomic.json
    mount_spec atomic.json
    [ "$(attribute "$mnt" atomicity)" = 1 ]
}

@test "tree: atomic mode is set while no slice is open; other attributes are fixed" {
    mount_ranks 4
    setfattr -n user.mpiio.atomicity -v 1 "$mnt"
    [ "$(attribute "$mnt" atomicity)" = 1 ]
    exec 5<"$mnt/rank0"
    [ "$(error_of 'os.setxattr(m, "user.mpiio.atomicity", b"0")')" = EBUSY ]
    exec 5<&-
    setfattr -n user.mpiio.atomicity -v 0 "$mnt"
    errors_are <<'END'
EINVAL os.setxattr(m, "user.mpiio.atomicity", b"yes")
EPERM os.setxattr(m, "user.mpiio.unmount", b"1")
EPERM os.setxattr(m, "user.mpiio.state", b"x")
EPERM os.removexattr(m + "/rank0", "user.mpiio.rank")
END
}

@test "tree: names are fixed, and files that are not slices cannot be written" {
    mount_ranks 4
    PMI_RANK=1 errors_are <<'END'
EPERM os.open(m + "/new", os.O_WRONLY | os.O_CREAT)
EPERM os.open(m + "/rank4", os.O_WRONLY | os.O_CREAT)
EEXIST os.open(m + "/rank0", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
EPERM os.mkfifo(m + "/new")
EPERM os.unlink(m + "/rank0")
EPERM os.unlink(m + "/self")
EPERM os.rename(m + "/rank0", m + "/rank1")
EPERM os.rename(m + "/rank0", m + "/new")
EPERM os.mkdir(m + "/new")
EPERM os.rmdir(m + "/.mpiio")
EPERM os.link(m + "/rank0", m + "/new")
EPERM os.symlink("rank0", m + "/new")
EPERM os.truncate(m + "/.mpiio/spec.json", 5)
EPERM os.utime(m + "/.mpiio/spec.json")
EPERM os.utime(m)
EACCES os.open(m + "/.mpiio/spec.json", os.O_WRONLY)
EACCES os.open(m + "/.mpiio/stats.json", os.O_RDWR | os.O_TRUNC)
ENAMETOOLONG os.stat(m + "/" + "n" * 256)
ENAMETOOLONG open(m + "/" + "n" * 256, "w")
ENAMETOOLONG os.mkdir(m + "/" + "n" * 256)
ENAMETOOLONG os.symlink("x", m + "/" + "n" * 256)
ENAMETOOLONG os.rename(m + "/rank0", m + "/" + "n" * 256)
ENAMETOOLONG os.unlink(m + "/" + "n" * 256)
ENOENT os.stat(m + "/" + "n" * 255)
EPERM os.mkdir(m + "/" + "n" * 255)
END
    [ "$(ls "$mnt" | wc -l)" -eq 4 ]
}

@test "tree: -o ro makes all of it read-only: EROFS" {
    local before
    spec 4
    before=$(md5sum t.dat)
    mount_spec t.json -o ro
    errors_are <<'END'
EROFS os.open(m + "/rank0", os.O_WRONLY)
EROFS os.open(m + "/rank0", os.O_RDWR)
EROFS os.open(m + "/rank0", os.O_WRONLY | os.O_APPEND)
EROFS os.open(m + "/rank0", os.O_WRONLY | os.O_TRUNC)
EROFS os.open(m + "/rank0", os.O_WRONLY | os.O_CREAT)
EROFS os.open(m + "/.mpiio/spec.json", os.O_WRONLY)
EROFS os.truncate(m + "/rank0", 5)
EROFS os.utime(m + "/rank0")
EROFS os.mkdir(m + "/new")
END
    run ! touch "$mnt/rank0"
    cmp -n 8 "$mnt/rank0" <(tail -c +17 t.dat)
    [ "$(md5sum t.dat)" = "$before" ]
}

@test "tree: a million ranks are listed, and cost the daemon nothing" {
    local pid
    mount_ranks 1000000
    pid=$(daemon_pid)
    ls -f "$mnt" >names
    [ "$(wc -l <names)" -eq 1000003 ]
    [ "$(sort -u names | wc -l)" -eq 1000003 ]
    grep -qx rank000000 names
    grep -qx rank999999 names
    [ -e "$mnt/rank999999" ]
    [ ! -e "$mnt/rank1000000" ]
    [ "$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")" -lt 32768 ]
}

@test "tree: reading a folder continues where it stopped" {
    mount_ranks 5000
    /usr/bin/python3 "$call" a_folder_is_read "$mnt"
}

@test "tree: a rank whose view does not compile gives EIO and a line in the log" {
    make_file t.dat 4096
    # Only rank 1 of very many has a negative displacement, so the check before the mount
    # skips it.
    one_view t.dat 1000000 '{ "disp": "0 - max(0, 1 - max(rank - 1, 1 - rank))" }' >t.json
    SLURM_JOB_ID=4711 mpiio-fused -o "log=$tmp/log" t.json mnt
    errors_are <<'END'
EIO os.stat(m + "/rank000001")
EIO os.stat(m + "/rank1")
none os.stat(m + "/rank000000")
END
    grep -q "\]: $mnt (job 4711): rank 1: .*t.json:.*disp" log
}

@test "tree: mpiio-fused: nothing is mounted for a wrong spec, option or mount point; a signal unmounts" {
    local signal
    spec 4
    run -2 mpiio-fused t.json
    run -2 mpiio-fused -o threads=0 t.json "$mnt"
    one_line 2 "*mpiio-fused: unknown mount option: frob*" mpiio-fused -o frob t.json "$mnt"
    run -2 mpiio-fused --engine-fd x t.json "$mnt"
    run -1 mpiio-fused --engine-fd 77 t.json "$mnt"
    complains 1 "mpiio-fused: nowhere: No such file or directory (create the folder first)" \
        mpiio-fused t.json nowhere
    complains 1 "mpiio-fused: t.dat: Not a directory" mpiio-fused t.json t.dat
    run -1 mpiio-fused --name=mpiio-mount -f gone t.json "$mnt"
    [[ $output == "mpiio-mount: "*"gone: No such file or directory (create it with -o create, or name another with -f)" ]]
    run -1 mpiio-fused -f /dev/null t.json "$mnt"
    echo '{' >wrong.json
    one_line 2 "mpiio-fused: wrong.json:*" mpiio-fused wrong.json "$mnt"
    run ! is_mounted "$mnt"
    for signal in TERM INT HUP; do
        mpiio-fused t.json "$mnt"
        end_daemon "$signal"
        run ! is_mounted "$mnt"
    done
}

# listed RANKS: mounts slices of a double each, one for each rank.
listed() {
    truncate -s $(($1 * 8)) l.dat
    mount_dealt l.dat "$1" 8
}

# Lists all of them with few single requests. (The kernel requests single slices at the beginning,
# or if ls came late.)
listed_at_once() {
    local single attributes
    single=$(stat_of 'requests | .lookup + .getattr') attributes=$(stat_of requests.xattr)
    ls -l "$mnt" >list
    [ $(($(stat_of 'requests | .lookup + .getattr') - single)) -lt 2500 ] &&
        [ $(($(stat_of requests.xattr) - attributes)) -lt 100 ]
}

@test "tree: listing a large folder also returns what ls -l needs" {
    listed 5000
    within=60 await listed_at_once
    [ "$(grep -c '^-rw.* 8 .* rank[0-9]' list)" -eq 5000 ]
    [ "$(find "$mnt" -name 'rank*' | wc -l)" -eq 5000 ]
}

@test "tree: a listed file is requested again when it is opened" {
    listed 5000
    python what_was_listed_is_asked
}

@test "tree: in a small folder each lookup is a new request" {
    listed 200
    python in_a_small_folder_each_answer
}
