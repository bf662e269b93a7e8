/* SPDX-License-Identifier: MIT */
#ifndef VS_LIST_H
#define VS_LIST_H

/* Growing lists. Not installed. */

#include <stddef.h>
#include <stdlib.h>

/*
 * Returns the list with room for one more element of size bytes. A full list is reallocated with
 * twice the room. The list may be NULL, with room 0. If out of memory, returns NULL and leaves the
 * list unchanged. Local.
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

/*
 * Makes room for one more element in `list`, which has count elements and may move. list and room
 * must be lvalues without side effects. Returns false if out of memory, and leaves the list
 * unchanged.
 */
#define VS_LIST_ROOM(list, count, room)                                                            \
    __extension__({                                                                                \
        void *vs_moved = vs_list_grow((list), (size_t)(count), &(room), sizeof(*(list)));          \
                                                                                                   \
        if (vs_moved)                                                                              \
            (list) = vs_moved;                                                                     \
        vs_moved != NULL;                                                                          \
    })

#endif
