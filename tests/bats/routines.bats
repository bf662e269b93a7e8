#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mpiio-routines(7): it lists every routine, and its statements are true.

# shellcheck disable=SC2154 # helper.bash sets top and mnt
load helper

# nonblocking SLICE SEED [offsets]: compares random nonblocking reads and writes with a model.
nonblocking() {
    timeout 300 "$MPIIO_BUILD/tests/routines/nonblocking" "$1" "$2" 100 "${@:3}"
}

@test "routines: each routine of the standard, of the overview and of DONIO has a row, and no others do" {
    sort "$top"/tests/routines/{mpi,mpio,donio} >names
    [ "$(wc -l <names)" -gt 150 ]
    grep '^\*' "$top/man/mpiio-routines.7.scd" | sed '/(7)$/d' | grep -oE '\*[A-Za-z][A-Za-z0-9_]*\*' | tr -d '*' |
        grep -vE '^mpiio-|^viewspec' | sort >rows
    diff names rows
}

@test "routines: files are opened, sized, described and removed as the table says" {
    scatter_spec
    dealt new.dat 4 512 '"hints": {"striping_unit": "65536"},' >new.json
    # MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_CREATE, MPI_MODE_EXCL
    mount_spec s.json -o ro
    [ "$(error_of 'os.open(m + "/rank0", os.O_RDWR)')" = EROFS ]
    [ "$(stat_of writable)" = false ]
    [[ $(findmnt -n -o OPTIONS "$mnt") == *ro,* ]]
    mpiio-umount "$mnt"
    bash -c 'set -C; : >new.dat'
    run ! bash -c 'set -C; : >new.dat'
    rm new.dat
    mount_spec new.json -o rw,create
    [ "$(stat_of writable)" = true ]
    # MPI_File_set_size, MPI_File_preallocate, MPI_File_get_size
    truncate -s 8192 new.dat
    [ "$(stat -c %s "$mnt/rank3")" -eq 2048 ]
    truncate -s 1024 new.dat
    [ "$(stat -c %s "$mnt/rank1")" -eq 512 ]
    [ "$(stat -c %s "$mnt/rank3")" -eq 0 ]
    truncate -s 1024 "$mnt/rank0"
    [ "$(error_of 'os.truncate(m + "/rank0", 512)')" = EPERM ]
    fallocate -l 1024 "$mnt/rank3"
    [ "$(stat -L -c %s "$mnt/.mpiio/file")" -eq 4096 ]
    [ "$(stat -c %s new.dat)" -eq 4096 ]
    # MPI_MODE_WRONLY, MPI_MODE_APPEND
    echo first >"$mnt/rank0"
    echo second >>"$mnt/rank0"
    [ "$(head -n 1 "$mnt/rank0")" = first ]
    [ "$(tail -c +1025 "$mnt/rank0" | head -c 6)" = second ]
    # MPI_File_get_group, MPI_File_get_info, MPI_File_get_amode
    [ "$(stat_of ranks)" -eq 4 ]
    [ "$(stat_of nodes)" -eq 1 ]
    [ "$(jq -r .hints.striping_unit "$mnt/.mpiio/spec.json")" = 65536 ]
    exec 7<"$mnt/rank0"
    head -c 100 <&7 >first
    grep -qx 'pos:[[:space:]]*100' /proc/self/fdinfo/7 || grep -qx 'pos:[[:space:]]*100' "/proc/$$/fdinfo/7"
    exec 7<&-
    # MPI_File_delete
    [ "$(error_of 'os.remove(m + "/rank0")')" = EPERM ]
    rm "$(readlink "$mnt/.mpiio/file")"
    [ "$(head -n 1 "$mnt/rank0")" = first ]
    mpiio-umount "$mnt"
}

@test "routines: views are described, and offsets converted, as the table says" {
    mpiio-view spec --view 'scatter 2 on 2 of double at 16' -f x.dat >x.json
    make_file x.dat 4112
    mount_spec x.json
    [ "$(attribute "$mnt/rank1" disp)" -eq 16 ]
    [ "$(attribute "$mnt/rank1" datarep)" = native ]
    attribute "$mnt/rank1" etype | grep double
    attribute "$mnt/rank1" filetype | grep scatter
    [ "$(attribute "$mnt/rank1" extent)" -eq 32 ]
    # MPI_File_get_byte_offset: rank 1's etype 2 is byte 16 of its slice.
    [ "$(mpiio-view map x.json -r 1 --offset 16 --length 1 | awk '{ print $2 }')" -eq $((16 + 32 + 16)) ]
    mpiio-view owner x.json 64 | grep -w 16
    # MPI_File_read_at, MPI_File_write_at, MPI_File_seek, MPI_SEEK_END
    dd if="$mnt/rank1" bs=8 skip=2 count=1 status=none | cmp - <(tail -c +65 x.dat | head -c 8)
    printf 12345678 | dd of="$mnt/rank1" bs=8 seek=2 conv=notrunc status=none
    [ "$(tail -c +65 x.dat | head -c 8)" = 12345678 ]
    [ "$(error_of 'f = os.open(m + "/rank0", 0)' 'assert os.lseek(f, 0, 2) == 2048 and os.lseek(f, -8, 1) == 2040')" = none ]
    # MPI_File_set_atomicity, MPI_File_get_atomicity, MPI_File_sync
    setfattr -n user.mpiio.atomicity -v 1 "$mnt"
    [ "$(attribute "$mnt" atomicity)" -eq 1 ]
    setfattr -n user.mpiio.atomicity -v 0 "$mnt"
    sync "$mnt/rank0"
    # Another view is another mount, beside this one.
    mkdir other
    mpiio-mount --view 'scatter 1 on 2 of double' x.dat other
    cmp <(head -c 8 other/rank1) <(tail -c +9 x.dat | head -c 8)
    # MPI_File_read_shared on one machine: processes that inherit a slice share its position.
    (for _ in 1 2 3 4; do dd bs=8 count=64 status=none & done; wait) <"$mnt/rank0" | od -An -v -t x8 -w8 | sort >got
    od -An -v -t x8 -w8 "$mnt/rank0" | sort | cmp - got
}

@test "routines: errors are as in the table" {
    mount_new scatter
    errors_are <<'END'
EBADF os.read(999, 1)
EINVAL os.lseek(os.open(m + "/rank0", 0), -1, 0)
ENOENT os.open(m + "/none", 0)
EEXIST os.open(m + "/rank0", os.O_CREAT | os.O_EXCL | os.O_RDWR)
ENAMETOOLONG os.open(m + "/" + "x" * 256, 0)
EBUSY f = os.open(m + "/rank0", 0); os.setxattr(m, "user.mpiio.atomicity", b"1")
END
    run ! fallocate -p -o 0 -l 512 "$mnt/rank0"
    [[ $output == *unsupported* || $output == *"not supported"* ]]
    mpiio-umount "$mnt"
    one_line 2 "*exclude each other*" mpiio-mount -o ro,create s.json "$mnt"
    # MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_DUP_DATAREP
    one_line 2 "*vax*" mpiio-mount --view 'scatter 8 on 2 as vax' s.dat "$mnt"
    install -m 755 "$MPIIO_BUILD/tests/datarep/libvax.so" .
    sed 's/"filetype"/"datarep": { "name": "native", "library": ".\/libvax.so" }, "filetype"/' s.json >d.json
    one_line 2 "*the name is taken*" mpiio-mount d.json "$mnt"
    # MPI_MAX_DATAREP_STRING: 128 in MPICH.
    sed "s/\"name\": \"native\"/\"name\": \"$(printf 'x%.0s' {1..200})\"/; s/\"datarep\"/\"etype\": \"real\", \"datarep\"/" d.json >l.json
    mpiio-view check l.json
}

@test "routines: aio, io_uring and advice on slices do what read and write do" {
    [ -x "$MPIIO_BUILD/tests/routines/nonblocking" ] || skip 'no liburing'
    mount_new gaps 1000108
    nonblocking "$mnt/rank1" 1
    # Other modes of slices: with write-back, with the kernel's, and with passthrough.
    mpiio-umount "$mnt"
    mount_spec g.json -o cache=back,dirty_max=1M
    nonblocking "$mnt/rank1" 2
    mpiio-umount "$mnt"
    mount_spec g.json -o direct
    nonblocking "$mnt/rank1" 3 offsets
    mpiio-umount "$mnt"
    mount_spec g.json -o atomic
    nonblocking "$mnt/rank1" 6 offsets
    mpiio-umount "$mnt"
    mount_spec g.json -o unique
    nonblocking "$mnt/rank1" 4
    mpiio-umount "$mnt"
    mpiio-mount --view 'broadcast on 1' g.dat "$mnt"
    nonblocking "$mnt/rank0" 5
}

@test "routines: programs under mpiio-run use aio and io_uring beside read and write" {
    local seed
    [ -x "$MPIIO_BUILD/tests/routines/nonblocking" ] || skip 'no liburing'
    mount_new gaps 1000108
    for seed in 1 2 3; do
        mpiio-run "$MPIIO_BUILD/tests/routines/nonblocking" "$mnt/rank1" "$seed" 150
    done
}
