/* SPDX-License-Identifier: MIT */
#include "fence.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "core/store_layers.h"

/* Milliseconds between two checks of an expired lease. */
#define PAUSE 10

/* The fence that this process is inside; NULL: none. */
static struct engine_fence *volatile inside;
/* true while the process has the lock of that fence */
static volatile sig_atomic_t locked;

static void lock_fence(const struct engine_fence *fence)
{
    locked = mpiio_store_fence_enter(fence->file);
}

static void unlock_fence(const struct engine_fence *fence)
{
    if (locked)
        mpiio_store_fence_leave(fence->file);
    locked = false;
}

/* Waits for a valid lease. Call it without the lock: this process stores nothing meanwhile, so
   others may have the lock. Exits if the daemon has closed the channel. */
static void await_lease(const struct engine_fence *fence)
{
    struct pollfd daemon = {.fd = fence->daemon, .events = 0};

    while (!mpiio_lease_holds(fence->lease))
        if (poll(&daemon, 1, PAUSE) > 0)
            _exit(1);
}

void engine_fence_check(void *data)
{
    struct engine_fence *fence = data;

    while (!mpiio_lease_holds(fence->lease)) {
        unlock_fence(fence);
        await_lease(fence);
        lock_fence(fence);
    }
}

void engine_fence_enter(struct engine_fence *fence)
{
    inside = fence;
    lock_fence(fence);
    engine_fence_check(fence);
}

void engine_fence_leave(struct engine_fence *fence)
{
    inside = NULL;
    unlock_fence(fence);
}

/* Handles SIGCONT. The process was stopped, perhaps in the middle of a store. */
static void on_wake(int number)
{
    struct engine_fence *fence = inside;
    int error = errno;

    (void)number;
    if (fence != NULL)
        engine_fence_check(fence);
    errno = error;
}

static void mask_signal(int how)
{
    sigset_t wake;

    sigemptyset(&wake);
    sigaddset(&wake, SIGCONT);
    pthread_sigmask(how, &wake, NULL);
}

void engine_fence_hold_signal(void)
{
    struct sigaction action = {.sa_handler = on_wake, .sa_flags = SA_RESTART};

    mask_signal(SIG_BLOCK);
    sigaction(SIGCONT, &action, NULL);
}

void engine_fence_take_signal(void)
{
    mask_signal(SIG_UNBLOCK);
}

void engine_fence_open(struct engine_fence *fence, const char *path,
                       const struct mpiio_lease *lease, const struct mpiio_channel *daemon)
{
    *fence = (struct engine_fence){
        .lease = lease, .daemon = mpiio_channel_fd(daemon), .file = mpiio_store_fence_open(path)};
}

void engine_fence_close(struct engine_fence *fence)
{
    if (fence->file >= 0)
        close(fence->file);
    fence->file = -1;
}
