/* SPDX-License-Identifier: MIT */
#ifndef VS_RECORD_H
#define VS_RECORD_H

/*
 * Private to viewspec/: the sequence of basic types in a type, regardless of their displacements.
 * It is much smaller than the loops of node.h.
 */

#include "viewspec/base/arena.h"
#include "viewspec/basic.h"

struct vs_record;

/*
 * count adjacent instances of a basic type or of a record. Passed by value. If count is 0 there is
 * no data, and nothing else is set.
 */
struct vs_repeat {
    int64_t count;
    int64_t native, file;           /* bytes of one instance in memory, and in the file */
    const struct vs_basic *basic;   /* NULL: a record */
    const struct vs_record *record; /* in an arena, may be shared */
};

/*
 * Parts that follow each other. Neighbours differ, so that a record has elements of at least two
 * basic types.
 */
struct vs_record {
    int64_t count; /* >= 2 */
    const struct vs_repeat *parts;
    const int64_t *native,
        *file; /* bytes before part i; count + 1 entries, the last is the total */
};

/* Overflow and lack of memory are noted in arena; the results must then not be used. */

/* Returns count times old. Both products, count * old in bytes, are checked. */
struct vs_repeat vs_repeat_times(struct vs_arena *arena, int64_t count,
                                 const struct vs_repeat *old);

/* Returns the count entries of list in turn. list is in arena, and is overwritten. */
struct vs_repeat vs_repeat_list(struct vs_arena *arena, int64_t count, struct vs_repeat *list);

#endif
