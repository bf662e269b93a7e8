/* SPDX-License-Identifier: MIT */
#ifndef ORDERED_FIXTURE_H
#define ORDERED_FIXTURE_H

/* Contributions of a single node, and the file where they are placed. */

#include <pthread.h>
#include <sched.h>

#include "unit.h"
#include "pointers/placing.h"
#include "pointers/state.h"

#define ROOM (1 << 22)

/* The file behind the pointer, as it was placed. One call for each view at a time. */
static char placed[2][ROOM];
static size_t lengths[2];
static int failure;
static size_t etype_sizes[2];

/* The turns of a single node; and what fails of them. */
static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpiio_state turns_state;
static struct mpiio_turns *const turns = &turns_state.turns;
static struct mpiio_ordered *node;
static int open_failure;
static _Atomic int over_failure;

/* The number of calls of place. Those from later_from on, and before later_to, return
   MPIIO_ORDERED_LATER. */
static _Atomic int place_calls, later_from, later_to;
/* Called by place first. NULL: nothing. */
static void (*on_place)(void);

static inline int apply(enum mpiio_entry_kind kind, size_t view, uint32_t node_number,
                        uint64_t value)
{
    const struct mpiio_entry entry = {kind, node_number, (uint32_t)view, value};

    return mpiio_state_apply(&turns_state, &entry);
}

static inline void begin_turns(int nodes, int64_t ranks)
{
    assert_int_equal(mpiio_state_init(&turns_state, 2, NULL, 0, nodes, ranks), 0);
}

static inline int open_number(void *data, size_t view, int64_t rank, uint64_t *number)
{
    int error = open_failure;

    pthread_mutex_lock(&turns_lock);
    *number = mpiio_turns_next(turns, view, rank);
    if (error == 0)
        error = apply(MPIIO_ENTRY_OPEN, view, 0, *number);
    pthread_mutex_unlock(&turns_lock);
    return error;
}

static inline int end_number(void *data, size_t view, uint64_t number, uint64_t *turn)
{
    int error = over_failure;

    pthread_mutex_lock(&turns_lock);
    if (error == 0 && turns->view[view].turn == number)
        error = apply(MPIIO_ENTRY_TURN, view, 0, number + 1);
    *turn = turns->view[view].turn;
    pthread_mutex_unlock(&turns_lock);
    return error;
}

static inline void leave(void *data)
{
    uint64_t turn[2];

    pthread_mutex_lock(&turns_lock);
    apply(MPIIO_ENTRY_LEAVE, 0, 0, 0);
    turn[0] = turns->view[0].turn;
    turn[1] = turns->view[1].turn;
    pthread_mutex_unlock(&turns_lock);
    mpiio_ordered_turn(node, 0, turn[0], false);
    mpiio_ordered_turn(node, 1, turn[1], false);
}

/* Other nodes' contributions are over after so many looks. */
static int looks_left;

static inline bool is_all_over(void *data)
{
    return looks_left == 0 || --looks_left == 0;
}

/* The number of contributions that had finished when the placed bytes were stored. */
static int64_t stored_at;

static inline void store(void *data)
{
    struct mpiio_ordered_stats stats;

    assert_ptr_equal(data, placed);
    assert_int_equal(stored_at, -1);
    mpiio_ordered_get_stats(node, &stats);
    stored_at = (int64_t)stats.shares;
}

static inline int64_t turn_of(size_t view)
{
    int64_t turn;

    pthread_mutex_lock(&turns_lock);
    turn = (int64_t)turns->view[view].turn % turns->ranks;
    pthread_mutex_unlock(&turns_lock);
    return turn;
}

static inline int place(void *data, size_t view, uint64_t share, const void *buffer, size_t length,
                        struct mpiio_ordered_waiter *waiter)
{
    int call = place_calls++;

    assert_ptr_equal(data, placed);
    assert_int_equal(length % etype_sizes[view], 0);
    assert_true(lengths[view] + length <= ROOM);
    if (on_place != NULL)
        on_place();
    if (call >= later_from && call < later_to)
        return MPIIO_ORDERED_LATER;
    if (failure != 0)
        return failure;
    memcpy(placed[view] + lengths[view], buffer, length);
    lengths[view] += length;
    return 0;
}

static inline struct mpiio_ordered *make(int64_t ranks, int64_t etype, int64_t memory)
{
    const int64_t etypes[] = {etype, 1};
    struct mpiio_ordered_options options = {
        .views = 2,
        .turns = {open_number, end_number, leave, is_all_over, NULL},
        .etype = etypes,
        .memory = memory,
        .place = place,
        .store = store,
        .data = placed};
    struct mpiio_ordered *ordered;

    etype_sizes[0] = (size_t)etype;
    etype_sizes[1] = 1;
    lengths[0] = lengths[1] = 0;
    failure = open_failure = over_failure = looks_left = 0;
    stored_at = -1;
    place_calls = later_from = later_to = 0;
    on_place = NULL;
    begin_turns(1, ranks);
    assert_int_equal(mpiio_ordered_new(&options, &ordered), 0);
    return node = ordered;
}

static inline void finish(struct mpiio_ordered *ordered)
{
    assert_int_equal(mpiio_ordered_finish(ordered, NULL, NULL), 0);
    mpiio_ordered_free(ordered);
    mpiio_state_free(&turns_state);
    node = NULL;
}

/* The teardown of tests. */
static inline int finish_node(void **state)
{
    if (node != NULL)
        finish(node);
    return 0;
}

static inline struct mpiio_share *open_share(struct mpiio_ordered *ordered, size_t view,
                                             int64_t rank)
{
    struct mpiio_share *share;

    assert_int_equal(mpiio_ordered_open(ordered, view, rank, &share), 0);
    return share;
}

static inline void put(struct mpiio_share *share, const char *text)
{
    struct mpiio_ordered_waiter waiter = {0};

    assert_int_equal(mpiio_share_write(share, text, strlen(text), &waiter), strlen(text));
}

static inline void write_all(struct mpiio_ordered *ordered, size_t view, int64_t rank,
                             const char *text)
{
    struct mpiio_share *share = open_share(ordered, view, rank);

    put(share, text);
    mpiio_share_close(share);
}

static inline void assert_placed(size_t view, const char *text)
{
    assert_int_equal(lengths[view], strlen(text));
    assert_memory_equal(placed[view], text, strlen(text));
}

static inline struct mpiio_ordered_stats stats_of(struct mpiio_ordered *ordered)
{
    struct mpiio_ordered_stats stats;

    mpiio_ordered_get_stats(ordered, &stats);
    return stats;
}

/* Starts the thread that places, and returns when it waits. */
static inline void start_thread(struct mpiio_ordered *ordered)
{
    bool waits = false;

    assert_int_equal(mpiio_ordered_start(ordered), 0);
    mpiio_ordered_turn(ordered, 0, 0, false);
    while (!waits) {
        sched_yield();
        pthread_mutex_lock(&ordered->lock);
        waits = !ordered->has_news;
        pthread_mutex_unlock(&ordered->lock);
    }
}

#endif
