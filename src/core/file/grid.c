/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include "core/base/gather.h"
#include "core/base/guard.h"

/* Runs that share a line of the cache with those of other columns, and enough of them to map. */
#define SHORT_RUN 64
#define MANY_ROWS 64
#define FAR_APART (4 << 10)

bool mpiio_grid_take(struct mpiio_grid *grid, const struct mpiio_batch_part *part)
{
    const struct mpiio_batch_part *first = &grid->first;
    int64_t step = part->displacement - first->displacement;

    if (grid->columns == 0) {
        *grid = (struct mpiio_grid){.first = *part, .columns = 1};
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

struct mpiio_batch_part mpiio_grid_column(struct mpiio_grid *grid)
{
    struct mpiio_batch_part column = grid->first;

    grid->first.displacement += grid->step;
    grid->first.memory += column.length * column.count;
    grid->columns--;
    return column;
}

/* Returns the distance from the first byte of a row to the end of its last one. */
static int64_t row_span(const struct mpiio_grid *grid)
{
    return (grid->columns - 1) * grid->step + grid->first.length;
}

int64_t mpiio_grid_end(const struct mpiio_grid *grid)
{
    return grid->first.displacement + (grid->first.count - 1) * grid->first.stride + row_span(grid);
}

struct work {
    const struct mpiio_grid *grid;
    const struct mpiio_window *window;
    int64_t row, rows;
};

static void gather_rows(void *argument)
{
    const struct work *work = argument;
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

/* Reads a row that crosses the edge of a window. */
static bool read_row(const struct mpiio_grid *grid, int64_t row, struct mpiio_file *file,
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

/* Reads the rows from `row` on that lie in its window. Returns how many, or -1. */
static int64_t read_rows(const struct mpiio_grid *grid, int64_t row, struct mpiio_file *file,
                         struct mpiio_counters *done)
{
    struct mpiio_batch_part rows = grid->first;
    struct work work = {.grid = grid, .row = row};
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

bool mpiio_grid_read(const struct mpiio_grid *grid, struct mpiio_file *file,
                     struct mpiio_counters *done)
{
    const struct mpiio_batch_part *first = &grid->first;
    int64_t rows;

    if (first->length > SHORT_RUN || first->count < MANY_ROWS || first->stride < FAR_APART ||
        row_span(grid) > first->stride)
        return false;
    for (int64_t row = 0; row < first->count; row += rows) {
        rows = read_rows(grid, row, file, done);
        if (rows < 0)
            return false;
    }
    return true;
}
