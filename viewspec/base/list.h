/* SPDX-License-Identifier: MIT */
#ifndef VS_LIST_H
#define VS_LIST_H

/* Lists that grow; not installed. */

#include <stddef.h>
#include <stdlib.h>

/*
 * The list, with room for one element more, of size bytes each: where all that there is room for
 * are in use, it moves, and has room for twice as many. The list may be NULL, with room 0. NULL
 * without memory: then it stays as it was. Local.
 */
static inline void *vs_list_grow(void *list, size_t count, size_t *room, size_t size)
{
    size_t larger = *room > 0 ? 2 * *room : 16;
    void *moved;

    if (count < *room)
        return list;
    moved = reallocarray(list, larger, size);
    if (moved)
        *room = larger;
    return moved;
}

#endif
