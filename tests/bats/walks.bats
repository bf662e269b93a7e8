#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Short specs on which a careless walk never ends (tests/walks/families.py). Commands that take
# milliseconds get five minutes, because the machine may be busy. A command that hangs or crashes
# fails the test.

load helper

setup() {
    begin_test
    /usr/bin/python3 "$top/tests/walks/families.py" .
    head -c 3000000 /dev/zero | tr '\0' x >data
}

# ends COMMAND [ARGUMENT]...: the command must exit by itself. Its output does not matter.
ends() {
    local status=0
    timeout 300 mpiio-view "$@" >out 2>err || status=$?
    [ "$status" -le 1 ] || {
        echo "mpiio-view $*: status $status" >&2
        head -n 5 out err >&2
        return 1
    }
}

# all_commands SPEC [VIEW]: each command that reads must exit.
all_commands() {
    local spec=$1 view=(${2:+-v "$2"})
    ends check "$spec"
    ends spec "$spec"
    ends draw "$spec" "${view[@]}"
    ends owner "$spec" 12345
    ends owner -f nothing "$spec" 1099511627777
    ends map "$spec" -r 0 --length 4096 "${view[@]}"
    ends cat "$spec" -r 0 --length 65536 "${view[@]}"
    ends dump "$spec" -r 0 --length 4096 "${view[@]}"
}

@test "walks: a long view of many ranks is checked for only some of them" {
    ends check ranks-wide.json
    grep -q 'looked at)' out
    grep -q 'not known: too many ranks' out
}

@test "walks: types that are shared, overlap themselves endlessly, are deep or have no data; many names and views" {
    local spec
    for spec in doubling*.json interleaved*.json tiles-in-holes.json same-place.json deep*.json nothing*.json \
        many-names.json; do
        all_commands "$spec"
    done
    all_commands many-views.json v7
}

@test "walks: values are unchanged, and their runs are whole; the owner of a byte, among the maximal number of ranks" {
    gives $'0\t0\t1000000000000' mpiio-view map doubling-dense.json -r 0 --length 1000000000000
    gives $'0\t0\t1\n1\t2\t2\n3\t5\t2\n5\t8\t1' mpiio-view map doubling-touching.json -r 0 --length 6
    gives $'-\t0\t4' mpiio-view owner doubling.json 27
    gives "" mpiio-view owner doubling.json 26
    gives $'-\t3086\t1' mpiio-view owner ranks-scatter.json 12345
    gives $'-\t1\t4' mpiio-view owner -f nothing ranks-scatter.json 8589934592
    gives $'-\t3086\t1' mpiio-view owner ranks-cyclic.json 12345
}

# use_mount: reads, writes, allocates and seeks in rank 0's slice. The results do not matter.
use_mount() {
    timeout 300 head -c 200000 "$mnt/rank0" >/dev/null
    printf 12345678 | timeout 300 dd of="$mnt/rank0" conv=notrunc status=none || [ $? -eq 1 ]
    timeout 300 fallocate -o 0 -l 1125899906842624 "$mnt/rank0" || [ $? -eq 1 ]
    timeout 300 /usr/bin/python3 -c 'import contextlib, os, sys
slice = os.open(sys.argv[1], os.O_RDONLY)
for whence in os.SEEK_DATA, os.SEEK_HOLE:
    with contextlib.suppress(OSError):
        os.lseek(slice, 0, whence)' "$mnt/rank0"
}

@test "walks: a mount returns from each call, and stops by SIGTERM" {
    local spec
    # The disk is small, so that the allocation soon finds it full.
    ram_disk 16m
    for spec in doubling doubling-half doubling-torn doubling-etype doubling-external \
        doubling-dense doubling-touching interleaved interleaved-blocks tiles-in-holes; do
        cp data disk/data
        timeout 300 mpiio-mount -f disk/data "$spec.json" "$mnt" 2>err ||
            timeout 300 mpiio-mount -o ro -f disk/data "$spec.json" "$mnt"
        use_mount 2>err
        kill "$(marked mpiio-fused)"
        nothing_left
    done
}

@test "walks: sizes, counts and extents of zero, in all constructors, all commands and a mount" {
    local view
    /usr/bin/python3 "$top/tests/walks/nothing.py" >nothing.json
    ends check nothing.json
    [ "$(grep -c '^view ' out)" -eq 252 ]
    ends spec nothing.json
    ends owner nothing.json 3
    mpiio-view convert nothing.json --to external32 -o external.dat
    mpiio-view convert nothing.json --to big-endian -o big.dat
    # The other commands take a view each, from two of the types.
    for view in $(jq -r '.views | keys[] | select(test("-(0|12)-"))' nothing.json); do
        ends map nothing.json -r 1 -v "$view"
        ends cat nothing.json -r 0 -v "$view"
        ends dump nothing.json -r 1 -v "$view" --format csv
        ends draw nothing.json -v "$view"
        ends put nothing.json -r 0 -v "$view" </dev/null
    done
    mpiio-mount -o npy nothing.json "$mnt"
    [ "$(find "$mnt" -name rank0 -size 0 | wc -l)" -gt 200 ]
    cat "$mnt"/*/rank1 >/dev/null
    find "$mnt" -name '*.npy' -exec head -c 1000 {} + >/dev/null
    run ! dd if=/dev/zero of="$mnt/contiguous-0-0/rank0" count=1 conv=notrunc
    run ! truncate -s 8 "$mnt/contiguous-0-0/rank0"
    [ "$(getfattr --only-values -n user.mpiio.view "$mnt/contiguous-0-0/rank1")" = contiguous-0-0 ]
    mpiio-umount "$mnt"
}

@test "walks: the owners of dealt bytes, compared with the slices' own maps" {
    local view ranks byte expected
    for view in 'scatter 3 of short at 5:4' 'hpf_block 7 of int:3' 'hpf_cyclic 11 by 2 of 3 byte at 2:4' \
        'darray 5x6 cyclic(2),block of short on 2x2:4' 'scatter 2 of int every 4:3' \
        'darray 4x5 block,cyclic of byte on 3x2 order Fortran at 1:6'; do
        ranks=${view##*:}
        for ((r = 0; r < ranks; r++)); do
            mpiio-view map --view "${view%:*}" -f nothing -n "$ranks" -r "$r" --length 120 2>/dev/null | sed "s/^/$r\t/"
        done >maps
        for byte in 0 1 2 5 13 17 29 44 60; do
            expected=$(awk -v byte="$byte" '$3 <= byte && byte < $3 + $4 && !seen[$1]++ {
                print "-\t" $1 "\t" $2 + byte - $3 }' maps)
            run -0 --separate-stderr mpiio-view owner --view "${view%:*}" -f nothing -n "$ranks" "$byte"
            [ "$output" = "$expected" ]
        done
    done
}
