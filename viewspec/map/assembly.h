/* SPDX-License-Identifier: MIT */
#ifndef VS_ASSEMBLY_H
#define VS_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/spec.h"

/*
 * The places of members in the whole that is assembled from them: which members hold a range of it,
 * and at which positions. For viewspec/ and for code that assembles files. Not installed.
 *
 * Equal filetypes are stored once, so that a member costs 64 bytes. A query does not look at
 * members that have nothing in its range. For this the whole is divided into blocks, these into
 * larger blocks of 64 times their size, and so on. For some of the blocks, lists of their members
 * are kept; they are made when a query needs them.
 *
 * Displacements refer to the whole, and positions to a member's view, both in bytes.
 */

/* The size of the smallest blocks. A query should lie in one of them. */
#define VS_ASSEMBLY_BLOCK ((int64_t)1 << 20)

/* The limit of memory for the lists of each size of block, in bytes. One list may be larger. */
#define VS_ASSEMBLY_KNOWN ((int64_t)16 << 20)

struct vs_assembly;

/* Makes an assembly without members; NULL: out of memory. overlaps: members may share bytes. */
struct vs_assembly *vs_assembly_new(bool overlaps);

/* Frees an assembly. NULL is allowed. */
void vs_assembly_free(struct vs_assembly *assembly);

/*
 * Adds the next member. It holds the first `bytes` positions of view's map, a multiple of the etype
 * and no more than the map has. The view is not needed afterwards. Returns 0, -ENOMEM, or -EINVAL
 * if displacements decrease or occur twice. One thread at a time, like vs_assembly_finish.
 */
int vs_assembly_add(struct vs_assembly *assembly, const struct vs_view *view, int64_t bytes);

/*
 * Computes the size of the whole after all members were added: at least `least` bytes. It ends with
 * the last byte that a member holds. A view with a number of tiles extends it to the last tile, and
 * a filetype that is part of an array extends it to a whole array, at least one.
 */
void vs_assembly_finish(struct vs_assembly *assembly, int64_t least);

/* Returns the length of the whole in bytes. Local, thread-safe. */
int64_t vs_assembly_size(const struct vs_assembly *assembly);

/* Returns how many positions a member holds. Local, thread-safe. */
int64_t vs_assembly_bytes(const struct vs_assembly *assembly, size_t member);

/* Returns true if each byte is held by exactly one member. Local, thread-safe. */
bool vs_assembly_is_full(const struct vs_assembly *assembly);

enum vs_assembly_fault_kind {
    VS_ASSEMBLY_SOUND,
    VS_ASSEMBLY_OVERLAP,  /* member and other both hold displacement */
    VS_ASSEMBLY_SHORT,    /* member holds fewer positions than `expected` */
    VS_ASSEMBLY_TOO_MANY, /* the check exceeds its limit */
};

struct vs_assembly_fault {
    enum vs_assembly_fault_kind kind;
    size_t member, other;
    int64_t displacement, expected;
};

/*
 * Checks that the members fit together. Members overlap if two hold the same byte, unless that is
 * allowed. A member is too short if its view selects a byte below the end of the whole, in a whole
 * etype, that neither it nor another member holds. Returns 0 with the first fault found in *fault,
 * or -ENOMEM. Local.
 */
int vs_assembly_check(struct vs_assembly *assembly, struct vs_assembly_fault *fault);

/* The positions [position, position + length) of a member, length > 0. */
struct vs_assembly_part {
    size_t member;
    int64_t position, length;
};

/*
 * Finds the parts of [start, end) that members hold, 0 <= start < end. Sets *parts to a new array
 * in the order of the members, or NULL, and *count to its length; the caller frees it by free().
 * Returns 0 or -ENOMEM. Thread-safe.
 */
int vs_assembly_parts(struct vs_assembly *assembly, int64_t start, int64_t end,
                      struct vs_assembly_part **parts, size_t *count);

/*
 * Returns the first displacement at or after start that is in a hole (with `hole`) or not in one. A
 * hole is a byte of no member. Returns the size of the whole if there is none below it. If members
 * overlap, or are too many to compute holes, all bytes after the first data count as data. Local,
 * thread-safe.
 */
int64_t vs_assembly_seek(const struct vs_assembly *assembly, int64_t start, bool hole);

/* Returns the displacement of a position that the member holds. Local, thread-safe. */
int64_t vs_assembly_place(const struct vs_assembly *assembly, size_t member, int64_t position);

#endif
