/* SPDX-License-Identifier: MIT */
#include "positions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sealed.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Atomic int64_t *mpiio_positions_new(size_t count, int *memory)
{
    return mpiio_sealed_new(MPIIO_POSITIONS_MEMORY, count * sizeof(int64_t), SEALS, memory);
}

_Atomic int64_t *mpiio_positions_map(int process, int memory, uint64_t inode, size_t count)
{
    void *base = MAP_FAILED;
    struct stat st;
    int fd = mpiio_sealed_open(process, memory, MPIIO_POSITIONS_MEMORY, O_RDWR, SEALS, &st);

    if (fd < 0)
        return NULL;
    if (st.st_ino == inode && (uint64_t)st.st_size / sizeof(int64_t) >= count)
        base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return base != MAP_FAILED ? base : NULL;
}
