/* SPDX-License-Identifier: MIT */
#ifndef VS_PLACE_H
#define VS_PLACE_H

/* Private to viewspec/: the place of a value in the text of a spec. */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "arena.h"
#include "viewspec/error.h"

/* The path from the whole text to a value: a chain on the stack of the code that walks the JSON. */
struct vs_place {
    const struct vs_place *up; /* NULL: the whole text */
    const char *key;           /* member of an object; NULL: element of an array */
    size_t index;
};

/* Makes the place of a member or of an element of the value at `above`. It lasts as long as the
   block that it is in. */
#define VS_KEY(above, name)    (&(struct vs_place){.up = (above), .key = (name)})
#define VS_ITEM(above, number) (&(struct vs_place){.up = (above), .index = (size_t)(number)})

/* The names in errors of values that the caller gave in addition to the text, or instead of it. */
struct vs_names {
    const char *view, *members, *pieces, *ranks;
    const char *define;     /* the prefix of NAME=VALUE */
    const char *give_file;  /* how to give a file, after "is missing" */
    const char *give_count; /* how to give the number of members */
};
extern const struct vs_names vs_names_options; /* the commands' options */
extern const struct vs_names vs_names_fields;  /* the fields of struct vs_overrides */

/* The text that places are looked up in. */
struct vs_text {
    const char *source; /* the name that errors carry */
    const char *bytes;  /* JSON that was parsed without error */
    size_t length;
    const char *shorthand;        /* the text that the JSON was translated from; NULL: none */
    const struct vs_names *names; /* of the values that the caller gave; NULL: vs_shorthand_json */
    const char *pieces; /* with shorthand: the name of the value that contains the members' views */
    json_t *origins;    /* JSON pointer -> byte offset in shorthand; borrowed */
};

/*
 * Fills error with the reason (a printf format) and the place: the JSON pointer, and the line and
 * column where the value begins (or its key, with at_key). The text is searched only now, so that a
 * spec without errors pays nothing for places. Returns -EINVAL, or the code of an earlier error,
 * which is kept.
 */
int vs_fail(struct vs_error *error, const struct vs_text *text, const struct vs_place *place,
            bool at_key, const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * Fills error with the reason, without a place, unless it already has an error. Returns the code of
 * the error that it then has.
 */
int vs_note(struct vs_error *error, int code, const char *source, const char *reason);

/* Sets the line and column of the character at `at` in the text that begins at start. */
void vs_place_at(struct vs_error *error, const char *start, const char *at);

/* Records an out-of-memory error. Returns -ENOMEM, or the code of an earlier error. */
int vs_fail_memory(struct vs_error *error, const struct vs_text *text);

/* Copies the chain to arena; NULL if out of memory. */
const struct vs_place *vs_place_keep(struct vs_arena *arena, const struct vs_place *place);

#endif
