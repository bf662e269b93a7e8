/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_MEMORY_H
#define MPIIO_POOL_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/lru.h"

/* The blocks of the file that a node keeps in memory for the pool. A block belongs to one
   version of the file. The first caller that requests a block reads it, and others wait for
   that. If there is no room, the least recently used block is dropped. */

/* The maximum and minimum size of a block in bytes. It is a power of two. A block has one home. */
#define MPIIO_POOL_BLOCK     ((int64_t)4 << 20)
#define MPIIO_POOL_BLOCK_MIN ((int64_t)1 << 20)

/* Identifies a state of the file on all nodes. */
struct mpiio_pool_version {
    int64_t size;
    int64_t times[4]; /* seconds and nanoseconds of mtime and ctime */
    uint64_t epoch;   /* number of flushes of all nodes that have finished */
};

/* Access to the file. Thread-safe. */
struct mpiio_pool_file {
    /*
     * Sets *version to the current version. seen is the version that another node has reported, or
     * NULL: if it is newer, this node must refresh its attributes. Returns false if the file must
     * not be cached because it is being changed: another change might leave the same version.
     */
    bool (*look)(void *data, const struct mpiio_pool_version *seen,
                 struct mpiio_pool_version *version);
    /* Reads length bytes, like pread(2). Returns the number of bytes read, or a negative errno. */
    int64_t (*read)(void *data, void *buffer, size_t length, int64_t displacement);
    void *data;
};

enum mpiio_pool_state { MPIIO_POOL_FILLING, MPIIO_POOL_READY, MPIIO_POOL_FAILED };

struct mpiio_pool_block {
    /* its key is the number of the block, which begins at number * size; guarded by the memory's
       lock, as all members except the next three */
    struct mpiio_lru_entry entry;
    char *bytes;    /* read-only for holders of a reference */
    size_t size;    /* bytes mapped: the size of a whole block */
    int64_t length; /* shorter than a whole block at the end of the file */
    struct mpiio_pool_version version;
    enum mpiio_pool_state state;
    bool listed;                   /* can be found; false: freed with the last reference */
    struct mpiio_pool_block *next; /* in the list of unused blocks */
};

struct mpiio_pool_memory {
    struct mpiio_pool_file file;
    int64_t size; /* size of a whole block in bytes; set before the first one is requested */
    int64_t most; /* maximum number of blocks; likewise */

    pthread_mutex_t lock;
    pthread_cond_t changed;  /* a block was read, or reading it has failed */
    int64_t used;            /* mpiio_clock: time of the last request for a block */
    int64_t count;           /* number of blocks that have memory */
    struct mpiio_lru listed; /* by number */
    struct mpiio_pool_block *unused;
    uint64_t hits, blocks, storage_bytes;
};

/* Initializes a memory of up to bytes bytes, with blocks of MPIIO_POOL_BLOCK. */
void mpiio_pool_memory_init(struct mpiio_pool_memory *memory, const struct mpiio_pool_file *file,
                            int64_t bytes);

/* Frees. No block may be referenced. */
void mpiio_pool_memory_destroy(struct mpiio_pool_memory *memory);

/* The following functions are thread-safe. */

/*
 * Returns a reference to a block of the file's version, which the caller has just obtained. Later
 * changes of the file may or may not be visible. Waits while the block is read. Sets *fresh to true
 * if this call has read it. Returns NULL if there is no room, or if the block cannot be read as a
 * whole. Release with mpiio_pool_memory_put.
 */
struct mpiio_pool_block *mpiio_pool_memory_get(struct mpiio_pool_memory *memory, int64_t number,
                                               const struct mpiio_pool_version *version,
                                               bool *fresh);
void mpiio_pool_memory_put(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block);

/* Frees the memory of unused blocks if no block was requested in the last idle ms. */
void mpiio_pool_memory_trim(struct mpiio_pool_memory *memory, int64_t idle);

/* Returns true if a block of that version is in memory or being read. */
bool mpiio_pool_memory_has(struct mpiio_pool_memory *memory, int64_t number,
                           const struct mpiio_pool_version *version);

bool mpiio_pool_version_same(const struct mpiio_pool_version *a,
                             const struct mpiio_pool_version *b);

#endif
