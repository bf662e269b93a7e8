/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/thread.h"

/*
 * The time to wait for a release, in ms; the second limit applies if the slice is cut, so that the
 * kernel believes it to be empty.
 */
#define RELEASE_MS     10
#define RELEASE_CUT_MS 1000

/*
 * Returns the link to the handle that the thread opened last, or the link that ends the list. Lock
 * held.
 */
static struct fs_handle **find_opened(struct fs_slices *slices, pid_t thread)
{
    struct fs_handle **link = &slices->openers[(unsigned)thread % FS_OPENERS];

    assert(mpiio_is_held(&slices->lock));
    while (*link != NULL && (*link)->opener != thread + 1)
        link = &(*link)->next_opened;
    return link;
}

/* Clears the opener of the handle at link. Lock held. */
static void forget_opener(struct fs_handle **link)
{
    struct fs_handle *handle = *link;

    *link = handle->next_opened;
    handle->opener = 0;
}

/*
 * Records that the thread opened the handle, in place of the handle that it opened before. Lock
 * held.
 */
static void remember_opener(struct fs_slices *slices, struct fs_handle *handle, pid_t thread)
{
    struct fs_handle **link = find_opened(slices, thread);

    assert(mpiio_is_held(&slices->lock));
    if (*link != NULL)
        forget_opener(link);
    link = &slices->openers[(unsigned)thread % FS_OPENERS];
    handle->opener = thread + 1;
    handle->next_opened = *link;
    *link = handle;
}

/* Adds a handle to its slice's counts (by is 1), or removes it (by is -1). Lock held. */
static void count(const struct fs_handle *handle, unsigned by)
{
    struct fs_counts *counts = &handle->slice->counts;

    counts->handles += by;
    counts->readers += handle->reads ? by : 0;
    counts->writers += handle->writes ? by : 0;
    counts->updaters += handle->reads && handle->writes ? by : 0;
    counts->holders += handle->holds ? by : 0;
    counts->flushed += handle->flushed ? by : 0;
    counts->ungranted += handle->rights == 0 ? by : 0;
    assert(counts->readers <= counts->handles && counts->writers <= counts->handles);
    assert(counts->holders <= counts->writers && counts->flushed <= counts->handles);
    assert(handle->slice->granted + counts->ungranted <= counts->handles);
}

/* Removes a handle, which has joined, from its slice's counts. Lock held. */
static void leave_slice(struct fs_slices *slices, struct fs_handle *handle)
{
    struct fs_slice *slice = handle->slice;

    assert(mpiio_is_held(&slices->lock));
    fs_cut_left(handle);
    handle->joined = false;
    if (handle->opener != 0)
        forget_opener(find_opened(slices, handle->opener - 1));
    count(handle, -1U);
    if (handle->reads && slice->counts.readers == 0)
        fs_slices_open(slices, slice)->read--;
    if (slice->counts.handles == 0)
        LIST_REMOVE(slice, open);
}

bool fs_handle_leave(struct fs_slices *slices, struct fs_handle *handle)
{
    bool last;

    pthread_mutex_lock(&slices->lock);
    if (handle->joined)
        leave_slice(slices, handle);
    last = handle->writes && handle->slice->counts.writers == 0;
    pthread_cond_broadcast(&slices->opened);
    pthread_mutex_unlock(&slices->lock);
    return last;
}

void fs_handle_free(struct fs_slices *slices, struct fs_handle *handle)
{
    if (handle->slice != NULL)
        fs_slices_put(slices, handle->slice);
    free(handle->text);
    free(handle);
}

int fs_handle_join(struct fs_slices *slices, struct fs_handle *handle, fuse_ino_t inode,
                   pid_t opener)
{
    struct fs_slice *slice = handle->slice;
    int error = 0;

    pthread_mutex_lock(&slices->lock);
    if (slice->counts.handles == 0) {
        slice->inode_open = inode;
        atomic_store(&slice->paged, FS_UNPAGED);
    }
    if (slice->inode_open != inode) {
        error = -ESTALE;
    } else {
        if (slice->counts.handles == 0)
            LIST_INSERT_HEAD(&fs_slices_open(slices, slice)->slices, slice, open);
        if (handle->reads && slice->counts.readers == 0)
            fs_slices_open(slices, slice)->read++;
        count(handle, 1);
        handle->joined = true;
        fs_cut_joined(handle);
        remember_opener(slices, handle, opener);
        pthread_cond_broadcast(&slices->opened);
    }
    pthread_mutex_unlock(&slices->lock);
    return error;
}

void fs_handle_holds(struct fs_slices *slices, struct fs_handle *handle)
{
    pthread_mutex_lock(&slices->lock);
    assert(handle->joined && !handle->holds);
    handle->holds = true;
    handle->slice->counts.holders++;
    pthread_mutex_unlock(&slices->lock);
}

bool fs_handle_reads_beside(struct fs_slices *slices, const struct fs_slice *slice)
{
    return MPIIO_LOCKED(&slices->lock,
                        fs_slices_open(slices, slice)->read > (slice->counts.readers > 0));
}

void fs_handle_readers(struct fs_slices *slices, struct fs_slice *slice, bool apart,
                       struct fs_slice_list *list)
{
    struct fs_slice *other = NULL;
    bool added = true;

    *list = (struct fs_slice_list){0};
    pthread_mutex_lock(&slices->lock);
    while (added && (other = fs_slices_related(slices, slice, apart, other)) != NULL)
        if (other->counts.readers > 0)
            added = fs_slice_list_add(list, other);
    pthread_mutex_unlock(&slices->lock);
}

void fs_handle_flushed(struct fs_slices *slices, struct fs_handle *handle)
{
    pthread_mutex_lock(&slices->lock);
    if (handle->joined && !handle->flushed) {
        handle->slice->counts.flushed++;
        fs_cut_closed(handle);
    }
    handle->flushed = true;
    pthread_mutex_unlock(&slices->lock);
}

/* Returns true if all handles of the slice were closed at least once. Lock held. */
static bool may_be_released(const struct fs_slice *slice)
{
    return slice->counts.handles > 0 && slice->counts.flushed == slice->counts.handles;
}

void fs_handle_await_release(struct fs_slices *slices, struct fs_slice *slice,
                             void (*waits)(void *data, bool waits), void *data)
{
    bool cut = fs_cut_mark(&slice->cut) != FS_UNCUT;
    int64_t limit = mpiio_clock() + (cut ? RELEASE_CUT_MS : RELEASE_MS);

    if (!MPIIO_LOCKED(&slices->lock, may_be_released(slice)))
        return;
    waits(data, true);
    pthread_mutex_lock(&slices->lock);
    while (may_be_released(slice) && mpiio_wait_until(&slices->opened, &slices->lock, limit))
        continue;
    pthread_mutex_unlock(&slices->lock);
    waits(data, false);
}

struct fs_handle *fs_handle_take_opened(struct fs_slices *slices, struct fs_slice *slice,
                                        pid_t thread)
{
    struct fs_handle **link, *found = NULL;

    pthread_mutex_lock(&slices->lock);
    link = find_opened(slices, thread);
    if (*link != NULL && (*link)->slice == slice) {
        found = *link;
        forget_opener(link);
    }
    pthread_mutex_unlock(&slices->lock);
    return found;
}
