/* SPDX-License-Identifier: MIT */

#include "core/base/gather.h"
#include "random.h"
#include "unit.h"

#define SPACE (64 << 10)
#define FENCE 0x5a

static unsigned char source[SPACE];
static unsigned char packed[SPACE + 128];
static unsigned char spread[SPACE], wanted[SPACE];

static int fill(void **state)
{
    srand(1);
    fill_randomly(source, sizeof(source));
    return 0;
}

/* Gathers to an address with this skew within a cache line. Compares all bytes, and checks that
   the bytes around the result are unchanged. */
static void check(size_t first, size_t length, size_t count, ptrdiff_t stride, size_t skew)
{
    unsigned char *to = packed + 64 + skew % 16;

    memset(packed, FENCE, sizeof(packed));
    mpiio_gather(to, source + first, length, count, stride);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *run = source + first + (ptrdiff_t)i * stride;

        assert_memory_equal(to + i * length, run, length);
    }
    assert_int_equal(to[-1], FENCE);
    assert_int_equal(to[count * length], FENCE);
}

/*
 * Scatters gathered bytes back, from an unaligned address. The runs must equal the source's again,
 * and the bytes beside them must stay. Runs must not overlap.
 */
static void check_back(size_t first, size_t length, size_t count, ptrdiff_t stride, size_t skew)
{
    unsigned char *from = packed + 64 + skew % 16;
    size_t last = 0;

    mpiio_gather(from, source + first, length, count, stride);
    memset(spread, FENCE, sizeof(spread));
    memset(wanted, FENCE, sizeof(wanted));
    for (size_t i = 0; i < count; i++) {
        size_t place = (size_t)((ptrdiff_t)first + (ptrdiff_t)i * stride);

        memcpy(wanted + place, source + place, length);
        last = place + length > last ? place + length : last;
    }
    mpiio_scatter(spread + first, from, length, count, stride);
    assert_memory_equal(spread, wanted, last + first + 100);
}

TEST(test_scatter)
{
    for (size_t length = 0; length <= 200; length++) {
        for (size_t count = 0; count <= 9; count++) {
            check_back(count, length, count, (ptrdiff_t)length + 1 + (ptrdiff_t)count, length);
            check_back(100, length, count, (ptrdiff_t)length, count);
        }
        check_back(9000, length, 9, -(ptrdiff_t)length - 1, 3);
    }
    for (size_t length = 201; length < 10000; length = length * 3 / 2 + length % 7)
        check_back(length % 64, length, 3, (ptrdiff_t)length + 3, length);
}

TEST(test_every_short_length)
{
    for (size_t length = 0; length <= 200; length++) {
        for (size_t count = 0; count <= 9; count++) {
            check(count, length, count, (ptrdiff_t)length + 7, length);
            check(0, length, count, (ptrdiff_t)length, count);
            check(3, length, count, 4 * (ptrdiff_t)length, 1);
        }
    }
}

TEST(test_long_lengths)
{
    static const size_t lengths[] = {255, 256, 1000, 4095, 4096, 4097, 10000};

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        check(5, lengths[i], 3, (ptrdiff_t)lengths[i] * 2, i);
        check(0, lengths[i], 1, 0, i);
    }
}

TEST(test_runs_that_overlap_or_go_back)
{
    check(100, 8, 50, 0, 0);
    check(100, 8, 50, 3, 0);
    check(100, 100, 50, 1, 0);
    check(9000, 16, 50, -32, 0);
    check(9000, 300, 20, -301, 5);
    check(9000, 7, 20, -7, 5);
}

TEST(test_random)
{
    for (int i = 0; i < 20000; i++) {
        size_t length = 1 + (size_t)rand() % 300;
        size_t count = 1 + (size_t)rand() % 60;
        ptrdiff_t stride = rand() % 1000;

        check((size_t)rand() % 1000, length, count, stride, (size_t)rand());
    }
}

TEST(test_grids)
{
    static unsigned char from[1 << 20], to[1 << 19];

    fill_randomly(from, sizeof(from));
    for (int i = 0; i < 400; i++) {
        size_t length = i % 3 ? (size_t)1 << rand() % 5 : 1 + (size_t)rand() % 70;
        struct mpiio_gather_grid grid = {.length = length,
                                         .columns = 1 + (size_t)rand() % 40,
                                         .rows = 1 + (size_t)rand() % 90,
                                         .step = (ptrdiff_t)length + rand() % 9};

        grid.stride = (ptrdiff_t)grid.columns * grid.step + rand() % 100;
        grid.pitch = (ptrdiff_t)(grid.rows * length) + rand() % 3;
        memset(to, 0x55, sizeof(to));
        mpiio_gather_grid(to, from, &grid);
        for (size_t c = 0; c < grid.columns; c++)
            for (size_t r = 0; r < grid.rows; r++)
                assert_memory_equal(to + c * (size_t)grid.pitch + r * length,
                                    from + c * (size_t)grid.step + r * (size_t)grid.stride, length);
        assert_int_equal(to[(grid.columns - 1) * (size_t)grid.pitch + grid.rows * length], 0x55);
    }
}

TEST_GROUP(fill, NULL)
