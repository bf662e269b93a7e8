/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBERS_PRIVATE_H
#define VS_MEMBERS_PRIVATE_H

#include "members.h"
#include "missing.h"
#include "pattern.h"
#include "viewspec/spec_private.h"

/* Private to viewspec/: reading and printing the members of a spec. */

/* What is compiled of members, in a spec of their own whose ranks they are. */
enum { VS_MEMBER_VIEW, VS_MEMBER_LOCAL, VS_MEMBER_WHOLE, VS_MEMBER_VIEWS };

struct vs_members {
    int64_t count;
    enum vs_overlap overlap;
    enum vs_missing missing;
    const char *missing_value; /* NULL unless missing is VS_MISSING_VALUE */
    struct vs_fill *fills;
    size_t fill_count;
    char *folder;  /* that relative names count from */
    json_t *json;  /* the object, borrowed from the spec */
    json_t *none;  /* an empty object */
    json_t *names; /* an array of them; NULL: there is a pattern */
    struct vs_pattern pattern;
    struct vs_text text; /* of the spec, for errors */
    struct named_view named[VS_MEMBER_VIEWS];
    struct vs_spec *views; /* these, compiled; owned by the spec */
};

/*
 * Reads "members" of spec, whose ranks and names are known, into spec->members, and their names in
 * short into spec->file; the views are not compiled. 0 or a negative errno, with error filled.
 */
int vs_members_read(struct vs_spec *spec, const char *folder, struct vs_error *error);

/*
 * The JSON of a spec with members, from shorthand: that of the views of the whole, and overrides'.
 * As vs_shorthand_translate.
 */
json_t *vs_members_translate(const char *text, const struct vs_overrides *overrides,
                             json_t **places, struct vs_error *error);

/*
 * Who sees what of an assembled file, where nothing is said: one view of all bytes is added to the
 * spec's JSON. False where there are no members, or no memory.
 */
bool vs_members_see_all(json_t *root);

void vs_members_free(struct vs_members *members); /* NULL is allowed */

/* The JSON of the members with absolute paths: a new reference; NULL without memory. */
json_t *vs_members_resolved(const struct vs_members *members);

#endif
