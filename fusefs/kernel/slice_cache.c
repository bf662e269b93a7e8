/* SPDX-License-Identifier: MIT */
#include "slice_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "fusefs/kernel/sync.h"
#include "fusefs/session.h"

/* Slices that are remembered, with or without a copy. */
#define COPIES 4096

struct fs_copy {
    struct fs_copy *next; /* lock: the cache's, as of the two that follow */
    unsigned references;  /* handles, and requests that open or close */
    uint64_t inode;

    pthread_mutex_t lock; /* of what follows; held while the copy is made */
    bool opened;          /* it was, before */
    unsigned plain;       /* open by asking the daemon */
    unsigned passed;      /* open by the copy */
    int file;             /* the copy; -1: none */
    int id;
    int64_t room; /* bytes that count as the copy's in the cache */
    struct fs_version version;
};

/* A filesystem in memory of large pages: its root, or a negative errno. */
static int make_folder(void)
{
    int context = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int folder = -1;

    if (context >= 0 && fsconfig(context, FSCONFIG_SET_STRING, "huge", "always", 0) == 0 &&
        fsconfig(context, FSCONFIG_SET_STRING, "size", "100%", 0) == 0 &&
        fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        folder = fsmount(context, FSMOUNT_CLOEXEC, 0);
    if (folder < 0)
        folder = -errno;
    if (context >= 0)
        close(context);
    return folder;
}

void fs_slice_cache_start(struct fs_slice_cache *cache, struct fs_session *session,
                          fs_slice_read *read)
{
    *cache = (struct fs_slice_cache){.session = session, .read = read, .folder = -1};
    pthread_mutex_init(&cache->lock, NULL);
    if (session->options->slice_cache == 0)
        return;
    if (session->read_only == 0) {
        fs_log_error(&session->log, "slice_cache: only for a mount that is read-only (-o ro)");
        return;
    }
    cache->folder = make_folder();
    if (cache->folder < 0)
        fs_log_error(&session->log, "slice_cache: %s", strerror(-cache->folder));
}

/* The copy itself goes, if there is one; nobody has it open. The cache's lock is held. */
static void drop(struct fs_slice_cache *cache, struct fs_copy *copy)
{
    if (copy->id != 0)
        fs_passthrough_remove(cache->session, copy->id);
    if (copy->file >= 0)
        close(copy->file);
    cache->used -= copy->room;
    copy->file = -1;
    copy->id = 0;
    copy->room = 0;
    copy->version.settled = false;
}

void fs_slice_cache_stop(struct fs_slice_cache *cache)
{
    while (cache->first != NULL) {
        struct fs_copy *copy = cache->first;

        cache->first = copy->next;
        drop(cache, copy);
        pthread_mutex_destroy(&copy->lock);
        free(copy);
    }
    if (cache->folder >= 0)
        close(cache->folder);
    pthread_mutex_destroy(&cache->lock);
}

/* Forgets the one used longest ago if there are too many. The lock is held. */
static void forget_oldest(struct fs_slice_cache *cache)
{
    struct fs_copy **link, **oldest = NULL;
    size_t count = 0;

    for (link = &cache->first; *link != NULL; link = &(*link)->next, count++)
        if ((*link)->references == 0)
            oldest = link;
    if (count >= COPIES && oldest != NULL) {
        struct fs_copy *copy = *oldest;

        *oldest = copy->next;
        drop(cache, copy);
        pthread_mutex_destroy(&copy->lock);
        free(copy);
    }
}

/* A reference to what is known of a slice, which becomes the first; NULL without memory. */
static struct fs_copy *get(struct fs_slice_cache *cache, uint64_t inode)
{
    struct fs_copy **link = &cache->first, *copy;

    pthread_mutex_lock(&cache->lock);
    while (*link != NULL && (*link)->inode != inode)
        link = &(*link)->next;
    copy = *link;
    if (copy != NULL) {
        *link = copy->next;
    } else {
        forget_oldest(cache);
        copy = malloc(sizeof(*copy));
        if (copy != NULL) {
            *copy = (struct fs_copy){.inode = inode, .file = -1};
            pthread_mutex_init(&copy->lock, NULL);
        }
    }
    if (copy != NULL) {
        copy->next = cache->first;
        cache->first = copy;
        copy->references++;
    }
    pthread_mutex_unlock(&cache->lock);
    return copy;
}

static void put(struct fs_slice_cache *cache, struct fs_copy *copy)
{
    pthread_mutex_lock(&cache->lock);
    copy->references--;
    pthread_mutex_unlock(&cache->lock);
}

/* Has size bytes count as the copy's; copies that nobody has open go for it. */
static int make_room(struct fs_slice_cache *cache, struct fs_copy *copy, int64_t size)
{
    int64_t limit = cache->session->options->slice_cache;
    int error = 0;

    pthread_mutex_lock(&cache->lock);
    while (size - copy->room > limit - cache->used && error == 0) {
        struct fs_copy *oldest = NULL;

        for (struct fs_copy *other = cache->first; other != NULL; other = other->next)
            if (other->references == 0 && other->room > 0)
                oldest = other;
        if (oldest != NULL)
            drop(cache, oldest);
        else
            error = -ENOSPC;
    }
    if (error == 0) {
        cache->used += size - copy->room;
        copy->room = size;
    }
    pthread_mutex_unlock(&cache->lock);
    return error;
}

/* Copies the slice, up to its end. The length that it has, or a negative errno. */
static int64_t copy_bytes(struct fs_slice_cache *cache, struct fs_slice *slice, int file)
{
    char *buffer = malloc(FS_READ_MAX);
    int64_t length = 0;
    ssize_t got = buffer != NULL ? 1 : -ENOMEM;

    while (got > 0) {
        got = cache->read(cache->session, slice, buffer, FS_READ_MAX, length);
        if (got > 0 && pwrite(file, buffer, (size_t)got, length) != got)
            got = -ENOSPC;
        if (got > 0)
            length += got;
    }
    free(buffer);
    return got < 0 ? got : length;
}

/* The copy is that of the slice now. 0 or a negative errno. Its lock is held. */
static int fill(struct fs_slice_cache *cache, struct fs_slice *slice, struct fs_copy *copy)
{
    struct fs_version version;
    int64_t length = mpiio_slice_size(slice->slice);
    int error = length < 0 ? (int)length : fs_version_now(cache->session, &version);

    if (error == 0 && fs_version_same(&version, &copy->version))
        return 0;
    copy->version.settled = false;
    if (error == 0)
        error = make_room(cache, copy, slice->header + length);
    if (error == 0 && copy->file < 0) {
        copy->file = openat(cache->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        error = copy->file < 0 ? -errno : 0;
    }
    if (error == 0 && copy->id == 0) {
        copy->id = fs_passthrough_add(cache->session, copy->file);
        error = copy->id == 0 ? -EOPNOTSUPP : 0;
    }
    if (error != 0)
        return error;
    length = copy_bytes(cache, slice, copy->file);
    if (length < 0 || ftruncate(copy->file, length) != 0)
        return length < 0 ? (int)length : -errno;
    copy->version = version;
    pthread_mutex_lock(&cache->lock);
    cache->fills++;
    pthread_mutex_unlock(&cache->lock);
    return 0;
}

/* A copy that cannot be made, and that nobody has open, takes no memory. */
static void give_up(struct fs_slice_cache *cache, struct fs_copy *copy)
{
    pthread_mutex_lock(&cache->lock);
    drop(cache, copy);
    pthread_mutex_unlock(&cache->lock);
}

int fs_slice_cache_open(struct fs_slice_cache *cache, struct fs_slice *slice, struct fs_copy **copy,
                        int *id)
{
    int error = 0;
    bool passes;

    *id = 0;
    *copy = NULL;
    if (cache->folder < 0 || !fs_passthrough_is_agreed(cache->session))
        return 0;
    *copy = get(cache, slice->inode);
    if (*copy == NULL)
        return 0;
    pthread_mutex_lock(&(*copy)->lock);
    passes = (*copy)->passed > 0 || ((*copy)->plain == 0 && (*copy)->opened);
    if (passes)
        error = fill(cache, slice, *copy);
    if (error != 0 && (*copy)->passed == 0) {
        give_up(cache, *copy);
        error = 0;
        passes = false;
    }
    if (error == 0) {
        (*copy)->opened = true;
        (*copy)->passed += passes;
        (*copy)->plain += !passes;
        *id = passes ? (*copy)->id : 0;
    }
    pthread_mutex_unlock(&(*copy)->lock);
    if (error != 0) {
        put(cache, *copy);
        *copy = NULL;
    }
    return error;
}

void fs_slice_cache_close(struct fs_slice_cache *cache, struct fs_copy *copy, int id)
{
    if (copy == NULL)
        return;
    pthread_mutex_lock(&copy->lock);
    copy->passed -= id != 0;
    copy->plain -= id == 0;
    pthread_mutex_unlock(&copy->lock);
    put(cache, copy);
}

void fs_slice_cache_stats(struct fs_slice_cache *cache, int64_t *bytes, uint64_t *fills)
{
    pthread_mutex_lock(&cache->lock);
    *bytes = cache->used;
    *fills = cache->fills;
    pthread_mutex_unlock(&cache->lock);
}
