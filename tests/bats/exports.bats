#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Mount options zarr, nc and vti: files that xarray, ncdump and ParaView read. NumPy computes the
# expected arrays from the shared file.

# shellcheck disable=SC2012 # what ls shows is what is tested
load helper
load nodes

# demo_spec: makes f.dat, 7 x 10 doubles, and f.json, which divides them into blocks of four ranks.
demo_spec() {
    py 'open("f.dat", "wb").write(struct.pack("70d", *range(70)))'
    one_view f.dat 4 '{ "name": "temp", "dims": ["y", "x"], "etype": "double",
            "filetype": { "type": "darray", "gsizes": [7, 10], "psizes": [2, 2],
                          "distribs": ["block", "block"], "dargs": [null, null],
                          "order": "C" } }' >f.json
}

@test "exports: zarr, xarray, dask, netCDF4 and vtk9 read random views as NumPy does" {
    local seed
    # MPIIO_EXPORTS: other seeds, by hand.
    for seed in ${MPIIO_EXPORTS:-1}; do
        python compare_random "$seed" 45 1 3 8 12
    done
}

@test "exports: every basic type, in both byte orders and in external32" {
    python compare_basics
}

@test "exports: the names in the folders; nothing changes the files" {
    local name
    demo_spec
    mount_spec f.json
    [ "$(names_in "$mnt")" = "rank0 rank1 rank2 rank3" ]
    [ ! -e "$mnt/zarr" ]
    mpiio-umount "$mnt"
    mount_spec f.json -o zarr,nc,vti,npy
    [ "$(names_in "$mnt")" = "$(echo rank{0,1,2,3}{,.nc,.npy,.vti} temp.pvti whole.nc zarr)" ]
    [ "$(ls -A "$mnt/zarr" | paste -sd' ')" = ".zattrs .zgroup .zmetadata temp" ]
    [ "$(ls -A "$mnt/zarr/temp" | paste -sd' ')" = ".zarray .zattrs 0.0 0.1 1.0 1.1" ]
    [ "$(find "$mnt" | sort | uniq -d)" = "" ]
    [ "$(find "$mnt" -printf '%i\n' | sort | uniq -d)" = "" ]
    [ "$(find "$mnt/zarr" -type f | wc -l)" -eq 9 ]
    for name in zarr/temp/{2.0,0,00.0,0.0.0,0.-1,0.,+0.0,.zmetadata} zarr/{0.0,.zarray} rank4.nc \
        rank4.vti whole.vti rank.nc self.nc temp.nc; do
        [ ! -e "$mnt/$name" ]
    done
    mpiio-umount "$mnt"
    mount_spec f.json -o zarr,nc,vti
    cp f.dat before
    python refusals "$mnt"/{whole.nc,rank0.{nc,vti},temp.pvti,zarr/{.zgroup,.zmetadata,temp/{.zarray,0.0}}}
    cmp f.dat before
}

@test "exports: cp, tar, dd, stat and a program under mpiio-run read the same bytes" {
    local name
    demo_spec
    mount_spec f.json -o zarr,nc,vti
    cp -r "$mnt" copy
    rm -r copy/.mpiio
    tar cf copy.tar --exclude .mpiio -C "$mnt" .
    mkdir out
    tar xf copy.tar -C out
    diff -r copy out
    diff <(cd "$mnt" && find . -path ./.mpiio -prune -o -type f -printf '%p %s\n' | sort) \
        <(cd copy && find . -type f -printf '%p %s\n' | sort)
    for name in whole.nc rank1.vti zarr/temp/1.1; do
        cmp "$mnt/$name" <(dd if="$mnt/$name" bs=7 status=none)
        cmp "$mnt/$name" <(dd if="$mnt/$name" bs=4096 iflag=direct status=none)
        cmp "$mnt/$name" <(mpiio-run cat "$mnt/$name")
        cmp "$mnt/$name" "copy/$name"
        [ "$(stat -c '%s %a' "$mnt/$name")" = "$(stat -c %s "copy/$name") 444" ]
    done
    [ "$(ncdump -v temp "$mnt/rank3.nc" | sed -n '/temp =/,/;/p' | tr -d ' \n')" = \
        'temp=45,46,47,48,49,55,56,57,58,59,65,66,67,68,69;' ]
}

@test "exports: open files show writes to slices at once" {
    demo_spec
    python written
}

@test "exports: a file grows and shrinks while they are open" {
    truncate -s 144 g.dat
    one_view g.dat 3 '{ "etype": "int",
            "filetype": { "type": "subarray", "sizes": [3, 4], "subsizes": [1, 4],
                          "starts": ["rank", 0], "order": "C" } }' >s.json
    mount_spec s.json -o zarr,nc
    python growing "$mnt"
}

@test "exports: a node shows what another one has closed" {
    local value here there sum=2415
    demo_spec
    mv f.json s.json
    start_nodes 2 -o zarr,nc,vti
    for value in 1 2 3; do
        here=m$((value % 2)) there=m$(((value + 1) % 2))
        py "open('$here/rank0', 'r+b').write(struct.pack('d', $value))"
        sum=$((sum + 1)) # the first element was value - 1
        [ "$(python sum_of "$there/zarr" temp)" -eq "$sum" ]
        ncdump -v temp "$there/whole.nc" | tr -d ' \n' | grep -qF "temp=$value,1,2,"
    done
    stop_nodes
}

@test "exports: variables of a netCDF file, and assembled members" {
    /usr/bin/python3 "$top/tests/from/ocean.py"
    mpiio-mount -o zarr,nc --from ocean.nc 'none,block,block on 2x2' "$mnt"
    python from_files "$mnt"
    mpiio-umount "$mnt"
    py 'import numpy as np; a = np.arange(70.0).reshape(7, 10)
for i in range(2): a[:, 5 * i : 5 * i + 5].tofile(f"m{i}")'
    cat >s.json <<'END'
{ "viewspec": 1, "ranks": 7,
  "members": { "file": "m{member}", "count": 2,
               "view": { "etype": "double", "filetype": { "type": "subarray", "sizes": [7, 10],
                         "subsizes": [7, 5], "starts": [0, "5 * rank"], "order": "C" } } },
  "view": { "name": "temp", "etype": "double",
            "filetype": { "type": "darray", "gsizes": [7, 10], "psizes": [7, 1],
                          "distribs": ["block", "none"], "dargs": [null, null], "order": "C" } } }
END
    mount_spec s.json -o zarr,nc,vti
    [ "$(python sum_of "$mnt/zarr" temp)" -eq 2415 ]
    [ "$(ls "$mnt/zarr/temp" | wc -l)" -eq 7 ]
    cmp <(tail -c 560 "$mnt/whole.nc") \
        <(py 'import sys, numpy as np; sys.stdout.buffer.write(np.arange(70.0).astype(">f8").tobytes())')
}

@test "exports: 10^6 ranks and chunks take few requests" {
    counts_requests
    truncate -s 8M s.dat
    printf '\7' | dd of=s.dat bs=1 seek=7999992 conv=notrunc status=none # element 999999
    one_view s.dat 1000000 '{ "tiles": 1, "etype": "int64_t", "filetype": { "type": "hpf_block", "size": 1000000 } }' >s.json
    mount_spec s.json -o zarr,nc,vti
    [ "$(stat -c %s "$mnt/zarr/data/999999")" -eq 8 ]
    [ "$(od -An -td8 "$mnt/zarr/data/999999")" -eq 7 ]
    [ ! -e "$mnt/zarr/data/1000000" ]
    [ ! -e "$mnt/data.pvti" ] # would refer to 10^6 files
    [ "$(ncdump "$mnt/rank999999.nc" | tail -n 3 | tr -d ' \n')" = 'data=7;}' ]
    [ "$(stat_of requests.lookup)" -lt 60 ]
    [ "$(ls -f "$mnt/zarr/data" | wc -l)" -eq 1000004 ]
    [ "$(stat_of requests.lookup)" -lt 100 ]
    [ "$(stat_of requests.readdir)" -lt 30000 ]
}

@test "exports: the mount of an unprivileged user, and ranks that own nothing" {
    user_folder own
    cd own || return
    demo_spec
    jq '.view.filetype += { psizes: [4, 1], dargs: [6, null] }' f.json >s.json
    user_folder mnt
    as_user mpiio-mount -o ro,zarr,nc,vti s.json mnt
    [ "$(as_user ncdump mnt/rank3.nc | tr -d ' \n')" = 'netcdfrank3{}' ]
    [ "$(as_user stat -c %s mnt/zarr/temp/1.0)" -eq 480 ] # padded
    as_user cat mnt/rank3.vti | grep -aqF ' Extent="0 -1 0 -1 0 -1"'
    as_user mpiio-umount mnt
}

# refused MESSAGE FILTER OPTION...: mounting f.json, changed by jq, fails with this line alone.
refused() {
    jq -c "$2" f.json >s.json
    complains 2 "mpiio-mount: s.json$1" mount_spec s.json "${@:3}"
    run ! is_mounted
}

@test "exports: a view that a format cannot show is refused in one line" {
    local four='{ gsizes: [2, 2, 2, 2], psizes: [2, 2, 1, 1], distribs: ["none", "none", "none", "none"],
        dargs: [null, null, null, null] }'
    four=${four/\"none\", \"none\"/\"block\", \"block\"}
    demo_spec
    refused ':1:47: /view: option zarr: "dims" has 1 names: the array has 2 dimensions' \
        '.view.dims = ["x"]' -o zarr
    refused ':1:47: /view: option zarr: "origin" of the grid has 1 numbers: the array has 2 dimensions' \
        '.view.grid.origin = [1]' -o zarr
    refused ':1:47: /view: option zarr: "grid" is possible with up to 3 dimensions only' \
        "del(.view.dims) | .view.filetype += $four | .view.grid = {}" -o zarr
    refused ": option vti: VTK's ImageData has 1 to 3 dimensions" \
        "del(.view.dims) | .view.filetype += $four" -o zarr,vti
    refused ': option vti: VTK'\''s ImageData has no records ("tiles" limits them)' \
        '.view.filetype.gsizes = [3, 10]' -o vti
    refused ": option vti: the part of rank 0 is no box" '.view.filetype.distribs[1] = "cyclic"' -o vti
    refused ": option vti: VTK has no type for the values" \
        '.view += { etype: "real2", tiles: 1 }' -o vti
    refused ": option nc: netCDF has no type for the values" '.view.etype = "real2"' -o nc,zarr
    refused ': option nc: two dimensions are called "complex"' \
        '.view.etype = "complex" | .view.dims[1] = "complex"' -o nc
    refused ': option nc: two dimensions are called "complex"' \
        '.view.etype = "complex" | .view.dims[1] = "complex" | .view.filetype.gsizes[1] = 2' -o nc
    truncate -s 3G f.dat
    refused ": option vti: VTK's ImageData has at most 2147483647 elements in a dimension" \
        '.view.etype = "byte" | .view.filetype.gsizes = [1, 3000000000]' -o vti
    demo_spec
    refused ": option nc: the file has 560 bytes, which is less than one array" '.view.disp = 8' -o nc
    refused ":1:47: /view: option zarr: the ranks form no array (the filetype must be a subarray, darray, hpf_block, hpf_cyclic or scatter)" \
        '.view = { etype: "double", disp: "8 * rank" }' -o zarr
    refused ": option zarr: the name is taken by a view (give the view another name)" \
        '.views.zarr = .view | del(.view)' -o zarr
    refused ':1:74: /view/dims/1: the name occurs twice' '.view.dims[1] = "y"' -o zarr
    refused ':1:55: /view/name: a name is a letter or _, then letters, digits, _, - and .' \
        '.view.name = "sea level"'
}

# contradicts PLACE REASON: mounting and checking s.json fails with one line.
contradicts() {
    complains 2 "mpiio-mount: s.json:$1: option zarr: $2" mount_spec s.json -o zarr
    run -2 --separate-stderr mpiio-view check s.json # prints the view, too
    [ "$stderr" = "mpiio-view: s.json:$1: $2" ]
}

@test "exports: a \"global\" that contradicts the view, and parts without a shape" {
    local view='{ etype: "double", tiles: 1, disp: "40 * rank",
        filetype: { type: "vector", count: 7, blocklength: 5, stride: 10 },
        global: { filetype: { type: "contiguous", count: 70 }, shape: [7, 10] } }'
    demo_spec
    jq -c ".ranks = 2 | .view = $view" f.json >s.json
    mpiio-view check s.json | grep -F 'array      data(dim_0, dim_1) of double, 7 x 10'
    mount_spec s.json -o zarr
    [ "$(python sum_of "$mnt/zarr" data)" -eq 2415 ]
    mpiio-umount "$mnt"
    for option in nc vti; do
        complains 2 "mpiio-mount: s.json: option $option: the part of rank 0 has no shape of the array's dimensions (give its view a \"shape\")" \
            mount_spec s.json -o $option
    done
    jq -c ".ranks = 2 | .view = $view + { shape: [7, 5] }" f.json >s.json
    mount_spec s.json -o zarr,nc,vti
    [ "$(ncdump "$mnt/rank1.nc" | grep -c '5, 6, 7, 8, 9,')" -eq 1 ]
    mpiio-umount "$mnt"
    jq -c ".ranks = 2 | .view = $view | .view.global.filetype.count = 69 | del(.view.global.shape)" f.json >s.json
    contradicts '1:47: /view' 'rank 1 owns bytes outside the array that "global" describes'
    jq -c ".ranks = 2 | .view = $view | .view.global.disp = \"rank\"" f.json >s.json
    contradicts '1:47: /view' '"global" depends on the rank'
    jq -c ".ranks = 2 | .view = $view | .view.global.shape = [7, 9]" f.json >s.json
    contradicts '1:223: /view/global/shape' 'the array has 63 elements, a tile has 70 etypes'
}

@test "exports: names that are taken, and dimensions of one name" {
    python labels
}

@test "exports: option local shows no file that refers to ranks of other nodes" {
    demo_spec
    mv f.json s.json
    start_nodes 2 -o local,zarr,vti
    [ "$(names_in "m1")" = "rank2 rank2.vti rank3 rank3.vti zarr" ]
    [ ! -e m1/temp.pvti ]
    [ "$(python sum_of m1/zarr temp)" -eq 2415 ]
    stop_nodes
}

@test "exports: 20000 views take little time and memory" {
    local kilobytes
    truncate -s 64 s.dat
    py 'import json; json.dump({"viewspec": 1, "file": "s.dat", "views": {f"v{i}":
        {"etype": "int", "tiles": 1, "filetype": {"type": "contiguous", "count": 16}}
        for i in range(20000)}}, open("s.json", "w"))'
    mount_spec s.json -o zarr
    kilobytes=$(awk '/VmRSS/ { print $2 }' "/proc/$(daemon_pid)/status")
    echo "$kilobytes"
    [ "$kilobytes" -lt 400000 ]
    [ "$(ls "$mnt/zarr" | wc -l)" -eq 20000 ]
}

@test "exports: views without an array are left out, if others have one" {
    demo_spec
    jq '.views = { a: .view, b: { etype: "double", disp: "8 * rank" }, c: .view } | del(.view)' f.json >s.json
    mount_spec s.json -o zarr,nc,vti
    [ -e "$mnt/a/whole.nc" ]
    [ -e "$mnt/a/temp.pvti" ]
    [ ! -e "$mnt/b/whole.nc" ]
    [ "$(names_in "$mnt/b")" = "rank0 rank1 rank2 rank3" ]
    [ "$(names_in "$mnt/zarr")" = "c temp" ] # the name of the first one is taken
}
