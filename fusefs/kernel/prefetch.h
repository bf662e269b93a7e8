/* SPDX-License-Identifier: MIT */
#ifndef FS_PREFETCH_H
#define FS_PREFETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fusefs/base/fifo.h"
#include "fusefs/names/slices.h"

struct fs_session;

/* The most threads that read ahead. */
#define FS_PREFETCH_THREADS 4

/*
 * Reads ahead for sequential readers of slices past the page cache (mount option direct). A thread
 * reads the next bytes while the kernel copies the last ones. No request is answered with bytes
 * that were read ahead before the last store through this mount.
 */
struct fs_prefetchers {
    struct fs_session *session; /* borrowed, as is slices */
    struct fs_slices *slices;
    unsigned most; /* bound of active */
    struct fs_fifo fifos[FS_PREFETCH_THREADS];
    unsigned count;          /* of started threads; 0: nothing is read ahead */
    atomic_uint turn;        /* moves with each handle */
    atomic_uint active;      /* handles that have memory for reading ahead */
    _Atomic uint64_t taken;  /* requests answered with bytes that were read ahead */
    _Atomic uint64_t stored; /* moves at a store, and when others' stores must become visible */
};

/* Starts the threads, for at most that many handles at a time. Returns 0 or a negative errno. The
   caller calls fs_prefetch_stop in any case, once no request is under way. */
int fs_prefetch_start(struct fs_prefetchers *all, struct fs_session *session,
                      struct fs_slices *slices, unsigned most);
void fs_prefetch_stop(struct fs_prefetchers *all);

/* Outdates all bytes that were read ahead so far. Thread-safe, as are all functions below. */
static inline void fs_prefetch_outdate(struct fs_prefetchers *all)
{
    atomic_fetch_add(&all->stored, 1);
}

/* What is read ahead for one handle. */
struct fs_prefetch;

/* Returns a new one, with one reference, for a handle that has the slice open. NULL without memory.
 */
struct fs_prefetch *fs_prefetch_new(struct fs_prefetchers *all, struct fs_slice *slice,
                                    fs_slice_read *read);

/* Gives the reference back. A read under way goes on. NULL is allowed. */
void fs_prefetch_put(struct fs_prefetch *prefetch);

/*
 * Returns the size bytes at offset if all of them were read ahead, else NULL; the caller then reads
 * them. Takes a reference, which fs_prefetch_done gives back. The bytes are valid until then, even
 * if the handle ends with the answer.
 */
const char *fs_prefetch_take(struct fs_prefetch *prefetch, size_t size, off_t offset);

/*
 * Follows the answer to that request, with got bytes or a negative errno; taken: with the bytes of
 * fs_prefetch_take. If the request continues a sequence, begins to read the next bytes.
 */
void fs_prefetch_done(struct fs_prefetch *prefetch, size_t size, off_t offset, ssize_t got,
                      bool taken);

#endif
