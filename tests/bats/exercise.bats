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
    one_view x.dat "$1" "$2" >x.json
}

# file_is_model RANKS: the file must be before.dat with the dumped models (model0, ...) laid over it
# by the view's map. Bytes of no view are unchanged, or zeros where the file has grown.
file_is_model() {
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        mpiio-view map x.json -r "$rank" >"map$rank"
        cmp <(mpiio-view cat x.json -r "$rank") "model$rank"
    done
    python file_is_model "$1" x.dat
}

# matches_model RANKS VIEW BYTES [OPTION]...: a file of BYTES bytes must be like the model after
# programs with these options have written all slices. $mount: an option of mpiio-mount.
matches_model() {
    local rank slices=()
    spec_of "$1" "$2" "$3"
    mount_spec x.json ${mount:+-o "$mount"}
    for ((rank = 0; rank < $1; rank++)); do
        slices+=("$mnt/rank$rank")
    done
    exercise --dump=model "${@:4}" "${slices[@]}"
    mpiio-umount "$mnt"
    file_is_model "$1"
}

# matches_through_two RANKS BLOCK [OPTION]...: checks the file after programs have each written a slice
# through two mounts in turn.
matches_through_two() {
    local rank both slices=()
    spec_of "$1" "{ \"filetype\": { \"type\": \"scatter\", \"blocklength\": $2 } }" 50000
    mkdir mnt2
    mount_spec x.json
    mpiio-mount x.json mnt2
    for ((rank = 0; rank < $1; rank++)); do
        both=("$mnt/rank$rank" "mnt2/rank$rank")
        slices+=("${both[rank % 2]},${both[1 - rank % 2]}")
    done
    exercise --dump=model "${@:3}" "${slices[@]}"
    mpiio-umount "$mnt" mnt2
    file_is_model "$1"
}

# A view with irregular runs: 3, 5 and 16 bytes at odd offsets of a tile of 64. Bytes 40 to 63 of
# each tile belong to no rank.
ragged='{ "disp": "5 + rank * 20", "etype": "byte", "filetype": { "type": "resized", "lb": 0,
          "extent": 64, "oldtype": { "type": "indexed", "blocklengths": [3, 5, 1],
          "displacements": [0, 7, 19] } } }'

@test "exercise: four slices of short blocks grow from nothing" {
    matches_model 4 '{ "filetype": { "type": "scatter", "blocklength": 512 } }' 0 --scatter=512
}

@test "exercise: runs of 8 bytes of an existing file" {
    matches_model 4 '{ "etype": "double", "filetype": { "type": "scatter" } }' 300000 --etype=8
}

# The models are the slices. Converted by numpy, they are the file.
@test "exercise: values in another byte order" {
    spec_of 2 '{ "disp": 6, "datarep": "external32", "filetype": { "type": "scatter" },
                 "etype": { "type": "struct", "blocklengths": [1, 2, 1], "displacements": [0, 2, 12],
                            "types": ["short", "int", "double"] } }' 200006
    mount_spec x.json
    exercise --etype=18 --dump=model "$mnt"/rank{0,1}
    mpiio-umount "$mnt"
    /usr/bin/python3 "$call" values_in_another_byte_order
}

@test "exercise: ragged runs, and bytes that belong to no rank" {
    matches_model 2 "$ragged" 100001
}

@test "exercise: runs longer than a page" {
    matches_model 3 '{ "disp": 100, "filetype": { "type": "scatter", "blocklength": 40000 } }' 200000 --size=3000000
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
    matches_model 4 '{ "filetype": { "type": "scatter", "blocklength": 24 } }' 0 --threads
}

@test "exercise: four threads at runs longer than a page" {
    matches_model 4 '{ "filetype": { "type": "scatter", "blocklength": 8192 } }' 100000 --threads
}

@test "exercise: the kernel delays writes (unique)" {
    mount=unique matches_model 4 '{ "filetype": { "type": "scatter", "blocklength": 512 } }' 50000 --unique
}

@test "exercise: the kernel delays writes, four threads" {
    mount=unique matches_model 4 '{ "filetype": { "type": "scatter", "blocklength": 8 } }' 50000 --unique --threads
}

@test "exercise: two mounts of the same file, close and open" {
    matches_through_two 4 512
}

@test "exercise: two mounts of the same file, both open, fsync" {
    matches_through_two 3 100 --keep-open
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
