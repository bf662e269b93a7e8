/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_EXTENTS_H
#define CAPTURE_EXTENTS_H

/*
 * Which bytes of a file a process has read, or written, call by call, in bounded memory: pieces of
 * one length at one stride are kept as one progression. No MPI here. Callers exclude each other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count pieces of length bytes, each stride bytes behind the one before; stride is 0 where count
 * is 1. */
struct capture_progression {
    int64_t start, length, stride, count;
};

/* Zero-initialised: nothing yet. */
struct capture_extents {
    struct capture_progression *list; /* owned; those that are complete */
    size_t count, room;
    int64_t offset, length; /* the piece that may still grow; length 0: none */
    bool given_up;          /* they are too many, or memory is out */
};

/* The length bytes from offset on were accessed: both are not negative, and nor is their sum. */
void capture_extents_add(struct capture_extents *extents, int64_t offset, int64_t length);

/*
 * Sorts the list and joins what overlaps or is adjacent: then each progression ends before the next
 * begins, and pieces do not touch. What lies at limit or behind it is left out.
 */
void capture_extents_finish(struct capture_extents *extents, int64_t limit);

void capture_extents_free(struct capture_extents *extents);

/* How many pieces the progressions have together. */
int64_t capture_pieces(const struct capture_progression *list, size_t count);

/*
 * The pieces of the progressions, as progressions of one: a new array of capture_pieces() elements.
 * NULL without memory.
 */
struct capture_progression *capture_expand(const struct capture_progression *list, size_t count);

#endif
