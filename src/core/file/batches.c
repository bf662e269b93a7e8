/* SPDX-License-Identifier: MIT */
#include "batches.h"

#include "core/base/guard.h"

struct mpiio_batch_part mpiio_batch_part_of(const struct vs_batch *batch, char *buffer,
                                            int64_t position)
{
    return (struct mpiio_batch_part){.memory = buffer + (batch->position - position),
                                     .displacement = batch->displacement,
                                     .length = batch->length,
                                     .count = batch->count,
                                     .stride = batch->stride};
}

void mpiio_batch_part_advance(struct mpiio_batch_part *piece, int64_t runs)
{
    piece->count -= runs;
    if (piece->count > 0) {
        piece->displacement += runs * piece->stride;
        piece->memory += runs * piece->length;
    }
}

struct mpiio_batch_part mpiio_batch_part_cut(struct mpiio_batch_part *piece, int64_t window)
{
    struct mpiio_batch_part part = *piece;
    int64_t room = window - piece->displacement % window;

    part.count = 1;
    if (part.length > room)
        part.length = room;
    piece->memory += part.length;
    piece->displacement += part.length;
    piece->length -= part.length;
    return part;
}

int64_t mpiio_batch_part_runs_inside(const struct mpiio_batch_part *piece, int64_t start,
                                     int64_t size)
{
    int64_t behind = piece->displacement - start;
    int64_t room = size - behind - piece->length;
    int64_t runs;

    if (behind < 0 || room < 0)
        return 0;
    if (piece->count == 1 || piece->stride <= 0)
        return 1;
    runs = room / piece->stride + 1;
    return runs < piece->count ? runs : piece->count;
}

void mpiio_batches_start(struct mpiio_batches *pieces, const struct vs_map *map,
                         struct mpiio_windows *windows, void (*move)(struct mpiio_batches *pieces))
{
    const struct vs_map_facts *facts = map != NULL ? vs_map_facts(map) : NULL;

    pieces->windows = windows;
    pieces->window = NULL;
    pieces->window_start = -1;
    pieces->previous_end = -1;
    pieces->typical_distance = 0;
    if (facts != NULL)
        pieces->typical_distance =
            facts->tile_runs > 0 ? facts->tile_extent / facts->tile_runs : facts->tile_extent;
    pieces->stopped = false;
    pieces->move = move;
    pieces->count = 0;
}

int64_t mpiio_batches_distance(const struct mpiio_batches *pieces,
                               const struct mpiio_batch_part *piece)
{
    int64_t gap = piece->displacement - pieces->previous_end;

    if (piece->count > 1)
        return piece->stride < 0 ? -piece->stride : piece->stride;
    if (pieces->previous_end < 0)
        return pieces->typical_distance;
    return gap < 0 ? -gap : gap;
}

void mpiio_batches_passed(struct mpiio_batches *pieces, const struct vs_batch *batch)
{
    pieces->previous_end = batch->displacement + (batch->count - 1) * batch->stride + batch->length;
}

void mpiio_batches_flush(struct mpiio_batches *pieces)
{
    if (pieces->count > 0 && !pieces->stopped)
        pieces->move(pieces);
    pieces->count = 0;
}

void mpiio_batches_finish(struct mpiio_batches *pieces)
{
    mpiio_batches_flush(pieces);
    if (pieces->windows != NULL) {
        mpiio_windows_release(pieces->windows, pieces->window);
        pieces->window = NULL;
    }
}

/* Adds a part of piece, which lies inside the present window. */
static void add(struct mpiio_batches *pieces, const struct mpiio_batch_part *piece, int64_t runs)
{
    if (pieces->count == MPIIO_BATCHES_MAX)
        mpiio_batches_flush(pieces);
    pieces->piece[pieces->count] = *piece;
    pieces->piece[pieces->count++].count = runs;
}

static void enter_window(struct mpiio_batches *pieces, int64_t displacement)
{
    int64_t start = displacement - displacement % MPIIO_WINDOW_SIZE;

    if (start != pieces->window_start) {
        mpiio_batches_flush(pieces);
        pieces->window_start = start;
        if (pieces->windows != NULL) {
            mpiio_windows_release(pieces->windows, pieces->window);
            pieces->window = mpiio_windows_acquire(pieces->windows, displacement);
        }
    }
}

/* Adds one run that reaches over the edge of a window. */
static void add_long_run(struct mpiio_batches *pieces, struct mpiio_batch_part run)
{
    while (run.length > 0) {
        struct mpiio_batch_part part = mpiio_batch_part_cut(&run, MPIIO_WINDOW_SIZE);

        enter_window(pieces, part.displacement);
        add(pieces, &part, 1);
    }
}

void mpiio_batches_add(struct mpiio_batches *pieces, struct mpiio_batch_part piece)
{
    while (piece.count > 0 && !pieces->stopped) {
        int64_t runs;

        enter_window(pieces, piece.displacement);
        runs = mpiio_batch_part_runs_inside(&piece, pieces->window_start, MPIIO_WINDOW_SIZE);
        if (runs > 0) {
            add(pieces, &piece, runs);
        } else {
            runs = 1;
            add_long_run(pieces, piece);
        }
        mpiio_batch_part_advance(&piece, runs);
    }
}

struct map_work {
    const struct mpiio_batches *pieces;
    mpiio_batches_kernel *kernel;
};

/*
 * A shared mapping may change at any time, by other processes and by other threads, as files do:
 * ThreadSanitizer must not take that for a race. Where the guard ends the work it forgets of
 * itself what it was told.
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

static void map_pieces(void *argument)
{
    const struct map_work *work = argument;
    const struct mpiio_batches *pieces = work->pieces;

    ignore_races(true);
    for (int i = 0; i < pieces->count; i++) {
        const struct mpiio_batch_part *piece = &pieces->piece[i];

        work->kernel(piece->memory,
                     pieces->window->base + (piece->displacement - pieces->window_start),
                     (size_t)piece->length, (size_t)piece->count, (ptrdiff_t)piece->stride);
    }
    ignore_races(false);
}

int64_t mpiio_batches_map(struct mpiio_batches *pieces, mpiio_batches_kernel *kernel)
{
    struct map_work work = {.pieces = pieces, .kernel = kernel};
    int64_t bytes = 0;

    if (pieces->window == NULL ||
        !mpiio_guard_call(map_pieces, &work, pieces->window->base, (size_t)MPIIO_WINDOW_SIZE))
        return -1;
    for (int i = 0; i < pieces->count; i++)
        bytes += pieces->piece[i].length * pieces->piece[i].count;
    return bytes;
}

void mpiio_batches_bounds(const struct mpiio_batches *pieces, int64_t *start, int64_t *end)
{
    *start = INT64_MAX;
    *end = 0;
    for (int i = 0; i < pieces->count; i++) {
        const struct mpiio_batch_part *piece = &pieces->piece[i];
        int64_t first = piece->displacement;
        int64_t last = first + (piece->count - 1) * piece->stride;

        if (last < first) {
            first = last;
            last = piece->displacement;
        }
        *start = first < *start ? first : *start;
        *end = last + piece->length > *end ? last + piece->length : *end;
    }
}
