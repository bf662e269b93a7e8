/* SPDX-License-Identifier: MIT */
#include "ordered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "heap.h"
#include "share.h"

/* ms between two looks at what could not be ended, or goes on. */
#define PAUSE 100

/* The lock of all fields that change is that of the ordered. */
struct mpiio_share {
    struct mpiio_ordered *ordered;
    size_t view;
    uint64_t number;
    struct mpiio_share_bytes bytes; /* but for what waits: who places has them */
    bool closed;
    bool placing; /* a thread is placing something of it, without the lock */
    bool passed;  /* over; it is not among those of its view any more */
    int error;    /* the first one of placing what had waited */
};

/* lock: the ordered's */
struct view {
    size_t etype;
    uint64_t turn;            /* the share's that is to be placed */
    struct mpiio_heap shares; /* those that are not over */
    unsigned opening;         /* shares of which the number is being asked for */
    bool stray;               /* it may be the turn of a share that nobody here knows */
    bool ending, asking;      /* that of number ended is over, and this is being told */
    uint64_t ended;
};

struct mpiio_ordered {
    struct mpiio_ordered_options options;
    struct view *views;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopped;                     /* lock: lock */
    bool unordered;                   /* what waits is placed whosever turn it is; lock: lock */
    int64_t out_of_turn;              /* bytes that were placed so; lock: lock */
    struct mpiio_ordered_stats stats; /* lock: lock */

    pthread_cond_t news; /* for the thread that places */
    bool has_news, over; /* lock: lock */
    bool started;
    pthread_t thread;
};

int mpiio_ordered_new(const struct mpiio_ordered_options *options, struct mpiio_ordered **ordered)
{
    struct mpiio_ordered *self = calloc(1, sizeof(*self));
    int error = -ENOMEM;

    if (self == NULL)
        return error;
    self->options = *options;
    self->views = calloc(options->views + 1, sizeof(*self->views));
    if (self->views != NULL)
        error = -pthread_mutex_init(&self->lock, NULL);
    if (error != 0) {
        free(self->views);
        free(self);
        return error;
    }
    pthread_cond_init(&self->changed, NULL);
    pthread_cond_init(&self->news, NULL);
    for (size_t i = 0; i < options->views; i++)
        self->views[i].etype = (size_t)options->etype[i];
    self->options.etype = NULL;
    *ordered = self;
    return 0;
}

void mpiio_ordered_free(struct mpiio_ordered *ordered)
{
    if (ordered == NULL)
        return;
    for (size_t i = 0; i < ordered->options.views; i++)
        mpiio_heap_free(&ordered->views[i].shares);
    pthread_cond_destroy(&ordered->news);
    pthread_cond_destroy(&ordered->changed);
    pthread_mutex_destroy(&ordered->lock);
    free(ordered->views);
    free(ordered);
}

static struct view *view_of(const struct mpiio_share *share)
{
    return &share->ordered->views[share->view];
}

/* Passed over or over: frees it once nobody uses it any more. Lock held. */
static void let_go(struct mpiio_share *share)
{
    if (!share->passed || !share->closed || share->placing)
        return;
    mpiio_share_bytes_drop(&share->bytes);
    free(share);
}

/* The first share of a view has had no turn in time. Lock held. */
static void pass_over(struct mpiio_ordered *ordered, struct view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);
    struct mpiio_chunk *chunk;

    mpiio_heap_drop(&view->shares);
    share->passed = true;
    if (share->error == 0)
        share->error = -ESTALE;
    while ((chunk = mpiio_share_bytes_next(&share->bytes)) != NULL) {
        ordered->stats.waiting -= (int64_t)chunk->length;
        ordered->stats.lost += (int64_t)chunk->length;
        free(chunk);
    }
    let_go(share);
}

/* Lock held. */
static void set_turn(struct mpiio_ordered *ordered, struct view *view, uint64_t turn)
{
    const struct mpiio_share *share;

    if (turn <= view->turn)
        return;
    view->turn = turn;
    view->ending = view->ending && view->ended >= turn;
    while ((share = mpiio_heap_least(&view->shares)) != NULL && share->number < turn)
        pass_over(ordered, view);
    pthread_cond_broadcast(&ordered->changed);
}

/* Lock held. */
static void tell_news(struct mpiio_ordered *ordered)
{
    ordered->has_news = true;
    pthread_cond_signal(&ordered->news);
}

void mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view, uint64_t turn, bool own)
{
    struct view *self = &ordered->views[view];

    pthread_mutex_lock(&ordered->lock);
    set_turn(ordered, self, turn);
    self->stray = own && self->turn == turn;
    tell_news(ordered);
    pthread_mutex_unlock(&ordered->lock);
}

int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share)
{
    const struct mpiio_ordered_turns *turns = &ordered->options.turns;
    struct view *self = &ordered->views[view];
    struct mpiio_share *made = calloc(1, sizeof(*made));
    int error;

    if (made == NULL)
        return -ENOMEM;
    *made = (struct mpiio_share){.ordered = ordered, .view = view, .bytes.etype = self->etype};
    pthread_mutex_lock(&ordered->lock);
    error = mpiio_heap_reserve(&self->shares, ++self->opening);
    pthread_mutex_unlock(&ordered->lock);
    if (error == 0)
        error = turns->open(turns->data, view, rank, &made->number);
    pthread_mutex_lock(&ordered->lock);
    self->opening--;
    if (error == 0) {
        mpiio_heap_put(&self->shares, made->number, made);
        if (made->number < self->turn)
            pass_over(ordered, self);
    }
    pthread_cond_broadcast(&ordered->changed);
    pthread_mutex_unlock(&ordered->lock);
    if (error != 0)
        free(made);
    else
        *share = made;
    return error;
}

/* A call of place, with what it needs. */
struct placing {
    struct mpiio_share_place place; /* the first member */
    const struct mpiio_share *share;
    uint64_t turn;
    struct mpiio_ordered_waiter *waiter;
};

static int place(const struct mpiio_share_place *self, const void *buffer, size_t length)
{
    const struct placing *placing = (const struct placing *)self;
    const struct mpiio_ordered_options *options = &placing->share->ordered->options;

    return options->place(options->data, placing->share->view, placing->turn, buffer, length,
                          placing->waiter);
}

/* Lock held. */
static struct placing begin(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter)
{
    share->placing = true;
    return (struct placing){.place = {place},
                            .share = share,
                            .turn =
                                share->ordered->unordered ? MPIIO_ORDERED_NO_TURN : share->number,
                            .waiter = waiter};
}

/* Does what is to be done of a share at its turn, without the lock, which is held before and
   after. chunk: that; NULL: its end. */
static void place_waiting(struct mpiio_share *share, struct mpiio_chunk *chunk)
{
    struct mpiio_ordered *ordered = share->ordered;
    size_t length = chunk != NULL ? chunk->length : share->bytes.part_length;
    struct placing placing = begin(share, NULL);
    int error = share->error;

    pthread_mutex_unlock(&ordered->lock);
    if (error == 0)
        error = chunk != NULL
                    ? mpiio_share_bytes_place(&share->bytes, &placing.place, chunk->bytes, length)
                    : mpiio_share_bytes_end(&share->bytes, &placing.place);
    free(chunk);
    pthread_mutex_lock(&ordered->lock);
    share->placing = false;
    if (chunk == NULL)
        share->bytes.part_length = 0;
    else
        ordered->stats.waiting -= (int64_t)length;
    if (error != 0) {
        share->error = error;
        ordered->stats.lost += (int64_t)length;
    } else if (placing.turn == MPIIO_ORDERED_NO_TURN) {
        ordered->out_of_turn += (int64_t)length;
    }
    let_go(share);
    pthread_cond_broadcast(&ordered->changed);
}

/* The first share of a view has had its turn. Lock held. */
static void retire(struct mpiio_ordered *ordered, struct view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);

    mpiio_heap_drop(&view->shares);
    share->passed = true;
    ordered->stats.shares++;
    view->ending = !ordered->unordered;
    view->ended = share->number;
    let_go(share);
    pthread_cond_broadcast(&ordered->changed);
}

/* Tells that a share is over. True where that is known now. Lock held, but not meanwhile. */
static bool tell_end(struct mpiio_ordered *ordered, struct view *view)
{
    const struct mpiio_ordered_turns *turns = &ordered->options.turns;
    uint64_t ended = view->ended, turn = ended + 1;
    int error;

    if (view->asking || ordered->unordered)
        return false;
    view->asking = true;
    pthread_mutex_unlock(&ordered->lock);
    error = turns->over(turns->data, (size_t)(view - ordered->views), ended, &turn);
    pthread_mutex_lock(&ordered->lock);
    view->asking = false;
    if (error != 0)
        return false;
    set_turn(ordered, view, turn);
    pthread_cond_broadcast(&ordered->changed);
    return true;
}

/* Has a share end that this node has, and does not know: what it was told of it was lost. Lock
   held. */
static void end_stray(struct view *view)
{
    const struct mpiio_share *share = mpiio_heap_least(&view->shares);

    if (!view->stray || view->opening > 0 || view->ending)
        return;
    view->stray = false;
    if (share != NULL && share->number == view->turn)
        return;
    view->ending = true;
    view->ended = view->turn;
}

/* The share of a view that may be placed now, or NULL. Lock held. */
static struct mpiio_share *find_due(const struct mpiio_ordered *ordered, const struct view *view)
{
    struct mpiio_share *share = mpiio_heap_least(&view->shares);

    if (share == NULL || share->placing || view->ending)
        return NULL;
    return share->number == view->turn || ordered->unordered ? share : NULL;
}

/* Places what waits for nothing any more, share after share. Lock held, but not all the time. */
static void advance(struct mpiio_ordered *ordered, struct view *view)
{
    struct mpiio_share *share;
    struct mpiio_chunk *chunk;

    view->ending = view->ending && !ordered->unordered;
    end_stray(view);
    while ((view->ending && tell_end(ordered, view)) || (share = find_due(ordered, view)) != NULL) {
        share = find_due(ordered, view);
        if (share == NULL)
            continue;
        chunk = mpiio_share_bytes_next(&share->bytes);
        if (chunk != NULL || (share->closed && share->bytes.part_length > 0))
            place_waiting(share, chunk);
        else if (share->closed)
            retire(ordered, view);
        else
            break;
    }
}

void mpiio_share_close(struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct view *view = view_of(share);

    pthread_mutex_lock(&ordered->lock);
    share->closed = true;
    let_go(share);
    advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
}

/* All before it is placed, and all of it that has waited. Lock held. */
static bool is_due(const struct mpiio_share *share)
{
    return find_due(share->ordered, view_of(share)) == share && share->bytes.first == NULL;
}

/* Waits for a change, once; 0 or why that is over. Lock held, but not meanwhile. */
static int wait(struct mpiio_ordered *ordered, const struct mpiio_ordered_waiter *waiter)
{
    const struct mpiio_ordered_options *options = &ordered->options;

    if (!waiter->ended && !ordered->stopped) {
        if (options->waits != NULL)
            options->waits(options->waits_data, true);
        pthread_cond_wait(&ordered->changed, &ordered->lock);
        if (options->waits != NULL)
            options->waits(options->waits_data, false);
    }
    if (waiter->ended)
        return -EINTR;
    return ordered->stopped ? -ENOTCONN : 0;
}

/* It is the share's turn. Lock held, but not meanwhile. */
static ssize_t write_through(struct mpiio_share *share, const void *buffer, size_t length,
                             struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct placing placing = begin(share, waiter);
    int error;

    pthread_mutex_unlock(&ordered->lock);
    error = mpiio_share_bytes_place(&share->bytes, &placing.place, buffer, length);
    pthread_mutex_lock(&ordered->lock);
    share->placing = false;
    let_go(share);
    pthread_cond_broadcast(&ordered->changed);
    return error != 0 ? error : (ssize_t)length;
}

/* Keeps bytes until their turn comes. Lock held. */
static ssize_t keep(struct mpiio_share *share, const void *buffer, size_t length)
{
    int error = mpiio_share_bytes_keep(&share->bytes, buffer, length);

    if (error != 0)
        return error;
    share->ordered->stats.waiting += (int64_t)length;
    return (ssize_t)length;
}

/* Whether what is written now waits in memory. Lock held. */
static bool has_room(const struct mpiio_share *share, size_t length)
{
    const struct mpiio_ordered *ordered = share->ordered;

    return share->number > view_of(share)->turn &&
           ordered->stats.waiting + (int64_t)length <= ordered->options.memory;
}

ssize_t mpiio_share_write(struct mpiio_share *share, const void *buffer, size_t length,
                          struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct view *view = view_of(share);
    ssize_t put = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (put == 0 && length > 0) {
        if (share->error != 0) {
            put = share->error;
        } else if (is_due(share)) {
            put = write_through(share, buffer, length, waiter);
        } else if (has_room(share, length)) {
            put = keep(share, buffer, length);
        } else {
            ordered->stats.waits += !waited;
            waited = true;
            put = wait(ordered, waiter);
        }
    }
    advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
    return put;
}

int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    int error = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (error == 0 && !is_due(share) && !share->passed) {
        ordered->stats.waits += !waited;
        waited = true;
        error = wait(ordered, waiter);
    }
    if (error == 0)
        error = share->error;
    pthread_mutex_unlock(&ordered->lock);
    return error;
}

uint64_t mpiio_share_number(const struct mpiio_share *share)
{
    return share->number;
}

int mpiio_share_error(const struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;
    int error;

    pthread_mutex_lock(&ordered->lock);
    error = share->error;
    pthread_mutex_unlock(&ordered->lock);
    return error;
}

void mpiio_ordered_interrupt(struct mpiio_ordered *ordered, struct mpiio_ordered_waiter *waiter)
{
    pthread_mutex_lock(&ordered->lock);
    waiter->ended = true;
    pthread_cond_broadcast(&ordered->changed);
    pthread_mutex_unlock(&ordered->lock);
}

void mpiio_ordered_stop(struct mpiio_ordered *ordered)
{
    pthread_mutex_lock(&ordered->lock);
    ordered->stopped = true;
    pthread_cond_broadcast(&ordered->changed);
    pthread_mutex_unlock(&ordered->lock);
}

/* The thread that places. */

static struct timespec after_pause(void)
{
    int64_t end = mpiio_clock() + PAUSE;

    return (struct timespec){.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};
}

/* Whether a share is over, and who keeps the turns could not be told. Lock held. */
static bool has_ending(const struct mpiio_ordered *ordered)
{
    for (size_t i = 0; i < ordered->options.views; i++)
        if (ordered->views[i].ending)
            return true;
    return false;
}

/* Lock held, but not all the time. */
static void advance_all(struct mpiio_ordered *ordered)
{
    for (size_t i = 0; i < ordered->options.views; i++)
        advance(ordered, &ordered->views[i]);
}

static void *work(void *data)
{
    struct mpiio_ordered *ordered = data;

    pthread_mutex_lock(&ordered->lock);
    while (!ordered->over) {
        struct timespec when = after_pause();

        ordered->has_news = false;
        advance_all(ordered);
        if (ordered->has_news || ordered->over)
            continue;
        if (has_ending(ordered))
            pthread_cond_clockwait(&ordered->news, &ordered->lock, CLOCK_MONOTONIC, &when);
        else
            pthread_cond_wait(&ordered->news, &ordered->lock);
    }
    pthread_mutex_unlock(&ordered->lock);
    return NULL;
}

int mpiio_ordered_start(struct mpiio_ordered *ordered)
{
    int error = mpiio_thread_start(&ordered->thread, work, ordered);

    ordered->started = error == 0;
    return error;
}

/* The end. */

void mpiio_ordered_close(struct mpiio_ordered *ordered)
{
    pthread_mutex_lock(&ordered->lock);
    for (size_t i = 0; i < ordered->options.views; i++) {
        const struct mpiio_heap *shares = &ordered->views[i].shares;

        for (size_t j = 0; j < shares->count; j++)
            ((struct mpiio_share *)shares->items[j].item)->closed = true;
    }
    advance_all(ordered);
    pthread_mutex_unlock(&ordered->lock);
}

/* Whether nothing is left to be placed or told. Lock held. */
static bool is_finished(const struct mpiio_ordered *ordered)
{
    for (size_t i = 0; i < ordered->options.views; i++)
        if (ordered->views[i].shares.count > 0 || ordered->views[i].ending)
            return false;
    return true;
}

static void end_thread(struct mpiio_ordered *ordered)
{
    pthread_mutex_lock(&ordered->lock);
    ordered->over = true;
    pthread_cond_signal(&ordered->news);
    pthread_mutex_unlock(&ordered->lock);
    if (ordered->started)
        pthread_join(ordered->thread, NULL);
    ordered->started = false;
}

int64_t mpiio_ordered_finish(struct mpiio_ordered *ordered, bool (*goes_on)(void *data), void *data)
{
    bool finished;

    mpiio_ordered_close(ordered);
    ordered->options.turns.leave(ordered->options.turns.data);
    pthread_mutex_lock(&ordered->lock);
    advance_all(ordered);
    while (!(finished = is_finished(ordered))) {
        const struct timespec when = after_pause();
        bool gives_up;

        pthread_cond_clockwait(&ordered->changed, &ordered->lock, CLOCK_MONOTONIC, &when);
        pthread_mutex_unlock(&ordered->lock);
        gives_up = goes_on != NULL && !goes_on(data);
        pthread_mutex_lock(&ordered->lock);
        ordered->unordered = ordered->unordered || gives_up;
        advance_all(ordered);
    }
    pthread_mutex_unlock(&ordered->lock);
    end_thread(ordered);
    return ordered->out_of_turn;
}

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats)
{
    pthread_mutex_lock(&ordered->lock);
    *stats = ordered->stats;
    pthread_mutex_unlock(&ordered->lock);
}
