#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view dump: values as text, CSV and JSON, read back by python.

load helper

@test "dump: every basic type as text, CSV and JSON, with and without names, reads back bit for bit" {
    local names
    python all_types
    mpiio-view dump all.json -r 0 >all.txt
    [ "$(wc -l <all.txt)" -eq 300 ]
    /usr/bin/python3 "$call" every_basic_type_as_text_reads >got
    cmp got all.native
    mpiio-view dump all.json -r 0 --format csv >all.csv
    /usr/bin/python3 "$call" every_basic_type_as_csv_reads >got
    cmp got all.native
    names=$(/usr/bin/python3 "$call" names)
    mpiio-view dump all.json -r 0 --format json >arrays.json
    mpiio-view dump all.json -r 0 --format json --fields "$names" >objects.json
    jq -e 'length == 300' arrays.json
    for file in arrays objects; do
        /usr/bin/python3 "$call" every_basic_type_as_json_reads "$file.json" >got
        cmp got all.native
    done
}

@test "dump: real numbers are the shortest that read back, as in python" {
    /usr/bin/python3 "$call" real_numbers_are_the_shortest
    mpiio-view dump d.json -r 0 | cmp - expected
    (
        echo f0
        cat expected
    ) | cmp - <(mpiio-view dump d.json -r 0 --format csv)
}

# atoms: makes a file of five records: an id, a tag of 4 characters, a position of three doubles, a
# key of 3 bytes.
atoms() {
    /usr/bin/python3 "$call" atoms
    one_view atoms.dat 1 '{ "etype": { "type": "resized", "lb": 0, "extent": 40,
                     "oldtype": { "type": "struct", "types": ["int", "char", "double", "byte"],
                                  "blocklengths": [1, 4, 3, 3],
                                  "displacements": [0, 4, 8, 32] } } }' >atoms.json
}

@test "dump: names of fields, several values of a name, strings" {
    atoms
    [ "$(mpiio-view dump atoms.json -r 0 | sed -n 2p)" = '1 H e \000 \000 1.0 -1.0 0.5 01 ff 10' ]
    [ "$(mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],at[3],key[3]' | sed -n 2p)" = \
        '1 He\000\000 1.0 -1.0 0.5 01ff10' ]
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],at[3],key[3]' --format csv >atoms.csv
    diff - atoms.csv <<'END'
id,tag,at[0],at[1],at[2],key
0,"H\000\000\000",0.0,0.0,0.0,00ff10
1,"He\000\000",1.0,-1.0,0.5,01ff10
2,"a,""b",2.0,-2.0,1.0,02ff10
3,"\134\012\377 ",3.0,-3.0,1.5,03ff10
4,"Xe\000\000",4.0,-4.0,2.0,04ff10
END
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[4],x,y,z,key[3]' --format json >out.json
    /usr/bin/python3 "$call" names_of_fields
    mpiio-view dump atoms.json -r 0 --fields 'id,tag[1],t[3],at[3],key[3]' --format json |
        jq -e '.[1].tag == "H" and .[1].t == "e\u0000\u0000" and .[1].at == [1, -1, 0.5]'
}

@test "dump: a range prints the etypes that contain it; the same values in other representations; wrong fields and formats" {
    atoms
    ids() {
        mpiio-view dump atoms.json -r 0 "$@" | cut -d ' ' -f 1 | paste -sd ' '
    }
    # An etype has 35 bytes of the slice.
    [ "$(ids)" = "0 1 2 3 4" ]
    [ "$(ids --offset 35)" = "1 2 3 4" ]
    [ "$(ids --offset 34 --length 1)" = 0 ]
    [ "$(ids --offset 34 --length 2)" = "0 1" ]
    [ "$(ids --offset 104 --length 1G)" = "2 3 4" ]
    [ "$(ids --length 0)" = "" ]
    [ "$(ids --offset 175)" = "" ]
    [ "$(ids --offset 8388607T)" = "" ]
    [ "$(mpiio-view dump atoms.json -r 0 --format json --offset 1T)" = "[]" ]
    [ "$(mpiio-view dump atoms.json -r 0 --format csv --offset 1T | wc -l)" -eq 1 ]
    mpiio-view convert atoms.json --to external32 -o e.dat --spec e.json
    mpiio-view convert atoms.json --to big-endian -o b.dat --spec b.json
    cmp <(mpiio-view dump atoms.json -r 0) <(mpiio-view dump e.json -r 0)
    cmp <(mpiio-view dump atoms.json -r 0) <(mpiio-view dump b.json -r 0)
    local see="(see mpiio-view dump --help)"
    fails 2 "--fields: 2 values named, an etype has 11 $see" \
        mpiio-view dump atoms.json -r 0 --fields a,b
    fails 2 "--fields: 12 values named, an etype has 11 $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a,b[11]'
    fails 2 "--fields a b: a name is letters, digits, _, - and . $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a b'
    fails 2 "--fields a[0]: a field is NAME or NAME[N], N from 1 on $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a[0]'
    fails 2 "--fields : a name is letters, digits, _, - and . $see" mpiio-view dump atoms.json -r 0 --fields 'a,'
    fails 2 "--fields a: the name is there twice $see" \
        mpiio-view dump atoms.json -r 0 --fields 'a,a'
    misused "--format xml: expected text, csv or json" dump atoms.json -r 0 --format xml
    misused "--format: not an option of this subcommand" cat atoms.json -r 0 --format csv
    rm atoms.dat
    fails 1 "$tmp/atoms.dat: No such file or directory" mpiio-view dump atoms.json -r 0
}

@test "dump: an etype of a million values of mixed kinds is one line" {
    make_file f.dat 12000000
    cat >f.json <<'END'
{ "viewspec": 1, "file": "f.dat",
  "types": { "pair": { "type": "struct", "types": ["uint64_t", "uint16_t"],
                       "blocklengths": [1, 1], "displacements": [0, 8] } },
  "view": { "etype": { "type": "contiguous", "count": 600000,
                       "oldtype": { "type": "resized", "lb": 0, "extent": 20,
                                    "oldtype": "pair" } } } }
END
    mpiio-view dump f.json -r 0 >line
    [ "$(wc -l <line)" -eq 1 ]
    /usr/bin/python3 "$call" an_etype_of_a_million_values
}

@test "dump: ends quietly if its reader exits, but not if a device is full" {
    make_file d.dat 8000000
    echo '{ "viewspec": 1, "file": "d.dat", "view": { "etype": "double" } }' >d.json
    { mpiio-view dump d.json -r 0 2>err || echo "$?" >status; } | head -n 1 >/dev/null
    [ ! -s err ]
    [[ $(cat status) =~ ^(1|141)$ ]]
    complains 1 "mpiio-view: standard output: No space left on device" bash -c 'mpiio-view dump d.json -r 0 >/dev/full'
}

@test "dump: a file that gets shorter meanwhile is reported" {
    make_file d.dat 8000000
    echo '{ "viewspec": 1, "file": "d.dat", "view": { "etype": "uint64_t" } }' >d.json
    # The pipe is full long before the end. Then the file is truncated.
    { mpiio-view dump d.json -r 0 2>err || echo "$?" >status; } | {
        read -r
        truncate -s 80 d.dat
        cat >/dev/null
    }
    [ "$(cat status)" -eq 1 ]
    [ "$(cat err)" = "mpiio-view: $tmp/d.dat: the file was made shorter meanwhile" ]
}
