/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <stdlib.h>

#include "batches.h"
#include "core/base/gather.h"
#include "core/base/guard.h"

/* The read plan. Dense columns are read together, as a grid. */

/* Grids. */

/*
 * Columns of a file's rows: batches of the same number of short runs, far apart, each batch a step
 * after the previous one. Data has this form if it is read in another order than the file's, such
 * as a transposed matrix. Reading column by column fetches each cache line once for each column in
 * it. Reading the columns together, in squares, fetches it once. A grid belongs to one call, and so
 * to one thread.
 */
struct grid {
    struct mpiio_batch_part first; /* the first column */
    int64_t step;                  /* displacement from a column to the next */
    int64_t columns;               /* 0: no grid */
};

/* Limits of a grid: its runs share cache lines with other columns, and are enough for a mapping
   to pay. */
#define NARROW_RUN 64
#define MANY_ROWS  64
#define ROWS_APART (4 << 10)

/* Adds part as the next column, or as the first one of an empty grid. Returns false if it does
   not fit. */
static bool grid_take(struct grid *grid, const struct mpiio_batch_part *part)
{
    const struct mpiio_batch_part *first = &grid->first;
    int64_t step = part->displacement - first->displacement;

    if (grid->columns == 0) {
        *grid = (struct grid){.first = *part, .columns = 1};
        return true;
    }
    if (part->length != first->length || part->count != first->count ||
        part->stride != first->stride)
        return false;
    if (grid->columns == 1 && step > 0 && step < part->stride)
        grid->step = step;
    if (grid->step == 0 || step != grid->columns * grid->step)
        return false;
    grid->columns++;
    return true;
}

/* Removes and returns a grid's first column. */
static struct mpiio_batch_part grid_column(struct grid *grid)
{
    struct mpiio_batch_part column = grid->first;

    grid->first.displacement += grid->step;
    grid->first.memory += column.length * column.count;
    grid->columns--;
    return column;
}

/* Returns the distance from the first byte of a row to the end of its last one. */
static int64_t row_span(const struct grid *grid)
{
    return (grid->columns - 1) * grid->step + grid->first.length;
}

/* Returns the displacement after the last byte. */
static int64_t grid_end(const struct grid *grid)
{
    return grid->first.displacement + (grid->first.count - 1) * grid->first.stride + row_span(grid);
}

struct grid_work {
    const struct grid *grid;
    const struct mpiio_window *window;
    int64_t row, rows;
};

static void gather_rows(void *argument)
{
    const struct grid_work *work = argument;
    const struct mpiio_batch_part *first = &work->grid->first;
    int64_t displacement = first->displacement + work->row * first->stride;
    struct mpiio_gather_grid shape = {
        .length = (size_t)first->length,
        .columns = (size_t)work->grid->columns,
        .rows = (size_t)work->rows,
        .step = (ptrdiff_t)work->grid->step,
        .stride = (ptrdiff_t)first->stride,
        .pitch = (ptrdiff_t)(first->length * first->count),
    };

    mpiio_gather_grid(first->memory + work->row * first->length,
                      work->window->base + (displacement - work->window->start), &shape);
}

/* Reads a row that crosses the boundary of a window. */
static bool read_row(const struct grid *grid, int64_t row, struct mpiio_file *file,
                     struct mpiio_counters *done)
{
    const struct mpiio_batch_part *first = &grid->first;
    int64_t displacement = first->displacement + row * first->stride;
    char *to = first->memory + row * first->length;

    for (int64_t c = 0; c < grid->columns; c++) {
        if (file->ops->pread(file, to, (size_t)first->length, displacement, done) != first->length)
            return false;
        displacement += grid->step;
        to += first->length * first->count;
    }
    return true;
}

/* Reads the rows from `row` on that lie in its window. Returns their number, or -1. */
static int64_t read_rows(const struct grid *grid, int64_t row, struct mpiio_file *file,
                         struct mpiio_counters *done)
{
    struct mpiio_batch_part rows = grid->first;
    struct grid_work work = {.grid = grid, .row = row};
    bool good;

    rows.displacement += row * rows.stride;
    rows.count -= row;
    rows.length = row_span(grid);
    struct mpiio_window *window = mpiio_windows_acquire(&file->windows, rows.displacement);
    if (window == NULL)
        return -1;
    work.window = window;
    work.rows = mpiio_batch_part_runs_inside(&rows, window->start, MPIIO_WINDOW_SIZE);
    good = work.rows > 0
               ? mpiio_guard_call(gather_rows, &work, window->base, (size_t)MPIIO_WINDOW_SIZE)
               : read_row(grid, row, file, done);
    mpiio_windows_release(&file->windows, window);
    done->store_map_bytes += (uint64_t)(work.rows * grid->columns * grid->first.length);
    if (!good)
        return -1;
    return work.rows > 0 ? work.rows : 1;
}

/*
 * Gathers a whole grid from mapped windows, guarded. Returns false if this does not pay or fails;
 * then some of it may be in memory. Thread-safe.
 */
static bool grid_read(const struct grid *grid, struct mpiio_file *file, struct mpiio_counters *done)
{
    const struct mpiio_batch_part *first = &grid->first;
    int64_t rows;

    if (first->length > NARROW_RUN || first->count < MANY_ROWS || first->stride < ROWS_APART ||
        row_span(grid) > first->stride)
        return false;
    for (int64_t row = 0; row < first->count; row += rows) {
        rows = read_rows(grid, row, file, done);
        if (rows < 0)
            return false;
    }
    return true;
}

/*
 * Measured with the file in the page cache: a read call costs 0.55 us, and 0.1 ns per byte if
 * source and destination have the same offset in a cache line, else up to 0.6 ns per byte.
 * Gathering from a mapping costs 0.12 ns per byte at any alignment, and the first touch of each 64
 * KiB costs 2 to 6 us. window.h has more measurements.
 */
#define LONG_RUN    (16 << 10) /* bytes from which a run is read directly, if aligned */
#define FAR_APART   (16 << 10) /* distance in bytes beyond which short runs are read by calls */
#define WIDE_GAP    (6 << 10)  /* gap in bytes whose reading costs more than a call */
#define SHORT_RUN   (1 << 10)  /* length in bytes below which alignment does not matter */
#define CACHE_LINE  64
#define BLOCK_BYTES (256 << 10)

/* A part of the file that was read into memory. */
struct block {
    const char *base;
    int64_t start; /* displacement of base */
    int64_t size;
};

struct fetch {
    struct mpiio_batches batches; /* the first member; if stopped, transfer has the reason */
    struct mpiio_file *file;
    struct mpiio_transfer *transfer;
    bool small;   /* the request spans few bytes of the file */
    int64_t size; /* of the file, sampled during the request; 0: not yet */
    char *block;  /* allocated when first needed */
    size_t block_size;
};

static void stop_fetch(struct fetch *fetch, const char *to, int error, int64_t end)
{
    fetch->batches.stopped = true;
    fetch->transfer->bytes = (size_t)(to - fetch->transfer->buffer);
    fetch->transfer->error = error;
    if (end < fetch->transfer->end)
        fetch->transfer->end = end;
}

static void read_run(struct fetch *fetch, char *to, int64_t displacement, int64_t length)
{
    int64_t got = fetch->file->ops->pread(fetch->file, to, (size_t)length, displacement,
                                          fetch->transfer->done);

    if (got < 0)
        stop_fetch(fetch, to, (int)got, INT64_MAX);
    else if (got < length)
        stop_fetch(fetch, to + got, 0, displacement + got);
}

static void read_runs(struct fetch *fetch, struct mpiio_batch_part part)
{
    while (part.count > 0 && !fetch->batches.stopped) {
        read_run(fetch, part.memory, part.displacement, part.length);
        mpiio_batch_part_advance(&part, 1);
    }
}

/* Blocks. */

/*
 * Returns memory for a block of wanted bytes. Its bytes have the same offset within a cache line as
 * in the file (gather.h explains why). A short request gets a small block, which costs no page
 * faults.
 */
static char *block_memory(struct fetch *fetch, size_t wanted, int64_t displacement)
{
    if (fetch->block_size < wanted) {
        free(fetch->block);
        fetch->block = aligned_alloc(CACHE_LINE, (wanted + 2 * CACHE_LINE) & ~(CACHE_LINE - 1UL));
        fetch->block_size = fetch->block != NULL ? wanted : 0;
    }
    return fetch->block != NULL ? fetch->block + displacement % CACHE_LINE : NULL;
}

/* Reads a block that begins at displacement and ends at end, or earlier. */
static bool fill_block(struct fetch *fetch, struct block *block, const char *to,
                       int64_t displacement, int64_t end)
{
    int64_t wanted = end - displacement < BLOCK_BYTES ? end - displacement : BLOCK_BYTES;
    char *memory = block_memory(fetch, (size_t)wanted, displacement);
    int64_t got;

    if (memory == NULL) {
        stop_fetch(fetch, to, -ENOMEM, INT64_MAX);
        return false;
    }
    got = fetch->file->ops->pread(fetch->file, memory, (size_t)wanted, displacement,
                                  fetch->transfer->done);
    if (got < 0) {
        stop_fetch(fetch, to, (int)got, INT64_MAX);
        return false;
    }
    *block = (struct block){.base = memory, .start = displacement, .size = got};
    return true;
}

/* Returns true if every run and its destination have the same offset within a cache line. */
static bool is_aligned(const struct mpiio_batch_part *part)
{
    uint64_t skew = (uint64_t)(uintptr_t)part->memory - (uint64_t)part->displacement;

    if (part->count > 1)
        skew |= (uint64_t)part->stride - (uint64_t)part->length;
    return skew % CACHE_LINE == 0;
}

/* Returns true if one call per run costs less than blocks, which include the gaps between runs. */
static bool is_sparse(const struct mpiio_batch_part *part)
{
    int64_t stride = part->stride < 0 ? -part->stride : part->stride;

    return part->count > 1 && stride - part->length >= WIDE_GAP &&
           (part->length < SHORT_RUN || is_aligned(part));
}

/*
 * Reads runs that are in the page cache, up to the first one that is not, and removes them from
 * part. Runs with gaps from a storage device would be read one by one, without readahead.
 */
static void read_cached_runs(struct fetch *fetch, struct mpiio_batch_part *part)
{
    while (part->count > 0 &&
           mpiio_file_read_cached(fetch->file, part->memory, (size_t)part->length,
                                  part->displacement, fetch->transfer->done))
        mpiio_batch_part_advance(part, 1);
}

static void gather_from_blocks(struct fetch *fetch, struct mpiio_batch_part part,
                               struct block *block, int64_t end)
{
    if (is_sparse(&part))
        read_cached_runs(fetch, &part);
    while (part.count > 0 && !fetch->batches.stopped) {
        int64_t runs = mpiio_batch_part_runs_inside(&part, block->start, block->size);

        if (runs == 0 && part.length < BLOCK_BYTES / 4) {
            if (!fill_block(fetch, block, part.memory, part.displacement, end))
                return;
            runs = mpiio_batch_part_runs_inside(&part, block->start, block->size);
        }
        if (runs > 0) {
            mpiio_gather(part.memory, block->base + (part.displacement - block->start),
                         (size_t)part.length, (size_t)runs, (ptrdiff_t)part.stride);
        } else {
            /* Too long for blocks, or cut off by the end of the file. */
            runs = 1;
            read_run(fetch, part.memory, part.displacement, part.length);
        }
        mpiio_batch_part_advance(&part, runs);
    }
}

static void gather_all_from_blocks(struct fetch *fetch)
{
    struct block block = {.size = 0};
    int64_t start, end;

    mpiio_batches_bounds(&fetch->batches, &start, &end);
    for (int i = 0; i < fetch->batches.count && !fetch->batches.stopped; i++)
        gather_from_blocks(fetch, fetch->batches.part[i], &block, end);
}

/* Windows. */

/* Returns true if the file was seen to reach end. The guard ends an access beyond the end of the
   file, but not in a thread that blocks SIGBUS. A truncation at that moment is not handled
   there. */
static bool is_there(struct fetch *fetch, int64_t end)
{
    if (fetch->size < end)
        fetch->size = mpiio_file_size(fetch->file);
    return fetch->size >= end;
}

/* Returns true if any part is sparse. The first one may be the rest of a run. */
static bool has_sparse(const struct mpiio_batches *batches)
{
    for (int i = 0; i < batches->count; i++)
        if (is_sparse(&batches->part[i]))
            return true;
    return false;
}

static bool may_gather(struct fetch *fetch, struct mpiio_window_read *read, int64_t start,
                       int64_t end)
{
    if (fetch->small)
        return mpiio_window_is_cached(read->window, start, end) && is_there(fetch, end);
    return is_there(fetch, end) && mpiio_window_begin_read(read);
}

static void move_runs(struct mpiio_batches *batches)
{
    struct fetch *fetch = (struct fetch *)batches;
    struct mpiio_window_read read = {
        .windows = batches->windows, .window = batches->window, .sparse = has_sparse(batches)};
    int64_t start, end;
    bool mapped = false;

    mpiio_batches_bounds(batches, &start, &end);
    read.length = end - start;
    if (read.window != NULL && may_gather(fetch, &read, start, end)) {
        mapped = mpiio_guard_call(mpiio_batches_copy, batches, read.window->base,
                                  (size_t)MPIIO_WINDOW_SIZE);
        mpiio_window_end_read(&read);
    }
    if (mapped)
        fetch->transfer->done->store_map_bytes += (uint64_t)batches->copied;
    else
        gather_all_from_blocks(fetch);
}

/* The plan. */

static bool is_direct(const struct fetch *fetch, const struct mpiio_batch_part *part)
{
    if (part->length >= LONG_RUN)
        return is_aligned(part);
    return (size_t)part->length == fetch->transfer->length ||
           mpiio_batches_distance(&fetch->batches, part) > FAR_APART;
}

static void fetch_part(struct fetch *fetch, struct mpiio_batch_part part)
{
    if (!is_direct(fetch, &part)) {
        mpiio_batches_add(&fetch->batches, part);
        return;
    }
    /* Waiting parts first, so that the data read has no gap if this call fails. */
    mpiio_batches_flush(&fetch->batches);
    read_runs(fetch, part);
}

/* Reads a grid at once if that pays, else its columns one by one. Empties the grid. */
static void fetch_grid(struct fetch *fetch, struct grid *grid)
{
    if (grid->columns > 0)
        mpiio_batches_flush(&fetch->batches);
    if (!fetch->batches.stopped && grid->columns > 0 && is_there(fetch, grid_end(grid)) &&
        grid_read(grid, fetch->file, fetch->transfer->done))
        grid->columns = 0;
    while (grid->columns > 0 && !fetch->batches.stopped)
        fetch_part(fetch, grid_column(grid));
    grid->columns = 0;
}

/* Reads batches that are not in the file's order. They may form the columns of grids. */
static void fetch_columns(struct fetch *fetch, struct vs_cursor *cursor)
{
    struct grid grid = {.columns = 0};
    struct vs_batch batch;

    while (!fetch->batches.stopped && vs_cursor_batch(cursor, &batch)) {
        struct mpiio_batch_part part =
            mpiio_batch_part_of(&batch, fetch->transfer->buffer, fetch->transfer->position);

        if (!grid_take(&grid, &part)) {
            fetch_grid(fetch, &grid);
            grid_take(&grid, &part);
        }
    }
    fetch_grid(fetch, &grid);
}

/*
 * Returns true if the whole transfer lies within a short read, judged by its ends, which is a guess
 * if the order is not the file's. Random short reads of a file that is too long to stay mapped
 * would spend their time on mapping and unmapping.
 */
static bool is_small(const struct mpiio_transfer *transfer)
{
    int64_t last = transfer->position + (int64_t)transfer->length - 1;

    return transfer->length <= MPIIO_WINDOW_SHORT &&
           vs_map_displacement(transfer->map, last) -
                   vs_map_displacement(transfer->map, transfer->position) <
               MPIIO_WINDOW_SHORT;
}

void mpiio_read_runs(struct mpiio_source *source, struct mpiio_transfer *transfer)
{
    struct mpiio_file *file = (struct mpiio_file *)source;
    const struct vs_map *map = transfer->map;
    struct mpiio_reader *reader = file->reader;
    struct vs_cursor cursor;
    struct vs_batch batch;
    struct fetch fetch;

    transfer->bytes = transfer->length;
    transfer->error = 0;
    transfer->end = INT64_MAX;
    if (reader != NULL && reader->read(reader, transfer))
        return;
    fetch.small = is_small(transfer);
    mpiio_batches_start(&fetch.batches, map,
                        fetch.small && !mpiio_windows_suit_short(&file->windows) ? NULL
                                                                                 : &file->windows,
                        move_runs);
    fetch.file = file;
    fetch.transfer = transfer;
    fetch.size = 0;
    fetch.block = NULL;
    fetch.block_size = 0;
    vs_cursor_start(&cursor, map, transfer->position, (int64_t)transfer->length);
    if (!vs_map_facts(map)->monotonic)
        fetch_columns(&fetch, &cursor);
    while (!fetch.batches.stopped && vs_cursor_batch(&cursor, &batch)) {
        fetch_part(&fetch, mpiio_batch_part_of(&batch, transfer->buffer, transfer->position));
        mpiio_batches_passed(&fetch.batches, &batch);
    }
    mpiio_batches_finish(&fetch.batches);
    free(fetch.block);
}
