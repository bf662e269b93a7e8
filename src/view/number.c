/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <string.h>

#include "shortest.h"
#include "digits.h"
#include "viewspec/types/byte_order.h"

__extension__ typedef __int128 int128;

static char *append(char *text, const char *from, size_t length)
{
    memcpy(text, from, length);
    return text + length;
}

static char *write_unsigned_128(char *text, view_uint128 value)
{
    static const uint64_t unit = UINT64_C(10000000000000000000);

    if (value < unit)
        return view_write_unsigned(text, (uint64_t)value);
    text = write_unsigned_128(text, value / unit);
    memset(text, '0', 19);
    view_digits_before(text + 19, (uint64_t)(value % unit));
    return text + 19;
}

/* Fills the least significant bytes of a number, which has `room` of them, with a native value's.
 */
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
        return write_unsigned_128(text, number < 0 ? -(view_uint128)number : (view_uint128)number);
    }
    uint64_t number = load_unsigned(value, basic->size);
    if (basic->kind == VS_INTEGER) {
        int64_t extended = (int64_t)(number << unused) >> unused;
        if (extended < 0)
            *text++ = '-';
        number = extended < 0 ? -(uint64_t)extended : (uint64_t)extended;
    }
    return view_write_unsigned(text, number);
}

/* Python's repr: an exponent below 0.0001 and from 10^16 on. */
static char *write_decimal(char *text, const struct view_decimal *decimal)
{
    int count = decimal->count, point = decimal->point;
    const char *digits = decimal->digits;

    if (point < -3 || point > 16) {
        int exponent = point - 1;
        *text++ = digits[0];
        if (count > 1) {
            *text++ = '.';
            text = append(text, digits + 1, (size_t)count - 1);
        }
        *text++ = 'e';
        *text++ = exponent < 0 ? '-' : '+';
        exponent = exponent < 0 ? -exponent : exponent;
        if (exponent < 10)
            *text++ = '0';
        return view_write_unsigned(text, (uint64_t)exponent);
    }
    if (point <= 0) {
        text = append(text, "0.000", (size_t)(2 - point));
        return append(text, digits, (size_t)count);
    }
    int whole = count < point ? count : point;
    text = append(text, digits, (size_t)whole);
    memset(text, '0', (size_t)(point - whole));
    text += point - whole;
    *text++ = '.';
    if (whole == count)
        *text++ = '0';
    return append(text, digits + whole, (size_t)(count - whole));
}

/* A binary format: the bits of exponent and significand, the hidden one not counted. */
struct layout {
    int exponent, significand;
    bool explicit; /* the first bit of the significand is stored, too: x87 */
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

static char *write_special(char *text, enum view_format format, bool negative, const char *name)
{
    if (format == VIEW_JSON)
        *text++ = '"';
    if (negative)
        *text++ = '-';
    text = append(text, name, 3);
    if (format == VIEW_JSON)
        *text++ = '"';
    return text;
}

static char *write_real(char *text, enum view_format format, const void *value, size_t size,
                        bool extended)
{
    struct layout layout = layout_of(size, extended);
    int stored = layout.significand + layout.explicit, largest = (1 << layout.exponent) - 1;
    view_uint128 bits = 0, one = 1;
    struct view_decimal decimal;

    load_low(&bits, sizeof(bits), value, size);
    view_uint128 hidden = one << layout.significand, fraction = bits & (hidden - 1);
    view_uint128 significand = bits & ((one << stored) - 1);
    int exponent = (int)(bits >> stored) & largest;
    bool negative = (int)(bits >> (stored + layout.exponent)) & 1;

    /* An x87 number without its first bit is none, but for the smallest exponent. */
    if (exponent == largest || (layout.explicit && exponent && !(significand & hidden)))
        return write_special(text, format, negative,
                             exponent == largest && !fraction ? "inf" : "nan");
    if (negative)
        *text++ = '-';
    if (exponent && !layout.explicit)
        significand |= hidden;
    if (!significand)
        return append(text, "0.0", 3);
    struct view_binary binary = {
        .significand = significand,
        .exponent = (exponent ? exponent : 1) - (largest >> 1) - layout.significand,
        .closer = !fraction && exponent > 1,
    };
    view_shortest(&binary, &decimal);
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
            text = append(text, "\\u00", 4);
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
        return load_unsigned(value, basic->size) ? append(text, "true", 4)
                                                 : append(text, "false", 5);
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
