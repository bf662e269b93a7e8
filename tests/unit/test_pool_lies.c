/* SPDX-License-Identifier: MIT */
#include "pool_fixture.h"

#include "pool/pool_private.h"

/* Tests strangers and nodes that send wrong requests to a home, and homes that send wrong
   answers. The only effect is that they get no answer, or are not asked again. */

#define MIB       ((int64_t)1 << 20)
#define PATIENCE  20000
#define SIZE      (16 * MIB)
#define STRANGERS (2 * MPIIO_LISTENER_STRANGERS)

/* Expects the other end to close the connection without sending anything. */
static void expect_end(int fd)
{
    char byte;
    int error = mpiio_talk_receive(fd, &byte, 1, PATIENCE);

    assert_true(error == -ENOTCONN);
    close(fd);
}

/* Joins as node 1 of 2. */
static int join(void)
{
    const struct mpiio_join join = {.purpose = MPIIO_PURPOSE_POOL, .node = 1, .nodes = 2};
    int fd;

    assert_int_equal(join_node(nodes.addresses[0], &join, &fd), 0);
    return fd;
}

/* Makes a file and two nodes. Whoever joins does so as the second one. */
static int make_home(void **state)
{
    make_fake(SIZE);
    make_nodes(2, SIZE);
    return 0;
}

/* Encodes a request for a part of block 0, with the file's version and epoch. */
static size_t make_request(const struct fake *seen, struct mpiio_pool_part part, uint8_t *bytes)
{
    const struct mpiio_pool_request request = {
        .version = {.size = seen->size, .times = {(int64_t)seen->version}, .epoch = seen->epoch},
        .count = 1,
        .part = &part};

    return mpiio_pool_request_encode(&request, bytes);
}

static void expect_answer(int fd, const struct fake *seen, struct mpiio_pool_part part, bool there)
{
    uint8_t bytes[MPIIO_POOL_REQUEST_MAX];
    size_t size = make_request(seen, part, bytes);
    struct mpiio_pool_answer answer;

    assert_int_equal(mpiio_talk_send(fd, bytes, size, PATIENCE), 0);
    assert_int_equal(mpiio_talk_receive(fd, bytes, MPIIO_POOL_ANSWER_BYTES, PATIENCE), 0);
    assert_true(mpiio_pool_answer_decode(bytes, &answer));
    assert_int_equal(answer.there, there);
    assert_int_equal(answer.bytes, there ? part.length * part.count : 0);
    if (there)
        assert_int_equal(mpiio_talk_receive(fd, bytes, answer.bytes, PATIENCE), 0);
}

/* Many strangers send nothing, or a part of a message. A node of the pool is served all the
   same. */
TEST(strangers_are_not_waited_for, make_home)
{
    int mute[STRANGERS];
    int fd;

    for (int i = 0; i < STRANGERS; i++) {
        mute[i] = dial_node(nodes.addresses[0]);
        if (i % 3 == 1)
            assert_int_equal(mpiio_talk_send(mute[i], "mpio", 4, PATIENCE), 0);
    }
    fd = join();
    expect_answer(fd, &fake, (struct mpiio_pool_part){64, 8, 10, 64}, true);
    close(fd);
    for (int i = 0; i < STRANGERS; i++)
        close(mute[i]);
}

TEST(what_is_no_request_ends_the_connection, make_home)
{
    static const struct mpiio_pool_part wrong[] = {
        {4194300, 8, 1, 0}, {0, 8, 2, 4194304}, {64, 8, 2, -65},       {0, 0, 1, 0},
        {0, 8, 0, 8},       {0, 4194304, 2, 0}, {0, 8, UINT32_MAX, 0}, {UINT32_MAX, 8, 1, 0}};
    uint8_t bytes[MPIIO_POOL_REQUEST_MAX];
    size_t size;
    int fd;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fd = join();
        size = make_request(&fake, wrong[i], bytes);
        assert_int_equal(mpiio_talk_send(fd, bytes, size, PATIENCE), 0);
        expect_end(fd);
    }
    /* Impossible sizes, and a request of another length than it declares. */
    for (int i = 0; i < 3; i++) {
        fd = join();
        size = make_request(&fake, (struct mpiio_pool_part){0, 8, 1, 0}, bytes);
        if (i < 2)
            memset(bytes, i == 0 ? 0 : 0xff, 4);
        else
            bytes[size - 17]++;
        assert_int_equal(mpiio_talk_send(fd, bytes, size, PATIENCE), 0);
        expect_end(fd);
    }
    fd = join();
    expect_answer(fd, &fake, (struct mpiio_pool_part){0, 8, 1, 0}, true);
    close(fd);
}

TEST(who_sees_another_version_gets_nothing, make_home)
{
    struct fake other = fake;
    int fd = join();

    expect_answer(fd, &fake, (struct mpiio_pool_part){0, 8, 1, 0}, true);
    other.version++;
    expect_answer(fd, &other, (struct mpiio_pool_part){0, 8, 1, 0}, false);
    other = fake;
    other.epoch++;
    expect_answer(fd, &other, (struct mpiio_pool_part){0, 8, 1, 0}, false);
    set_changing(true);
    expect_answer(fd, &fake, (struct mpiio_pool_part){0, 8, 1, 0}, false);
    set_changing(false);
    expect_answer(fd, &fake, (struct mpiio_pool_part){0, 8, 1, 0}, true);
    close(fd);
}

/* A home that breaks the protocol. */
struct liar {
    int fd;
    /* 0: sends nothing, 1: no HELLO, 2: no WELCOME, 3: a WELCOME for another handshake, 4: no
       answer, ... */
    int lie;
    _Atomic bool stop;
};

#define LIES 8

static void lie_on(struct liar *liar, int fd)
{
    struct mpiio_handshake handshake;
    struct mpiio_pool_answer answer = {.there = true, .bytes = liar->lie == 6 ? 7 : 65536};
    const struct mpiio_welcome welcome = {0};
    uint8_t bytes[MPIIO_POOL_REQUEST_MAX];
    struct mpiio_join join;

    if (liar->lie == 1) {
        memset(bytes, 'x', sizeof(bytes));
        mpiio_talk_send(fd, bytes, MPIIO_HELLO_BYTES, PATIENCE);
        return;
    }
    mpiio_handshake_ask(fd, &handshake);
    if (mpiio_address_wait(fd, POLLIN, PATIENCE) != 0 ||
        mpiio_handshake_hear(fd, &handshake, net_token, &join) != 0 || liar->lie == 2)
        return;
    handshake.said[40] ^= liar->lie == 3; /* a WELCOME for another handshake */
    mpiio_handshake_answer(fd, &handshake, net_token, &welcome);
    if (mpiio_talk_receive(fd, bytes, 4, PATIENCE) != 0 || liar->lie == 4)
        return;
    mpiio_pool_answer_encode(&answer, bytes);
    if (liar->lie == 5)
        bytes[0] = 9;
    mpiio_talk_send(fd, bytes, MPIIO_POOL_ANSWER_BYTES + (liar->lie == 7 ? 100 : 0), PATIENCE);
}

static void *lie(void *data)
{
    struct liar *liar = data;
    int held[64], count = 0;

    while (!atomic_load(&liar->stop)) {
        int fd = mpiio_address_wait(liar->fd, POLLIN, 20) == 0
                     ? accept4(liar->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
                     : -1;

        if (fd < 0)
            continue;
        if (liar->lie == 0 && count < 64) {
            held[count++] = fd; /* never sends anything */
            continue;
        }
        lie_on(liar, fd);
        close(fd);
    }
    while (count > 0)
        close(held[--count]);
    return NULL;
}

/* Blocks whose home is node 0 arrive, others do not, and no call takes long. */
TEST(a_home_that_lies_is_not_believed)
{
    struct vs_view *view = make_vector(0, 65536, 131072);
    char *buffer = malloc((size_t)MIB);

    make_fake(SIZE);
    for (int i = 0; i < LIES; i++) {
        struct liar liar = {.lie = i};
        char *addresses;
        pthread_t thread;

        assert_int_equal(mpiio_address_listen(&any, &any_port, &liar.fd, &addresses), 0);
        nodes =
            (struct nodes){.count = 2, .homes = mpiio_homes_of(0, 0, 2), .addresses[1] = addresses};
        assert_int_equal(pthread_create(&thread, NULL, lie, &liar), 0);
        make_pool(0, SIZE, 200);
        meet(0);
        for (int j = 0; j < 3; j++) {
            assert_true(pool_read(nodes.pool[0], view, 0, 65536, buffer));
            assert_memory_equal(buffer, fake.words, 65536);
            assert_false(pool_read(nodes.pool[0], view, 2 * MIB, 65536, buffer));
        }
        free_node(0);
        atomic_store(&liar.stop, true);
        pthread_join(thread, NULL);
        close(liar.fd);
        free(addresses);
    }
    free(buffer);
    vs_view_unref(view);
}

TEST(what_is_said_is_understood)
{
    struct mpiio_pool_part parts[] = {{1, 2, 3, -4}, {5, 6, 7, 8}};
    const struct mpiio_pool_request request = {
        .version = {1, {2, 3, 4, 5}, 6}, .block = 1000000, .count = 2, .part = parts};
    uint8_t bytes[MPIIO_POOL_REQUEST_MAX];
    static union mpiio_pool_list list;
    struct mpiio_pool_request got;
    size_t size;

    parts[0].offset = 100;
    size = mpiio_pool_request_encode(&request, bytes);
    assert_int_equal(size, MPIIO_POOL_REQUEST_HEAD + 32);
    assert_int_equal(mpiio_pool_request_size(bytes), size - 4);
    assert_true(mpiio_pool_request_decode(bytes + 4, size - 4, &got, &list));
    assert_memory_equal(&got.version, &request.version, sizeof(got.version));
    assert_int_equal(got.block, 1000000);
    assert_memory_equal(got.part, parts, sizeof(parts));
    /* A changed request is a different request for a block, or invalid. Memory of exactly its
       size lets sanitizers detect reads past its end. */
    for (int i = 0; i < 20000; i++) {
        uint8_t *copy = malloc(size - 4);

        assert_non_null(copy);
        memcpy(copy, bytes + 4, size - 4);
        for (int j = rand() % 4; j >= 0; j--)
            copy[(size_t)rand() % (size - 4)] = (uint8_t)rand();
        if (mpiio_pool_request_decode(copy, size - 4, &got, &list) && !got.ahead)
            assert_in_range(mpiio_pool_reach(got.part, got.count), 1, MPIIO_POOL_BLOCK);
        free(copy);
    }
    /* A request that is truncated anywhere is invalid. */
    for (size_t cut = 0; cut < size - 4; cut++)
        assert_false(mpiio_pool_request_decode(bytes + 4, cut, &got, &list));
}

/* The bytes of these parts add up to 2^64, so that their sum in 64 bits would be 0. */
TEST(parts_that_repeat_their_bytes_are_refused)
{
    enum { PARTS = 1025 };
    static struct mpiio_pool_part parts[PARTS];
    static uint8_t bytes[MPIIO_POOL_REQUEST_MAX];
    static union mpiio_pool_list list;
    const struct mpiio_pool_request request = {
        .version = {.size = MPIIO_POOL_BLOCK}, .count = PARTS, .part = parts};
    struct mpiio_pool_request got;
    size_t size;

    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct mpiio_pool_part){.length = (uint32_t)MPIIO_POOL_BLOCK,
                                            .count = i < PARTS - 1 ? UINT32_MAX : PARTS - 1};
    size = mpiio_pool_request_encode(&request, bytes);
    assert_false(mpiio_pool_request_decode(bytes + 4, size - 4, &got, &list));
    for (int i = 0; i < PARTS; i++)
        parts[i] = (struct mpiio_pool_part){.length = 1, .count = 4};
    mpiio_pool_request_encode(&request, bytes);
    assert_true(mpiio_pool_request_decode(bytes + 4, size - 4, &got, &list));
}

BEFORE_TESTS
{
    signal(SIGPIPE, SIG_IGN);
}
