/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_PLAN_H
#define MPIIO_POOL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/source.h"

/* The positions of a request as parts of blocks of the pool, each with a home of its own. */

/* count runs of length bytes, at offset + i * stride in their block. */
struct mpiio_pool_part {
    uint32_t offset, length, count;
    int32_t stride;
};

/* The bytes of one block that a request wants: those of its parts, packed one behind the other. */
struct mpiio_pool_portion {
    int64_t block;
    char *memory; /* where they are to be; borrowed */
    uint32_t bytes;
    uint32_t first, count; /* of the plan's parts */
};

/* Limits of one round of a request. */
#define MPIIO_POOL_PORTIONS 64
#define MPIIO_POOL_PARTS    4096

struct mpiio_pool_plan {
    int64_t block; /* bytes of a block of the pool */
    int portions;
    uint32_t parts;
    int64_t touched; /* pieces of 64 KiB of the file that the parts lie in, or some more */
    struct mpiio_pool_portion portion[MPIIO_POOL_PORTIONS];
    struct mpiio_pool_part part[MPIIO_POOL_PARTS];
};

/*
 * Plans a transfer from its first byte on, in blocks of plan->block bytes, for MPIIO_POOL_BLOCK
 * bytes at most and fewer if the plan is full. Returns for how many bytes: at least one if the
 * transfer has any. Local, thread-safe.
 */
size_t mpiio_pool_plan_make(struct mpiio_pool_plan *plan, const struct mpiio_transfer *transfer);

/* Returns true if the request wants so much of the blocks that reading them as a whole costs little
   more. */
bool mpiio_pool_plan_is_dense(const struct mpiio_pool_plan *plan);

/* Packs the bytes of count parts of a block, whose bytes begin at block, into memory. */
void mpiio_pool_pack(const struct mpiio_pool_part *part, uint32_t count, const char *block,
                     char *memory);

/* The bytes of the block, from its first on, that the parts lie in; -1: they are none of a block.
 */
int64_t mpiio_pool_reach(const struct mpiio_pool_part *part, uint32_t count);

/* The packed bytes of the parts: up to 2^44. */
uint64_t mpiio_pool_bytes(const struct mpiio_pool_part *part, uint32_t count);

#endif
