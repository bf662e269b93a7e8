/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLICE_PRIVATE_H
#define MPIIO_SLICE_PRIVATE_H

#include <stdbool.h>

#include "fetch.h"
#include "slice.h"

/*
 * What is inside a slice: for the other files of this folder only. Slice offset and position are
 * the same number here: only identical views are accepted.
 */
struct mpiio_slice {
    struct mpiio_store *store; /* borrowed */
    struct vs_view *view;      /* one reference */
    uint64_t id;               /* for write-back */
    bool disjoint;             /* no byte of the file is held twice: it may be written */
};

/*
 * mpiio_fetch and mpiio_put on the slice's map, or what stands for them where the store writes back
 * (back.h): all that is read from or written to positions goes through these.
 */
void mpiio_slice_fetch(struct mpiio_slice *slice, int64_t position, size_t length, void *buffer,
                       struct mpiio_fetched *fetched, struct mpiio_counters *done);
size_t mpiio_slice_put(struct mpiio_slice *slice, int64_t position, size_t length,
                       const void *buffer, int *error, struct mpiio_counters *done);

#endif
