/* SPDX-License-Identifier: MIT */
#include "batches.h"

#include "core/base/gather.h"
#include "viewspec/base/integer.h"

struct mpiio_batch_part mpiio_batch_part_of(const struct vs_batch *batch, char *buffer,
                                            int64_t position)
{
    return (struct mpiio_batch_part){.memory = buffer + (batch->position - position),
                                     .displacement = batch->displacement,
                                     .length = batch->length,
                                     .count = batch->count,
                                     .stride = batch->stride};
}

void mpiio_batch_part_advance(struct mpiio_batch_part *part, int64_t runs)
{
    part->count -= runs;
    if (part->count > 0) {
        part->displacement += runs * part->stride;
        part->memory += runs * part->length;
    }
}

int64_t mpiio_batch_part_runs_inside(const struct mpiio_batch_part *part, int64_t start,
                                     int64_t size)
{
    int64_t behind = part->displacement - start;
    int64_t room = size - behind - part->length;
    int64_t runs;

    if (behind < 0 || room < 0)
        return 0;
    if (part->count == 1 || part->stride <= 0)
        return 1;
    runs = room / part->stride + 1;
    return runs < part->count ? runs : part->count;
}

void mpiio_batches_start(struct mpiio_batches *batches, const struct vs_map *map,
                         struct mpiio_windows *windows, void (*move)(struct mpiio_batches *batches))
{
    const struct vs_map_facts *facts = map != NULL ? vs_map_facts(map) : NULL;

    batches->windows = windows;
    batches->window = NULL;
    batches->window_size = MPIIO_WINDOW_SIZE;
    batches->window_start = -1;
    batches->previous_end = -1;
    batches->typical_distance = 0;
    if (facts != NULL)
        batches->typical_distance =
            facts->tile_runs > 0 ? facts->tile_extent / facts->tile_runs : facts->tile_extent;
    batches->stopped = false;
    batches->scatters = false;
    batches->move = move;
    batches->count = 0;
}

int64_t mpiio_batches_distance(const struct mpiio_batches *batches,
                               const struct mpiio_batch_part *part)
{
    int64_t gap = part->displacement - batches->previous_end;

    if (part->count > 1)
        return part->stride < 0 ? -part->stride : part->stride;
    if (batches->previous_end < 0)
        return batches->typical_distance;
    return gap < 0 ? -gap : gap;
}

void mpiio_batches_passed(struct mpiio_batches *batches, const struct vs_batch *batch)
{
    batches->previous_end =
        batch->displacement + (batch->count - 1) * batch->stride + batch->length;
}

/* Adds the first runs of part, which lies in the current window. */
static void add_part(struct mpiio_batches *batches, const struct mpiio_batch_part *part,
                     int64_t runs)
{
    if (batches->count == MPIIO_BATCHES_MAX)
        mpiio_batches_flush(batches);
    batches->part[batches->count] = *part;
    batches->part[batches->count++].count = runs;
}

static void enter_window(struct mpiio_batches *batches, int64_t displacement)
{
    int64_t start = displacement & -batches->window_size;

    if (start != batches->window_start) {
        mpiio_batches_flush(batches);
        batches->window_start = start;
        if (batches->windows != NULL) {
            mpiio_windows_release(batches->windows, batches->window);
            batches->window = mpiio_windows_acquire(batches->windows, displacement);
        }
    }
}

/* Adds one run that crosses the boundary of a window. */
static void add_long_run(struct mpiio_batches *batches, struct mpiio_batch_part run)
{
    struct mpiio_batch_part part = run;

    for (int64_t left = run.length; left > 0; left -= part.length) {
        part.length = vs_min(left, batches->window_size - part.displacement % batches->window_size);
        enter_window(batches, part.displacement);
        add_part(batches, &part, 1);
        part.memory += part.length;
        part.displacement += part.length;
    }
}

void mpiio_batches_add(struct mpiio_batches *batches, struct mpiio_batch_part part)
{
    while (part.count > 0 && !batches->stopped) {
        int64_t runs;

        enter_window(batches, part.displacement);
        runs = mpiio_batch_part_runs_inside(&part, batches->window_start, batches->window_size);
        if (runs > 0) {
            add_part(batches, &part, runs);
        } else {
            runs = 1;
            add_long_run(batches, part);
        }
        mpiio_batch_part_advance(&part, runs);
    }
}

/*
 * Like a file, a shared mapping may change at any time, by other processes and threads.
 * ThreadSanitizer must not report that as a race. If the guard aborts the work, the sanitizer
 * resets its state by itself.
 */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static void ignore_races(bool begin)
{
    if (begin) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    } else {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
}
#else
#define ignore_races(begin) ((void)(begin))
#endif

void mpiio_batches_copy(void *argument)
{
    struct mpiio_batches *batches = argument;
    int64_t bytes = 0;

    ignore_races(true);
    for (int i = 0; i < batches->count; i++) {
        const struct mpiio_batch_part *part = &batches->part[i];
        size_t length = (size_t)part->length, count = (size_t)part->count;
        char *mapped = batches->window->base + (part->displacement - batches->window_start);

        if (batches->scatters)
            mpiio_scatter(mapped, part->memory, length, count, (ptrdiff_t)part->stride);
        else
            mpiio_gather(part->memory, mapped, length, count, (ptrdiff_t)part->stride);
        bytes += part->length * part->count;
    }
    batches->copied = bytes;
    ignore_races(false);
}

void mpiio_batches_bounds(const struct mpiio_batches *batches, int64_t *start, int64_t *end)
{
    *start = INT64_MAX;
    *end = 0;
    for (int i = 0; i < batches->count; i++) {
        const struct mpiio_batch_part *part = &batches->part[i];
        int64_t last = part->displacement + (part->count - 1) * part->stride;

        *start = vs_min(*start, vs_min(part->displacement, last));
        *end = vs_max(*end, vs_max(part->displacement, last) + part->length);
    }
}
