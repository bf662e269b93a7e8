/* SPDX-License-Identifier: MIT */
#include "unwritten.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"

/* The maximum number of lost ranges in the list, which then takes a few MiB. */
#define LOSSES_MAX 65536
/* The maximum number of their bytes that are kept. */
#define LOSSES_KEPT ((size_t)64 << 20)

struct fs_unwritten_range {
    struct fs_unwritten_range *next; /* the next older one */
    uint64_t number;                 /* sequence number, by age */
    uint64_t inode;
    int64_t start, end;
    char *bytes; /* NULL: the bytes are not kept */
};

void fs_unwritten_init(struct fs_unwritten *unwritten)
{
    *unwritten = (struct fs_unwritten){.lock = PTHREAD_MUTEX_INITIALIZER};
    /* Prefers fs_unwritten_retry, so that a stream of writes cannot starve it. */
    mpiio_rwlock_init(&unwritten->storing);
}

/*
 * Removes the range that link points to from the list, and returns it. The caller owns its bytes.
 * Lock held.
 */
static struct fs_unwritten_range take_loss(struct fs_unwritten *unwritten,
                                           struct fs_unwritten_range **link)
{
    struct fs_unwritten_range *range = *link;
    struct fs_unwritten_range taken = *range;

    *link = range->next;
    if (range->bytes != NULL) {
        assert(unwritten->kept >= (size_t)(range->end - range->start));
        unwritten->kept -= (size_t)(range->end - range->start);
    }
    free(range);
    assert(atomic_load(&unwritten->count) > 0);
    atomic_fetch_sub(&unwritten->count, 1);
    atomic_fetch_add(&unwritten->changes, 1);
    return taken;
}

void fs_unwritten_free(struct fs_unwritten *unwritten)
{
    while (unwritten->first != NULL)
        free(take_loss(unwritten, &unwritten->first).bytes);
    pthread_mutex_destroy(&unwritten->lock);
    pthread_rwlock_destroy(&unwritten->storing);
}

bool fs_unwritten_begin_write(struct fs_unwritten *unwritten)
{
    return atomic_load(&unwritten->count) != 0 && pthread_rwlock_rdlock(&unwritten->storing) == 0;
}

void fs_unwritten_end_write(struct fs_unwritten *unwritten, bool begun)
{
    if (begun)
        pthread_rwlock_unlock(&unwritten->storing);
}

/* Returns a copy of bytes, or NULL if the limit is reached or memory is short. Lock held. */
static char *keep_bytes(const struct fs_unwritten *unwritten, const char *bytes, size_t length)
{
    char *copy = NULL;

    assert(unwritten->kept <= LOSSES_KEPT);
    if (bytes != NULL && length <= LOSSES_KEPT - unwritten->kept)
        copy = malloc(length);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}

/*
 * Adds a range to the list. Without memory for the bytes it records only the range; without memory
 * for that it only counts the bytes, permanently. Lock held.
 */
static void insert(struct fs_unwritten *unwritten, uint64_t inode, int64_t start, int64_t end,
                   const char *bytes)
{
    struct fs_unwritten_range *range = unwritten->first;
    char *copy = keep_bytes(unwritten, bytes, (size_t)(end - start));

    assert(mpiio_is_held(&unwritten->lock));
    assert(start < end);
    atomic_fetch_add(&unwritten->changes, 1);
    if (copy == NULL && range != NULL && range->bytes == NULL && range->inode == inode &&
        range->end == start) {
        range->end = end;
        return;
    }
    range = atomic_load(&unwritten->count) < LOSSES_MAX ? malloc(sizeof(*range)) : NULL;
    if (range == NULL) {
        unwritten->forgotten += (uint64_t)(end - start);
        free(copy);
        return;
    }
    *range = (struct fs_unwritten_range){.next = unwritten->first,
                                         .number = ++unwritten->made,
                                         .inode = inode,
                                         .start = start,
                                         .end = end,
                                         .bytes = copy};
    unwritten->first = range;
    if (copy != NULL)
        unwritten->kept += (size_t)(end - start);
    atomic_fetch_add(&unwritten->count, 1);
}

/* Removes [start, end) from the ranges of the slice. Lock held. */
static void subtract(struct fs_unwritten *unwritten, uint64_t inode, int64_t start, int64_t end)
{
    struct fs_unwritten_range **link = &unwritten->first;

    assert(mpiio_is_held(&unwritten->lock));
    while (*link != NULL) {
        const struct fs_unwritten_range *range = *link;
        struct fs_unwritten_range old;

        if (range->inode != inode || range->end <= start || range->start >= end) {
            link = &(*link)->next;
            continue;
        }
        old = take_loss(unwritten, link);
        if (old.start < start)
            insert(unwritten, inode, old.start, start, old.bytes);
        if (old.end > end)
            insert(unwritten, inode, end, old.end,
                   old.bytes != NULL ? old.bytes + (end - old.start) : NULL);
        free(old.bytes);
        link = &unwritten->first; /* the remaining parts lie outside the range, so the loop ends */
    }
}

void fs_unwritten_add(struct fs_unwritten *unwritten, uint64_t inode, const char *bytes,
                      size_t length, int64_t offset, int error)
{
    pthread_mutex_lock(&unwritten->lock);
    subtract(unwritten, inode, offset, offset + (int64_t)length);
    insert(unwritten, inode, offset, offset + (int64_t)length, bytes);
    unwritten->error = error;
    pthread_mutex_unlock(&unwritten->lock);
}

void fs_unwritten_remove(struct fs_unwritten *unwritten, uint64_t inode, int64_t start, int64_t end)
{
    if (atomic_load(&unwritten->count) == 0)
        return;
    pthread_mutex_lock(&unwritten->lock);
    subtract(unwritten, inode, start, end);
    pthread_mutex_unlock(&unwritten->lock);
}

size_t fs_unwritten_overlay(struct fs_unwritten *unwritten, uint64_t inode, char *buffer,
                            size_t got, size_t size, int64_t offset, bool grow)
{
    if (atomic_load(&unwritten->count) == 0)
        return got;
    if (grow)
        memset(buffer + got, 0, size - got);
    else
        size = got;
    pthread_mutex_lock(&unwritten->lock);
    for (const struct fs_unwritten_range *range = unwritten->first; range != NULL;
         range = range->next) {
        int64_t start = range->start > offset ? range->start : offset;
        int64_t limit = offset + (int64_t)size;
        int64_t end = range->end < limit ? range->end : limit;

        if (range->inode != inode || range->bytes == NULL || start >= end)
            continue;
        memcpy(buffer + (start - offset), range->bytes + (start - range->start),
               (size_t)(end - start));
        if ((size_t)(end - offset) > got)
            got = (size_t)(end - offset);
    }
    pthread_mutex_unlock(&unwritten->lock);
    return got;
}

/*
 * Stores a copy of a range without the lock, because the store may wait for threads that need it.
 * Returns true if all is stored. Lock held, but released during the store.
 */
static bool store_part(struct fs_unwritten *unwritten, const struct fs_unwritten_range *range,
                       fs_unwritten_store *store, void *data)
{
    size_t length = (size_t)(range->end - range->start), done = 0;
    uint64_t inode = range->inode;
    int64_t start = range->start;
    char *copy = malloc(length);
    int error = -ENOMEM;

    assert(mpiio_is_held(&unwritten->lock));
    if (copy != NULL) {
        memcpy(copy, range->bytes, length);
        pthread_mutex_unlock(&unwritten->lock);
        done = store(data, inode, copy, length, start, &error);
        free(copy);
        pthread_mutex_lock(&unwritten->lock);
    }
    if (done < length)
        unwritten->error = error;
    return done == length;
}

/* Returns the link to the range with that number, or to the next older one. Lock held. */
static struct fs_unwritten_range **find_loss(struct fs_unwritten *unwritten, uint64_t number)
{
    struct fs_unwritten_range **link = &unwritten->first;

    assert(mpiio_is_held(&unwritten->lock));
    while (*link != NULL && (*link)->number > number)
        link = &(*link)->next;
    return link;
}

void fs_unwritten_retry(struct fs_unwritten *unwritten, fs_unwritten_store *store, void *data)
{
    struct fs_unwritten_range **link = &unwritten->first;

    if (atomic_load(&unwritten->count) == 0)
        return;
    pthread_rwlock_wrlock(&unwritten->storing);
    pthread_mutex_lock(&unwritten->lock);
    while (*link != NULL) {
        unsigned changes = atomic_load(&unwritten->changes);
        uint64_t number = (*link)->number;
        bool stored = (*link)->bytes != NULL && store_part(unwritten, *link, store, data);

        if (atomic_load(&unwritten->changes) != changes)
            link = find_loss(unwritten, number);
        if (*link == NULL || (*link)->number != number)
            continue;
        if (stored)
            free(take_loss(unwritten, link).bytes);
        else /* If part of the range is stored, storing the same bytes again is harmless. */
            link = &(*link)->next;
    }
    pthread_mutex_unlock(&unwritten->lock);
    pthread_rwlock_unlock(&unwritten->storing);
}

int fs_unwritten_error(struct fs_unwritten *unwritten, uint64_t inode)
{
    const struct fs_unwritten_range *range;
    int error;

    if (atomic_load(&unwritten->count) == 0)
        return 0;
    pthread_mutex_lock(&unwritten->lock);
    range = unwritten->first;
    while (range != NULL && range->inode != inode)
        range = range->next;
    error = range != NULL ? unwritten->error : 0;
    pthread_mutex_unlock(&unwritten->lock);
    return error;
}

uint64_t fs_unwritten_bytes(struct fs_unwritten *unwritten, int *error)
{
    uint64_t bytes;

    pthread_mutex_lock(&unwritten->lock);
    bytes = unwritten->forgotten;
    for (const struct fs_unwritten_range *range = unwritten->first; range != NULL;
         range = range->next)
        bytes += (uint64_t)(range->end - range->start);
    *error = unwritten->error;
    pthread_mutex_unlock(&unwritten->lock);
    return bytes;
}
