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

/* What the store has below the slice's positions: all that is read from or written to them. */

static inline void mpiio_slice_read_positions(const struct mpiio_slice *slice, int64_t position,
                                              size_t length, void *buffer,
                                              struct mpiio_read_result *fetched,
                                              struct mpiio_counters *done)
{
    mpiio_store_read(slice->store, vs_view_map(slice->view), position, length, buffer, fetched,
                     done);
}

static inline size_t mpiio_slice_write_positions(const struct mpiio_slice *slice, int64_t position,
                                                 size_t length, const void *buffer, int *error,
                                                 struct mpiio_counters *done)
{
    return mpiio_store_write(slice->store, vs_view_map(slice->view), position, length, buffer,
                             slice->id, error, done);
}

static inline size_t mpiio_slice_write_now(const struct mpiio_slice *slice, int64_t position,
                                           size_t length, const void *buffer, int *error,
                                           struct mpiio_counters *done)
{
    return mpiio_store_write_now(slice->store, vs_view_map(slice->view), position, length, buffer,
                                 slice->id, error, done);
}

static inline size_t mpiio_slice_write_merged(const struct mpiio_slice *slice, int64_t position,
                                              size_t length, const void *buffer, int *error,
                                              struct mpiio_counters *done)
{
    return mpiio_store_write_merged(slice->store, vs_view_map(slice->view), position, length,
                                    buffer, slice->id, error, done);
}

#endif
