/* SPDX-License-Identifier: MIT */
#include "assembled_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/gather.h"
#include "viewspec/base/integer.h"
#include "viewspec/base/list.h"

/*
 * Writing. The given bytes are a part of an image of the whole. Long runs are written from the
 * caller's memory; short ones are first collected in an image of a block. For each block, the bytes
 * of each member are packed and written by the member's own write plan: by one write if all of them
 * are given, else as ranges.
 */

#define LONG_RUN (64 << 10) /* bytes from which a run is written separately */

/* A transfer's ranges within one block. */
struct block {
    struct mpiio_assembled *self;
    const struct mpiio_transfer *transfer; /* its buffer is the image of the block */
    const struct mpiio_range *ranges;      /* in the image; the first and the last may be partial */
    size_t count;
    int64_t start, end; /* in the whole: from the first to the last given byte */
};

/* A list of ranges that ascend and do not touch each other. */
struct ranges {
    struct mpiio_range *list; /* owned */
    size_t count, room;
};

/* Returns the end of the last range, or 0. */
static int64_t ranges_end(const struct ranges *ranges)
{
    const struct mpiio_range *last;

    if (ranges->count == 0)
        return 0;
    last = &ranges->list[ranges->count - 1];
    return last->start + last->length;
}

/* Adds a range behind all others. Returns false if memory is exhausted. */
static bool ranges_add(struct ranges *ranges, int64_t start, int64_t length)
{
    if (ranges->count > 0 && ranges_end(ranges) == start) {
        ranges->list[ranges->count - 1].length += length;
        return true;
    }
    if (!VS_LIST_ROOM(ranges->list, ranges->count, ranges->room))
        return false;
    ranges->list[ranges->count++] = (struct mpiio_range){.start = start, .length = length};
    return true;
}

static int64_t given_start(const struct block *block, size_t i)
{
    return vs_max(block->transfer->position + block->ranges[i].start, block->start);
}

static int64_t given_end(const struct block *block, size_t i)
{
    return vs_min(block->transfer->position + block->ranges[i].start + block->ranges[i].length,
                  block->end);
}

/* Finds the given ranges of a part's packed bytes. Returns 0 or -ENOMEM. */
static int find_given(const struct block *block, const struct vs_map *map,
                      const struct vs_assembly_part *part, struct ranges *given)
{
    struct vs_runs runs;
    struct vs_run run;
    size_t i = 0;

    vs_runs_start(&runs, map, part->position, part->length);
    while (i < block->count && vs_runs_next(&runs, &run)) {
        while (i < block->count && given_end(block, i) <= run.displacement)
            i++;
        for (size_t k = i; k < block->count; k++) {
            int64_t from = vs_max(given_start(block, k), run.displacement);
            int64_t to = vs_min(given_end(block, k), run.displacement + run.length);
            int64_t place = run.position - part->position + (from - run.displacement);

            if (from >= to)
                break;
            if (!ranges_add(given, place, to - from))
                return -ENOMEM;
        }
    }
    return 0;
}

/* Packs a part. Bytes that are not given may be copied, too, from the image's memory. */
static void pack_member(const struct block *block, const struct vs_map *map,
                        const struct vs_assembly_part *part, char *packed)
{
    struct vs_cursor cursor;
    struct vs_batch batch;

    vs_cursor_start(&cursor, map, part->position, part->length);
    while (vs_cursor_batch(&cursor, &batch))
        mpiio_gather(packed + (batch.position - part->position),
                     block->transfer->buffer + (batch.displacement - block->transfer->position),
                     (size_t)batch.length, (size_t)batch.count, (ptrdiff_t)batch.stride);
}

/* Returns the error of a transfer. If a later transfer has overwritten it, returns -EIO. */
static int reported_error(const struct mpiio_transfer *transfer, size_t wanted)
{
    return transfer->bytes < wanted && transfer->error == 0 ? -EIO : transfer->error;
}

static int write_packed(const struct block *block, const struct mpiio_member *member,
                        const struct vs_assembly_part *part, const char *packed,
                        const struct mpiio_range *given, size_t count)
{
    struct mpiio_transfer transfer = {
        .map = vs_view_map(member->local), .buffer = (char *)packed, .done = block->transfer->done};
    int error = 0;

    if (count > 1 && mpiio_assembled_is_run(transfer.map, part->position, part->length)) {
        transfer.position = vs_map_displacement(transfer.map, part->position);
        transfer.map = NULL;
        transfer.ranges = given;
        transfer.count = count;
        mpiio_write_ranges(member->file, &transfer);
        return reported_error(&transfer,
                              (size_t)(given[count - 1].start + given[count - 1].length));
    }
    for (size_t i = 0; i < count && error == 0; i++) {
        transfer.position = part->position + given[i].start;
        transfer.buffer = (char *)packed + given[i].start;
        transfer.length = (size_t)given[i].length;
        mpiio_write_runs(&member->file->source, &transfer);
        error = reported_error(&transfer, transfer.length);
    }
    return error;
}

static int write_given(const struct block *block, const struct mpiio_member *member,
                       const struct vs_assembly_part *part, const struct mpiio_range *given,
                       size_t count)
{
    const struct vs_map *map = vs_view_map(member->view);
    char *packed = NULL;
    int error;

    if (mpiio_assembled_is_run(map, part->position, part->length)) {
        const char *image = block->transfer->buffer +
                            (vs_map_displacement(map, part->position) - block->transfer->position);

        return write_packed(block, member, part, image, given, count);
    }
    packed = malloc((size_t)part->length);
    if (packed == NULL)
        return -ENOMEM;
    pack_member(block, map, part, packed);
    error = write_packed(block, member, part, packed, given, count);
    free(packed);
    return error;
}

static int write_part(const struct block *block, const struct vs_assembly_part *part)
{
    struct mpiio_range all = {.length = part->length};
    struct ranges given = {.list = &all, .count = 1};
    struct mpiio_member *member;
    int error = mpiio_member_acquire(block->self, part->member, &member);

    if (error != 0)
        return error;
    if (block->count > 1) {
        given = (struct ranges){0};
        error = find_given(block, vs_view_map(member->view), part, &given);
    }
    if (error == 0 && given.count > 0)
        error = write_given(block, member, part, given.list, given.count);
    mpiio_assembled_mark_written(block->self, part->member);
    if (given.list != &all)
        free(given.list);
    mpiio_member_release(block->self, member);
    atomic_fetch_add(&block->self->writes, 1);
    return error;
}

static int write_block(const struct block *block)
{
    struct vs_assembly_part *parts;
    size_t count;
    int error = vs_assembly_parts(block->self->places, block->start, block->end, &parts, &count);

    for (size_t i = 0; i < count && error == 0; i++)
        error = write_part(block, &parts[i]);
    free(parts);
    return error;
}

void mpiio_assembled_write_ranges(struct mpiio_file *file, struct mpiio_transfer *transfer)
{
    const struct mpiio_range *ranges = transfer->ranges;
    struct block block = {.self = (struct mpiio_assembled *)file, .transfer = transfer};
    int64_t displacement = transfer->position;
    size_t count = transfer->count, first = 0, behind;
    int64_t at = count > 0 ? displacement + ranges[0].start : displacement;

    transfer->error = 0;
    while (first < count) {
        int64_t limit = mpiio_assembled_block_end(at, INT64_MAX), last;

        behind = first + 1;
        while (behind < count && displacement + ranges[behind].start < limit)
            behind++;
        last = displacement + ranges[behind - 1].start + ranges[behind - 1].length;
        block.ranges = ranges + first;
        block.count = behind - first;
        block.start = at;
        block.end = last < limit ? last : limit;
        transfer->error = write_block(&block);
        if (transfer->error != 0)
            break;
        /* The last range may continue in the next block. */
        first = last > limit ? behind - 1 : behind;
        at = last > limit ? limit : first < count ? displacement + ranges[first].start : last;
    }
    transfer->bytes = (size_t)(at - displacement);
}

/* Runs. */

/* Short runs that are collected, all in one block. */
struct collection {
    struct mpiio_file *file;
    struct mpiio_transfer *transfer; /* the runs' transfer; error: the first of all writes */
    char *image;                     /* the image of a block */
    int64_t block;                   /* displacement of the image's byte 0 */
    struct ranges ranges;            /* in the image */
    int64_t first;                   /* the position of the first range */
};

/* Writes ranges of an image that begins at displacement. Returns the byte up to which all is
   written. */
static int64_t write_ranges(struct collection *collection, const char *image, int64_t displacement,
                            const struct mpiio_range *ranges, size_t count)
{
    struct mpiio_transfer part = {.position = displacement,
                                  .buffer = (char *)image,
                                  .ranges = ranges,
                                  .count = count,
                                  .done = collection->transfer->done};

    mpiio_assembled_write_ranges(collection->file, &part);
    collection->transfer->error = part.error;
    return (int64_t)part.bytes;
}

/* Writes the collected runs. Returns false after an error. */
static bool flush_image(struct collection *collection)
{
    if (collection->ranges.count > 0 && collection->transfer->error == 0)
        write_ranges(collection, collection->image, collection->block, collection->ranges.list,
                     collection->ranges.count);
    if (collection->transfer->error == 0)
        collection->ranges.count = 0;
    return collection->transfer->error == 0;
}

/* Adds a run that lies in one block. from has its bytes. Returns false after an error. */
static bool add_run(struct collection *collection, const char *from, int64_t position,
                    int64_t displacement, int64_t length)
{
    int64_t start = displacement % VS_ASSEMBLY_BLOCK;

    if ((collection->block != displacement - start || start < ranges_end(&collection->ranges)) &&
        !flush_image(collection))
        return false;
    if (collection->ranges.count == 0) {
        collection->block = displacement - start;
        collection->first = position;
    }
    if (collection->image == NULL)
        collection->image = malloc(VS_ASSEMBLY_BLOCK);
    if (collection->image == NULL || !ranges_add(&collection->ranges, start, length)) {
        collection->transfer->error = -ENOMEM;
        return false;
    }
    memcpy(collection->image + start, from, (size_t)length);
    return true;
}

/* Returns the number of bytes of a run that are written, or collected, before an error. */
static int64_t write_run(struct collection *collection, const struct vs_run *run, const char *from)
{
    struct mpiio_range range = {.length = run->length};
    int64_t put = 0;

    if (run->length >= LONG_RUN && flush_image(collection))
        return write_ranges(collection, from, run->displacement, &range, 1);
    while (put < run->length && collection->transfer->error == 0) {
        int64_t at = run->displacement + put;
        int64_t length = mpiio_assembled_block_end(at, at + run->length - put) - at;

        if (add_run(collection, from + put, run->position + put, at, length))
            put += length;
    }
    return put;
}

void mpiio_assembled_write_runs(struct mpiio_source *source, struct mpiio_transfer *transfer)
{
    struct collection collection = {.file = (struct mpiio_file *)source, .transfer = transfer};
    int64_t bytes = 0, place;
    struct vs_runs runs;
    struct vs_run run;

    transfer->error = 0;
    vs_runs_start(&runs, transfer->map, transfer->position, (int64_t)transfer->length);
    while (transfer->error == 0 && vs_runs_next(&runs, &run)) {
        place = run.position - transfer->position;
        bytes = place + write_run(&collection, &run, transfer->buffer + place);
    }
    flush_image(&collection);
    /* Collected bytes that could not be written come before the rest. */
    if (transfer->error != 0 && collection.ranges.count > 0)
        bytes = collection.first - transfer->position;
    free(collection.image);
    free(collection.ranges.list);
    transfer->bytes = (size_t)bytes;
}

/* Finding holes, which must not be written. */

static int find_hole(struct mpiio_assembled *self, int64_t start, int64_t end, int64_t *hole)
{
    struct vs_assembly_part *parts;
    size_t count;

    for (int64_t at = start; at < end; at = mpiio_assembled_block_end(at, end)) {
        int64_t limit = mpiio_assembled_block_end(at, end), held = 0;
        int error = vs_assembly_parts(self->places, at, limit, &parts, &count);

        if (error != 0)
            return error;
        for (size_t i = 0; i < count; i++)
            held += parts[i].length;
        free(parts);
        if (held < limit - at) {
            *hole = vs_assembly_seek(self->places, at, true);
            return -ENXIO;
        }
    }
    return 0;
}

void mpiio_assembled_admit(struct mpiio_file *file, struct mpiio_transfer *transfer)
{
    struct mpiio_assembled *assembled = (struct mpiio_assembled *)file;
    const struct vs_map *map = transfer->map;
    int64_t position = transfer->position, length = (int64_t)transfer->length;
    int64_t first = vs_map_displacement(map, position), hole = 0;
    int64_t last = vs_map_displacement(map, position + length - 1);
    struct vs_runs runs;
    struct vs_run run;

    transfer->bytes = transfer->length;
    transfer->error = 0;
    /* Check a request of short runs as a whole first. */
    if (vs_assembly_is_full(assembled->places) ||
        (vs_map_facts(map)->monotonic && last - first < VS_ASSEMBLY_BLOCK &&
         find_hole(assembled, first, last + 1, &hole) == 0))
        return;
    vs_runs_start(&runs, map, position, length);
    while (transfer->error == 0 && vs_runs_next(&runs, &run)) {
        hole = run.displacement;
        transfer->error = find_hole(assembled, hole, hole + run.length, &hole);
        if (transfer->error != 0)
            transfer->bytes = (size_t)(run.position - position + (hole - run.displacement));
    }
}
