/* SPDX-License-Identifier: MIT */
#include "net_fixture.h"

#include "cluster/peer_frame.h"

static uint8_t bytes[MPIIO_PEER_FRAME_MAX];

/* Makes a frame of this type with a value in every field. */
static struct mpiio_peer_frame make_frame(enum mpiio_peer_frame_type type)
{
    return (struct mpiio_peer_frame){.type = type,
                                     .number = 0x0102030405060708,
                                     .node = 6,
                                     .time = 10000,
                                     .status = -28,
                                     .flag = true,
                                     .host = "node-6.example.org",
                                     .text = "why",
                                     .text_size = 3};
}

TEST(test_frames_come_back)
{
    uint8_t again[MPIIO_PEER_FRAME_MAX];
    struct mpiio_peer_frame frame, got;
    size_t size;

    for (int type = MPIIO_BEAT; type < MPIIO_PEER_FRAME_TYPES; type++) {
        frame = make_frame((enum mpiio_peer_frame_type)type);
        size = mpiio_peer_frame_encode(&frame, bytes);
        assert_int_equal(mpiio_peer_frame_decode(bytes, size, &got), size);
        assert_int_equal(got.type, type);
        assert_int_equal(mpiio_peer_frame_encode(&got, again), size);
        assert_memory_equal(bytes, again, size);
        for (size_t part = 0; part < size; part++)
            assert_int_equal(mpiio_peer_frame_decode(bytes, part, &got), 0);
    }
}

TEST(test_fields_have_one_order_of_bytes)
{
    static const uint8_t expected[] = {0, 0, 0, 18, MPIIO_FINISHED, 1, 2, 3, 4, 5, 6, 7, 8, 1,
                                       0, 0, 0, 28};
    struct mpiio_peer_frame frame = make_frame(MPIIO_FINISHED);

    assert_int_equal(mpiio_peer_frame_encode(&frame, bytes), sizeof(expected));
    assert_memory_equal(bytes, expected, sizeof(expected));
}

TEST(test_what_is_no_frame_is_refused)
{
    static const struct {
        size_t size;
        uint8_t bytes[24];
    } wrong[] = {
        {5, {0, 0, 0, 4, MPIIO_BEAT}},             /* shorter than a header */
        {5, {0, 1, 0, 1, MPIIO_BEAT}},             /* too long */
        {5, {0, 0, 0, 5, 0}},                      /* not a type */
        {5, {0, 0, 0, 5, MPIIO_PEER_FRAME_TYPES}}, /* a type of a later version */
        {6, {0, 0, 0, 6, MPIIO_BEAT, 0}},          /* longer than its fields */
        {5, {0, 0, 0, 5, MPIIO_ASK}},              /* shorter than its fields */
        {6, {0, 0, 0, 6, MPIIO_ASK, 2}},           /* not a flag */
        {17, {0, 0, 0, 17, MPIIO_VOTE, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 16, 0}}, /* not an errno */
        {15, {0, 0, 0, 15, MPIIO_LOST, 0, 0, 0, 1, 0, 0, 0, 2, 'a', 0}},      /* not a text */
        {14, {0, 0, 0, 14, MPIIO_DEGRADED, 0, 0, 0, 1, 0}},                   /* an empty host */
        /* two lines in a field of one line */
        {15, {0, 0, 0, 15, MPIIO_DEGRADED, 0, 0, 0, 1, 1, '\n'}},
        {4, {0, 0, 0, 0}},
    };
    struct mpiio_peer_frame frame;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(mpiio_peer_frame_decode(wrong[i].bytes, wrong[i].size, &frame), -EPROTO);
}

static void open_pair(struct mpiio_peer_connection *left, struct mpiio_peer_connection *right)
{
    int dialled, accepted;

    free(connect_pair(&any, &dialled, &accepted));
    *left = *right = (struct mpiio_peer_connection){.fd = -1};
    mpiio_peer_connection_open(left, dialled);
    mpiio_peer_connection_open(right, accepted);
}

/* If a peer is stopped, sends do not block, and the queue for it is bounded. */
TEST(test_links_do_not_block)
{
    struct mpiio_peer_connection left, right;
    struct mpiio_peer_frame frame = make_frame(MPIIO_LOST), got;
    uint64_t sent = 0, received = 0;
    int rc;

    frame.text = (const char *)bytes;
    frame.text_size = MPIIO_PEER_TEXT_MAX;
    open_pair(&left, &right);
    while (left.error == 0) {
        mpiio_peer_connection_send(&left, &frame);
        sent++;
    }
    assert_int_equal(left.error, -ENOBUFS);
    assert_true(mpiio_queue_size(&left.out) <= MPIIO_QUEUE_MAX);
    /* Everything that was received is complete and in order, up to a last partial frame. */
    mpiio_peer_connection_close(&left);
    do {
        mpiio_peer_connection_fill(&right);
        while ((rc = mpiio_queue_next(&right.in, &got)) == 1)
            received++;
        assert_int_equal(rc, 0);
    } while (right.error == 0);
    assert_int_equal(right.error, -ENOTCONN);
    assert_in_range(received, 1, sent);
    assert_true(atomic_load(&right.received) <= atomic_load(&left.sent));
    mpiio_peer_connection_close(&right);
}

/* A reset does not count as an orderly end, also if it was a send that failed by it. */
TEST(test_a_reset_is_no_end)
{
    const struct linger now = {.l_onoff = 1};

    for (int sends = 0; sends < 2; sends++) {
        struct mpiio_peer_connection left, right;

        open_pair(&left, &right);
        assert_int_equal(setsockopt(right.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
        mpiio_peer_connection_close(&right);
        assert_int_equal(mpiio_address_wait(left.fd, POLLIN, 10000), 0);
        if (sends == 1)
            mpiio_peer_connection_put(&left, "word", 4);
        assert_int_equal(left.error, 0);
        mpiio_peer_connection_fill(&left);
        assert_int_equal(left.error, -ECONNRESET);
        mpiio_peer_connection_close(&left);
    }
}

/* A queue keeps the bytes that were put and not dropped, in order, even if it moves them in memory.
 */
TEST(test_a_queue_keeps_its_bytes)
{
    static uint8_t expected[1 << 20];
    struct mpiio_queue queue = {0};
    unsigned int seed = 1;
    uint8_t piece[1000], put = 0, first = 0;
    size_t held = 0;

    for (size_t i = 0; i < sizeof(expected); i++)
        expected[i] = (uint8_t)i;
    for (int round = 0; round < 10000; round++) {
        size_t more = (size_t)rand_r(&seed) % (sizeof(piece) + 1);
        size_t less = (size_t)rand_r(&seed) % (sizeof(piece) + 1);

        for (size_t i = 0; i < more; i++)
            piece[i] = put++;
        assert_int_equal(mpiio_queue_put(&queue, piece, more), 0);
        held += more;
        less = less < held ? less : held;
        mpiio_queue_drop(&queue, less);
        held -= less;
        first = (uint8_t)(first + less);
        assert_int_equal(mpiio_queue_size(&queue), held);
        assert_in_range(held, 0, sizeof(expected) - UINT8_MAX);
        assert_memory_equal(mpiio_queue_first(&queue), expected + first, held);
    }
    mpiio_queue_free(&queue);
    assert_int_equal(mpiio_queue_size(&queue), 0);
}
