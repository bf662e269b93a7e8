/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_POOL_H
#define MPIIO_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache/homes.h"
#include "core/file/source.h"
#include "memory.h"
#include "net/net.h"

/*
 * The pool: the file in the memory of all nodes. Each block of the file has a home (see
 * mpiio_pool_meet). The home reads the whole block from storage once, for all nodes, and keeps it
 * while there is room. It answers a request with the packed bytes that the requesting node needs.
 * Nodes use TCP connections that are made when they are first needed (net/connections.h), not MPI:
 * TCP reports at once that the process at the other end has died, and a waiting thread sleeps in
 * the kernel.
 *
 * The pool is optional. If it cannot serve a read, the caller reads the file: for example if a home
 * is dead or slow, or sees another version of the file. Every wait is bounded, except for reads of
 * the file itself.
 *
 * The requesting node reads short, scattered pieces itself. Dense requests, and requests that
 * continue the previous one of the same map, go through the pool. For the latter, homes read ahead.
 */
struct mpiio_pool;

struct mpiio_pool_options {
    struct mpiio_pool_file file;
    int64_t size; /* bytes of memory to use; at least two blocks */
    /* the connections to other nodes; borrowed; NULL: there are none */
    const struct mpiio_net *net;
    int timeout; /* ms; the maximum time without progress of another node */
    /* Called with true before a thread waits for other nodes, and with false afterwards. May be
       NULL. */
    void (*wait)(void *data, bool waits);
    void *data; /* the argument of wait */
};

/* Counters since the start. Bytes of answers are packed bytes. */
struct mpiio_pool_stats {
    int64_t size, held;      /* bytes of memory: maximum, and in use */
    uint64_t hits;           /* requests, of any node, for a block that was in memory */
    uint64_t blocks;         /* blocks read from storage */
    uint64_t ahead;          /* the part of blocks that was read ahead */
    uint64_t storage_bytes;  /* bytes read from storage */
    uint64_t sent_bytes;     /* bytes of answers to other nodes */
    uint64_t received_bytes; /* bytes of answers from other nodes */
    uint64_t served;         /* reads of this node that the pool has served */
    uint64_t passed;         /* reads of this node that the pool has left to the caller */
};

/* Creates an empty pool, without threads. Returns 0 or a negative errno. */
int mpiio_pool_new(const struct mpiio_pool_options *options, struct mpiio_pool **pool);

/*
 * Sets the homes of blocks, and from them the block size. The home of a block is the node that
 * stores it in a flush. So the home finds recently stored data in its page cache. If the stripes
 * give fewer homes than nodes, or more than 16 MiB in a row to one home, the pool assigns the
 * stretches to all nodes in turn instead. Call at most once, before the first read. homes is
 * copied. Returns 0 or -ENOMEM.
 */
int mpiio_pool_meet(struct mpiio_pool *pool, const struct mpiio_homes *homes);

/* Sets the members of calls that serve connections of the pool (net/net.h). The pool must
   outlive the listener's threads. */
void mpiio_pool_answer(struct mpiio_pool *pool, struct mpiio_listener_calls *calls);

/* Starts the threads. Call after any fork. Returns 0 or a negative errno. */
int mpiio_pool_start(struct mpiio_pool *pool);

/* Stops requests to other nodes: the caller must read blocks with other homes itself. Returns at
   once. Thread-safe; may be called repeatedly. */
void mpiio_pool_alone(struct mpiio_pool *pool);

/* Like the function of struct mpiio_reader (core/file/source.h). Thread-safe. */
bool mpiio_pool_read(struct mpiio_pool *pool, const struct mpiio_transfer *transfer);

/* Thread-safe. */
void mpiio_pool_get_stats(struct mpiio_pool *pool, struct mpiio_pool_stats *stats);

/* Stops the threads and frees. No read may be in progress. NULL is allowed. */
void mpiio_pool_free(struct mpiio_pool *pool);

#endif
