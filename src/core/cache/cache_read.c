/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <errno.h>
#include <string.h>

#include "core/base/gather.h"
#include "cache_private.h"

/* Reading the file with both generations overlaid. */

/* Bytes of the file over which strided runs are compared with the mask in one step. */
#define CHUNK 16384

/* Overlays the dirty bytes of one run on memory. Skips empty parts of the mask. */
static void overlay_run(const struct mpiio_slot *slot, size_t start, size_t length, char *memory)
{
    size_t end = start + length;

    for (size_t from = start; from < end;) {
        size_t edge = (from / MPIIO_MASK_REACH + 1) * MPIIO_MASK_REACH;
        struct mpiio_mask_run run = {.end = from};

        edge = edge < end ? edge : end;
        if (mpiio_slot_touched(slot, from, edge))
            while (mpiio_mask_next_run(slot->mask, run.end, edge, &run))
                mpiio_gather(memory + (run.start - start), slot->data + run.start,
                             run.end - run.start, 1, 0);
        from = edge;
    }
}

/* Overlays runs. Most runs are entirely dirty or entirely clean, because the same view wrote
   them. */
static void overlay_runs(const struct mpiio_slot *slot, struct mpiio_mask_runs runs, char *memory)
{
    enum mpiio_mask_state state = MPIIO_MASK_SOME;

    if (runs.count > 1) {
        size_t span = (runs.count - 1) * (size_t)runs.stride + runs.length;

        if (!mpiio_slot_touched(slot, runs.start, runs.start + span))
            return;
        state = mpiio_mask_test(slot->mask, runs);
    }
    if (state == MPIIO_MASK_ALL)
        mpiio_gather(memory, slot->data + runs.start, runs.length, runs.count, runs.stride);
    for (size_t i = 0; i < runs.count && state == MPIIO_MASK_SOME; i++)
        overlay_run(slot, runs.start + i * (size_t)runs.stride, runs.length,
                    memory + i * runs.length);
}

static void overlay_work(void *argument)
{
    const struct mpiio_slot_access *access = argument;

    for (int i = 0; i < access->portion->batches.count; i++) {
        struct mpiio_batch_part part = access->portion->batches.part[i];
        int64_t most = 1;

        if (part.stride >= part.length && part.stride < CHUNK)
            most = CHUNK / part.stride;
        while (part.count > 0) {
            struct mpiio_mask_runs runs = mpiio_block_walk_runs(&part);

            runs.count = part.count < most ? (size_t)part.count : (size_t)most;
            overlay_runs(&access->slot, runs, part.memory);
            mpiio_batch_part_advance(&part, (int64_t)runs.count);
        }
    }
}

static bool overlay_portion(struct mpiio_block_walk *portion)
{
    return mpiio_cache_access_both(portion->argument, portion, false, overlay_work);
}

/* Overlays the dirty bytes on those that were read. */
static void overlay_dirty(struct mpiio_cache *cache, struct mpiio_transfer *transfer)
{
    size_t bytes = mpiio_block_walk(transfer, transfer->bytes, overlay_portion, cache);

    if (bytes < transfer->bytes)
        transfer->error = -ENOMEM;
    transfer->bytes = bytes;
}

/* Zeroes a transfer's bytes that lie after the file's end. Returns their number. */
static size_t zero_behind(const struct mpiio_transfer *transfer)
{
    struct vs_runs runs;
    struct vs_run run;
    size_t bytes = 0;

    if (vs_map_facts(transfer->map)->monotonic) {
        memset(transfer->buffer, 0, transfer->length);
        return transfer->length;
    }
    vs_runs_start(&runs, transfer->map, transfer->position, (int64_t)transfer->length);
    while (vs_runs_next(&runs, &run) && run.displacement >= transfer->end) {
        memset(transfer->buffer + bytes, 0, (size_t)run.length);
        bytes += (size_t)run.length;
    }
    return bytes;
}

static void fetch_file(struct mpiio_source *file, struct mpiio_transfer *transfer)
{
    struct mpiio_transfer rest = *transfer;

    rest.error = 0;
    while (rest.length > 0 && rest.error == 0) {
        file->ops->read_runs(file, &rest);
        mpiio_transfer_pass(&rest, rest.bytes);
        if (rest.length > 0 && rest.error == 0)
            mpiio_transfer_pass(&rest, zero_behind(&rest));
    }
    transfer->bytes = transfer->length - rest.length;
    transfer->error = rest.error;
    transfer->end = INT64_MAX;
}

/*
 * If bytes leave the blocks after the file was read and before the blocks are, they appear in
 * neither. So the read is then repeated.
 */
void mpiio_cache_read(struct mpiio_source *source, struct mpiio_transfer *transfer)
{
    struct mpiio_cache *cache = (struct mpiio_cache *)source;
    uint64_t drops;

    do {
        drops = cache->drops;
        fetch_file(&cache->file->source, transfer);
        if (transfer->bytes > 0 && !mpiio_cache_is_empty(cache))
            overlay_dirty(cache, transfer);
    } while (drops != cache->drops);
}
