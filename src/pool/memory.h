/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_MEMORY_H
#define MPIIO_POOL_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/lru.h"

/* The blocks of the file that a node keeps in memory for the pool. A block belongs to one version
   of the file. The first caller that wants a block has it read, and others wait for that. If there
   is no room, the least recently used block is dropped. */

/* Bytes of a block, at most and at least: a power of two. All of a block has one home. */
#define MPIIO_POOL_BLOCK     ((int64_t)4 << 20)
#define MPIIO_POOL_BLOCK_MIN ((int64_t)1 << 20)

/* Distinguishes two states of the file, on all nodes. */
struct mpiio_pool_version {
    int64_t size;
    int64_t times[4]; /* seconds and nanoseconds of its modification and its change */
    uint64_t epoch;   /* flushes of all nodes that are over */
};

/* The file, for its owner to look at and to read. Thread-safe. */
struct mpiio_pool_file {
    /*
     * The version now; seen is that of another node, NULL: of none, which may show that this one
     * has to look again. False where the file is not to be kept, as it is being changed: then the
     * same version could be seen again after another change.
     */
    bool (*look)(void *data, const struct mpiio_pool_version *seen,
                 struct mpiio_pool_version *version);
    /* Reads all length bytes, like pread(2). Returns how many there are, or a negative errno. */
    int64_t (*read)(void *data, void *buffer, size_t length, int64_t displacement);
    void *data;
};

enum mpiio_pool_state { MPIIO_POOL_FILLING, MPIIO_POOL_READY, MPIIO_POOL_FAILED };

struct mpiio_pool_block {
    struct mpiio_lru_entry entry; /* lock: the memory's, also for all members but the next four */
    char *bytes;                  /* read-only for holders of a reference */
    size_t size;                  /* bytes mapped: a whole block */
    int64_t number;               /* the block begins at number * size */
    int64_t length;               /* fewer bytes than a whole block at the file's end */
    struct mpiio_pool_version version;
    enum mpiio_pool_state state;
    bool listed;                   /* can be found; false: freed with its last reference */
    struct mpiio_pool_block *next; /* among the unused ones */
};

struct mpiio_pool_memory {
    struct mpiio_pool_file file;
    int64_t size; /* bytes of a whole block */
    int64_t most; /* blocks */

    pthread_mutex_t lock;
    pthread_cond_t changed;  /* a block has been read, or could not be */
    int64_t used;            /* time of the last request for a block, by mpiio_clock */
    int64_t count;           /* blocks that have memory */
    struct mpiio_lru listed; /* by number */
    struct mpiio_pool_block *unused;
    uint64_t hits, blocks, storage_bytes;
};

/* Initialises a memory of at most bytes bytes, with blocks of MPIIO_POOL_BLOCK. */
void mpiio_pool_memory_init(struct mpiio_pool_memory *memory, const struct mpiio_pool_file *file,
                            int64_t bytes);

/* Sets the block size in bytes, a divisor of MPIIO_POOL_BLOCK. Call before any block is requested.
 */
void mpiio_pool_memory_set_size(struct mpiio_pool_memory *memory, int64_t size);

/* No block may be referenced. */
void mpiio_pool_memory_destroy(struct mpiio_pool_memory *memory);

/* The rest is thread-safe. */

/*
 * A reference to a block of that version, which was looked at just now: what was changed since
 * then may be in it or not. Waits while it is read; *fresh: by this call. NULL where there is no
 * room, or the file did not give what the version promises.
 */
struct mpiio_pool_block *mpiio_pool_memory_get(struct mpiio_pool_memory *memory, int64_t number,
                                               const struct mpiio_pool_version *version,
                                               bool *fresh);
void mpiio_pool_memory_put(struct mpiio_pool_memory *memory, struct mpiio_pool_block *block);

/* Gives back the memory of blocks, if none was asked for in the last idle ms. */
void mpiio_pool_memory_trim(struct mpiio_pool_memory *memory, int64_t idle);

/* A block of that version is there, or is being read. */
bool mpiio_pool_memory_has(struct mpiio_pool_memory *memory, int64_t number,
                           const struct mpiio_pool_version *version);

bool mpiio_pool_version_same(const struct mpiio_pool_version *a,
                             const struct mpiio_pool_version *b);

#endif
