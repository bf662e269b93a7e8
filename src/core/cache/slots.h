/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLOTS_H
#define MPIIO_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/progress.h"

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

/* Returns the number of set bits in [from, to). */
size_t mpiio_mask_count(const uint64_t *mask, size_t from, size_t to);

/* The number of bytes that mpiio_mask_pack may write behind the packed bytes. */
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

/*
 * The memory that dirty data lies in: slots in a memfd, which the daemon makes and the engine maps
 * too. A slot has room for one block of the file, which is MPIIO_BLOCK_SIZE bytes and begins at a
 * multiple of that, and for its mask. Memory that was never touched costs nothing: neither do slots
 * that are free, nor parts of a block that nobody wrote.
 *
 * Which slots are in use, and who may touch them when, is the owner's affair (cache.h).
 */
#define MPIIO_BLOCK_SIZE  ((int64_t)1 << 20)
#define MPIIO_BLOCK_WORDS MPIIO_MASK_WORDS(MPIIO_BLOCK_SIZE)

/* The size of data and mask together, in bytes. */
#define MPIIO_SLOT_SIZE (MPIIO_BLOCK_SIZE / 8 * 9)

/* The unit in which memory is touched, in bytes of data or of the mask. */
#define MPIIO_PAGE_SIZE  4096
#define MPIIO_PAGE_WORDS ((size_t)MPIIO_BLOCK_SIZE / MPIIO_PAGE_SIZE / 64)
/* Bytes of the data whose bits fill a page of the mask. */
#define MPIIO_MASK_REACH ((size_t)MPIIO_PAGE_SIZE * 8)

/* The addresses at which the parts of a slot are mapped. */
struct mpiio_slot {
    char *data;      /* MPIIO_BLOCK_SIZE bytes */
    uint64_t *mask;  /* MPIIO_BLOCK_WORDS */
    uint64_t *pages; /* MPIIO_PAGE_WORDS: a bit for each page of the data that was touched */
};

struct mpiio_slots {
    int fd;
    int count;
    char *base;
    size_t size;
};

/* Makes a memfd of count > 0 empty slots. 0 or a negative errno. */
int mpiio_slots_create(struct mpiio_slots *slots, int count);

/*
 * Maps the slots that another process made and that fd is of; fd stays the caller's. 0, -EINVAL
 * where it is none, or another negative errno.
 */
int mpiio_slots_map(struct mpiio_slots *slots, int fd);

/* Unmaps, and closes the descriptor of slots that were made here. */
void mpiio_slots_destroy(struct mpiio_slots *slots);
void mpiio_slots_unmap(struct mpiio_slots *slots);

/* Returns the page in which the engine records its progress. */
struct mpiio_progress_page *mpiio_slots_progress(const struct mpiio_slots *slots);

/* Until when the engine that maps the slots may store (clock.h). Thread-safe. */
struct mpiio_lease *mpiio_slots_lease(const struct mpiio_slots *slots);

/* Slot number index, 0 <= index < count. Thread-safe. */
struct mpiio_slot mpiio_slots_get(const struct mpiio_slots *slots, int index);

/*
 * Empties a slot: its mask and pages become zeros. Its memory is given back, or kept for who uses
 * the slot next.
 */
void mpiio_slots_clear(const struct mpiio_slots *slots, int index, bool keep);

/*
 * Marks the pages of runs as touched, once the kernel has given their memory, which it may refuse
 * with a SIGBUS (guard.h). A mask may be looked at only where pages are.
 */
void mpiio_slot_touch(const struct mpiio_slot *slot, struct mpiio_mask_runs runs);

/* Returns true if any page of the bytes [from, to) of the block is touched. */
bool mpiio_slot_touched(const struct mpiio_slot *slot, size_t from, size_t to);

/* Returns true if the block has any byte of [from, to). Does not read empty parts of the mask. */
bool mpiio_slot_has(const struct mpiio_slot *slot, size_t from, size_t to);

/* The memory that the touched pages, and those of the mask beside them, take. In bytes. */
int64_t mpiio_slot_memory(const uint64_t pages[MPIIO_PAGE_WORDS]);

/* Does what mpiio_mask_next_run does, for the whole block beginning at from. Does not read empty
   parts. */
bool mpiio_slot_next_run(const struct mpiio_slot *slot, size_t from, struct mpiio_mask_run *run);

/* Returns the number of bytes in the slot. */
int64_t mpiio_slot_bytes(const struct mpiio_slot *slot);

#endif
