/* SPDX-License-Identifier: MIT */
#include "losses.h"

#include <stdlib.h>

/* Parts that are kept in mind: a few MiB. */
#define LOSSES_MAX 65536

struct fs_loss {
    struct fs_loss *next;
    uint64_t inode;
    int64_t start, end;
};

void fs_losses_init(struct fs_losses *losses)
{
    *losses = (struct fs_losses){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void fs_losses_free(struct fs_losses *losses)
{
    while (losses->first != NULL) {
        struct fs_loss *loss = losses->first;

        losses->first = loss->next;
        free(loss);
    }
    pthread_mutex_destroy(&losses->lock);
}

/* Lock held. Without room the part is counted only, and for good. */
static void insert(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end)
{
    struct fs_loss *loss = losses->first;

    if (loss != NULL && loss->inode == inode && loss->end == start) {
        loss->end = end;
        return;
    }
    loss = atomic_load(&losses->count) < LOSSES_MAX ? malloc(sizeof(*loss)) : NULL;
    if (loss == NULL) {
        losses->forgotten += (uint64_t)(end - start);
        return;
    }
    *loss = (struct fs_loss){.next = losses->first, .inode = inode, .start = start, .end = end};
    losses->first = loss;
    atomic_fetch_add(&losses->count, 1);
}

/* Lock held. */
static void subtract(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end)
{
    struct fs_loss **link = &losses->first;

    while (*link != NULL) {
        struct fs_loss *loss = *link;
        struct fs_loss old = *loss;

        if (old.inode != inode || old.end <= start || old.start >= end) {
            link = &loss->next;
            continue;
        }
        *link = old.next;
        free(loss);
        atomic_fetch_sub(&losses->count, 1);
        if (old.start < start)
            insert(losses, inode, old.start, start);
        if (old.end > end)
            insert(losses, inode, end, old.end);
        link = &losses->first; /* what is left lies outside: this ends */
    }
}

void fs_losses_add(struct fs_losses *losses, uint64_t inode, int64_t start, int64_t end, int error)
{
    pthread_mutex_lock(&losses->lock);
    subtract(losses, inode, start, end);
    insert(losses, inode, start, end);
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
