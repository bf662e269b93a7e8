/* SPDX-License-Identifier: MIT */
#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/thread.h"

/* Wakes a worker from its wait for a request; it has no other use. */
#define WAKE_SIGNAL SIGUSR1
/* Between two calls to wake up, in ns: one may come just before the wait. */
#define WAKE_PAUSE 10000000
/* How long a queue of the kernel's may go without an answer, in ns, until another thread helps. */
#define STALL_PAUSE 2000000

struct fs_worker {
    struct fs_worker *next; /* lock: the workers' */
    struct fs_workers *workers;
    struct fs_ring *ring; /* its own, which it takes requests from; NULL: from /dev/fuse */
    pthread_t thread;
    atomic_bool idle; /* waits for a request; may change where one has just come */
};

/* This thread is one of the workers. Others wait, too, some when no worker is left. */
static _Thread_local bool takes_requests;

static void ignore_wake(int number)
{
    (void)number;
}

static int start_worker(struct fs_workers *workers, struct fs_ring *ring);

/* Where no thread is left for a request, another one. Without it the others go on. Lock held. */
static void add_worker(struct fs_workers *workers)
{
    if (workers->idle == 0 && !workers->stop && workers->count < workers->most + workers->paused)
        start_worker(workers, NULL);
}

/* Joins those that wait for a request, or leaves them; the last to leave /dev/fuse is replaced. */
static void set_idle(struct fs_worker *worker, bool idle)
{
    struct fs_workers *workers = worker->workers;

    atomic_store(&worker->idle, idle);
    if (worker->ring != NULL)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->idle += idle ? 1 : -1U;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_pause(struct fs_workers *workers)
{
    if (!takes_requests || fs_ring_waits(true))
        return;
    pthread_mutex_lock(&workers->lock);
    workers->paused++;
    add_worker(workers);
    pthread_mutex_unlock(&workers->lock);
}

void fs_workers_resume(struct fs_workers *workers)
{
    if (!takes_requests || fs_ring_waits(false))
        return;
    pthread_mutex_lock(&workers->lock);
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

static int receive(struct fs_worker *worker, struct fuse_buf *buffer)
{
    return worker->ring != NULL ? fs_ring_receive(worker->ring, buffer)
                                : fuse_session_receive_buf(worker->workers->fuse, buffer);
}

/* Whether a worker leaves for what the others need not end for: a kernel without io_uring, or that
   there is no memory for the requests that it would take. Lock held. */
static bool is_spare(const struct fs_worker *worker, int got)
{
    return worker->ring != NULL ? got == -EOPNOTSUPP
                                : got == -ENOMEM && worker->workers->running > 1;
}

/* What a worker leaves behind. got: what its last wait for a request came to. */
static void leave(struct fs_worker *worker, int got)
{
    struct fs_workers *workers = worker->workers;
    bool spare;

    pthread_mutex_lock(&workers->lock);
    spare = is_spare(worker, got);
    worker->idle = false;
    if (worker->ring == NULL) {
        workers->idle--;
        workers->count--;
    }
    workers->running--;
    if (got < 0 && got != -EINTR && !spare)
        workers->error = got;
    /* Unmounted; or a queue is not served any more; or nobody is left. */
    if (got == 0 || (worker->ring != NULL && workers->error != 0) || workers->running == 0)
        workers->stop = true;
    pthread_cond_signal(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

/* A worker may have been started by a thread that takes no signals. */
static void let_wake(void)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
}

static void *work(void *data)
{
    struct fs_worker *worker = data;
    struct fs_workers *workers = worker->workers;
    struct fuse_buf buffer = {.mem = NULL};
    int got = -EINTR;

    takes_requests = true;
    let_wake();
    while ((got > 0 || got == -EINTR) && !atomic_load(&workers->stop)) {
        got = receive(worker, &buffer);
        if (got <= 0)
            continue;
        set_idle(worker, false);
        fuse_session_process_buf(workers->fuse, &buffer);
        set_idle(worker, true);
    }
    if (worker->ring != NULL)
        fs_ring_leave(worker->ring);
    else
        free(buffer.mem);
    leave(worker, got);
    return NULL;
}

/* Lock held. 0 or a negative errno. */
static int start_worker(struct fs_workers *workers, struct fs_ring *ring)
{
    struct fs_worker *worker = calloc(1, sizeof(*worker));
    int error;

    if (worker == NULL)
        return -ENOMEM;
    *worker =
        (struct fs_worker){.next = workers->all, .workers = workers, .ring = ring, .idle = true};
    error = mpiio_thread_start(&worker->thread, work, worker);
    if (error != 0) {
        free(worker);
        return error;
    }
    workers->all = worker;
    workers->count += ring == NULL;
    workers->idle += ring == NULL;
    workers->running++;
    return 0;
}

/* Another thread for one of the kernel's queues. */
static int add_ring(struct fs_workers *workers, unsigned queue)
{
    struct fs_ring *ring;
    int error = fs_ring_open(&ring, &workers->rings, queue);

    if (error != 0)
        return error;
    pthread_mutex_lock(&workers->lock);
    error = start_worker(workers, ring);
    pthread_mutex_unlock(&workers->lock);
    if (error != 0)
        fs_ring_leave(ring);
    return error;
}

/* A queue has no thread left that waits for a request: whether it is served is watched for a while.
 */
static void on_full(void *data)
{
    struct fs_workers *workers = data;

    if (atomic_exchange(&workers->full, true))
        return;
    pthread_mutex_lock(&workers->lock);
    pthread_cond_signal(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

int fs_workers_add_rings(struct fs_workers *workers, int fd, const char *mountpoint, size_t payload)
{
    int error = fs_rings_init(&workers->rings, fd, mountpoint, payload, on_full, workers);

    for (unsigned queue = 0; error == 0 && queue < workers->rings.queues; queue++)
        error = add_ring(workers, queue);
    if (error != 0)
        fs_rings_decide(&workers->rings, false);
    return error;
}

/* Helps queues of which no request was answered for a while, though each of their threads has one:
   they may wait for requests that none of them can take. */
static void help(struct fs_workers *workers)
{
    struct fs_rings *rings = &workers->rings;

    for (unsigned queue = 0; queue < rings->queues; queue++) {
        enum fs_ring_room room = fs_rings_look(rings, queue);

        if (room != FS_RING_FREE)
            atomic_store(&workers->full, true);
        if (room == FS_RING_STALLED && fs_rings_busy(rings, queue) < workers->most)
            add_ring(workers, queue);
    }
}

/* Lock held, but not meanwhile. */
static void wait_for_change(struct fs_workers *workers)
{
    const struct timespec pause = {.tv_nsec = STALL_PAUSE};

    if (!atomic_exchange(&workers->full, false)) {
        pthread_cond_wait(&workers->changed, &workers->lock);
        return;
    }
    pthread_mutex_unlock(&workers->lock);
    nanosleep(&pause, NULL);
    help(workers);
    pthread_mutex_lock(&workers->lock);
}

void fs_workers_init(struct fs_workers *workers, struct fuse_session *fuse, unsigned most)
{
    struct sigaction wake = {.sa_handler = ignore_wake};

    *workers = (struct fs_workers){.fuse = fuse, .most = most};
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
    sigaction(WAKE_SIGNAL, &wake, NULL);
}

void fs_workers_on_stop(struct fs_workers *workers, void (*function)(void *data), void *data)
{
    workers->on_stop = function;
    workers->stop_data = data;
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
        if (atomic_load(&worker->idle))
            pthread_kill(worker->thread, WAKE_SIGNAL);
}

int fs_workers_run(struct fs_workers *workers)
{
    const struct timespec pause = {.tv_nsec = WAKE_PAUSE};
    int error;

    pthread_mutex_lock(&workers->lock);
    error = start_worker(workers, NULL);
    while (error == 0 && !workers->stop)
        wait_for_change(workers);
    pthread_mutex_unlock(&workers->lock);
    if (workers->on_stop != NULL)
        workers->on_stop(workers->stop_data);
    pthread_mutex_lock(&workers->lock);
    fs_rings_stop(&workers->rings);
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
    fs_rings_free(&workers->rings);
}
