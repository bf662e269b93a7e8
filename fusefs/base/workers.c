/* SPDX-License-Identifier: MIT */
#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/thread.h"

/* Interrupts a worker that waits for a request. The signal has no other use. */
#define WAKE_SIGNAL SIGUSR1
/* Pause between two wake-ups, in ns. Signals repeat because one may arrive just before the wait. */
#define WAKE_PAUSE 10000000

struct fs_worker {
    struct fs_worker *next; /* lock: the workers' */
    struct fs_workers *workers;
    pthread_t thread;
    atomic_bool idle; /* waits for a request; may lag behind a request that has just arrived */
};

/*
 * True in worker threads. Other threads call fs_workers_pause, too, some after the last worker has
 * exited.
 */
static _Thread_local bool takes_requests;

static void ignore_wake(int number)
{
    (void)number;
}

static int start_worker(struct fs_workers *workers);

/*
 * Starts another worker if none is idle. If that fails, the existing workers continue. Lock held.
 */
static void add_worker(struct fs_workers *workers)
{
    assert(mpiio_is_held(&workers->lock));
    if (workers->idle == 0 && !workers->stop && workers->count < workers->most + workers->paused)
        start_worker(workers);
}

/* Adds the worker to the idle ones, or removes it. Starts another worker if none is idle then. */
static void set_idle(struct fs_worker *worker, bool idle)
{
    struct fs_workers *workers = worker->workers;

    atomic_store(&worker->idle, idle);
    pthread_mutex_lock(&workers->lock);
    workers->idle += idle ? 1 : -1U;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_pause(struct fs_workers *workers)
{
    if (!takes_requests)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->paused++;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_resume(struct fs_workers *workers)
{
    if (!takes_requests)
        return;
    pthread_mutex_lock(&workers->lock);
    assert(workers->paused > 0);
    workers->paused--;
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_waits(void *workers, bool waits)
{
    if (waits)
        fs_workers_pause(workers);
    else
        fs_workers_resume(workers);
}

/* Updates the state when a worker exits. got is the result of its last wait for a request. */
static void leave_worker(struct fs_worker *worker, int got)
{
    struct fs_workers *workers = worker->workers;
    bool is_spare;

    pthread_mutex_lock(&workers->lock);
    is_spare = got == -ENOMEM && workers->count > 1; /* the others continue */
    assert(workers->idle > 0 && workers->count >= workers->idle);
    worker->idle = false;
    workers->idle--;
    workers->count--;
    if (got < 0 && got != -EINTR && !is_spare)
        workers->error = got;
    /* The filesystem is unmounted, or no worker is left. */
    if (got == 0 || workers->count == 0)
        workers->stop = true;
    pthread_cond_signal(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

/* Unblocks the wake-up signal. The worker may inherit a mask that blocks it. */
static void let_wake(void)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
}

static void *run_worker(void *data)
{
    struct fs_worker *worker = data;
    struct fs_workers *workers = worker->workers;
    struct fuse_buf buffer = {.mem = NULL};
    int got = -EINTR;

    takes_requests = true;
    let_wake();
    while ((got > 0 || got == -EINTR) && !atomic_load(&workers->stop)) {
        got = fuse_session_receive_buf(workers->fuse, &buffer);
        if (got <= 0)
            continue;
        set_idle(worker, false);
        fuse_session_process_buf(workers->fuse, &buffer);
        set_idle(worker, true);
    }
    free(buffer.mem);
    leave_worker(worker, got);
    return NULL;
}

/* Starts a worker. Lock held. Returns 0 or a negative errno. */
static int start_worker(struct fs_workers *workers)
{
    struct fs_worker *worker = calloc(1, sizeof(*worker));
    int error;

    assert(mpiio_is_held(&workers->lock));
    if (worker == NULL)
        return -ENOMEM;
    *worker = (struct fs_worker){.next = workers->all, .workers = workers, .idle = true};
    error = mpiio_thread_start(&worker->thread, run_worker, worker);
    if (error != 0) {
        free(worker);
        return error;
    }
    workers->all = worker;
    workers->count++;
    workers->idle++;
    return 0;
}

void fs_workers_init(struct fs_workers *workers, struct fuse_session *fuse, unsigned most)
{
    struct sigaction wake = {.sa_handler = ignore_wake};

    *workers = (struct fs_workers){.fuse = fuse, .most = most};
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
    sigaction(WAKE_SIGNAL, &wake, NULL);
}

void fs_workers_end(struct fs_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->stop = true;
    pthread_cond_signal(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

/* Wakes idle workers only. A signal could interrupt the system calls of a busy one. Lock held. */
static void wake_idle(struct fs_workers *workers)
{
    assert(mpiio_is_held(&workers->lock));
    for (struct fs_worker *worker = workers->all; worker != NULL; worker = worker->next)
        if (atomic_load(&worker->idle))
            pthread_kill(worker->thread, WAKE_SIGNAL);
}

int fs_workers_run(struct fs_workers *workers, void (*on_stop)(void *data), void *data)
{
    const struct timespec pause = {.tv_nsec = WAKE_PAUSE};
    int error;

    pthread_mutex_lock(&workers->lock);
    error = start_worker(workers);
    while (error == 0 && !workers->stop)
        pthread_cond_wait(&workers->changed, &workers->lock);
    pthread_mutex_unlock(&workers->lock);
    if (on_stop != NULL)
        on_stop(data);
    pthread_mutex_lock(&workers->lock);
    while (workers->count > 0) {
        wake_idle(workers);
        pthread_mutex_unlock(&workers->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&workers->lock);
    }
    if (error == 0)
        error = workers->error;
    pthread_mutex_unlock(&workers->lock);

    while (workers->all != NULL) {
        struct fs_worker *worker = workers->all;

        workers->all = worker->next;
        pthread_join(worker->thread, NULL);
        free(worker);
    }
    return error;
}

void fs_workers_free(struct fs_workers *workers)
{
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
}
