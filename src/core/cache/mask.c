/* SPDX-License-Identifier: MIT */
#include "slots.h"

#include <endian.h>
#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define FULL (~(uint64_t)0)

/* An operation on the bits of a word. A constant in each call of the functions below. */
enum action { SET, CLEAR, LOOK };

/* The result of LOOK: the bits that are set, and those that are not. */
struct found {
    uint64_t set;
    uint64_t missing;
};

static ALWAYS_INLINE void visit_word(uint64_t *word, uint64_t bits, enum action action,
                                     struct found *found)
{
    if (action == SET) {
        *word |= bits;
    } else if (action == CLEAR) {
        *word &= ~bits;
    } else {
        found->set |= *word & bits;
        found->missing |= bits & ~*word;
    }
}

/* Returns bits [from, to) of a word, to > from. */
static ALWAYS_INLINE uint64_t bits_between(size_t from, size_t to)
{
    return (FULL >> (64 - (to - from))) << from;
}

static ALWAYS_INLINE void visit_range(uint64_t *mask, size_t from, size_t to, enum action action,
                                      struct found *found)
{
    uint64_t *word = mask + from / 64, *last = mask + (to - 1) / 64;
    size_t first_bit = from % 64, end_bit = (to - 1) % 64 + 1;

    if (word == last) {
        visit_word(word, bits_between(first_bit, end_bit), action, found);
        return;
    }
    visit_word(word++, FULL << first_bit, action, found);
    for (; word < last; word++)
        visit_word(word, FULL, action, found);
    visit_word(word, bits_between(0, end_bit), action, found);
}

/*
 * Precomputes runs that repeat within a word. Their bits repeat after a period of at most 64 words.
 * Returns the number of words in a period.
 */
static size_t make_pattern(uint64_t *pattern, size_t first, size_t length, size_t stride)
{
    size_t words = stride / (stride & -stride);
    size_t bits = words * 64;

    for (size_t i = 0; i < words; i++)
        pattern[i] = 0;
    for (size_t run = 0; run < bits / stride; run++) {
        size_t start = (first + run * stride) % bits;
        size_t in_word = length < 64 - start % 64 ? length : 64 - start % 64;

        pattern[start / 64] |= bits_between(start % 64, start % 64 + in_word);
        if (in_word < length)
            pattern[(start / 64 + 1) % words] |= bits_between(0, length - in_word);
    }
    return words;
}

static ALWAYS_INLINE void visit_pattern(uint64_t *mask, struct mpiio_mask_runs runs,
                                        enum action action, struct found *found)
{
    uint64_t pattern[64];
    size_t end = runs.start + (runs.count - 1) * (size_t)runs.stride + runs.length;
    size_t period = make_pattern(pattern, runs.start % 64, runs.length, (size_t)runs.stride);
    uint64_t *word = mask + runs.start / 64, *last = mask + (end - 1) / 64;
    size_t place = 1 % period;

    /* There are enough runs for at least two words. */
    visit_word(word++, pattern[0] & FULL << runs.start % 64, action, found);
    if (period == 1) {
        for (; word < last; word++)
            visit_word(word, pattern[0], action, found);
    } else {
        for (; word < last; word++) {
            visit_word(word, pattern[place], action, found);
            place = place + 1 == period ? 0 : place + 1;
        }
    }
    visit_word(word, pattern[place] & bits_between(0, (end - 1) % 64 + 1), action, found);
}

static ALWAYS_INLINE void visit_run(uint64_t *mask, struct mpiio_mask_runs runs, enum action action,
                                    struct found *found)
{
    if (runs.stride < 0) {
        runs.start -= (runs.count - 1) * (size_t)-runs.stride;
        runs.stride = -runs.stride;
    }
    if ((size_t)runs.stride == runs.length) {
        runs.length *= runs.count;
        runs.count = 1;
    }
    if (runs.stride <= 64 && (size_t)runs.stride > runs.length && runs.count > 128) {
        visit_pattern(mask, runs, action, found);
        return;
    }
    for (; runs.count > 0; runs.count--) {
        visit_range(mask, runs.start, runs.start + runs.length, action, found);
        runs.start += (size_t)runs.stride;
    }
}

void mpiio_mask_set(uint64_t *mask, struct mpiio_mask_runs runs)
{
    visit_run(mask, runs, SET, NULL);
}

void mpiio_mask_clear(uint64_t *mask, struct mpiio_mask_runs runs)
{
    visit_run(mask, runs, CLEAR, NULL);
}

enum mpiio_mask_state mpiio_mask_test(const uint64_t *mask, struct mpiio_mask_runs runs)
{
    struct found found = {0};

    visit_run((uint64_t *)mask, runs, LOOK, &found);
    if (found.set == 0)
        return MPIIO_MASK_NONE;
    return found.missing == 0 ? MPIIO_MASK_ALL : MPIIO_MASK_SOME;
}

/* Returns the first bit in [from, to) that is set (with flip FULL: clear), or to if there is
   none. */
static ALWAYS_INLINE size_t find_bit(const uint64_t *mask, size_t from, size_t to, uint64_t flip)
{
    size_t word = from / 64;
    uint64_t bits;

    if (from >= to)
        return to;
    bits = (mask[word] ^ flip) & FULL << from % 64;
    while (bits == 0) {
        if (++word * 64 >= to)
            return to;
        bits = mask[word] ^ flip;
    }
    from = word * 64 + (size_t)__builtin_ctzll(bits);
    return from < to ? from : to;
}

bool mpiio_mask_next_run(const uint64_t *mask, size_t from, size_t to, struct mpiio_mask_run *run)
{
    run->start = find_bit(mask, from, to, 0);
    run->end = find_bit(mask, run->start, to, FULL);
    return run->start < run->end;
}

/* Returns the bits of a word that lie in [from, to), 64 * word < to. */
static ALWAYS_INLINE uint64_t word_between(const uint64_t *mask, size_t word, size_t from,
                                           size_t to)
{
    uint64_t bits = mask[word];

    if (word == from / 64)
        bits &= FULL << from % 64;
    if (to - word * 64 < 64)
        bits &= bits_between(0, to - word * 64);
    return bits;
}

size_t mpiio_mask_count(const uint64_t *mask, size_t from, size_t to)
{
    size_t count = 0;

    for (size_t word = from / 64; word * 64 < to; word++)
        count += (size_t)__builtin_popcountll(word_between(mask, word, from, to));
    return count;
}

/* Packing and unpacking word by word. */

/* The data bytes of one word of a mask, and the packed bytes. */
struct ends {
    char *data;
    char *packed;
};

/*
 * Moves all units of a word, and advances in the packed bytes only for units that are set: no
 * branch depends on the mask. When packing, the next unit overwrites one that is not set. When
 * unpacking, a unit that is not set gets its own value.
 */
static ALWAYS_INLINE char *move_units(struct ends ends, uint64_t bits, size_t unit, bool pack)
{
    for (size_t at = 0; at < 64; at += unit) {
        size_t there = (size_t)(bits >> at & 1);

        if (pack)
            memcpy(ends.packed, ends.data + at, unit);
        else
            memmove(ends.data + at, there ? ends.packed : ends.data + at, unit);
        ends.packed += unit & -there;
    }
    return ends.packed;
}

static ALWAYS_INLINE char *move_runs(struct ends ends, uint64_t bits, bool pack)
{
    while (bits != 0) {
        size_t start = (size_t)__builtin_ctzll(bits);
        uint64_t behind = ~(bits >> start);
        size_t length = behind == 0 ? 64 : (size_t)__builtin_ctzll(behind);

        if (pack)
            memcpy(ends.packed, ends.data + start, length);
        else
            memcpy(ends.data + start, ends.packed, length);
        ends.packed += length;
        if (start + length >= 64)
            break;
        bits &= FULL << (start + length);
    }
    return ends.packed;
}

static bool has_few_runs(uint64_t bits)
{
    uint64_t starts = bits & ~(bits << 1);

    for (int i = 0; i < 4; i++)
        starts &= starts - 1;
    return starts == 0;
}

/* Moves a word by the largest units that are entirely set or clear. */
static ALWAYS_INLINE char *move_word(struct ends ends, uint64_t bits, bool pack)
{
    uint64_t eights = bits & 0x0101010101010101, fours = bits & 0x1111111111111111;

    if (eights * 0xff == bits)
        return move_units(ends, bits, 8, pack);
    if (has_few_runs(bits))
        return move_runs(ends, bits, pack);
    if (fours * 0xf == bits)
        return move_units(ends, bits, 4, pack);
    return move_units(ends, bits, 1, pack);
}

static ALWAYS_INLINE char *move_all(const uint64_t *mask, size_t from, size_t to, struct ends ends,
                                    bool pack)
{
    char *data = ends.data;
    size_t word = from / 64;

    while (word * 64 < to) {
        uint64_t bits = word_between(mask, word, from, to);

        ends.data = data + word * 64;
        if (bits == FULL) {
            size_t end = word + 1;

            while (end * 64 + 63 < to && mask[end] == FULL)
                end++;
            memcpy(pack ? ends.packed : ends.data, pack ? ends.data : ends.packed,
                   (end - word) * 64);
            ends.packed += (end - word) * 64;
            word = end;
            continue;
        }
        /* In a partial word, some bytes may lie beyond the end of the data: move runs only. */
        if (bits != 0 && (word * 64 < from || word * 64 + 64 > to))
            ends.packed = move_runs(ends, bits, pack);
        else if (bits != 0)
            ends.packed = move_word(ends, bits, pack);
        word++;
    }
    return ends.packed;
}

size_t mpiio_mask_pack(const uint64_t *mask, size_t from, size_t to, const void *data, void *packed)
{
    struct ends ends = {.data = (char *)data, .packed = packed};

    return (size_t)(move_all(mask, from, to, ends, true) - (char *)packed);
}

size_t mpiio_mask_unpack(const uint64_t *mask, size_t from, size_t to, const void *packed,
                         void *data)
{
    struct ends ends = {.data = data, .packed = (char *)packed};

    return (size_t)(move_all(mask, from, to, ends, false) - (const char *)packed);
}

/* Expands eight bits to eight bytes of memory, 0xff for a set bit. The lowest bit comes first. */
static ALWAYS_INLINE uint64_t bytes_of(uint64_t bits)
{
    /* Spread one bit to each byte, at its own position in it; then widen it to the whole byte. */
    uint64_t spread = bits * 0x0101010101010101 & 0x8040201008040201;

    return htole64(((spread + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101) * 0xff);
}

static ALWAYS_INLINE void blend_word(char *data, const char *lower, uint64_t bits)
{
    for (size_t at = 0; at < 64; at += 8) {
        uint64_t wanted = bytes_of(bits >> at & 0xff), upper, under;

        memcpy(&upper, data + at, 8);
        memcpy(&under, lower + at, 8);
        upper ^= (upper ^ under) & wanted;
        memcpy(data + at, &upper, 8);
    }
}

void mpiio_mask_merge(uint64_t *mask, void *data, const uint64_t *other, const void *other_data,
                      size_t words, bool under)
{
    const uint64_t kept = under ? FULL : 0;
    const char *from = other_data;
    char *to = data;

    for (size_t word = 0; word < words; word++, to += 64, from += 64) {
        uint64_t bits = other[word] & ~(mask[word] & kept);

        if (bits == FULL)
            memcpy(to, from, 64);
        else if (bits != 0)
            blend_word(to, from, bits);
        mask[word] |= bits;
    }
}
