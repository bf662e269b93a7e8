/* SPDX-License-Identifier: MIT */
#include "assembled_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/gather.h"
#include "core/file/read_plan.h"

/*
 * Reading: block by block of the whole, and there member by member. What a member holds of a block
 * lies one after the other in its own file, as a rule: it is read at once, and then scattered to
 * its places. Long runs are read to their places.
 */

#define LONG_RUN (16 << 10) /* bytes from which a run is read by itself */

/* A block that is read, or its part [start, end). */
struct block {
    struct mpiio_assembled *self;
    char *buffer; /* for the byte at start */
    int64_t start, end;
    char *packed; /* room for as many bytes; made when first needed */
    struct mpiio_counters *done;
};

/* Reads positions of a member to where they are wanted packed. */
static int read_packed(const struct block *block, const struct mpiio_member *member,
                       int64_t position, int64_t length, char *to)
{
    struct mpiio_read_result fetched;

    mpiio_read_runs(member->file, vs_view_map(member->local), position, (size_t)length, to,
                    &fetched, block->done);
    if (fetched.error != 0)
        return fetched.error;
    if (fetched.bytes == (size_t)length)
        return 0;
    if (!block->self->missing_zero)
        return -EIO;
    memset(to + fetched.bytes, 0, (size_t)length - fetched.bytes);
    return 0;
}

static int read_runs(const struct block *block, const struct mpiio_member *member,
                     const struct vs_assembly_part *part)
{
    struct vs_runs runs;
    struct vs_run run;
    int error = 0;

    vs_runs_start(&runs, vs_view_map(member->view), part->position, part->length);
    while (error == 0 && vs_runs_next(&runs, &run))
        error = read_packed(block, member, run.position, run.length,
                            block->buffer + (run.displacement - block->start));
    return error;
}

static int read_scattered(struct block *block, const struct mpiio_member *member,
                          const struct vs_assembly_part *part)
{
    struct vs_cursor cursor;
    struct vs_batch batch;
    int error;

    if (block->packed == NULL)
        block->packed = malloc((size_t)(block->end - block->start));
    if (block->packed == NULL)
        return -ENOMEM;
    error = read_packed(block, member, part->position, part->length, block->packed);
    if (error != 0)
        return error;
    vs_cursor_start(&cursor, vs_view_map(member->view), part->position, part->length);
    while (vs_cursor_batch(&cursor, &batch))
        mpiio_scatter(block->buffer + (batch.displacement - block->start),
                      block->packed + (batch.position - part->position), (size_t)batch.length,
                      (size_t)batch.count, (ptrdiff_t)batch.stride);
    return 0;
}

static bool has_long_runs(const struct vs_map *map, const struct vs_assembly_part *part)
{
    const struct vs_map_facts *facts = vs_map_facts(map);

    return mpiio_assembled_is_run(map, part->position, part->length) ||
           facts->tile_size / facts->tile_runs >= LONG_RUN;
}

static int read_part(struct block *block, const struct vs_assembly_part *part)
{
    struct mpiio_member *member;
    int error = mpiio_member_acquire(&block->self->table, part->member, &member);

    if (error != 0)
        return error;
    if (has_long_runs(vs_view_map(member->view), part))
        error = read_runs(block, member, part);
    else
        error = read_scattered(block, member, part);
    mpiio_member_release(&block->self->table, member);
    return error;
}

/* Where members overlap, the one whose bytes count is the last to put them. */
static int read_parts(struct block *block, const struct vs_assembly_part *parts, size_t count)
{
    bool backwards = block->self->overlap == VS_OVERLAP_FIRST;
    int64_t held = 0;
    int error = 0;

    for (size_t i = 0; i < count; i++)
        held += parts[i].length;
    if (held < block->end - block->start || block->self->overlap != VS_OVERLAP_ERROR)
        memset(block->buffer, 0, (size_t)(block->end - block->start));
    for (size_t i = 0; i < count && error == 0; i++)
        error = read_part(block, &parts[backwards ? count - 1 - i : i]);
    return error;
}

static int read_block(struct block *block)
{
    struct vs_assembly_part *parts;
    size_t count;
    int error = vs_assembly_parts(block->self->places, block->start, block->end, &parts, &count);

    if (error != 0)
        return error;
    error = read_parts(block, parts, count);
    free(parts);
    return error;
}

int64_t mpiio_assembled_read(void *self, void *buffer, size_t length, int64_t displacement,
                             struct mpiio_counters *done)
{
    struct mpiio_assembled *assembled = self;
    struct block block = {.self = assembled, .done = done};
    int64_t size = vs_assembly_size(assembled->places), end;
    int error = 0;

    if (displacement >= size)
        return 0;
    end = (int64_t)length < size - displacement ? displacement + (int64_t)length : size;
    for (int64_t at = displacement; at < end && error == 0; at = block.end) {
        block.buffer = (char *)buffer + (at - displacement);
        block.start = at;
        block.end = mpiio_assembled_block_end(at, end);
        error = read_block(&block);
        free(block.packed);
        block.packed = NULL;
    }
    return error != 0 ? error : end - displacement;
}
