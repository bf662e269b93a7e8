# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2154 # the variables are helper.bash's
# Programs under mpiio-view capture, with both MPIs. Load it after helper. The programs are in
# tests/capture. Each rank writes the data that it has read or written to rankN.viewK.

# line_of MPI RANKS PROGRAM [ARGUMENT...]: sets "line" to the command line of a program for mpich or
# openmpi, with that MPI's launcher.
line_of() {
    local name=$3
    [ "$1" = mpich ] || name+=-$1
    line=("mpiexec.$1" -n "$2" "$MPIIO_BUILD/tests/capture/$name" "${@:4}")
}

# mpi MPI RANKS PROGRAM [ARGUMENT...]: runs a program without capture.
mpi() {
    local line
    line_of "$@"
    patient "${line[@]}" </dev/null 3>&-
}

# seen MPI RANKS PROGRAM [ARGUMENT...]: runs it under capture. Capture's own output is in "said".
seen() {
    local line status=0
    line_of "$@"
    patient mpiio-view capture -- "${line[@]}" </dev/null >out 2>err 3>&- || status=$?
    grep '^mpiio-view: ' err >said || true
    return $status
}

# left_behind RANKS PROGRAM [ARGUMENT...]: prints what a captured program leaves in a folder. Either
# half of the program "halves" may have the first spec. Unknown types have other names in each MPI.
# The launcher may kill ranks of the program "exits", and reports that among the output.
left_behind() {
    [[ " $* " == *" exits "* ]] || sort out
    sed "s,$PWD/,,; s/ for MPI's .*//" said | sort
    find . -maxdepth 1 -name '*.view*' | sort
    find . -maxdepth 1 -name '*.view*' -exec md5sum {} + | sed 's/ .*//' | sort
    [ -e plan ] || find . -maxdepth 1 -name 'data*' ! -name '*.json' -exec md5sum {} +
}

# captured RANKS PROGRAM [ARGUMENT...]: the same with MPICH, and then with Open MPI in the folder
# $tmp/openmpi. The status is 99 unless the specs, the ranks' data, the output and the messages of
# both are equal.
captured() {
    local status=0 other=0
    rm -rf "$tmp/openmpi"
    mkdir "$tmp/openmpi"
    find . -maxdepth 1 -type f -exec cp -t "$tmp/openmpi" {} +
    seen mpich "$@" || status=$?
    left_behind "$@" >"$tmp/openmpi/expected"
    cd "$tmp/openmpi" || return
    seen openmpi "$@" || other=$?
    diff expected <(left_behind "$@") || other=99
    cd "$OLDPWD" || return
    # Only MPICH's launcher accepts processes that end without MPI_Finalize.
    [[ " $* " == *" exits "* || -e plan ]] && [ $other -ne 99 ] || [ $other -eq $status ] || status=99
    return $status
}

# holds PIECE SLICE: the slice begins with the rank's data.
holds() {
    [ -s "$1" ]
    cmp "$1" <(head -c "$(stat -c %s "$1")" "$2")
}

# slices_are_pieces RANKS SPEC [VIEW]: through a mount, each rank's slice is exactly its data. With
# a view's name, the slice begins with the data of the view of that number.
slices_are_pieces() {
    local rank
    mount_spec "$2" -o ro
    for ((rank = 0; rank < $1; rank++)); do
        if [ -n "${3:-}" ]; then
            holds "rank$rank.$3" "$mnt/$3/rank$rank"
        else
            [ -s "rank$rank.view1" ]
            cmp "rank$rank.view1" "$mnt/rank$rank"
        fi
    done
    umount "$mnt"
}

# says LINE: capture itself has printed only this line.
says() {
    diff <(echo "mpiio-view: $1") said
}
