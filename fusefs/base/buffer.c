/* SPDX-License-Identifier: MIT */
#include "buffer.h"

#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)

void *fs_buffer_new(size_t size)
{
    size_t whole = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    void *memory = NULL;

    if (posix_memalign(&memory, LARGE_PAGE, whole) != 0)
        return NULL;
    madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}
