/* SPDX-License-Identifier: MIT */
#include "view.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/types/byte_order.h"

/* Native values as text. */

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* Holds the values of all formats exactly. glibc declares none of it to clang on x86. */
#if defined(__clang__) && defined(__x86_64__)
typedef __float128 binary128;
binary128 strtof128(const char *text, char **end);
int strfromf128(char *text, size_t size, const char *format, binary128 value);
binary128 ldexpf128(binary128 value, int exponent);
#else
__extension__ typedef _Float128 binary128;
#endif

static char *append_text(char *text, const char *from, size_t length)
{
    memcpy(text, from, length);
    return text + length;
}

static char *write_unsigned(char *text, uint128 value)
{
    char digits[39], *end = digits + sizeof(digits), *begin = end;
    uint64_t rest;

    for (; value >> 64; value /= 10)
        *--begin = (char)('0' + (int)(value % 10));
    rest = (uint64_t)value;
    do
        *--begin = (char)('0' + (int)(rest % 10));
    while (rest /= 10);
    return append_text(text, begin, (size_t)(end - begin));
}

/* Copies a native value to the least significant bytes of a number of `room` bytes. */
static void load_low(void *number, size_t room, const void *value, size_t size)
{
    memcpy((char *)number + (VS_NATIVE_ORDER == VS_BIG_ENDIAN ? room - size : 0), value, size);
}

static uint64_t load_unsigned(const void *value, size_t size)
{
    uint64_t number = 0;

    load_low(&number, sizeof(number), value, size);
    return number;
}

static char *write_integer(char *text, const struct vs_basic *basic, const void *value)
{
    int unused = 64 - 8 * basic->size;

    if (basic->size > 8) {
        int128 number;
        memcpy(&number, value, sizeof(number));
        if (number < 0)
            *text++ = '-';
        return write_unsigned(text, number < 0 ? -(uint128)number : (uint128)number);
    }
    uint64_t number = load_unsigned(value, basic->size);
    if (basic->kind == VS_INTEGER) {
        int64_t extended = (int64_t)(number << unused) >> unused;
        if (extended < 0)
            *text++ = '-';
        number = extended < 0 ? -(uint64_t)extended : (uint64_t)extended;
    }
    return write_unsigned(text, number);
}

/* A binary format: the bits of its exponent and significand, without the hidden bit. */
struct layout {
    int exponent, significand;
    bool explicit; /* the format stores the first bit of the significand (x87) */
};

static struct layout layout_of(size_t size, bool extended)
{
    switch (size) {
    case 2:
        return (struct layout){5, 10, false};
    case 4:
        return (struct layout){8, 23, false};
    case 8:
        return (struct layout){11, 52, false};
    default:
        return extended ? (struct layout){15, 63, true} : (struct layout){15, 112, false};
    }
}

/* Rounds to the nearest value of binary16. */
static double round_to_half(double value)
{
    int exponent;

    frexp(value, &exponent);
    exponent = exponent < -13 ? -24 : exponent - 11;
    return ldexp(nearbyint(ldexp(value, -exponent)), exponent);
}

static binary128 read_back(const char *text, const struct layout *layout)
{
    switch (layout->significand) {
    case 10:
        return round_to_half(strtod(text, NULL));
    case 23:
        return strtof(text, NULL);
    case 52:
        return strtod(text, NULL);
    case 63:
        return strtold(text, NULL);
    default:
        return strtof128(text, NULL);
    }
}

/* The value 0.DIGITS * 10^point, without leading or trailing zeros. */
struct decimal {
    int count;
    int point;
    char digits[40]; /* count of them, as characters; not terminated */
};

/* Writes value with that many digits, rounded in direction (fenv.h). */
static void write_digits(char text[64], binary128 value, int digits, int direction)
{
    char format[16];
    int usual = fegetround();

    snprintf(format, sizeof(format), "%%.%de", digits - 1);
    fesetround(direction);
    strfromf128(text, 64, format, value);
    fesetround(usual);
}

/*
 * Finds the shortest decimal that reads back as value, which is not 0, and of these the nearest.
 * A normal number keeps that many digits of every decimal, so that no fewer need to be tried. The
 * numbers below a power of 2 are closer than those above it. So the nearest decimal may read back
 * as one of them, while the next higher decimal does not.
 */
static struct decimal shorten_decimal(binary128 value, const struct layout *layout, bool normal,
                                      bool power)
{
    int digits = normal ? layout->significand * 3 / 10 : 1;
    struct decimal decimal = {0};
    char text[64];

    for (;; digits++) {
        write_digits(text, value, digits, FE_TONEAREST);
        if (read_back(text, layout) == value)
            break;
        if (power)
            write_digits(text, value, digits, FE_UPWARD);
        if (power && read_back(text, layout) == value)
            break;
    }
    decimal.digits[0] = text[0];
    memcpy(decimal.digits + 1, text + 2, (size_t)digits - 1);
    while (digits > 1 && decimal.digits[digits - 1] == '0')
        digits--;
    decimal.count = digits;
    decimal.point = atoi(strchr(text, 'e') + 1) + 1;
    return decimal;
}

/* Writes like Python's repr: with an exponent below 0.0001 and from 10^16 on. */
static char *write_decimal(char *text, const struct decimal *decimal)
{
    int count = decimal->count, point = decimal->point;
    const char *digits = decimal->digits;

    if (point < -3 || point > 16) {
        int exponent = point - 1;
        *text++ = digits[0];
        if (count > 1) {
            *text++ = '.';
            text = append_text(text, digits + 1, (size_t)count - 1);
        }
        *text++ = 'e';
        *text++ = exponent < 0 ? '-' : '+';
        exponent = exponent < 0 ? -exponent : exponent;
        if (exponent < 10)
            *text++ = '0';
        return write_unsigned(text, (uint64_t)exponent);
    }
    if (point <= 0) {
        text = append_text(text, "0.000", (size_t)(2 - point));
        return append_text(text, digits, (size_t)count);
    }
    int whole = count < point ? count : point;
    text = append_text(text, digits, (size_t)whole);
    memset(text, '0', (size_t)(point - whole));
    text += point - whole;
    *text++ = '.';
    if (whole == count)
        *text++ = '0';
    return append_text(text, digits + whole, (size_t)(count - whole));
}

static char *write_special(char *text, enum view_format format, bool negative, const char *name)
{
    if (format == VIEW_JSON)
        *text++ = '"';
    if (negative)
        *text++ = '-';
    text = append_text(text, name, 3);
    if (format == VIEW_JSON)
        *text++ = '"';
    return text;
}

static char *write_real(char *text, enum view_format format, const void *value, size_t size,
                        bool extended)
{
    struct layout layout = layout_of(size, extended);
    int stored = layout.significand + layout.explicit, largest = (1 << layout.exponent) - 1;
    uint128 bits = 0, one = 1;
    struct decimal decimal;

    load_low(&bits, sizeof(bits), value, size);
    uint128 hidden = one << layout.significand, fraction = bits & (hidden - 1);
    uint128 significand = bits & ((one << stored) - 1);
    int exponent = (int)(bits >> stored) & largest;
    bool negative = (int)(bits >> (stored + layout.exponent)) & 1;

    /* An x87 number without its first bit is invalid, except with the smallest exponent. */
    if (exponent == largest || (layout.explicit && exponent && !(significand & hidden)))
        return write_special(text, format, negative,
                             exponent == largest && !fraction ? "inf" : "nan");
    if (negative)
        *text++ = '-';
    if (exponent && !layout.explicit)
        significand |= hidden;
    if (!significand)
        return append_text(text, "0.0", 3);
    decimal =
        shorten_decimal(ldexpf128((binary128)significand,
                                  (exponent ? exponent : 1) - (largest >> 1) - layout.significand),
                        &layout, significand & hidden, !fraction && exponent > 1);
    return write_decimal(text, &decimal);
}

static char *write_float(char *text, enum view_format format, const struct vs_basic *basic,
                         const char *value)
{
    size_t size = basic->size / basic->parts;

    if (basic->parts == 1)
        return write_real(text, format, value, size, basic->extended);
    if (format == VIEW_JSON)
        *text++ = '[';
    text = write_real(text, format, value, size, basic->extended);
    *text++ = format == VIEW_TEXT ? ' ' : ',';
    text = write_real(text, format, value + size, size, basic->extended);
    if (format == VIEW_JSON)
        *text++ = ']';
    return text;
}

static char *write_hex(char *text, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";

    *text++ = digits[byte >> 4];
    *text++ = digits[byte & 15];
    return text;
}

static char *write_char(char *text, enum view_format format, unsigned char c)
{
    bool visible = c > ' ' && c < 0x7f && c != '\\';

    if (format == VIEW_JSON) {
        if (c == '"' || c == '\\') {
            *text++ = '\\';
        } else if (c < ' ' || c >= 0x7f) {
            text = append_text(text, "\\u00", 4);
            return write_hex(text, c);
        }
        *text++ = (char)c;
        return text;
    }
    if (format == VIEW_CSV && c == '"')
        *text++ = '"';
    if (visible || (format == VIEW_CSV && c == ' ')) {
        *text++ = (char)c;
        return text;
    }
    *text++ = '\\';
    for (int shift = 6; shift >= 0; shift -= 3)
        *text++ = (char)('0' + (c >> shift & 7));
    return text;
}

char *view_write_value(char *text, enum view_format format, bool bare, const struct vs_basic *basic,
                       const void *value)
{
    const char *bytes = value;
    bool quoted = !bare && ((format == VIEW_JSON && basic->kind == VS_BYTES) ||
                            (format != VIEW_TEXT && basic->kind == VS_CHAR));

    switch (basic->kind) {
    case VS_FLOAT:
        return write_float(text, format, basic, value);
    case VS_INTEGER:
    case VS_UNSIGNED:
        return write_integer(text, basic, value);
    case VS_LOGICAL:
        return load_unsigned(value, basic->size) ? append_text(text, "true", 4)
                                                 : append_text(text, "false", 5);
    case VS_BYTES:
    case VS_CHAR:
        break;
    }
    if (quoted)
        *text++ = '"';
    text = basic->kind == VS_BYTES ? write_hex(text, (unsigned char)*bytes)
                                   : write_char(text, format, (unsigned char)*bytes);
    if (quoted)
        *text++ = '"';
    return text;
}
