/* SPDX-License-Identifier: MIT */
/* Tests native values as text: the shortest decimals, against the C library. */

#include "unit.h"
#include "native.h"
#include "random.h"
#include "view/view.h"

/* Returns the text of a value, with a terminating null byte. */
static const char *text_as(enum view_format format, const char *type, const void *value)
{
    static char text[VIEW_VALUE_TEXT + 1];
    const struct vs_basic *basic = vs_basic_find(type);

    assert_non_null(basic);
    char *end = view_write_value(text, format, false, basic, value);
    assert_true(end - text <= VIEW_VALUE_TEXT);
    *end = '\0';
    return text;
}

static const char *text_of(const char *type, const void *value)
{
    return text_as(VIEW_TEXT, type, value);
}

/* Returns the text of a number of 16 bytes, from its two halves. */
static const char *text_of_halves(const char *type, uint64_t high, uint64_t low)
{
    return text_of(type, (uint64_t[]){NATIVE_IS_BIG ? high : low, NATIVE_IS_BIG ? low : high});
}

/* Counts the significant digits of a decimal. */
static int count_digits(const char *text)
{
    int count = 0, zeros = 0;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (*text != '0' || count > 0)) {
            count++;
            zeros = *text == '0' ? zeros + 1 : 0;
        }
    }
    return count - zeros;
}

/* Any bits are the same after a round trip. No text with one digit less has that property. */
TEST(doubles)
{
    char shorter[64];

    for (int i = 0; i < 50000; i++) {
        uint64_t bits = random_bits();
        double value, again;
        if (i % 4 == 0)
            bits &= UINT64_C(0xffffff0000000000);
        memcpy(&value, &bits, sizeof(value));
        const char *text = text_of("double", &value);
        again = strtod(text, NULL);
        if (value == value && memcmp(&value, &again, sizeof(value)) != 0)
            fail_msg("%a is written as %s", value, text);
        if (value != value || value == 0 || value - value != 0)
            continue;
        int digits = count_digits(text);
        if (digits == 1)
            continue;
        snprintf(shorter, sizeof(shorter), "%.*e", digits - 2, value);
        if (strtod(shorter, NULL) == value)
            fail_msg("%s is longer than %s", text, shorter);
    }
}

TEST(floats)
{
    for (int i = 0; i < 100000; i++) {
        uint32_t bits = (uint32_t)random_bits();
        float value, again;
        memcpy(&value, &bits, sizeof(value));
        const char *text = text_of("float", &value);
        again = strtof(text, NULL);
        if (value == value && memcmp(&value, &again, sizeof(value)) != 0)
            fail_msg("%a is written as %s", (double)value, text);
    }
}

TEST(long_doubles)
{
    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[16] = {0};
        uint64_t significand = random_bits() | UINT64_C(1) << 63;
        uint16_t exponent = (uint16_t)(i % 2 ? 16383 - 64 + random_bits() % 128 : random_bits());
        if ((exponent & 32767) == 32767)
            continue;
        if (!(exponent & 32767))
            significand &= INT64_MAX;
        memcpy(bytes, &significand, 8);
        memcpy(bytes + 8, &exponent, 2);
        const char *text = text_of("long_double", bytes);
        long double again = strtold(text, NULL);
        if (memcmp(bytes, &again, 10) != 0)
            fail_msg("%04x %016llx is written as %s", exponent, (unsigned long long)significand,
                     text);
    }
}

TEST(known)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {0.1, "0.1"},
        {-2.5, "-2.5"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {123456789012345680, "1.2345678901234568e+17"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e23, "1e+23"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {0.00001, "1e-05"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: not the nearest of 16 digits */
        {1.0 / 0.0, "inf"},
        {-1.0 / 0.0, "-inf"},
    };
    uint64_t nan = UINT64_C(0x7ff8000000000000);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_string_equal(text_of("double", &cases[i].value), cases[i].text);
    assert_string_equal(text_of("double", &nan), "nan");
    assert_string_equal(text_as(VIEW_JSON, "double", &nan), "\"nan\"");
    nan |= UINT64_C(1) << 63;
    assert_string_equal(text_of("double", &nan), "-nan");
}

/* binary16 and binary128: 65504; 1/3 in 113 bits; the smallest and the largest number. */
TEST(other_formats)
{
    static const uint16_t halves[] = {0x7bff, 0x0001, 0x3555, 0xfc00};

    assert_string_equal(text_of("real2", &halves[0]), "65500.0");
    assert_string_equal(text_of("real2", &halves[1]), "6e-08");
    assert_string_equal(text_of("real2", &halves[2]), "0.3333");
    assert_string_equal(text_of("real2", &halves[3]), "-inf");
    assert_string_equal(
        text_of_halves("real16", UINT64_C(0x3ffd555555555555), UINT64_C(0x5555555555555555)),
        "0.3333333333333333333333333333333333");
    assert_string_equal(text_of_halves("real16", 0, 1), "6e-4966");
    assert_string_equal(text_of_halves("real16", UINT64_C(0x7ffeffffffffffff), UINT64_MAX),
                        "1.189731495357231765085759326628007e+4932");
    if (LDBL_MANT_DIG == 64)
        assert_string_equal(text_of_halves("long_double", 0x3fff, 1), "nan");
}

TEST(integers)
{
    const int64_t least = INT64_MIN;
    const uint64_t most = UINT64_MAX;
    const signed char byte = -128;
    const uint32_t word = UINT32_MAX;

    assert_string_equal(text_of_halves("integer16", UINT64_C(1) << 63, 0),
                        "-170141183460469231731687303715884105728");
    assert_string_equal(text_of_halves("integer16", INT64_MAX, UINT64_MAX),
                        "170141183460469231731687303715884105727");
    assert_string_equal(text_of_halves("integer16", 0, UINT64_C(0x8ac7230489e80001)),
                        "10000000000000000001");
    assert_string_equal(text_of("int64_t", &least), "-9223372036854775808");
    assert_string_equal(text_of("uint64_t", &most), "18446744073709551615");
    assert_string_equal(text_of("integer1", &byte), "-128");
    assert_string_equal(text_of("uint8_t", &byte), "128");
    assert_string_equal(text_of("int", &word), "-1");
    assert_string_equal(text_of("unsigned", &word), "4294967295");
}

TEST(characters)
{
    assert_string_equal(text_of("char", "a"), "a");
    assert_string_equal(text_of("char", " "), "\\040");
    assert_string_equal(text_of("char", "\\"), "\\134");
    assert_string_equal(text_of("char", "\377"), "\\377");
    assert_string_equal(text_as(VIEW_CSV, "character", "\""), "\"\"\"\"");
    assert_string_equal(text_as(VIEW_CSV, "character", " "), "\" \"");
    assert_string_equal(text_as(VIEW_JSON, "char", "\""), "\"\\\"\"");
    assert_string_equal(text_as(VIEW_JSON, "char", "\\"), "\"\\\\\"");
    assert_string_equal(text_as(VIEW_JSON, "char", "\n"), "\"\\u000a\"");
    assert_string_equal(text_as(VIEW_JSON, "char", "\351"), "\"\\u00e9\"");
    assert_string_equal(text_of("byte", "\012"), "0a");
    assert_string_equal(text_as(VIEW_JSON, "byte", "\377"), "\"ff\"");
    assert_string_equal(text_of("c_bool", "\2"), "true");
    assert_string_equal(text_of("logical", "\0\0\0"), "false");
    assert_string_equal(text_of("logical", "\0\0\1"), "true");
}

TEST(pairs)
{
    const double values[2] = {1.5, -1.0 / 0.0};

    assert_string_equal(text_of("c_double_complex", values), "1.5 -inf");
    assert_string_equal(text_as(VIEW_CSV, "c_double_complex", values), "1.5,-inf");
    assert_string_equal(text_as(VIEW_JSON, "c_double_complex", values), "[1.5,\"-inf\"]");
}
