/* SPDX-License-Identifier: MIT */
#ifndef VS_SPEC_PRIVATE_H
#define VS_SPEC_PRIVATE_H

#include "viewspec/base/arena.h"
#include "viewspec/types/representation.h"
#include "viewspec/text/scope.h"
#include "spec.h"

/* Private to viewspec/: what is inside a spec, for the sources that read, ask and print it. */

struct named_view {
    const char *name; /* NULL: the single "view" */
    json_t *json;
    struct vs_place *place;
    struct vs_view *common;  /* where it is the same for every rank */
    struct vs_types *shared; /* where at least the types are */
    struct vs_view *dealt;   /* rank 0's, where all differ by what is dealt to them alone */
};

struct vs_spec {
    struct vs_arena arena;
    struct vs_text text;
    char *bytes;
    char *shorthand; /* NULL: bytes were not translated */
    json_t *origins; /* of text, where they were */
    json_t *root;
    json_t *defines; /* name -> string, from -D */
    char *file;
    int64_t ranks;
    const char *rank_word; /* what errors call a rank */
    struct vs_scope scope; /* with no rank: what is common to all */
    struct named_view *views;
    size_t view_count;
    struct vs_representation *representations; /* the user's own */
    bool by_file;                              /* an override */
    struct vs_members *members;                /* NULL: there is one file */
};

/* The keys of a spec, in the order in which it is printed; NULL is the last. */
extern const char *const vs_spec_keys[];

/*
 * Whether the ranks' views differ by what is dealt to them alone; if so, the only rank that may own
 * the byte at displacement, or -1.
 */
bool vs_spec_dealt_to(const struct vs_spec *spec, size_t index, int64_t displacement,
                      int64_t *rank);

#endif
