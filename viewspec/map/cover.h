/* SPDX-License-Identifier: MIT */
#ifndef VS_COVER_H
#define VS_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "viewspec/map.h"

/*
 * Coverage: how many bytes of the file the views of many ranks hold once, more than once, and not
 * at all, by the sets of bytes that their filetypes describe (MPI 3.1, 13.1.1: filetypes may be
 * complementary, so that together they tile the file).
 *
 * Tiled filetypes repeat, so the answer is given for one period: the least common multiple of the
 * ranks' tile extents. It is that of the steady state, behind the largest displacement, where every
 * rank's tiles have begun. Where views end after some tiles it is given for the stretch of the file
 * from the lowest byte of all to the last one of those, and, where others go on, a period of these
 * behind it. Regular views are counted from their loops, whatever their counts are.
 *
 * A cover is used by one thread at a time. All functions are local.
 */
struct vs_cover;

enum vs_cover_method {
    VS_COVER_CLOSED, /* from the loops alone */
    VS_COVER_WALKED, /* some loops did not fit together and were walked over the period */
};

/* Sizes in bytes. */
struct vs_cover_result {
    int64_t period; /* or the stretch's length; 0: no rank holds anything */
    bool ends;      /* it is a stretch */
    int64_t once;   /* held by one rank, once */
    int64_t many;   /* held by several ranks, or several times by one */
    int64_t none;   /* period - once - many */
    enum vs_cover_method method;
    int64_t steps; /* pieces looked at: a measure of the work done */
};

/* A new cover without ranks, the caller's; NULL without memory. */
struct vs_cover *vs_cover_new(void);

/* NULL is allowed. */
void vs_cover_free(struct vs_cover *cover);

/*
 * Adds copies (1 or more) ranks that all have this map. The map is not needed afterwards. Equal
 * filetypes are stored once, so that a rank costs a few dozen bytes. Returns 0 or -ENOMEM.
 */
int vs_cover_add(struct vs_cover *cover, const struct vs_map *map, int64_t copies);

/* A budget of work for vs_cover_compute that is some seconds. */
#define VS_COVER_STEPS 10000000

/*
 * Computes the coverage of all ranks added so far, looking at no more than steps pieces. Returns
 * 0, -ENOMEM, -EOVERFLOW (the period is not below 2^60) or -E2BIG (more than steps pieces are
 * needed); result is only filled with 0.
 */
int vs_cover_compute(struct vs_cover *cover, int64_t steps, struct vs_cover_result *result);

struct vs_item;
struct vs_tally;

/*
 * For viewspec/ alone: counts what items (item.h) hold, which need not repeat, looking at no more
 * than steps pieces. Their order is changed. Adds to tally and returns 0, or the errors of
 * vs_cover_compute.
 */
int vs_cover_items(struct vs_item *items, int64_t count, int64_t steps, struct vs_tally *tally);

#endif
