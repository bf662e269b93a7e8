/* SPDX-License-Identifier: MIT */
#ifndef VS_MISSING_H
#define VS_MISSING_H

/* The values of bytes of the whole that no member holds, as a spec declares them. Not installed. */

#include <jansson.h>

#include "members.h"

/* The treatment of a byte of the whole that a member should hold if its file is missing or too
   short. */
enum vs_missing {
    VS_MISSING_ERROR, /* the file is not assembled */
    VS_MISSING_ZERO,  /* the byte is a hole */
    VS_MISSING_VALUE, /* the byte is a hole, and holes read as vs_members_missing_value */
};

enum vs_missing vs_members_missing(const struct vs_members *members);

/* Returns the text of the number that elements of the views read as in holes. It is borrowed, and
   NULL unless vs_members_missing is VS_MISSING_VALUE. */
const char *vs_members_missing_value(const struct vs_members *members);

/* The most bytes of a value that fills holes. */
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

/* Returns the *count fills of the spec, borrowed. If fills overlap, the last one counts. */
const struct vs_fill *vs_members_fills(const struct vs_members *members, size_t *count);

/* Returns the end of the last range of the fills, which is the minimal length of the whole. */
int64_t vs_members_filled(const struct vs_members *members);

/* For viewspec/: checks the text of an option, and sets "missing" of the object "members" to it.
   Returns 0, or a negative errno with error filled. */
int vs_members_override_missing(json_t *members, const char *text, struct vs_error *error);

/* For viewspec/: reads "missing" and "fill" into members. Returns 0, or a negative errno with error
   filled. */
int vs_members_read_missing(struct vs_spec *spec, struct vs_members *members,
                            struct vs_error *error);

#endif
