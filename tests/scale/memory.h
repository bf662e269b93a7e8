/* SPDX-License-Identifier: MIT */
#ifndef SCALE_MEMORY_H
#define SCALE_MEMORY_H

#include <stddef.h>

/*
 * What one of many engines in a process has from malloc: so that it can be counted, and given back
 * when the engine dies. What src/engine calls is linked with --wrap.
 */
struct memory {
    struct memory_piece *pieces;
    size_t bytes, most; /* now, and at most */
};

/* From now on what is allocated and freed is memory's; NULL: it is the program's own. */
void memory_use(struct memory *memory);

void memory_free(struct memory *memory);

#endif
