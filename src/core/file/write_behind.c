/* SPDX-License-Identifier: MIT */
#include "write_behind.h"

#include <fcntl.h>

#include "core/base/thread.h"

/* Data written more thinly than this does not fill blocks soon. */
#define SPARSE 256

/* The tolerance for bytes that are lost by rounding down when they are divided over blocks. */
#define SLACK (MPIIO_WRITE_BEHIND_BLOCK / 64)

void mpiio_write_behind_init(struct mpiio_write_behind *behind, int fd,
                             struct mpiio_windows *windows)
{
    *behind = (struct mpiio_write_behind){.fd = fd, .windows = windows};
    pthread_mutex_init(&behind->lock, NULL);
    pthread_cond_init(&behind->wake, NULL);
}

void mpiio_write_behind_destroy(struct mpiio_write_behind *behind)
{
    pthread_mutex_lock(&behind->lock);
    behind->stopping = true;
    pthread_cond_signal(&behind->wake);
    pthread_mutex_unlock(&behind->lock);
    if (behind->running)
        pthread_join(behind->thread, NULL);
    pthread_cond_destroy(&behind->wake);
    pthread_mutex_destroy(&behind->lock);
}

static void write_block(struct mpiio_write_behind *behind, int64_t number)
{
    int64_t start = number * MPIIO_WRITE_BEHIND_BLOCK;

    mpiio_windows_detach_pages(behind->windows, start, start + MPIIO_WRITE_BEHIND_BLOCK);
    sync_file_range(behind->fd, start, MPIIO_WRITE_BEHIND_BLOCK, SYNC_FILE_RANGE_WRITE);
}

/* Runs in a thread of its own: starting write-back blocks while the device is busy. */
static void *write_back(void *argument)
{
    struct mpiio_write_behind *behind = argument;

    pthread_mutex_lock(&behind->lock);
    while (!behind->stopping) {
        int64_t number;

        if (behind->queued == 0) {
            pthread_cond_wait(&behind->wake, &behind->lock);
            continue;
        }
        number = behind->queue[--behind->queued];
        pthread_mutex_unlock(&behind->lock);
        write_block(behind, number);
        pthread_mutex_lock(&behind->lock);
    }
    pthread_mutex_unlock(&behind->lock);
    return NULL;
}

/* Queues a block for write-back. If the queue is full, leaves it to the kernel. With the lock
   held. */
static void enqueue_range(struct mpiio_write_behind *behind, int64_t number)
{
    assert(mpiio_is_held(&behind->lock));
    if (!behind->running)
        behind->running = mpiio_thread_start(&behind->thread, write_back, behind) == 0;
    if (behind->running && behind->queued < MPIIO_WRITE_BEHIND_COUNT) {
        behind->queue[behind->queued++] = number;
        pthread_cond_signal(&behind->wake);
    }
}

/* Returns the entry of a block, which replaces another one if it is new. With the lock held. */
static struct mpiio_filling *find_block(struct mpiio_write_behind *behind, int64_t number)
{
    struct mpiio_filling *filling = &behind->filling[number % MPIIO_WRITE_BEHIND_COUNT];

    if (filling->number != number)
        *filling = (struct mpiio_filling){.number = number};
    return filling;
}

static void fill_block(struct mpiio_write_behind *behind, int64_t number, int64_t bytes)
{
    struct mpiio_filling *filling;

    pthread_mutex_lock(&behind->lock);
    filling = find_block(behind, number);
    if (filling->bytes >= 0)
        filling->bytes += bytes;
    if (filling->bytes >= MPIIO_WRITE_BEHIND_BLOCK - SLACK) {
        filling->bytes = -1;
        enqueue_range(behind, number);
    }
    pthread_mutex_unlock(&behind->lock);
}

void mpiio_write_behind_wrote(struct mpiio_write_behind *behind, int64_t start, int64_t end,
                              int64_t bytes)
{
    if (behind->off || bytes <= 0 || (end - start) / SPARSE > bytes)
        return;
    while (start < end) {
        int64_t number = start / MPIIO_WRITE_BEHIND_BLOCK;
        int64_t room = (number + 1) * MPIIO_WRITE_BEHIND_BLOCK - start;
        int64_t part = end - start < room ? end - start : room;
        int64_t share = (int64_t)((double)bytes * ((double)part / (double)(end - start)));

        fill_block(behind, number, share);
        start += part;
        bytes -= share;
    }
}

void mpiio_write_behind_synced(struct mpiio_write_behind *behind)
{
    pthread_mutex_lock(&behind->lock);
    for (int i = 0; i < MPIIO_WRITE_BEHIND_COUNT; i++)
        if (behind->filling[i].bytes < 0)
            behind->filling[i].bytes = 0;
    pthread_mutex_unlock(&behind->lock);
}
