/* SPDX-License-Identifier: MIT */
#include "block_walk.h"

#include "viewspec/base/integer.h"

static void visit_portion(struct mpiio_block_walk *portion)
{
    if (portion->count > 0 && !portion->stopped)
        portion->stopped = !portion->visit(portion);
    portion->count = 0;
}

static void add_part(struct mpiio_block_walk *portion, const struct mpiio_batch_part *part)
{
    int64_t number = part->displacement / MPIIO_BLOCK_SIZE;

    if (portion->count == MPIIO_BLOCK_WALK_MAX || number != portion->block)
        visit_portion(portion);
    portion->block = number;
    portion->part[portion->count++] = *part;
}

/* Splits one run that crosses block boundaries. */
static void add_long_run(struct mpiio_block_walk *portion, struct mpiio_batch_part run)
{
    while (run.length > 0) {
        struct mpiio_batch_part part = mpiio_batch_part_cut(&run, MPIIO_BLOCK_SIZE);

        add_part(portion, &part);
    }
}

static void add_batch(struct mpiio_block_walk *portion, struct mpiio_batch_part part)
{
    while (part.count > 0 && !portion->stopped) {
        int64_t start = part.displacement - part.displacement % MPIIO_BLOCK_SIZE;
        int64_t runs = mpiio_batch_part_runs_inside(&part, start, MPIIO_BLOCK_SIZE);
        struct mpiio_batch_part inside = part;

        if (runs > 0) {
            inside.count = runs;
            add_part(portion, &inside);
        } else {
            runs = 1;
            add_long_run(portion, inside);
        }
        mpiio_batch_part_advance(&part, runs);
    }
}

void mpiio_block_walk(const struct mpiio_transfer *transfer, size_t bytes,
                      bool (*visit)(struct mpiio_block_walk *portion), void *argument)
{
    struct vs_cursor cursor;
    struct vs_batch batch;
    struct mpiio_block_walk portion;

    portion.visit = visit;
    portion.argument = argument;
    portion.stopped = false;
    portion.block = -1;
    portion.count = 0;
    vs_cursor_start(&cursor, transfer->map, transfer->position, (int64_t)bytes);
    while (!portion.stopped && vs_cursor_batch(&cursor, &batch))
        add_batch(&portion, mpiio_batch_part_of(&batch, transfer->buffer, transfer->position));
    visit_portion(&portion);
}

struct mpiio_mask_runs mpiio_block_walk_runs(const struct mpiio_batch_part *part)
{
    return (struct mpiio_mask_runs){.start = (size_t)(part->displacement % MPIIO_BLOCK_SIZE),
                                    .length = (size_t)part->length,
                                    .count = (size_t)part->count,
                                    .stride = (ptrdiff_t)part->stride};
}

int64_t mpiio_block_walk_end(const struct mpiio_block_walk *portion)
{
    int64_t end = 0;

    for (int i = 0; i < portion->count; i++) {
        const struct mpiio_batch_part *part = &portion->part[i];
        int64_t last = part->displacement + vs_max((part->count - 1) * part->stride, 0);

        end = vs_max(end, last + part->length);
    }
    return end;
}
