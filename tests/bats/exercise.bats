#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs that write at random, several at once, in all ways that programs use. Afterwards the file
# must equal a model, byte for byte. MPIIO_EXERCISE_SECONDS sets the seconds of each run (3).
# MPIIO_EXERCISE_BATCH=1 writes each update of 8 bytes with its own call (64).

load helper

seconds=${MPIIO_EXERCISE_SECONDS:-3}

exercise() {
    timeout -k 5 $((seconds + 120)) "$MPIIO_BUILD/tests/exercise/exercise" \
        --seconds="$seconds" --ops=0 --slices "$@" 3>&-
}

interleave() {
    timeout -k 5 600 "$MPIIO_BUILD/tests/exercise/interleave" "$@" 3>&-
}

# spec_of RANKS VIEW [BYTES]: makes x.json, a view of x.dat. x.dat has BYTES bytes; before.dat is a
# copy.
spec_of() {
    make_file x.dat "${3:-0}"
    cp x.dat before.dat
    printf '{ "viewspec": 1, "file": "x.dat", "ranks": %s, "view": %s }\n' "$1" "$2" >x.json
}

# slices_of RANKS [MOUNTPOINT]: sets the array slices to the paths of all slices.
slices_of() {
    local rank
    slices=()
    for ((rank = 0; rank < $1; rank++)); do
        slices+=("${2:-$mnt}/rank$rank")
    done
}

# file_is_model RANKS [SPEC [FILE]]: the file must be before.dat with the dumped models (model0,
# ...) laid over it by the view's map. Bytes of no view are unchanged, or zeros where the file has
# grown.
file_is_model() {
    local rank spec=${2:-x.json} file=${3:-x.dat}
    for ((rank = 0; rank < $1; rank++)); do
        mpiio-view map "$spec" -r "$rank" >"map$rank"
        cmp <(mpiio-view cat "$spec" -r "$rank") "model$rank"
    done
    /usr/bin/python3 "$topic" file_is_model "$1" "$file"
}

# A view with irregular runs: 3, 5 and 16 bytes at odd offsets of a tile of 64. Bytes 40 to 63 of
# each tile belong to no rank.
ragged='{ "disp": "5 + rank * 20", "etype": "byte", "filetype": { "type": "resized", "lb": 0,
          "extent": 64, "oldtype": { "type": "indexed", "blocklengths": [3, 5, 1],
          "displacements": [0, 7, 19] } } }'

@test "exercise: four slices of short blocks grow from nothing" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 512 } }'
    mount_spec x.json
    slices_of 4
    exercise --scatter=512 --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

@test "exercise: runs of 8 bytes of an existing file" {
    spec_of 4 '{ "etype": "double", "filetype": { "type": "scatter" } }' 300000
    mount_spec x.json
    slices_of 4
    exercise --etype=8 --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

# The models are the slices. Converted by numpy, they are the file.
@test "exercise: values in another byte order" {
    spec_of 2 '{ "disp": 6, "datarep": "external32", "filetype": { "type": "scatter" },
                 "etype": { "type": "struct", "blocklengths": [1, 2, 1], "displacements": [0, 2, 12],
                            "types": ["short", "int", "double"] } }' 200006
    mount_spec x.json
    slices_of 2
    exercise --etype=18 --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    /usr/bin/python3 "$topic" values_in_another_byte_order
}

@test "exercise: ragged runs, and bytes that belong to no rank" {
    spec_of 2 "$ragged" 100001
    mount_spec x.json
    slices_of 2
    exercise --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 2
}

@test "exercise: runs longer than a page" {
    spec_of 3 '{ "disp": 100, "filetype": { "type": "scatter", "blocklength": 40000 } }' 200000
    mount_spec x.json
    slices_of 3
    exercise --dump=model --size=3000000 "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 3
}

@test "exercise: named views over the same file" {
    make_file x.dat 200000
    cp x.dat before.dat
    cat >x.json <<'EOF'
{ "viewspec": 1, "file": "x.dat", "ranks": 1,
  "views": { "a": { "filetype": { "type": "resized", "lb": 0, "extent": 96, "oldtype":
                    { "type": "contiguous", "count": 32 } } },
             "b": { "disp": 32, "filetype": { "type": "resized", "lb": 0, "extent": 96, "oldtype":
                    { "type": "contiguous", "count": 24 } } } } }
EOF
    mount_spec x.json
    exercise --dump=model "$mnt/a/rank0" "$mnt/b/rank0"
    cmp "$mnt/a/rank0" model0
    cmp "$mnt/b/rank0" model1
    mpiio-umount "$mnt"
    cmp <(mpiio-view cat x.json -v a -r 0) model0
    cmp <(mpiio-view cat x.json -v b -r 0) model1
}

@test "exercise: four threads, each with its own slice" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 24 } }'
    mount_spec x.json
    slices_of 4
    exercise --threads --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

@test "exercise: four threads at runs longer than a page" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 8192 } }' 100000
    mount_spec x.json
    slices_of 4
    exercise --threads --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

@test "exercise: the kernel delays writes (unique)" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 512 } }' 50000
    mount_spec x.json -o unique
    slices_of 4
    exercise --unique --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

@test "exercise: the kernel delays writes, four threads" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 8 } }' 50000
    mount_spec x.json -o unique
    slices_of 4
    exercise --unique --threads --dump=model "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model 4
}

@test "exercise: two mounts of the same file, close and open" {
    spec_of 4 '{ "filetype": { "type": "scatter", "blocklength": 512 } }' 50000
    mkdir mnt2
    mount_spec x.json
    mpiio-mount x.json mnt2
    exercise --dump=model "$mnt/rank0,mnt2/rank0" "mnt2/rank1,$mnt/rank1" \
        "$mnt/rank2,mnt2/rank2" "mnt2/rank3,$mnt/rank3"
    mpiio-umount "$mnt"
    mpiio-umount mnt2
    file_is_model 4
}

@test "exercise: two mounts of the same file, both open, fsync" {
    spec_of 3 '{ "filetype": { "type": "scatter", "blocklength": 100 } }' 50000
    mkdir mnt2
    mount_spec x.json
    mpiio-mount x.json mnt2
    exercise --keep-open --dump=model "$mnt/rank0,mnt2/rank0" "mnt2/rank1,$mnt/rank1" \
        "$mnt/rank2,mnt2/rank2"
    mpiio-umount "$mnt"
    mpiio-umount mnt2
    file_is_model 3
}

# Runs the four writers of interleave: two of the file, two of slices.
four_writers() {
    spec_of 4 '{ "etype": "double", "filetype": { "type": "scatter" } }'
    mount_spec x.json
}

@test "exercise: two plain writers and two slice writers, a million updates each" {
    four_writers
    interleave --batch="${MPIIO_EXERCISE_BATCH:-64}" x.dat "$mnt/rank2" "$mnt/rank3"
    is_mounted
}

@test "exercise: one call for each update of 8 bytes, plain and slice writers" {
    four_writers
    interleave --updates=20000 --runs=8192 x.dat "$mnt/rank2" "$mnt/rank3"
}

@test "exercise: plain and slice writers make the file grow together" {
    local round
    four_writers
    interleave --grow --runs=30000 x.dat "$mnt/rank2" "$mnt/rank3"
    # Stores to a page at the old end of the file while another program's write moves the end.
    for ((round = 1; round <= 5; round++)); do
        interleave --follow --runs=60000 --batch=$((round * 200)) --seed="$round" x.dat \
            "$mnt/rank2" "$mnt/rank3"
    done
}

# has_served COUNT: succeeds once the daemon has served COUNT writes.
has_served() {
    [ "$(stat_of requests.write)" -gt "$1" ]
}

@test "exercise: SIGKILL to the daemon: every acknowledged byte is in the file" {
    local round writer
    counts_requests
    for round in 1 2 3; do
        four_writers
        interleave --until-killed --batch=$((round * round)) --seed="$round" x.dat \
            "$mnt/rank2" "$mnt/rank3" >killed.log 2>&1 &
        writer=$!
        await has_served $((round * 1000))
        kill -KILL "$(daemon_pid)"
        wait "$writer" || {
            cat killed.log
            return 1
        }
        cat killed.log
        # Both slice writers have written something before.
        grep -Eq 'writer [23]: [1-9][0-9]{2,} updates' killed.log
        umount_all
    done
}
