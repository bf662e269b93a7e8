/* SPDX-License-Identifier: MIT */
#include "settling.h"

#include <time.h>

#include "core/file/freshness.h"
#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/store_layers.h"
#include "flusher.h"
#include "fusefs/base/workers.h"

/*
 * The time that requests wait for the writers of one version, in ms: long enough for the thread to
 * be scheduled on a busy machine. A longer write costs an open no more than this, once.
 */
#define PATIENCE 100

/*
 * The time for which a version must have existed before it may settle, in ns, if a server sets the
 * times. By then the server's clock has ticked, so a later write leaves other times. Pages
 * invalidated after that write need not be invalidated again.
 */
#define STOOD ((MPIIO_FRESHNESS_AGE + 10) * INT64_C(1000000))

/* Returns a copy for comparing size and times alone: without changes, and marked as settled. */
static struct fs_version attributes(const struct fs_version *version)
{
    struct fs_version only = *version;

    only.changes = 0;
    only.settled = true;
    return only;
}

/*
 * Returns true if the times allow the version to settle. If another host sets them, this host's
 * clock cannot determine their age. Times without a fraction may come from a clock that counts
 * seconds.
 */
static bool may_settle(const struct fs_settling *self, const struct fs_version *version)
{
    enum mpiio_coherence coherence = mpiio_store_file(self->store)->coherence;

    if (coherence == MPIIO_COHERENCE_LOCAL)
        return version->settled;
    return coherence != MPIIO_COHERENCE_NONE &&
           (version->mtime.tv_nsec != 0 || version->ctime.tv_nsec != 0);
}

/* Returns true if the writers of version are known to have returned. Lock held. */
static bool has_passed(const struct fs_settling *self, const struct fs_version *version)
{
    assert(mpiio_is_held(&self->lock));
    return fs_version_same(&self->passed[0], version) || fs_version_same(&self->passed[1], version);
}

/*
 * Waits until the writes that the sampled version shows have ended, so that data read after this
 * call contains them. Returns 0 or a negative errno.
 */
static int await_writers(struct mpiio_file *file)
{
    const struct timespec stood = {.tv_nsec = STOOD};

    if (mpiio_file_is_coherent(file))
        return file->ops->await_writers(file);
    nanosleep(&stood, NULL);
    return mpiio_file_refresh(file);
}

static void carry_out(void *data, struct fs_task *task)
{
    struct fs_settling *self = data;
    int error = await_writers(mpiio_store_file(self->store));

    (void)task;
    pthread_mutex_lock(&self->lock);
    if (error == 0) {
        self->passed[self->next] = self->wanted;
        self->next = 1 - self->next;
    }
    self->waiting = false;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

void fs_settling_init(struct fs_settling *self, struct fs_flusher *flusher,
                      struct fs_workers *workers)
{
    *self = (struct fs_settling){.flusher = flusher, .workers = workers};
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    fs_fifo_init(&self->fifo, carry_out, self);
}

void fs_settling_free(struct fs_settling *self)
{
    fs_fifo_free(&self->fifo);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
}

/*
 * Starts the thread's wait for the writers of version. Lock held. Returns false if the thread has
 * ended.
 */
static bool begin_wait(struct fs_settling *self, const struct fs_version *version)
{
    assert(mpiio_is_held(&self->lock));
    self->wanted = *version;
    self->waiting = fs_fifo_put(&self->fifo, &self->task) == 0;
    self->give_up = mpiio_clock() + PATIENCE;
    return self->waiting;
}

/*
 * Waits until the thread has finished with version, or the time is up. Returns true if the writers
 * have returned.
 */
static bool await_thread(struct fs_settling *self, const struct fs_version *version)
{
    bool passed;

    /* The writer may need this mount, so another worker must be free to answer it. */
    fs_workers_pause(self->workers);
    pthread_mutex_lock(&self->lock);
    while (self->waiting && fs_version_same(&self->wanted, version) &&
           mpiio_wait_until(&self->changed, &self->lock, self->give_up))
        continue;
    passed = has_passed(self, version);
    pthread_mutex_unlock(&self->lock);
    fs_workers_resume(self->workers);
    return passed;
}

bool fs_settling_await(struct fs_settling *self, const struct fs_version *version, bool waits)
{
    const struct fs_version only = attributes(version);
    bool passed;

    if (!may_settle(self, version))
        return false;
    pthread_mutex_lock(&self->lock);
    passed = has_passed(self, &only);
    if (passed)
        waits = false;
    else if (self->waiting)
        waits = waits && fs_version_same(&self->wanted, &only);
    else
        waits = begin_wait(self, &only) && waits;
    pthread_mutex_unlock(&self->lock);
    return waits ? await_thread(self, &only) : passed;
}

int fs_settling_sample(struct fs_settling *self, struct fs_version *version, bool waits)
{
    struct timespec before;
    struct stat st;
    uint64_t epochs;
    int error;

    clock_gettime(CLOCK_REALTIME, &before);
    error = mpiio_store_stat(self->store, &st);
    if (error != 0)
        return error;
    *version = fs_version_of(&st, before);
    version->settled =
        fs_flusher_rests(self->flusher, &epochs) && fs_settling_await(self, version, waits);
    return 0;
}
