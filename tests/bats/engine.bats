#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-engine on one machine. A program that takes the place of the daemons hands in blocks, and
# compares the file with a model of all nodes' writes.

load helper

fake=--daemon=$MPIIO_BUILD/tests/engine/fake_daemon

# start_engines NODES [OPTION]... [-- OPTION-OF-FAKE_DAEMON...]: starts engines. The daemons'
# reports are report0, ...
start_engines() {
    local nodes=$1 own=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        own+=("$1")
        shift
    done
    shift || true
    timeout -s KILL 300 "$(mpich_mpiexec)" -n "$nodes" ${tracer:+"${tracer[@]}"} \
        "$MPIIO_SBIN/mpiio-engine-mpich" "${own[@]}" -- "$@" "$tmp/report%n" </dev/null 3>&-
}

# flush NODES [OPTION-OF-FAKE_DAEMON]...: has the engines flush the file $file, and checks the
# reports.
flush() {
    local nodes=$1 node
    shift
    rm -f report*
    run -0 --separate-stderr start_engines "$nodes" "$fake" -- --file="$file" "$@"
    [ "$output" = ready ]
    [ -z "$stderr" ]
    for ((node = 0; node < nodes; node++)); do
        jq -e -s 'last.ended == "done" and all(.[]; has("wrong") | not)' "report$node" >/dev/null ||
            {
                cat "report$node" >&2
                return 1
            }
    done
}

# old_file BYTES: makes the file's contents before the first epoch, also for the model.
old_file() {
    file=$tmp/field.dat
    make_file "$file" "$1"
    cp "$file" "$file.before"
}

# total KEY[,KEY]... [EPOCH]: prints the sums of these values in all nodes' reports.
total() {
    jq -rs --arg keys "$1" --argjson epoch "${2:-1}" '[.[] | select(.epoch == $epoch)] as $all |
        [$keys | split(",")[] as $key | [$all[][$key]] | add] | join(" ")' report*
}

# first_epoch NODES: succeeds once that many nodes have reported the first epoch.
first_epoch() {
    [ "$(cat report* 2>/dev/null | grep -c '"epoch": 1,')" -eq "$1" ]
}

@test "engine: --help, --version, and wrong usage, which is reported once" {
    run -0 mpiio-engine-mpich --help
    [[ $output == "Usage: mpiexec ... mpiio-engine "* ]]
    run -0 mpiio-engine-mpich --version
    [[ $output == "mpiio-engine "[0-9]* ]]
    complains 2 "mpiio-engine: unknown option: --frob (see --help)" start_engines 3 --frob
    run -2 --separate-stderr mpiio-engine-mpich s.json mnt
    [ "$stderr" = 'mpiio-engine: "--" and the daemon'"'"'s arguments are missing (see --help)' ]
    complains 2 "mpiio-engine: the daemon's arguments are missing (see --help)" mpiio-engine-mpich --
    complains 2 "mpiio-mount: an argument is missing after --daemon (see --help)" \
        mpiio-engine-mpich --name=mpiio-mount --daemon
}

@test "engine: random blocks of four nodes are in the file byte for byte, and nothing else is" {
    local store
    unset MPIR_CVAR_NOLOCAL # through MPICH's shared memory, as on users' hosts
    for store in auto posix mpiio; do
        old_file 5000001
        flush 4 --mode=random --blocks=30 --epochs=2 --seed=7 --store=$store
    done
}

@test "engine: one node, and a file whose name has a colon" {
    old_file 5000
    mv field.dat a:b.dat
    mv field.dat.before a:b.dat.before
    file=$tmp/a:b.dat
    flush 1 --mode=random --blocks=20 --store=mpiio
    [ "$(total sent_bytes)" -eq 0 ]
    [ "$(total stored_bytes)" -eq "$(total dirty_bytes)" ]
}

@test "engine: interleaved blocks of 2 and 4 nodes are stored once, in one run, without a read" {
    local nodes store sent received
    for nodes in 2 4; do
        for store in auto posix mpiio; do
            old_file 1000
            flush $nodes --mode=interleave --blocks=16 --store=$store
            # Each home and group stores a run of 4 MiB.
            [ "$(total dirty_bytes,stored_bytes,merged_runs,store_calls)" = "$((16 << 20)) $((16 << 20)) 4 4" ]
            # A node sends the data of blocks that it is not the home of, and one bit for each byte
            # of a block.
            read -r sent received < <(total sent_bytes,received_bytes)
            [ "$sent" -eq "$received" ]
            [ "$sent" -le $(((16 << 20) * (nodes - 1) * (8 + nodes) / (nodes * 8) + 10000)) ]
        done
    done
}

@test "engine: the system calls on the file are exactly the writes that are counted" {
    old_file 1000
    # Traces the engines alone, because node 0's daemon reads the file for the model.
    # shellcheck disable=SC2016 # for the inner shell
    tracer=(bash -c 'exec strace -qq -o "calls.$PMI_RANK" -P "$file" \
        -e trace=read,readv,pread64,preadv,mmap,write,writev,pwrite64,pwritev "$@"' trace)
    export file
    flush 2 --mode=random --blocks=8 --store=mpiio
    run ! grep -hE '^(read|readv|pread64|preadv|mmap)\(' calls.*
    [ "$(cat calls.* | grep -c '^pwrite64(')" -eq "$(total store_calls)" ]
    [ "$(total store_calls)" -eq "$(total merged_runs)" ]
    [ "$(sed -n 's/^pwrite64(.* = //p' calls.* | jq -s add)" -eq "$(total stored_bytes)" ]
}

@test "engine: a node without data takes part" {
    old_file 0
    flush 3 --mode=full --lonely --blocks=13
    [ "$(jq -s '.[1].dirty_bytes' report0)" -eq 0 ]
    [ "$(total stored_bytes)" -eq $((4 << 20)) ]
}

@test "engine: data that does not fit into a round takes several, and the same node wins" {
    old_file 0
    flush 2 --mode=overlap --blocks=90
    [ "$(total rounds)" -gt 2 ]
    [ "$(total stored_bytes)" -eq $((90 << 20)) ]
    # Few bytes in many blocks: a home handles sixteen groups at a time.
    rm field.dat*
    old_file 77
    flush 2 --mode=sparse --blocks=120
    [ "$(total rounds)" -gt 2 ]
    [ "$(total stored_bytes)" -eq "$(total dirty_bytes)" ]
}

@test "engine: blocks with gaps between short runs are postponed if they may wait, and then stored" {
    old_file 100
    # One node's half is missing. No byte of a block is sent until the block may not wait longer.
    flush 2 --mode=interleave --blocks=12 --lonely --may-wait
    [ "$(total left_blocks)" -eq 12 ]
    [ "$(total sent_bytes)" -eq 0 ]
    [ "$(total stored_bytes)" -eq 0 ]
    [ "$(total failed)" -eq 12 ]
    [ "$(total errno)" -eq 11 ] # EAGAIN
    [ "$(total stored_bytes 2)" -eq $((6 << 20)) ]
    [ "$(total left_blocks 2)" -eq 0 ]
}

@test "engine: blocks that are whole, in long runs, or of a node that cannot wait are not postponed" {
    local mode
    local -A node=([sparse]=1)
    for mode in interleave full sparse; do
        rm -f field.dat*
        old_file 100
        # A node that cannot wait is in all blocks, except in mode full.
        flush 2 "--mode=$mode" --blocks=12 "--may-wait=${node[$mode]:-}"
        [ "$(total left_blocks)" -eq 0 ]
        [ "$(total stored_bytes)" -eq "$(total dirty_bytes)" ]
    done
}

@test "engine: hints reach MPI-IO, except for those that would make it read, modify and write back" {
    old_file 1000
    flush 2 --mode=full --blocks=4 --store=mpiio --hint=cb_buffer_size:1048576 \
        --hint=romio_ds_write:enable --hint=romio_cb_write:enable --hint=romio_no_indep_rw:true
    jq -e -s '.[0].hints | .cb_buffer_size == "1048576" and .romio_cb_write == "disable" and
        .romio_ds_write == "disable" and .romio_no_indep_rw == "false"' report0
    # Without MPI-IO there are no hints.
    flush 2 --mode=full --blocks=4 --store=posix --hint=cb_buffer_size:1048576
    jq -e -s '.[0].hints == {}' report1
}

@test "engine: a full disk: nodes with unsaved data get the errno, and a second flush saves it" {
    local store
    for store in auto posix mpiio; do
        ram_disk 20m
        file=$tmp/disk/field.dat
        : >"$file"
        cp "$file" "$file.before"
        head -c 12M /dev/zero >disk/filler
        rm -f report* go
        (
            await first_epoch 3
            rm disk/filler
            touch go
        ) 3>&- &
        flush 3 --mode=full --blocks=15 --store=$store --wait="$tmp/go"
        wait
        [ "$(total failed)" -gt 0 ]
        [ "$(total failed)" -lt 15 ]
        # A node with failed blocks gets the reason; one without gets nothing.
        jq -e -s 'all(.[] | select(.epoch == 1); (.errno == 28) == (.failed > 0))' report*
        [ "$(total blocks 2)" -eq "$(total failed)" ]
        [ "$(total failed 2)" -eq 0 ]
        as_root umount disk
    done
}

@test "engine: a full disk: the first run that finds no room ends its block" {
    local store
    # shellcheck disable=SC2016 # for the inner shell
    tracer=(bash -c 'exec strace -f -qq -o "calls.$PMI_RANK" -e trace=fallocate,pwrite64 "$@"' trace)
    ram_disk 4m
    file=$tmp/disk/field.dat
    # The first block is allocated and can be overwritten. The others have no space.
    head -c 1M /dev/zero >"$file"
    fill_disk
    for store in posix mpiio auto; do
        rm -f calls.*
        # 65536 runs of 8 bytes in each block.
        flush 2 --mode=interleave --lonely --blocks=8 --store=$store --no-check
        [ "$(total failed)" -eq 7 ]
        [ "$(total errno)" -eq 28 ]
        [ "$(total stored_bytes)" -ge $((1 << 19)) ]
        [ "$(cat calls.* | grep -c ENOSPC)" -le 14 ]
    done
}

@test "engine: a limit of the file's size: EFBIG for the blocks beyond it, and for no others" {
    local store
    tracer=(prlimit --fsize=$((64 << 20)))
    for store in auto posix mpiio; do
        old_file 0
        # A few bytes in each third block of the file. The last 18 blocks lie past 64 MiB.
        flush 2 --mode=sparse --blocks=40 --store=$store --no-check
        jq -e -s '[.[] | select(.epoch) | [.failed, .errno]] | unique == [[18, 27]]' report*
    done
}

@test "engine: blocks and slots that do not exist get an error of their own" {
    old_file $((3 << 20))
    flush 2 --blocks=4 --invalid
    [ "$(total failed)" = 0 ]
    [ "$(total blocks,failed 2)" = "6 6" ]
}

@test "engine: a daemon that fails to start: one message with its host, its status, and nothing left" {
    local how want status
    old_file 1000
    for how in hello-tell ready-tell hello-print ready-print hello-die hello-babble ready-babble \
        hello-readonly; do
        case $how in
        *-tell) want="the spec is not to be had" ;;
        *-print) want="printed on the way out" ;;
        *-die) want="$MPIIO_BUILD/tests/engine/fake_daemon was killed by signal 9" ;;
        *-babble) want="$MPIIO_BUILD/tests/engine/fake_daemon: another version than that of mpiio-engine" ;;
        *-readonly) want="the file is read-only here, and not on other nodes (mount it read-only with -o ro)" ;;
        esac
        rm -f report*
        run --separate-stderr start_engines 3 --name=mpiio-mount "$fake" -- --file="$file" --fail=$how --fail-node=1
        [ "$stderr" = "mpiio-mount: $(hostname): $want" ]
        [ "$output" = "failed $status" ]
        case $how in
        *-tell) [ "$status" -eq 2 ] ;;
        *) [ "$status" -eq 1 ] ;;
        esac
        [ "$(jq -r .ended report0)" = quit ]
        [ "$(jq -r .ended report2)" = quit ]
        nothing_left
    done
}

@test "engine: nodes with different files, or a file that has replaced the daemon's, are refused" {
    local store
    old_file 1000
    run -1 --separate-stderr start_engines 3 "$fake" -- \
        --file="$file" --fail=hello-other --fail-node=2 --wait="$file.before"
    [ "$stderr" = "mpiio-engine: $(hostname): $file.before: not the same file here as on node 0 ($(hostname))" ]
    for store in auto posix mpiio; do
        job_line 1 "mpiio-engine: $(hostname): $file: another file than the daemon has open*" \
            start_engines 2 "$fake" -- --file="$file" --identity="$file.before" --store=$store
    done
    cmp "$file" "$file.before"
    nothing_left
}

@test "engine: a program or a file that does not exist: reported once, and nothing left" {
    run -1 --separate-stderr start_engines 3 --daemon="$tmp/none" -- --file="$tmp/field.dat"
    [ "$stderr" = "mpiio-engine: $(hostname): cannot start $tmp/none: No such file or directory" ]
    local store
    for store in auto posix mpiio; do
        job_line 1 "mpiio-engine: $(hostname): $tmp/field.dat: cannot open: No such file*" \
            start_engines 3 "$fake" -- --file="$tmp/field.dat" --store=$store
    done
    nothing_left
}

@test "engine: a daemon that dies in an epoch leaves no engine, and the others learn it" {
    old_file 1000
    run --separate-stderr start_engines 3 "$fake" -- \
        --file="$file" --mode=random --blocks=12 --epochs=50 --fail=epoch-die --fail-node=1
    [ "$status" -ne 0 ]
    [ "$output" != "" ]
    nothing_left
    jq -e -s 'last | has("wrong") or (.ended // "done") != "done"' report0
    jq -e -s 'last | has("wrong") or (.ended // "done") != "done"' report2
}

@test "engine: a daemon that dies in an epoch which cannot finish leaves no engine" {
    old_file 1000
    run --separate-stderr start_engines 3 "$fake" -- \
        --file="$file" --mode=random --blocks=12 --fail=epoch-die-alone --fail-node=1
    [ "$status" -ne 0 ]
    [ "$status" -ne 137 ] # that of a timeout
    nothing_left
    cmp "$file" "$file.before"
}

# The engine waits in poll(2), which it uses only to wait for its lease.
waits_for_lease() {
    local process
    process=$(marked mpiio-engine-mpich)
    [[ -n $process && $(cat "/proc/$process/wchan") == *poll* ]]
}

@test "engine: nothing is stored without a lease" {
    local store
    for store in posix mpiio auto; do
        old_file 1000
        rm -f go
        flush 1 --mode=random --blocks=12 --store=$store --lease="$tmp/go" &
        await waits_for_lease
        cmp "$file" "$file.before"
        touch go
        wait $!
        rm "$file"
    done
}

@test "engine: the limit of descriptors is raised for all its connections" {
    # Over TCP an engine needs about 30, and two for each other node.
    tracer=(env "UCX_TLS=tcp,self" prlimit --nofile=33:400)
    old_file 1000
    flush 4 --mode=random --blocks=12
}

@test "engine: exits cleanly over TCP every time" {
    # Without a remedy, MPI_Finalize hangs in one of four runs.
    tracer=(env "UCX_TLS=tcp,self")
    old_file 1000
    for _ in {1..12}; do
        flush 4 --mode=random --blocks=4
        cp "$file.before" "$file"
    done
    nothing_left
}

@test "engine: waits without using the processor, even if MPI is configured to make progress all the time" {
    local variable
    old_file 1000
    for variable in '' MPIR_CVAR_ASYNC_PROGRESS=1 MPICH_ASYNC_PROGRESS=1; do
        tracer=(env ${variable:+"$variable"})
        flush 3 --mode=random --blocks=4 --idle
        jq -e -s 'any(.[]; has("idle_ticks"))' report2
        cp "$file.before" "$file"
    done
}

@test "engine: the table of errors matches the manual" {
    sed -n 's/^ *{\(MPI_ERR_[A-Z_]*\), \(E[A-Z]*\)},$/\1 \2/p' "$top/src/engine/file_write.c" >code
    awk '/^MPI_ERR_/ { print $1, $2 }' "$top/man/viewspec.5.scd" >manual
    [ -s code ]
    diff code manual
}

@test "engine: nodes exchange the numbers that are not 0, in as many messages as their number has bits" {
    local nodes
    for nodes in 1 2 3 7; do
        gives "0 wrong" timeout -s KILL 300 "$(mpich_mpiexec)" -n "$nodes" "$MPIIO_BUILD/tests/engine/transpose"
    done
}
