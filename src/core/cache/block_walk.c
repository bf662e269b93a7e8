/* SPDX-License-Identifier: MIT */
#include "block_walk.h"

static void visit_portion(struct mpiio_batches *batches)
{
    struct mpiio_block_walk *portion = (struct mpiio_block_walk *)batches;

    portion->block = batches->window_start / MPIIO_BLOCK_SIZE;
    portion->first = batches->part[0].memory;
    batches->stopped = !portion->visit(portion);
}

size_t mpiio_block_walk(const struct mpiio_transfer *transfer, size_t bytes,
                        bool (*visit)(struct mpiio_block_walk *portion), void *argument)
{
    struct vs_cursor cursor;
    struct vs_batch batch;
    struct mpiio_block_walk portion;

    mpiio_batches_start(&portion.batches, NULL, NULL, visit_portion);
    portion.batches.window_size = MPIIO_BLOCK_SIZE;
    portion.visit = visit;
    portion.argument = argument;
    vs_cursor_start(&cursor, transfer->map, transfer->position, (int64_t)bytes);
    while (!portion.batches.stopped && vs_cursor_batch(&cursor, &batch))
        mpiio_batches_add(&portion.batches,
                          mpiio_batch_part_of(&batch, transfer->buffer, transfer->position));
    mpiio_batches_flush(&portion.batches);
    return portion.batches.stopped ? (size_t)(portion.first - transfer->buffer) : bytes;
}

struct mpiio_mask_runs mpiio_block_walk_runs(const struct mpiio_batch_part *part)
{
    return (struct mpiio_mask_runs){.start = (size_t)(part->displacement % MPIIO_BLOCK_SIZE),
                                    .length = (size_t)part->length,
                                    .count = (size_t)part->count,
                                    .stride = (ptrdiff_t)part->stride};
}
