/* SPDX-License-Identifier: MIT */
#ifndef FS_PREFETCH_H
#define FS_PREFETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fusefs/base/fifo.h"

struct fs_session;

/* The maximum number of threads that read ahead. */
#define FS_PREFETCH_THREADS 4

/*
 * Reads ahead for sequential readers that bypass the page cache (mount option direct). A thread
 * reads the next bytes while the kernel copies the previous ones. Bytes that were read ahead before
 * the last store through this mount are never used.
 */
struct fs_prefetchers {
    struct fs_session *session; /* borrowed */
    unsigned most;              /* limit of active */
    struct fs_fifo fifos[FS_PREFETCH_THREADS];
    unsigned count;          /* number of started threads; 0: read-ahead is off */
    atomic_uint turn;        /* distributes handles to the threads */
    atomic_uint active;      /* handles that have memory for read-ahead */
    _Atomic uint64_t taken;  /* requests answered with bytes that were read ahead */
    _Atomic uint64_t stored; /* advances at each store, and when others' stores must be visible */
};

/*
 * Starts the threads. At most `most` handles read ahead at a time. Returns 0 or a negative errno.
 * In any case the caller calls fs_prefetch_stop, once no request is in progress.
 */
int fs_prefetch_start(struct fs_prefetchers *all, struct fs_session *session, unsigned most);
void fs_prefetch_stop(struct fs_prefetchers *all);

/* Invalidates all bytes that were read ahead so far. Thread-safe, as are all functions below. */
static inline void fs_prefetch_outdate(struct fs_prefetchers *all)
{
    atomic_fetch_add(&all->stored, 1);
}

/* The kind of file that is read ahead. */
struct fs_prefetch_kind {
    /* Reads bytes of a file. Returns their number or a negative errno. */
    ssize_t (*read)(struct fs_session *session, void *file, char *buffer, size_t size,
                    off_t offset);
    void (*put)(struct fs_session *session, void *file); /* drops the reference to the file */
};

/* The read-ahead state of one handle. */
struct fs_prefetch;

/*
 * Returns a new one, with one reference, which holds a reference to the file until it is dropped.
 * NULL if out of memory; then the caller keeps the reference to the file.
 */
struct fs_prefetch *fs_prefetch_new(struct fs_prefetchers *all, const struct fs_prefetch_kind *kind,
                                    void *file);

/* Drops the reference. A read in progress continues. prefetch may be NULL. */
void fs_prefetch_put(struct fs_prefetch *prefetch);

/*
 * Returns the size bytes at offset if all of them were read ahead; otherwise NULL, and the caller
 * reads them. In either case takes a reference, which fs_prefetch_done drops. The bytes are valid
 * until then, even if the handle is released with the answer.
 */
const char *fs_prefetch_take(struct fs_prefetch *prefetch, size_t size, off_t offset);

/*
 * Completes a request after its answer. got is the number of bytes or a negative errno. taken is
 * true if fs_prefetch_take returned the bytes. If the request continues a sequence, starts to read
 * the next bytes.
 */
void fs_prefetch_done(struct fs_prefetch *prefetch, size_t size, off_t offset, ssize_t got,
                      bool taken);

#endif
