/* SPDX-License-Identifier: MIT */
/* Tests machines whose long double is a double: conversion to external32's binary128 and back
   must give what the compiler's conversion gives. */
#include <math.h>

#include "unit.h"
#include "core/convert/kernels.h"
#include "core/conversion.h"
#include "native.h"
#include "random.h"

static void to_big_endian(const quad *value, unsigned char bytes[16])
{
    memcpy(bytes, value, 16);
    if (!NATIVE_IS_BIG)
        reverse_each(bytes, 16, 16);
}

static void narrows_to(quad wide, double want)
{
    unsigned char bytes[16];
    double got;

    to_big_endian(&wide, bytes);
    assert_true(mpiio_binary128_to_binary64(&got, bytes, 1));
    assert_memory_equal(&got, &want, sizeof(got));
}

static void widens_to(double value, quad want)
{
    unsigned char bytes[16], got[16];

    to_big_endian(&want, bytes);
    assert_true(mpiio_binary64_to_binary128(got, &value, 1));
    assert_memory_equal(got, bytes, sizeof(got));
}

TEST(ends_of_the_range)
{
    const double values[] = {0.0,       -0.0,         1.0,
                             0x1p-1074, -0x1.8p-1073, 0x1p-1022,
                             INFINITY,  -INFINITY,    0x1.fffffffffffffp1023};
    const quad one = 1;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        widens_to(values[i], values[i]);
        narrows_to(values[i], values[i]);
    }
    narrows_to(one * 0x1p-1074 / 2, 0.0); /* half of the least denormal: to even */
    narrows_to(one * 0x1p-1074 / 2 * 1.0000001, 0x1p-1074);
    narrows_to(one * 0x1p-1074 / 4 * 1.9999999, 0.0);
    narrows_to(-one * 0x1p-1074 * 1.5, -0x1p-1073); /* half above an odd number */
    narrows_to(one * 0x1p1023 * 2, INFINITY);
    narrows_to(one * 0x1.fffffffffffffp1023 + one * 0x1p970, INFINITY);
    narrows_to(one * 0x1.fffffffffffffp1023 + one * 0x1p969, 0x1.fffffffffffffp1023);
    /* a denormal rounds up to a normal number */
    narrows_to(one * 0x1p-1022 - one * 0x1p-1074 / 2, 0x1p-1022);
}

/* NaNs stay quiet or signalling, and keep as much of the payload as fits. */
TEST(nans)
{
    const uint64_t values[] = {UINT64_C(0x7ff8000000000001), UINT64_C(0xfff0000000000001),
                               UINT64_C(0x7ff4000000000000), UINT64_C(0xffffffffffffffff)};
    unsigned char small[16] = {0x7f, 0xff, [15] = 1}, bytes[16];
    uint64_t got;

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        mpiio_binary64_to_binary128(bytes, &values[i], 1);
        mpiio_binary128_to_binary64(&got, bytes, 1);
        assert_true(got == values[i]);
    }
    mpiio_binary128_to_binary64(&got, small, 1);
    assert_true(got == UINT64_C(0x7ff0000000000001));
}

TEST(as_the_compiler)
{
    srand(1);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = random_bits(), high, low = random_bits();
        double value;
        quad wide;

        memcpy(&value, &bits, sizeof(value));
        if (isnan(value))
            continue;
        widens_to(value, value);
        /* Numbers around binary64's range of exponents. Some are ties between two binary64
           numbers. */
        high = (random_bits() & UINT64_C(0x8000ffffffffffff)) |
               (uint64_t)(16383 - 1090 + rand() % 2120) << 48;
        if (i % 2 == 0)
            low &= UINT64_C(0xf800000000000000);
        if (i % 4 == 0)
            high &= UINT64_C(0xffffffffff000000);
        memcpy(&wide, (uint64_t[]){NATIVE_IS_BIG ? high : low, NATIVE_IS_BIG ? low : high},
               sizeof(wide));
        narrows_to(wide, (double)wide);
    }
}

/* external32 has long double in 16 bytes, whatever it is on this machine. */
TEST(chosen_by_size)
{
    struct vs_basic basic = *vs_basic_find("c_long_double_complex");
    const struct vs_view_facts facts = {.datarep = VS_EXTERNAL32};
    const double pair[2] = {1.5, -2};
    struct mpiio_conversion conversion;
    unsigned char file[32], native[16];

    basic.size = 16;
    basic.extended = 0;
    assert_int_equal(mpiio_conversion_find(&basic, &facts, MPIIO_NARROW_REFUSE, &conversion), 0);
    assert_int_equal(conversion.file, 32);
    assert_int_equal(mpiio_to_file(&conversion, file, pair, 1), 0);
    assert_memory_equal(file, "\x3f\xff\x80\0", 4);
    assert_memory_equal(file + 16, "\xc0\0\0\0", 4);
    assert_int_equal(mpiio_to_native(&conversion, native, file, 1), 0);
    assert_memory_equal(native, pair, sizeof(pair));
    /* The bytes of binary128 in big-endian order. */
    basic.size = 32;
    assert_int_equal(mpiio_conversion_find(&basic, &facts, MPIIO_NARROW_REFUSE, &conversion), 0);
    assert_true(conversion.bytewise);
    assert_int_equal(conversion.unit, NATIVE_IS_BIG ? 1 : 16);
}
