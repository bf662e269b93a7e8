/* SPDX-License-Identifier: MIT */
#ifndef VS_MISSING_H
#define VS_MISSING_H

/* What a spec says of bytes of the whole that no member holds. As members.h; not installed. */

#include <jansson.h>

#include "members.h"

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

/* For viewspec/: sets "missing" of the object "members" to the text of an option, which is checked.
   0 or a negative errno, with error filled. */
int vs_members_override_missing(json_t *members, const char *text, struct vs_error *error);

/* For viewspec/: reads "missing" and "fill" into members. 0 or a negative errno, with error filled.
 */
int vs_members_read_missing(struct vs_spec *spec, struct vs_members *members,
                            struct vs_error *error);

#endif
