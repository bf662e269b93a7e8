/* SPDX-License-Identifier: MIT */
#include "ordered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/thread.h"
#include "core/base/clock.h"
#include "placing.h"

/* ms between two attempts to place or to finish a contribution, and at most between two calls of
   goes_on. */
#define PAUSE 100

static struct mpiio_ordered_view *view_of(const struct mpiio_share *share)
{
    return &share->ordered->views[share->view];
}

int mpiio_ordered_new(const struct mpiio_ordered_options *options, struct mpiio_ordered **ordered)
{
    struct mpiio_ordered *self = calloc(1, sizeof(*self));

    if (self == NULL)
        return -ENOMEM;
    self->options = *options;
    self->views = calloc(options->views + 1, sizeof(*self->views));
    if (self->views == NULL) {
        free(self);
        return -ENOMEM;
    }
    pthread_mutex_init(&self->lock, NULL);
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

void mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view, uint64_t turn, bool own)
{
    struct mpiio_ordered_view *self = &ordered->views[view];

    pthread_mutex_lock(&ordered->lock);
    mpiio_placing_set_turn(ordered, self, turn);
    self->stray = own && self->turn == turn && !self->ending;
    ordered->has_news = true;
    pthread_cond_signal(&ordered->news);
    pthread_mutex_unlock(&ordered->lock);
}

int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share)
{
    const struct mpiio_ordered_turns *turns = &ordered->options.turns;
    struct mpiio_ordered_view *self = &ordered->views[view];
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
            mpiio_placing_pass_over(ordered, self);
    }
    pthread_cond_broadcast(&ordered->changed);
    pthread_mutex_unlock(&ordered->lock);
    if (error != 0)
        free(made);
    else
        *share = made;
    return error;
}

void mpiio_share_close(struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct mpiio_ordered_view *view = view_of(share);

    pthread_mutex_lock(&ordered->lock);
    share->closed = true;
    mpiio_placing_release(share);
    mpiio_placing_advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
}

/* Returns true if it is the contribution's turn, and none of its bytes wait. Called with the lock
   held. */
static bool is_due(const struct mpiio_share *share)
{
    return mpiio_placing_due(share->ordered, view_of(share)) == share && share->bytes.first == NULL;
}

/* Waits for one change, and counts the first wait of a call. Returns 0, -EINTR or -ENOTCONN if
   waiting is to end, or -EIO if the contribution's waiting bytes are to be placed later. Called
   with the lock held, which is released while it waits. */
static int wait(const struct mpiio_share *share, const struct mpiio_ordered_waiter *waiter,
                bool *waited)
{
    struct mpiio_ordered *ordered = share->ordered;
    const struct mpiio_ordered_options *options = &ordered->options;
    uint64_t delays = share->delays;

    assert(mpiio_is_held(&ordered->lock));
    ordered->stats.waits += !*waited;
    *waited = true;
    if (!waiter->ended && !ordered->stopped) {
        if (options->waits != NULL)
            options->waits(options->waits_data, true);
        pthread_cond_wait(&ordered->changed, &ordered->lock);
        if (options->waits != NULL)
            options->waits(options->waits_data, false);
    }
    if (waiter->ended)
        return -EINTR;
    if (ordered->stopped)
        return -ENOTCONN;
    return share->delays != delays ? -EIO : 0;
}

/* Writes to the contribution whose turn it is. Called with the lock held, which is released during
   the write. */
static ssize_t write_through(struct mpiio_share *share, const void *buffer, size_t length,
                             struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct mpiio_placing placing = mpiio_placing_begin(share, waiter);
    size_t used;
    int error;

    pthread_mutex_unlock(&ordered->lock);
    error = mpiio_share_bytes_place(&share->bytes, &placing, buffer, length, &used);
    pthread_mutex_lock(&ordered->lock);
    mpiio_placing_end(share);
    return error != 0 ? error : (ssize_t)length;
}

/* Keeps bytes until their turn comes. Called with the lock held. */
static ssize_t keep_share(struct mpiio_share *share, const void *buffer, size_t length)
{
    int error = mpiio_share_bytes_keep(&share->bytes, buffer, length);

    if (error != 0)
        return error;
    share->ordered->stats.waiting += (int64_t)length;
    mpiio_placing_show(share->ordered);
    return (ssize_t)length;
}

/* Returns true if the turn is still to come, and the bytes may wait in memory. Called with the lock
   held. */
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
    struct mpiio_ordered_view *view = view_of(share);
    ssize_t put = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (put == 0 && length > 0)
        if (share->error != 0)
            put = share->error;
        else if (is_due(share))
            put = write_through(share, buffer, length, waiter);
        else if (has_room(share, length))
            put = keep_share(share, buffer, length);
        else
            put = wait(share, waiter, &waited);
    mpiio_placing_advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
    return put;
}

int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    int error = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (error == 0 && !is_due(share) && !share->passed)
        error = wait(share, waiter, &waited);
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

    return MPIIO_LOCKED(&ordered->lock, share->error);
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

/* Returns true if the thread is to try again: to report a finished contribution to the turns, or to
   place bytes. Called with the lock held. */
static bool tries_again(const struct mpiio_ordered *ordered)
{
    assert(mpiio_is_held(&ordered->lock));
    for (size_t i = 0; i < ordered->options.views; i++) {
        const struct mpiio_share *share = mpiio_placing_due(ordered, &ordered->views[i]);

        if (ordered->views[i].ending || (share != NULL && share->delayed))
            return true;
    }
    return false;
}

static void *run_ordered(void *data)
{
    struct mpiio_ordered *ordered = data;

    pthread_mutex_lock(&ordered->lock);
    while (!ordered->over) {
        ordered->has_news = false;
        mpiio_placing_advance_all(ordered);
        if (ordered->has_news || ordered->over)
            continue;
        mpiio_wait_until(&ordered->news, &ordered->lock,
                         tries_again(ordered) ? mpiio_clock() + PAUSE : INT64_MAX);
    }
    pthread_mutex_unlock(&ordered->lock);
    return NULL;
}

void mpiio_ordered_show(struct mpiio_ordered *ordered, _Atomic int64_t *bytes)
{
    ordered->shown = bytes;
}

int mpiio_ordered_start(struct mpiio_ordered *ordered)
{
    int error = mpiio_thread_start(&ordered->thread, run_ordered, ordered);

    ordered->started = error == 0;
    return error;
}

/* Finishing. */

void mpiio_ordered_close(struct mpiio_ordered *ordered)
{
    pthread_mutex_lock(&ordered->lock);
    ordered->leaving = true;
    for (size_t i = 0; i < ordered->options.views; i++) {
        const struct mpiio_heap *shares = &ordered->views[i].shares;

        for (size_t j = 0; j < shares->count; j++)
            ((struct mpiio_share *)shares->items[j].item)->closed = true;
    }
    mpiio_placing_advance_all(ordered);
    pthread_mutex_unlock(&ordered->lock);
}

/* Returns true if nothing is left to place or to report to the turns: here, and on other nodes
   unless this node has given up waiting for them. Called with the lock held. */
static bool is_finished(const struct mpiio_ordered *ordered)
{
    const struct mpiio_ordered_turns *turns = &ordered->options.turns;

    assert(mpiio_is_held(&ordered->lock));
    for (size_t i = 0; i < ordered->options.views; i++)
        if (ordered->views[i].shares.count > 0 || ordered->views[i].ending)
            return false;
    return ordered->unordered || turns->all_over(turns->data);
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
    int pause = 1;

    mpiio_ordered_close(ordered);
    ordered->options.turns.leave(ordered->options.turns.data);
    pthread_mutex_lock(&ordered->lock);
    mpiio_placing_advance_all(ordered);
    while (!is_finished(ordered)) {
        bool gives_up;

        mpiio_wait_until(&ordered->changed, &ordered->lock, mpiio_clock() + pause);
        pause = 2 * pause < PAUSE ? 2 * pause : PAUSE;
        pthread_mutex_unlock(&ordered->lock);
        gives_up = goes_on != NULL && !goes_on(data);
        pthread_mutex_lock(&ordered->lock);
        ordered->unordered = ordered->unordered || gives_up;
        mpiio_placing_advance_all(ordered);
    }
    pthread_mutex_unlock(&ordered->lock);
    end_thread(ordered);
    return ordered->out_of_turn;
}

uint64_t mpiio_ordered_progress(struct mpiio_ordered *ordered)
{
    uint64_t turns = 0;

    pthread_mutex_lock(&ordered->lock);
    for (size_t i = 0; i < ordered->options.views; i++)
        turns += ordered->views[i].turn;
    pthread_mutex_unlock(&ordered->lock);
    return turns;
}

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats)
{
    *stats = MPIIO_LOCKED(&ordered->lock, ordered->stats);
}
