/* SPDX-License-Identifier: MIT */
#include "pointers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct mpiio_pointers {
    pthread_mutex_t lock;
    size_t count;
    int64_t *at;                       /* lock: lock */
    struct mpiio_pointers_stats stats; /* lock: lock */
};

int mpiio_pointers_new(const struct mpiio_pointers_options *options,
                       struct mpiio_pointers **pointers)
{
    struct mpiio_pointers *self = calloc(1, sizeof(*self));
    int error = -ENOMEM;

    if (self == NULL)
        return error;
    self->count = options->count;
    self->at = calloc(options->count + 1, sizeof(*self->at));
    if (self->at != NULL)
        error = -pthread_mutex_init(&self->lock, NULL);
    if (error != 0) {
        free(self->at);
        free(self);
        return error;
    }
    for (size_t i = 0; i < options->count; i++)
        self->at[i] = options->start[i];
    *pointers = self;
    return 0;
}

void mpiio_pointers_free(struct mpiio_pointers *pointers)
{
    if (pointers == NULL)
        return;
    pthread_mutex_destroy(&pointers->lock);
    free(pointers->at);
    free(pointers);
}

int64_t mpiio_pointers_take(struct mpiio_pointers *pointers, size_t pointer, int64_t count,
                            int64_t limit, int64_t *position)
{
    int64_t got;

    pthread_mutex_lock(&pointers->lock);
    *position = pointers->at[pointer];
    got = limit > *position ? limit - *position : 0;
    if (got > count)
        got = count;
    pointers->at[pointer] += got;
    pointers->stats.takes += got > 0;
    pointers->stats.etypes += (uint64_t)got;
    pthread_mutex_unlock(&pointers->lock);
    return got;
}

int mpiio_pointers_get(struct mpiio_pointers *pointers, size_t pointer, int64_t *position)
{
    pthread_mutex_lock(&pointers->lock);
    *position = pointers->at[pointer];
    pthread_mutex_unlock(&pointers->lock);
    return 0;
}

int mpiio_pointers_set(struct mpiio_pointers *pointers, size_t pointer, int64_t position)
{
    if (position < 0)
        return -EINVAL;
    pthread_mutex_lock(&pointers->lock);
    pointers->at[pointer] = position;
    pthread_mutex_unlock(&pointers->lock);
    return 0;
}

void mpiio_pointers_get_stats(struct mpiio_pointers *pointers, struct mpiio_pointers_stats *stats)
{
    pthread_mutex_lock(&pointers->lock);
    *stats = pointers->stats;
    pthread_mutex_unlock(&pointers->lock);
}
