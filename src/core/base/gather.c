/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <stdbool.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Packing and unpacking differ only in which side advances by the length and which by the stride:
 * the kernels take a step for each side, and are made for each way, in line, so that the packed
 * side's step is a constant where the length is. Only a run's own bytes are ever stored to.
 */

/* With a constant length the compiler turns each memcpy into moves: no call per run. */
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

/* Runs of half to 2 * half bytes, by two moves that overlap in the middle. */
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

/*
 * Runs of some cache lines are too short for the processor to foresee them by itself: asking for
 * the run after the next one made gathering 256 of 1024 and 512 of 2048 bytes 1.6 times as fast.
 */
static ALWAYS_INLINE void move_ahead(char *to, ptrdiff_t to_step, const char *from,
                                     ptrdiff_t from_step, size_t length, size_t count)
{
    for (; count > 0; count--) {
        if (count > 2)
            for (size_t i = 0; i < length; i += 64)
                __builtin_prefetch(from + 2 * from_step + i);
        copy_blocks(to, from, length);
        to += to_step;
        from += from_step;
    }
}

static ALWAYS_INLINE void move_long(char *to, ptrdiff_t to_step, const char *from,
                                    ptrdiff_t from_step, size_t length, size_t count)
{
    for (; count > 0; count--) {
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

/* Packs from the strided side, or unpacks to it: pack is a constant where this is called. */
static ALWAYS_INLINE void move(char *to, const char *from, size_t length, size_t count,
                               ptrdiff_t stride, bool pack)
{
#define MOVE(kernel, bytes)                                                                        \
    kernel(to, pack ? (ptrdiff_t)(bytes) : stride, from, pack ? stride : (ptrdiff_t)(bytes),       \
           bytes, count)

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
        MOVE(move_fixed, 1);
        break;
    case 2:
        MOVE(move_fixed, 2);
        break;
    case 4:
        MOVE(move_fixed, 4);
        break;
    case 8:
        MOVE(move_fixed, 8);
        break;
    case 16:
        MOVE(move_fixed, 16);
        break;
    case 32:
        MOVE(move_fixed, 32);
        break;
    case 64:
        MOVE(move_fixed, 64);
        break;
    default:
        if (length < 64)
            MOVE(move_odd, length);
        else if (length < 4096)
            MOVE(move_ahead, length);
        else
            MOVE(move_long, length);
    }
#undef MOVE
}

void mpiio_gather(void *destination, const void *source, size_t length, size_t count,
                  ptrdiff_t stride)
{
    move(destination, source, length, count, stride, true);
}

void mpiio_scatter(void *destination, const void *source, size_t length, size_t count,
                   ptrdiff_t stride)
{
    move(destination, source, length, count, stride, false);
}
