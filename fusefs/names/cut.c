/* SPDX-License-Identifier: MIT */
#include "slices.h"

#include <assert.h>

#include "core/base/grant.h"
#include "core/base/thread.h"
#include "handle.h"

/* Truncation of slices: the marks, and the handles that keep them. */

/* The functions here and below require the lock of the table of slices. */
static bool is_cut(const struct fs_handle *handle)
{
    return fs_cut_mark(&handle->slice->cut) != FS_UNCUT;
}

static bool keeps(const struct fs_handle *handle)
{
    return is_cut(handle) && handle->part.kept == handle->slice->cut.number;
}

/*
 * Returns true if gaps before writes of the handle must be filled. The kernel sends a flush before
 * close(2) returns, but the release only afterwards. So once all handles that keep the cut have
 * been closed, a program that writes finds an ordinary slice. A closed handle may still be open
 * through a duplicated descriptor, so it takes part until its release.
 */
static bool takes_part(const struct fs_handle *handle)
{
    const struct fs_cut *cut = &handle->slice->cut;

    return keeps(handle) || (handle->writes && is_cut(handle) && cut->keepers > cut->closed);
}

static void keep(struct fs_handle *handle)
{
    handle->part.kept = handle->slice->cut.number;
    handle->slice->cut.keepers++;
    handle->slice->cut.closed += handle->flushed;
    assert(handle->slice->cut.closed <= handle->slice->cut.keepers);
}

static bool is_unseen(const struct fs_handle *handle)
{
    return handle->part.granted && is_cut(handle) && handle->part.seen < handle->slice->cut.number;
}

void fs_cut_start(struct fs_slices *slices, struct fs_handle *handle)
{
    struct fs_cut *cut = &handle->slice->cut;

    assert(handle->writes);
    pthread_mutex_lock(&slices->lock);
    if (!is_cut(handle)) {
        cut->number++;
        cut->keepers = cut->closed = 0;
        cut->unseen = cut->granted;
    }
    atomic_store(&cut->mark, 0);
    if (!keeps(handle))
        keep(handle);
    pthread_mutex_unlock(&slices->lock);
}

void fs_cut_joined(struct fs_handle *handle)
{
    if (takes_part(handle))
        keep(handle);
}

void fs_cut_closed(struct fs_handle *handle)
{
    handle->slice->cut.closed += keeps(handle);
}

void fs_cut_granted(struct fs_handle *handle)
{
    struct fs_cut *cut = &handle->slice->cut;

    if ((handle->rights & MPIIO_GRANT_WRITE) == 0 || handle->part.granted)
        return;
    handle->part.granted = true;
    handle->part.seen = cut->number;
    cut->granted++;
}

void fs_cut_left(struct fs_handle *handle)
{
    struct fs_cut *cut = &handle->slice->cut;
    bool unseen = is_unseen(handle);

    assert(cut->unseen >= unseen && cut->granted >= handle->part.granted);
    cut->unseen -= unseen;
    cut->granted -= handle->part.granted;
    handle->part.granted = false;
    if (keeps(handle)) {
        assert(cut->keepers > 0 && cut->closed >= handle->flushed);
        cut->keepers--;
        cut->closed -= handle->flushed;
        assert(cut->closed <= cut->keepers);
    }
    if (unseen || (is_cut(handle) && cut->keepers == 0))
        atomic_store(&cut->mark, FS_UNCUT);
}

bool fs_cut_takes_part(struct fs_slices *slices, const struct fs_handle *handle)
{
    return MPIIO_LOCKED(&slices->lock, takes_part(handle) && handle->slice->cut.unseen == 0);
}

/*
 * Fills the gap from the mark to start, and moves the mark to end: only forward, unless
 * back is true. Retries with the new mark if a cut starts or ends meanwhile.
 */
static int move_mark(struct fs_cut *cut, int64_t start, int64_t end, bool back, fs_cut_fill *fill,
                     void *data)
{
    int64_t mark;
    int error = 0;

    assert(start <= end);
    pthread_mutex_lock(&cut->lock);
    do {
        mark = fs_cut_mark(cut);
        if (mark < start && fill != NULL)
            error = fill(data, mark, start);
    } while (error == 0 && (back ? mark != FS_UNCUT : mark < end) &&
             !atomic_compare_exchange_strong(&cut->mark, &mark, end));
    pthread_mutex_unlock(&cut->lock);
    return error;
}

int fs_cut_reach(struct fs_cut *cut, int64_t start, int64_t end, fs_cut_fill *fill, void *data)
{
    return end > fs_cut_mark(cut) ? move_mark(cut, start, end, false, fill, data) : 0;
}

int fs_cut_resize(struct fs_cut *cut, int64_t size, fs_cut_fill *fill, void *data)
{
    return move_mark(cut, size, size, true, fill, data);
}

/*
 * Makes a handle unseen if no other handle of its slice is open for writing. Returns false
 * otherwise. The table's lock is held.
 */
static bool hide(struct fs_handle *handle)
{
    struct fs_cut *cut = &handle->slice->cut;

    fs_cut_granted(handle);
    if (!handle->part.granted || handle->slice->counts.writers > 1 || !keeps(handle))
        return false;
    if (!is_unseen(handle)) {
        handle->part.seen = cut->number - 1;
        cut->unseen++;
        assert(cut->unseen <= cut->granted);
    }
    return true;
}

int64_t fs_cut_hide(struct fs_slices *slices, struct fs_handle *handle)
{
    struct fs_cut *cut = &handle->slice->cut;
    int64_t mark;

    pthread_mutex_lock(&cut->lock); /* excludes writes into a gap that is being filled */
    pthread_mutex_lock(&slices->lock);
    mark = fs_cut_mark(cut);
    if (mark != FS_UNCUT && !hide(handle))
        mark = -1;
    pthread_mutex_unlock(&slices->lock);
    pthread_mutex_unlock(&cut->lock);
    return mark;
}

void fs_cut_show(struct fs_slices *slices, struct fs_handle *handle, int64_t mark)
{
    struct fs_cut *cut = &handle->slice->cut;

    fs_cut_reach(cut, mark, mark, NULL, NULL);
    pthread_mutex_lock(&slices->lock);
    cut->unseen -= is_unseen(handle);
    cut->granted -= handle->part.granted;
    handle->part.granted = false;
    pthread_mutex_unlock(&slices->lock);
}
