#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Records of sequential unformatted Fortran files, as mpiio-view spec --from lists them.

load helper

# fortran NAME OPTION...: compiles tests/from/records.f90 with the options, and runs it to write
# NAME.
fortran() {
    gfortran "${@:2}" "$top/tests/from/records.f90" -o "write_$1"
    "./write_$1" "$1"
}

@test "records: Fortran files are what the program has written, by ranks, too" {
    fortran plain
    fortran big -fconvert=big-endian
    fortran wide -frecord-marker=8
    fortran widebig -frecord-marker=8 -fconvert=big-endian
    fortran parts -fmax-subrecord-length=1003
    fortran partsbig -fmax-subrecord-length=1003 -fconvert=big-endian
    /usr/bin/python3 "$top/tests/from/records.py" plain big wide widebig parts partsbig 3>&-
    /usr/bin/python3 "$top/tests/from/records.py" files "${MPIIO_SEED:-7}" 3>&-
}

@test "records: Fortran files are mounted, and can be written" {
    fortran big -fconvert=big-endian
    cp big want
    mpiio-view spec --from big --var record3 --type 'float *x3' 'block,none on 3' >pos.json
    mount_spec pos.json -o npy
    py '
whole = np.arange(1, 751, dtype="f4").reshape(250, 3)
for rank in range(3):
    a = np.load(f"mnt/rank{rank}.npy", mmap_mode="r+")
    assert a.dtype == "f4" and (a == whole[84 * rank:][:84]).all()
    a *= 2
    a.flush()
file = open("want", "r+b")
file.seek(4 + 256 + 4 + 4 + 8000 + 4 + 4)
file.write((whole * 2).astype(">f4").tobytes())
file.close()'
    mpiio-umount "$mnt"
    cmp big want
    # All records are mounted as bytes. A file with subrecords is read-only.
    mpiio-mount --from big "$mnt"
    [ "$(stat -c %s "$mnt/record2/rank0")" -eq 8000 ]
    mpiio-umount "$mnt"
    fortran parts -fmax-subrecord-length=1003
    mpiio-view spec --from parts --var record2 --type double 'block on 4' >x.json
    mount_spec x.json -o npy
    py 'assert (np.load("mnt/rank3.npy") == np.arange(751, 1001) * 0.5).all()'
    mpiio-umount "$mnt"
    # The spec is refused if the record has another length.
    printf '\1' | dd of=big bs=1 seek=8273 conv=notrunc status=none
    run -1 mpiio-view check pos.json
    fails 1 "$tmp/big: its header is not the one that the spec was made from (mpiio-view spec --from makes a new spec)" \
        mpiio-view cat pos.json -r 0
}

@test "records: a damaged record is listed with the byte of the damage" {
    fortran plain
    head -c 8000 plain >short
    [ "$(mpiio-view spec --from short | tail -n 1)" = \
        $'record2\t-\t0\tnot a view: damaged at byte 264: the marker says 8000 bytes, the file has 7728' ]
    [ "$(mpiio-view spec --from short | head -n 1)" = $'record1\tbyte\t256' ]
    mpiio-view spec --from short --var record1 | mpiio-view cat /dev/stdin -r 0 | cmp - <(tail -c +5 plain | head -c 256)
    no_spec "short: record2: not a view: damaged at byte 264: the marker says 8000 bytes, the file has 7728" \
        short --var record2
    head -c 266 plain >short
    [ "$(mpiio-view spec --from short | tail -n 1)" = $'record2\t-\t0\tnot a view: damaged at byte 264: the file ends in a record' ]
    cp plain bad
    printf '\7' | dd of=bad bs=1 seek=8268 conv=notrunc status=none
    [ "$(mpiio-view spec --from bad | tail -n 1)" = \
        $'record2\t-\t0\tnot a view: damaged at byte 8268: no matching marker behind the 8000 bytes from byte 268' ]
    cp plain bad
    printf '\300\340\377\377' | dd of=bad bs=1 seek=264 conv=notrunc status=none
    mpiio-view spec --from bad | grep -q $'^record2\t-\t.*not a view: damaged at byte '
    # A file of zeros, and wrong variables and types.
    head -c 4000 /dev/zero >zeros
    no_spec "zeros: not a file that describes itself (netCDF classic, HDF5 and its subfiles, .npy, MITgcm's .meta, FITS, VTK, NRRD, MetaImage, ENVI, BOV, Fortran records)" \
        zeros
    no_spec "plain: record1 has 256 bytes, record2 has 8000: rows must have the same length" \
        plain --var record1-2
    no_spec "plain: no variable record4-99 (mpiio-view spec --from lists them)" plain --var record4-99
    no_spec "--type: record11: 7 bytes are not a multiple of the size of double" \
        plain --var record11 --type double
    no_spec "--type: \"dubble\": expected a basic type, such as double, and a shape, such as 100x3 or *x3" \
        plain --var record2 --type dubble
    no_spec "--type: \"3xx\": expected a shape, such as 100x3 or *x3" plain --var record2 --type 'double 3xx'
    no_spec "--type: record2: 3x7 is not the shape of 1000 of double" plain --var record2 --type 'double 3x7'
    no_spec "plain: several variables (choose with --var NAME, or take --all)" plain --type double
}
