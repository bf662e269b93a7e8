/* SPDX-License-Identifier: MIT */
#include "drop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/probe.h"

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

/*
 * A drop of pages that a write waits for. The writer and the dropper both use it; the last one to
 * finish frees it.
 */
struct drop {
    struct fs_task task; /* must be the first member */
    struct fs_slice *slice;
    fuse_ino_t inode;
    struct fs_stale_range list[FS_STALE_MAX];
    size_t count;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over; /* the pages are invalidated, or the writer no longer waits; lock */
};

int fs_drop_pages(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                  off_t offset, size_t length)
{
    struct fs_stale_range drop = {.start = offset,
                                  .end = length == 0 ? INT64_MAX : offset + (int64_t)length};
    int error, tries = 0;

    assert(offset >= 0);
    fs_stale_drop_begin(&slice->stale, &drop);
    do {
        off_t all = drop.end == INT64_MAX ? 0 : drop.end - drop.start;

        error = fuse_lowlevel_notify_inval_inode(dropper->fuse, inode, drop.start, all);
        tries++;
        MPIIO_PROBE(pages_invalidated, inode, drop.start, all, error);
    } while (fs_stale_drop_end(&slice->stale, &drop, error != 0 || tries > REPEATS));
    return error == -ENOENT ? 0 : error; /* the kernel has no pages of it */
}

static struct drop *new_drop(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode)
{
    struct drop *drop = calloc(1, sizeof(*drop));

    if (drop == NULL)
        return NULL;
    drop->slice = fs_slices_ref(dropper->slices, slice);
    drop->inode = inode;
    pthread_mutex_init(&drop->lock, NULL);
    pthread_cond_init(&drop->changed, NULL);
    return drop;
}

static void free_drop(struct fs_dropper *dropper, struct drop *drop)
{
    fs_slices_put(dropper->slices, drop->slice);
    pthread_cond_destroy(&drop->changed);
    pthread_mutex_destroy(&drop->lock);
    free(drop);
}

static void carry_out(void *data, struct fs_task *task)
{
    struct fs_dropper *dropper = data;
    struct drop *drop = (struct drop *)task;
    bool left;

    for (size_t i = 0; i < drop->count; i++)
        fs_drop_pages(dropper, drop->slice, drop->inode, drop->list[i].start,
                      (size_t)(drop->list[i].end - drop->list[i].start));
    pthread_mutex_lock(&drop->lock);
    left = drop->over;
    drop->over = true;
    pthread_cond_signal(&drop->changed);
    pthread_mutex_unlock(&drop->lock);
    if (left)
        free_drop(dropper, drop);
}

void fs_dropper_init(struct fs_dropper *dropper, struct fs_slices *slices,
                     struct fs_workers *workers)
{
    *dropper = (struct fs_dropper){.slices = slices, .workers = workers};
    fs_fifo_init(&dropper->fifo, carry_out, dropper);
}

/*
 * Waits up to patience ms until the pages are invalidated. Returns false if they are not yet; the
 * dropper then frees drop.
 */
static bool await_drop(struct drop *drop, int patience)
{
    int64_t end = mpiio_clock() + patience;
    bool over;

    pthread_mutex_lock(&drop->lock);
    while (!drop->over && mpiio_wait_until(&drop->changed, &drop->lock, end))
        continue;
    over = drop->over;
    drop->over = true;
    pthread_mutex_unlock(&drop->lock);
    return over;
}

static void drop_again(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                       const struct fs_stale_range *list, size_t count, bool sure)
{
    struct drop *drop = new_drop(dropper, slice, inode);
    bool over;

    if (drop == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        drop->list[i] = list[i];
    drop->count = count;
    if (fs_fifo_put(&dropper->fifo, &drop->task) != 0) {
        free_drop(dropper, drop);
        return;
    }
    atomic_fetch_add(&dropper->dropped, 1);
    over = await_drop(drop, sure ? PATIENCE : PATIENCE_UNSURE);
    if (over)
        free_drop(dropper, drop);
}

void fs_drop_range(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                   off_t offset, size_t length, bool sure)
{
    struct fs_stale_range range = {.start = offset, .end = offset + (off_t)length};

    fs_workers_pause(dropper->workers);
    drop_again(dropper, slice, inode, &range, 1, sure);
    fs_workers_resume(dropper->workers);
}

void fs_drop_written(struct fs_dropper *dropper, struct fs_slice *slice, fuse_ino_t inode,
                     off_t offset, size_t length)
{
    struct fs_stale_range list[FS_STALE_MAX];
    int64_t now;
    size_t count;
    bool sure;

    if (!fs_stale_stored(&slice->stale))
        return;
    now = mpiio_clock();
    if (length > 0 && fs_stale_find(&slice->stale, offset, length, now, 0, list, &sure) > 0) {
        fs_workers_pause(dropper->workers);
        count =
            fs_stale_find(&slice->stale, offset, length, now, now + PATIENCE_OTHERS, list, &sure);
        if (count > 0)
            drop_again(dropper, slice, inode, list, count, sure);
        fs_workers_resume(dropper->workers);
    }
    fs_stale_answered(&slice->stale, mpiio_clock());
}
