/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_PROGRESS_H
#define MPIIO_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How far a node's engine has come in an epoch, and whom it waits for. The engine notes it in
 * memory that it shares with its daemon (slots.h); the daemon reads it there, and tells node 0,
 * which finds from it who does not reach whom (stall.h).
 */

/* Nodes that are named as waited for, in each direction. There may be more. */
#define MPIIO_PROGRESS_NODES 8

/* As it was seen at some moment. */
struct mpiio_progress {
    uint64_t count; /* changes whenever the engine has come further */
    uint64_t step;  /* of its exchanges with other engines, which have the same order on all */
    bool waiting;   /* for other engines and nothing else: it does not compute, nor store */
    uint32_t from_count, to_count;
    uint32_t from[MPIIO_PROGRESS_NODES]; /* what these have to send in this step is missing */
    uint32_t to[MPIIO_PROGRESS_NODES];   /* and these have not taken what they are sent */
};

/* The memory that is shared; all zeros to begin with. One engine writes, one daemon reads. */
struct mpiio_progress_page {
    _Atomic uint64_t count, step;
    _Atomic uint32_t waiting, from_count, to_count;
    _Atomic uint32_t from[MPIIO_PROGRESS_NODES], to[MPIIO_PROGRESS_NODES];
};

/* The engine has come further; waits for nobody. */
static inline void mpiio_progress_note(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->waiting, 0, memory_order_relaxed);
    atomic_store_explicit(&page->count,
                          atomic_load_explicit(&page->count, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* The engine begins its next exchange with others. */
static inline void mpiio_progress_step(struct mpiio_progress_page *page)
{
    atomic_store_explicit(&page->step, atomic_load_explicit(&page->step, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    mpiio_progress_note(page);
}

/* It waits, for those of the lists in what. It has not come further. */
void mpiio_progress_wait(struct mpiio_progress_page *page, const struct mpiio_progress *what);

/* What the daemon sees. While the engine goes on, fields may not fit together; else they do. */
void mpiio_progress_read(const struct mpiio_progress_page *page, struct mpiio_progress *progress);

#endif
