/* SPDX-License-Identifier: MIT */
#ifndef VS_BUILD_H
#define VS_BUILD_H

/*
 * Private to viewspec/: builds a vs_type from the JSON of a TYPE, and finds the layout of a view's
 * slice.
 */

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
    const struct vs_text *text;
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

/* The order of the etypes, from "buftype" and "memory", and the array, from "shape". */

/* The inputs for finding a tile's order. All are borrowed. */
struct vs_buftype_source {
    const struct vs_source *source;
    struct vs_arena *arena; /* for the results */
    const struct vs_representation *representation;
    const struct vs_member *etype, *filetype, *buftype, *memory;
    const struct vs_type *file_etype, *file_type;
};

/* The tile that a view repeats. */
struct vs_tile {
    const struct vs_node *node; /* in the file's order */
    int64_t extent, tiles;      /* INT64_MAX tiles: without end */
    bool ordered;               /* the slice has an order of its own, `order` */
    struct vs_order order;
    const struct vs_array *memory; /* the array that a tile of the slice forms; NULL: none */
};

/*
 * Finds the order of a tile, given the filetype and the number of tiles, and fills in the rest.
 * Unites tiles that interleave in memory to one tile. Changes nothing if the view has neither key.
 * Returns 0, or the code of an error, which is recorded in the scope.
 */
int vs_buftype_find(const struct vs_buftype_source *from, struct vs_tile *tile);

/* A tile of a slice. All pointers are borrowed. */
struct vs_slice_tile {
    int64_t etypes; /* number of etypes with data */
    const struct vs_view_facts *facts;
    const struct vs_order *order; /* NULL: the slice has no gaps */
};

/*
 * Reads value, a list of sizes at place, as an array in C order, and allocates it in the arena. The
 * array must have as many elements as the tile has etypes, including gaps. Returns 0, or a negative
 * errno with the scope's error filled.
 */
int vs_local_array(const struct vs_source *source, json_t *value, const struct vs_place *place,
                   struct vs_arena *arena, const struct vs_slice_tile *tile,
                   const struct vs_array **result);

#endif
