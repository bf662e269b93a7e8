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

/* Threads that read ahead, at most. */
#define FS_PREFETCH_THREADS 4

/*
 * Reading ahead for those who read slices past the page cache (mount option direct), request after
 * request: what comes next is read while the kernel takes what was read. It is given to nobody once
 * something else was stored through this mount.
 */
struct fs_prefetchers {
    struct fs_session *session; /* borrowed, as is slices */
    struct fs_slices *slices;
    unsigned most; /* handles that may have memory for it at a time */
    struct fs_fifo fifos[FS_PREFETCH_THREADS];
    unsigned count;          /* of those that are started; 0: nothing is read ahead */
    atomic_uint turn;        /* moves with each handle */
    atomic_uint active;      /* handles that have memory for it */
    _Atomic uint64_t taken;  /* requests answered with what was read ahead */
    _Atomic uint64_t stored; /* moves when something is stored, and when others' is to be seen */
};

/* Starts the threads, for at most so many handles at a time: 0 or a negative errno. Stop comes next
   in any case, also without a start; no request is under way then. */
int fs_prefetch_start(struct fs_prefetchers *all, struct fs_session *session,
                      struct fs_slices *slices, unsigned most);
void fs_prefetch_stop(struct fs_prefetchers *all);

/* All that was read ahead so far is old. Thread-safe, as is all that follows. */
static inline void fs_prefetch_outdate(struct fs_prefetchers *all)
{
    atomic_fetch_add(&all->stored, 1);
}

/* What is read ahead for one handle. */
struct fs_prefetch;

/* For a handle that has the slice open, one reference. NULL without memory. */
struct fs_prefetch *fs_prefetch_new(struct fs_prefetchers *all, struct fs_slice *slice,
                                    fs_slice_read *read);

/* Gives the reference back; what is under way goes on. NULL is allowed. */
void fs_prefetch_put(struct fs_prefetch *prefetch);

/*
 * A request for size bytes at offset: they are returned if all of them were read ahead, else NULL,
 * and the caller reads them. Takes a reference, and fs_prefetch_done gives it back: until then the
 * bytes stay, also where the answer ends the handle.
 */
const char *fs_prefetch_take(struct fs_prefetch *prefetch, size_t size, off_t offset);

/*
 * That request is answered, with got bytes or a negative errno; taken: with what fs_prefetch_take
 * gave. Where it is one of a sequence, what comes next is read from now on.
 */
void fs_prefetch_done(struct fs_prefetch *prefetch, size_t size, off_t offset, ssize_t got,
                      bool taken);

#endif
