/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BLOCK_WALK_H
#define MPIIO_BLOCK_WALK_H

#include "slots.h"
#include "core/file/batches.h"
#include "core/file/source.h"

/* Splits the runs of a request into block ranges (portions). Each lies in one block of the file
   (slots.h). */

#define MPIIO_BLOCK_WALK_MAX 64

struct mpiio_block_walk {
    /* Called for each block range, in slice order. Returns false to end the walk. */
    bool (*visit)(struct mpiio_block_walk *portion);
    void *argument; /* the caller's */
    bool stopped;
    int64_t block; /* number of the block */
    int count;     /* number of parts, > 0 when visited */
    struct mpiio_batch_part part[MPIIO_BLOCK_WALK_MAX];
};

/* Visits the first bytes of a transfer (bytes of them). Local, thread-safe. */
void mpiio_block_walk(const struct mpiio_transfer *transfer, size_t bytes,
                      bool (*visit)(struct mpiio_block_walk *portion), void *argument);

/* Returns the runs of a part within its block. */
struct mpiio_mask_runs mpiio_block_walk_runs(const struct mpiio_batch_part *part);

/* Returns the displacement after the last byte of a block range. */
int64_t mpiio_block_walk_end(const struct mpiio_block_walk *portion);

#endif
