/* SPDX-License-Identifier: MIT */

#include "unit.h"
#include "cluster/stall.h"

#define NODES 4

static struct mpiio_stall stall;
static const char *const hosts[NODES] = {"a", "b", "c", "d"};

static const char *host_of(void *data, uint32_t node)
{
    return node < NODES ? hosts[node] : NULL;
}

/* Starts with no node waiting. */
static int reset(void **state)
{
    stall.count = 0;
    return 0;
}

/* Returns the progress of a node that waits, in step 5 unless the test changes that. */
static struct mpiio_progress *waiting(uint32_t node)
{
    struct mpiio_stall_node added = {.node = node, .progress.step = 5};

    for (uint32_t i = 0; i < stall.count; i++)
        if (stall.nodes[i].node == node)
            return &stall.nodes[i].progress;
    strcpy(added.host, hosts[node]);
    mpiio_stall_add(&stall, &added);
    return &stall.nodes[stall.count - 1].progress;
}

static void wait_from(uint32_t node, uint32_t other)
{
    struct mpiio_progress *progress = waiting(node);

    progress->from[progress->from_count++] = other;
}

static void wait_to(uint32_t node, uint32_t other)
{
    struct mpiio_progress *progress = waiting(node);

    progress->to[progress->to_count++] = other;
}

static void expect_text(int first, const char *wanted)
{
    char text[MPIIO_STALL_TEXT];

    assert_int_equal(mpiio_stall_describe(&stall, host_of, NULL, text, sizeof(text)), first);
    assert_string_equal(text, wanted);
}

/* Nodes 1 and 2 wait for each other. Node 0 can reach both, and is one step further. */
TEST(test_a_pair, reset)
{
    waiting(0)->step = 6;
    wait_from(0, 1);
    wait_from(0, 2);
    wait_from(1, 2);
    wait_from(2, 1);
    expect_text(1, "node 1 (b) and node 2 (c) do not reach each other");
}

TEST(test_one_way, reset)
{
    wait_from(1, 3);
    waiting(3)->step = 9;
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
    /* A node that waits to send is described in the same way. */
    wait_to(3, 1);
    waiting(3)->step = 5;
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
    reset(NULL);
    wait_to(3, 1);
    expect_text(1, "node 1 (b) does not hear node 3 (d)");
}

/* The other node has finished the epoch, so its message should have arrived. */
TEST(test_one_that_is_over, reset)
{
    wait_from(2, 3);
    expect_text(2, "node 2 (c) does not hear node 3 (d)");
    reset(NULL);
    wait_from(2, 77);
    expect_text(2, "node 2 (c) does not hear node 77");
}

/* The other node is still in an earlier step, because it waits itself. A report names what is
   known. */
TEST(test_one_behind, reset)
{
    wait_from(2, 3);
    waiting(3)->step = 4;
    expect_text(2, "node 2 (c) waits for node 3 (d)");
    wait_from(3, 1);
    expect_text(3, "node 3 (d) does not hear node 1 (b)");
}

TEST(test_nobody_waits, reset)
{
    expect_text(-1, "");
}

/* The nodes in the earliest steps are kept, and survive encoding. */
TEST(test_many, reset)
{
    struct mpiio_stall half = {0}, again;
    uint8_t bytes[MPIIO_STALL_BYTES];
    size_t size;

    for (uint32_t i = 0; i < 100; i++) {
        struct mpiio_stall_node node = {
            .node = i, .host = "h", .progress = {.step = i * 37 % 100, .from_count = 1}};

        mpiio_stall_add(i % 2 == 0 ? &stall : &half, &node);
    }
    mpiio_stall_merge(&stall, &half);
    assert_int_equal(stall.count, MPIIO_STALL_NODES);
    for (uint32_t i = 0; i < stall.count; i++)
        assert_true(stall.nodes[i].progress.step < MPIIO_STALL_NODES);
    size = mpiio_stall_encode(&stall, bytes);
    assert_int_equal(mpiio_stall_decode(bytes, size, &again), 0);
    assert_memory_equal(&again, &stall, sizeof(stall));
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(mpiio_stall_decode(bytes, i, &again), -EPROTO);
        assert_int_equal(again.count, 0);
    }
    bytes[0] = MPIIO_STALL_NODES + 1;
    assert_int_equal(mpiio_stall_decode(bytes, size, &again), -EPROTO);
    assert_int_equal(again.count, 0);
}

TEST(test_several, reset)
{
    wait_from(1, 2);
    wait_from(2, 1);
    wait_from(3, 2);
    wait_from(0, 1);
    expect_text(0,
                "node 0 (a) does not hear node 1 (b), node 1 (b) and node 2 (c) do not reach each "
                "other, node 3 (d) does not hear node 2 (c)");
}

/* An item that does not fit is omitted as a whole. */
TEST(test_more_than_a_line, reset)
{
    char text[80];

    wait_from(1, 2);
    wait_from(2, 3);
    wait_from(3, 0);
    assert_int_equal(mpiio_stall_describe(&stall, host_of, NULL, text, sizeof(text)), 1);
    assert_string_equal(text, "node 1 (b) does not hear node 2 (c), and others");
}
