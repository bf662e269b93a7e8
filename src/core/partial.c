/* SPDX-License-Identifier: MIT */
#include "partial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mpiio_torn_init(struct mpiio_torn *torn)
{
    *torn = (struct mpiio_torn){.room = 0};
    return -pthread_mutex_init(&torn->lock, NULL);
}

void mpiio_torn_destroy(struct mpiio_torn *torn)
{
    free(torn->list);
    pthread_mutex_destroy(&torn->lock);
}

/* The number of the first element at or behind offset. Lock held. */
static size_t find(const struct mpiio_torn *torn, int64_t offset)
{
    size_t low = 0, high = torn->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (torn->list[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mpiio_torn_next(struct mpiio_torn *torn, int64_t offset, struct mpiio_torn_element *element)
{
    bool found = false;
    size_t i;

    if (!mpiio_torn_hold(torn))
        return false;
    i = find(torn, offset);
    if (i < torn->count) {
        *element = torn->list[i];
        found = true;
    }
    mpiio_torn_let(torn);
    return found;
}

/* Lock held. */
static int make_room(struct mpiio_torn *torn)
{
    size_t room = torn->room > 0 ? 2 * torn->room : 16;
    struct mpiio_torn_element *list;

    if (torn->count < torn->room)
        return 0;
    if (torn->room == MPIIO_TORN_MAX)
        return -ENOMEM;
    list = reallocarray(torn->list, room, sizeof(*list));
    if (list == NULL)
        return -ENOMEM;
    torn->list = list;
    torn->room = room;
    return 0;
}

int mpiio_torn_put(struct mpiio_torn *torn, const struct mpiio_torn_element *element)
{
    int error = 0;
    size_t i;

    pthread_mutex_lock(&torn->lock);
    i = find(torn, element->offset);
    if (i == torn->count || torn->list[i].offset != element->offset) {
        error = make_room(torn);
        if (error == 0) {
            memmove(torn->list + i + 1, torn->list + i, (torn->count - i) * sizeof(*torn->list));
            torn->count++;
        }
    }
    if (error == 0)
        torn->list[i] = *element;
    pthread_mutex_unlock(&torn->lock);
    return error;
}

void mpiio_torn_drop(struct mpiio_torn *torn, int64_t start, int64_t end)
{
    size_t first, behind;

    if (!mpiio_torn_hold(torn))
        return;
    first = find(torn, start);
    behind = find(torn, end);
    memmove(torn->list + first, torn->list + behind, (torn->count - behind) * sizeof(*torn->list));
    torn->count -= behind - first;
    mpiio_torn_let(torn);
}

bool mpiio_torn_hold(struct mpiio_torn *torn)
{
    if (atomic_load(&torn->count) == 0)
        return false;
    pthread_mutex_lock(&torn->lock);
    return true;
}

void mpiio_torn_let(struct mpiio_torn *torn)
{
    pthread_mutex_unlock(&torn->lock);
}

void mpiio_torn_overlay(const struct mpiio_torn *torn, int64_t offset, size_t length, void *bytes,
                        mpiio_torn_stands *stands, void *argument)
{
    unsigned char *to = bytes;

    for (size_t i = find(torn, offset - MPIIO_ELEMENT_NATIVE); i < torn->count; i++) {
        const struct mpiio_torn_element *element = &torn->list[i];
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
