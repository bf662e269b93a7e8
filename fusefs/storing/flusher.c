/* SPDX-License-Identifier: MIT */
#include "flusher.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "core/cache/cache.h"
#include "core/base/clock.h"
#include "core/base/probe.h"
#include "nodes.h"
#include "fusefs/session.h"

#define SECOND_NS 1000000000

int fs_flusher_init(struct fs_flusher *flusher, struct fs_session *session)
{
    *flusher = (struct fs_flusher){.session = session, .end = &flusher->first};
    flusher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (flusher->wake < 0)
        return -errno;
    pthread_mutex_init(&flusher->lock, NULL);
    pthread_cond_init(&flusher->done, NULL);
    flusher->alone = !fs_cluster_is_on(&session->cluster);
    return 0;
}

void fs_flusher_free(struct fs_flusher *flusher)
{
    if (!fs_flusher_is_on(flusher))
        return;
    close(flusher->wake);
    flusher->wake = -1;
    pthread_cond_destroy(&flusher->done);
    pthread_mutex_destroy(&flusher->lock);
}

static void wake(struct fs_flusher *flusher)
{
    const uint64_t one = 1;

    /* The write fails only if the counter is full, and then the thread is awake. */
    if (write(flusher->wake, &one, sizeof(one)) < 0)
        return;
}

void fs_flusher_wrote(struct fs_flusher *flusher)
{
    struct timespec now;

    if (!fs_flusher_is_on(flusher))
        return;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    atomic_store_explicit(&flusher->written_at,
                          (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec,
                          memory_order_relaxed);
    atomic_fetch_add(&flusher->writes, 1);
    atomic_fetch_add(&flusher->changes, 1);
    if (flusher->session->cache != NULL && !atomic_load(&flusher->armed) &&
        !atomic_exchange(&flusher->armed, true))
        wake(flusher);
}

void fs_flusher_grew(struct fs_flusher *flusher)
{
    atomic_store(&flusher->own, true);
    atomic_fetch_add(&flusher->writes, 1);
    atomic_fetch_add(&flusher->changes, 1);
}

void fs_flusher_times(struct fs_flusher *flusher, struct stat *file)
{
    struct timespec last;
    uint64_t ns;

    if (!fs_flusher_is_on(flusher) || flusher->session->cache == NULL ||
        fs_flusher_is_clean(flusher, false))
        return;
    ns = atomic_load(&flusher->written_at);
    last = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
    if (last.tv_sec > file->st_mtim.tv_sec ||
        (last.tv_sec == file->st_mtim.tv_sec && last.tv_nsec > file->st_mtim.tv_nsec))
        file->st_mtim = file->st_ctim = last;
}

bool fs_flusher_is_clean(struct fs_flusher *flusher, bool sync)
{
    uint64_t writes = atomic_load(&flusher->writes);

    return MPIIO_LOCKED(&flusher->lock, (sync ? flusher->synced : flusher->flushed) >= writes);
}

uint64_t fs_flusher_epochs(struct fs_flusher *flusher)
{
    return fs_flusher_is_on(flusher) ? MPIIO_LOCKED(&flusher->lock, flusher->epochs) : 0;
}

bool fs_flusher_rests(struct fs_flusher *flusher, uint64_t *epochs)
{
    bool rests;

    *epochs = 0;
    if (!fs_flusher_is_on(flusher))
        return true;
    pthread_mutex_lock(&flusher->lock);
    *epochs = flusher->epochs;
    rests = flusher->alone || flusher->begun.number == flusher->epochs;
    pthread_mutex_unlock(&flusher->lock);
    return rests;
}

/*
 * Asks the other nodes for an epoch. Sets *after to the last epoch that is too early. If no more
 * epochs are possible, sets UINT64_MAX: waiters are answered when this node has stored by itself.
 * The lock is held, so that an epoch cannot end before the caller has added its waiter.
 */
static void ask_flush(struct fs_flusher *flusher, bool sync, uint64_t *after)
{
    struct fs_cluster *cluster = &flusher->session->cluster;

    assert(mpiio_is_held(&flusher->lock));
    *after = UINT64_MAX;
    if (!flusher->alone && mpiio_peers_request_flush(cluster->peers, sync, after) != 0)
        *after = UINT64_MAX;
}

int fs_flusher_hand_over(struct fs_flusher *flusher, struct fs_waiter *waiter)
{
    int error = 0;

    waiter->next = NULL;
    pthread_mutex_lock(&flusher->lock);
    if (flusher->closed) {
        error = -ENOTCONN;
    } else {
        ask_flush(flusher, waiter->sync, &waiter->after);
        *flusher->end = waiter;
        flusher->end = &waiter->next;
        flusher->pending++;
    }
    pthread_mutex_unlock(&flusher->lock);
    if (error == 0)
        wake(flusher);
    return error;
}

void fs_flusher_finish(struct fs_flusher *flusher)
{
    pthread_mutex_lock(&flusher->lock);
    flusher->closed = true;
    while (flusher->pending > 0)
        pthread_cond_wait(&flusher->done, &flusher->lock);
    pthread_mutex_unlock(&flusher->lock);
}

void fs_flusher_full(void *data)
{
    struct fs_flusher *flusher = data;

    pthread_mutex_lock(&flusher->lock);
    flusher->asked = true;
    pthread_mutex_unlock(&flusher->lock);
    wake(flusher);
}

void fs_flusher_on_epoch(void *session, uint64_t epoch, bool sync)
{
    struct fs_flusher *flusher = &((struct fs_session *)session)->flusher;

    pthread_mutex_lock(&flusher->lock);
    flusher->begun = (struct fs_epoch){.due = true, .number = epoch, .sync = sync};
    MPIIO_PROBE(epoch_begin, epoch, sync);
    pthread_mutex_unlock(&flusher->lock);
    wake(flusher);
}

void fs_flusher_on_finished(void *session, uint64_t epoch, bool sync, int error)
{
    struct fs_flusher *flusher = &((struct fs_session *)session)->flusher;

    pthread_mutex_lock(&flusher->lock);
    flusher->over = (struct fs_epoch){.due = true, .number = epoch, .sync = sync, .error = error};
    MPIIO_PROBE(epoch_end, epoch, error);
    pthread_mutex_unlock(&flusher->lock);
    wake(flusher);
}

void fs_flusher_go_alone(struct fs_flusher *flusher)
{
    pthread_mutex_lock(&flusher->lock);
    flusher->alone = true;
    flusher->asked = true;
    pthread_mutex_unlock(&flusher->lock);
    wake(flusher);
}

/* Waiting for a flush. */

struct flush_wait {
    struct fs_waiter waiter; /* must be the first member */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    int error;
};

static void tell_wait(struct fs_session *session, struct fs_waiter *waiter,
                      const struct fs_flushed *flushed)
{
    struct flush_wait *wait = (struct flush_wait *)waiter;

    (void)session;
    pthread_mutex_lock(&wait->lock);
    wait->error = flushed->blocks != 0 ? flushed->blocks : flushed->error;
    wait->over = true;
    pthread_cond_signal(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
}

int fs_flusher_wait(struct fs_flusher *flusher, bool sync)
{
    struct flush_wait wait = {.waiter = {.done = tell_wait, .sync = sync},
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    int error = fs_flusher_hand_over(flusher, &wait.waiter);

    if (error != 0)
        return error;
    pthread_mutex_lock(&wait.lock);
    while (!wait.over)
        pthread_cond_wait(&wait.changed, &wait.lock);
    pthread_mutex_unlock(&wait.lock);
    return wait.error;
}

/* The flusher's thread. */

/*
 * Removes and returns the waiters that are satisfied by an epoch, with or without sync. Lock held.
 */
static struct fs_waiter *take_waiters(struct fs_flusher *flusher, uint64_t epoch, bool sync)
{
    struct fs_waiter *taken = NULL, **end = &taken, **link = &flusher->first;

    assert(mpiio_is_held(&flusher->lock));
    while (*link != NULL) {
        struct fs_waiter *waiter = *link;

        if (waiter->after >= epoch || (waiter->sync && !sync)) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->next = NULL;
        *end = waiter;
        end = &waiter->next;
    }
    flusher->end = link;
    return taken;
}

static void answer(struct fs_flusher *flusher, struct fs_waiter *waiter,
                   const struct fs_flushed *flushed)
{
    size_t count = 0;

    for (; waiter != NULL; count++) {
        struct fs_waiter *next = waiter->next;

        waiter->done(flusher->session, waiter, flushed);
        waiter = next;
    }
    pthread_mutex_lock(&flusher->lock);
    assert(flusher->pending >= count);
    flusher->pending -= count;
    if (flusher->pending == 0)
        pthread_cond_broadcast(&flusher->done);
    pthread_mutex_unlock(&flusher->lock);
}

/*
 * Ends a flush that all nodes have finished. Answers the list of waiters, or if that is NULL those
 * that the epoch satisfies. All data that was taken for it is stored unless there is an error. A
 * node's own part of an epoch may end while homes still store its blocks, so that end proves
 * nothing (src/DESIGN.md, "The end of an epoch").
 */
static void conclude(struct fs_flusher *flusher, const struct fs_epoch *epoch,
                     struct fs_waiter *waiter)
{
    const struct fs_flushed flushed = {.error = epoch->error, .blocks = flusher->stored.blocks};
    bool all = flushed.blocks == 0 && !flusher->stored.left;

    /*
     * Count the change before this node rests, so that no version from before the stores matches
     * one from after them.
     */
    atomic_fetch_add(&flusher->changes, 1);
    pthread_mutex_lock(&flusher->lock);
    assert(flusher->taken >= flusher->flushed && flusher->flushed >= flusher->synced);
    if (all)
        flusher->flushed = flusher->taken;
    if (all && epoch->error == 0 && epoch->sync)
        flusher->synced = flusher->taken;
    flusher->epochs = epoch->number > 0 ? epoch->number : flusher->epochs;
    if (waiter == NULL)
        waiter = take_waiters(flusher, epoch->number, epoch->sync);
    pthread_mutex_unlock(&flusher->lock);
    if (epoch->sync && epoch->error != 0)
        fs_sync_failed(&flusher->session->durable, epoch->error);
    /* Let the timer retry what is still dirty. */
    if (!all)
        atomic_store(&flusher->armed, true);
    answer(flusher, waiter, &flushed);
}

/*
 * Returns true if a waiter on this node needs the epoch. Waiters that arrive during the epoch wait
 * for the next one.
 */
static bool is_awaited(struct fs_flusher *flusher, uint64_t epoch)
{
    const struct fs_waiter *waiter;

    pthread_mutex_lock(&flusher->lock);
    waiter = flusher->first;
    while (waiter != NULL && waiter->after >= epoch)
        waiter = waiter->next;
    pthread_mutex_unlock(&flusher->lock);
    return waiter != NULL;
}

static void run_epoch(struct fs_flusher *flusher, const struct fs_epoch *epoch)
{
    struct fs_session *session = flusher->session;
    bool may_wait = !epoch->sync && !flusher->aged && !is_awaited(flusher, epoch->number);
    int error;

    flusher->aged = false;
    flusher->taken = atomic_load(&flusher->writes);
    MPIIO_PROBE(flush_begin, epoch->sync);
    error = fs_cluster_store(session, epoch->number, epoch->sync, may_wait, &flusher->stored);
    MPIIO_PROBE(flush_end, error != 0 ? error : flusher->stored.blocks);
    mpiio_peers_epoch_done(session->cluster.peers, epoch->number, error);
}

/* Returns true if a waiter needs a sync to the device. Lock held. */
static bool wants_sync(const struct fs_flusher *flusher)
{
    const struct fs_waiter *waiter = flusher->first;

    assert(mpiio_is_held(&flusher->lock));
    while (waiter != NULL && !waiter->sync)
        waiter = waiter->next;
    return waiter != NULL;
}

static void store_alone(struct fs_flusher *flusher)
{
    struct fs_session *session = flusher->session;
    struct fs_epoch epoch = {0};
    struct fs_waiter *waiter;

    pthread_mutex_lock(&flusher->lock);
    epoch.sync = wants_sync(flusher);
    waiter = flusher->first;
    flusher->first = NULL;
    flusher->end = &flusher->first;
    pthread_mutex_unlock(&flusher->lock);
    flusher->taken = atomic_load(&flusher->writes);
    if (fs_cluster_is_on(&session->cluster))
        mpiio_cache_write_through(session->cache);
    MPIIO_PROBE(flush_begin, epoch.sync);
    flusher->stored = (struct fs_stored){.blocks = mpiio_cache_store_all(session->cache)};
    if (epoch.sync)
        epoch.error = fs_sync_file(&session->durable, false);
    MPIIO_PROBE(flush_end, flusher->stored.blocks != 0 ? flusher->stored.blocks : epoch.error);
    conclude(flusher, &epoch, waiter);
}

/* The work that the thread has found. */
struct work {
    bool alone, store, stop;
    struct fs_epoch begun, over;
};

static struct work look(struct fs_flusher *flusher, bool due)
{
    struct work work;
    uint64_t after;

    pthread_mutex_lock(&flusher->lock);
    work = (struct work){.alone = flusher->alone,
                         .store = flusher->asked || due,
                         .stop = flusher->stop,
                         .begun = flusher->begun,
                         .over = flusher->over};
    if (work.alone && flusher->first != NULL)
        work.store = true;
    if (work.store && !work.alone)
        ask_flush(flusher, false, &after);
    flusher->asked = flusher->begun.due = flusher->over.due = false;
    pthread_mutex_unlock(&flusher->lock);
    return work;
}

/* Waits for work, or until the deadline, in ms of mpiio_clock; 0: no deadline. */
static void await_flush(struct fs_flusher *flusher, int64_t deadline)
{
    struct fs_session *session = flusher->session;
    struct pollfd files[] = {{.fd = flusher->wake, .events = POLLIN},
                             {.fd = fs_cluster_engine(&session->cluster), .events = 0}};
    int64_t rest = deadline - mpiio_clock();
    int timeout = deadline == 0 ? -1 : rest <= 0 ? 0 : rest < INT_MAX ? (int)rest : INT_MAX;
    uint64_t count;

    if (poll(files, 2, timeout) > 0 && (files[1].revents & (POLLHUP | POLLERR)))
        fs_cluster_engine_lost(session, "its engine has ended");
    /* Reset the eventfd. The read fails if the deadline has passed without a wake-up. */
    if (read(flusher->wake, &count, sizeof(count)) < 0)
        return;
}

/*
 * Returns the time at which data must be flushed because of its age, or 0 if nothing is dirty.
 * deadline is the previous result.
 */
static int64_t set_timer(struct fs_flusher *flusher, int64_t deadline)
{
    int64_t interval = flusher->session->options->flush_interval;

    if (!atomic_load(&flusher->armed) || interval == 0)
        return 0;
    return deadline != 0 ? deadline : mpiio_clock() + interval;
}

/*
 * Returns true if the deadline has passed and dirty data exists; the timer then runs again. If
 * there is none by then, the timer stops.
 */
static bool is_due(struct fs_flusher *flusher, int64_t *deadline)
{
    struct mpiio_cache *cache = flusher->session->cache;

    if (*deadline == 0 || mpiio_clock() < *deadline)
        return false;
    *deadline = 0;
    atomic_store(&flusher->armed, false);
    if (mpiio_cache_is_empty(cache)) {
        mpiio_cache_trim(cache);
        return false;
    }
    atomic_store(&flusher->armed, true);
    return true;
}

static void *run_flusher(void *data)
{
    struct fs_flusher *flusher = data;
    int64_t deadline = 0;
    struct work found = {0};
    bool due;

    while (!found.stop) {
        deadline = set_timer(flusher, deadline);
        await_flush(flusher, deadline);
        due = is_due(flusher, &deadline);
        flusher->aged = flusher->aged || due;
        found = look(flusher, due);
        /* The end of one epoch and the beginning of the next may arrive together. */
        if (found.over.due)
            conclude(flusher, &found.over, NULL);
        if (found.alone && found.store)
            store_alone(flusher);
        else if (found.begun.due && !found.alone)
            run_epoch(flusher, &found.begun);
    }
    return NULL;
}

int fs_flusher_start(struct fs_flusher *flusher)
{
    int error;

    if (!fs_flusher_is_on(flusher))
        return 0;
    error = mpiio_thread_start(&flusher->thread, run_flusher, flusher);
    flusher->started = error == 0;
    return error;
}

void fs_flusher_stop(struct fs_flusher *flusher)
{
    if (!flusher->started)
        return;
    pthread_mutex_lock(&flusher->lock);
    flusher->stop = true;
    pthread_mutex_unlock(&flusher->lock);
    wake(flusher);
    pthread_join(flusher->thread, NULL);
    flusher->started = false;
}
