/* SPDX-License-Identifier: MIT */
/*
 * Shared file pointers of several nodes, which are threads here: what each takes, and who dies; and
 * shares in the order of ranks, which come to any node.
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "unit.h"
#include "lines/talk.h"
#include "pointers/frame.h"
#include "pointers/ordered.h"
#include "pointers/pointers.h"

#define NODES    4
#define MOST     7 /* with those that are silent */
#define VIEWS    2
#define TAKERS   8
#define ETYPES   4000
#define PATIENCE 4000 /* ms */

#define RANKS  5
#define LINES  40
#define RECORD 8

static struct mpiio_pointers *node[MOST];
static struct mpiio_ordered *ordered[MOST];
static char file[RANKS * LINES * RECORD + RECORD];
static char places[MOST * 1024];
static size_t places_size;
static int nodes;
static atomic_int owner[ETYPES + 1]; /* how often it was given */
static atomic_int taken;

static int open_share(void *number, size_t view, int64_t rank, uint64_t *share)
{
    return mpiio_pointers_open(node[(intptr_t)number], view, rank, share);
}

static int end_share(void *number, size_t view, uint64_t share, uint64_t *turn)
{
    return mpiio_pointers_over(node[(intptr_t)number], view, share, turn);
}

static void leave(void *number)
{
    if (node[(intptr_t)number] != NULL)
        mpiio_pointers_leave(node[(intptr_t)number]);
}

static int place(void *number, size_t view, uint64_t share, const void *buffer, size_t length,
                 struct mpiio_ordered_waiter *waiter)
{
    int64_t position, got;

    got = mpiio_pointers_take(node[(intptr_t)number], view, share, (int64_t)length, sizeof(file),
                              &position);
    if (got < 0)
        return (int)got;
    if (got != (int64_t)length)
        return -EFBIG;
    memcpy(file + position, buffer, length);
    return 0;
}

static void tell_turn(void *number, size_t view, uint64_t turn, bool own)
{
    mpiio_ordered_turn(ordered[(intptr_t)number], view, turn, own);
}

/* What waits on a node for its turn; 10 records at most. */
static void start_ordered(int number)
{
    static const int64_t etype[VIEWS] = {1, 1};
    void *data = (void *)(intptr_t)number;
    const struct mpiio_ordered_options options = {.views = VIEWS,
                                                  .etype = etype,
                                                  .memory = 10 * RECORD,
                                                  .turns = {open_share, end_share, leave, data},
                                                  .place = place,
                                                  .data = data};

    assert_int_equal(mpiio_ordered_new(&options, &ordered[number]), 0);
    assert_int_equal(mpiio_ordered_start(ordered[number]), 0);
}

/* So many nodes, from first on, are connected to, and say nothing. */
static void start_but(int silent, int first, int count)
{
    static const int64_t begin[VIEWS] = {0, 40};
    size_t size = 0;

    nodes = count;
    for (int i = 0; i < nodes; i++) {
        const struct mpiio_pointers_options options = {.count = VIEWS,
                                                       .start = begin,
                                                       .node = i,
                                                       .nodes = nodes,
                                                       .ranks = RANKS,
                                                       .timeout = PATIENCE,
                                                       .turn = tell_turn,
                                                       .data = (void *)(intptr_t)i};
        char *place;

        start_ordered(i);
        assert_int_equal(mpiio_pointers_new(&options, &node[i]), 0);
        assert_int_equal(mpiio_pointers_listen(node[i], &place), 0);
        assert_true(size + strlen(place) < sizeof(places));
        strcpy(places + size, place);
        size += strlen(place) + 1;
        free(place);
    }
    places_size = size;
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(mpiio_pointers_meet(node[i], places, size), 0);
        if (i < first || i >= first + silent)
            assert_int_equal(mpiio_pointers_start(node[i]), 0);
    }
    atomic_store(&taken, 0);
    for (int i = 0; i <= ETYPES; i++)
        atomic_store(&owner[i], 0);
}

static void start(int count)
{
    start_but(0, 0, count);
}

static void end(void)
{
    for (int i = 0; i < nodes; i++)
        mpiio_ordered_finish(ordered[i], NULL, NULL);
    for (int i = 0; i < nodes; i++)
        mpiio_pointers_free(node[i]);
    for (int i = 0; i < nodes; i++)
        mpiio_ordered_free(ordered[i]);
}

/* Takes until there is nothing, or too much: on the node that it is told. */
static void *take_all(void *number)
{
    struct mpiio_pointers *own = node[(intptr_t)number];
    int64_t got, position = 0;

    while ((got = mpiio_pointers_take(own, 0, MPIIO_POINTERS_ANYBODY, 1 + position % 3, ETYPES,
                                      &position)) > 0) {
        for (int64_t i = position; i < position + got; i++)
            atomic_fetch_add(&owner[i], 1);
        atomic_fetch_add(&taken, (int)got);
    }
    return (void *)(intptr_t)got;
}

/* On each node from first on takers begin. */
static void begin_takers(pthread_t *thread, int first)
{
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_all,
                                        (void *)(intptr_t)(first + i % (nodes - first))),
                         0);
}

static void await_takers(pthread_t *thread)
{
    void *got;

    for (int i = 0; i < TAKERS; i++) {
        pthread_join(thread[i], &got);
        assert_int_equal((intptr_t)got, 0);
    }
    for (int i = 0; i < ETYPES; i++)
        if (atomic_load(&owner[i]) != 1)
            fail_msg("etype %d was given %d times", i, atomic_load(&owner[i]));
}

TEST(each_is_given_once)
{
    pthread_t thread[TAKERS];

    start(NODES);
    begin_takers(thread, 0);
    await_takers(thread);
    end();
}

/* What the others have is known, and so is what node 0 itself had taken before. */
TEST(the_keeper_dies)
{
    struct mpiio_pointers_stats stats;
    pthread_t thread[TAKERS];
    int64_t position;

    start(NODES);
    assert_int_equal(
        mpiio_pointers_take(node[0], 1, MPIIO_POINTERS_ANYBODY, 7, INT64_MAX, &position), 7);
    assert_int_equal(position, 40);
    begin_takers(thread, 1);
    while (atomic_load(&taken) < ETYPES / 4)
        sched_yield();
    mpiio_pointers_free(node[0]);
    node[0] = NULL;
    await_takers(thread);
    assert_int_equal(
        mpiio_pointers_take(node[3], 1, MPIIO_POINTERS_ANYBODY, 1, INT64_MAX, &position), 1);
    assert_int_equal(position, 47);
    mpiio_pointers_get_stats(node[3], &stats);
    assert_int_equal(stats.keeper, 1);
    end();
}

/* One after the other, down to a single node. */
TEST(all_but_one_die)
{
    int64_t position;

    start(3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            mpiio_pointers_take(node[2], 0, MPIIO_POINTERS_ANYBODY, 5, INT64_MAX, &position), 5);
        assert_int_equal(position, 10 * i);
        assert_int_equal(
            mpiio_pointers_take(node[i], 0, MPIIO_POINTERS_ANYBODY, 5, INT64_MAX, &position), 5);
        assert_int_equal(position, 10 * i + 5);
        if (i < 2) {
            mpiio_pointers_free(node[i]);
            node[i] = NULL;
        }
    }
    end();
}

/* More than half answer: how many do not, and how long they are waited for, is no matter. */
static void go_on_without(int first)
{
    int64_t position;

    start_but(3, first, MOST);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mpiio_pointers_take(node[MOST - 1 - i], 0, MPIIO_POINTERS_ANYBODY, 5,
                                             INT64_MAX, &position),
                         5);
        assert_int_equal(position, 5 * i);
    }
    end();
}

TEST(some_are_silent)
{
    go_on_without(1);
}

TEST(the_first_are_silent)
{
    go_on_without(0);
}

/* What is set is set for all, backwards too, and stays when who keeps it dies. */
TEST(set_and_get)
{
    int64_t position;

    start(NODES);
    assert_int_equal(mpiio_pointers_get(node[2], 1, &position), 0);
    assert_int_equal(position, 40);
    assert_int_equal(mpiio_pointers_take(node[1], 1, MPIIO_POINTERS_ANYBODY, 1000, 90, &position),
                     50);
    assert_int_equal(mpiio_pointers_take(node[1], 1, MPIIO_POINTERS_ANYBODY, 1, 90, &position), 0);
    assert_int_equal(mpiio_pointers_set(node[3], 1, 12), 0);
    assert_int_equal(mpiio_pointers_set(node[3], 1, -1), -EINVAL);
    mpiio_pointers_free(node[0]);
    node[0] = NULL;
    assert_int_equal(mpiio_pointers_get(node[1], 1, &position), 0);
    assert_int_equal(position, 12);
    assert_int_equal(mpiio_pointers_get(node[2], 0, &position), 0);
    assert_int_equal(position, 0);
    end();
}

/* A rank, which comes to the nodes from first on, and puts a record a round. */
struct rank {
    int rank, first;
    unsigned seed;
    pthread_t thread;
};

static void *put_records(void *data)
{
    struct rank *self = data;
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *share;
    char record[RECORD + 1];

    for (int line = 0; line < LINES; line++) {
        int to = self->first + rand_r(&self->seed) % (nodes - self->first);

        snprintf(record, sizeof(record), "%3d %3d\n", line, self->rank);
        for (int i = rand_r(&self->seed) % 50; i > 0; i--)
            sched_yield();
        if (mpiio_ordered_open(ordered[to], 0, self->rank, &share) != 0 ||
            mpiio_share_write(share, record, RECORD, &waiter) != RECORD)
            abort();
        mpiio_share_close(share);
    }
    return NULL;
}

static void put_all(int first, bool dies)
{
    struct mpiio_ordered_stats stats;
    struct rank all[RANKS];
    char record[RECORD + 1];
    uint64_t shares;

    memset(file, 0, sizeof(file));
    for (int i = 0; i < RANKS; i++) {
        all[i] = (struct rank){.rank = i, .first = first, .seed = (unsigned)i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, put_records, &all[i]), 0);
    }
    do {
        shares = 0;
        for (int i = first; i < nodes; i++) {
            mpiio_ordered_get_stats(ordered[i], &stats);
            shares += stats.shares;
        }
        if (dies && shares > RANKS * LINES / 3) {
            mpiio_pointers_free(node[0]);
            node[0] = NULL;
            dies = false;
        }
        sched_yield();
    } while (shares < RANKS * LINES);
    for (int i = 0; i < RANKS; i++)
        pthread_join(all[i].thread, NULL);
    for (int i = 0; i < RANKS * LINES; i++) {
        snprintf(record, sizeof(record), "%3d %3d\n", i / RANKS, i % RANKS);
        assert_memory_equal(file + (size_t)i * RECORD, record, RECORD);
    }
}

TEST(shares_are_in_order)
{
    start(NODES);
    put_all(0, false);
    end();
}

/* It keeps the turns, and has no share. */
TEST(the_keeper_of_turns_dies)
{
    start(NODES);
    put_all(1, true);
    end();
}

/* Asks node to whose turn it is, in the name of node 2, which says that node ended has ended. */
static void ask_as_node_2(int to, uint32_t ended, struct mpiio_pointers_answer *answer)
{
    const struct mpiio_lines_options options = {
        .node = 2, .nodes = nodes, .timeout = PATIENCE, .connect = PATIENCE};
    const struct mpiio_pointers_request request = {.type = MPIIO_POINTERS_TURN,
                                                   .node = 2,
                                                   .share = MPIIO_POINTERS_NO_SHARE,
                                                   .ended = ended,
                                                   .owner = MPIIO_POINTERS_NO_NODE};
    uint8_t bytes[MPIIO_POINTERS_REQUEST_BYTES];
    struct mpiio_lines lines;
    struct mpiio_line *line;

    mpiio_lines_init(&lines, &options);
    assert_int_equal(mpiio_lines_meet(&lines, places, places_size), 0);
    line = mpiio_lines_get(&lines, to);
    assert_non_null(line);
    mpiio_pointers_request_encode(&request, bytes);
    assert_int_equal(mpiio_talk_send(line->fd, bytes, sizeof(bytes), PATIENCE), 0);
    assert_int_equal(mpiio_talk_receive(line->fd, bytes, MPIIO_POINTERS_ANSWER_BYTES, PATIENCE), 0);
    assert_true(mpiio_pointers_answer_decode(bytes, answer));
    mpiio_lines_put(&lines, to, line, true);
    mpiio_lines_destroy(&lines);
}

/* Node 1 opens the first two shares; then node 0, which keeps the turns, passes over both. */
static void pass_over_two(struct mpiio_share *share[2])
{
    struct mpiio_pointers_answer answer;

    for (int i = 0; i < 2; i++)
        assert_int_equal(mpiio_ordered_open(ordered[1], 0, i, &share[i]), 0);
    ask_as_node_2(0, 1, &answer);
    assert_int_equal(answer.verdict, MPIIO_POINTERS_GRANTED);
    assert_int_equal(answer.turn, 2);
}

static void close_two(struct mpiio_share *share[2])
{
    for (int i = 0; i < 2; i++)
        mpiio_share_close(share[i]);
}

/* One share is refused at its turn, by an answer that says that the other one is over, too. */
TEST(who_takes_tells_who_waits)
{
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *share[2];

    start(3);
    pass_over_two(share);
    assert_int_equal(mpiio_share_write(share[0], "at turn", RECORD, &waiter), -ESTALE);
    assert_int_equal(mpiio_share_await(share[1], &waiter), -ESTALE);
    close_two(share);
    end();
}

/* Another node has lost the one that keeps the turns, and asks this one, which looks after it. */
TEST(who_looks_after_the_keeper_tells_who_waits)
{
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_pointers_answer answer;
    struct mpiio_share *share[2];

    start(3);
    pass_over_two(share);
    ask_as_node_2(1, MPIIO_POINTERS_NO_NODE, &answer);
    assert_int_not_equal(answer.verdict, MPIIO_POINTERS_GRANTED);
    assert_int_equal(mpiio_share_await(share[1], &waiter), -ESTALE);
    close_two(share);
    end();
}
