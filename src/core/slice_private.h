/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_PRIVATE_H
#define MPIIO_SLICE_PRIVATE_H

#include <stdbool.h>

#include "core/convert/codec.h"
#include "slice_access.h"
#include "partial.h"
#include "store_private.h"

/* What is inside a slice: for the other files of this folder only. */
struct mpiio_slice {
    struct mpiio_store *store; /* borrowed */
    struct vs_view *view;      /* one reference */
    uint64_t id;               /* for write-back */
    bool disjoint;             /* no byte of the file is held twice: it may be written */
    int64_t limit;             /* slice offsets below it have a position */
    struct mpiio_codec *codec; /* NULL: slice offsets are positions, and nothing is converted */
    bool truncates;            /* integers are narrowed to their least significant bytes */
    struct mpiio_partial partial;
};

/* The positions of the elements that hold the slice's bytes [*offset, *end), which are some. */
static inline void mpiio_slice_positions(const struct mpiio_slice *slice, int64_t *offset,
                                         int64_t *end)
{
    int64_t length;

    if (slice->codec == NULL)
        return;
    mpiio_codec_span(slice->codec, *offset, *end, offset, &length);
    *end = *offset + length;
}

/* Returns a transfer of packed bytes of the slice from position, or slice offset, on. */
static inline struct mpiio_transfer mpiio_slice_transfer(const struct mpiio_slice *slice,
                                                         int64_t position, size_t length,
                                                         const void *buffer,
                                                         struct mpiio_counters *done)
{
    return (struct mpiio_transfer){.map = vs_view_map(slice->view),
                                   .position = position,
                                   .length = length,
                                   .buffer = (char *)buffer,
                                   .done = done,
                                   .writer = slice->id};
}

#endif
