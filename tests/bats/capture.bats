#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-view capture: programs that are unaware of it, and the specs of their views. The programs
# are in tests/capture. Each rank writes the data that it has read or written to rankN.viewK.

load helper
load cluster
load capture

setup() {
    begin_test
    # Open MPI runs as root, with more ranks than processors, in shared memory, and makes no pause
    # after ranks that have exited with a status.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated \
        OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
        OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_odls_base_sigkill_timeout=0
}

# spec_has FILTER TEXT [SPEC]: jq's filter prints this text of the spec (data.view.json).
spec_has() {
    gives "$2" jq -c "$1" "${3:-data.view.json}"
}

# kind NAME: captures that kind of program with four ranks. It has one view.
kind() {
    rm -f data data.view.json rank*.view1
    run -3 captured 4 kinds "$1" data
    says "wrote $tmp/data.view.json: 4 ranks, 1 view"
}

@test "capture: a darray, a subarray in Fortran order, a struct of indexed of vector, different on each rank" {
    kind darray
    spec_has '.view.filetype | .type, .psizes, .distribs' $'"darray"\n[2,2]\n["block","cyclic"]'
    [ "$(jq -c '[.ranks, .file, .view.disp, .view.etype, .view.per_rank, .view.name]' data.view.json)" = \
        '[4,"data",24,"double",null,"density"]' ]
    slices_are_pieces 4 data.view.json
    kind fortran-order
    spec_has '.view.filetype | .type, .order, .starts' $'"subarray"\n"Fortran"\n[0,"rank*5"]'
    slices_are_pieces 4 data.view.json
    kind nested
    spec_has '.view.filetype.oldtype | .type, .types[1].blocklengths' $'"struct"\n["1 + rank"]'
    slices_are_pieces 4 data.view.json
}

@test "capture: views that change get names, once each, over several openings" {
    run -3 captured 4 kinds changing data
    says "wrote $tmp/data.view.json: 4 ranks, 3 views"
    spec_has '.views | keys' '["view1","view2","view3"]'
    spec_has '.views.view3.disp' '"24 + rank*8"'
    slices_are_pieces 4 data.view.json view1
    slices_are_pieces 4 data.view.json view2
    slices_are_pieces 4 data.view.json view3
}

@test "capture: a view ends with the last tile that is accessed, if the file continues" {
    local view rank
    run -3 captured 4 kinds variables data
    spec_has '[.views[].tiles]' '[5,1,null,2,null,null]'
    mount_spec data.view.json -o ro
    for view in 1 2 4 6; do
        for rank in 0 1 2 3; do
            cmp "rank$rank.view$view" "$mnt/view$view/rank$rank"
        done
    done
    umount "$mnt"
}

@test "capture: the file's size counts after the last rank has written; so do tiles of all ranks, although one rank's view is the default view" {
    kind late
    spec_has '.view | .disp, .tiles' $'"100 + rank*80"\n80'
    slices_are_pieces 4 data.view.json
    kind late-default
    spec_has '.view | .disp, .tiles' $'"rank*80"\n80'
    slices_are_pieces 4 data.view.json
}

@test "capture: each rank's tiles are those that it has accessed" {
    local view rank
    run -3 captured 4 kinds sizes data
    [ "$(jq -c '.views | .view1.tiles, [.view2.per_rank[].tiles], [.view3.per_rank[].tiles]' \
        data.view.json)" = $'"5 + rank"\n[8,0,8,8]\n[3,4,4,4]' ]
    for view in 1 2 3; do
        for rank in 0 1 2 3; do
            mpiio-view cat -r $rank -v view$view data.view.json | cmp rank$rank.view$view
        done
    done
    run -3 captured 4 kinds partial other
    spec_has '[.view.per_rank[].tiles]' '[2,2,2,null]' other.view.json
}

@test "capture: a view of all bytes is kept beside the views of other openings" {
    run -3 captured 4 kinds plain-then-darray data
    says "wrote $tmp/data.view.json: 4 ranks, 2 views"
    spec_has '.views.view1' '{"disp":24,"etype":"double","tiles":"10 + rank*10"}'
    for rank in 0 1 2 3; do
        mpiio-view cat -r $rank -v view1 data.view.json | cmp - <(head -c $((104 + 80 * rank)) data | tail -c +25)
    done
    mpiio-view cat -r 3 -v view2 data.view.json | cmp rank3.view1
    run -3 captured 4 kinds plain-then-alone other
    [ "$(sort said)" = "mpiio-view: wrote $tmp/other.2.view.json: 4 ranks, 1 view
mpiio-view: wrote $tmp/other.view.json: 4 ranks, 1 view" ]
    [ "$(jq -c .view.disp other*.view.json | sort)" = $'24\n344' ]
}

# is_planned SEED: the captured slices of the program "random" are what its ranks have accessed.
is_planned() {
    local plan rank view options
    rm -rf ./*
    run captured 4 random "$1" data # mpiexec may kill ranks that are about to exit
    [ "$status" -ne 99 ]
    plan=$(cat plan)
    if [ "$plan" -eq 0 ]; then
        grep -q ": not captured: the program ended without MPI_Finalize" said
        [ ! -e data.view.json ]
    else
        [ "$(jq '.views // {view} | length' data.view.json)" -eq "$plan" ]
    fi
    for ((view = 1; view <= plan; view++)); do
        for rank in {.,openmpi}/rank{0,1,2,3}; do
            options=(-r "${rank: -1}")
            [ "$plan" -eq 1 ] || options+=(-v "view$view")
            mpiio-view cat "${options[@]}" "${rank%/*}/data.view.json" | cmp - "$rank.view$view"
        done
    done
    [ -z "$(find . -name '*.json.*' -o -name '*scratch*')" ]
}

@test "capture: random programs, each rank's slices against its own list of bytes" {
    local seed
    for seed in 5 7 17 35; do
        echo "seed $seed"
        is_planned $seed
    done
}

@test "capture: Fortran programs, by each binding" {
    local program
    for program in fortran fortran_f08 fortran_mpif; do
        rm -f data data.view.json rank*.view1
        run -0 captured 4 $program data
        says "wrote $tmp/data.view.json: 4 ranks, 1 view"
        spec_has '.view | .etype, .filetype.order' $'"real8"\n"Fortran"'
        slices_are_pieces 4 data.view.json
    done
}

@test "capture: parallel HDF5" {
    run -0 captured 4 hdf5 data
    says "wrote $tmp/data.view.json: 4 ranks, 2 views"
    slices_are_pieces 4 data.view.json view1
    slices_are_pieces 4 data.view.json view2
}

@test "capture: an etype that the filetype is not built from" {
    local name
    for name in other-etype mixed; do
        kind $name
        mount_spec data.view.json -o ro
        for rank in 0 1 2 3; do
            holds rank$rank.view1 "$mnt/rank$rank"
        done
        umount "$mnt"
    done
}

@test "capture: processes that each open the file alone are its ranks" {
    kind alone
    spec_has '.view.filetype.oldtype.displacements' '["rank/2*7"]'
    slices_are_pieces 4 data.view.json
}

@test "capture: two communicators that open one file get a spec each" {
    local spec
    run -3 captured 4 kinds halves data
    [ "$(sort said)" = "mpiio-view: wrote $tmp/data.2.view.json: 2 ranks, 1 view
mpiio-view: wrote $tmp/data.view.json: 2 ranks, 1 view" ]
    for spec in data.view.json data.2.view.json; do
        mount_spec $spec -o ro
        # The program's ranks 0 and 2 are ranks 0 and 1 of the first half.
        if [ "$(jq -r .view.etype $spec)" = double ]; then
            cmp rank0.view1 "$mnt/rank0"
            cmp rank2.view1 "$mnt/rank1"
        else
            holds rank1.view1 "$mnt/rank0"
            holds rank3.view1 "$mnt/rank1"
        fi
        umount "$mnt"
    done
}

# accesses_are_slices KIND [FILTER EXPECTED]: captures a program of four ranks that sets no view.
# Its slices hold what each rank has written or read. FILTER is a jq expression of the view.
accesses_are_slices() {
    local rank
    run -3 captured 4 accesses "$1" data
    says "wrote $tmp/data.view.json: 4 ranks, 1 view"
    [ -z "${2:-}" ] || spec_has ".view | $2" "$3"
    mount_spec data.view.json -o ro
    for rank in 0 1 2 3; do
        cmp "rank$rank.view1" "$mnt/rank$rank"
    done
    umount "$mnt"
    rm data*
}

@test "capture: without a view, the bytes that a rank writes are its view, or reads if no rank writes" {
    accesses_are_slices segments '.filetype | .sizes, .starts' $'[8,2000]\n[0,"rank*500"]'
    accesses_are_slices rows '.filetype | .sizes, .starts' $'[60,40]\n["rank/2*30","rank%2*20"]'
    accesses_are_slices cube '.etype, .filetype.sizes' $'"int"\n[12,10,8]'
    accesses_are_slices pointer '.etype, .filetype.subsizes' $'"int"\n[10,200]'
    accesses_are_slices fields '.disp, .filetype.oldtype.blocklengths' $'"rank*100"\n[40,20]'
    accesses_are_slices uneven '.per_rank[2].filetype.count' 0
    accesses_are_slices ways .filetype.subsizes '[8,1000]'
    accesses_are_slices irregular
    head -c 1048576 /dev/urandom >data
    accesses_are_slices reads .disp '"rank*262144"'
    # One view of all bytes for all ranks tells less than the ranks' writes.
    accesses_are_slices header '.disp, .etype, .filetype.count' $'"24 + rank*800"\n"double"\n100'
    # Each process opens the file alone.
    accesses_are_slices self '.filetype | .sizes, .starts' $'[8,2000]\n[0,"rank*500"]'
}

@test "capture: a file without reads and writes gives the byte view; irregular accesses give none" {
    run -3 captured 4 accesses untouched data
    diff - said <<LINES
mpiio-view: $tmp/data: no view was set, and nothing was read or written through MPI: its spec is the byte view, the whole file as one slice
mpiio-view: wrote $tmp/data.view.json: 1 rank, 1 view
LINES
    run -3 captured 4 accesses hopeless other
    diff - said <<LINES
mpiio-view: $tmp/other: a view is not captured: rank 0: what it reads or writes is too irregular for a filetype
LINES
}

@test "capture: what cannot be captured is reported, and the rest is captured" {
    run -3 captured 2 kinds refused data
    diff - said <<END
mpiio-view: $tmp/data: a view is not captured: rank 0: MPI_File_set_view failed
mpiio-view: $tmp/data: a view is not captured: rank 0: viewspec(5) has no basic type for MPI's 0x4c000246
END
    grep -q "has no basic type for MPI's MPI_LOGICAL2\$" openmpi/said
    [ ! -e data.view.json ]
}

@test "capture: files left open at the end, closed twice, and deleted when closed" {
    kind closed-twice
    slices_are_pieces 4 data.view.json
    kind unclosed
    slices_are_pieces 4 data.view.json
    rm data*
    run -3 captured 2 kinds temporary data
    [ ! -e data.view.json ]
    [ ! -s said ]
}

@test "capture: a program that exits without MPI_Finalize is reported, with what is not captured" {
    run -0 captured 4 kinds aborted data
    diff - said <<END
mpiio-view: wrote $tmp/data.view.json: 4 ranks, 1 view
mpiio-view: $tmp/data: the program ended without MPI_Finalize: the spec has what was known when the file was last closed
mpiio-view: $tmp/data.open: not captured: the program ended without MPI_Finalize
END
    slices_are_pieces 4 data.view.json
}

@test "capture: a program that exits by _exit, or is killed, leaves a spec or none, and nothing else" {
    local i
    for i in 1 2 3; do
        rm -f data*
        run captured 4 kinds exits data # mpiexec may kill ranks that are about to exit
        [ "$status" -ne 99 ]
        [ "$(echo data*)" = "data data.view.json" ]
        slices_are_pieces 4 data.view.json
    done
    rm data*
    run -137 mpiio-view capture strace -f -qq -o /dev/null -e trace=/^rename \
        -e inject=/^rename:signal=KILL "$MPIIO_BUILD/tests/capture/kinds" darray data 3>&-
    [[ $output == *"mpiio-view: $tmp/data: not captured: the program ended without MPI_Finalize" ]]
    [ "$(echo data*)" = data ]
}

@test "capture: a program whose files are all deleted when they are closed" {
    run -0 --separate-stderr mpiio-view capture \
        sh -c "$MPIIO_BUILD/tests/capture/kinds temporary data || true" 3>&-
    [ "$stderr" = "mpiio-view: capture: nothing was captured: the program opened only files that it \
deletes when it closes them (MPI_MODE_DELETE_ON_CLOSE)" ]
}

@test "capture: a program in Python, by mpi4py" {
    local launcher=mpiexec.openmpi
    ldd /usr/lib/python3/dist-packages/mpi4py/MPI.*.so | grep -q 'libmpi\.so' || launcher=mpiexec.mpich
    complains 0 "mpiio-view: wrote $tmp/data.view.json: 4 ranks, 1 view" \
        mpiio-view capture $launcher -n 4 /usr/bin/python3 "$call" darray data 3>&-
    slices_are_pieces 4 data.view.json
    mv data.view.json python.json
    run -3 seen mpich 4 kinds darray data
    diff data.view.json python.json
}

@test "capture: an MPI library that a plugin has loaded" {
    run -0 captured 4 plugin data
    says "wrote $tmp/data.view.json: 4 ranks, 1 view"
    spec_has .view '{"disp":"rank*8","etype":"double"}'
}

@test "capture: a program of another ABI is not affected" {
    local program=$MPIIO_BUILD/tests/capture/foreign
    run -0 --separate-stderr mpiio-view capture "$program"
    [ "$output" = "0 0 0 0" ]
    [ "$stderr" = "mpiio-view: $program: nothing is captured: its MPI library, \
${program%/*}/libforeign.so, is neither MPICH, nor one with its ABI, nor Open MPI (build the \
program with one of these, or write the spec: viewspec(5))" ]
}

@test "capture: a library that is not installed for the program's MPI is reported" {
    cp "$(find "$MPIIO_STAGE" -name libmpiio-capture.so)" .
    run -3 --separate-stderr env LD_PRELOAD="$tmp/libmpiio-capture.so" \
        "$MPIIO_BUILD/tests/capture/kinds-openmpi" darray data
    [ "$output" = "rank 0 of 1 is done" ]
    [ "$stderr" = "mpiio-capture: $MPIIO_BUILD/tests/capture/kinds-openmpi: nothing is captured: \
its MPI library is Open MPI: $tmp/libmpiio-capture-openmpi.so: cannot open shared object file: No \
such file or directory" ]
}

@test "capture: a message that several processes report is printed once" {
    ln -s "$MPIIO_BUILD/tests/capture/foreign" .
    run -0 --separate-stderr mpiio-view capture \
        sh -c 'for i in 1 2 3; do ./foreign; done'
    [ "${#lines[@]}" -eq 3 ]
    [ "$(grep -c 'nothing is captured' <<<"$stderr")" -eq 1 ]
}

@test "capture: output, exit status and the file are the same as without capture" {
    local name
    for name in darray nested changing alone refused; do
        rm -rf plain seen
        mkdir plain seen
        cd "$tmp/plain"
        run -3 --separate-stderr mpi mpich 4 kinds $name data
        sort <<<"$output" >../plain.out
        sort <<<"$stderr" >../plain.err
        cd "$tmp/seen"
        run -3 seen mpich 4 kinds $name data
        diff ../plain.out <(sort out)
        diff <(sed '/^$/d' ../plain.err) <(grep -v '^mpiio-view: ' err | sort)
        rm -f out err said data.view.json
        cd "$tmp"
        diff -r plain seen
    done
}

@test "capture: processes that Open MPI starts on several hosts" {
    make_hosts 2
    # Like ssh, it does not pass the environment on.
    executable ssh <<END
exec env -u LD_PRELOAD -u MPIIO_CAPTURE_DIR -u MPIIO_CAPTURE_LOG "$tmp/launcher" "\$@"
END
    export other=yes
    unset OMPI_MCA_plm OMPI_MCA_btl
    run -3 at switch timeout -s KILL 300 "$(command -v mpiio-view)" capture -o at -- mpiexec.openmpi \
        -x other --mca plm_rsh_agent "$tmp/ssh" --mca btl tcp,self --host node0:1,node1:1 \
        "$MPIIO_BUILD/tests/capture/kinds-openmpi" darray at/data
    [[ $output == *"wrote $tmp/at/data.view.json: 2 ranks, 1 view"* ]]
}

@test "capture: -o writes the specs into a directory, and distinguishes files with the same name" {
    mkdir specs a b
    run -3 seen mpich 2 kinds darray a/data
    rm a/data.view.json
    cat >both <<END
mpiexec.mpich -n 2 $MPIIO_BUILD/tests/capture/kinds darray a/data
mpiexec.openmpi -n 2 $MPIIO_BUILD/tests/capture/kinds-openmpi darray b/data
true
END
    run -0 --separate-stderr mpiio-view capture -o specs bash both 3>&-
    [ "$(jq -r .file specs/data.view.json)" = "$tmp/a/data" ]
    [ "$(jq -r .file specs/data.2.view.json)" = "$tmp/b/data" ]
    [ "$(find specs a b -type f | wc -l)" -eq 4 ]
    slices_are_pieces 2 specs/data.2.view.json
    # A later run replaces the specs of an earlier one.
    run -0 --separate-stderr mpiio-view capture -o specs bash both 3>&-
    [ "$(find specs -type f | wc -l)" -eq 2 ]
}

@test "capture: a command keeps its status, signals and preloaded libraries" {
    local pid status=0
    run -7 mpiio-view capture sh -c 'exit 7'
    run -137 mpiio-view capture sh -c 'kill -KILL $$'
    fails 127 "capture: no-such-command: No such file or directory" mpiio-view capture no-such-command
    fails 126 "capture: $tmp: Permission denied" mpiio-view capture "$tmp"
    run -0 env LD_PRELOAD=libm.so.6 mpiio-view capture printenv LD_PRELOAD
    [[ ${lines[0]} == libm.so.6:/*/libmpiio-capture.so ]]
    mpiio-view capture sh -c 'trap "echo caught; exit 5" TERM; touch ready; while :; do sleep 0.05; done' \
        >out 2>err 3>&- &
    pid=$!
    await [ -e ready ]
    kill -TERM $pid
    wait $pid || status=$?
    [ "$status" -eq 5 ]
    [ "$(cat out)" = caught ]
}

# With one rank, because several would spin in each call of each thread while they wait for each
# other.
@test "capture: threads that each have a file" {
    local i
    run -3 captured 1 kinds threads data
    [ "$(sort said)" = "$(for i in 0 1 2 3; do
        echo "mpiio-view: wrote $tmp/data.$i.view.json: 1 rank, 10 views"
    done)" ]
    for i in 0 1 2 3; do
        spec_has '.views.view10.disp' 1000 data.$i.view.json
    done
}

# the_first_thousand: capture reports that there were more views, and the spec has the first ones.
the_first_thousand() {
    [ "$(cat said)" = "mpiio-view: $tmp/data: more than 1000 different views were set: the first \
ones are captured
mpiio-view: wrote $tmp/data.view.json: 1 rank, 1000 views" ]
    spec_has '.views | .view1.disp, .view1000.disp' $'1\n1000'
}

@test "capture: of very many views, the first thousand are captured" {
    run -3 captured 1 kinds many data
    the_first_thousand
}

# large KIND: captures that kind of the program with one rank. Capture's own output is in "said".
large() {
    timeout -s KILL 300 "$(command -v mpiio-view)" capture -- "$MPIIO_BUILD/tests/capture/large" "$1" data \
        </dev/null >out 2>err 3>&-
    grep '^mpiio-view: ' err >said || true
}

@test "capture: datatypes with too many uses are given up, with one line" {
    large shared
    says "$tmp/data: a view is not captured: rank 0: its datatypes are too large, each use of one counted"
    large too-many-blocks
    says "$tmp/data: a view is not captured: rank 0: its datatypes are too large, each use of one counted"
}

@test "capture: setting a view again costs little more than without capture" {
    large often
    says "wrote $tmp/data.view.json: 1 rank, 3 views"
    large large-often
    says "wrote $tmp/data.view.json: 1 rank, 1 view"
    [ "$(jq '.view.filetype.displacements | length' data.view.json)" = 1000000 ]
}

@test "capture: no more views of a file than a spec may have" {
    large large-views
    [ "$(cat said)" = "mpiio-view: $tmp/data: a view is not captured: rank 0: the views of this file \
are too large together
mpiio-view: wrote $tmp/data.view.json: 1 rank, 4 views" ]
    mpiio-view check data.view.json >/dev/null
}

@test "capture: a file that is opened again and again gives its first thousand views" {
    large reopened
    the_first_thousand
}

@test "capture: wrong usage" {
    misused "COMMAND is missing" capture
    misused "--no-such: no such option" capture --no-such true
    fails 1 "capture: -o none: No such file or directory" mpiio-view capture -o none true
    fails 1 "capture: -o : No such file or directory" mpiio-view capture -o "" true
    touch file
    fails 1 "capture: -o file: Not a directory" mpiio-view capture -o file true
    run -0 --separate-stderr mpiio-view capture true
    [[ $stderr == "mpiio-view: capture: nothing was captured: "* ]]
    run -0 mpiio-view capture --help
    [[ ${lines[0]} == "Usage: mpiio-view capture "* ]]
}

@test "capture: an unwritable directory does not affect the program" {
    user_folder closed
    chmod 777 .
    cp "$MPIIO_BUILD/tests/capture/kinds" . # the build directory may be closed to the user
    as_user mpiexec.mpich -n 2 ./kinds darray closed/data || [ $? -eq 3 ]
    chmod 555 closed
    run -3 as_user env PATH="$PATH" mpiio-view capture mpiexec.mpich -n 2 ./kinds darray closed/data
    [[ $output == *"mpiio-view: $tmp/closed/data.view.json: Permission denied"* ]]
}

@test "capture: a path with a newline is not captured, and no file is removed" {
    local folder=$tmp/d$'\ntemporary\tp\t'$tmp
    echo mine >own
    mkdir -p "$folder"
    job_line 3 "*/own: not captured: its path is not plain text*" mpiio-view capture "$MPIIO_BUILD/tests/capture/kinds" darray "$folder/own" 3>&-
    [ "$(cat own)" = mine ]
}

@test "capture: names that others have put beside the file redirect nothing" {
    echo mine >own
    ln -s "$tmp/own" data.view.json
    # shellcheck disable=SC2016 # for the other shell, which will have the program's number
    run -3 mpiio-view capture bash -c '
        ln -s own "data.view.json.$(hostname).$$"
        exec "$MPIIO_BUILD/tests/capture/kinds" darray data' 3>&-
    [[ $output == *"wrote $tmp/data.view.json: 1 rank, 1 view"* ]]
    [ "$(cat own)" = mine ]
    [ ! -L data.view.json ]
    jq -e .view data.view.json >/dev/null
    [ "$(find . -name 'data.view.json*' ! -type l)" = ./data.view.json ]
}

@test "capture: a log that belongs to another user is not written" {
    local library log
    library=$(find "$MPIIO_STAGE" -name libmpiio-capture.so)
    echo mine >own
    ln -s own symbolic
    ln own hard
    mkfifo pipe
    for log in symbolic hard pipe; do
        run -3 --separate-stderr env MPIIO_CAPTURE_LOG="$log" LD_PRELOAD="$library" \
            "$MPIIO_BUILD/tests/capture/kinds" darray data
        [[ $stderr == *"mpiio-capture: wrote $tmp/data.view.json: 1 rank, 1 view"* ]]
        [ "$(cat own)" = mine ]
    done
}
