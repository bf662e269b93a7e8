/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_PRIVATE_H
#define MPIIO_SLICE_PRIVATE_H

#include <stdbool.h>

#include "core/convert/codec.h"
#include "core/file/read_plan.h"
#include "slice_access.h"
#include "partial.h"

/* What is inside a slice: for the other files of this folder only. */
struct mpiio_slice {
    struct mpiio_store *store; /* borrowed */
    struct vs_view *view;      /* one reference */
    uint64_t id;               /* for write-back */
    bool disjoint;             /* no byte of the file is held twice: it may be written */
    int64_t limit;             /* slice offsets below it have a position */
    struct mpiio_codec *codec; /* NULL: slice offsets are positions, and nothing is converted */
    bool truncates;            /* integers are narrowed to their least significant bytes */
    struct mpiio_torn torn;
};

/*
 * mpiio_fetch and mpiio_put on the slice's map, or what stands for them where the store writes back
 * (back.h): all that is read from or written to positions goes through these.
 */
void mpiio_slice_fetch(struct mpiio_slice *slice, int64_t position, size_t length, void *buffer,
                       struct mpiio_fetched *fetched, struct mpiio_counters *done);
size_t mpiio_slice_put(struct mpiio_slice *slice, int64_t position, size_t length,
                       const void *buffer, int *error, struct mpiio_counters *done);

/*
 * The same for one who has locked elements: mpiio_back_put_now, and mpiio_back_put_merged for one
 * that was read, or mpiio_put; and mpiio_back_await, or error as it is.
 */
size_t mpiio_slice_put_now(struct mpiio_slice *slice, int64_t position, size_t length,
                           const void *buffer, int *error, struct mpiio_counters *done);
size_t mpiio_slice_put_merged(struct mpiio_slice *slice, int64_t position, size_t length,
                              const void *buffer, int *error, struct mpiio_counters *done);
int mpiio_slice_await(const struct mpiio_slice *slice, int error);

#endif
