/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_PRIVATE_H
#define MPIIO_STORE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file/write_behind.h"
#include "core/file/file_lock.h"
#include "store.h"
#include "core/file/window.h"

/* What is inside a store: for the other files of this folder only. */
struct mpiio_back;
struct mpiio_store {
    int fd;
    bool writable;
    struct mpiio_back *_Atomic back; /* where slices write to, borrowed; NULL: to the file */
    struct mpiio_windows windows;    /* for writing too where the store is writable */
    struct mpiio_behind behind;
    void (*check)(
        void *argument); /* called before the file is changed (store_fence.h); NULL: nothing is */
    void *check_argument;
    pthread_mutex_t append_lock; /* held during an append, from its fstat to its end */
    pthread_mutex_t grow_lock;   /* held while space behind the end is prepared for a scatter */
    /* Held, shared, while whole elements are stored that are not just reordered; exclusively while
       one is read, changed and written back (export.h). */
    pthread_rwlock_t elements_lock;
    struct mpiio_locks locks; /* of parts of the file; acquired before elements_lock */
    atomic_uint_fast64_t slice_reads;
    atomic_uint_fast64_t slice_read_bytes;
    atomic_uint_fast64_t store_reads;
    atomic_uint_fast64_t store_read_bytes;
    atomic_uint_fast64_t store_map_bytes;
    atomic_uint_fast64_t slice_writes;
    atomic_uint_fast64_t slice_write_bytes;
    atomic_uint_fast64_t store_writes;
    atomic_uint_fast64_t store_write_bytes;
    atomic_uint_fast64_t store_map_write_bytes;
};

/*
 * The file's present size in bytes as the slices show it, or a negative errno: it reaches the end
 * of what is dirty (back.h). Thread-safe.
 */
int64_t mpiio_store_size(struct mpiio_store *store);

/* Called right before the file is changed. */
static inline void mpiio_store_check(const struct mpiio_store *store)
{
    if (store->check != NULL)
        store->check(store->check_argument);
}

/* The file's own size. Thread-safe. */
int64_t mpiio_store_file_size(struct mpiio_store *store);

/*
 * Adds what one call did to the store's counters. A call counts for itself and adds once: the
 * counters are shared by all threads.
 */
void mpiio_store_count(struct mpiio_store *store, const struct mpiio_counters *done);

/*
 * pread(2) of all length bytes at displacement: fewer only where the file ends. Negative errno;
 * adds to the calls and bytes in done. Thread-safe as long as done is the caller's own.
 */
int64_t mpiio_store_pread(struct mpiio_store *store, void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done);

/*
 * pwrite(2) of all length bytes at displacement. Returns how many were written: fewer than length
 * where an error came after some; a negative errno where none was. Adds to the calls and bytes in
 * done. Thread-safe as long as done is the caller's own.
 */
int64_t mpiio_store_pwrite(struct mpiio_store *store, const void *buffer, size_t length,
                           int64_t displacement, struct mpiio_counters *done);

/*
 * fallocate(2), mode 0, of [displacement, displacement + length), length > 0: allocates what is
 * missing, and the file reaches at least the end. 0 or a negative errno. Thread-safe.
 */
int mpiio_store_allocate(struct mpiio_store *store, int64_t displacement, int64_t length);

/*
 * Makes the file reach end (> 0) at least, never shorter: what another writer stored there
 * meanwhile stays (but see store.c for filesystems without fallocate). 0 or a negative errno.
 * Thread-safe.
 */
int mpiio_store_grow(struct mpiio_store *store, int64_t end);

#endif
