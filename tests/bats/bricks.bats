#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Files with text headers: ENVI, NRRD, MetaImage, BOV, VTK and FITS, compared with the formats'
# libraries and with plain writers.

load helper

# bricks FORMAT SEED COUNT: makes and compares random files. Prints the number of slices compared.
bricks() {
    use_module
    /usr/bin/python3 "$top/tests/from/bricks.py" "$@" </dev/null 3>&-
}

# envi: makes scene.hdr and scene.bil: 3 bands of 4 x 5 big-endian shorts, interleaved by line,
# behind a header of 10 bytes.
envi() {
    printf '%s\n' ENVI 'samples = 5' 'lines = 4' 'bands = 3' 'header offset = 10' 'data type = 2' \
        'interleave = bil' 'byte order = 1' 'band names = {' ' red,' ' near infrared, blue}' >scene.hdr
    py 'open("scene.bil", "wb").write(b"h" * 10 + np.arange(60, dtype=">i2").tobytes())'
}

@test "bricks: a band of an ENVI image is mounted as an array, and can be written alone" {
    envi
    mpiio-view spec --from scene.hdr >list
    diff list - <<'LIST'
scene	int16_t	4x3x5
red	int16_t	4x5
near infrared	int16_t	4x5
blue	int16_t	4x5
LIST
    cp scene.bil before
    mpiio-mount -o npy --from scene.hdr 'block,none on 2' "$mnt"
    py '
cube = np.arange(60).reshape(4, 3, 5)
for rank in range(2):
    band = np.load(f"mnt/near_infrared/rank{rank}.npy", mmap_mode="r+")
    assert band.dtype == np.int16 and (band == cube[2 * rank:2 * rank + 2, 1]).all()
assert (np.load("mnt/scene/rank1.npy") == cube).all()
band[1, 2:4] = -7
band.flush()'
    mpiio-umount "$mnt"
    py '
before, now = (np.frombuffer(open(name, "rb").read()[10:], ">i2") for name in ("before", "scene.bil"))
changed = (before != now).nonzero()[0]
assert changed.tolist() == [45 + 5 + 2, 45 + 5 + 3] and (now[changed] == -7).all()
assert len(before) == len(now)'
    cmp -n 10 before scene.bil
    # In BIP, the file may end right after the last element of a band, before those of other bands.
    sed -i 's/bil/bip/' scene.hdr
    mv scene.bil scene.bip
    mpiio-view spec --from scene.hdr --var red >red.json
    [ "$(mpiio-view dump red.json -r 0 | tr '\n' ' ')" = "0 3 6 9 12 15 18 21 24 27 30 33 36 39 42 45 48 51 54 57 " ]
    mpiio-view spec --from scene.hdr --var blue >blue.json
    [ "$(mpiio-view dump blue.json -r 0 | tail -n 1)" = 59 ]
    truncate -s 128 scene.bip
    run -0 mpiio-view spec --from scene.hdr
    [[ $output == *"blue	-	4x5	not a view: scene.bip is truncated: 128 bytes of at least 130 "* ]]
    [[ $output == *"near infrared	int16_t	4x5"* ]]
}

# Columns: format, number of files, and more than so many slices.
@test "bricks: random files of each format are what its library, or a plain writer, reads or has written" {
    local format count least
    while read -r format count least; do
        run -0 bricks "$format" 7 "$count"
        echo "$format: $output slices in $count files"
        [ "$output" -gt "$least" ]
    done <<'END'
envi 25 300
nrrd 30 120
meta 30 100
bov 20 100
fits 20 150
legacy 20 300
xml 20 300
END
}

@test "bricks: a spec is refused if the header's text has changed, even between the data" {
    envi
    mpiio-view spec --from scene.hdr --var red >red.json
    mpiio-view check red.json >/dev/null
    sed -i 's/samples = 5/samples = 4/' scene.hdr
    fails 1 "$tmp/scene.hdr: its header is not the one that the spec was made from (mpiio-view spec --from makes a new spec)" \
        mpiio-view check red.json
    py '
head = "# vtk DataFile Version 3.0\nx\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 2\nORIGIN 0 0 0\n"
head += "SPACING 1 1 1\nPOINT_DATA 8\n"
data = np.arange(8, dtype=">f4").tobytes()
one = head.encode() + b"SCALARS a float\nLOOKUP_TABLE default\n" + data
open("a.vtk", "wb").write(one + b"\nVECTORS b float\n" + 3 * data)'
    mpiio-view spec --from a.vtk --all >all.json
    py '
file = open("a.vtk", "r+b")
text = file.read()
file.seek(text.index(b"VECTORS b") - 8)
file.write(b"xxxx")'
    mpiio-view check all.json >/dev/null
    sed -i 's/VECTORS b/NORMALS b/' a.vtk
    run -1 mpiio-view check all.json
}

@test "bricks: a variable that cannot be a view is listed with the reason" {
    printf '%s\n' NRRD0004 'type: short' 'dimension: 1' 'sizes: 3' 'encoding: gzip' '' >zip.nrrd
    [ "$(mpiio-view spec --from zip.nrrd)" = "zip	-	3	not a view: encoding gzip" ]
    printf '%s\n' NRRD0004 'type: short' 'dimension: 2' 'sizes: 3 2' 'encoding: raw' 'endian: big' \
        'data file: LIST' none.0 none.1 >list.nhdr
    [ "$(mpiio-view spec --from list.nhdr)" = "list	-	2x3	not a view: none.0: No such file or directory" ]
    head -c 6 /dev/zero >none.0
    head -c 5 /dev/zero >none.1
    [ "$(mpiio-view spec --from list.nhdr)" = \
        "list	-	2x3	not a view: none.1 is truncated: 5 bytes of at least 6 (truncate -s adds zeros)" ]
    printf '%s\n' 'ObjectType = Image' 'NDims = 1' 'DimSize = 3' 'CompressedData = True' \
        'ElementType = MET_SHORT' 'ElementDataFile = none.0' >zip.mhd
    [ "$(mpiio-view spec --from zip.mhd)" = "zip	-	3	not a view: the image is compressed" ]
    printf '%s\n' 'DATA_FILE: none.0' 'DATA_SIZE: 3 1 1' 'DATA_FORMAT: SHORT' 'HAS_BOUNDARY: true' >b.bov
    [ "$(mpiio-view spec --from b.bov)" = "b	-	1x1x3	not a view: its parts overlap (HAS_BOUNDARY)" ]
    envi
    rm scene.bil
    run -0 mpiio-view spec --from scene.hdr
    [ "${lines[1]}" = "red	-	4x5	not a view: there is no data file beside it (of the same name, alone or with .img, .dat, .raw, .bsq, .bil or .bip)" ]
    printf '%s\n' '<VTKFile type="ImageData" byte_order="LittleEndian" compressor="vtkZLibDataCompressor">' \
        '<ImageData><Piece Extent="0 1 0 1 0 1"><PointData>' \
        '<DataArray type="Int8" Name="a" format="appended" offset="0"/>' \
        '<DataArray type="Int8" Name="b" format="ascii">1</DataArray>' \
        '<DataArray type="Int8" Name="c" format="binary">AA==</DataArray>' \
        '</PointData></Piece></ImageData><AppendedData encoding="raw">_' >a.vti
    mpiio-view spec --from a.vti >list
    diff list - <<'LIST'
PointData/a	-	-	not a view: values are compressed
PointData/b	-	-	not a view: values are text
PointData/c	-	-	not a view: values are encoded in base64
LIST
    py '
from astropy.io import fits
units = [fits.PrimaryHDU(), fits.CompImageHDU(np.zeros((20, 20)), name="ZIP"),
    fits.BinTableHDU.from_columns([fits.Column("a", "PJ()", array=np.array([[1], [2, 3]], dtype=object))]),
    fits.TableHDU.from_columns([fits.Column("a", "I4", array=[1, 2])])]
fits.HDUList(units).writeto("a.fits")'
    mpiio-view spec --from a.fits | cut -f 1,2,4 >list
    diff list - <<'LIST'
ZIP	-	not a view: it is compressed (RICE_1)
HDU2	-	not a view: a column of the form PJ(2), of variable length
HDU3	-	not a view: values are text
LIST
    printf '%s\n' '# vtk DataFile Version 3.0' x ASCII >a.vtk
    no_spec "a.vtk: a VTK file whose values are text (ASCII)" a.vtk
}

@test "bricks: pieces of a VTK file get different names" {
    local array='<PointData><DataArray type="Int16" Name="a" format="appended" offset="%d"/></PointData></Piece>'
    # shellcheck disable=SC2059 # formats
    {
        printf '<?xml version="1.0"?>\n<VTKFile type="ImageData" byte_order="BigEndian"><ImageData>'
        printf '<Piece Extent="0 1 0 0 0 0">'"$array" 0
        printf '<Piece Extent="2 4 0 0 0 0">'"$array" 8
        printf '</ImageData><AppendedData encoding="raw">\n  _\0\0\0\4\0\1\0\2\0\0\0\6\0\3\0\4\0\5</AppendedData></VTKFile>\n'
    } >a.vti
    [ "$(mpiio-view spec --from a.vti)" = $'PointData/a\tint16_t\t1x1x2\nPiece2/PointData/a\tint16_t\t1x1x3' ]
    mpiio-view spec --from a.vti --var Piece2/PointData/a 'none,none,block on 3' >a.json
    [ "$(mpiio-view dump a.json -r 2)" = 5 ]
}

@test "bricks: damaged files are refused with one line" {
    envi
    printf '%s\n' NRRD0004 'type: short' 'dimension: 1' 'sizes: three' >a.nrrd
    no_spec "a.nrrd: damaged NRRD header at line 4: sizes must be positive numbers" a.nrrd
    sed -i 's/lines = 4/lines = 0/' scene.hdr
    no_spec "scene.hdr: damaged ENVI header at line 3: lines must be a number of at least 1" scene.hdr
    sed -i 's/lines = 0/lines = 9223372036854775807/' scene.hdr
    no_spec "scene.hdr: damaged ENVI header at line 11: more than 2^63-1 bytes" scene.hdr
    mkfifo pipe
    printf '%s\n' NRRD0004 'type: int8' 'dimension: 1' 'sizes: 3' 'encoding: raw' 'line skip: 1' \
        'data file: pipe' >pipe.nhdr
    [ "$(timeout 20 mpiio-view spec --from pipe.nhdr)" = "pipe	-	3	not a view: pipe: not a regular file" ]
    # No truncation or change may cause a crash. A refusal is a single line.
    local format
    for format in envi nrrd meta bov fits legacy xml; do
        bricks $format 3 4 >/dev/null
    done
    /usr/bin/python3 "$top/tests/from/damage.py" 3>&- ./*.hdr ./*.HDR ./*.nrrd ./*.nhdr ./*.mha ./*.mhd \
        ./*.bov ./*.fits ./*.vt?
}
