#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The vectors, whose slices were made element by element, through the command and through mounts.

load helper

# Lays out every case whose data is in native representation: case/N/{spec.json,data.bin,rankM}.
lay_out_cases() {
    /usr/bin/python3 - "$top/tests/vectors/cases.jsonl" <<'END'
import json, os, sys
for line in open(sys.argv[1]):
    case = json.loads(line)
    if case["spec"]["view"].get("datarep", "native") != "native":
        continue
    folder = f"case/{case['case']}"
    os.makedirs(folder)
    json.dump(case["spec"], open(f"{folder}/spec.json", "w"))
    open(f"{folder}/data.bin", "wb").write(bytes.fromhex(case["data"]))
    for rank, slice in enumerate(case["slices"]):
        open(f"{folder}/rank{rank}", "wb").write(bytes.fromhex(slice))
END
    [ "$(find case -name spec.json | wc -l)" -eq 196 ]
}

@test "vectors: mpiio-view cat shows every slice" {
    local folder slice
    lay_out_cases
    for folder in case/*; do
        for slice in "$folder"/rank*; do
            mpiio-view cat "$folder/spec.json" -r "${slice##*/rank}" | cmp - "$slice"
        done
    done
}

@test "vectors: a mount shows every slice" {
    local folder slice
    lay_out_cases
    for folder in case/*; do
        mount_spec "$folder/spec.json"
        for slice in "$folder"/rank*; do
            cmp "$mnt/${slice##*/}" "$slice"
        done
        umount "$mnt"
    done
}
