/* SPDX-License-Identifier: MIT */
#include "pool_private.h"

#include <stdlib.h>

#include "core/base/gather.h"
#include "core/cache/block_walk.h"

/* Plans of reads, and the packing of blocks. */

#define PIECE ((int64_t)64 << 10)

static int64_t touched(const struct mpiio_batch_part *part)
{
    int64_t stride = part->count > 1 ? llabs(part->stride) : 0;

    if (stride > PIECE)
        return part->count * (part->length / PIECE + 1);
    return ((part->count - 1) * stride + part->length) / PIECE + 1;
}

static void add_to_plan(struct mpiio_pool_plan *plan, const struct mpiio_batch_part *part)
{
    struct mpiio_pool_range *range = &plan->range[plan->ranges - 1];

    plan->part[plan->parts++] =
        (struct mpiio_pool_part){.offset = (uint32_t)(part->displacement % plan->block),
                                 .length = (uint32_t)part->length,
                                 .count = (uint32_t)part->count,
                                 .stride = part->count > 1 ? (int32_t)part->stride : 0};
    range->count++;
    range->bytes += (uint32_t)(part->length * part->count);
}

/* Counts the pieces that the parts touch. A piece in which one part ends and the next begins
   counts once. */
static void count_touched(struct mpiio_pool_plan *plan, const struct mpiio_block_walk *walk)
{
    int64_t last = -1;

    for (int i = 0; i < walk->batches.count; i++) {
        const struct mpiio_batch_part *part = &walk->batches.part[i];
        int64_t end = part->displacement + (part->count - 1) * part->stride + part->length - 1;

        plan->touched += touched(part) - (part->displacement / PIECE == last);
        last = end / PIECE;
    }
}

/* Adds the parts of one walk block to the plan. A pool block consists of whole walk blocks. */
static bool visit(struct mpiio_block_walk *walk)
{
    struct mpiio_pool_plan *plan = walk->argument;
    int64_t block = walk->block * MPIIO_BLOCK_SIZE / plan->block;

    if (plan->parts + (uint32_t)walk->batches.count > MPIIO_POOL_PARTS)
        return false;
    if (plan->ranges == 0 || plan->range[plan->ranges - 1].block != block) {
        if (plan->ranges == MPIIO_POOL_RANGES)
            return false;
        plan->range[plan->ranges++] = (struct mpiio_pool_range){
            .block = block, .memory = walk->batches.part[0].memory, .first = plan->parts};
    }
    for (int i = 0; i < walk->batches.count; i++)
        add_to_plan(plan, &walk->batches.part[i]);
    count_touched(plan, walk);
    return true;
}

size_t mpiio_pool_plan_make(struct mpiio_pool_plan *plan, const struct mpiio_transfer *transfer)
{
    size_t most = (size_t)MPIIO_POOL_BLOCK;

    plan->ranges = 0;
    plan->parts = 0;
    plan->touched = 0;
    return mpiio_block_walk(transfer, transfer->length < most ? transfer->length : most, visit,
                            plan);
}

/* Returns true if at least half of the pieces of the blocks are touched. One block is not
   counted, because the first and the last block may be requested in part. */
bool mpiio_pool_plan_is_dense(const struct mpiio_pool_plan *plan)
{
    return plan->touched >=
           plan->block / PIECE / 2 * (int64_t)(plan->ranges > 1 ? plan->ranges - 1 : 1);
}

/* Packs the bytes of count parts of a block, which begins at block, into memory. */
static void pack(const struct mpiio_pool_part *part, uint32_t count, const char *block,
                 char *memory)
{
    for (uint32_t i = 0; i < count; i++) {
        mpiio_gather(memory, block + part[i].offset, part[i].length, part[i].count, part[i].stride);
        memory += (size_t)part[i].length * part[i].count;
    }
}

int64_t mpiio_pool_reach(const struct mpiio_pool_part *part, uint32_t count)
{
    int64_t reach = 0;

    for (uint32_t i = 0; i < count; i++) {
        int64_t first = part[i].offset;
        int64_t last = first + ((int64_t)part[i].count - 1) * part[i].stride;
        int64_t low = last < first ? last : first;
        int64_t high = (last < first ? first : last) + part[i].length;

        if (part[i].count == 0 || part[i].length == 0 || low < 0 || high > MPIIO_POOL_BLOCK)
            return -1;
        /* With stride 0 a part may repeat its bytes. Their sum (mpiio_pool_bytes) must not
         * overflow. */
        if ((uint64_t)part[i].length * part[i].count > (uint64_t)MPIIO_POOL_BLOCK)
            return -1;
        reach = high > reach ? high : reach;
    }
    return reach;
}

uint64_t mpiio_pool_bytes(const struct mpiio_pool_part *part, uint32_t count)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += (uint64_t)part[i].length * part[i].count;
    return bytes;
}

bool mpiio_pool_fetch(struct mpiio_pool_memory *memory, const struct mpiio_pool_request *request,
                      char *bytes)
{
    bool fresh, there;
    struct mpiio_pool_block *block =
        mpiio_pool_memory_get(memory, request->block, &request->version, &fresh);

    if (block == NULL)
        return false;
    there = mpiio_pool_reach(request->part, request->count) <= block->length;
    if (there)
        pack(request->part, request->count, block->bytes, bytes);
    mpiio_pool_memory_put(memory, block);
    return there;
}
