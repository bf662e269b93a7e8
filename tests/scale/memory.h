/* SPDX-License-Identifier: MIT */
#ifndef SCALE_MEMORY_H
#define SCALE_MEMORY_H

#include <stddef.h>

/* The memory that one of many engines in a process has from malloc, so that it can be counted, and
   freed when the engine dies. The calls of src/engine are linked with --wrap. */
struct memory {
    struct memory_piece *pieces;
    size_t bytes, most; /* now, and at most */
};

/* From now on what is allocated and freed is memory's; NULL: it is the program's own. */
void memory_use(struct memory *memory);

void memory_free(struct memory *memory);

#endif
