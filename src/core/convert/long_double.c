/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* x87 mantissas store this bit; binary128 implies it */
#define X87_LEADING_BIT (UINT64_C(1) << 63)
#define X87_QUIET_BIT   (UINT64_C(1) << 62)
#define X87_SIGN_BIT    0x8000
/* infinities and NaNs; both formats have the same exponent range */
#define X87_EXPONENT_MAX 0x7fff

/* binary128's fraction has 112 bits: the 63 bits of x87's, and these low ones. */
#define X87_LOW_BITS 49

struct extended {
    uint64_t mantissa;      /* both little-endian, as x86 has them */
    uint64_t sign_exponent; /* in the low 16 bits; padding above them */
};

struct binary128 {
    uint64_t high, low; /* big-endian */
};

static struct binary128 widen_x87(struct extended value)
{
    uint64_t exponent = le64toh(value.sign_exponent) & X87_EXPONENT_MAX;
    uint64_t sign = le64toh(value.sign_exponent) & X87_SIGN_BIT;
    uint64_t mantissa = le64toh(value.mantissa);

    if (exponent == 0) {
        /* A denormal with a leading bit is the normal number of the least exponent. */
        exponent = mantissa >> 63;
    } else if ((mantissa & X87_LEADING_BIT) == 0) {
        exponent = X87_EXPONENT_MAX;
        mantissa |= X87_QUIET_BIT;
    }
    mantissa &= ~X87_LEADING_BIT;
    return (struct binary128){
        .high = htobe64((sign | exponent) << 48 | mantissa >> (64 - X87_LOW_BITS)),
        .low = htobe64(mantissa << X87_LOW_BITS),
    };
}

/*
 * Rounds a finite number. low has the bits that are cut off. Half of the values of foreign files
 * are rounded up, so there is no branch: half or more carries into the mantissa.
 */
static void round_even(uint64_t *mantissa, uint64_t *exponent, uint64_t low)
{
    const uint64_t half = UINT64_C(1) << (X87_LOW_BITS - 1);

    *mantissa += (low + half - 1 + (*mantissa & 1)) >> X87_LOW_BITS;
    if (*exponent == 0) {
        *exponent = *mantissa >> 63;
    } else if (*mantissa == 0) {
        *mantissa = X87_LEADING_BIT;
        ++*exponent;
    }
}

static struct extended narrow_x87(struct binary128 value)
{
    uint64_t high = be64toh(value.high), low = be64toh(value.low);
    uint64_t exponent = high >> 48 & X87_EXPONENT_MAX;
    uint64_t sign = high >> 48 & X87_SIGN_BIT;
    uint64_t mantissa = (high << (64 - X87_LOW_BITS) & ~X87_LEADING_BIT) | low >> X87_LOW_BITS;

    low &= (UINT64_C(1) << X87_LOW_BITS) - 1;
    if (exponent == X87_EXPONENT_MAX) {
        /* A NaN with its whole payload in the low bits must not become infinity. */
        if (mantissa == 0 && low != 0)
            mantissa = 1;
        mantissa |= X87_LEADING_BIT;
    } else {
        if (exponent != 0)
            mantissa |= X87_LEADING_BIT;
        round_even(&mantissa, &exponent, low);
    }
    return (struct extended){
        .mantissa = htole64(mantissa),
        .sign_exponent = htole64(sign | exponent),
    };
}

bool mpiio_x87_to_binary128(void *to, const void *from, size_t count)
{
    char *out = to;
    const char *in = from;

    for (; count > 0; count--, out += 16, in += 16) {
        struct extended value;

        memcpy(&value, in, sizeof(value));
        struct binary128 wide = widen_x87(value);
        memcpy(out, &wide, sizeof(wide));
    }
    return true;
}

bool mpiio_binary128_to_extended(void *to, const void *from, size_t count)
{
    char *out = to;
    const char *in = from;

    for (; count > 0; count--, out += 16, in += 16) {
        struct binary128 wide;

        memcpy(&wide, in, sizeof(wide));
        struct extended value = narrow_x87(wide);
        memcpy(out, &value, sizeof(value));
    }
    return true;
}
