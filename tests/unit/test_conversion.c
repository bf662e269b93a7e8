/* SPDX-License-Identifier: MIT */
/* Tests conversions between native values and a file's: bytes from the standard, limits, and
   round trips. */
#include <float.h>
#include <limits.h>
#include <wchar.h>

#include "unit.h"
#include "core/conversion.h"
#include "native.h"
#include "random.h"

static struct mpiio_conversion find(const char *type, enum vs_datarep datarep,
                                    enum mpiio_narrow narrow)
{
    struct vs_view_facts facts = {.datarep = datarep};
    const struct vs_basic *basic = vs_basic_find(type);
    struct mpiio_conversion conversion;

    assert_non_null(basic);
    assert_int_equal(mpiio_conversion_find(basic, &facts, narrow, &conversion), 0);
    return conversion;
}

/* Parses hexadecimal digits, which spaces may separate. */
static size_t parse(const char *hex, unsigned char *bytes)
{
    size_t length = 0;
    unsigned byte;

    for (; *hex != '\0'; hex += 2) {
        while (*hex == ' ')
            hex++;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        bytes[length++] = (unsigned char)byte;
    }
    return length;
}

/*
 * Values in external32, as section 13.7.2 describes it. The native bytes are those of x86-64,
 * lowest address first, so they read from right to left. The file's bytes read from left to right.
 * parse_native() gives the bytes of this machine.
 */
static const struct vector {
    const char *type, *native, *file;
} vectors[] = {
    {"packed", "a5", "a5"},
    {"byte", "5a", "5a"},
    {"char", "e9", "e9"}, /* ISO 8859-1 */
    {"unsigned_char", "ff", "ff"},
    {"signed_char", "80", "80"},
    {"wchar", "ac200000", "20ac"}, /* the euro sign */
    {"wchar", "ffff0000", "ffff"},
    {"short", "feff", "fffe"},
    {"unsigned_short", "34f2", "f234"},
    {"int", "00000080", "80000000"},
    {"int", "78563412", "12345678"},
    {"unsigned", "efbeadde", "deadbeef"},
    {"long", "feffffffffffffff", "fffffffe"},
    {"long", "ffffff7f00000000", "7fffffff"},
    {"long", "00000080ffffffff", "80000000"},
    {"unsigned_long", "ffffffff00000000", "ffffffff"},
    {"unsigned_long", "0000008000000000", "80000000"},
    {"long_long_int", "f0debc9a78563412", "123456789abcdef0"},
    {"unsigned_long_long", "0100000000000080", "8000000000000001"},
    {"float", "0000c0bf", "bfc00000"}, /* -1.5 */
    {"float", "010000ff", "ff000001"},
    {"float", "0100a07f", "7fa00001"}, /* a signalling NaN */
    {"float", "00000080", "80000000"}, /* -0 */
    {"double", "000000000000f8bf", "bff8000000000000"},
    {"double", "010000000000f07f", "7ff0000000000001"},
    {"double", "efcdab000000f87f", "7ff8000000abcdef"}, /* NaNs with payloads */
    {"double", "010000000000f4ff", "fff4000000000001"},
    {"double", "000000000000f07f", "7ff0000000000000"}, /* infinities */
    {"double", "000000000000f0ff", "fff0000000000000"},
    {"double", "0100000000000000", "0000000000000001"}, /* the least denormal */
    {"double", "0000000000000080", "8000000000000000"}, /* -0 */
    {"double", "182d4454fb210940", "400921fb54442d18"}, /* pi */
    {"long_double", "00000000000000c0 ffbf 000000000000", "bfff 8000000000000000000000000000"},
    {"long_double", "35c26821a2da0fc9 0040 000000000000", "4000 921fb54442d1846a000000000000"},
    {"c_bool", "01", "01"},
    {"c_bool", "00", "00"},
    {"int8_t", "9c", "9c"},
    {"int16_t", "0080", "8000"},
    {"int32_t", "01000080", "80000001"},
    {"int64_t", "0100000000000080", "8000000000000001"},
    {"uint8_t", "fe", "fe"},
    {"uint16_t", "0102", "0201"},
    {"uint32_t", "01020304", "04030201"},
    {"uint64_t", "0102030405060708", "0807060504030201"},
    {"aint", "0000000001000000", "0000000100000000"},
    {"count", "ffffffffffffffff", "ffffffffffffffff"},
    {"offset", "0000000000000080", "8000000000000000"},
    {"c_complex", "0000c0bf 0000803f", "bfc00000 3f800000"},
    {"c_double_complex", "000000000000f8bf 000000000000f03f", "bff8000000000000 3ff0000000000000"},
    {"c_long_double_complex",
     "00000000000000c0 ffbf 000000000000 0000000000000080 ff3f 000000000000",
     "bfff 8000000000000000000000000000 3fff 0000000000000000000000000000"},
    {"character", "41", "41"},
    {"logical", "01000000", "00000001"},
    {"logical", "00000000", "00000000"},
    {"integer", "ffffff7f", "7fffffff"},
    {"real", "000080ff", "ff800000"}, /* -infinity */
    {"double_precision", "000000000000f07f", "7ff0000000000000"},
    {"complex", "0000803f 0000c0bf", "3f800000 bfc00000"},
    {"double_complex", "000000000000f03f 0000000000000080", "3ff0000000000000 8000000000000000"},
    {"integer1", "81", "81"},
    {"integer2", "0180", "8001"},
    {"integer4", "01020380", "80030201"},
    {"integer8", "0102030405060780", "8007060504030201"},
    {"integer16", "0102030405060708090a0b0c0d0e0f80", "800f0e0d0c0b0a090807060504030201"},
    {"real2", "003e", "3e00"}, /* 1.5 */
    {"real4", "0000c03f", "3fc00000"},
    {"real8", "000000000000f83f", "3ff8000000000000"},
    {"real16", "0102030405060708090a0b0c0d0eff3f", "3fff0e0d0c0b0a090807060504030201"},
    {"complex4", "003e 00bc", "3e00 bc00"},
    {"complex8", "0000c03f 000080bf", "3fc00000 bf800000"},
    {"complex16", "000000000000f83f 000000000000f0bf", "3ff8000000000000 bff0000000000000"},
    {"complex32", "0102030405060708090a0b0c0d0eff3f 000000000000000000000000000000c0",
     "3fff0e0d0c0b0a090807060504030201 c0000000000000000000000000000000"},
    {"cxx_bool", "01", "01"},
    {"cxx_float_complex", "0000c03f 000080bf", "3fc00000 bf800000"},
    {"cxx_double_complex", "000000000000f83f 000000000000f0bf",
     "3ff8000000000000 bff0000000000000"},
    {"cxx_long_double_complex",
     "00000000000000c0 ff3f 000000000000 0000000000000080 ffbf 000000000000",
     "3fff 8000000000000000000000000000 bfff 0000000000000000000000000000"},
};

#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static size_t parse_native(const struct vector *vector, unsigned char *native)
{
    const struct vs_basic *basic = vs_basic_find(vector->type);
    bool is_quad = LDBL_MANT_DIG == 113 && strstr(vector->type, "long_double") != NULL;
    size_t length = parse(is_quad ? vector->file : vector->native, native);

    if (is_quad != NATIVE_IS_BIG)
        reverse_each(native, length, length / basic->parts);
    return length;
}

TEST(external32)
{
    unsigned char native[32], file[32], got[32];

    for (size_t i = 0; i < VECTORS; i++) {
        struct mpiio_conversion conversion =
            find(vectors[i].type, VS_EXTERNAL32, MPIIO_NARROW_REFUSE);
        size_t native_size = parse_native(&vectors[i], native);
        size_t file_size = parse(vectors[i].file, file);

        assert_int_equal(conversion.native, native_size);
        assert_int_equal(conversion.file, file_size);
        assert_int_equal(mpiio_to_file(&conversion, got, native, 1), 0);
        if (memcmp(got, file, file_size) != 0)
            fail_msg("%s %s: other bytes in the file", vectors[i].type, vectors[i].native);
        assert_int_equal(mpiio_to_native(&conversion, got, file, 1), 0);
        if (memcmp(got, native, native_size) != 0)
            fail_msg("%s %s: other native bytes", vectors[i].type, vectors[i].file);
    }
    for (size_t i = 0; i < VS_BASICS; i++) {
        bool found = false;

        for (size_t v = 0; v < VECTORS; v++)
            found |= strcmp(vs_basic_at(i)->name, vectors[v].type) == 0;
        if (!found)
            fail_msg("no vector of %s", vs_basic_at(i)->name);
    }
}

/* Converts single bytes of random elements at odd addresses, also in place. Checks what the
   header promises. */
static void check_bytewise(const struct vs_basic *basic, enum vs_datarep datarep, size_t unit)
{
    enum { MOST = 70 };
    struct mpiio_conversion conversion = find(basic->name, datarep, MPIIO_NARROW_REFUSE);
    static unsigned char native[MOST * 32 + 2], file[MOST * 32 + 2], same[MOST * 32 + 2];

    assert_true(conversion.bytewise);
    assert_int_equal(conversion.unit, unit);
    assert_int_equal(conversion.native, basic->size);
    assert_int_equal(conversion.file, basic->size);
    for (size_t count = 0; count <= MOST; count++) {
        size_t length = count * basic->size;
        fill_randomly(native, sizeof(native));
        memcpy(same, native, sizeof(same));
        memset(file, 0xee, sizeof(file));
        assert_int_equal(mpiio_to_file(&conversion, file + 1, native + 1, count), 0);
        for (size_t i = 0; i < length; i++)
            if (file[1 + i] != native[1 + i / unit * unit + unit - 1 - i % unit])
                fail_msg("%s: byte %zu of %zu elements", basic->name, i, count);
        assert_int_equal(file[0], 0xee);
        assert_int_equal(file[1 + length], 0xee);
        assert_int_equal(mpiio_to_file(&conversion, same + 1, same + 1, count), 0);
        assert_memory_equal(same + 1, file + 1, length);
        assert_int_equal(same[1 + length], native[1 + length]);
        assert_int_equal(mpiio_to_native(&conversion, same + 1, file + 1, count), 0);
        assert_memory_equal(same, native, sizeof(same));
        assert_int_equal(mpiio_to_native(&conversion, file + 1, file + 1, count), 0);
        assert_memory_equal(file + 1, native + 1, length);
    }
}

TEST(byte_orders)
{
    for (size_t i = 0; i < VS_BASICS; i++) {
        const struct vs_basic *basic = vs_basic_at(i);
        size_t value = (size_t)basic->size / basic->parts;
        size_t little = NATIVE_IS_BIG ? value : 1, big = NATIVE_IS_BIG ? 1 : value;
        check_bytewise(basic, VS_NATIVE, 1);
        check_bytewise(basic, VS_LITTLE_ENDIAN, little);
        check_bytewise(basic, VS_BIG_ENDIAN, big);
        if (basic->external == basic->size && !basic->extended)
            check_bytewise(basic, VS_EXTERNAL32, big);
    }
}

static bool to_external32(const char *type, const void *native, size_t count, void *file,
                          enum mpiio_narrow narrow)
{
    struct mpiio_conversion conversion = find(type, VS_EXTERNAL32, narrow);
    int error = mpiio_to_file(&conversion, file, native, count);

    assert_false(conversion.bytewise);
    assert_true(error == 0 || error == -ERANGE);
    return error == 0;
}

#define EACH_FITS(type, values, fits)                                                              \
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)                                \
    assert_int_equal(to_external32(type, &values[i], 1, file, MPIIO_NARROW_REFUSE), fits)

TEST(limits)
{
    unsigned char file[4];
    const long good[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    const long bad[] = {INT32_MAX + 1L, INT32_MIN - 1L, 1L << 32,  -(1L << 32),
                        LONG_MAX,       LONG_MIN,       UINT32_MAX};
    const unsigned long good_unsigned[] = {0, 1, INT32_MAX, INT32_MAX + 1ul, UINT32_MAX};
    const unsigned long bad_unsigned[] = {UINT32_MAX + 1ul, ULONG_MAX, 1ul << 63};
    const wchar_t good_wide[] = {0, 'a', 0xd800, 0xffff}, bad_wide[] = {0x10000, 0x10ffff, -1};

    EACH_FITS("long", good, true);
    EACH_FITS("long", bad, false);
    EACH_FITS("unsigned_long", good_unsigned, true);
    EACH_FITS("unsigned_long", bad_unsigned, false);
    EACH_FITS("wchar", good_wide, true);
    EACH_FITS("wchar", bad_wide, false);
}

/* A value that does not fit is detected wherever it is. With truncation, it and its neighbours
   are converted correctly. */
TEST(one_too_large)
{
    enum { MOST = 41 };
    long values[MOST];
    wchar_t wide[MOST];
    unsigned char file[MOST * 4];

    for (size_t count = 1; count <= MOST; count++) {
        for (size_t bad = 0; bad < count; bad++) {
            for (size_t i = 0; i < count; i++) {
                values[i] = -(long)i - 2;
                wide[i] = (wchar_t)i;
            }
            assert_true(to_external32("long", values, count, file, MPIIO_NARROW_REFUSE));
            assert_true(to_external32("wchar", wide, count, file, MPIIO_NARROW_REFUSE));
            wide[bad] = 0x7fff1234;
            assert_false(to_external32("wchar", wide, count, file, MPIIO_NARROW_REFUSE));
            assert_true(to_external32("wchar", wide, count, file, MPIIO_NARROW_TRUNCATE));
            assert_memory_equal(file + 2 * bad, "\x12\x34", 2);
            values[bad] = 0x1122334480000005;
            assert_false(to_external32("long", values, count, file, MPIIO_NARROW_REFUSE));
            assert_true(to_external32("long", values, count, file, MPIIO_NARROW_TRUNCATE));
            assert_memory_equal(file + 4 * bad, "\x80\0\0\x05", 4);
            for (size_t i = 0; i < count; i++)
                assert_true(i == bad || (file[4 * i] == 0xff && file[4 * i + 3] == 0xfe - i));
        }
    }
}

/* Integers that have another size in the file, converted both ways at odd addresses. The bytes
   beside them stay. */
TEST(resized)
{
    enum { MOST = 70 };
    static const char *const types[] = {"long", "unsigned_long", "wchar"};
    static unsigned char native[MOST * 8 + 2], file[MOST * 4 + 2], again[MOST * 8 + 2];

    for (size_t t = 0; t < 3; t++) {
        struct mpiio_conversion conversion = find(types[t], VS_EXTERNAL32, MPIIO_NARROW_REFUSE);
        for (size_t count = 0; count <= MOST; count++) {
            fill_randomly(file, sizeof(file));
            memset(native, 0xee, sizeof(native));
            assert_int_equal(mpiio_to_native(&conversion, native + 1, file + 1, count), 0);
            assert_int_equal(native[0], 0xee);
            assert_int_equal(native[1 + count * conversion.native], 0xee);
            for (size_t i = 0; i < count; i++) {
                unsigned char *value = native + 1 + i * conversion.native;
                unsigned char top = file[1 + i * conversion.file];
                if (NATIVE_IS_BIG)
                    reverse_each(value, conversion.native, conversion.native);
                for (size_t b = 0; b < conversion.file; b++)
                    assert_int_equal(value[b], file[(i + 1) * conversion.file - b]);
                for (size_t b = conversion.file; b < conversion.native; b++)
                    assert_int_equal(value[b], t == 0 && top >= 0x80 ? 0xff : 0);
            }
            if (NATIVE_IS_BIG)
                reverse_each(native + 1, count * conversion.native, conversion.native);
            memset(again, 0xdd, sizeof(again));
            assert_int_equal(mpiio_to_file(&conversion, again + 1, native + 1, count), 0);
            assert_memory_equal(again + 1, file + 1, count * conversion.file);
            assert_int_equal(again[1 + count * conversion.file], 0xdd);
        }
    }
}

/* x87 encodings that have no equal in binary128, or whose bits matter. Padding is not listed. */
static const struct {
    const char *native; /* NULL: only the conversion from the file is checked */
    const char *file;
    const char *back; /* what the file's bytes become; NULL: native */
} extended[] = {
    {"0000000000000000 0080", "8000 0000000000000000000000000000", NULL}, /* -0 */
    {"0000000000000080 ff7f", "7fff 0000000000000000000000000000", NULL}, /* infinity */
    {"0000000000000080 ffff", "ffff 0000000000000000000000000000", NULL},
    {"00000000000000c0 ff7f", "7fff 8000000000000000000000000000", NULL}, /* a quiet NaN */
    {"ffffffffffffffff ffff", "ffff fffffffffffffffe000000000000", NULL},
    {"0100000000000080 ff7f", "7fff 0000000000000002000000000000", NULL}, /* a signalling NaN */
    {"f0debc9a785634a2 ffff", "ffff 4468acf13579bde0000000000000", NULL},
    {"0100000000000000 0000", "0000 0000000000000002000000000000", NULL}, /* the least denormal */
    {"ffffffffffffff7f 0080", "8000 fffffffffffffffe000000000000", NULL},
    /* the least normal number */
    {"0000000000000080 0100", "0001 0000000000000000000000000000", NULL},
    {"ffffffffffffffff fe7f", "7ffe fffffffffffffffe000000000000", NULL}, /* the largest number */
    /* A pseudo-denormal has the value that it would have with the next exponent. */
    {"0000000000000080 0000", "0001 0000000000000000000000000000", "0000000000000080 0100"},
    {"01000000000000c0 0080", "8001 8000000000000002000000000000", "01000000000000c0 0180"},
    /* Unnormals, a pseudo-infinity and a pseudo-NaN are not numbers. */
    {"0000000000000020 ff3f", "7fff c000000000000000000000000000", "00000000000000e0 ff7f"},
    {"0000000000000000 ffbf", "ffff 8000000000000000000000000000", "00000000000000c0 ffff"},
    {"0000000000000000 ff7f", "7fff 8000000000000000000000000000", "00000000000000c0 ff7f"},
    {"0100000000000000 ff7f", "7fff 8000000000000002000000000000", "01000000000000c0 ff7f"},
    /* binary128 has 49 bits more. These values show how they are rounded, and what becomes of
       NaNs. */
    {NULL, "3fff 0000000000000000ffffffffffff", "0000000000000080 ff3f"}, /* below half */
    {NULL, "3fff 0000000000000001000000000000", "0000000000000080 ff3f"}, /* half: to even */
    {NULL, "3fff 0000000000000001000000000001", "0100000000000080 ff3f"},
    /* half above an odd number */
    {NULL, "3fff 0000000000000003000000000000", "0200000000000080 ff3f"},
    /* rounds up into the next exponent */
    {NULL, "3fff ffffffffffffffff000000000000", "0000000000000080 0040"},
    {NULL, "bfff ffffffffffffffffffffffffffff", "0000000000000080 00c0"},
    {NULL, "7ffe ffffffffffffffff000000000000", "0000000000000080 ff7f"}, /* too large: infinity */
    {NULL, "fffe ffffffffffffffffffffffffffff", "0000000000000080 ffff"},
    {NULL, "7ffe fffffffffffffffeffffffffffff", "ffffffffffffffff fe7f"},
    {NULL, "0000 0000000000000000000000000001", "0000000000000000 0000"}, /* too small */
    {NULL, "8000 0000000000000001000000000000", "0000000000000000 0080"},
    {NULL, "0000 0000000000000001000000000001", "0100000000000000 0000"},
    /* a denormal rounds up to a normal number */
    {NULL, "0000 ffffffffffffffffffffffffffff", "0000000000000080 0100"},
    {NULL, "7fff 0000000000000000000000000001", "0100000000000080 ff7f"}, /* a NaN stays a NaN */
    {NULL, "ffff 0000000000000001ffffffffffff", "0100000000000080 ffff"},
    /* payloads are truncated */
    {NULL, "7fff 00000000000000030fffffffffff", "0100000000000080 ff7f"},
    {NULL, "7fff ffffffffffffffffffffffffffff", "ffffffffffffffff ff7f"},
};

/* Returns the conversion of x87 numbers, whatever this machine's long double is. */
static struct mpiio_conversion find_extended(int parts)
{
    struct vs_view_facts facts = {.datarep = VS_EXTERNAL32};
    struct vs_basic basic = *vs_basic_find("c_long_double_complex");
    struct mpiio_conversion conversion;

    basic.parts = (uint8_t)parts;
    basic.size = (uint8_t)(16 * parts);
    basic.external = (uint8_t)(16 * parts);
    basic.extended = 1;
    assert_int_equal(mpiio_conversion_find(&basic, &facts, MPIIO_NARROW_REFUSE, &conversion), 0);
    return conversion;
}

TEST(extended_values)
{
    struct mpiio_conversion conversion = find_extended(1);

    assert_false(conversion.bytewise);
    for (size_t i = 0; i < sizeof(extended) / sizeof(extended[0]); i++) {
        unsigned char native[16], file[16], got[16], back[16] = {0};
        parse(extended[i].file, file);
        parse(extended[i].back != NULL ? extended[i].back : extended[i].native, back);
        if (extended[i].native != NULL) {
            parse(extended[i].native, native);
            memset(native + 10, 0xee, 6); /* padding is ignored */
            assert_int_equal(mpiio_to_file(&conversion, got, native, 1), 0);
            if (memcmp(got, file, 16) != 0)
                fail_msg("%s: other bytes in the file", extended[i].native);
        }
        memset(got, 0xee, sizeof(got));
        assert_int_equal(mpiio_to_native(&conversion, got, file, 1), 0);
        if (memcmp(got, back, 16) != 0)
            fail_msg("%s: other native bytes", extended[i].file);
    }
}

/* Random values, many of them near the ends of the exponents' range. The compiler's conversion
   gives the expected result. */
#if LDBL_MANT_DIG == 64
TEST(extended_as_compiler)
{
    enum { TIMES = 200000 };
    struct mpiio_conversion conversion = find("long_double", VS_EXTERNAL32, MPIIO_NARROW_REFUSE);

    for (int i = 0; i < TIMES; i++) {
        static const uint64_t exponents[] = {0, 1, 2, 0x3fff, 0x7ffd, 0x7ffe};
        uint64_t exponent = random_bits() % 0x7fff, high = random_bits(), low = random_bits();
        unsigned char native[16] = {0}, file[16], got[16];
        long double value;
        quad wide;

        if (i % 2 == 0)
            exponent = exponents[random_bits() % 6];
        if (i % 3 == 0)
            high &= low;
        if (i % 5 == 0)
            low = (low & UINT64_C(7) << 48) + i % 3;
        exponent |= low & 0x8000;
        high = (high & UINT64_C(0xffffffffffff)) | exponent << 48;
        memcpy(&wide, (uint64_t[]){low, high}, sizeof(wide));
        memcpy(file, &wide, 16);
        reverse_each(file, 16, 16);
        value = (long double)wide;
        memcpy(native, &value, 10);
        assert_int_equal(mpiio_to_native(&conversion, got, file, 1), 0);
        assert_memory_equal(got, native, 16);

        wide = value;
        memcpy(file, &wide, 16);
        reverse_each(file, 16, 16);
        assert_int_equal(mpiio_to_file(&conversion, got, native, 1), 0);
        assert_memory_equal(got, file, 16);
    }
}

#endif

/* Complex numbers made of these values, at odd addresses and in place. */
TEST(extended_complex)
{
    enum { COUNT = 9 };
    struct mpiio_conversion one = find_extended(1), two = find_extended(2);
    unsigned char file[COUNT * 32 + 2], single[COUNT * 32], pairs[COUNT * 32 + 2];

    fill_randomly(file, sizeof(file));
    memset(pairs, 0xee, sizeof(pairs));
    assert_int_equal(mpiio_to_native(&one, single, file + 1, 2 * COUNT), 0);
    assert_int_equal(mpiio_to_native(&two, pairs + 1, file + 1, COUNT), 0);
    assert_memory_equal(pairs + 1, single, COUNT * 32);
    assert_int_equal(pairs[0], 0xee);
    assert_int_equal(pairs[COUNT * 32 + 1], 0xee);
    assert_int_equal(mpiio_to_native(&two, file + 1, file + 1, COUNT), 0);
    assert_memory_equal(file + 1, single, COUNT * 32);
    assert_int_equal(mpiio_to_file(&two, pairs + 1, pairs + 1, COUNT), 0);
    assert_int_equal(mpiio_to_file(&one, single, file + 1, 2 * COUNT), 0);
    assert_memory_equal(pairs + 1, single, COUNT * 32);
}
