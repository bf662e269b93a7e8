/* SPDX-License-Identifier: MIT */
#ifndef VS_BUILD_H
#define VS_BUILD_H

/* Private to viewspec/: builds a vs_type from the JSON of a TYPE. */

#include <jansson.h>

#include "viewspec/base/memo.h"
#include "viewspec/base/place.h"
#include "viewspec/text/scope.h"
#include "type.h"

/*
 * Builds the types of one view for one rank. Errors are recorded in scope->error. After an error,
 * or if arena->failure is set, the returned types must not be used.
 */
struct vs_builder {
    struct vs_arena *arena;
    struct vs_scope *scope;
    const struct vs_text *text;
    json_t *types; /* the spec's "types", or NULL; borrowed */
    const struct vs_representation *representation;

    /* In a filetype: the etype as one unit, and its JSON in the spec (never the name of a named
       type). NULL while the etype itself is built. */
    const struct vs_type *etype;
    json_t *etype_json;
    const char *whole; /* the type under construction: "filetype" or "buftype" */
    bool any_leaf;     /* leaves other than the etype are accepted */

    struct vs_memo named[2];      /* types by their names, built outside of filetypes, and inside */
    int nesting, naming;          /* number of objects, and of names, around the current type */
    int depth;                    /* levels of objects in the parts of the current type so far */
    const struct vs_place *blame; /* the first type whose displacements decrease */
};

/*
 * Builds any TYPE. A named type is built once for etypes and once for filetypes, so that building
 * takes time in proportion to the length of the spec.
 */
struct vs_type vs_build_type(struct vs_builder *builder, json_t *json,
                             const struct vs_place *place);

/* Frees the builder's memory. The types stay valid, because they are in the arena. */
void vs_builder_free(struct vs_builder *builder);

/* Follows the names of named types and returns the definition of a TYPE. */
json_t *vs_build_definition(const struct vs_builder *builder, json_t *json);

/* Records an error of the value at place and returns its code. */
#define vs_build_fail(builder, place, ...)                                                         \
    vs_fail((builder)->scope->error, (builder)->text, (place), false, __VA_ARGS__)

#endif
