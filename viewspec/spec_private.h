/* SPDX-License-Identifier: MIT */
#ifndef VS_SPEC_PRIVATE_H
#define VS_SPEC_PRIVATE_H

#include <jansson.h>

#include "viewspec/base/arena.h"
#include "viewspec/types/representation.h"
#include "viewspec/text/scope.h"
#include "spec.h"
#include "viewspec/base/place.h"

/* Private to viewspec/: the contents of a spec, for the sources that parse, compile and print it.
 */

struct vs_cut;

struct named_view {
    const char *name; /* NULL: the single "view" */
    json_t *json;
    struct vs_place *place;
    struct vs_view *common;  /* the view if it is the same for every rank */
    struct vs_types *shared; /* its types if these are the same for every rank */
    struct vs_view *dealt;   /* rank 0's view if ranks differ only by what is dealt to them */
};

struct vs_spec {
    /* The arguments of the parse, borrowed; overrides is NULL after it. */
    const struct vs_overrides *overrides;
    const char *folder;

    struct vs_arena arena;
    struct vs_text text;
    char *bytes;     /* the JSON or the shorthand that was parsed; NULL: a nested spec */
    json_t *origins; /* places in shorthand of the values in text */
    json_t *root;
    json_t *defines; /* name -> string, from -D */
    char *file;
    int64_t ranks;
    struct vs_scope scope; /* without a rank: the values that are common to all. Its error is
                              valid during the parse */
    struct named_view *views;
    size_t view_count;
    struct vs_representation *representations; /* the user-defined ones */
    bool by_file;                              /* an override */
    struct vs_members *members;                /* NULL: there is one file */
};

/* The keys of a spec, in the order in which it is printed; NULL is the last. */
extern const char *const vs_spec_keys[];

/*
 * spec_views.c: compiles every view for rank 0 and keeps the parts that other ranks can use.
 * Returns 0, or a negative errno after recording the error in the scope.
 */
int vs_spec_compile(struct vs_spec *spec);

/*
 * Compiles json, a VIEW without "per_rank" that uses the names and types of the spec, for a rank,
 * and cuts it (types/view.h). Errors have the place of view number index, or of its member key if
 * that is not NULL. Sets *ranks if the result depends on the rank. Returns 0 or a negative errno,
 * with error filled. Thread-safe if json is not shared.
 */
int vs_spec_view_of(const struct vs_spec *spec, size_t index, const char *key, json_t *json,
                    const struct vs_cut *cut, int64_t rank, struct vs_view **view, bool *ranks,
                    struct vs_error *error);

#endif
