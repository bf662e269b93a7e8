/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLOTS_H
#define MPIIO_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/progress.h"

/*
 * Masks of bytes: bit i of a mask (bit i % 64 of word i / 64) is set if byte i of the accompanying
 * data is valid. Indexes and lengths count bits, and so bytes of data. Masks are independent of
 * files and slots: both the daemon and the engine use them.
 *
 * All functions are local. Several threads may read a mask at the same time, but a thread that
 * changes it, or the data, needs exclusive access.
 */

/* The number of words of a mask of bytes. */
#define MPIIO_MASK_WORDS(bytes) (((bytes) + 63) / 64)

/*
 * count runs of length > 0 bytes each. The first one is at start, each next one stride bytes after
 * the previous one. stride may be negative or less than length. All runs lie within the mask.
 */
struct mpiio_mask_runs {
    size_t start;
    size_t length;
    size_t count; /* > 0 */
    ptrdiff_t stride;
};

/* Set, or clear, the bits of runs. */
void mpiio_mask_set(uint64_t *mask, struct mpiio_mask_runs runs);
void mpiio_mask_clear(uint64_t *mask, struct mpiio_mask_runs runs);

enum mpiio_mask_state {
    MPIIO_MASK_NONE, /* no bit is set */
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
 * Finds the first run of set bits in [from, to), as long as possible. Returns false if there is
 * none. Adjacent runs count as one, even if different calls have set them. Search for the next one
 * from run->end.
 */
bool mpiio_mask_next_run(const uint64_t *mask, size_t from, size_t to, struct mpiio_mask_run *run);

/* Returns the number of set bits in [from, to). */
size_t mpiio_mask_count(const uint64_t *mask, size_t from, size_t to);

/* The number of bytes that mpiio_mask_pack may write after the packed bytes. */
#define MPIIO_MASK_SLACK 8

/*
 * Packs the bytes of data whose bits in [from, to) are set, in order, into packed. Returns their
 * number. packed must have room for MPIIO_MASK_SLACK more bytes. data is the address of byte 0.
 */
size_t mpiio_mask_pack(const uint64_t *mask, size_t from, size_t to, const void *data,
                       void *packed);

/*
 * The inverse: moves packed bytes to the positions in data whose bits in [from, to) are set.
 * Returns their number. Other bytes of data keep their values, but may be stored to.
 */
size_t mpiio_mask_unpack(const uint64_t *mask, size_t from, size_t to, const void *packed,
                         void *data);

/*
 * Copies the bytes of other_data whose bits are set in the mask other to data, and sets these bits
 * in mask. If under is true, skips the bytes that are already set in mask. words is the length of
 * both masks. May be abandoned at any point and repeated.
 */
void mpiio_mask_merge(uint64_t *mask, void *data, const uint64_t *other, const void *other_data,
                      size_t words, bool under);

/*
 * The memory of dirty data: slots in a memfd, which the daemon creates and the engine maps, too. A
 * slot has room for one block of the file, which is MPIIO_BLOCK_SIZE bytes and begins at a multiple
 * of that, and for its mask. Untouched memory costs nothing. That holds for free slots, and for
 * parts of a block that nobody wrote.
 *
 * The owner decides which slots are in use, and who may touch them when (cache.h).
 */
#define MPIIO_BLOCK_SIZE  ((int64_t)1 << 20)
#define MPIIO_BLOCK_WORDS MPIIO_MASK_WORDS(MPIIO_BLOCK_SIZE)

/* The size of data and mask together, in bytes. */
#define MPIIO_SLOT_SIZE (MPIIO_BLOCK_SIZE / 8 * 9)

/* The unit in which memory is touched, in bytes of data or of the mask. */
#define MPIIO_PAGE_SIZE  4096
#define MPIIO_PAGE_WORDS ((size_t)MPIIO_BLOCK_SIZE / MPIIO_PAGE_SIZE / 64)
/* Data bytes whose bits fill one page of the mask. */
#define MPIIO_MASK_REACH ((size_t)MPIIO_PAGE_SIZE * 8)

/* The addresses at which the parts of a slot are mapped. */
struct mpiio_slot {
    char *data;      /* MPIIO_BLOCK_SIZE bytes */
    uint64_t *mask;  /* MPIIO_BLOCK_WORDS */
    uint64_t *pages; /* MPIIO_PAGE_WORDS: one bit for each touched page of the data */
};

struct mpiio_slots {
    int fd;
    int count;
    char *base;
    size_t size;
};

/* Creates a memfd of count > 0 empty slots. Returns 0 or a negative errno. */
int mpiio_slots_create(struct mpiio_slots *slots, int count);

/*
 * Maps the slots that another process has created and passed as fd, which stays the caller's.
 * Returns 0, -EINVAL if fd is not a memfd of slots, or another negative errno.
 */
int mpiio_slots_map(struct mpiio_slots *slots, int fd);

/* destroy unmaps the slots, and closes their descriptor. unmap only unmaps them. */
void mpiio_slots_destroy(struct mpiio_slots *slots);
void mpiio_slots_unmap(struct mpiio_slots *slots);

/* Returns the page in which the engine records its progress. */
struct mpiio_progress_page *mpiio_slots_progress(const struct mpiio_slots *slots);

/* Returns the lease of the engine that maps the slots (clock.h). Thread-safe. */
struct mpiio_lease *mpiio_slots_lease(const struct mpiio_slots *slots);

/*
 * A dirty block: its number in the file, and the slot that holds it. A block that may wait is left
 * dirty (its error is -EAGAIN) if the merged block has gaps between short runs, because other
 * writers may be about to fill them.
 */
struct mpiio_flush_block {
    int64_t block;
    uint32_t slot;
    bool may_wait;
};

/*
 * Return the two lists of a flush, each with room for count entries: the blocks, which the daemon
 * sets, and their errors (0 or a negative errno), which the engine sets. The daemon does not touch
 * them between FLUSH and RESULT, and the engine touches them only then.
 */
struct mpiio_flush_block *mpiio_slots_blocks(const struct mpiio_slots *slots);
int32_t *mpiio_slots_errors(const struct mpiio_slots *slots);

/* Returns slot number index, 0 <= index < count. Thread-safe. */
struct mpiio_slot mpiio_slots_get(const struct mpiio_slots *slots, int index);

/*
 * Empties a slot: its mask and pages become zeros. Frees its memory, or keeps it for the next use
 * of the slot.
 */
void mpiio_slots_clear(const struct mpiio_slots *slots, int index, bool keep);

/*
 * Marks the pages of runs as touched after the kernel has allocated their memory. The kernel may
 * refuse that with SIGBUS (guard.h); then some of the pages may have memory that does not count.
 * Only the mask of touched pages may be read.
 */
void mpiio_slot_touch(const struct mpiio_slot *slot, struct mpiio_mask_runs runs);

/* Returns true if any page of the bytes [from, to) of the block is touched. */
bool mpiio_slot_touched(const struct mpiio_slot *slot, size_t from, size_t to);

/* Returns the memory, in bytes, of the touched pages and the corresponding pages of the mask. */
int64_t mpiio_slot_memory(const uint64_t pages[MPIIO_PAGE_WORDS]);

/* Finds the next run of the block's bytes in [from, to), like mpiio_mask_next_run. Does not read
   empty parts of the mask. */
bool mpiio_slot_next_run(const struct mpiio_slot *slot, size_t from, size_t to,
                         struct mpiio_mask_run *run);

/* Returns the number of dirty bytes in the slot. */
int64_t mpiio_slot_bytes(const struct mpiio_slot *slot);

#endif
