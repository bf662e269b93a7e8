/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/probe.h"
#include "core/base/thread.h"
#include "fusefs/session.h"

/* The number of times that a drop is repeated because of reads during it. */
#define REPEATS 4
/*
 * The time that the answer to a write waits for a drop of its pages, in ms. The second limit
 * applies if the kernel may keep a page locked for this write: such a page cannot be invalidated
 * before the answer.
 */
#define PATIENCE        2000
#define PATIENCE_UNSURE 20
/* The time to wait for other drops in progress, which may also wait for such a page. */
#define PATIENCE_OTHERS 50

int fs_drop_pages(struct fs_session *session, const struct fs_drop *drop)
{
    struct fs_stale *stale = &drop->slice->stale;
    struct fs_stale_range range = {.start = drop->offset,
                                   .end = drop->length == 0 ? INT64_MAX
                                                            : drop->offset + (int64_t)drop->length};
    uint64_t inode = MPIIO_LOCKED(&session->slices.lock, drop->slice->inode_open);
    int error, tries = 0;

    assert(drop->offset >= 0);
    fs_stale_drop_begin(stale, &range);
    do {
        off_t all = range.end == INT64_MAX ? 0 : range.end - range.start;

        error = fuse_lowlevel_notify_inval_inode(session->fuse, inode, range.start, all);
        tries++;
        MPIIO_PROBE(pages_invalidated, inode, range.start, all, error);
    } while (fs_stale_drop_end(stale, &range, error != 0 || tries > REPEATS));
    return error == -ENOENT ? 0 : error; /* the kernel has no pages of it */
}

static void free_drop(struct fs_dropper *dropper, struct fs_drop *drop)
{
    if (drop->slice != NULL)
        fs_slices_put(&dropper->session->slices, drop->slice);
    free(drop);
}

static void carry_out(void *data, struct fs_task *task)
{
    struct fs_dropper *dropper = data;
    struct fs_drop *drop = (struct fs_drop *)task;
    int error = drop->slice != NULL ? fs_drop_pages(dropper->session, drop) : 0;

    if (drop->done != NULL)
        drop->done(dropper->session, drop, error);
    free_drop(dropper, drop);
    pthread_mutex_lock(&dropper->lock);
    dropper->finished++;
    pthread_cond_broadcast(&dropper->changed);
    pthread_mutex_unlock(&dropper->lock);
}

void fs_dropper_init(struct fs_dropper *dropper, struct fs_session *session)
{
    *dropper = (struct fs_dropper){.session = session};
    pthread_mutex_init(&dropper->lock, NULL);
    pthread_cond_init(&dropper->changed, NULL);
    fs_fifo_init(&dropper->fifo, carry_out, dropper);
}

void fs_dropper_free(struct fs_dropper *dropper)
{
    fs_fifo_free(&dropper->fifo);
    pthread_cond_destroy(&dropper->changed);
    pthread_mutex_destroy(&dropper->lock);
}

/* Queues a copy of a drop, and sets *number to its number. Returns 0 or a negative errno. */
static int put_drop(struct fs_dropper *dropper, const struct fs_drop *wanted, uint64_t *number)
{
    struct fs_drop *drop = malloc(sizeof(*drop));
    int error;

    if (drop == NULL)
        return -ENOMEM;
    *drop = *wanted;
    if (drop->slice != NULL)
        fs_slices_ref(&dropper->session->slices, drop->slice);
    pthread_mutex_lock(&dropper->lock);
    error = fs_fifo_put(&dropper->fifo, &drop->task);
    if (error == 0)
        *number = ++dropper->queued;
    pthread_mutex_unlock(&dropper->lock);
    if (error != 0)
        free_drop(dropper, drop);
    return error;
}

int fs_drop_queue(struct fs_dropper *dropper, const struct fs_drop *drop)
{
    uint64_t number;

    return put_drop(dropper, drop, &number);
}

bool fs_drop_later(struct fs_dropper *notifier, struct fs_slice *slice)
{
    if (fs_drop_queue(notifier, &(struct fs_drop){.slice = slice}) != 0)
        return false;
    atomic_fetch_add(&notifier->dropped, 1);
    return true;
}

/* Queues drops of the ranges, and waits for them up to PATIENCE ms, or PATIENCE_UNSURE if not
   sure. */
static void drop_ranges(struct fs_dropper *dropper, struct fs_slice *slice,
                        const struct fs_stale_range *list, size_t count, bool sure)
{
    int64_t limit = mpiio_clock() + (sure ? PATIENCE : PATIENCE_UNSURE);
    uint64_t last = 0;

    for (size_t i = 0; i < count; i++)
        put_drop(dropper,
                 &(struct fs_drop){.slice = slice,
                                   .offset = list[i].start,
                                   .length = (size_t)(list[i].end - list[i].start)},
                 &last);
    atomic_fetch_add(&dropper->dropped, last > 0);
    pthread_mutex_lock(&dropper->lock);
    while (dropper->finished < last && mpiio_wait_until(&dropper->changed, &dropper->lock, limit))
        continue;
    pthread_mutex_unlock(&dropper->lock);
}

void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, off_t offset, size_t length,
                   bool sure)
{
    struct fs_stale_range range = {.start = offset, .end = offset + (off_t)length};

    fs_workers_pause(&dropper->session->workers);
    drop_ranges(dropper, slice, &range, 1, sure);
    fs_workers_resume(&dropper->session->workers);
}

void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, off_t offset,
                     size_t length)
{
    struct fs_stale_range list[FS_STALE_MAX];
    int64_t now;
    size_t count;
    bool sure;

    if (!fs_stale_stored(&slice->stale))
        return;
    now = mpiio_clock();
    if (length > 0 && fs_stale_find(&slice->stale, offset, length, now, 0, list, &sure) > 0) {
        fs_workers_pause(&dropper->session->workers);
        count =
            fs_stale_find(&slice->stale, offset, length, now, now + PATIENCE_OTHERS, list, &sure);
        if (count > 0)
            drop_ranges(dropper, slice, list, count, sure);
        fs_workers_resume(&dropper->session->workers);
    }
    fs_stale_answered(&slice->stale, mpiio_clock());
}
