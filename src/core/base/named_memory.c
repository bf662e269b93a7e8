/* SPDX-License-Identifier: MIT */
#include "named_memory.h"

#include <sys/mman.h>
#include <unistd.h>

void *mpiio_named_memory(const char *name, size_t size)
{
    void *memory = MAP_FAILED;
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        return memory;
    close(fd);
    return NULL;
}
