/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/thread.h"

/* Write-behind. */

/* Data written more thinly than this does not fill blocks soon. */
#define SPARSE 256

/* The tolerance for bytes that are lost by rounding down when they are divided over blocks. */
#define SLACK (MPIIO_WRITE_BEHIND_BLOCK / 64)

/* Ends the thread if there is one. */
static void end_write_behind(struct mpiio_write_behind *behind)
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

static void write_block(struct mpiio_file *file, int64_t number)
{
    int64_t start = number * MPIIO_WRITE_BEHIND_BLOCK;

    mpiio_windows_detach_pages(&file->windows, start, start + MPIIO_WRITE_BEHIND_BLOCK);
    sync_file_range(file->fd, start, MPIIO_WRITE_BEHIND_BLOCK, SYNC_FILE_RANGE_WRITE);
}

/* Runs in a thread of its own: starting write-back blocks while the device is busy. */
static void *write_back(void *argument)
{
    struct mpiio_file *file = argument;
    struct mpiio_write_behind *behind = &file->write_behind;

    pthread_mutex_lock(&behind->lock);
    while (!behind->stopping) {
        int64_t number;

        if (behind->queued == 0) {
            pthread_cond_wait(&behind->wake, &behind->lock);
            continue;
        }
        number = behind->queue[--behind->queued];
        pthread_mutex_unlock(&behind->lock);
        write_block(file, number);
        pthread_mutex_lock(&behind->lock);
    }
    pthread_mutex_unlock(&behind->lock);
    return NULL;
}

/* Queues a block for write-back. If the queue is full, leaves it to the kernel. With the lock
   held. */
static void enqueue_range(struct mpiio_file *file, int64_t number)
{
    struct mpiio_write_behind *behind = &file->write_behind;

    assert(mpiio_is_held(&behind->lock));
    if (!behind->running)
        behind->running = mpiio_thread_start(&behind->thread, write_back, file) == 0;
    if (behind->running && behind->queued < MPIIO_WRITE_BEHIND_COUNT) {
        behind->queue[behind->queued++] = number;
        pthread_cond_signal(&behind->wake);
    }
}

static void fill_block(struct mpiio_file *file, int64_t number, int64_t bytes)
{
    struct mpiio_write_behind *behind = &file->write_behind;
    struct mpiio_filling *filling = &behind->filling[number % MPIIO_WRITE_BEHIND_COUNT];

    pthread_mutex_lock(&behind->lock);
    if (filling->number != number)
        *filling = (struct mpiio_filling){.number = number}; /* replaces another block */
    if (filling->bytes >= 0)
        filling->bytes += bytes;
    if (filling->bytes >= MPIIO_WRITE_BEHIND_BLOCK - SLACK) {
        filling->bytes = -1;
        enqueue_range(file, number);
    }
    pthread_mutex_unlock(&behind->lock);
}

void mpiio_write_behind_wrote(struct mpiio_file *file, int64_t start, int64_t end, int64_t bytes)
{
    if (file->write_behind.off || bytes <= 0 || (end - start) / SPARSE > bytes)
        return;
    while (start < end) {
        int64_t number = start / MPIIO_WRITE_BEHIND_BLOCK;
        int64_t room = (number + 1) * MPIIO_WRITE_BEHIND_BLOCK - start;
        int64_t part = end - start < room ? end - start : room;
        int64_t share = (int64_t)((double)bytes * ((double)part / (double)(end - start)));

        fill_block(file, number, share);
        start += part;
        bytes -= share;
    }
}

void mpiio_write_behind_synced(struct mpiio_file *file)
{
    struct mpiio_write_behind *behind = &file->write_behind;

    pthread_mutex_lock(&behind->lock);
    for (int i = 0; i < MPIIO_WRITE_BEHIND_COUNT; i++)
        if (behind->filling[i].bytes < 0)
            behind->filling[i].bytes = 0;
    pthread_mutex_unlock(&behind->lock);
}

/* Files. */

/*
 * Refuses mappings unless all hosts share the pages: a mapping writes back whole pages, including
 * stale bytes that others have overwritten.
 */
static void apply_coherence(struct mpiio_file *file, enum mpiio_coherence coherence)
{
    file->coherence = coherence;
    atomic_store(&file->windows.refused, file->fd < 0 || coherence != MPIIO_COHERENCE_LOCAL);
}

void mpiio_file_set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence)
{
    file->chosen = coherence;
    if (coherence != MPIIO_COHERENCE_AUTO)
        apply_coherence(file, coherence);
}

void mpiio_file_init(struct mpiio_file *file, int fd, bool writable)
{
    mpiio_windows_init(&file->windows, fd, writable);
    file->fd = file->exact = fd;
    file->writable = writable;
    apply_coherence(file, file->filesystem->coherence);
    pthread_mutex_init(&file->write_behind.lock, NULL);
    pthread_cond_init(&file->write_behind.wake, NULL);
    pthread_mutex_init(&file->freshness.lock, NULL);
    pthread_mutex_init(&file->grow_lock, NULL);
}

void mpiio_file_close(struct mpiio_file *file)
{
    if (file != NULL) {
        pthread_mutex_destroy(&file->grow_lock);
        pthread_mutex_destroy(&file->freshness.lock);
        end_write_behind(&file->write_behind);
        mpiio_windows_destroy(&file->windows);
        file->ops->close(file);
    }
}

int mpiio_file_refresh(struct mpiio_file *file)
{
    return mpiio_file_is_coherent(file) ? 0 : file->ops->refresh(file);
}

int mpiio_file_publish(struct mpiio_file *file)
{
    return mpiio_file_is_coherent(file) ? 0 : file->ops->sync(file, true);
}

int64_t mpiio_file_pread_all(int fd, void *buffer, size_t length, int64_t displacement,
                             struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        ssize_t got = pread(fd, (char *)buffer + have, length - have, displacement + (int64_t)have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        done->store_reads++;
        if (got == 0)
            break;
        done->store_read_bytes += (uint64_t)got;
        have += (size_t)got;
    }
    return (int64_t)have;
}

bool mpiio_file_read_cached(struct mpiio_file *file, void *buffer, size_t length,
                            int64_t displacement, struct mpiio_counters *done)
{
    struct iovec part = {.iov_base = buffer, .iov_len = length};

    if (preadv2(file->fd, &part, 1, displacement, RWF_NOWAIT) != (ssize_t)length)
        return false;
    done->store_reads++;
    done->store_read_bytes += length;
    return true;
}

int64_t mpiio_file_pwrite(struct mpiio_file *file, const void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        ssize_t put;

        mpiio_file_check(file);
        put = pwrite(file->fd, (const char *)buffer + have, length - have,
                     displacement + (int64_t)have);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            /* Zero bytes without an error is not a valid result of writing more than 0. */
            int error = put < 0 ? -errno : -EIO;

            return have > 0 ? (int64_t)have : error;
        }
        done->store_writes++;
        done->store_write_bytes += (uint64_t)put;
        have += (size_t)put;
    }
    return (int64_t)have;
}

void mpiio_file_count(struct mpiio_file *file, const struct mpiio_counters *done)
{
    uint64_t values[MPIIO_COUNTERS];

    memcpy(values, done, sizeof(values));
    for (size_t i = 0; i < MPIIO_COUNTERS; i++)
        if (values[i] != 0)
            atomic_fetch_add_explicit(&file->counters[i], values[i], memory_order_relaxed);
}
