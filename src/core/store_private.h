/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_STORE_PRIVATE_H
#define MPIIO_STORE_PRIVATE_H

#include "core/file/file.h"
#include "core/file/exclusion.h"
#include "store.h"

/* The internals of a store, for the sources of slices: the layers of the data path (source.h). */
struct mpiio_store {
    struct mpiio_file *file;          /* owned */
    struct mpiio_source *_Atomic top; /* uppermost layer: the file, or a borrowed cache over it */
    _Atomic int64_t last_size;        /* the last result of mpiio_store_size */
    /* held during an append, from getting the size until the data is written */
    pthread_mutex_t append_lock;
    /* Held shared while whole elements are stored that are converted, not only reordered;
       exclusively while one is read, changed and written back (slice_private.h). */
    pthread_rwlock_t elements_lock;
    struct mpiio_file_locks locks; /* of parts of the file; acquired before elements_lock */
};

/* Makes a store that owns file, or closes file on failure. Returns 0 or a negative errno. */
int mpiio_store_of_file(struct mpiio_file *file, struct mpiio_store **store);

/* Returns its last result without a system call, or 0 if there is none yet. Thread-safe. */
static inline int64_t mpiio_store_last_size(const struct mpiio_store *store)
{
    return atomic_load_explicit(&store->last_size, memory_order_relaxed);
}

/* The operations of the uppermost layer. Thread-safe. */
static inline void mpiio_store_read(struct mpiio_store *store, struct mpiio_transfer *transfer)
{
    struct mpiio_source *top = store->top;

    top->ops->read_runs(top, transfer);
}

static inline void mpiio_store_write(struct mpiio_store *store, struct mpiio_transfer *transfer)
{
    struct mpiio_source *top = store->top;

    top->ops->write_runs(top, transfer);
}

static inline int mpiio_store_await(struct mpiio_store *store, int error)
{
    struct mpiio_source *top = store->top;

    return top->ops->await != NULL ? top->ops->await(top, error) : error;
}

#endif
