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
 * mpiio_pool_meet). The home reads the whole block from storage once, for all nodes, keeps it while
 * there is room, and answers with the packed bytes that a node asks for. Nodes use TCP connections
 * that are made when they are first needed (net/lines.h), not MPI: TCP reports at once that a
 * process at the other end has died, and a waiting thread sleeps in the kernel.
 *
 * The pool is never needed: whatever it cannot do, be it that a home is dead, slow, or sees another
 * version of the file, the caller does by itself. Every wait is bounded, but for a read of
 * the file itself.
 *
 * Short pieces here and there are read by who asks for them. What is dense, or goes on where the
 * last request of the same map ended, is read through the pool; for the latter homes read ahead.
 */
struct mpiio_pool;

struct mpiio_pool_options {
    struct mpiio_pool_file file;
    int64_t size;                /* of the memory to use, in bytes; two blocks at least */
    const struct mpiio_net *net; /* by which it asks other nodes; borrowed; NULL: there are none */
    int timeout; /* ms for which another node may not answer, or take what it is sent */
    /* Called with true by who begins to wait for other nodes, and with false behind; may be NULL.
     */
    void (*wait)(void *data, bool waits);
    void *data; /* its */
};

/* The numbers so far; bytes are those of answers, packed. */
struct mpiio_pool_stats {
    int64_t size, held;      /* bytes of memory: at most, and now */
    uint64_t hits;           /* requests answered by a block that was there, for any node */
    uint64_t blocks;         /* that were read from storage */
    uint64_t ahead;          /* of those, before anybody asked */
    uint64_t storage_bytes;  /* in those */
    uint64_t sent_bytes;     /* to other nodes */
    uint64_t received_bytes; /* from them */
    uint64_t served;         /* reads of this node that were answered by the pool */
    uint64_t passed;         /* and those that it was asked for and were not */
};

/* Makes an empty pool, without a thread. 0 or a negative errno. */
int mpiio_pool_new(const struct mpiio_pool_options *options, struct mpiio_pool **pool);

/*
 * Sets the homes of blocks, and from them the block size. A block's home is the node that stores
 * it in a flush, so that it reads what was just stored from its page cache. If the stripes give
 * fewer homes than nodes, or more than 16 MiB in a row to one home, the pool assigns the stretches
 * to all nodes in turn instead. Call at most once, before the first read; homes is copied. Returns
 * 0 or -ENOMEM.
 */
int mpiio_pool_meet(struct mpiio_pool *pool, const struct mpiio_homes *homes);

/* Sets the members of calls that serve connections of the pool (net/listener.h). The pool must
   outlive the listener's threads. */
void mpiio_pool_answer(struct mpiio_pool *pool, struct mpiio_listener_calls *calls);

/* Starts its threads, after any fork. 0 or a negative errno. */
int mpiio_pool_start(struct mpiio_pool *pool);

/* Stops asking other nodes: reads of blocks with other homes are left to the caller. Returns at
   once. Thread-safe; may be repeated. */
void mpiio_pool_alone(struct mpiio_pool *pool);

/* Like the function of struct mpiio_reader (core/file/source.h). Thread-safe. */
bool mpiio_pool_read(struct mpiio_pool *pool, const struct mpiio_transfer *transfer);

/* Thread-safe. */
void mpiio_pool_get_stats(struct mpiio_pool *pool, struct mpiio_pool_stats *stats);

/* Ends the threads and frees; nobody may be in a read. NULL is allowed. */
void mpiio_pool_free(struct mpiio_pool *pool);

#endif
