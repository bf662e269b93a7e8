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
    void *argument;    /* the caller's */
    const char *first; /* the first packed byte of the block range */
};

/* Visits the first bytes of a transfer (bytes of them). Returns how many come before the block
   range that ended the walk, or bytes. Local, thread-safe. */
size_t mpiio_block_walk(const struct mpiio_transfer *transfer, size_t bytes,
                        bool (*visit)(struct mpiio_block_walk *portion), void *argument);

/* Returns the runs of a part within its block. */
struct mpiio_mask_runs mpiio_block_walk_runs(const struct mpiio_batch_part *part);

#endif
