/* SPDX-License-Identifier: MIT */
#include "handle.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* How long a release that may be under way is waited for, in ns: steps that double. */
#define RELEASE_PAUSE     20000
#define RELEASE_PAUSE_MAX 5000000

/* Lock held. A handle that never joined is not found. */
static void leave(struct fs_slices *slices, struct fs_slice *slice, struct fs_handle *handle)
{
    struct fs_handle **link = &slice->handles;
    struct fs_slice **place = &slices->open;

    while (*link != NULL && *link != handle)
        link = &(*link)->next;
    if (*link == NULL)
        return;
    *link = handle->next;
    if (slice->handles != NULL)
        return;
    while (*place != slice)
        place = &(*place)->next_open;
    *place = slice->next_open;
}

bool fs_handle_leave(struct fs_slices *slices, struct fs_handle *handle)
{
    bool last;

    pthread_mutex_lock(&slices->lock);
    leave(slices, handle->slice, handle);
    last = handle->writes && !fs_slice_has_writer(handle->slice);
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
    if (slice->handles == NULL) {
        slice->inode_open = inode;
        atomic_store(&slice->paged, FS_UNPAGED);
    }
    if (slice->inode_open != inode) {
        error = -ESTALE;
    } else {
        if (slice->handles == NULL) {
            slice->next_open = slices->open;
            slices->open = slice;
        }
        handle->opener = opener;
        handle->next = slice->handles;
        slice->handles = handle;
    }
    pthread_mutex_unlock(&slices->lock);
    return error;
}

/* Lock held. */
static bool is_read(const struct fs_slice *slice)
{
    const struct fs_handle *handle = slice->handles;

    while (handle != NULL && !handle->reads)
        handle = handle->next;
    return handle != NULL;
}

bool fs_handle_is_read(struct fs_slices *slices, struct fs_slice *slice)
{
    bool found;

    pthread_mutex_lock(&slices->lock);
    found = is_read(slice);
    pthread_mutex_unlock(&slices->lock);
    return found;
}

bool fs_handle_may_hold(struct fs_slices *slices, struct fs_slice *slice)
{
    const struct fs_handle *handle;

    pthread_mutex_lock(&slices->lock);
    handle = slice->handles;
    while (handle != NULL && !handle->holds)
        handle = handle->next;
    pthread_mutex_unlock(&slices->lock);
    return handle != NULL;
}

/* How many slices but the given one are open for reading; of the first room, a reference each. Lock
   held. */
static size_t collect_readers(struct fs_slices *slices, const struct fs_slice *but,
                              struct fs_slice **list, size_t room)
{
    size_t count = 0;

    for (struct fs_slice *slice = slices->open; slice != NULL; slice = slice->next_open) {
        if (slice == but || !is_read(slice))
            continue;
        if (count < room) {
            slice->references++;
            list[count] = slice;
        }
        count++;
    }
    return count;
}

size_t fs_handle_readers(struct fs_slices *slices, const struct fs_slice *but,
                         struct fs_slice ***list)
{
    size_t count;

    *list = NULL;
    pthread_mutex_lock(&slices->lock);
    count = collect_readers(slices, but, NULL, 0);
    if (count > 0)
        *list = calloc(count, sizeof(struct fs_slice *));
    if (*list != NULL)
        collect_readers(slices, but, *list, count);
    pthread_mutex_unlock(&slices->lock);
    return *list != NULL ? count : 0;
}

void fs_handle_flushed(struct fs_slices *slices, struct fs_handle *handle)
{
    pthread_mutex_lock(&slices->lock);
    handle->flushed = true;
    pthread_mutex_unlock(&slices->lock);
}

static bool may_be_released(struct fs_slices *slices, struct fs_slice *slice)
{
    struct fs_handle *handle;
    bool open;

    pthread_mutex_lock(&slices->lock);
    handle = slice->handles;
    open = handle != NULL;
    while (handle != NULL && handle->flushed)
        handle = handle->next;
    pthread_mutex_unlock(&slices->lock);
    return open && handle == NULL;
}

void fs_handle_await_release(struct fs_slices *slices, struct fs_slice *slice)
{
    struct timespec pause = {.tv_nsec = RELEASE_PAUSE};

    while (pause.tv_nsec <= RELEASE_PAUSE_MAX && may_be_released(slices, slice)) {
        nanosleep(&pause, NULL);
        pause.tv_nsec *= 2;
    }
}

/* Forgets that thread has just opened slice; true where it had. */
static bool clear_opener(struct fs_slices *slices, struct fs_slice *slice, pid_t thread)
{
    bool found = false;

    pthread_mutex_lock(&slices->lock);
    for (struct fs_handle *handle = slice->handles; handle != NULL; handle = handle->next) {
        if (handle->writes && handle->opener == thread) {
            handle->opener = 0;
            found = true;
        }
    }
    pthread_mutex_unlock(&slices->lock);
    return found;
}

void fs_handle_looked_up(struct fs_slices *slices, struct fs_slice *slice, pid_t thread)
{
    clear_opener(slices, slice, thread);
}

bool fs_handle_truncates(struct fs_slices *slices, struct fs_slice *slice, pid_t thread)
{
    return clear_opener(slices, slice, thread);
}
