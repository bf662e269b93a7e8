/* SPDX-License-Identifier: MIT */
#include "slice_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/thread.h"
#include "viewspec/base/list.h"
#include "viewspec/base/search.h"

/* Partial elements of a slice: a table by offset. */

void mpiio_partial_init(struct mpiio_partial *partial)
{
    *partial = (struct mpiio_partial){.room = 0};
    pthread_mutex_init(&partial->lock, NULL);
}

void mpiio_partial_destroy(struct mpiio_partial *partial)
{
    free(partial->list);
    pthread_mutex_destroy(&partial->lock);
}

/* Returns the index of the first element at or after offset. With the lock held. */
static size_t find_element(const struct mpiio_partial *partial, int64_t offset)
{
    assert(mpiio_is_held(&partial->lock));
    return (size_t)VS_FIRST(i, 0, (int64_t)partial->count, partial->list[i].offset >= offset);
}

bool mpiio_partial_next(struct mpiio_partial *partial, int64_t offset,
                        struct mpiio_partial_element *element)
{
    bool found = false;
    size_t i;

    if (!mpiio_partial_hold(partial))
        return false;
    i = find_element(partial, offset);
    if (i < partial->count) {
        *element = partial->list[i];
        found = true;
    }
    mpiio_partial_let(partial);
    return found;
}

/* With the lock held. */
static int make_room(struct mpiio_partial *partial)
{
    struct mpiio_partial_element *list = NULL;

    if (partial->count < MPIIO_PARTIAL_MAX)
        list = vs_list_grow(partial->list, partial->count, &partial->room, sizeof(*list));
    if (list == NULL)
        return -ENOMEM;
    partial->list = list;
    return 0;
}

int mpiio_partial_put(struct mpiio_partial *partial, const struct mpiio_partial_element *element)
{
    int error = 0;
    size_t i;

    pthread_mutex_lock(&partial->lock);
    i = find_element(partial, element->offset);
    if (i == partial->count || partial->list[i].offset != element->offset) {
        error = make_room(partial);
        if (error == 0) {
            memmove(partial->list + i + 1, partial->list + i,
                    (partial->count - i) * sizeof(*partial->list));
            partial->count++;
        }
    }
    if (error == 0)
        partial->list[i] = *element;
    pthread_mutex_unlock(&partial->lock);
    return error;
}

void mpiio_partial_drop(struct mpiio_partial *partial, int64_t start, int64_t end)
{
    size_t first, behind;

    assert(start <= end);
    if (!mpiio_partial_hold(partial))
        return;
    first = find_element(partial, start);
    behind = find_element(partial, end);
    memmove(partial->list + first, partial->list + behind,
            (partial->count - behind) * sizeof(*partial->list));
    partial->count -= behind - first;
    mpiio_partial_let(partial);
}

bool mpiio_partial_hold(struct mpiio_partial *partial)
{
    if (atomic_load(&partial->count) == 0)
        return false;
    pthread_mutex_lock(&partial->lock);
    return true;
}

void mpiio_partial_let(struct mpiio_partial *partial)
{
    pthread_mutex_unlock(&partial->lock);
}

void mpiio_partial_overlay(const struct mpiio_partial *partial, int64_t offset, size_t length,
                           void *bytes, mpiio_partial_stands *stands, void *argument)
{
    unsigned char *to = bytes;

    for (size_t i = find_element(partial, offset - MPIIO_ELEMENT_NATIVE); i < partial->count; i++) {
        const struct mpiio_partial_element *element = &partial->list[i];
        int64_t skew = element->offset - offset;

        if (skew >= (int64_t)length)
            break;
        if (skew + element->native <= 0 || !stands(argument, element))
            continue;
        for (int64_t j = 0; j < element->native; j++)
            if ((element->written >> j & 1) && skew + j >= 0 && skew + j < (int64_t)length)
                to[skew + j] = element->bytes[j];
    }
}
