/* SPDX-License-Identifier: MIT */
#include "searching.h"

#include <errno.h>
#include <time.h>

#include "core/base/clock.h"

/* ms between two questions who keeps the pointers: from, to. */
#define PAUSE     1
#define PAUSE_MAX 50
/* How often the time for which one node may not answer a request may last. */
#define PATIENCE 5

void mpiio_searching_init(struct mpiio_searching *searching, struct mpiio_asking *asking,
                          int timeout)
{
    *searching = (struct mpiio_searching){.asking = asking, .timeout = timeout};
    atomic_init(&searching->over, false);
    mpiio_deputy_init(&searching->deputy, asking->keeping.node);
}

struct mpiio_search mpiio_search_of(const struct mpiio_searching *searching,
                                    enum mpiio_pointers_type type, size_t pointer)
{
    return (struct mpiio_search){.request = {.type = type,
                                             .node = (uint32_t)searching->asking->keeping.node,
                                             .pointer = (uint32_t)pointer,
                                             .share = MPIIO_POINTERS_NO_SHARE,
                                             .ended = MPIIO_POINTERS_NO_NODE}};
}

/* This node keeps the pointers, or might. */
static int ask_self(struct mpiio_searching *self, struct mpiio_search *search)
{
    struct mpiio_asking *asking = self->asking;
    const struct mpiio_pointers_answer *answer = &search->answer;
    enum mpiio_pointers_type type = search->request.type;
    bool pays;

    pthread_mutex_lock(&asking->lock);
    mpiio_asking_answer(asking, &search->request, &search->answer);
    pthread_mutex_unlock(&asking->lock);
    pays = type == MPIIO_POINTERS_SET || type == MPIIO_POINTERS_OPEN ||
           (type == MPIIO_POINTERS_TAKE && answer->got > 0);
    if (answer->verdict == MPIIO_POINTERS_GRANTED && pays && asking->keeping.nodes > 1 &&
        mpiio_deputy_tell(&self->deputy, asking, &search->request, answer) != 0)
        search->answer.verdict = MPIIO_POINTERS_BUSY;
    return 0;
}

static int ask_keeper(struct mpiio_searching *self, struct mpiio_search *search)
{
    struct mpiio_asking *asking = self->asking;

    pthread_mutex_lock(&asking->lock);
    search->request.value = asking->keeping.values[search->request.pointer];
    search->request.settled = self->first->request.number;
    pthread_mutex_unlock(&asking->lock);
    if (search->target == asking->keeping.node)
        return ask_self(self, search);
    return mpiio_asking_ask(asking, search->target, &search->request, self->timeout,
                            &search->answer);
}

/* The first node that is not but, and answers, as far as is known; this one does. */
static int first_alive(struct mpiio_asking *asking, int but)
{
    for (int i = 0; i < asking->keeping.nodes; i++)
        if (i != but && (i == asking->keeping.node || !mpiio_lines_failed(&asking->lines, i)))
            return i;
    return but;
}

/* Whom to ask next; after error, or an answer that did not help. */
static void go_on(struct mpiio_searching *self, struct mpiio_search *search, int error)
{
    const struct timespec pause = {.tv_nsec = search->pause * 1000000};
    const struct mpiio_pointers_answer *answer = &search->answer;

    if (error != 0) {
        search->silent = search->target;
        search->target = first_alive(self->asking, search->target);
    } else if (answer->verdict == MPIIO_POINTERS_REFUSED && (int)answer->keeper != search->silent &&
               (int)answer->keeper != search->target &&
               answer->keeper < (uint32_t)self->asking->keeping.nodes) {
        search->target = (int)answer->keeper;
    } else {
        search->silent = -1;
    }
    nanosleep(&pause, NULL);
    if (search->pause < PAUSE_MAX)
        search->pause *= 2;
}

static bool is_found(const struct mpiio_search *search)
{
    return search->answer.verdict == MPIIO_POINTERS_GRANTED ||
           search->answer.verdict == MPIIO_POINTERS_STALE;
}

static int find_keeper(struct mpiio_searching *self, struct mpiio_search *search)
{
    int error;

    search->silent = -1;
    search->pause = PAUSE;
    search->until = mpiio_lease_clock() + (int64_t)PATIENCE * self->timeout;
    while ((error = ask_keeper(self, search)) != 0 || !is_found(search)) {
        if (atomic_load(&self->over))
            return -ENOTCONN;
        if (mpiio_lease_clock() >= search->until)
            return -EIO;
        go_on(self, search, error);
    }
    return search->answer.verdict == MPIIO_POINTERS_STALE ? -ESTALE : 0;
}

/* Numbers the request, which may have to be asked again. */
static void enter_search(struct mpiio_searching *self, struct mpiio_search *search)
{
    pthread_mutex_lock(&self->asking->lock);
    search->request.number = ++self->number;
    search->target = self->asking->keeping.keeper;
    search->before = self->last;
    *(self->last != NULL ? &self->last->next : &self->first) = search;
    self->last = search;
    pthread_mutex_unlock(&self->asking->lock);
}

static void leave_search(struct mpiio_searching *self, struct mpiio_search *search)
{
    pthread_mutex_lock(&self->asking->lock);
    *(search->before != NULL ? &search->before->next : &self->first) = search->next;
    *(search->next != NULL ? &search->next->before : &self->last) = search->before;
    pthread_mutex_unlock(&self->asking->lock);
}

int mpiio_searching_resolve(struct mpiio_searching *searching, struct mpiio_search *search)
{
    int error;

    search->before = search->next = NULL;
    enter_search(searching, search);
    error = find_keeper(searching, search);
    leave_search(searching, search);
    return error;
}
