/* SPDX-License-Identifier: MIT */
#include "x87.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define LEADING_BIT  (UINT64_C(1) << 63) /* of an x87 mantissa: binary128 only implies it */
#define QUIET_BIT    (UINT64_C(1) << 62)
#define SIGN_BIT     0x8000
#define EXPONENT_MAX 0x7fff /* infinities and NaNs; both formats have the same exponents */

/* binary128's fraction has 112 bits: the 63 bits of x87's, and these below them. */
#define LOW_BITS 49

struct extended {
    uint64_t mantissa;      /* both little-endian, as x86 has them */
    uint64_t sign_exponent; /* in the low 16 bits; padding above them */
};

struct binary128 {
    uint64_t high, low; /* big-endian */
};

static struct binary128 widen(struct extended value)
{
    uint64_t exponent = le64toh(value.sign_exponent) & EXPONENT_MAX;
    uint64_t sign = le64toh(value.sign_exponent) & SIGN_BIT;
    uint64_t mantissa = le64toh(value.mantissa);

    if (exponent == 0) {
        /* A denormal with a leading bit is the normal number of the least exponent. */
        exponent = mantissa >> 63;
    } else if ((mantissa & LEADING_BIT) == 0) {
        exponent = EXPONENT_MAX;
        mantissa |= QUIET_BIT;
    }
    mantissa &= ~LEADING_BIT;
    return (struct binary128){
        .high = htobe64((sign | exponent) << 48 | mantissa >> (64 - LOW_BITS)),
        .low = htobe64(mantissa << LOW_BITS),
    };
}

/*
 * Rounds a finite number; low holds the bits that are cut off. Half of the values of foreign files
 * are rounded up, so it has no branch: half or more carries into the mantissa.
 */
static void round_even(uint64_t *mantissa, uint64_t *exponent, uint64_t low)
{
    const uint64_t half = UINT64_C(1) << (LOW_BITS - 1);

    *mantissa += (low + half - 1 + (*mantissa & 1)) >> LOW_BITS;
    if (*exponent == 0) {
        *exponent = *mantissa >> 63;
    } else if (*mantissa == 0) {
        *mantissa = LEADING_BIT;
        ++*exponent;
    }
}

static struct extended narrow(struct binary128 value)
{
    uint64_t high = be64toh(value.high), low = be64toh(value.low);
    uint64_t exponent = high >> 48 & EXPONENT_MAX;
    uint64_t sign = high >> 48 & SIGN_BIT;
    uint64_t mantissa = (high << (64 - LOW_BITS) & ~LEADING_BIT) | low >> LOW_BITS;

    low &= (UINT64_C(1) << LOW_BITS) - 1;
    if (exponent == EXPONENT_MAX) {
        /* A NaN with its whole payload in the low bits must not become infinity. */
        if (mantissa == 0 && low != 0)
            mantissa = 1;
        mantissa |= LEADING_BIT;
    } else {
        if (exponent != 0)
            mantissa |= LEADING_BIT;
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
        struct binary128 wide = widen(value);
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
        struct extended value = narrow(wide);
        memcpy(out, &value, sizeof(value));
    }
    return true;
}
