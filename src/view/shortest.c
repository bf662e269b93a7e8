/* SPDX-License-Identifier: MIT */
#include "shortest.h"

#include <pthread.h>
#include <string.h>

#include "digits.h"

/* Natural numbers of up to 2^16768: those of binary128, with room to multiply by 10. */
#define WORDS 262

struct natural {
    int count; /* words in use; the highest of them is not 0 */
    uint64_t words[WORDS];
};

static void set(struct natural *n, view_uint128 value)
{
    n->words[0] = (uint64_t)value;
    n->words[1] = (uint64_t)(value >> 64);
    n->count = n->words[1] ? 2 : n->words[0] ? 1 : 0;
}

static void multiply(struct natural *n, uint64_t factor)
{
    uint64_t carry = 0;

    for (int i = 0; i < n->count; i++) {
        view_uint128 product = (view_uint128)n->words[i] * factor + carry;
        n->words[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry)
        n->words[n->count++] = carry;
}

static void multiply_power_of_10(struct natural *n, int power)
{
    static const uint64_t largest = UINT64_C(10000000000000000000);

    for (; power >= 19; power -= 19)
        multiply(n, largest);
    for (; power > 0; power--)
        multiply(n, 10);
}

static void shift_left(struct natural *n, int bits)
{
    int words = bits / 64;

    if (!n->count || !bits)
        return;
    memmove(n->words + words, n->words, (size_t)n->count * sizeof(n->words[0]));
    memset(n->words, 0, (size_t)words * sizeof(n->words[0]));
    n->count += words;
    multiply(n, UINT64_C(1) << bits % 64);
}

static int compare(const struct natural *a, const struct natural *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

/* a -= factor * b, which is not larger. */
static void subtract(struct natural *a, const struct natural *b, uint64_t factor)
{
    uint64_t carry = 0;

    for (int i = 0; i < a->count; i++) {
        view_uint128 part = (view_uint128)(i < b->count ? b->words[i] : 0) * factor + carry;
        carry = (uint64_t)(part >> 64) + (a->words[i] < (uint64_t)part);
        a->words[i] -= (uint64_t)part;
    }
    while (a->count && !a->words[a->count - 1])
        a->count--;
}

/* a + b against c. */
static int compare_sum(const struct natural *a, const struct natural *b, const struct natural *c)
{
    struct natural sum; /* not cleared, for speed */
    uint64_t carry = 0;

    sum.count = a->count > b->count ? a->count : b->count;
    for (int i = 0; i < sum.count; i++) {
        view_uint128 part = (view_uint128)(i < a->count ? a->words[i] : 0) +
                            (i < b->count ? b->words[i] : 0) + carry;
        sum.words[i] = (uint64_t)part;
        carry = (uint64_t)(part >> 64);
    }
    if (carry)
        sum.words[sum.count++] = carry;
    return compare(&sum, c);
}

/* value / unit, below 10; value becomes the rest. Fast where the highest word of unit is large. */
static int divide(struct natural *value, const struct natural *unit)
{
    int top = unit->count - 1;
    view_uint128 high = 0;

    if (value->count > top + 1)
        high = (view_uint128)value->words[top + 1] << 64;
    if (value->count > top)
        high |= value->words[top];
    int quotient = (int)(high / ((view_uint128)unit->words[top] + 1)); /* too small at most */
    if (quotient)
        subtract(value, unit, (uint64_t)quotient);
    for (; compare(value, unit) >= 0; quotient++)
        subtract(value, unit, 1);
    return quotient;
}

static int bits_of(view_uint128 value)
{
    uint64_t high = (uint64_t)(value >> 64);

    return high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)value);
}

/* floor(n * log10(2)) for |n| < 20000. */
static int floor_log10_of_power_of_2(int n)
{
    return (int)(((int64_t)n * INT64_C(1292913986)) >> 32);
}

/*
 * A number as value / unit, with the distances to where the next numbers begin, all four scaled so
 * that they are whole (Steele, White: How to print floating-point numbers accurately, 1990).
 */
struct fraction {
    struct natural value, unit, above, below;
};

static void make_fraction(struct fraction *f, const struct view_binary *binary, int point)
{
    int up = binary->exponent > 0 ? binary->exponent : 0;
    int down = binary->exponent < 0 ? -binary->exponent : 0;

    set(&f->value, binary->significand);
    shift_left(&f->value, up + 1 + binary->closer);
    set(&f->unit, 1);
    shift_left(&f->unit, down + 1 + binary->closer);
    set(&f->above, 1);
    shift_left(&f->above, up + binary->closer);
    set(&f->below, 1);
    shift_left(&f->below, up);
    multiply_power_of_10(&f->unit, point);
    multiply_power_of_10(&f->value, -point);
    multiply_power_of_10(&f->above, -point);
    multiply_power_of_10(&f->below, -point);
}

void view_shortest_exact(const struct view_binary *binary, struct view_decimal *decimal)
{
    struct fraction f;
    bool even = !(binary->significand & 1), low, high;

    /* One too small at most: the value is then not below the unit. */
    decimal->point = floor_log10_of_power_of_2(bits_of(binary->significand) - 1 + binary->exponent);
    make_fraction(&f, binary, decimal->point);
    while (compare_sum(&f.value, &f.above, &f.unit) >= (even ? 0 : 1)) {
        multiply(&f.unit, 10);
        decimal->point++;
    }
    int unused = __builtin_clzll(f.unit.words[f.unit.count - 1]);
    shift_left(&f.value, unused);
    shift_left(&f.unit, unused);
    shift_left(&f.above, unused);
    shift_left(&f.below, unused);
    decimal->count = 0;
    do {
        int digit;
        multiply(&f.value, 10);
        multiply(&f.above, 10);
        multiply(&f.below, 10);
        digit = divide(&f.value, &f.unit);
        low = compare(&f.value, &f.below) < (even ? 1 : 0);
        high = compare_sum(&f.value, &f.above, &f.unit) >= (even ? 0 : 1);
        if (low && high) {
            int half = compare_sum(&f.value, &f.value, &f.unit);
            digit += half > 0 || (half == 0 && digit % 2);
        } else if (high) {
            digit++;
        }
        decimal->digits[decimal->count++] = (char)('0' + digit);
    } while (!low && !high);
}

/*
 * The fast way: R. Giulietti, The Schubfach way to render doubles, 2020. Three products with a
 * power of ten tell the decimals that lie between the halves to the next numbers.
 */
#define LOWEST_POWER  (-292)
#define HIGHEST_POWER 324

/* 10^(i + LOWEST_POWER), its highest 128 bits, rounded up where there are more. */
static view_uint128 powers[HIGHEST_POWER - LOWEST_POWER + 1];

/* The highest 128 bits; rest: whether there are others. */
static view_uint128 top(const struct natural *n, bool *rest)
{
    struct natural copy = *n;

    if (copy.count < 3)
        shift_left(&copy, 128);
    shift_left(&copy, __builtin_clzll(copy.words[copy.count - 1]));
    *rest = false;
    for (int i = 0; i < copy.count - 2; i++)
        *rest = *rest || copy.words[i];
    return (view_uint128)copy.words[copy.count - 1] << 64 | copy.words[copy.count - 2];
}

/* 2^1226 / 10^292, which has 256 bits; what is cut off is less than a part in 2^255. */
static void make_lowest(struct natural *quotient)
{
    struct natural divisor, rest;

    set(&divisor, 1);
    multiply_power_of_10(&divisor, -LOWEST_POWER);
    set(&rest, 1);
    set(quotient, 0);
    for (int i = 0; i < 1226; i++) {
        shift_left(&rest, 1);
        shift_left(quotient, 1);
        if (compare(&rest, &divisor) < 0)
            continue;
        subtract(&rest, &divisor, 1);
        quotient->words[0] = quotient->count ? quotient->words[0] | 1 : 1;
        quotient->count += !quotient->count;
    }
}

static void make_powers(void)
{
    struct natural power;
    bool rest;

    make_lowest(&power);
    for (int i = LOWEST_POWER; i < 0; i++) {
        powers[i - LOWEST_POWER] = top(&power, &rest) + 1;
        multiply(&power, 10);
    }
    set(&power, 1);
    for (int i = 0; i <= HIGHEST_POWER; i++) {
        powers[i - LOWEST_POWER] = top(&power, &rest);
        powers[i - LOWEST_POWER] += rest;
        multiply(&power, 10);
    }
}

/* power * value / 2^128; the lowest bit is set where that is not whole. */
static uint64_t round_to_odd(view_uint128 power, uint64_t value)
{
    view_uint128 low = (view_uint128)(uint64_t)power * value;
    view_uint128 high = (view_uint128)(uint64_t)(power >> 64) * value + (uint64_t)(low >> 64);

    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* Of value / 4 between lower and upper the shortest; ten: counted in tens. */
static uint64_t choose(uint64_t lower, uint64_t value, uint64_t upper, bool *ten)
{
    uint64_t ones = value / 4, tens = ones / 10, middle = 4 * ones + 2;
    bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;

    *ten = ones >= 10 && below != above;
    if (*ten)
        return tens + above;
    below = lower <= 4 * ones;
    above = 4 * ones + 4 <= upper;
    if (below != above)
        return ones + above;
    return ones + (value > middle || (value == middle && (ones & 1)));
}

static void shortest_64(uint64_t significand, int exponent, bool closer,
                        struct view_decimal *decimal)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool odd = significand & 1, ten;
    /* floor(log10(2^exponent)), of three quarters of it where the next lower one is closer */
    int power = (exponent * 1262611 - (closer ? 524031 : 0)) >> 22;
    int shift = exponent + ((-power * 1741647) >> 19) + 1;

    pthread_once(&once, make_powers);
    view_uint128 scale = powers[-power - LOWEST_POWER];
    uint64_t lower = round_to_odd(scale, (4 * significand - 2 + closer) << shift);
    uint64_t value = round_to_odd(scale, (4 * significand) << shift);
    uint64_t upper = round_to_odd(scale, (4 * significand + 2) << shift);
    uint64_t digits = choose(lower + odd, value, upper - odd, &ten);
    int count = (int)(view_write_unsigned(decimal->digits, digits) - decimal->digits);

    decimal->point = count + power + ten;
    while (count > 1 && decimal->digits[count - 1] == '0')
        count--;
    decimal->count = count;
}

void view_shortest(const struct view_binary *binary, struct view_decimal *decimal)
{
    if (binary->significand >> 53 || binary->exponent < -1074 || binary->exponent > 971)
        view_shortest_exact(binary, decimal);
    else
        shortest_64((uint64_t)binary->significand, binary->exponent, binary->closer, decimal);
}
