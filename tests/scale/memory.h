/* SPDX-License-Identifier: MIT */
#ifndef SCALE_MEMORY_H
#define SCALE_MEMORY_H

#include <stddef.h>

/* The memory that one of many engines in a process has allocated. It can be counted, and is
   freed when the engine dies. The calls of src/engine are linked with --wrap. */
struct memory {
    struct memory_piece *pieces;
    size_t bytes, most; /* now, and the maximum */
};

/* Later allocations and frees belong to memory, or to the program itself if memory is NULL. */
void memory_use(struct memory *memory);

void memory_free(struct memory *memory);

#endif
