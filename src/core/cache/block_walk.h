/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_BLOCK_WALK_H
#define MPIIO_BLOCK_WALK_H

#include "slots.h"
#include "core/file/batches.h"
#include "core/file/source.h"

/* Splits the runs of a request into block ranges (portions). Each lies in one block of the file
   (slots.h), and has at most MPIIO_BATCHES_MAX parts. */

struct mpiio_block_walk {
    struct mpiio_batches batches; /* the first member; has the parts; its windows are blocks */
    int64_t block;                /* number of the block */
    /* Called for each block range, in slice order. Returns false to end the walk. */
    bool (*visit)(struct mpiio_block_walk *portion);
    void *argument; /* the caller's */
};

/* Visits the first bytes of a transfer (bytes of them). Local, thread-safe. */
void mpiio_block_walk(const struct mpiio_transfer *transfer, size_t bytes,
                      bool (*visit)(struct mpiio_block_walk *portion), void *argument);

/* Sets the transfer's bytes to the number of those before a block range, and its error. Returns
   false. */
bool mpiio_block_walk_stop(const struct mpiio_block_walk *portion, struct mpiio_transfer *transfer,
                           int error);

/* Returns the runs of a part within its block. */
struct mpiio_mask_runs mpiio_block_walk_runs(const struct mpiio_batch_part *part);

#endif
