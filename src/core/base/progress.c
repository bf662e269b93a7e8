/* SPDX-License-Identifier: MIT */
#include "progress.h"

static uint32_t write_list(_Atomic uint32_t *to, const uint32_t *list, uint32_t count)
{
    count = count < MPIIO_PROGRESS_NODES ? count : MPIIO_PROGRESS_NODES;
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&to[i], list[i], memory_order_relaxed);
    return count;
}

static uint32_t read_list(uint32_t *to, const _Atomic uint32_t *list, uint32_t count)
{
    count = count < MPIIO_PROGRESS_NODES ? count : MPIIO_PROGRESS_NODES;
    for (uint32_t i = 0; i < count; i++)
        to[i] = atomic_load_explicit(&list[i], memory_order_relaxed);
    return count;
}

void mpiio_progress_wait(struct mpiio_progress_page *page, const struct mpiio_progress *what)
{
    atomic_store(&page->from_count, write_list(page->from, what->from, what->from_count));
    atomic_store(&page->to_count, write_list(page->to, what->to, what->to_count));
    atomic_store_explicit(&page->waiting, 1, memory_order_release);
}

void mpiio_progress_read(const struct mpiio_progress_page *page, struct mpiio_progress *progress)
{
    *progress = (struct mpiio_progress){
        .waiting = atomic_load_explicit(&page->waiting, memory_order_acquire) != 0,
        .count = atomic_load_explicit(&page->count, memory_order_acquire),
        .step = atomic_load_explicit(&page->step, memory_order_relaxed)};
    if (!progress->waiting)
        return;
    progress->from_count = read_list(progress->from, page->from, atomic_load(&page->from_count));
    progress->to_count = read_list(progress->to, page->to, atomic_load(&page->to_count));
}
