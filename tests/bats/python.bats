#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# python3-mpiio: the module as it is installed, by the tests of tests/python.

load helper

setup() {
    begin_test
    use_module
    export MPIIO_INCLUDE=${MPIIO_BIN%/bin}/include
}

@test "python: the tests of tests/python: headers, slices, files, xarray's engine, documentation" {
    PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 timeout -s KILL 600 /usr/bin/python3 -m pytest -q -p no:cacheprovider \
        -W error --basetemp="$tmp/pytest" "$top/tests/python" 3>&-
}

@test "python: the notebook of the examples runs as it is" {
    run -0 /usr/bin/python3 "$top/scripts/examples/field.py"
    [ "$(grep -c '^rank [0-3]: (8, 6, 8), mean 2[78][0-9]\.' <<<"$output")" -eq 4 ]
    [ "$(tail -n 3 <<<"$output")" = $'300.0\n300.0\n'"['rank0.vti', 'rank1.vti', 'rank2.vti', 'rank3.vti', 'temperature.pvti']" ]
}
