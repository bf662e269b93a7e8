#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Tests what scripts/bench makes of measurements, and a row that checks what it measures. Does not
# test speed.

load helper

# Writes results.json, as --json does: a result above its target, one below, one far off the scale
# and without a target, one that should be small, one without a peer, and one that was not measured.
write_results() {
    jq -n '{machine: {cpu: "a & b", cores: 2, kernel: "6.1", load: 0}, quick: false, rounds: 5,
            file_bytes: 1073741824, slice_bytes: 268435456, runs: 67108864,
            rows: [["P1", "mount", 2.5, 2, true], ["P1", "direct", 0.25, 2, false],
                   ["P12", "library", 9600, null, null], ["P7", "mount", 1.1, 1.2, true],
                   ["P7", "mount", null, 100, true], ["P4", "cat", null, 1, null]] |
                  map({row: .[0], column: .[1], what: "8 of 32: <peer>", unit: "MB/s", ours: 1,
                       peer: 1, ratio: .[2], target: .[3], target_is: "at least", reached: .[4],
                       pairs: [], phases: {}, why: null})} |
           .rows[3].target_is = "at most" | .rows[5].why = "no peer here"' >results.json
}

@test "bench: --svg draws a mark for each ratio, on a logarithmic scale, with results beyond it at its edge" {
    write_results
    run -0 --separate-stderr "$top/scripts/bench" --from results.json --svg chart.svg
    [[ $output == *"P12  library 8 of 32: <peer> "*" 9600 "* ]]
    [[ $output == *"P4   cat     8 of 32: <peer> "*"not measured: no peer here" ]]
    run -0 python marks chart.svg
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[0]} == "yes "* && ${lines[1]} == "no "* && ${lines[2]} == "none "* &&
        ${lines[3]} == "yes "* ]]
    [ "$(grep -c '<line class="target"' chart.svg)" -eq 4 ] # one is in the legend
    grep -qF '>2.50</text>' chart.svg
    grep -qF '>1.10 (&lt;= 1.2)</text>' chart.svg
    rsvg-convert chart.svg -o chart.png
    jq '.rows = [.rows[0] * {ratio: 0.25}, .rows[0] * {ratio: 1}, .rows[0] * {ratio: 4},
                 .rows[0] * {ratio: 20}, .rows[0] * {ratio: 9600}]' results.json >powers.json
    run -0 --separate-stderr "$top/scripts/bench" --from powers.json --svg chart.svg
    run -0 python marks chart.svg
    awk '{ x[NR] = $2 }
        END { d = (x[2] - x[1]) - (x[3] - x[2])
              exit !(x[1] < x[2] && x[3] < x[4] && x[4] == x[5] && d < 0.1 && d > -0.1) }' \
        <<<"$output"
}

@test "bench: input that is not a result is reported in one line" {
    echo '{}' >results.json
    one_line 1 "bench: results.json: *" "$top/scripts/bench" --from results.json --svg chart.svg
    [ ! -e chart.svg ]
}

# records_spec COUNT: makes f.dat with COUNT records, as bench-records expects them, and s.json, in
# which each rank has all of them.
records_spec() {
    make_file f.dat $((64 * $1))
    cat >s.json <<'END'
{"viewspec": 1, "file": "f.dat", "ranks": 8,
 "view": {"etype": {"type": "contiguous", "count": 64, "oldtype": "byte"}}}
END
}

# take_records COUNT: four processes take the records of f.dat through the mount.
take_records() {
    patient timeout 300 "$(mpich_mpiexec)" -n 4 "$MPIIO_BUILD/tests/bench/bench-records" take "$1" 1 f.dat "$mnt" \
        <>"$MPIIO_STAGE/no-input" 3>&-
}

@test "bench: P18 takes and writes each record once, by MPI and through mounts" {
    TMPDIR=$tmp python takes_and_writes_records 3>&-
}

@test "bench: a missing or wrong record makes the measurement fail" {
    records_spec 80
    mount_spec s.json
    run -0 take_records 80
    setfattr -n user.mpiio.shared_position -v 1 mnt/shared
    run take_records 80
    [[ $status -ne 0 && $output == *"records: wrong data: a record is missing"* ]]
    printf x | dd of=f.dat bs=1 seek=2000 conv=notrunc status=none
    setfattr -n user.mpiio.shared_position -v 0 mnt/shared
    run take_records 80
    [[ $status -ne 0 && $output == *"records: wrong data: a record that nobody has written"* ]]
}

@test "bench: P19 writes and reads blocks, by MPI and through mounts, and checks the data" {
    TMPDIR=$tmp python writes_and_reads_blocks 3>&-
}

# read_blocks: four processes read f.dat as the blocks of an array of 4 x 4 x 2 x 4 words.
read_blocks() {
    patient timeout 300 "$(mpich_mpiexec)" -n 4 "$MPIIO_BUILD/tests/bench/bench-blocks" read f.dat 64 4 4 2 4 \
        <>"$MPIIO_STAGE/no-input" 3>&-
}

@test "bench: a wrong word of a block makes the measurement fail" {
    make_file f.dat 1024
    run -0 read_blocks
    printf x | dd of=f.dat bs=1 seek=500 conv=notrunc status=none
    run read_blocks
    [[ $status -ne 0 && $output == *"blocks: wrong data: "* ]]
}
