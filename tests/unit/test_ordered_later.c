/* SPDX-License-Identifier: MIT */
/*
 * Contributions whose bytes cannot be placed for a while: place returns MPIIO_ORDERED_LATER for
 * some calls, or for all. What is placed must be what was written, each byte once.
 */
#include <limits.h>

#include "ordered_fixture.h"

#define ETYPE 4
#define LONG  4099 /* more than small writes share */

/* Opens rank 1's contribution while rank 0's has its turn, and writes to it. */
static struct mpiio_share *keep(struct mpiio_ordered *ordered, const char *text)
{
    struct mpiio_share *one = open_share(ordered, 0, 1);

    put(one, text);
    return one;
}

/* Bytes that have waited are kept, and the thread that places tries again. */
TEST(placed_later, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);

    start_thread(ordered);
    mpiio_share_close(keep(ordered, "held"));
    later_to = 3;
    write_all(ordered, 0, 0, "");
    while (turn_of(0) != 0 || stats_of(ordered).shares < 2)
        sched_yield();
    assert_int_equal(place_calls, 4);
    assert_placed(0, "held");
    assert_int_equal(stats_of(ordered).waiting, 0);
    assert_int_equal(stats_of(ordered).lost, 0);
}

/* Only the thread tries again: other calls on the view do not wait for it. */
TEST(callers_do_not_try_again, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);

    mpiio_share_close(keep(ordered, "held"));
    later_to = INT_MAX;
    write_all(ordered, 0, 0, "");
    assert_int_equal(place_calls, 1);
    write_all(ordered, 0, 0, "two");
    write_all(ordered, 0, 1, "three");
    assert_int_equal(place_calls, 1);
    assert_int_equal(stats_of(ordered).waiting, 12);
    later_to = 0;
    mpiio_ordered_close(ordered);
    assert_placed(0, "heldtwothree");
}

/* Writes to rank 1's contribution so that an etype lies in two chunks, and the last is incomplete.
   place fails at the given call. Returns the number of calls. */
static int place_parts(int fails)
{
    static char bytes[LONG + 14], expected[LONG + 14 + ETYPE];
    struct mpiio_ordered *ordered = make(2, ETYPE, 2 * LONG);
    struct mpiio_share *one = open_share(ordered, 0, 1);
    struct mpiio_ordered_waiter waiter = {0};
    int calls;

    for (size_t i = 0; i < sizeof(bytes); i++)
        expected[i] = bytes[i] = (char)(i * 31 + i / 256 + 1);
    assert_int_equal(mpiio_share_write(one, bytes, LONG, &waiter), LONG);
    assert_int_equal(mpiio_share_write(one, bytes + LONG, 14, &waiter), 14);
    mpiio_share_close(one);
    later_from = fails;
    later_to = fails + 2;
    write_all(ordered, 0, 0, "");
    for (int i = 0; i < 2; i++) {
        const struct mpiio_ordered_stats stats = stats_of(ordered);

        assert_int_equal(stats.lost, 0);
        assert_true(stats.waiting >= 0 && stats.waiting <= LONG + 14);
        mpiio_ordered_close(ordered);
    }
    assert_int_equal(lengths[0], (LONG + 14 + ETYPE - 1) / ETYPE * ETYPE);
    assert_memory_equal(placed[0], expected, lengths[0]);
    assert_int_equal(stats_of(ordered).waiting, 0);
    calls = place_calls;
    finish(ordered);
    return calls;
}

/* No byte is placed twice or left out, whichever call of place fails. */
TEST(parts_of_chunks)
{
    int calls = place_parts(INT_MAX - 2);

    assert_int_equal(calls, 4);
    for (int i = 0; i < calls; i++)
        assert_int_equal(place_parts(i), calls + 2);
}

/* A caller that waits gets EIO; a later call succeeds. So does a write after one that failed. */
TEST(callers, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(2, 1, 100);
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *zero = open_share(ordered, 0, 0), *one = keep(ordered, "held");

    later_to = INT_MAX;
    assert_int_equal(mpiio_share_write(zero, "0", 1, &waiter), -EIO);
    assert_int_equal(place_calls, 1);
    later_to = 0;
    put(zero, "0");
    later_to = INT_MAX;
    start_thread(ordered);
    mpiio_share_close(zero);
    assert_int_equal(mpiio_share_await(one, &waiter), -EIO);
    assert_int_equal(mpiio_share_write(one, "x", 1, &waiter), -EIO);
    assert_int_equal(mpiio_share_error(one), 0);
    later_to = 0;
    while (stats_of(ordered).waiting > 0)
        sched_yield();
    assert_int_equal(mpiio_share_await(one, &waiter), 0);
    put(one, "y");
    mpiio_share_close(one);
    assert_placed(0, "0heldy");
}

/* A write that fails leaves the beginning of its etype, which an earlier write has put there. */
TEST(a_failed_write_keeps_the_etype, NULL, finish_node)
{
    struct mpiio_ordered *ordered = make(1, ETYPE, 100);
    struct mpiio_ordered_waiter waiter = {0};
    struct mpiio_share *zero = open_share(ordered, 0, 0);

    put(zero, "ab");
    later_to = 1;
    assert_int_equal(mpiio_share_write(zero, "cd", 2, &waiter), -EIO);
    put(zero, "ef");
    mpiio_share_close(zero);
    assert_placed(0, "abef");
}

static int looks;

static bool looks_again(void *data)
{
    return --looks > 0;
}

/* The end waits as long as goes_on allows. What cannot be placed then is lost, and counted. */
TEST(the_end)
{
    for (int succeeds = 0; succeeds < 2; succeeds++) {
        struct mpiio_ordered *ordered = make(2, ETYPE, 100);

        mpiio_share_close(keep(ordered, "heldpart2"));
        later_to = succeeds ? 5 : INT_MAX;
        write_all(ordered, 0, 0, "");
        looks = 10;
        assert_int_equal(mpiio_ordered_finish(ordered, looks_again, NULL), 0);
        assert_int_equal(stats_of(ordered).waiting, 0);
        assert_int_equal(stats_of(ordered).lost, succeeds ? 0 : 9);
        assert_int_equal(lengths[0], succeeds ? 12 : 0);
        finish(ordered);
    }
}

/* The turn of all contributions of the round passes, as when other nodes drop them. */
static void pass(void)
{
    turns->view[0].turn = 2;
    mpiio_ordered_turn(node, 0, 2, false);
}

/* A contribution that is dropped is not placed later: while it waits, and while it is placed. */
TEST(dropped)
{
    for (int meanwhile = 0; meanwhile < 2; meanwhile++) {
        struct mpiio_ordered *ordered = make(2, 1, 100);

        mpiio_share_close(keep(ordered, "held"));
        later_to = INT_MAX;
        on_place = meanwhile ? pass : NULL;
        write_all(ordered, 0, 0, "");
        on_place = NULL;
        if (!meanwhile)
            pass();
        later_to = 0;
        mpiio_ordered_close(ordered);
        assert_int_equal(place_calls, 1);
        assert_placed(0, "");
        assert_int_equal(stats_of(ordered).lost, 4);
        assert_int_equal(stats_of(ordered).waiting, 0);
        write_all(ordered, 0, 0, "on");
        assert_placed(0, "on");
        finish(ordered);
    }
}
