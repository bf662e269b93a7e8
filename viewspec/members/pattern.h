/* SPDX-License-Identifier: MIT */
#ifndef VS_PATTERN_H
#define VS_PATTERN_H

#include <jansson.h>

#include "viewspec/spec_private.h"

/*
 * Private to viewspec/: expands a pattern to the names of members. {member} stands for the member's
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
 * Reads text, which stands at place in the spec and must outlive the pattern. Returns 0, or a
 * negative errno with error filled.
 */
int vs_pattern_read(struct vs_spec *spec, const struct vs_place *place, const char *text,
                    struct vs_pattern *pattern, struct vs_error *error);

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

#endif
