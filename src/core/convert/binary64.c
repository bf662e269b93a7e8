/* SPDX-License-Identifier: MIT */
#include "binary64.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define SIGN_BIT     (UINT64_C(1) << 63)
#define EXPONENT_MAX 0x7ff /* of binary64: infinities and NaNs */
#define WIDE_MAX     0x7fff
#define BIAS         (16383 - 1023)
#define FRACTION     52 /* bits of binary64 */
#define LEADING_BIT  (UINT64_C(1) << FRACTION)

/* binary128's fraction has 112 bits: 48 beside the exponent, of which 4 and the next are ours. */
#define LOW_BITS 60

struct binary128 {
    uint64_t high, low; /* big-endian */
};

static struct binary128 widen(uint64_t value)
{
    uint64_t fraction = value & (LEADING_BIT - 1);
    uint64_t exponent = value >> FRACTION & EXPONENT_MAX;

    if (exponent == EXPONENT_MAX) {
        exponent = WIDE_MAX;
    } else if (exponent != 0) {
        exponent += BIAS;
    } else if (fraction != 0) {
        /* A denormal is a normal number there. */
        int shift = __builtin_clzll(fraction) - (63 - FRACTION);

        fraction = fraction << shift & (LEADING_BIT - 1);
        exponent = (uint64_t)(BIAS + 1 - shift);
    }
    return (struct binary128){
        .high = htobe64((value & SIGN_BIT) | exponent << 48 | fraction >> (FRACTION - 48)),
        .low = htobe64(fraction << LOW_BITS),
    };
}

/* The top of a fraction of 112 bits and what lies below it, shifted right by 1 to 54 more bits. */
static uint64_t shift_out(uint64_t fraction, uint64_t low, int shift)
{
    uint64_t out = fraction & ((UINT64_C(1) << shift) - 1);
    uint64_t half = UINT64_C(1) << (shift - 1);
    uint64_t kept = fraction >> shift;

    return kept + (out > half || (out == half && (low != 0 || (kept & 1))));
}

static uint64_t narrow(struct binary128 value)
{
    const uint64_t half = UINT64_C(1) << (LOW_BITS - 1);
    uint64_t high = be64toh(value.high), low = be64toh(value.low);
    uint64_t sign = high & SIGN_BIT;
    uint64_t fraction = (high << (FRACTION - 48) | low >> LOW_BITS) & (LEADING_BIT - 1);
    int exponent = (int)(high >> 48 & WIDE_MAX);

    low &= (UINT64_C(1) << LOW_BITS) - 1;
    if (exponent == WIDE_MAX) {
        /* A NaN with its whole payload in the low bits must not become infinity. */
        if (fraction == 0 && low != 0)
            fraction = 1;
        return sign | (uint64_t)EXPONENT_MAX << FRACTION | fraction;
    }
    exponent -= BIAS;
    if (exponent >= EXPONENT_MAX)
        return sign | (uint64_t)EXPONENT_MAX << FRACTION;
    if (exponent < -FRACTION)
        return sign;
    /* What rounding carries into the exponent belongs there: also into infinity's. */
    if (exponent <= 0)
        return sign | shift_out(fraction | LEADING_BIT, low, 1 - exponent);
    fraction |= (uint64_t)exponent << FRACTION;
    return sign | (fraction + (low > half || (low == half && (fraction & 1))));
}

bool mpiio_binary64_to_binary128(void *to, const void *from, size_t count)
{
    char *out = to;
    const char *in = from;

    for (; count > 0; count--, out += 16, in += 8) {
        uint64_t value;

        memcpy(&value, in, sizeof(value));
        struct binary128 wide = widen(value);
        memcpy(out, &wide, sizeof(wide));
    }
    return true;
}

bool mpiio_binary128_to_binary64(void *to, const void *from, size_t count)
{
    char *out = to;
    const char *in = from;

    for (; count > 0; count--, out += 8, in += 16) {
        struct binary128 wide;

        memcpy(&wide, in, sizeof(wide));
        uint64_t value = narrow(wide);
        memcpy(out, &value, sizeof(value));
    }
    return true;
}
