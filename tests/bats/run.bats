#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs under mpiio-run see the same as without it. The calls that it serves are counted.

load helper
load under

@test "run: programs read the slices, and no read goes through the mount" {
    mount_new gaps
    mpiio-view cat g.json -r 1 >want
    under cat "$mnt/rank1" | cmp - want
    served 1
    under cmp "$mnt/rank1" want
    served 1
    under dd if="$mnt/rank1" bs=1000 skip=3 status=none | cmp - <(tail -c +3001 want)
    served 1
    under od -A d -t x8 -j 24 "$mnt/rank1" | cmp - <(od -A d -t x8 -j 24 want)
    served 1
    under cp "$mnt/rank1" copy
    cmp copy want
    served 1
    under sort "$mnt/rank1" | cmp - <(sort want)
    served 1
    under head -c 50 "$mnt/rank1" | cmp - <(head -c 50 want)
    served 1
    under tail -c 50 "$mnt/rank1" | cmp - <(tail -c 50 want)
    served 1
    [ "$(stat_of slice_reads)" -eq 0 ]
    [ "$(stat_of grants)" -eq 8 ]
}

@test "run: python reads and writes in all ways" {
    mount_new gaps
    mpiio-view cat g.json -r 2 >want
    under /usr/bin/python3 "$call" ways "$mnt/rank2"
    cmp -n "$(stat -c %s result)" "$mnt/rank2" result
    cmp -n "$(stat -c %s result)" <(mpiio-view cat g.json -r 2) result
    served 4
    [ "$(stat_of requests.write)" -eq 0 ]
}

@test "run: errors are the same as the mount's" {
    mount_new scatter
    under /usr/bin/python3 "$call" errors "$mnt/rank1" >have
    /usr/bin/python3 "$call" errors "$mnt/rank1" >want
    cat have
    cmp have want
    grep -q EBADF have
}

@test "run: a limit of file sizes applies to a slice, from when it is set" {
    mount_new scatter
    under /usr/bin/python3 "$call" limit "$mnt/rank1" >have
    /usr/bin/python3 "$call" limit "$mnt/rank1" >want
    cat have
    cmp have want
    grep -q EFBIG have
    # The first write that goes to the mount revokes the grant.
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted writes)" -eq 1 ]
    [ "$(counted limited)" -eq 1 ]
    # The limit is set before.
    rm counts
    under bash -c "ulimit -f 1; echo 1 | dd of=$mnt/rank1 bs=2 seek=300 conv=notrunc status=none"
    [ "$(counted limited)" -eq 1 ]
}

@test "run: fork, exec and dup share the file position" {
    mount_new scatter
    mpiio-view cat s.json -r 3 >want
    under /usr/bin/python3 "$call" place "$mnt/rank3" want
    [ "$(counted granted)" -eq 1 ]
}

@test "run: a descriptor that was closed unnoticed is not taken for a slice" {
    mount_new scatter
    echo other >other
    mpiio-view cat s.json -r 0 >want
    cp s.dat before
    under /usr/bin/python3 "$call" unseen "$mnt/rank0" want
    cmp s.dat before
    [ "$(counted granted)" -eq 3 ]
    rm counts
    # A program that closes all descriptors but the first three, one of which is a slice.
    under /usr/bin/python3 "$call" all_closed "$mnt/rank0" want
    [ "$(cat other)" = other ]
    [ "$(mpiio-view cat s.json -r 0 --offset 100 --length 4)" = here ]
    [ "$(counted granted)" -eq 1 ]
    [ "$(counted reads)" -eq 2 ]
}

@test "run: random writers of the exercise, on separate slices and on one" {
    mount_new blocks
    under timeout -k 5 300 "$MPIIO_BUILD/tests/exercise/exercise" --seconds=2 --ops=0 --slices \
        --dump=model "$mnt/rank0" "$mnt/rank1" 3>&-
    cmp "$mnt/rank0" model0
    cmp "$mnt/rank1" model1
    [ "$(counted writes)" -gt 0 ]
}

@test "run: a program keeps its own SIGBUS handler, and truncation raises no signal" {
    make_file x.dat 8388608
    mount_dealt x.dat 2 8
    under /usr/bin/python3 "$call" bus "$mnt/rank0"
    served 1
}

@test "run: a serial program for each rank, under mpiexec" {
    mount_new scatter
    mpi_run 4 mpiio-run -s dd if="$mnt/self" of="$mnt/self" bs=64 count=4 seek=8 conv=notrunc status=none \
        2>>counts
    served 8
    for rank in 0 1 2 3; do
        cmp <(mpiio-view cat s.json -r "$rank" --length 256) \
            <(mpiio-view cat s.json -r "$rank" --offset 512 --length 256)
    done
}

# members RUN: makes 8 members m0, m1, ... of 8 KiB, whose runs alternate in whole.dat. m.json
# assembles them.
members() {
    make_file whole.dat 65536
    local i
    for ((i = 0; i < 8; i++)); do
        mpiio-view cat -r $i --view "scatter $1 on 8 of byte" whole.dat >m$i
    done
    cat >m.json <<TEXT
{ "viewspec": 1,
  "members": { "count": 8, "file": "m{member:1}",
               "view": { "filetype": { "type": "scatter", "blocklength": $1 } } },
  "ranks": 3, "view": { "filetype": { "type": "scatter", "blocklength": 100 } } }
TEXT
}

@test "run: members are read by the program, and written by the mount" {
    members 2048
    mount_spec m.json
    mpiio-view cat m.json -r 1 >want
    under cmp "$mnt/whole" whole.dat
    served 1
    under cat "$mnt/rank1" | cmp - want
    served 1
    under dd if="$mnt/rank1" bs=10 skip=300 status=none | cmp - <(tail -c +3001 want)
    served 1
    [ "$(stat_of slice_reads)" -eq 0 ]
    under dd if=want of="$mnt/rank1" status=none
    [ "$(counted granted)" -eq 0 ]
    grep -q 'not granted: members are only read: 1' counts
    rm counts
    # Writes through the mount and to the members are seen.
    under /usr/bin/python3 "$call" members_are_read_by_the_program "$mnt/whole"
    [ "$(counted not_given)" -eq 1 ]
    rm counts
    under /usr/bin/python3 "$call" members_of_others_are_read "$mnt/whole"
    served 1
    # A member is replaced by another file, and another one gets shorter.
    cp m3 new && mv new m3
    under cmp -n 100 "$mnt/whole" <(head -c 100 "$mnt/whole")
    [ "$(counted granted)" -eq 0 ]
    grep -q 'not granted: the shared file cannot be opened' counts
    # The library's descriptors count towards the program's limit.
    rm counts
    mpiio-umount "$mnt"
    mount_spec m.json
    (ulimit -n 330 && under cmp "$mnt/whole" <(cat "$mnt/whole"))
    served 1
    (ulimit -n 300 && under cmp "$mnt/whole" <(cat "$mnt/whole"))
    [ "$(counted granted)" -eq 0 ]
}

@test "run: short reads of finely interleaved members go through the mount" {
    members 8
    truncate -s 4096 m7
    mount_spec m.json -o ro,missing=zero
    cp "$mnt/whole" want
    [ "$(stat -c %s want)" -eq 65528 ]
    under dd if="$mnt/whole" bs=16k status=none | cmp - want
    served 1
    under dd if="$mnt/whole" bs=4k status=none | cmp - want
    [ "$(counted short)" -eq 17 ]
    [ "$(counted fell_back)" -eq 17 ]
}

@test "run: the command's status, options and messages" {
    run -3 mpiio-run -- sh -c 'exit 3'
    complains 127 "mpiio-run: ./nothing: No such file or directory" mpiio-run ./nothing
    run -126 mpiio-run "$tmp"
    complains 2 "mpiio-run: COMMAND is missing (see mpiio-run --help)" mpiio-run
    run -2 mpiio-run --nothing true
    run -0 mpiio-run --version
    [[ $output == "mpiio-run "* ]]
    LD_PRELOAD=libm.so.6 run -0 mpiio-run printenv LD_PRELOAD
    [[ $output == libm.so.6:*/libmpiio-run.so ]]
    gives '' mpiio-run -s true
}

@test "run: the counts of a program are one clean line" {
    local name=$'./c\n\233t'
    make_file x.dat 4096
    mount_dealt x.dat 2 16
    cp /bin/cat "$name"
    mpiio-run -s "$name" "$mnt/rank0" 2>counts >/dev/null
    [ "$(wc -l <counts)" -eq 1 ]
    LC_ALL=C grep -q '^mpiio-run: c??t\[' counts
}

@test "run: tests of reading and writing pass under it" {
    local names
    mapfile -t names < <(compgen -v BATS_)
    env "${names[@]/#/--unset=}" MPIIO_TEST_RUN=1 bats \
        "$top"/tests/bats/{calls,sharing,tools,write}.bats 3>&-
}

# way NAME: runs run-ways NAME on rank 0 of x.dat, without mpiio-run and under it.
way() {
    make_file x.dat 8388608
    mount_dealt x.dat 2 16
    timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" "$1" "$mnt/rank0" x.dat
    make_file x.dat 8388608
    under timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" "$1" "$mnt/rank0" x.dat
    [ "$(counted granted)" -gt 0 ]
}

# cancel: threads are cancelled in calls, and no lock remains.
# jump: a handler that leaves a call by siglongjmp loses no write and no descriptor.
# fork: children of a process with threads use its streams.
# lock: the program's POSIX locks on the shared file and on slices stay.
# wide, reopen: streams support wide characters, and reopening.
# bus: the program's SIGBUS action is kept, with its flags, mask and stack, or ignored.
@test "run: threads, handlers, children, locks and streams of a program behave as without it" {
    local name
    for name in cancel jump fork lock wide reopen bus; do
        echo "$name:"
        way "$name"
        rm counts
        mpiio-umount "$mnt"
    done
}

@test "run: a handler that leaves writes to shared by siglongjmp loses no record that was written" {
    echo '{"viewspec": 1, "file": "t.dat", "view": {"etype": {"type": "contiguous", "count": 65536, "oldtype": "byte"}}}' >t.json
    : >t.dat
    mount_spec t.json
    under timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" take "$mnt/shared" t.dat
    [ "$(counted granted)" -eq 100 ]
}

@test "run: rev and ul read streams of wide characters" {
    seq 400 | tr '\n' ' ' | fold -s >s.dat
    mount_dealt s.dat 1 512
    under rev "$mnt/rank0" | cmp - <(rev s.dat)
    TERM=dumb under ul "$mnt/rank0" | cmp - <(TERM=dumb ul s.dat)
}

# If a program has threads, the kernel waits when it enlarges the table (run_reserve).
@test "run: the table of descriptors is enlarged before the program starts" {
    local size
    size=$(ulimit -n 1024 && env ${MPIIO_SANITIZER:+LD_PRELOAD="$MPIIO_SANITIZER"} \
        mpiio-run sed -n 's/^FDSize://p' /proc/self/status)
    ((size >= 1024 - 256))
}

# With low limits, the library's numbers begin at the lowest one that it reserves.
@test "run: close_range releases only the grants of its descriptors" {
    local limit
    way ranges
    for limit in '' 320 325; do
        if [ -n "$limit" ]; then
            rm counts
            (ulimit -n $limit && under timeout -s KILL 300 "$MPIIO_BUILD/tests/run/run-ways" ranges "$mnt/rank0" x.dat)
        fi
        [ "$(counted granted)" -eq 3 ]
        [ "$(counted reads)" -gt 300 ]
        [ "$(counted fell_back)" -eq 0 ]
    done
}

@test "run: copy_file_range fails where it fails without mpiio-run" {
    mount_new scatter
    /usr/bin/python3 "$call" copy "$mnt/rank0" "$mnt/rank1" >want
    mpiio-umount "$mnt"
    mount_new scatter
    under /usr/bin/python3 "$call" copy "$mnt/rank0" "$mnt/rank1" >have
    cat have
    cmp have want
    [ "$(counted granted)" -eq 3 ]
}

@test "run: the statistics are one clean line, and keep no standard error open" {
    mount_new scatter
    local how
    for how in close dup closerange daemon; do
        # cat exits when the last writer has closed the pipe.
        mpiio-run -s /usr/bin/python3 "$call" daemon "$mnt/rank0" $how 2>&1 >/dev/null | timeout 120 cat >>counts
        await test -s started.$how
        kill -KILL "$(cat started.$how)"
    done
    [ "$(counted slices)" -eq 4 ]
    # A program name with special characters.
    cp "$(command -v cat)" $'a\nb\e[2J'
    mpiio-run -s $'./a\nb\e[2J' "$mnt/rank0" 2>line >/dev/null
    [ "$(wc -l <line)" -eq 1 ]
    grep -q '^mpiio-run: a?b?\[2J\[' line
}
