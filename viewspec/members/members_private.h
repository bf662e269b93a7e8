/* SPDX-License-Identifier: MIT */
#ifndef VS_MEMBERS_PRIVATE_H
#define VS_MEMBERS_PRIVATE_H

#include <jansson.h>

#include "members.h"
#include "viewspec/spec_private.h"

/* Private to viewspec/: reading and printing the members of a spec, and their names. */

/*
 * pattern.c: expands a pattern to the names of members. {member} stands for the member's
 * number. {NAME=FIRST..LAST} defines an index. The last index in the pattern varies fastest.
 */

#define VS_INDICES_MAX 8

#define VS_INDEX_NAME 64 /* bytes */

struct vs_index {
    char name[VS_INDEX_NAME];
    int64_t first, step; /* the numbers in the names are first + step * position */
    int64_t count;       /* positions, from 0; 0: not limited */
    int64_t stride;      /* distance in members from one position to the next */
};

struct vs_pattern {
    const char *text; /* borrowed; NULL: no pattern */
    int indices;
    struct vs_index index[VS_INDICES_MAX + 1]; /* the first is "member" */
    bool named;                                /* {member} occurs */
};

/*
 * Reads text, which is at place in the spec and must outlive the pattern. Returns 0, or a negative
 * errno after recording the error in the scope.
 */
int vs_pattern_read(struct vs_spec *spec, const struct vs_place *place, const char *text,
                    struct vs_pattern *pattern);

/*
 * Writes the names of the indices that text defines, at most VS_INDICES_MAX. Returns their number.
 * Does not report errors in text.
 */
int vs_pattern_names(const char *text, char names[VS_INDICES_MAX][VS_INDEX_NAME]);

/* Returns the number of members that the pattern names, 0 if it does not limit them, or -1 if the
   range of {member} and the indices disagree. */
int64_t vs_pattern_count(const struct vs_pattern *pattern);

/* Returns the name of a member, a new string, or NULL if memory is exhausted. */
char *vs_pattern_expand(const struct vs_pattern *pattern, int64_t member);

/* Adds to let each index as an expression for a member's position, in terms of rank. Returns 0 or
   -ENOMEM. */
int vs_pattern_bind(const struct vs_pattern *pattern, json_t *let);

/* The views that are compiled for members, in a nested spec whose ranks are the members. */
enum { VS_MEMBER_VIEW, VS_MEMBER_LOCAL, VS_MEMBER_WHOLE, VS_MEMBER_VIEWS };

struct vs_members {
    int64_t count;
    struct vs_members_facts facts;
    char *folder;  /* base of relative names */
    json_t *json;  /* the object "members", borrowed from the spec */
    json_t *none;  /* an empty object */
    json_t *names; /* an array of names, borrowed; NULL: there is a pattern */
    struct vs_pattern pattern;
    struct named_view named[VS_MEMBER_VIEWS];
    struct vs_spec *views; /* the compiled views; owned by the spec */
};

/*
 * Reads "members" of spec, whose ranks and names are known, into spec->members. Sets spec->file to
 * a short form of the members' names. Does not compile the views. Returns 0, or a negative errno
 * after recording the error in the scope.
 */
int vs_members_read(struct vs_spec *spec);

/*
 * Translates shorthand to the JSON of a spec with members: text for the views of the whole, and the
 * overrides for the members. Otherwise like vs_shorthand_translate.
 */
json_t *vs_members_translate(const char *text, const struct vs_overrides *overrides,
                             json_t **places, struct vs_error *error);

void vs_members_free(struct vs_members *members); /* NULL is allowed */

/* Checks the text of an option, and sets "missing" of the object "members" to it.
   Returns 0, or a negative errno with error filled. */
int vs_members_override_missing(json_t *members, const char *text, struct vs_error *error);

#endif
