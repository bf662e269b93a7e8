/* SPDX-License-Identifier: MIT */
#include "losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"

/* The maximum number of lost ranges in the list, which then takes a few MiB. */
#define LOSSES_MAX 65536
/* The maximum number of their bytes that are kept. */
#define LOSSES_KEPT ((size_t)64 << 20)

struct fs_loss {
    struct fs_loss *next; /* the next older one */
    uint64_t number;      /* sequence number, by age */
    uint64_t inode;
    int64_t start, end;
    char *bytes; /* NULL: the bytes are not kept */
};

void fs_losses_init(struct fs_losses *losses)
{
    *losses = (struct fs_losses){.lock = PTHREAD_MUTEX_INITIALIZER};
    /* Prefers fs_losses_retry, so that a stream of writes cannot starve it. */
    mpiio_rwlock_init(&losses->storing);
}

/*
 * Removes the range that link points to from the list, and returns it. The caller owns its bytes.
 * Lock held.
 */
static struct fs_loss take_loss(struct fs_losses *losses, struct fs_loss **link)
{
    struct fs_loss *loss = *link;
    struct fs_loss taken = *loss;

    *link = loss->next;
    if (loss->bytes != NULL) {
        assert(losses->kept >= (size_t)(loss->end - loss->start));
        losses->kept -= (size_t)(loss->end - loss->start);
    }
    free(loss);
    assert(atomic_load(&losses->count) > 0);
    atomic_fetch_sub(&losses->count, 1);
    atomic_fetch_add(&losses->changes, 1);
    return taken;
}

void fs_losses_free(struct fs_losses *losses)
{
    while (losses->first != NULL)
        free(take_loss(losses, &losses->first).bytes);
    pthread_mutex_destroy(&losses->lock);
    pthread_rwlock_destroy(&losses->storing);
}

bool fs_losses_begin_write(struct fs_losses *losses)
{
    return atomic_load(&losses->count) != 0 && pthread_rwlock_rdlock(&losses->storing) == 0;
}

void fs_losses_end_write(struct fs_losses *losses, bool begun)
{
    if (begun)
        pthread_rwlock_unlock(&losses->storing);
}

/* Returns a copy of bytes, or NULL if the limit is reached or memory is short. Lock held. */
static char *keep_bytes(const struct fs_losses *losses, const char *bytes, size_t length)
{
    char *copy = NULL;

    assert(losses->kept <= LOSSES_KEPT);
    if (bytes != NULL && length <= LOSSES_KEPT - losses->kept)
        copy = malloc(length);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}

/*
 * Adds a range to the list. Without memory for the bytes it records only the range; without memory
 * for that it only counts the bytes, permanently. Lock held.
 */
static void insert(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end,
                   const char *bytes)
{
    struct fs_loss *loss = losses->first;
    char *copy = keep_bytes(losses, bytes, (size_t)(end - start));

    assert(mpiio_is_held(&losses->lock));
    assert(start < end);
    atomic_fetch_add(&losses->changes, 1);
    if (copy == NULL && loss != NULL && loss->bytes == NULL && loss->inode == inode &&
        loss->end == start) {
        loss->end = end;
        return;
    }
    loss = atomic_load(&losses->count) < LOSSES_MAX ? malloc(sizeof(*loss)) : NULL;
    if (loss == NULL) {
        losses->forgotten += (uint64_t)(end - start);
        free(copy);
        return;
    }
    *loss = (struct fs_loss){.next = losses->first,
                             .number = ++losses->made,
                             .inode = inode,
                             .start = start,
                             .end = end,
                             .bytes = copy};
    losses->first = loss;
    if (copy != NULL)
        losses->kept += (size_t)(end - start);
    atomic_fetch_add(&losses->count, 1);
}

/* Removes [start, end) from the ranges of the slice. Lock held. */
static void subtract(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end)
{
    struct fs_loss **link = &losses->first;

    assert(mpiio_is_held(&losses->lock));
    while (*link != NULL) {
        const struct fs_loss *loss = *link;
        struct fs_loss old;

        if (loss->inode != inode || loss->end <= start || loss->start >= end) {
            link = &(*link)->next;
            continue;
        }
        old = take_loss(losses, link);
        if (old.start < start)
            insert(losses, inode, old.start, start, old.bytes);
        if (old.end > end)
            insert(losses, inode, end, old.end,
                   old.bytes != NULL ? old.bytes + (end - old.start) : NULL);
        free(old.bytes);
        link = &losses->first; /* the remaining parts lie outside the range, so the loop ends */
    }
}

void fs_losses_add(struct fs_losses *losses, uint64_t inode, const char *bytes, size_t length,
                   int64_t offset, int error)
{
    pthread_mutex_lock(&losses->lock);
    subtract(losses, inode, offset, offset + (int64_t)length);
    insert(losses, inode, offset, offset + (int64_t)length, bytes);
    losses->error = error;
    pthread_mutex_unlock(&losses->lock);
}

void fs_losses_remove(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end)
{
    if (atomic_load(&losses->count) == 0)
        return;
    pthread_mutex_lock(&losses->lock);
    subtract(losses, inode, start, end);
    pthread_mutex_unlock(&losses->lock);
}

size_t fs_losses_overlay(struct fs_losses *losses, uint64_t inode, char *buffer, size_t got,
                         size_t size, int64_t offset, bool grow)
{
    if (atomic_load(&losses->count) == 0)
        return got;
    if (grow)
        memset(buffer + got, 0, size - got);
    else
        size = got;
    pthread_mutex_lock(&losses->lock);
    for (const struct fs_loss *loss = losses->first; loss != NULL; loss = loss->next) {
        int64_t start = loss->start > offset ? loss->start : offset;
        int64_t limit = offset + (int64_t)size;
        int64_t end = loss->end < limit ? loss->end : limit;

        if (loss->inode != inode || loss->bytes == NULL || start >= end)
            continue;
        memcpy(buffer + (start - offset), loss->bytes + (start - loss->start),
               (size_t)(end - start));
        if ((size_t)(end - offset) > got)
            got = (size_t)(end - offset);
    }
    pthread_mutex_unlock(&losses->lock);
    return got;
}

/*
 * Stores a copy of a range without the lock, because the store may wait for threads that need it.
 * Returns true if all is stored. Lock held, but released during the store.
 */
static bool store_part(struct fs_losses *losses, const struct fs_loss *loss, fs_losses_store *store,
                       void *data)
{
    size_t length = (size_t)(loss->end - loss->start), done = 0;
    uint64_t inode = loss->inode;
    int64_t start = loss->start;
    char *copy = malloc(length);
    int error = -ENOMEM;

    assert(mpiio_is_held(&losses->lock));
    if (copy != NULL) {
        memcpy(copy, loss->bytes, length);
        pthread_mutex_unlock(&losses->lock);
        done = store(data, inode, copy, length, start, &error);
        free(copy);
        pthread_mutex_lock(&losses->lock);
    }
    if (done < length)
        losses->error = error;
    return done == length;
}

/* Returns the link to the range with that number, or to the next older one. Lock held. */
static struct fs_loss **find_loss(struct fs_losses *losses, uint64_t number)
{
    struct fs_loss **link = &losses->first;

    assert(mpiio_is_held(&losses->lock));
    while (*link != NULL && (*link)->number > number)
        link = &(*link)->next;
    return link;
}

void fs_losses_retry(struct fs_losses *losses, fs_losses_store *store, void *data)
{
    struct fs_loss **link = &losses->first;

    if (atomic_load(&losses->count) == 0)
        return;
    pthread_rwlock_wrlock(&losses->storing);
    pthread_mutex_lock(&losses->lock);
    while (*link != NULL) {
        unsigned changes = atomic_load(&losses->changes);
        uint64_t number = (*link)->number;
        bool stored = (*link)->bytes != NULL && store_part(losses, *link, store, data);

        if (atomic_load(&losses->changes) != changes)
            link = find_loss(losses, number);
        if (*link == NULL || (*link)->number != number)
            continue;
        if (stored)
            free(take_loss(losses, link).bytes);
        else /* If part of the range is stored, storing the same bytes again is harmless. */
            link = &(*link)->next;
    }
    pthread_mutex_unlock(&losses->lock);
    pthread_rwlock_unlock(&losses->storing);
}

int fs_losses_error(struct fs_losses *losses, uint64_t inode)
{
    const struct fs_loss *loss;
    int error;

    if (atomic_load(&losses->count) == 0)
        return 0;
    pthread_mutex_lock(&losses->lock);
    loss = losses->first;
    while (loss != NULL && loss->inode != inode)
        loss = loss->next;
    error = loss != NULL ? losses->error : 0;
    pthread_mutex_unlock(&losses->lock);
    return error;
}

uint64_t fs_losses_bytes(struct fs_losses *losses, int *error)
{
    uint64_t bytes;

    pthread_mutex_lock(&losses->lock);
    bytes = losses->forgotten;
    for (const struct fs_loss *loss = losses->first; loss != NULL; loss = loss->next)
        bytes += (uint64_t)(loss->end - loss->start);
    *error = losses->error;
    pthread_mutex_unlock(&losses->lock);
    return bytes;
}
