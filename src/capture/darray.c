/* SPDX-License-Identifier: MIT */
#include "datatype.h"

#include <stdio.h>
#include <stdlib.h>

/* Distributed arrays: the part that a rank owns. */

/* The maximum number of blocks of cyclic darrays in a view that are listed one by one. */
#define MAX_DEALT (1 << 21)

/* One dimension of an array that is distributed over a grid of ranks. */
struct dimension {
    int64_t gsize, distrib, darg, psize;
    int64_t coordinate; /* of the rank in the grid */
};

struct darray {
    int64_t ranks, rank, count;
    bool fortran;
    struct dimension *dims;
};

static int read_darray(struct capture_contents *contents, struct darray *darray)
{
    darray->ranks = capture_take_int(contents);
    darray->rank = capture_take_int(contents);
    darray->count = capture_take_int(contents);
    if (darray->count < 1 || darray->count > contents->int_count)
        return -1;
    darray->dims = calloc((size_t)darray->count, sizeof(*darray->dims));
    if (!darray->dims)
        return -1;
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].gsize = capture_take_count(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].distrib = capture_take_int(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].darg = capture_take_int(contents);
    for (int64_t i = 0; i < darray->count; i++)
        darray->dims[i].psize = capture_take_int(contents);
    darray->fortran = capture_take_int(contents) == MPI_ORDER_FORTRAN;
    return contents->broken ? -1 : 0;
}

static json_t *as_darray(const struct darray *darray, json_t *oldtype)
{
    json_t *gsizes = json_array(), *distribs = json_array(), *dargs = json_array(),
           *psizes = json_array();

    for (int64_t i = 0; i < darray->count; i++) {
        const struct dimension *dim = &darray->dims[i];
        json_array_append_new(gsizes, json_integer(dim->gsize));
        json_array_append_new(psizes, json_integer(dim->psize));
        json_array_append_new(distribs,
                              json_string(dim->distrib == MPI_DISTRIBUTE_BLOCK    ? "block"
                                          : dim->distrib == MPI_DISTRIBUTE_CYCLIC ? "cyclic"
                                                                                  : "none"));
        json_array_append_new(dargs, dim->distrib == MPI_DISTRIBUTE_NONE ||
                                             dim->darg == MPI_DISTRIBUTE_DFLT_DARG
                                         ? json_null()
                                         : json_integer(dim->darg));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:O}", "type", "darray", "gsizes", gsizes,
                     "distribs", distribs, "dargs", dargs, "psizes", psizes, "order",
                     darray->fortran ? "Fortran" : "C", "oldtype", oldtype);
}

/* Ranks number the grid with its last dimension fastest, whatever the array's order is. */
static void find_coordinates(struct darray *darray)
{
    int64_t rest = darray->rank;

    for (int64_t i = darray->count - 1; i >= 0; i--) {
        darray->dims[i].coordinate = rest % darray->dims[i].psize;
        rest /= darray->dims[i].psize;
    }
}

/* Returns the length of the blocks that are distributed cyclically. With block and none, each
   rank has one block. */
static int64_t block_length(const struct dimension *dim)
{
    if (dim->distrib == MPI_DISTRIBUTE_NONE)
        return dim->gsize;
    if (dim->darg != MPI_DISTRIBUTE_DFLT_DARG)
        return dim->darg;
    return dim->distrib == MPI_DISTRIBUTE_CYCLIC ? 1 : (dim->gsize + dim->psize - 1) / dim->psize;
}

static int64_t clamp_index(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static json_t *as_subarray(const struct darray *darray, json_t *oldtype)
{
    json_t *sizes = json_array(), *subsizes = json_array(), *starts = json_array();

    for (int64_t i = 0; i < darray->count; i++) {
        const struct dimension *dim = &darray->dims[i];
        int64_t block = block_length(dim),
                start = clamp_index(dim->coordinate * block, 0, dim->gsize);
        json_array_append_new(sizes, json_integer(dim->gsize));
        json_array_append_new(starts, json_integer(start));
        json_array_append_new(subsizes, json_integer(clamp_index(dim->gsize - start, 0, block)));
    }
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:O}", "type", "subarray", "sizes", sizes,
                     "subsizes", subsizes, "starts", starts, "order",
                     darray->fortran ? "Fortran" : "C", "oldtype", oldtype);
}

/* Returns true if that many further blocks may be listed. */
static bool may_deal(struct capture_decoder *decoder, int64_t blocks)
{
    if (blocks <= MAX_DEALT - decoder->dealt) {
        decoder->dealt += blocks;
        return true;
    }
    snprintf(decoder->why, sizeof(decoder->why),
             "a cyclic darray for another rank with more than %d blocks", MAX_DEALT);
    return false;
}

/* Describes one dimension: its blocks in units of oldtype, which is stolen, and its extent. */
static json_t *dealt_dimension(struct capture_decoder *decoder, const struct dimension *dim,
                               int64_t extent, json_t *oldtype)
{
    int64_t block = block_length(dim);
    json_t *lengths, *displacements;

    if (!may_deal(decoder, dim->gsize / (block * dim->psize) + 1)) {
        json_decref(oldtype);
        return NULL;
    }
    lengths = json_array();
    displacements = json_array();
    for (int64_t at = dim->coordinate * block; at < dim->gsize; at += block * dim->psize) {
        json_array_append_new(displacements, json_integer(at));
        json_array_append_new(lengths, json_integer(clamp_index(dim->gsize - at, 0, block)));
    }
    return json_pack("{s:s, s:i, s:I, s:{s:s, s:o, s:o, s:o}}", "type", "resized", "lb", 0,
                     "extent", (json_int_t)(extent * dim->gsize), "oldtype", "type", "indexed",
                     "blocklengths", lengths, "displacements", displacements, "oldtype", oldtype);
}

static json_t *as_indexed(struct capture_decoder *decoder, const struct darray *darray,
                          int64_t extent, json_t *oldtype)
{
    json_t *json = json_incref(oldtype);

    for (int64_t i = 0; i < darray->count && json != NULL; i++) {
        const struct dimension *dim = &darray->dims[darray->fortran ? i : darray->count - 1 - i];
        json = dealt_dimension(decoder, dim, extent, json);
        extent *= dim->gsize;
    }
    return json;
}

/* Returns true if a rank has several blocks in some dimension. */
static bool is_cyclic(const struct darray *darray)
{
    for (int64_t i = 0; i < darray->count; i++)
        if (darray->dims[i].distrib == MPI_DISTRIBUTE_CYCLIC)
            return true;
    return false;
}

json_t *capture_darray(struct capture_decoder *decoder, struct capture_contents *contents,
                       int64_t extent, json_t *oldtype)
{
    struct darray darray = {0};
    json_t *json = NULL;

    if (!read_darray(contents, &darray)) {
        find_coordinates(&darray);
        if (darray.ranks == decoder->ranks && darray.rank == decoder->rank)
            json = as_darray(&darray, oldtype);
        else if (!is_cyclic(&darray))
            json = as_subarray(&darray, oldtype);
        else if (!decoder->scaled)
            json = as_indexed(decoder, &darray, extent, oldtype);
        else
            snprintf(decoder->why, sizeof(decoder->why),
                     "a cyclic darray for rank %lld of %lld, whose extents a data representation "
                     "changes",
                     (long long)darray.rank, (long long)darray.ranks);
    }
    free(darray.dims);
    return json;
}
