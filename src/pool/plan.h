/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_PLAN_H
#define MPIIO_POOL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/source.h"

/* A plan: the positions of a request as parts of pool blocks. Each block has its own home. */

/* count runs of length bytes, at offset + i * stride in their block. */
struct mpiio_pool_part {
    uint32_t offset, length, count;
    int32_t stride;
};

/* A block range: the bytes of one block that a request needs, packed in the order of its parts. */
struct mpiio_pool_range {
    int64_t block;
    char *memory; /* destination; borrowed */
    uint32_t bytes;
    uint32_t first, count; /* indices into the plan's parts */
};

/* The limits of one round of a request. */
#define MPIIO_POOL_RANGES 64
#define MPIIO_POOL_PARTS  4096

struct mpiio_pool_plan {
    int64_t block; /* bytes of a block of the pool */
    int ranges;
    uint32_t parts;
    /* number of 64 KiB pieces of the file that the parts touch; may be overestimated */
    int64_t touched;
    struct mpiio_pool_range range[MPIIO_POOL_RANGES];
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
};

/*
 * Plans a transfer from its first byte, in blocks of plan->block bytes. Covers at most
 * MPIIO_POOL_BLOCK bytes, and fewer if the plan is full. Returns the number of bytes: at least one
 * if the transfer has any. Local, thread-safe.
 */
size_t mpiio_pool_plan_make(struct mpiio_pool_plan *plan, const struct mpiio_transfer *transfer);

/* Returns true if the request needs so much of the blocks that reading them whole costs little
   more. */
bool mpiio_pool_plan_is_dense(const struct mpiio_pool_plan *plan);

/* Packs the bytes of count parts of a block, which begins at block, into memory. */
void mpiio_pool_pack(const struct mpiio_pool_part *part, uint32_t count, const char *block,
                     char *memory);

/* Returns the number of bytes from the block's beginning to the end of its last part, or -1 if a
   part is empty, not within a block, or repeats bytes to more than a block. */
int64_t mpiio_pool_reach(const struct mpiio_pool_part *part, uint32_t count);

/* Returns the packed size of the parts in bytes. */
uint64_t mpiio_pool_bytes(const struct mpiio_pool_part *part, uint32_t count);

#endif
