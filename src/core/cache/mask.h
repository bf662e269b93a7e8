/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_MASK_H
#define MPIIO_MASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Masks of bytes: bit i of a mask (bit i % 64 of word i / 64) says whether byte i of the data
 * beside it is there. Indexes and lengths count bits, and so bytes of the data. Nothing here knows
 * of files or of slots: the daemon and the engine both use it.
 *
 * All functions are local; threads may read one mask at once, but one that changes it, or the data,
 * needs it for itself.
 */

/* Words of a mask of so many bytes. */
#define MPIIO_MASK_WORDS(bytes) (((bytes) + 63) / 64)

/*
 * count runs of length > 0 bytes each, the first at start, from each to the next stride bytes,
 * which may be negative or less than length. All of them lie inside the mask.
 */
struct mpiio_mask_runs {
    size_t start;
    size_t length;
    size_t count; /* > 0 */
    ptrdiff_t stride;
};

/* Sets, and clears, the bits of runs. */
void mpiio_mask_set(uint64_t *mask, struct mpiio_mask_runs runs);
void mpiio_mask_clear(uint64_t *mask, struct mpiio_mask_runs runs);

enum mpiio_mask_state {
    MPIIO_MASK_NONE, /* not one of the bits is set */
    MPIIO_MASK_SOME,
    MPIIO_MASK_ALL,
};

enum mpiio_mask_state mpiio_mask_test(const uint64_t *mask, struct mpiio_mask_runs runs);

/* The bytes [start, end). */
struct mpiio_mask_run {
    size_t start;
    size_t end;
};

/*
 * The first run of set bits in [from, to), as long as it can be there: false where there is none.
 * Adjacent runs, whoever set them, are one. The next one is looked for from run->end.
 */
bool mpiio_mask_next_run(const uint64_t *mask, size_t from, size_t to, struct mpiio_mask_run *run);

/* How many bits of [from, to) are set. */
size_t mpiio_mask_count(const uint64_t *mask, size_t from, size_t to);

/* What mpiio_mask_pack may write behind the packed bytes. */
#define MPIIO_MASK_SLACK 8

/*
 * Packs the bytes of data whose bits in [from, to) are set, in order, into packed, and returns how
 * many they are; packed has room for MPIIO_MASK_SLACK bytes more. data is the address of byte 0.
 */
size_t mpiio_mask_pack(const uint64_t *mask, size_t from, size_t to, const void *data,
                       void *packed);

/*
 * The inverse: takes packed bytes to the places in data whose bits in [from, to) are set, and
 * returns how many it took. Other bytes of data keep their values, but may be stored to.
 */
size_t mpiio_mask_unpack(const uint64_t *mask, size_t from, size_t to, const void *packed,
                         void *data);

/*
 * Lays the bytes of lower_data that lower_mask has under those that mask has: only what is not
 * there yet is copied to data, and then is there too. words is the length of both masks. May be
 * abandoned at any point and done again.
 */
void mpiio_mask_merge(uint64_t *mask, void *data, const uint64_t *lower_mask,
                      const void *lower_data, size_t words);

#endif
