/* SPDX-License-Identifier: MIT */
/* Shared file pointers of several nodes, which are threads here: what each takes, and who dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "pointers/pointers.h"

#define NODES    4
#define VIEWS    2
#define TAKERS   8
#define ETYPES   4000
#define PATIENCE 4000 /* ms */

static struct mpiio_pointers *node[NODES];
static int nodes;
static atomic_int owner[ETYPES + 1]; /* how often it was given */
static atomic_int taken;

static void start(int count)
{
    static const int64_t begin[VIEWS] = {0, 40};
    char places[NODES * 1024];
    size_t size = 0;

    nodes = count;
    for (int i = 0; i < nodes; i++) {
        const struct mpiio_pointers_options options = {
            .count = VIEWS, .start = begin, .node = i, .nodes = nodes, .timeout = PATIENCE};
        char *place;

        assert_int_equal(mpiio_pointers_new(&options, &node[i]), 0);
        assert_int_equal(mpiio_pointers_listen(node[i], &place), 0);
        assert_true(size + strlen(place) < sizeof(places));
        strcpy(places + size, place);
        size += strlen(place) + 1;
        free(place);
    }
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(mpiio_pointers_meet(node[i], places, size), 0);
        assert_int_equal(mpiio_pointers_start(node[i]), 0);
    }
    atomic_store(&taken, 0);
    for (int i = 0; i <= ETYPES; i++)
        atomic_store(&owner[i], 0);
}

static void end(void)
{
    for (int i = 0; i < nodes; i++)
        mpiio_pointers_free(node[i]);
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

static void each_is_given_once(void **state)
{
    pthread_t thread[TAKERS];

    (void)state;
    start(NODES);
    begin_takers(thread, 0);
    await_takers(thread);
    end();
}

/* What the others have is known, and so is what node 0 itself had taken before. */
static void the_keeper_dies(void **state)
{
    struct mpiio_pointers_stats stats;
    pthread_t thread[TAKERS];
    int64_t position;

    (void)state;
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
static void all_but_one_die(void **state)
{
    int64_t position;

    (void)state;
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

/* What is set is set for all, backwards too, and stays when who keeps it dies. */
static void set_and_get(void **state)
{
    int64_t position;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_given_once),
        cmocka_unit_test(the_keeper_dies),
        cmocka_unit_test(all_but_one_die),
        cmocka_unit_test(set_and_get),
    };

    return cmocka_run_group_tests_name("pointers", tests, NULL, NULL);
}
