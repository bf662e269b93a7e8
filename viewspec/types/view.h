/* SPDX-License-Identifier: MIT */
#ifndef VS_VIEW_H
#define VS_VIEW_H

/* Private to viewspec/: the input for compiling one rank's view. */

#include <jansson.h>

#include "viewspec/base/place.h"
#include "type.h"
#include "representation.h"
#include "viewspec/text/scope.h"
#include "viewspec/spec.h"

/* Return the etype and the filetype. Borrowed from the view. */
const struct vs_type *vs_view_etype(const struct vs_view *view);
const struct vs_type *vs_view_filetype(const struct vs_view *view);

/*
 * The etype and filetype of a view, shared by all ranks that have the same JSON for them, if this
 * does not depend on the rank. Reference-counted.
 */
struct vs_types;
void vs_types_unref(struct vs_types *types); /* NULL is allowed */

/*
 * A cut out of a view, for global arrays (viewspec/global.h): the array that a rank's part belongs
 * to, or a box of it, and some values of each etype. All pointers are borrowed.
 */
struct vs_cut {
    bool
        array; /* the outermost constructor of the filetype, inside resized and dup, makes the whole
                  array in place of the rank's part; a scatter makes an element for each tile */
    const int64_t *start, *count; /* a box of the array; NULL: all of it */
    const struct vs_basic *basic; /* the etype has only blocks of this type; NULL: all its values */
    int64_t blocks;
    const int64_t *lengths, *displacements; /* of the blocks */
};

/* The input of vs_view_compile. All pointers are borrowed. */
struct vs_source {
    struct vs_scope *scope;                    /* settled for the rank */
    json_t *types;                             /* "types" or NULL */
    json_t *view;                              /* the VIEW object */
    const struct vs_place *place;              /* the place of view */
    struct vs_representation *representations; /* user-defined ones: the spec's list */
    bool by_file;                              /* use the file's order, regardless of the view's */
    struct vs_types *shared;                   /* types shared by an earlier rank, or NULL */
    const struct vs_cut *cut;                  /* NULL: the view as it is */
};

/*
 * Compiles the view. Sets *types, if types is not NULL, to a new reference to types that other
 * ranks may share, or to NULL. Returns 0, or a negative errno after recording the error in
 * scope->error.
 */
int vs_view_compile(const struct vs_source *source, struct vs_view **view, struct vs_types **types);

/* The length of the longest label, so that a file can be called by it. */
#define VS_LABEL_MAX 200

#endif
