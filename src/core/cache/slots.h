/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_SLOTS_H
#define MPIIO_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/lease.h"
#include "mask.h"
#include "core/base/progress.h"

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

/* Of data and mask, in bytes. */
#define MPIIO_SLOT_SIZE (MPIIO_BLOCK_SIZE / 8 * 9)

/* The unit in which memory is touched, in bytes of data or of the mask. */
#define MPIIO_PAGE_SIZE  4096
#define MPIIO_PAGE_WORDS ((size_t)MPIIO_BLOCK_SIZE / MPIIO_PAGE_SIZE / 64)
/* Bytes of the data whose bits fill a page of the mask. */
#define MPIIO_MASK_REACH ((size_t)MPIIO_PAGE_SIZE * 8)

/* Where the parts of a slot are mapped. */
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

/* Where the engine notes how far it has come. */
struct mpiio_progress_page *mpiio_slots_progress(const struct mpiio_slots *slots);

/* Until when the engine that maps the slots may store (lease.h). Thread-safe. */
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

/* Whether any page of the bytes [from, to) of the block is touched. */
bool mpiio_slot_touched(const struct mpiio_slot *slot, size_t from, size_t to);

/* Whether any byte of [from, to) of the block is there. Looks at no part of the mask that is empty.
 */
bool mpiio_slot_has(const struct mpiio_slot *slot, size_t from, size_t to);

/* The memory that the touched pages, and those of the mask beside them, take. In bytes. */
int64_t mpiio_slot_memory(const uint64_t pages[MPIIO_PAGE_WORDS]);

/* As mpiio_mask_next_run, over the whole block from from on, without looking at what is empty. */
bool mpiio_slot_next_run(const struct mpiio_slot *slot, size_t from, struct mpiio_mask_run *run);

/* How many bytes of the slot are there. */
int64_t mpiio_slot_bytes(const struct mpiio_slot *slot);

#endif
