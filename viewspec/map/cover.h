/* SPDX-License-Identifier: MIT */
#ifndef VS_COVER_H
#define VS_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/map.h"

/*
 * Coverage: how many bytes of the file the views of many ranks hold once, more than once, and not
 * at all. The views are taken as the sets of bytes that their filetypes describe (MPI 3.1, 13.1.1:
 * filetypes may be complementary, so that together they tile the file).
 *
 * Tiled filetypes repeat, so the result is given for one period, the least common multiple of the
 * ranks' tile extents. It is the steady state beyond the largest displacement, where the tiles of
 * every rank have begun. If views end after some tiles, the result is given for a stretch of the
 * file: from the lowest byte of all ranks to the last byte of a view that ends, plus one period of
 * the other views, if there are any. Regular views are counted by their loops, however many tiles
 * and blocks they have.
 *
 * One thread at a time may use a cover. All functions are local.
 */
struct vs_cover;

enum vs_cover_method {
    VS_COVER_CLOSED, /* computed from the loops */
    VS_COVER_WALKED, /* some loops did not fit together and were walked over the period */
};

/* Sizes in bytes. */
struct vs_cover_result {
    int64_t period; /* or the length of the stretch; 0: no rank holds anything */
    bool ends;      /* the result is for a stretch */
    int64_t once;   /* held by one rank, once */
    int64_t many;   /* held by several ranks, or several times by one */
    int64_t none;   /* period - once - many */
    enum vs_cover_method method;
    int64_t steps; /* pieces examined: a measure of the work done */
};

/* Makes a cover without ranks; NULL: out of memory. The caller frees it by vs_cover_free. */
struct vs_cover *vs_cover_new(void);

/* Frees a cover. NULL is allowed. */
void vs_cover_free(struct vs_cover *cover);

/*
 * Adds `copies` (1 or more) ranks with this map. The map is not needed afterwards. Equal filetypes
 * are stored once, so that a rank costs a few dozen bytes. Returns 0 or -ENOMEM.
 */
int vs_cover_add(struct vs_cover *cover, const struct vs_map *map, int64_t copies);

/* A limit for vs_cover_compute that takes some seconds. */
#define VS_COVER_STEPS 10000000

/*
 * Computes the coverage of all ranks added so far, and examines at most `steps` pieces. Returns 0,
 * -ENOMEM, -EOVERFLOW (the period is not below 2^60) or -E2BIG (more than `steps` pieces are
 * needed). Fills result only if it returns 0.
 */
int vs_cover_compute(struct vs_cover *cover, int64_t steps, struct vs_cover_result *result);

struct vs_item;
struct vs_tally;

/*
 * For viewspec/ only: adds the bytes of the items (shape.h) to tally, and examines at most `steps`
 * pieces. The items need not repeat; their order is changed. Returns 0 or an error of
 * vs_cover_compute.
 */
int vs_cover_items(struct vs_item *items, int64_t count, int64_t steps, struct vs_tally *tally);

#endif
