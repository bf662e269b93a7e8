/* SPDX-License-Identifier: MIT */
#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* Wakes a worker from its wait for a request; it has no other use. */
#define WAKE_SIGNAL SIGUSR1
/* Between two calls to wake up, in ns: one may come just before the wait. */
#define WAKE_PAUSE 10000000

struct fs_worker {
    struct fs_worker *next; /* lock: the workers' */
    struct fs_workers *workers;
    pthread_t thread;
    bool idle; /* waits for a request; lock: the workers' */
};

static void ignore_wake(int number)
{
    (void)number;
}

static int start_worker(struct fs_workers *workers);

/* Where no thread is left for a request, another one. Without it the others go on. Lock held. */
static void add_worker(struct fs_workers *workers)
{
    if (workers->idle == 0 && !workers->stop && workers->count < workers->most + workers->paused)
        start_worker(workers);
}

/* Joins those that wait for a request, or leaves them; the last to leave is replaced. */
static void set_idle(struct fs_worker *worker, bool idle)
{
    struct fs_workers *workers = worker->workers;

    pthread_mutex_lock(&workers->lock);
    worker->idle = idle;
    workers->idle += idle ? 1 : -1U;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_pause(struct fs_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->paused++;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_resume(struct fs_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->paused--;
    pthread_mutex_unlock(&workers->lock);
}

static bool is_stopped(struct fs_workers *workers)
{
    bool stop;

    pthread_mutex_lock(&workers->lock);
    stop = workers->stop;
    pthread_mutex_unlock(&workers->lock);
    return stop;
}

static void *work(void *data)
{
    struct fs_worker *worker = data;
    struct fs_workers *workers = worker->workers;
    struct fuse_buf buffer = {.mem = NULL};
    int got = -EINTR;

    while ((got > 0 || got == -EINTR) && !is_stopped(workers)) {
        got = fuse_session_receive_buf(workers->fuse, &buffer);
        if (got <= 0)
            continue;
        set_idle(worker, false);
        fuse_session_process_buf(workers->fuse, &buffer);
        set_idle(worker, true);
    }
    free(buffer.mem);

    pthread_mutex_lock(&workers->lock);
    worker->idle = false;
    workers->idle--;
    workers->running--;
    if (got < 0 && got != -EINTR)
        workers->error = got;
    /* Unmounted; or nobody is left. */
    if (got == 0 || workers->running == 0)
        workers->stop = true;
    pthread_cond_signal(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Lock held. 0 or a negative errno. */
static int start_worker(struct fs_workers *workers)
{
    struct fs_worker *worker = calloc(1, sizeof(*worker));
    int error;

    if (worker == NULL)
        return -ENOMEM;
    *worker = (struct fs_worker){.next = workers->all, .workers = workers, .idle = true};
    error = pthread_create(&worker->thread, NULL, work, worker);
    if (error != 0) {
        free(worker);
        return -error;
    }
    workers->all = worker;
    workers->count++;
    workers->idle++;
    workers->running++;
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

/* Lock held. Those who work are left alone: a signal could cut short what they do. */
static void wake_idle(struct fs_workers *workers)
{
    for (struct fs_worker *worker = workers->all; worker != NULL; worker = worker->next)
        if (worker->idle)
            pthread_kill(worker->thread, WAKE_SIGNAL);
}

int fs_workers_run(struct fs_workers *workers)
{
    const struct timespec pause = {.tv_nsec = WAKE_PAUSE};
    int error;

    pthread_mutex_lock(&workers->lock);
    error = start_worker(workers);
    while (error == 0 && !workers->stop)
        pthread_cond_wait(&workers->changed, &workers->lock);
    while (workers->running > 0) {
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
