/* SPDX-License-Identifier: MIT */
/*
 * Ordered shares against what must come of them: the shares of a round by rank, round after round,
 * whoever comes first. Threads that wait are counted, not timed.
 */
#include "ordered_fixture.h"
#include "threads.h"

#define RANKS_MAX 9
#define SHARE_MAX 3000

TEST(rank_by_rank, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(3, 1, 100);
    struct mpiio_share *first;

    write_all(ordered, 0, 2, "two ");
    write_all(ordered, 1, 0, "other ");
    write_all(ordered, 0, 1, "one ");
    assert_placed(0, "");
    assert_int_equal(stats_of(ordered).waiting, 8);
    assert_int_equal(turn_of(0), 0);
    assert_int_equal(turn_of(1), 1);
    first = open_share(ordered, 0, 0);
    put(first, "zero");
    put(first, " ");
    assert_placed(0, "zero ");
    mpiio_share_close(first);
    assert_placed(0, "zero one two ");
    assert_placed(1, "other ");
    assert_int_equal(stats_of(ordered).shares, 4);
    assert_int_equal(stats_of(ordered).waiting, 0);
}

/* A rank that opens again is in the next round, also while it has the one before open. */
TEST(later_rounds, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);
    struct mpiio_share *early, *late;

    early = open_share(ordered, 0, 1);
    late = open_share(ordered, 0, 1);
    put(late, "d");
    mpiio_share_close(late);
    write_all(ordered, 0, 1, "f");
    write_all(ordered, 0, 0, "a");
    write_all(ordered, 0, 0, "c");
    put(early, "b");
    assert_placed(0, "ab");
    mpiio_share_close(early);
    assert_placed(0, "abcd");
    write_all(ordered, 0, 0, "e");
    assert_placed(0, "abcdef");
}

/* A rank that never comes is skipped at the end, and only then. */
TEST(missing_ranks, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(5, 1, 100);

    write_all(ordered, 0, 3, "3");
    write_all(ordered, 0, 1, "1");
    write_all(ordered, 0, 3, "8");
    write_all(ordered, 0, 0, "0");
    assert_placed(0, "01");
    assert_int_equal(mpiio_ordered_finish(ordered, NULL, NULL), 0);
    assert_placed(0, "0138");
    assert_int_equal(stats_of(ordered).lost, 0);
}

/* Shares consist of whole etypes, however they were written. */
TEST(parts_of_etypes, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 4, 100);
    struct mpiio_share *share = open_share(ordered, 0, 0);

    put(share, "ab");
    put(share, "c");
    assert_placed(0, "");
    put(share, "defghijklm");
    assert_placed(0, "abcdefghijkl");
    mpiio_share_close(share);
    assert_int_equal(lengths[0], 16);
    assert_memory_equal(placed[0] + 12, "m\0\0\0", 4);
    share = open_share(ordered, 0, 0);
    put(share, "wxyz");
    mpiio_share_close(share);
    write_all(ordered, 0, 1, "12345");
    assert_int_equal(lengths[0], 28);
    assert_memory_equal(placed[0] + 16, "12345\0\0\0wxyz", 12);
}

/* Bytes that cannot be placed are reported to the writer, or to a waiting caller; otherwise they
   are counted. */
TEST(failures, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *one = open_share(ordered, 0, 1), *zero = open_share(ordered, 0, 0);

    put(one, "held");
    failure = -ENOSPC;
    assert_int_equal(mpiio_share_write(zero, "x", 1, &waiter), -ENOSPC);
    assert_int_equal(stats_of(ordered).lost, 0);
    mpiio_share_close(zero);
    failure = 0;
    assert_int_equal(mpiio_share_await(one, &waiter), -ENOSPC);
    assert_int_equal(mpiio_share_write(one, "y", 1, &waiter), -ENOSPC);
    assert_int_equal(stats_of(ordered).lost, 4);
    assert_int_equal(stats_of(ordered).waiting, 0);
    mpiio_share_close(one);
    write_all(ordered, 0, 0, "on");
    assert_placed(0, "on");
}

/* A contribution that was skipped gets an error, its waiting bytes are lost, and the others go
   on. */
TEST(passed_over, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(3, 1, 100);
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *one = open_share(ordered, 0, 1), *two = open_share(ordered, 0, 2);

    put(one, "held");
    write_all(ordered, 0, 0, "0");
    assert_placed(0, "0held");
    put(two, "2");
    turns->view[0].turn = 3;
    mpiio_ordered_turn(ordered, 0, 3, false);
    assert_int_equal(mpiio_share_write(one, "x", 1, &waiter), -ESTALE);
    assert_int_equal(mpiio_share_await(one, &waiter), -ESTALE);
    assert_int_equal(mpiio_share_error(one), -ESTALE);
    mpiio_share_close(one);
    assert_int_equal(stats_of(ordered).lost, 1);
    assert_int_equal(stats_of(ordered).waiting, 0);
    mpiio_share_close(two);
    write_all(ordered, 0, 0, "on");
    assert_placed(0, "0heldon");
}

/* A failed report to the turns is repeated. A contribution that only the turns know is finished. */
TEST(turns_fail, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);
    struct mpiio_share *share;
    const uint64_t number = 2;

    open_failure = -EIO;
    assert_int_equal(mpiio_ordered_open(ordered, 0, 0, &share), -EIO);
    open_failure = 0;
    over_failure = -EIO;
    write_all(ordered, 0, 0, "0");
    write_all(ordered, 0, 1, "1");
    assert_placed(0, "0");
    over_failure = 0;
    mpiio_ordered_close(ordered);
    assert_placed(0, "01");
    assert_int_equal(apply(MPIIO_ENTRY_OPEN, 0, 0, number), 0);
    write_all(ordered, 0, 1, "3");
    mpiio_ordered_turn(ordered, 0, number, true);
    mpiio_ordered_close(ordered);
    assert_placed(0, "013");
}

/* The thread repeats a caller's report that failed, although no turn comes meanwhile. */
TEST(turns_fail_in_a_caller, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);

    start_thread(ordered);
    over_failure = -EIO;
    write_all(ordered, 0, 0, "0");
    over_failure = 0;
    while (turn_of(0) == 0)
        sched_yield();
}

static bool never(void *data)
{
    return false;
}

/* If the others' contributions are no longer waited for, the rest is placed out of turn, in
   order. */
TEST(out_of_turn)
{
    struct mpiio_ordered *ordered = make(4, 1, 100);

    mpiio_state_free(&turns_state);
    begin_turns(2, 4);
    assert_int_equal(apply(MPIIO_ENTRY_OPEN, 0, 1, 0), 0);
    write_all(ordered, 0, 3, "three");
    write_all(ordered, 0, 1, "one");
    assert_int_equal(mpiio_ordered_finish(ordered, never, NULL), 8);
    assert_placed(0, "onethree");
    mpiio_ordered_free(ordered);
    mpiio_state_free(&turns_state);
}

struct blocked {
    struct mpiio_share *share;
    struct mpiio_ordered_waiter waiter;
    const char *text; /* NULL: waits for its turn */
    long result;
    pthread_t thread;
};

static void *block(void *data)
{
    struct blocked *self = data;

    self->result = self->text != NULL ? mpiio_share_write(self->share, self->text,
                                                          strlen(self->text), &self->waiter)
                                      : mpiio_share_await(self->share, &self->waiter);
    return NULL;
}

/* Returns when it waits, which is the count-th one who does. */
static void start(struct mpiio_ordered *ordered, struct blocked *blocked, uint64_t count)
{
    assert_int_equal(pthread_create(&blocked->thread, NULL, block, blocked), 0);
    while (stats_of(ordered).waits < count)
        sched_yield();
}

static long end(struct blocked *blocked)
{
    pthread_join(blocked->thread, NULL);
    return blocked->result;
}

TEST(waiters, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(3, 1, 4);
    struct blocked write = {.share = open_share(ordered, 0, 1), .text = "12345"};
    struct blocked turn = {.share = write.share};
    struct blocked other = {.share = open_share(ordered, 0, 2), .text = "67890"};
    struct mpiio_share *zero = open_share(ordered, 0, 0);

    put(other.share, "2222");
    start(ordered, &write, 1);
    mpiio_ordered_interrupt(ordered, &write.waiter);
    assert_int_equal(end(&write), -EINTR);
    /* Nothing of it is there; it is written again, at its turn. */
    write.waiter.ended = false;
    start(ordered, &write, 2);
    start(ordered, &turn, 3);
    start(ordered, &other, 4);
    put(zero, "0");
    mpiio_share_close(zero);
    assert_int_equal(end(&write), 5);
    assert_int_equal(end(&turn), 0);
    assert_placed(0, "012345");
    mpiio_share_close(write.share);
    assert_int_equal(end(&other), 5);
    assert_placed(0, "012345222267890");
    mpiio_share_close(other.share);

    /* When everything ends, nobody waits, but waiting bytes are placed. */
    write.share = open_share(ordered, 0, 1);
    put(write.share, "1");
    start(ordered, &write, 5);
    mpiio_ordered_stop(ordered);
    assert_int_equal(end(&write), -ENOTCONN);
    mpiio_share_close(write.share);
    assert_int_equal(mpiio_ordered_finish(ordered, NULL, NULL), 0);
    assert_placed(0, "0123452222678901");
}

/* At the end, what was placed is stored before the last contribution has finished, and then other
   nodes' contributions are waited for. */
TEST(the_end, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(4, 1, 100);

    write_all(ordered, 0, 2, "2");
    write_all(ordered, 1, 3, "three");
    write_all(ordered, 0, 1, "1");
    /* Contributions that are still open are finished, too, in each view. */
    put(open_share(ordered, 1, 3), " four");
    looks_left = 2;
    assert_int_equal(mpiio_ordered_finish(ordered, NULL, NULL), 0);
    assert_placed(0, "12");
    assert_placed(1, "three four");
    assert_int_equal(stored_at, 3);
    assert_int_equal(looks_left, 0);
    /* They are not waited for in vain. */
    looks_left = 1000;
    assert_int_equal(mpiio_ordered_finish(ordered, never, NULL), 0);
    assert_true(looks_left > 900);
    looks_left = 0;
}

/* The byte at a place of a rank's share. */
static char byte_of(int rank, int round, size_t place)
{
    return (char)((unsigned)rank * 31 + (unsigned)round * 7 + place * 13 + place / 256);
}

static size_t length_of(int rank, int round)
{
    unsigned number = (unsigned)(rank * 7919 + round * 104729);

    number = number * 1103515245u + 12345u;
    return number % 5 == 0 ? 0 : (number >> 8) % SHARE_MAX;
}

struct rank {
    struct mpiio_ordered *ordered;
    int rank, rounds;
    unsigned seed;
};

static void *write_rounds(void *data)
{
    struct rank *self = data;
    struct mpiio_ordered_waiter waiter = {0};
    char bytes[SHARE_MAX];

    for (int round = 0; round < self->rounds; round++) {
        size_t length = length_of(self->rank, round), done = 0;
        struct mpiio_share *share;

        for (int i = rand_r(&self->seed) % 50; i > 0; i--)
            sched_yield();
        if (mpiio_ordered_open(self->ordered, 0, self->rank, &share) != 0)
            abort();
        for (size_t i = 0; i < length; i++)
            bytes[i] = byte_of(self->rank, round, i);
        while (done < length) {
            size_t part = 1 + (size_t)rand_r(&self->seed) % (length - done);

            if (mpiio_share_write(share, bytes + done, part, &waiter) != (ssize_t)part)
                abort();
            done += part;
        }
        mpiio_share_close(share);
    }
    return NULL;
}

static void run_rounds(int ranks, int rounds, int64_t etype, int64_t memory)
{
    struct mpiio_ordered *ordered = make(ranks, etype, memory);
    struct rank all[RANKS_MAX];
    size_t at = 0;

    for (int i = 0; i < ranks; i++)
        all[i] =
            (struct rank){.ordered = ordered, .rank = i, .rounds = rounds, .seed = (unsigned)i};
    run_threads(ranks, write_rounds, all, sizeof(*all));
    for (int round = 0; round < rounds; round++) {
        for (int rank = 0; rank < ranks; rank++) {
            size_t length = length_of(rank, round);

            for (size_t i = 0; i < length; i++, at++)
                assert_int_equal(placed[0][at], byte_of(rank, round, i));
            for (; at % (size_t)etype != 0; at++)
                assert_int_equal(placed[0][at], 0);
        }
    }
    assert_int_equal(lengths[0], at);
    assert_int_equal(stats_of(ordered).waiting, 0);
    assert_int_equal(stats_of(ordered).shares, ranks * rounds);
    finish(ordered);
}

/* Threads come as they like. With little memory most of them wait. */
TEST(random_rounds)
{
    run_rounds(RANKS_MAX, 200, 1, 1 << 20);
    run_rounds(RANKS_MAX, 200, 1, 1000);
    run_rounds(4, 200, 8, 1);
    run_rounds(1, 50, 24, 0);
}
