/* SPDX-License-Identifier: MIT */
#include "slice_fixture.h"
#include "core/base/clock.h"
#include "core/cache/slots.h"

/* ms; longer than anything takes */
#define LONG 60000

static struct opened file;

static int set_up(void **state)
{
    file = open_slice(O_RDWR, NULL);
    return 0;
}

static int tear_down(void **state)
{
    close_opened(&file);
    return 0;
}

TEST(test_a_lease_runs_out_and_is_seen_by_who_maps_it)
{
    struct mpiio_slots daemon, engine;

    assert_int_equal(mpiio_slots_create(&daemon, 1), 0);
    assert_int_equal(mpiio_slots_map(&engine, daemon.fd), 0);
    assert_false(mpiio_lease_holds(mpiio_slots_lease(&engine)));
    mpiio_lease_set(mpiio_slots_lease(&daemon), mpiio_lease_clock() + LONG);
    assert_true(mpiio_lease_holds(mpiio_slots_lease(&engine)));
    mpiio_lease_set(mpiio_slots_lease(&daemon), mpiio_lease_clock());
    assert_false(mpiio_lease_holds(mpiio_slots_lease(&engine)));
    mpiio_lease_set(mpiio_slots_lease(&daemon), MPIIO_LEASE_FOREVER);
    assert_true(mpiio_lease_holds(mpiio_slots_lease(&engine)));
    mpiio_slots_unmap(&engine);
    mpiio_slots_destroy(&daemon);
}

/* Called when the fence has to wait. Ends an engine's store. */
static void end_store(void *engine)
{
    mpiio_store_fence_leave(*(int *)engine);
    *(int *)engine = -1;
}

static void never(void *unused)
{
    fail_msg("nobody stores");
}

static void count_wait(void *count)
{
    ++*(int *)count;
}

TEST(test_the_fence_waits_for_all_stores_to_end)
{
    int first = open_again(file.fd), second = open_again(file.fd);
    int ended = first, waits = 0;

    assert_int_equal(mpiio_store_fence_await(file.store, 0, never, NULL), 0);
    assert_true(mpiio_store_fence_enter(first));
    assert_true(mpiio_store_fence_enter(second));
    assert_int_equal(mpiio_store_fence_await(file.store, 0, count_wait, &waits), -ETIMEDOUT);
    assert_int_equal(waits, 1);
    mpiio_store_fence_leave(second);
    assert_int_equal(mpiio_store_fence_await(file.store, LONG, end_store, &ended), 0);
    assert_int_equal(ended, -1);
    /* The wait has not kept the fence, so an engine can enter it. */
    assert_true(mpiio_store_fence_enter(first));
    /* Acts as if the engine had exited. */
    close(first);
    assert_int_equal(mpiio_store_fence_await(file.store, 0, never, NULL), 0);
    close(second);
}

TEST(test_an_engine_does_not_wait)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int engine = open_again(file.fd), other = open_again(file.fd);

    assert_int_equal(fcntl(other, F_OFD_SETLK, &all), 0);
    assert_false(mpiio_store_fence_enter(engine));
    close(other);
    close(engine);
    assert_false(mpiio_store_fence_enter(-1));
}

TEST_GROUP(set_up, tear_down)
