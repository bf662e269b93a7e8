/* SPDX-License-Identifier: MIT */
#ifndef VS_ASSEMBLY_H
#define VS_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "viewspec/spec.h"

/*
 * Where the data of members lies in the whole that they are assembled to: which of them hold a
 * range of it, and at which positions. For viewspec/ and those who assemble files; not installed.
 *
 * Equal filetypes are stored once, so that a member costs 64 bytes. Members that have nothing in a
 * range are not looked at: the whole is divided into blocks, blocks into blocks of 64 times their
 * size, and so on, and for some of those it is known who has something in them, worked out when it
 * is asked for.
 *
 * Displacements are those of the whole, positions those of a member's view, in bytes.
 */

/* The blocks. What is asked for should lie in one of them. */
#define VS_ASSEMBLY_BLOCK ((int64_t)1 << 20)

/* What is known of blocks takes at most so many bytes for each of their sizes, or one list. */
#define VS_ASSEMBLY_KNOWN ((int64_t)16 << 20)

struct vs_assembly;

/* A new one of no members, the caller's; NULL without memory. overlaps: they may share bytes. */
struct vs_assembly *vs_assembly_new(bool overlaps);

/* NULL is allowed. */
void vs_assembly_free(struct vs_assembly *assembly);

/*
 * Adds the next member: it holds the first `bytes` positions of view's map, a multiple of the
 * etype, and no more than the map has. The view is not needed afterwards. -EINVAL where
 * displacements decrease, or one is there twice; -ENOMEM; 0. One thread, as vs_assembly_finish.
 */
int vs_assembly_add(struct vs_assembly *assembly, const struct vs_view *view, int64_t bytes);

/*
 * All members are added. The whole ends with the last byte that one holds; or with the last of a
 * view that ends (it has so many tiles); or, where filetypes are parts of arrays, with a whole
 * array, one at least.
 */
void vs_assembly_finish(struct vs_assembly *assembly);

/* The length of the whole. Local, thread-safe. */
int64_t vs_assembly_size(const struct vs_assembly *assembly);

/* The positions of a member that are held. Local, thread-safe. */
int64_t vs_assembly_bytes(const struct vs_assembly *assembly, size_t member);

/* Whether each byte is held by a member, and by one only. Local, thread-safe. */
bool vs_assembly_is_full(const struct vs_assembly *assembly);

enum vs_assembly_fault_kind {
    VS_ASSEMBLY_SOUND,
    VS_ASSEMBLY_OVERLAP,  /* member and other both hold displacement */
    VS_ASSEMBLY_SHORT,    /* member holds fewer bytes than it should: expected */
    VS_ASSEMBLY_TOO_MANY, /* it cannot be told in time */
};

struct vs_assembly_fault {
    enum vs_assembly_fault_kind kind;
    size_t member, other;
    int64_t displacement, expected;
};

/*
 * Whether the members fit together. They overlap where two hold a byte, unless that is allowed. One
 * is too short where its view selects a byte below the end of the whole, within a whole etype, that
 * it does not hold, nor another one. 0 with the first fault found, or -ENOMEM. Local.
 */
int vs_assembly_check(struct vs_assembly *assembly, struct vs_assembly_fault *fault);

/* The positions [position, position + length) of a member, length > 0. */
struct vs_assembly_part {
    size_t member;
    int64_t position, length;
};

/*
 * What members hold of [start, end), 0 <= start < end: a new array in the order of the members,
 * the caller's to free(), or NULL; how many are put into count. 0 or -ENOMEM. Thread-safe.
 */
int vs_assembly_parts(struct vs_assembly *assembly, int64_t start, int64_t end,
                      struct vs_assembly_part **parts, size_t *count);

/*
 * The first displacement at or behind start that is (is not) in a hole, a byte of no member: the
 * size of the whole where there is none below it. In a hole as long as there is no data; where
 * members overlap, or are too many to be counted soon, all that follows data is data. Local,
 * thread-safe.
 */
int64_t vs_assembly_seek(const struct vs_assembly *assembly, int64_t start, bool hole);

/* The displacement of a member's position that is held. Local, thread-safe. */
int64_t vs_assembly_place(const struct vs_assembly *assembly, size_t member, int64_t position);

#endif
