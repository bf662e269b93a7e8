/* SPDX-License-Identifier: MIT */
#include "assembled_private.h"

#include <errno.h>
#include "core/base/thread.h"

/* Syncing members, and other operations on all members in turn. */

/* The maximum number of members that are synced concurrently. Most of the time is spent waiting
   for a device or a server. */
#define THREADS 16

/* A call of mpiio_assembled_sync, for all of its threads. */
struct sync {
    struct mpiio_assembled *self;
    bool data_only;

    pthread_mutex_t lock;
    size_t word, words; /* marks before word were taken; guarded by lock */
    uint64_t bits;      /* remaining marks of the last word taken; guarded by lock */
    int error;          /* the first error; guarded by lock */
};

void mpiio_assembled_mark_written(struct mpiio_assembled *self, size_t member)
{
    atomic_fetch_or(&self->written[member / 64], (uint64_t)1 << member % 64);
}

/* Takes a marked member. Returns false if none is left. */
static bool take_marked(struct sync *sync, size_t *number)
{
    atomic_uint_fast64_t *written = sync->self->written;
    bool found;

    pthread_mutex_lock(&sync->lock);
    for (; sync->bits == 0 && sync->word < sync->words; sync->word++)
        if (atomic_load(&written[sync->word]) != 0)
            sync->bits = atomic_exchange(&written[sync->word], 0);
    found = sync->bits != 0;
    if (found)
        *number = 64 * (sync->word - 1) + (size_t)__builtin_ctzll(sync->bits);
    sync->bits &= sync->bits - 1;
    pthread_mutex_unlock(&sync->lock);
    return found;
}

static int sync_member(struct sync *sync, size_t number)
{
    struct mpiio_member *member;
    int error = mpiio_member_acquire(sync->self, number, &member);

    if (error != 0)
        return error;
    error = member->file->ops->sync(member->file, sync->data_only);
    mpiio_member_release(sync->self, member);
    return error;
}

static void *run_sync(void *argument)
{
    struct sync *sync = argument;
    size_t number;

    while (take_marked(sync, &number)) {
        int error = sync_member(sync, number);

        if (error == 0)
            continue;
        mpiio_assembled_mark_written(sync->self, number);
        pthread_mutex_lock(&sync->lock);
        sync->error = sync->error != 0 ? sync->error : error;
        pthread_mutex_unlock(&sync->lock);
    }
    return NULL;
}

/* Returns the number of marked members, at most THREADS. */
static int count_marked(const struct sync *sync)
{
    int count = 0;

    for (size_t word = 0; word < sync->words && count < THREADS; word++)
        count += __builtin_popcountll(atomic_load(&sync->self->written[word]));
    return count < THREADS ? count : THREADS;
}

int mpiio_assembled_sync(struct mpiio_file *file, bool data_only)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    struct sync sync = {.self = self,
                        .data_only = data_only,
                        .words = (size_t)(vs_members_count(self->members) + 63) / 64};
    pthread_t helpers[THREADS];
    int count = 0, wanted;

    pthread_mutex_init(&sync.lock, NULL);
    pthread_mutex_lock(&self->syncing);
    wanted = count_marked(&sync) - 1;
    while (count < wanted && mpiio_thread_start(&helpers[count], run_sync, &sync) == 0)
        count++;
    run_sync(&sync);
    while (count > 0)
        pthread_join(helpers[--count], NULL);
    pthread_mutex_unlock(&self->syncing);
    pthread_mutex_destroy(&sync.lock);
    return sync.error;
}

/*
 * Calls act for the file of each member that has bytes. Opens those that are not open yet. Ignores
 * members that have been removed or replaced: a later read of them reports the error.
 */
static int for_each_file(struct mpiio_file *file, int (*act)(struct mpiio_file *file))
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    struct mpiio_member *member;
    int error = 0;

    for (int64_t i = 0; i < vs_members_count(self->members) && error == 0; i++) {
        if (!mpiio_assembled_has(self, i))
            continue;
        error = mpiio_member_acquire(self, (size_t)i, &member);
        if (error == 0) {
            error = act(member->file);
            mpiio_member_release(self, member);
        }
        if (error == -ENOENT || error == -ESTALE)
            error = 0;
    }
    return error;
}

static int await_writers(struct mpiio_file *file)
{
    return file->ops->await_writers(file);
}

int mpiio_assembled_await_writers(struct mpiio_file *file)
{
    return for_each_file(file, await_writers);
}

int mpiio_assembled_refresh(struct mpiio_file *file)
{
    return for_each_file(file, mpiio_file_refresh);
}
