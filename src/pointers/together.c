/* SPDX-License-Identifier: MIT */
#include "together.h"

#include <stdbool.h>

#include "core/base/thread.h"

/* One who takes; in the memory of its thread. */
struct mpiio_taker {
    struct mpiio_taker *next;
    size_t pointer;
    int64_t count, limit;
    int64_t all;           /* etypes to ask for, of its own and of those behind it, by next */
    int64_t got, position; /* the answer */
    bool asks, done;       /* it is its turn to ask; it has the answer; lock: the takers' */
};

void mpiio_together_init(struct mpiio_together *together)
{
    *together = (struct mpiio_together){.asking = 0};
    together->last = &together->first;
    pthread_mutex_init(&together->lock, NULL);
    pthread_cond_init(&together->changed, NULL);
}

void mpiio_together_free(struct mpiio_together *together)
{
    pthread_cond_destroy(&together->changed);
    pthread_mutex_destroy(&together->lock);
}

/* Joins those who wait, and waits until it is its turn, or another one has asked for it. Lock held.
 */
static void wait_in_line(struct mpiio_together *together, struct mpiio_taker *taker)
{
    assert(mpiio_is_held(&together->lock));
    *together->last = taker;
    together->last = &taker->next;
    while (!taker->asks && !taker->done)
        pthread_cond_wait(&together->changed, &together->lock);
}

/* Those who wait for the same as the first of them leave the line, as long as their etypes can be
   counted. Returns how many etypes that are. Lock held. */
static int64_t gather(struct mpiio_together *together, struct mpiio_taker **group)
{
    struct mpiio_taker **link = &together->first, **end = group, *taker;
    int64_t count = 0, sum;

    assert(mpiio_is_held(&together->lock));
    *group = NULL;
    while ((taker = *link) != NULL) {
        bool same = *group == NULL ||
                    (taker->pointer == (*group)->pointer && taker->limit == (*group)->limit);

        if (!same || __builtin_add_overflow(count, taker->count, &sum)) {
            link = &taker->next;
            continue;
        }
        count = sum;
        *link = taker->next;
        taker->next = NULL;
        *end = taker;
        end = &taker->next;
    }
    together->last = link;
    return count;
}

/* What was got, or an error, to those who asked together. Lock held. */
static void deal(struct mpiio_taker *group, int64_t got, int64_t position)
{
    for (struct mpiio_taker *taker = group, *next; taker != NULL; taker = next) {
        next = taker->next; /* who is done leaves with its memory, but for the lock */
        taker->got = got < taker->count ? got : taker->count;
        taker->position = position;
        taker->done = true;
        if (got > 0) {
            got -= taker->got;
            position += taker->got;
        }
    }
}

/* The first in the line may ask now, for all that it can; or nobody is there. Lock held. */
static void pass_on(struct mpiio_together *together)
{
    struct mpiio_taker *group;
    int64_t all = gather(together, &group);

    assert(mpiio_is_held(&together->lock));
    if (group != NULL) {
        group->all = all;
        group->asks = true;
    } else {
        assert(together->asking > 0);
        together->asking--;
    }
    pthread_cond_broadcast(&together->changed);
}

int64_t mpiio_together_take(struct mpiio_together *together, mpiio_together_ask *ask, void *data,
                            size_t pointer, int64_t count, int64_t limit, int64_t *position)
{
    struct mpiio_taker taker = {.pointer = pointer, .count = count, .limit = limit, .all = count};
    int64_t got, from = 0;

    pthread_mutex_lock(&together->lock);
    if (together->asking < MPIIO_TOGETHER_APART)
        together->asking++;
    else
        wait_in_line(together, &taker);
    if (!taker.done) {
        pthread_mutex_unlock(&together->lock);
        got = ask(data, pointer, taker.all, limit, &from);
        pthread_mutex_lock(&together->lock);
        deal(&taker, got, from);
        pass_on(together);
    }
    pthread_mutex_unlock(&together->lock);
    *position = taker.position;
    return taker.got;
}
