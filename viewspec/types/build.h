/* SPDX-License-Identifier: MIT */
#ifndef VS_BUILD_H
#define VS_BUILD_H

/* Private to viewspec/: from the JSON of a TYPE to a vs_type. */

#include <jansson.h>

#include "viewspec/base/memo.h"
#include "viewspec/base/place.h"
#include "viewspec/text/scope.h"
#include "type.h"

/*
 * Builds the types of one view for one rank. Errors are noted in scope->error; then, and when
 * arena->failure is set, what was returned must not be used.
 */
struct vs_builder {
    struct vs_arena *arena;
    struct vs_scope *scope;
    const struct vs_text *text;
    json_t *types; /* the spec's "types", or NULL; borrowed */
    const struct vs_representation *representation;

    /* In a filetype: the etype as one unit, and how the spec writes it (never a named type's
       name). NULL while the etype itself is built. */
    const struct vs_type *etype;
    json_t *etype_json;
    const char *whole; /* what is built from it: "filetype" or "buftype" */
    bool any_leaf;     /* leaves other than the etype are accepted */

    struct vs_memo named[2];      /* types built so far by their names: outside filetypes, and in */
    int nesting, naming;          /* objects, and names, around the type under way */
    const struct vs_place *blame; /* the first type whose displacements decrease */
};

/*
 * A TYPE anywhere. A named type is built once for etypes and once for filetypes, so building takes
 * as many steps as the spec is long.
 */
struct vs_type vs_build_type(struct vs_builder *builder, json_t *json,
                             const struct vs_place *place);

/* Frees what the builder remembers; what it built stays in the arena. */
void vs_builder_free(struct vs_builder *builder);

/* What a TYPE stands for once names of named types are followed. */
json_t *vs_build_definition(const struct vs_builder *builder, json_t *json);

/* Notes an error of the value at place and returns its code. */
#define vs_build_fail(builder, place, ...)                                                         \
    vs_fail((builder)->scope->error, (builder)->text, (place), false, __VA_ARGS__)

#endif
