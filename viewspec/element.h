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
 * The elements of a view are the basic values of its etypes. A slice is a sequence of elements in
 * their native sizes; the positions (map.h) are the same sequence in the sizes of the file.
 * Conversion works on whole elements.
 *
 * Slice offsets in this header are packed offsets (vs_view_gaps): elements are adjacent also in a
 * view with a buftype.
 *
 * The types of an etype are kept nested and never expanded. A walk starts in
 * O(depth * log(width)) steps, and memory depends on the length of the spec only.
 */

/* Elements of one basic type that are adjacent in the slice and in position order. */
struct vs_elements {
    const struct vs_basic *basic; /* an element of a complex type is both parts */
    int64_t native, file;         /* bytes of one element in the slice, and in the file */
    int64_t offset;               /* slice offset of the first one */
    int64_t position;             /* its position */
    int64_t count;                /* > 0 */
};

/* The number of frames in a cursor: types nest no deeper (viewspec(5)). */
#define VS_ELEMENT_DEPTH 64

struct vs_record;
struct vs_element_frame {
    const struct vs_record *record;
    int64_t part; /* the current part of the record */
    int64_t left; /* instances of that part after the current one */
};

/*
 * Walks elements in slice order. The fields are private. A cursor owns no memory and borrows the
 * view; one thread may use it at a time.
 */
struct vs_element_cursor {
    struct vs_elements run; /* the next elements, up to the end of the current part */
    int64_t end;            /* slice offset after the last byte of the range */
    int depth;
    struct vs_element_frame frames[VS_ELEMENT_DEPTH];
};

/*
 * Starts a walk of the elements of view that hold the slice bytes [offset, offset + length). The
 * first element holds the byte at offset and the last one the byte before offset + length, so both
 * may extend beyond the range. The size of the file does not matter. Etypes whose slice offsets or
 * positions exceed 64 bits are left out. The walk is empty if offset is negative or length is not
 * positive. Local.
 */
void vs_elements_start(struct vs_element_cursor *cursor, const struct vs_view *view, int64_t offset,
                       int64_t length);

/*
 * Gets the next elements of one basic type, also across the ends of etypes. Returns false at the
 * end. If facts->basic is set, the first run is the whole range. Local.
 */
bool vs_elements_next(struct vs_element_cursor *cursor, struct vs_elements *run);

/*
 * Gets the element that holds the byte at position, as a run of one. Returns false if position is
 * negative or after the last etype that fits 64 bits. O(depth * log(width)). Local.
 */
bool vs_elements_find(const struct vs_view *view, int64_t position, struct vs_elements *run);

/*
 * Returns the slice offset of position: the offset of its element, plus the offset of the byte in
 * the element if the element has the same size in the file. Local.
 */
int64_t vs_elements_offset(const struct vs_view *view, int64_t position);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
