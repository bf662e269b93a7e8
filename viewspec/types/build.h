/* SPDX-License-Identifier: MIT */
#ifndef VS_BUILD_H
#define VS_BUILD_H

/*
 * Private to viewspec/: builds a vs_type from the JSON of a TYPE, and finds the layout of a view's
 * slice.
 */

#include <stdatomic.h>

#include <jansson.h>

#include "viewspec/base/hash.h"
#include "viewspec/map/map_private.h"
#include "view.h"

/* A member of a view for the scope's rank; per_rank's entry overrides the common one. */
struct vs_member {
    json_t *value;         /* NULL: absent in both */
    struct vs_place place; /* of the value, or of the view */
    struct vs_place list, entry;
};

/*
 * Builds the types of one view for one rank. Errors are recorded in scope->error. After an error,
 * or if arena->failure is set, the returned types must not be used.
 */
struct vs_builder {
    struct vs_arena *arena;
    struct vs_scope *scope;
    json_t *types; /* the spec's "types", or NULL; borrowed */
    const struct vs_representation *representation;

    /* In a filetype: the etype as one unit, and its JSON in the spec (never the name of a named
       type; NULL: byte). NULL while the etype itself is built. */
    const struct vs_type *etype;
    json_t *etype_json;
    const char *whole;          /* the type under construction: "filetype" or "buftype" */
    bool any_leaf;              /* leaves other than the etype are accepted */
    const struct vs_cut *cut;   /* of the etype; NULL: none */
    const struct vs_cut *array; /* of the next constructor that is neither resized nor dup */
    int64_t elements;           /* result: of a scatter that was cut, in a tile; else 0 */

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

/* buftype.c: etypes and filetypes. */

/* Builds an etype, or what is cut out of it. The default is byte. */
struct vs_type vs_build_etype(struct vs_builder *builder, const struct vs_member *etype);

/*
 * Builds a filetype or buftype from member. `unit` stands for each occurrence of the view's etype.
 * If the member is absent, the type is the unit.
 */
struct vs_type vs_build_of_units(struct vs_builder *builder, const struct vs_type *unit,
                                 const struct vs_member *etype, const struct vs_member *member);

/* The keys of a view that its types are built from. */
enum { VS_ETYPE, VS_FILETYPE, VS_DATAREP, VS_TILES, VS_BUFTYPE, VS_MEMORY, VS_TYPE_KEYS };

struct vs_types {
    atomic_int references;
    struct vs_arena arena;
    struct vs_representation *representation; /* a reference */
    struct vs_type etype, filetype;
    struct vs_tile tile;
    int64_t work;               /* the work of building them */
    json_t *json[VS_TYPE_KEYS]; /* the JSON that they were built from; owned */
};

/* The types of a view while they are built. All pointers are borrowed. */
struct vs_types_source {
    const struct vs_source *source;
    struct vs_member members[VS_TYPE_KEYS];
    struct vs_types *types;
};

/* Makes a builder of these types. `whole` and representation are the builder's. */
struct vs_builder vs_builder_of(const struct vs_types_source *from, const char *whole,
                                const struct vs_representation *representation);

/* Records the failure of the arena, unless the scope has an error. Returns the error's code or 0.
 */
int vs_types_check(const struct vs_types_source *from, const struct vs_place *place);

/*
 * Finds the order of the tile from "buftype" and "memory", given the filetype and the number of
 * tiles, and fills in the rest. Unites tiles that interleave in memory to one tile. Changes nothing
 * if the view has neither key. Returns 0, or the code of an error, which is recorded in the scope.
 */
int vs_buftype_find(const struct vs_types_source *from);

/*
 * Reads "shape", a list of sizes, as an array in C order, and allocates it in the arena. A tile of
 * the slice has `etypes` etypes with data, and `order` if there are gaps in it, else NULL; the
 * array must have as many elements, including the gaps. Returns 0, or a negative errno with the
 * scope's error filled.
 */
int vs_local_array(struct vs_scope *scope, const struct vs_member *shape, struct vs_arena *arena,
                   const struct vs_view_facts *facts, int64_t etypes, const struct vs_order *order,
                   const struct vs_array **result);

#endif
