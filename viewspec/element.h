/* SPDX-License-Identifier: MIT */
#ifndef VS_ELEMENT_H
#define VS_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "basic.h"
#include "spec.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/*
 * The elements of a view: the basic values that its etypes are made of. A slice is a row of
 * elements, without gaps where its view has no buftype, each with its native size; slice offsets
 * are packed ones here (vs_view_gaps); so are the positions (map.h), each with its
 * size in the file. What is converted from one to the other is whole elements.
 *
 * The types of an etype are kept as they are nested and never expanded: a walk starts in
 * O(depth * log(width)) steps, and memory follows the length of the spec.
 */

/* Elements of one basic type, side by side in the slice and in position order. */
struct vs_elements {
    const struct vs_basic *basic; /* of a complex type, one element is both parts */
    int64_t native, file;         /* bytes of one element in the slice, and in the file */
    int64_t offset;               /* slice offset of the first one */
    int64_t position;             /* its position */
    int64_t count;                /* > 0 */
};

/* The frames a cursor keeps: types nest no deeper (viewspec(5)). */
#define VS_ELEMENT_DEPTH 64

struct vs_record;
struct vs_element_frame {
    const struct vs_record *record;
    int64_t part; /* which part of the record is under way */
    int64_t left; /* instances of that part behind the one under way */
};

/*
 * Walks elements in slice order. The fields are the cursor's own. A cursor holds no memory and
 * borrows the view; one thread uses it at a time.
 */
struct vs_element_cursor {
    struct vs_elements run; /* the next ones, as far as the part under way holds them */
    int64_t end;            /* slice offset behind the last byte that is asked for */
    int depth;
    struct vs_element_frame frames[VS_ELEMENT_DEPTH];
};

/*
 * Sets cursor to walk the elements of view that hold the slice bytes [offset, offset + length):
 * the first one holds the byte at offset, the last one the byte before offset + length, so both
 * may reach over the range's ends. The file's size does not matter; what lies behind the etypes
 * whose slice offsets and positions fit 64 bits is left out, and so is everything where offset is
 * negative or length not positive. Local.
 */
void vs_elements_start(struct vs_element_cursor *cursor, const struct vs_view *view, int64_t offset,
                       int64_t length);

/*
 * The next elements, as many as share their basic type (over the ends of etypes, too). Returns
 * false behind the last. Where facts->basic is set the first run is the whole range. Local.
 */
bool vs_elements_next(struct vs_element_cursor *cursor, struct vs_elements *run);

/*
 * The element that holds the byte at position, as a run of one. Returns false where position is
 * negative or behind the etypes that are not left out. O(depth * log(width)). Local.
 */
bool vs_elements_find(const struct vs_view *view, int64_t position, struct vs_elements *run);

/*
 * The slice offset of position: that of its element and, where this has the same size in the file,
 * as many bytes more. Local.
 */
int64_t vs_elements_offset(const struct vs_view *view, int64_t position);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
