/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <stdbool.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define AHEAD        4096       /* packed bytes */
#define LONG_RUN     (16 << 10) /* bytes of a run that the processor prefetches well enough */
#define LIBRARY_RUN  512        /* bytes of a run that are worth a library call */
#define LIBRARY_PART 1024

/*
 * Packing and unpacking differ only in which side advances by the length and which by the stride.
 * The kernels take a step for each side and are inlined for both directions, so that the packed
 * side's step is a constant if the length is. They store only to a run's own bytes.
 */

/* With a constant length the compiler turns each memcpy into moves, without a call per run. */
static ALWAYS_INLINE void move_fixed(char *to, ptrdiff_t to_step, const char *from,
                                     ptrdiff_t from_step, size_t length, size_t count)
{
    for (; count >= 4; count -= 4) {
        memcpy(to, from, length);
        memcpy(to + to_step, from + from_step, length);
        memcpy(to + 2 * to_step, from + 2 * from_step, length);
        memcpy(to + 3 * to_step, from + 3 * from_step, length);
        to += 4 * to_step;
        from += 4 * from_step;
    }
    for (; count > 0; count--) {
        memcpy(to, from, length);
        to += to_step;
        from += from_step;
    }
}

/* Copies runs of half to 2 * half bytes by two moves that overlap in the middle. */
static ALWAYS_INLINE void move_halves(char *to, ptrdiff_t to_step, const char *from,
                                      ptrdiff_t from_step, size_t length, size_t half, size_t count)
{
    size_t tail = length - half;

    for (; count > 0; count--) {
        memcpy(to, from, half);
        memcpy(to + tail, from + tail, half);
        to += to_step;
        from += from_step;
    }
}

/* Copies length >= 64 bytes in moves of 64; the last one overlaps the one before it. */
static ALWAYS_INLINE void copy_blocks(char *to, const char *from, size_t length)
{
    const char *last = from + (length - 64);

    for (size_t left = length; left > 64; left -= 64) {
        memcpy(to, from, 64);
        to += 64;
        from += 64;
    }
    memcpy(to - (from - last), last, 64);
}

/* Copies length bytes by the C library, in parts short enough that it does not use "rep movsb". */
static ALWAYS_INLINE void copy_parts(char *to, const char *from, size_t length)
{
    size_t part;

    for (; length > 0; length -= part) {
        part = length < LIBRARY_PART ? length : LIBRARY_PART;
        memcpy(to, from, part);
        to += part;
        from += part;
    }
}

/* Prefetches the cache lines of a run; `write` is a constant. */
static ALWAYS_INLINE void ask_for(const char *run, size_t length, bool write)
{
    for (size_t i = 0; i < length; i += 64)
        if (write)
            __builtin_prefetch(run + i, 1);
        else
            __builtin_prefetch(run + i);
}

/*
 * Moves runs of a cache line or more, and prefetches the runs of the next AHEAD packed bytes, which
 * the processor does not predict by itself. Measured speedups for a file in the page cache:
 * gathering 1.4 for runs of 64 bytes, 1.2 to 1.6 for 512 and 1.7 for 4096; scattering 1.5.
 */
static ALWAYS_INLINE void move_ahead(char *to, ptrdiff_t to_step, const char *from,
                                     ptrdiff_t from_step, size_t length, size_t count, bool pack)
{
    size_t ahead = length > LONG_RUN ? 0 : length < AHEAD ? AHEAD / length : 1;
    ptrdiff_t step = pack ? from_step : to_step;
    bool library = length >= LIBRARY_RUN && (pack || length <= LONG_RUN);

    for (size_t i = 0; i < ahead && i < count; i++)
        ask_for((pack ? from : to) + (ptrdiff_t)i * step, length, !pack);
    for (; count > 0; count--) {
        if (count > ahead && ahead > 0)
            ask_for((pack ? from : to) + (ptrdiff_t)ahead * step, length, !pack);
        if (library)
            copy_parts(to, from, length);
        else
            copy_blocks(to, from, length);
        to += to_step;
        from += from_step;
    }
}

static ALWAYS_INLINE void move_odd(char *to, ptrdiff_t to_step, const char *from,
                                   ptrdiff_t from_step, size_t length, size_t count)
{
    if (length > 32)
        move_halves(to, to_step, from, from_step, length, 32, count);
    else if (length > 16)
        move_halves(to, to_step, from, from_step, length, 16, count);
    else if (length > 8)
        move_halves(to, to_step, from, from_step, length, 8, count);
    else if (length > 4)
        move_halves(to, to_step, from, from_step, length, 4, count);
    else
        move_halves(to, to_step, from, from_step, length, 2, count);
}

/* Packs from the strided side, or unpacks to it; callers pass `pack` as a constant. */
static ALWAYS_INLINE void move_runs(char *to, const char *from, size_t length, size_t count,
                                    ptrdiff_t stride, bool pack)
{
#define ARGUMENTS(bytes)                                                                           \
    to, pack ? (ptrdiff_t)(bytes) : stride, from, pack ? stride : (ptrdiff_t)(bytes), bytes, count

    if (count == 0)
        return;
    if (stride > 0 && (size_t)stride == length) {
        length *= count;
        count = 1;
    }
    switch (length) {
    case 0:
        break;
    case 1:
        move_fixed(ARGUMENTS(1));
        break;
    case 2:
        move_fixed(ARGUMENTS(2));
        break;
    case 4:
        move_fixed(ARGUMENTS(4));
        break;
    case 8:
        move_fixed(ARGUMENTS(8));
        break;
    case 16:
        move_fixed(ARGUMENTS(16));
        break;
    case 32:
        move_fixed(ARGUMENTS(32));
        break;
    case 64:
        move_ahead(ARGUMENTS(64), pack);
        break;
    default:
        if (length < 64)
            move_odd(ARGUMENTS(length));
        else
            move_ahead(ARGUMENTS(length), pack);
    }
#undef ARGUMENTS
}

void mpiio_gather(void *destination, const void *source, size_t length, size_t count,
                  ptrdiff_t stride)
{
    move_runs(destination, source, length, count, stride, true);
}

void mpiio_scatter(void *destination, const void *source, size_t length, size_t count,
                   ptrdiff_t stride)
{
    move_runs(destination, source, length, count, stride, false);
}

/* The size of a cache line. */
#define LINE 64

/* The number of rows to prefetch, each usually in another page of the file. */
#define ROWS_AHEAD 16

/* Moves a square of rows and columns. With a constant length each run is one move. */
static ALWAYS_INLINE void move_square(char *to, const char *from,
                                      const struct mpiio_gather_grid *grid, size_t length,
                                      size_t columns, size_t rows)
{
    for (size_t c = 0; c < columns; c++) {
        char *column = to + (ptrdiff_t)c * grid->pitch;
        const char *run = from + (ptrdiff_t)c * grid->step;

        for (size_t r = 0; r < rows; r++) {
            memcpy(column, run, length);
            column += length;
            run += grid->stride;
        }
    }
}

static ALWAYS_INLINE void move_squares(char *to, const char *from,
                                       const struct mpiio_gather_grid *grid, size_t length)
{
    size_t side = length < LINE ? LINE / length : 1;

    for (size_t r = 0; r < grid->rows; r += side) {
        size_t rows = grid->rows - r < side ? grid->rows - r : side;
        const char *row = from + (ptrdiff_t)r * grid->stride;

        for (size_t c = 0; c < grid->columns; c += side) {
            size_t columns = grid->columns - c < side ? grid->columns - c : side;
            const char *square = row + (ptrdiff_t)c * grid->step;

            for (size_t i = 0; i < rows && r + i + ROWS_AHEAD < grid->rows; i++)
                __builtin_prefetch(square + (ptrdiff_t)(i + ROWS_AHEAD) * grid->stride);
            move_square(to + (ptrdiff_t)c * grid->pitch + (ptrdiff_t)(r * length), square, grid,
                        length, columns, rows);
        }
    }
}

void mpiio_gather_grid(void *destination, const void *source, const struct mpiio_gather_grid *grid)
{
    switch (grid->length) {
    case 0:
        break;
    case 1:
        move_squares(destination, source, grid, 1);
        break;
    case 2:
        move_squares(destination, source, grid, 2);
        break;
    case 4:
        move_squares(destination, source, grid, 4);
        break;
    case 8:
        move_squares(destination, source, grid, 8);
        break;
    case 16:
        move_squares(destination, source, grid, 16);
        break;
    default:
        move_squares(destination, source, grid, grid->length);
    }
}
