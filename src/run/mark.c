/* SPDX-License-Identifier: MIT */
/* The mark of a slice that was opened with O_TRUNC: the end of its written part. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "grant.h"

#include <pthread.h>
#include <sys/ioctl.h>

#include "core/base/grant.h"
#include "descriptors.h"

/* Held during a request to the daemon about a mark, so that no write starts in between. Signals
   are blocked meanwhile, because a handler may write to the same slice, or leave by
   siglongjmp(3). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t ask_daemon(struct run_open *open, int fd)
{
    struct run_held held;
    int64_t mark;

    run_hold(&held);
    pthread_mutex_lock(&lock);
    mark = atomic_load(&open->mark);
    if (mark == RUN_MARK_UNASKED) {
        if (ioctl(fd, MPIIO_GRANT_MARK, &mark) != 0 || mark < 0)
            mark = RUN_MARK_REPORTED;
        atomic_store(&open->mark, mark);
    }
    pthread_mutex_unlock(&lock);
    run_unhold(&held);
    return mark;
}

bool run_mark_passes(struct run_open *open, int fd, int64_t offset, int64_t length)
{
    int64_t mark = atomic_load(&open->mark), end;

    if (mark == RUN_MARK_NONE)
        return true;
    if (__builtin_add_overflow(offset, length, &end))
        return false;
    if (mark == RUN_MARK_UNASKED)
        mark = ask_daemon(open, fd);
    /* Count the bytes before writing them, so that a later filling of gaps never overwrites them.
     */
    while (mark >= offset && mark < end && !atomic_compare_exchange_weak(&open->mark, &mark, end))
        continue;
    return mark >= offset;
}

void run_mark_tell(struct run_open *open, int fd, bool others_write)
{
    int64_t mark = atomic_load(&open->mark);
    struct run_held held;

    if (mark == RUN_MARK_NONE || (mark == RUN_MARK_UNASKED && !others_write))
        return;
    run_hold(&held);
    pthread_mutex_lock(&lock);
    mark = atomic_exchange(&open->mark, RUN_MARK_REPORTED);
    if (mark == RUN_MARK_UNASKED)
        mark = 0;
    if (mark != RUN_MARK_REPORTED)
        ioctl(fd, MPIIO_GRANT_MARK, &mark);
    atomic_fetch_and(&open->rights, ~MPIIO_GRANT_WRITE);
    pthread_mutex_unlock(&lock);
    run_unhold(&held);
}

void run_mark_tell_of(int fd, bool others_write)
{
    struct run_open *open = run_acquire(fd);

    if (open != NULL)
        run_mark_tell(open, fd, others_write);
    run_release(open);
}

void run_mark_share(void)
{
    int end = run_descriptors_end();

    run_share();
    for (int fd = 0; fd < end; fd++)
        run_mark_tell_of(fd, true);
}

void run_mark_begin(void)
{
    pthread_mutex_init(&lock, NULL);
}
