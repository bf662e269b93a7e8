/* SPDX-License-Identifier: MIT */
#include "ordered.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024

/* Small writes share a chunk, of so many bytes. */
#define CHUNK ((size_t)4096)

/* Bytes that wait. */
struct chunk {
    struct chunk *next;
    size_t length, room;
    char bytes[];
};

/* The lock of all fields that change is that of the ordered. */
struct mpiio_share {
    struct mpiio_ordered *ordered;
    size_t view;
    uint64_t turn; /* its number in the view: that of its round times the ranks, and its rank */
    struct mpiio_share *next;   /* in its bucket */
    struct chunk *first, *last; /* what waits */
    bool closed;
    bool placing; /* a thread is placing something of it, without the lock */
    int error;    /* the first one of placing what had waited */
    char *part;   /* of an etype, which is to become whole; who places has it */
    size_t part_length;
};

struct view {
    int64_t etype;
    uint64_t turn; /* the share's that is to be placed; lock: the ordered's */
};

struct mpiio_ordered {
    struct mpiio_ordered_options options;
    struct view *views;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mpiio_share *buckets[BUCKETS]; /* those that have not had their turn; lock: lock */
    bool stopped;                         /* lock: lock */
    struct mpiio_ordered_stats stats;     /* lock: lock */
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
    for (size_t i = 0; i < options->views; i++)
        self->views[i].etype = options->etype[i];
    self->options.etype = NULL;
    *ordered = self;
    return 0;
}

void mpiio_ordered_free(struct mpiio_ordered *ordered)
{
    if (ordered == NULL)
        return;
    pthread_cond_destroy(&ordered->changed);
    pthread_mutex_destroy(&ordered->lock);
    free(ordered->views);
    free(ordered);
}

static struct mpiio_share **bucket(struct mpiio_ordered *ordered, size_t view, uint64_t turn)
{
    uint64_t rank = turn % (uint64_t)ordered->options.ranks;

    return &ordered->buckets[(rank + view * 31) % BUCKETS];
}

/* The share of that turn, or NULL. Lock held. */
static struct mpiio_share *find(struct mpiio_ordered *ordered, size_t view, uint64_t turn)
{
    struct mpiio_share *share = *bucket(ordered, view, turn);

    while (share != NULL && (share->view != view || share->turn != turn))
        share = share->next;
    return share;
}

static bool has_turn(const struct mpiio_share *share)
{
    return share->ordered->views[share->view].turn == share->turn;
}

/* The next one of a rank: in the round that is under way, or behind those that it has. Lock held.
 */
static uint64_t next_turn(struct mpiio_ordered *ordered, size_t view, uint64_t rank)
{
    uint64_t ranks = (uint64_t)ordered->options.ranks;
    uint64_t now = ordered->views[view].turn;
    uint64_t turn = now - now % ranks + rank;

    turn += turn < now ? ranks : 0;
    for (const struct mpiio_share *share = *bucket(ordered, view, rank); share != NULL;
         share = share->next)
        if (share->view == view && share->turn % ranks == rank && share->turn >= turn)
            turn = share->turn + ranks;
    return turn;
}

int mpiio_ordered_open(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                       struct mpiio_share **share)
{
    struct mpiio_share *made = calloc(1, sizeof(*made)), **place;
    uint64_t turn;

    if (made == NULL)
        return -ENOMEM;
    pthread_mutex_lock(&ordered->lock);
    turn = next_turn(ordered, view, (uint64_t)rank);
    place = bucket(ordered, view, turn);
    *made = (struct mpiio_share){.ordered = ordered, .view = view, .turn = turn, .next = *place};
    *place = made;
    pthread_cond_broadcast(&ordered->changed);
    pthread_mutex_unlock(&ordered->lock);
    *share = made;
    return 0;
}

static int place(struct mpiio_share *share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter)
{
    const struct mpiio_ordered_options *options = &share->ordered->options;

    return length > 0 ? options->place(options->data, share->view, buffer, length, waiter) : 0;
}

/* Completes the part of an etype that is left of what came before. How many bytes that took, or a
   negative errno. */
static ssize_t complete(struct mpiio_share *share, const char *buffer, size_t length, size_t etype,
                        struct mpiio_ordered_waiter *waiter)
{
    size_t taken = etype - share->part_length;
    int error;

    if (share->part_length == 0)
        return 0;
    if (taken > length)
        taken = length;
    memcpy(share->part + share->part_length, buffer, taken);
    share->part_length += taken;
    if (share->part_length < etype)
        return (ssize_t)taken;
    share->part_length = 0;
    error = place(share, share->part, etype, waiter);
    return error != 0 ? error : (ssize_t)taken;
}

/* Places whole etypes, and keeps what is left. The caller is the one who places. */
static int place_bytes(struct mpiio_share *share, const char *buffer, size_t length,
                       struct mpiio_ordered_waiter *waiter)
{
    size_t etype = (size_t)share->ordered->views[share->view].etype, left;
    ssize_t taken;
    int error;

    if (etype > 1 && share->part == NULL)
        share->part = malloc(etype);
    if (etype > 1 && share->part == NULL)
        return -ENOMEM;
    taken = complete(share, buffer, length, etype, waiter);
    if (taken < 0)
        return (int)taken;
    buffer += taken;
    length -= (size_t)taken;
    left = length % etype;
    error = place(share, buffer, length - left, waiter);
    if (error != 0 || left == 0)
        return error;
    memcpy(share->part, buffer + length - left, left);
    share->part_length = left;
    return 0;
}

/* The share has come to its end: what is missing of its last etype is zeros. */
static int place_end(struct mpiio_share *share)
{
    size_t etype = (size_t)share->ordered->views[share->view].etype;
    size_t length = share->part_length;

    if (length == 0)
        return 0;
    memset(share->part + length, 0, etype - length);
    share->part_length = 0;
    return place(share, share->part, etype, NULL);
}

/* Does what is to be done of a share at its turn, without the lock, which is held before and
   after. chunk: that; NULL: its end. */
static void place_waiting(struct mpiio_share *share, struct chunk *chunk)
{
    struct mpiio_ordered *ordered = share->ordered;
    size_t length = chunk != NULL ? chunk->length : share->part_length;
    int error = share->error;

    share->placing = true;
    pthread_mutex_unlock(&ordered->lock);
    if (error == 0)
        error = chunk != NULL ? place_bytes(share, chunk->bytes, length, NULL) : place_end(share);
    free(chunk);
    pthread_mutex_lock(&ordered->lock);
    share->placing = false;
    if (chunk == NULL)
        share->part_length = 0;
    else
        ordered->stats.waiting -= (int64_t)length;
    if (error != 0) {
        share->error = error;
        ordered->stats.lost += (int64_t)length;
    }
    pthread_cond_broadcast(&ordered->changed);
}

/* The share has had its turn. Lock held. */
static void retire(struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;
    struct mpiio_share **link = bucket(ordered, share->view, share->turn);

    while (*link != share)
        link = &(*link)->next;
    *link = share->next;
    ordered->views[share->view].turn++;
    ordered->stats.shares++;
    free(share->part);
    free(share);
    pthread_cond_broadcast(&ordered->changed);
}

/* Places what waits for nothing any more, share after share. Lock held, but not all the time. */
static void advance(struct mpiio_ordered *ordered, size_t view)
{
    struct mpiio_share *share;

    while ((share = find(ordered, view, ordered->views[view].turn)) != NULL && !share->placing) {
        struct chunk *chunk = share->first;

        if (chunk != NULL) {
            share->first = chunk->next;
            place_waiting(share, chunk);
        } else if (!share->closed) {
            break;
        } else if (share->part_length > 0) {
            place_waiting(share, NULL);
        } else {
            retire(share);
        }
    }
}

void mpiio_share_close(struct mpiio_share *share)
{
    struct mpiio_ordered *ordered = share->ordered;
    size_t view = share->view;

    pthread_mutex_lock(&ordered->lock);
    share->closed = true;
    advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
}

/* All before it is placed, and all of it that has waited. Lock held. */
static bool is_due(const struct mpiio_share *share)
{
    return has_turn(share) && share->first == NULL && !share->placing;
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

/* Keeps bytes until their turn comes. Lock held. */
static ssize_t keep(struct mpiio_share *share, const void *buffer, size_t length)
{
    struct chunk *chunk = share->first != NULL ? share->last : NULL;
    size_t room = length < CHUNK ? CHUNK : length;

    if (chunk == NULL || chunk->room - chunk->length < length) {
        chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL)
            return -ENOMEM;
        *chunk = (struct chunk){.room = room};
        *(share->first != NULL ? &share->last->next : &share->first) = chunk;
        share->last = chunk;
    }
    memcpy(chunk->bytes + chunk->length, buffer, length);
    chunk->length += length;
    share->ordered->stats.waiting += (int64_t)length;
    return (ssize_t)length;
}

/* It is the share's turn. Lock held, but not meanwhile. */
static ssize_t write_through(struct mpiio_share *share, const void *buffer, size_t length,
                             struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    int error;

    share->placing = true;
    pthread_mutex_unlock(&ordered->lock);
    error = place_bytes(share, buffer, length, waiter);
    pthread_mutex_lock(&ordered->lock);
    share->placing = false;
    pthread_cond_broadcast(&ordered->changed);
    advance(ordered, share->view);
    return error != 0 ? error : (ssize_t)length;
}

ssize_t mpiio_share_write(struct mpiio_share *share, const void *buffer, size_t length,
                          struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    ssize_t put = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (put == 0 && length > 0) {
        if (share->error != 0) {
            put = share->error;
        } else if (is_due(share)) {
            put = write_through(share, buffer, length, waiter);
        } else if (!has_turn(share) &&
                   ordered->stats.waiting + (int64_t)length <= ordered->options.memory) {
            put = keep(share, buffer, length);
        } else {
            ordered->stats.waits += !waited;
            waited = true;
            put = wait(ordered, waiter);
        }
    }
    pthread_mutex_unlock(&ordered->lock);
    return put;
}

int mpiio_share_await(struct mpiio_share *share, struct mpiio_ordered_waiter *waiter)
{
    struct mpiio_ordered *ordered = share->ordered;
    int error = 0;
    bool waited = false;

    pthread_mutex_lock(&ordered->lock);
    while (error == 0 && !is_due(share)) {
        ordered->stats.waits += !waited;
        waited = true;
        error = wait(ordered, waiter);
    }
    if (error == 0)
        error = share->error;
    pthread_mutex_unlock(&ordered->lock);
    return error;
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

/* The next share of a view that is left has its turn: true where there is one. Nobody uses it any
   more. Lock held. */
static bool skip_missing(struct mpiio_ordered *ordered, size_t view)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < BUCKETS; i++)
        for (struct mpiio_share *share = ordered->buckets[i]; share != NULL; share = share->next) {
            share->closed = true;
            if (share->view == view && share->turn < next)
                next = share->turn;
        }
    if (next != UINT64_MAX)
        ordered->views[view].turn = next;
    return next != UINT64_MAX;
}

void mpiio_ordered_finish(struct mpiio_ordered *ordered)
{
    pthread_mutex_lock(&ordered->lock);
    for (size_t view = 0; view < ordered->options.views; view++)
        while (skip_missing(ordered, view))
            advance(ordered, view);
    pthread_mutex_unlock(&ordered->lock);
}

int64_t mpiio_ordered_turn(struct mpiio_ordered *ordered, size_t view)
{
    uint64_t turn;

    pthread_mutex_lock(&ordered->lock);
    turn = ordered->views[view].turn;
    pthread_mutex_unlock(&ordered->lock);
    return (int64_t)(turn % (uint64_t)ordered->options.ranks);
}

void mpiio_ordered_get_stats(struct mpiio_ordered *ordered, struct mpiio_ordered_stats *stats)
{
    pthread_mutex_lock(&ordered->lock);
    *stats = ordered->stats;
    pthread_mutex_unlock(&ordered->lock);
}
