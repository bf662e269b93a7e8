/* SPDX-License-Identifier: MIT */
#ifndef VS_RECORD_H
#define VS_RECORD_H

/*
 * Private to viewspec/: which basic types follow each other in a type, wherever they lie. It is
 * what is left of a type without its displacements, and much smaller than the loops of node.h.
 */

#include "viewspec/base/arena.h"
#include "viewspec/basic.h"

struct vs_record;

/*
 * count instances of one thing side by side: of a basic type, or of a record. Passed by value.
 * count 0: no data, nothing else is set.
 */
struct vs_repeat {
    int64_t count;
    int64_t native, file;           /* bytes of one instance in memory, and in the file */
    const struct vs_basic *basic;   /* NULL: it is a record */
    const struct vs_record *record; /* lives in an arena, may be shared */
};

/*
 * Parts that follow each other, no two neighbours of the same thing: so a record has elements of
 * at least two basic types.
 */
struct vs_record {
    int64_t count; /* >= 2 */
    const struct vs_repeat *parts;
    const int64_t *native,
        *file; /* bytes before part i; count + 1 entries, the last is the total */
};

/* Overflow and lack of memory are noted in arena; what is returned then must not be used. */

/* count times what old is. Both products, count * old in bytes, are checked. */
struct vs_repeat vs_repeat_times(struct vs_arena *arena, int64_t count,
                                 const struct vs_repeat *old);

/* What the count entries of list are in turn. The list is in arena, and used up. */
struct vs_repeat vs_repeat_list(struct vs_arena *arena, int64_t count, struct vs_repeat *list);

#endif
