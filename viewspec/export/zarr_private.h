/* SPDX-License-Identifier: MIT */
#ifndef VS_ZARR_PRIVATE_H
#define VS_ZARR_PRIVATE_H

#include <stddef.h>

#include "export_private.h"
#include "viewspec/base/arena.h"

/* Private to viewspec/export/: the groups and arrays of a Zarr store. */

enum vs_zarr_kind { VS_ZARR_GROUP, VS_ZARR_FIELD, VS_ZARR_COORDINATES };

struct vs_zarr_node {
    enum vs_zarr_kind kind;
    const char *name; /* of its folder; "" for the store itself */
    int64_t up;       /* the node that contains it; -1: none */
    const struct vs_global *global;
    int64_t records;      /* of the file for which the store was made */
    int64_t field;        /* VS_ZARR_FIELD */
    int64_t dimension;    /* VS_ZARR_COORDINATES: of the array */
    int64_t first, count; /* VS_ZARR_GROUP: the nodes in it */
    const char **dims;    /* VS_ZARR_FIELD: names of the dimensions; NULL: those of its shape */
};

struct vs_zarr {
    struct vs_arena arena; /* texts */
    struct vs_zarr_node *nodes;
    int64_t count;
    json_t *names; /* the numbers of nodes and of dimensions by their places and names */
};

/* Fills a zeroed store, as vs_zarr_new describes it. The caller frees it, also after an error. */
int vs_zarr_make(struct vs_zarr *zarr, const struct vs_global *const *globals, size_t count,
                 int64_t file_size, struct vs_error *error);

/* Returns the number of the node (or dimension, in zarr_tree.c) called name in a place, which is a
   group for nodes; or -1. Local, thread-safe. */
int64_t vs_zarr_number(const struct vs_zarr *zarr, int64_t place, const char *name);

#endif
