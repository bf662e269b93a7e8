/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROGRESS_H
#define MPIIO_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The progress of a node's engine in an epoch, and the nodes that it waits for. The engine writes
 * it to memory that it shares with its daemon (slots.h). The daemon reads it there and reports it
 * to node 0, which derives the connections that are broken (stall.h).
 */

/* The number of awaited nodes that are listed in each direction. There may be more. */
#define MPIIO_PROGRESS_NODES 8

/* The progress at one moment. */
struct mpiio_progress {
    uint64_t count; /* changes whenever the engine makes progress */
    uint64_t step;  /* number of its exchanges with other engines, in the same order on all nodes */
    bool waiting;   /* it only waits for other engines: it neither computes nor stores */
    uint32_t from_count, to_count;
    uint32_t from[MPIIO_PROGRESS_NODES]; /* nodes whose messages of this step are missing */
    uint32_t to[MPIIO_PROGRESS_NODES];   /* nodes that have not taken messages of this step */
};

/* The shared memory, initially zeroed. One engine writes, one daemon reads. */
struct mpiio_progress_page {
    _Atomic uint64_t count, step;
    _Atomic uint32_t waiting, from_count, to_count;
    _Atomic uint32_t from[MPIIO_PROGRESS_NODES], to[MPIIO_PROGRESS_NODES];
};

/* Notes that the engine has made progress and waits for nobody. */
static inline void mpiio_progress_note(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->waiting, 0, memory_order_relaxed);
    atomic_store_explicit(&page->count,
                          atomic_load_explicit(&page->count, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Notes that the engine begins its next exchange with others. */
static inline void mpiio_progress_step(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->step, atomic_load_explicit(&page->step, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    mpiio_progress_note(page);
}

/* Notes that the engine waits for the nodes listed in what, without progress. */
void mpiio_progress_wait(struct mpiio_progress_page *page, const struct mpiio_progress *what);

/* Reads the progress. Fields are consistent only if the engine makes no progress meanwhile. */
void mpiio_progress_read(const struct mpiio_progress_page *page, struct mpiio_progress *progress);

#endif
