/* SPDX-License-Identifier: MIT */
#include "herald.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "core/base/clock.h"

/* ms that a node may take to hear that its turn has come. */
#define PATIENCE 250

static struct mpiio_asking *asking_of(const struct mpiio_herald *self)
{
    return self->searching->asking;
}

static const struct mpiio_keeping *keeping_of(const struct mpiio_herald *self)
{
    return &asking_of(self)->keeping;
}

int mpiio_herald_init(struct mpiio_herald *herald)
{
    size_t views = keeping_of(herald)->count;

    herald->view = calloc(views + 1, sizeof(*herald->view));
    if (herald->view == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < views; i++)
        herald->view[i].next = MPIIO_POINTERS_NO_NODE;
    atomic_init(&herald->answered, 0);
    pthread_cond_init(&herald->stir, NULL);
    return 0;
}

void mpiio_herald_free(struct mpiio_herald *herald)
{
    pthread_cond_destroy(&herald->stir);
    free(herald->view);
}

void mpiio_herald_announce(struct mpiio_herald *herald)
{
    struct mpiio_turns *turns = &asking_of(herald)->keeping.turns;
    pthread_mutex_t *lock = &asking_of(herald)->lock;
    size_t first = 0, end = turns->views;

    pthread_mutex_lock(lock);
    if (herald->seen == turns->changes || herald->turn == NULL)
        first = end;
    herald->seen = turns->changes;
    for (size_t i = first; i < end; i++) {
        uint64_t turn = turns->view[i].turn;
        struct mpiio_turns_passed passed;

        if (herald->view[i].announced == turn)
            continue;
        herald->view[i].announced = turn;
        passed = mpiio_turns_take_passed(turns, i);
        pthread_mutex_unlock(lock);
        if (passed.any && herald->passed != NULL)
            herald->passed(herald->data, i, passed.number, (int)passed.node, passed.position);
        herald->turn(herald->data, i, turn, false);
        pthread_mutex_lock(lock);
    }
    pthread_mutex_unlock(lock);
}

/* Lock held. */
static void stir(struct mpiio_herald *herald)
{
    assert(mpiio_is_held(&asking_of(herald)->lock));
    herald->stirred = true;
    pthread_cond_signal(&herald->stir);
}

void mpiio_herald_opened(struct mpiio_herald *herald, size_t view, bool doubts)
{
    pthread_mutex_lock(&asking_of(herald)->lock);
    if (doubts)
        herald->doubts = herald->view[view].doubts = true;
    pthread_cond_signal(&herald->stir);
    pthread_mutex_unlock(&asking_of(herald)->lock);
}

/* Whether another node than this one is to be told. */
static bool is_other(const struct mpiio_herald *herald, uint32_t node)
{
    return node < (uint32_t)keeping_of(herald)->nodes && (int)node != keeping_of(herald)->node;
}

void mpiio_herald_over(struct mpiio_herald *herald, size_t view,
                       const struct mpiio_pointers_answer *answer)
{
    if (!is_other(herald, answer->owner))
        return;
    pthread_mutex_lock(&asking_of(herald)->lock);
    herald->view[view].next = answer->owner;
    stir(herald);
    pthread_mutex_unlock(&asking_of(herald)->lock);
}

void mpiio_herald_leave(struct mpiio_herald *herald)
{
    pthread_mutex_lock(&asking_of(herald)->lock);
    herald->leaving = herald->looks = true;
    stir(herald);
    pthread_mutex_unlock(&asking_of(herald)->lock);
}

static struct mpiio_pointers_request herald_of(const struct mpiio_herald *herald, size_t view,
                                               uint64_t turn)
{
    struct mpiio_search search = mpiio_search_of(herald->searching, MPIIO_POINTERS_HERALD, view);

    search.request.share = turn;
    return search.request;
}

/* True where the answer is of who still lives, or of nobody. */
static bool lives(struct mpiio_herald *herald, const struct mpiio_search *search)
{
    const struct mpiio_pointers_request herald_it =
        herald_of(herald, search->request.pointer, search->answer.turn);

    return !is_other(herald, search->answer.owner) || (int)search->answer.owner == search->target ||
           search->request.ended == search->answer.owner ||
           !mpiio_asking_has_ended(asking_of(herald), (int)search->answer.owner, &herald_it,
                                   PATIENCE);
}

int mpiio_herald_ask(struct mpiio_herald *herald, enum mpiio_pointers_type type, size_t view,
                     struct mpiio_pointers_answer *answer)
{
    struct mpiio_search search = mpiio_search_of(herald->searching, type, view);
    bool again = true;
    int error = 0;

    pthread_mutex_lock(&asking_of(herald)->lock);
    search.request.leaving = herald->leaving;
    pthread_mutex_unlock(&asking_of(herald)->lock);
    while (again && error == 0) {
        error = mpiio_searching_resolve(herald->searching, &search);
        again = error == 0 && !lives(herald, &search);
        search.request.ended = search.answer.owner;
    }
    *answer = search.answer;
    if (error == 0)
        atomic_store(&herald->answered, mpiio_lease_clock());
    mpiio_herald_announce(herald);
    return error;
}

/* The thread. */

/* Tells who is next in a view, if somebody is. */
static void tell_next(struct mpiio_herald *herald, size_t view)
{
    struct mpiio_asking *asking = asking_of(herald);
    struct mpiio_pointers_request request;
    struct mpiio_pointers_answer answer;
    uint64_t turn;
    uint32_t next;

    pthread_mutex_lock(&asking->lock);
    next = herald->view[view].next;
    turn = asking->keeping.turns.view[view].turn;
    herald->view[view].next = MPIIO_POINTERS_NO_NODE;
    pthread_mutex_unlock(&asking->lock);
    if (next == MPIIO_POINTERS_NO_NODE)
        return;
    request = herald_of(herald, view, turn);
    mpiio_asking_ask(asking, (int)next, &request, PATIENCE, &answer);
    mpiio_herald_announce(herald);
}

/* Whether this node has a share in a view, as far as it knows. */
static bool has_shares(struct mpiio_herald *herald, size_t view)
{
    return MPIIO_LOCKED(&asking_of(herald)->lock,
                        keeping_of(herald)->turns.view[view].own > 0 || herald->view[view].doubts);
}

static void look_for_turn(struct mpiio_herald *herald, size_t view)
{
    struct mpiio_pointers_answer answer;

    if (!has_shares(herald, view) ||
        mpiio_herald_ask(herald, MPIIO_POINTERS_TURN, view, &answer) != 0)
        return;
    if (herald->turn != NULL && (int)answer.owner == keeping_of(herald)->node)
        herald->turn(herald->data, view, answer.turn, true);
}

/* Waits until there is something to do. True: all turns are to be asked for. Lock held. */
static bool await_stir(struct mpiio_herald *herald, int64_t *due)
{
    const size_t *held = &keeping_of(herald)->turns.node[keeping_of(herald)->node].held;
    pthread_mutex_t *lock = &asking_of(herald)->lock;
    bool looks;

    while (!herald->over && !herald->stirred) {
        if (*held == 0 && !herald->doubts) {
            pthread_cond_wait(&herald->stir, lock);
            if (*due < mpiio_clock())
                *due = mpiio_clock() + herald->interval;
        } else if (!mpiio_wait_until(&herald->stir, lock, *due)) {
            break;
        }
    }
    looks = herald->looks || mpiio_clock() >= *due;
    herald->stirred = herald->looks = false;
    return looks;
}

static void *run_herald(void *data)
{
    struct mpiio_herald *herald = data;
    size_t views = keeping_of(herald)->count;
    int64_t due = mpiio_clock();
    bool over = false, looks;

    while (!over) {
        pthread_mutex_lock(&asking_of(herald)->lock);
        looks = await_stir(herald, &due);
        over = herald->over;
        pthread_mutex_unlock(&asking_of(herald)->lock);
        for (size_t i = 0; i < views && !over; i++)
            tell_next(herald, i);
        for (size_t i = 0; i < views && !over && looks; i++)
            look_for_turn(herald, i);
        if (looks)
            due = mpiio_clock() + herald->interval;
    }
    return NULL;
}

int mpiio_herald_start(struct mpiio_herald *herald)
{
    int error = mpiio_thread_start(&herald->thread, run_herald, herald);

    herald->started = error == 0;
    return error;
}

void mpiio_herald_end(struct mpiio_herald *herald)
{
    pthread_mutex_lock(&asking_of(herald)->lock);
    herald->over = true;
    pthread_cond_signal(&herald->stir);
    pthread_mutex_unlock(&asking_of(herald)->lock);
    if (herald->started)
        pthread_join(herald->thread, NULL);
}
