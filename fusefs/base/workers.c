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
    struct fs_worker *next; /* lock: the loop's */
    struct fs_workers *loop;
    pthread_t thread;
    bool idle; /* waits for a request; lock: the loop's */
};

static void ignore_wake(int number)
{
    (void)number;
}

static int start_worker(struct fs_workers *loop);

/* Where no thread is left for a request, another one. Without it the others go on. Lock held. */
static void add_worker(struct fs_workers *loop)
{
    if (loop->idle == 0 && !loop->stop && loop->count < loop->most + loop->paused)
        start_worker(loop);
}

/* Joins those that wait for a request, or leaves them; the last to leave is replaced. */
static void set_idle(struct fs_worker *worker, bool idle)
{
    struct fs_workers *loop = worker->loop;

    pthread_mutex_lock(&loop->lock);
    worker->idle = idle;
    loop->idle += idle ? 1 : -1U;
    add_worker(loop);
    pthread_mutex_unlock(&loop->lock);
}

void fs_workers_pause(struct fs_workers *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->paused++;
    add_worker(loop);
    pthread_mutex_unlock(&loop->lock);
}

void fs_workers_resume(struct fs_workers *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->paused--;
    pthread_mutex_unlock(&loop->lock);
}

static bool is_stopped(struct fs_workers *loop)
{
    bool stop;

    pthread_mutex_lock(&loop->lock);
    stop = loop->stop;
    pthread_mutex_unlock(&loop->lock);
    return stop;
}

static void *work(void *data)
{
    struct fs_worker *worker = data;
    struct fs_workers *loop = worker->loop;
    struct fuse_buf buffer = {.mem = NULL};
    int got = -EINTR;

    while ((got > 0 || got == -EINTR) && !is_stopped(loop)) {
        got = fuse_session_receive_buf(loop->fuse, &buffer);
        if (got <= 0)
            continue;
        set_idle(worker, false);
        fuse_session_process_buf(loop->fuse, &buffer);
        set_idle(worker, true);
    }
    free(buffer.mem);

    pthread_mutex_lock(&loop->lock);
    worker->idle = false;
    loop->idle--;
    loop->running--;
    if (got < 0 && got != -EINTR)
        loop->error = got;
    /* Unmounted; or nobody is left. */
    if (got == 0 || loop->running == 0)
        loop->stop = true;
    pthread_cond_signal(&loop->changed);
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

/* Lock held. 0 or a negative errno. */
static int start_worker(struct fs_workers *loop)
{
    struct fs_worker *worker = calloc(1, sizeof(*worker));
    int error;

    if (worker == NULL)
        return -ENOMEM;
    *worker = (struct fs_worker){.next = loop->workers, .loop = loop, .idle = true};
    error = pthread_create(&worker->thread, NULL, work, worker);
    if (error != 0) {
        free(worker);
        return -error;
    }
    loop->workers = worker;
    loop->count++;
    loop->idle++;
    loop->running++;
    return 0;
}

void fs_workers_init(struct fs_workers *loop, struct fuse_session *fuse, unsigned most)
{
    struct sigaction wake = {.sa_handler = ignore_wake};

    *loop = (struct fs_workers){.fuse = fuse, .most = most};
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->changed, NULL);
    sigaction(WAKE_SIGNAL, &wake, NULL);
}

void fs_workers_end(struct fs_workers *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stop = true;
    pthread_cond_signal(&loop->changed);
    pthread_mutex_unlock(&loop->lock);
}

/* Lock held. Those who work are left alone: a signal could cut short what they do. */
static void wake_idle(struct fs_workers *loop)
{
    for (struct fs_worker *worker = loop->workers; worker != NULL; worker = worker->next)
        if (worker->idle)
            pthread_kill(worker->thread, WAKE_SIGNAL);
}

int fs_workers_run(struct fs_workers *loop)
{
    const struct timespec pause = {.tv_nsec = WAKE_PAUSE};
    int error;

    pthread_mutex_lock(&loop->lock);
    error = start_worker(loop);
    while (error == 0 && !loop->stop)
        pthread_cond_wait(&loop->changed, &loop->lock);
    while (loop->running > 0) {
        wake_idle(loop);
        pthread_mutex_unlock(&loop->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&loop->lock);
    }
    if (error == 0)
        error = loop->error;
    pthread_mutex_unlock(&loop->lock);

    while (loop->workers != NULL) {
        struct fs_worker *worker = loop->workers;

        loop->workers = worker->next;
        pthread_join(worker->thread, NULL);
        free(worker);
    }
    return error;
}

void fs_workers_free(struct fs_workers *loop)
{
    pthread_cond_destroy(&loop->changed);
    pthread_mutex_destroy(&loop->lock);
}
