/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBERS_H
#define VS_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "viewspec/spec.h"

/*
 * The members of an assembled file as a spec describes them: their names, and the place of each
 * member's data in the whole and in its own file. For viewspec/ and for code that assembles files.
 * Not installed. All functions are local and thread-safe. Members are numbered from 0 to
 * vs_members_count - 1.
 */

/* The maximum number of members of a file. */
#define VS_MEMBERS_MAX 1000000

enum vs_overlap {
    VS_OVERLAP_ERROR,
    VS_OVERLAP_FIRST, /* if several members hold a byte, the first one's counts */
    VS_OVERLAP_LAST,
};

/*
 * Returns the members that the spec's file is assembled from, borrowed. NULL: the file is not
 * assembled.
 */
struct vs_members;
const struct vs_members *vs_spec_members(const struct vs_spec *spec);

int64_t vs_members_count(const struct vs_members *members);

/*
 * Returns the path of a member as a new string, absolute if the spec's folder is. NULL: out of
 * memory.
 */
char *vs_members_file(const struct vs_members *members, int64_t member);

/* Fills error with a reason, and with the place of "members" in the spec's text. Returns code. */
int vs_members_fail(const struct vs_members *members, int code, struct vs_error *error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * Gets the views of a member: `view` places its data in the whole, and `local` in the member's own
 * file. Returns 0, or a negative errno with error filled. The caller owns the new references, also
 * after an error, when each may be NULL.
 */
int vs_members_views(const struct vs_members *members, int64_t member, struct vs_view **view,
                     struct vs_view **local, struct vs_error *error);

/*
 * Returns the view of all bytes, which the name "whole" stands for. The caller owns the new
 * reference.
 */
struct vs_view *vs_members_whole(const struct vs_members *members);

/* The treatment of a byte of the whole that a member should hold if its file is missing or too
   short. */
enum vs_missing {
    VS_MISSING_ERROR, /* the file is not assembled */
    VS_MISSING_ZERO,  /* the byte is in a hole */
    VS_MISSING_VALUE, /* the byte is in a hole, and holes read as the missing value */
};

/* The maximum length of a value that fills holes, in bytes. */
#define VS_FILL_BYTES 32

/*
 * A value that holes of the whole read as in the ranges [at + i * every, at + i * every + size) for
 * 0 <= i < count. It is repeated over each range, from the start of the range.
 */
struct vs_fill {
    int64_t at, size, count, every;
    unsigned length; /* bytes of value, 1 or more */
    unsigned char value[VS_FILL_BYTES];
};

/* The treatment of bytes that several members hold, or none. */
struct vs_members_facts {
    enum vs_overlap overlap;
    enum vs_missing missing;
    const char *missing_value; /* the text of the number that elements of the views read as in
                                  holes; NULL unless missing is VS_MISSING_VALUE */
    struct vs_fill *fills;     /* if fills overlap, the last one counts */
    size_t fill_count;
    int64_t filled; /* the end of the last range of the fills: the minimal length of the whole */
};

/* Returns the facts, borrowed: valid as long as the spec. */
const struct vs_members_facts *vs_members_facts(const struct vs_members *members);

/*
 * resolved.c: returns the text of a spec of the members alone, whose single rank sees all bytes. It
 * assembles the same file, regardless of where it is read. The caller frees the string by free().
 * NULL: out of memory.
 */
char *vs_members_spec(const struct vs_spec *spec);

#endif
