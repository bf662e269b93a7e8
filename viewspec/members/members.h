/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBERS_H
#define VS_MEMBERS_H

#include <stdint.h>

#include "viewspec/spec.h"

/*
 * What a spec says of the members of an assembled file: their names, where the data of each lies in
 * the whole, and where in its own file. For viewspec/ and those who assemble; not installed. All
 * functions are local and thread-safe; members are numbered from 0 to vs_members_count - 1.
 */

/* The most members that a file has. */
#define VS_MEMBERS_MAX 1000000

enum vs_overlap {
    VS_OVERLAP_ERROR,
    VS_OVERLAP_FIRST, /* where several members hold a byte, the first one's counts */
    VS_OVERLAP_LAST,
};

/* The members that the spec's file is assembled from, or NULL: there is one file. Borrowed. */
struct vs_members;
const struct vs_members *vs_spec_members(const struct vs_spec *spec);

int64_t vs_members_count(const struct vs_members *members);

enum vs_overlap vs_members_overlap(const struct vs_members *members);

/* What becomes of a byte of the whole that a member should hold, where its file is missing or too
   short. */
enum vs_missing {
    VS_MISSING_ERROR, /* the file is not assembled */
    VS_MISSING_ZERO,  /* the byte is a hole */
    VS_MISSING_VALUE, /* the same; and holes read as a value (vs_members_missing_value) */
};

enum vs_missing vs_members_missing(const struct vs_members *members);

/* Returns the value that holes read as, the text of a number, for the elements of the views. NULL
   unless vs_members_missing is VS_MISSING_VALUE. Borrowed. */
const char *vs_members_missing_value(const struct vs_members *members);

/* The most bytes of a value that fills holes. */
#define VS_FILL_BYTES 32

/*
 * Values that holes of the whole read as: those in [at + i * every, at + i * every + size) for each
 * i below count. The value begins anew at the start of each such range.
 */
struct vs_fill {
    int64_t at, size, count, every;
    unsigned length; /* bytes of value, 1 or more */
    unsigned char value[VS_FILL_BYTES];
};

/* Returns the *count fills of the spec; of two that overlap the last counts. Borrowed. */
const struct vs_fill *vs_members_fills(const struct vs_members *members, size_t *count);

/* Returns where the last range of the fills ends: the whole is at least so long. */
int64_t vs_members_filled(const struct vs_members *members);

/* The path of a member, absolute where the spec's folder is. A new string; NULL without memory. */
char *vs_members_file(const struct vs_members *members, int64_t member);

/* Fills error with a reason, in the spec's text where the members' names stand. Returns code. */
int vs_members_fail(const struct vs_members *members, int code, struct vs_error *error,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
