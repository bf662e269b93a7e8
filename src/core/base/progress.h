/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROGRESS_H
#define MPIIO_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The progress of a node's engine in an epoch, and the nodes that it waits for. The engine writes
 * it to the memory that it shares with its daemon (slots.h). The daemon reports it to node 0, which
 * derives the broken connections from it (stall.h).
 */

/* The maximum number of awaited nodes that are listed in each direction. There may be more. */
#define MPIIO_PROGRESS_NODES 8

/* The progress at a point in time. */
struct mpiio_progress {
    uint64_t count; /* changes whenever the engine makes progress */
    /* number of its exchanges with other engines; all nodes do them in the same order */
    uint64_t step;
    bool waiting; /* it waits for other engines only: it neither computes nor stores */
    uint32_t from_count, to_count;
    uint32_t from[MPIIO_PROGRESS_NODES]; /* nodes whose messages of this step are missing */
    uint32_t to[MPIIO_PROGRESS_NODES];   /* nodes that have not received messages of this step */
};

/* The shared memory, initially zeroed. One engine writes, one daemon reads. */
struct mpiio_progress_page {
    _Atomic uint64_t count, step;
    _Atomic uint32_t waiting, from_count, to_count;
    _Atomic uint32_t from[MPIIO_PROGRESS_NODES], to[MPIIO_PROGRESS_NODES];
};

/* Records that the engine has made progress and waits for no node. */
static inline void mpiio_progress_note(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->waiting, 0, memory_order_relaxed);
    atomic_store_explicit(&page->count,
                          atomic_load_explicit(&page->count, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Records that the engine begins its next exchange. */
static inline void mpiio_progress_step(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->step, atomic_load_explicit(&page->step, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    mpiio_progress_note(page);
}

/* Records that the engine waits for the nodes listed in what, without progress. */
void mpiio_progress_wait(struct mpiio_progress_page *page, const struct mpiio_progress *what);

/* Reads the progress. The fields are consistent only if the engine makes no progress meanwhile. */
void mpiio_progress_read(const struct mpiio_progress_page *page, struct mpiio_progress *progress);

#endif
