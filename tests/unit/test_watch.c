/* SPDX-License-Identifier: MIT */
/*
 * Tests the failure detection of nodes that wait for a turn. Node 0 has the first contribution in
 * each view, and node 1 waits. The tests do not depend on the speed of the machine: a silent node
 * must not be skipped too early, and must be skipped at any time after that.
 */

#include "record_fixture.h"
#include "core/base/clock.h"
#include "pointers/request.h"

#define TIMEOUT 400 /* ms */
#define SILENCE (2 * TIMEOUT)

/* The reports that the watch has made. */
static int drops[VIEWS];
static int64_t dropped_at;
static bool had_exited;

static struct mpiio_watch watch; /* of node 1 */
static int64_t opened_at;        /* when its test began to open contributions */

static void note_drop(void *data, size_t view, uint64_t share, int number, bool exited,
                      int64_t position)
{
    assert_int_equal(share, 0);
    assert_int_equal(number, 0);
    assert_int_equal(position, nodes[1].state.position[view]);
    drops[view]++;
    dropped_at = mpiio_lease_clock();
    had_exited = exited;
}

/* Applies a request of a node, and adds its entry to the record. Returns the result. */
static uint64_t request(struct node *node, enum mpiio_request_kind kind, size_t view, int64_t value)
{
    struct mpiio_request request = {
        .kind = kind, .view = view, .count = value, .share = (uint64_t)value};
    struct mpiio_entry entry;

    assert_int_equal(mpiio_record_lock(&node->record, true), 0);
    assert_int_equal(mpiio_record_read(&node->record, &node->state), 0);
    assert_int_equal(mpiio_request_apply(&node->state, &request, &entry), 1);
    assert_int_equal(mpiio_record_append(&node->record, &entry, 1), 0);
    mpiio_record_unlock(&node->record);
    return (uint64_t)request.result;
}

/* Opens contributions 0, of node 0, and 1, of node 1, in each view, and makes the watch. */
static int begin_watch(void **state)
{
    begin_all(state);
    opened_at = mpiio_lease_clock();
    watch = (struct mpiio_watch){.record = &nodes[1].record,
                                 .state = &nodes[1].state,
                                 .timeout = TIMEOUT,
                                 .dropped = note_drop};
    memset(drops, 0, sizeof(drops));
    for (size_t view = 0; view < VIEWS; view++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(request(&nodes[i], MPIIO_REQUEST_OPEN, view, i), i);
    return mpiio_watch_init(&watch);
}

/* Calls node 1's watch until it is node 1's turn in all views. */
static void look_until_turn(void)
{
    for (size_t view = 0; view < VIEWS; view++) {
        while (nodes[1].state.turns.view[view].turn == 0) {
            mpiio_watch_look(&watch);
            usleep(5000);
        }
        assert_int_equal(nodes[1].state.turns.view[view].turn, 1);
    }
}

static int end_watch(void **state)
{
    mpiio_watch_free(&watch);
    return end_all(state);
}

static void await_silence(bool reports)
{
    watch.dropped = reports ? note_drop : NULL;
    look_until_turn();
    assert_true(mpiio_lease_clock() - opened_at > SILENCE);
    for (size_t view = 0; view < VIEWS; view++)
        assert_int_equal(drops[view], reports);
    assert_true(!reports || (dropped_at - opened_at > SILENCE && !had_exited));
    /* Other nodes read the new turn from the record. */
    assert_int_equal(mpiio_record_lock(&nodes[2].record, false), 0);
    assert_int_equal(mpiio_record_read(&nodes[2].record, &nodes[2].state), 0);
    mpiio_record_unlock(&nodes[2].record);
    assert_int_equal(nodes[2].state.turns.view[1].turn, 1);
}

TEST(a_silent_node_is_skipped, begin_watch, end_watch)
{
    await_silence(true);
}

TEST(a_silent_node_is_skipped_without_a_report, begin_watch, end_watch)
{
    await_silence(false);
}

TEST(a_node_that_has_exited_is_skipped_at_once, begin_watch, end_watch)
{
    mpiio_record_close(&nodes[0].record);
    mpiio_watch_look(&watch);
    for (size_t view = 0; view < VIEWS; view++) {
        assert_int_equal(nodes[1].state.turns.view[view].turn, 1);
        assert_int_equal(drops[view], 1);
    }
    assert_true(had_exited);
}

TEST(a_node_that_sends_heartbeats_is_not_skipped, begin_watch, end_watch)
{
    uint64_t before = mpiio_record_beats(&nodes[0].record, 1);

    for (int64_t end = mpiio_lease_clock() + 2 * SILENCE; mpiio_lease_clock() < end;) {
        assert_int_equal(mpiio_record_beat(&nodes[0].record), 0);
        mpiio_watch_look(&watch);
        usleep(5000);
    }
    assert_int_equal(nodes[1].state.turns.view[0].turn, 0);
    assert_int_equal(drops[0] + drops[1], 0);
    /* The node that waits sends heartbeats, too. */
    assert_true(mpiio_record_beats(&nodes[0].record, 1) > before);
}

/* Node 0 has finished its contribution at the turn, and is silent while a later one is open. */
TEST(a_finished_contribution_is_not_skipped, begin_watch, end_watch)
{
    for (size_t view = 0; view < VIEWS; view++) {
        assert_int_equal(request(&nodes[0], MPIIO_REQUEST_OPEN, view, 0), 4);
        request(&nodes[0], MPIIO_REQUEST_OVER, view, 0);
        assert_int_equal(nodes[1].state.turns.view[view].turn, 0);
    }
    look_until_turn();
    assert_int_equal(drops[0] + drops[1], 0);
}

/* A rank is missing if it has opened no contribution in a round. */
TEST(contributions_behind_missing_ranks_are_awaited_only_at_the_end, begin_watch, end_watch)
{
    for (size_t view = 0; view < VIEWS; view++) {
        request(&nodes[0], MPIIO_REQUEST_OVER, view, 0);
        request(&nodes[1], MPIIO_REQUEST_OVER, view, 1);
        assert_int_equal(request(&nodes[0], MPIIO_REQUEST_OPEN, view, 3), 3);
    }
    assert_int_equal(mpiio_record_read(&nodes[1].record, &nodes[1].state), 0);
    mpiio_record_close(&nodes[0].record);
    mpiio_watch_look(&watch);
    assert_int_equal(nodes[1].state.turns.view[0].turn, 2);
    watch.dropped = NULL;
    watch.all = true;
    watch.due = 0;
    mpiio_watch_look(&watch);
    assert_int_equal(nodes[1].state.turns.view[0].turn, 4);
    assert_int_equal(nodes[1].state.turns.view[1].turn, 4);
}

TEST_GROUP(make_folder, remove_folder)
