/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/stall.h"

#define NODES 4

static struct mpiio_stall_node nodes[NODES];
static const char *const hosts[NODES] = {"a", "b", "c", "d"};

static const struct mpiio_stall_node *node_at(void *data, int i)
{
    (void)data;
    return nodes[i].host != NULL ? &nodes[i] : NULL;
}

/* All are at work, in the same step. */
static void reset(void)
{
    for (int i = 0; i < NODES; i++)
        nodes[i] = (struct mpiio_stall_node){.host = hosts[i], .progress.step = 5};
}

static void wait_from(int node, uint32_t other)
{
    struct mpiio_progress *progress = &nodes[node].progress;

    progress->waiting = true;
    progress->from[progress->from_count++] = other;
}

static void wait_to(int node, uint32_t other)
{
    struct mpiio_progress *progress = &nodes[node].progress;

    progress->waiting = true;
    progress->to[progress->to_count++] = other;
}

static void expect_text(int first, const char *wanted)
{
    char text[MPIIO_STALL_TEXT];

    assert_int_equal(mpiio_stall_describe(node_at, NULL, NODES, text, sizeof(text)), first);
    assert_string_equal(text, wanted);
}

/* 0 reaches both, and is a step further: it waits for those who wait for each other. */
static void test_a_pair(void **state)
{
    (void)state;
    reset();
    nodes[0].progress.step = 6;
    wait_from(0, 1);
    wait_from(0, 2);
    wait_from(1, 2);
    wait_from(2, 1);
    expect_text(1, "node 1 (b) and node 2 (c) do not reach each other");
}

static void test_one_way(void **state)
{
    (void)state;
    reset();
    nodes[3].progress.step = 9;
    wait_from(1, 3);
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
    /* He who sends sees the same. */
    wait_to(3, 1);
    nodes[3].progress.step = 5;
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
    reset();
    wait_to(3, 1);
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
}

/* What was sent by a node that is through with the epoch is to have arrived. */
static void test_one_that_is_over(void **state)
{
    (void)state;
    reset();
    nodes[3].over = true;
    nodes[3].progress.step = 1;
    wait_from(2, 3);
    expect_text(2, "node 2 (c) does not hear node 3 (d)");
}

/* One that has not come that far yet, and waits for nobody, is not to blame for the network. */
static void test_one_behind(void **state)
{
    (void)state;
    reset();
    nodes[3].progress.step = 4;
    wait_from(2, 3);
    expect_text(2, "node 2 (c) waits for node 3 (d)");
}

static void test_nobody_waits(void **state)
{
    (void)state;
    reset();
    expect_text(-1, "");
    nodes[1].host = NULL;
    wait_from(2, 1);
    wait_from(2, 77);
    expect_text(2, "");
}

static void test_several(void **state)
{
    (void)state;
    reset();
    wait_from(1, 2);
    wait_from(2, 1);
    wait_from(3, 2);
    wait_from(0, 1);
    expect_text(0,
                "node 0 (a) does not hear node 1 (b), node 1 (b) and node 2 (c) do not reach each "
                "other, node 3 (d) does not hear node 2 (c)");
}

/* What does not fit is left out as a whole. */
static void test_more_than_a_line(void **state)
{
    char text[80];

    (void)state;
    reset();
    wait_from(1, 2);
    wait_from(2, 3);
    wait_from(3, 0);
    assert_int_equal(mpiio_stall_describe(node_at, NULL, NODES, text, sizeof(text)), 1);
    assert_string_equal(text, "node 1 (b) does not hear node 2 (c), and others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pair),           cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_one_that_is_over), cmocka_unit_test(test_one_behind),
        cmocka_unit_test(test_nobody_waits),     cmocka_unit_test(test_several),
        cmocka_unit_test(test_more_than_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
