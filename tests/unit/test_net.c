/* SPDX-License-Identifier: MIT */
#include "net_fixture.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "net/connections.h"

/* Tests how nodes find and authenticate each other, and reuse connections. */

#define PATIENCE 20000 /* ms */

/* Compares with Aumasson and Bernstein's table: key 00 01 .. 0f, messages 00 01 .. of six
   lengths. */
TEST(test_siphash_is_siphash)
{
    static const struct {
        size_t size;
        uint64_t hash;
    } known[] = {
        {0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd},  {7, 0xab0200f58b01d137},
        {8, 0x93f5f5799a932462}, {15, 0xa129ca6149be45e5}, {63, 0x958a324ceb064572},
    };
    uint8_t key[16], text[64];

    for (uint8_t i = 0; i < 64; i++) {
        text[i] = i;
        key[i % 16] = i % 16;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        assert_true(mpiio_siphash(key, text, known[i].size) == known[i].hash);
}

/* The handshake. */

struct ends {
    int asked, joins; /* the two ends of a connection */
    struct mpiio_join join, heard;
    struct mpiio_welcome welcome, got;
    uint8_t token[MPIIO_TOKEN_BYTES]; /* of the joining node */
    /* the number of a transmitted byte that is corrupted on the way; SIZE_MAX: none */
    size_t wrong;
    int error, answer;
};

/* Forwards size bytes, and corrupts byte wrong. Returns false if there are none. */
static bool relay(struct ends *ends, int from, int to, size_t size, size_t *at)
{
    uint8_t bytes[MPIIO_JOIN_BYTES];

    if (mpiio_talk_receive(from, bytes, size, PATIENCE) != 0)
        return false;
    for (size_t i = 0; i < size; i++)
        bytes[i] ^= *at + i == ends->wrong ? 0x10 : 0;
    *at += size;
    return mpiio_talk_send(to, bytes, size, PATIENCE) == 0;
}

static void *ask(void *data)
{
    struct ends *ends = data;
    struct mpiio_handshake handshake;

    assert_int_equal(mpiio_handshake_ask(ends->asked, &handshake), 0);
    assert_int_equal(mpiio_address_wait(ends->asked, POLLIN, PATIENCE), 0);
    ends->error = mpiio_handshake_hear(ends->asked, &handshake, net_token, &ends->heard);
    if (ends->error == 0)
        mpiio_handshake_answer(ends->asked, &handshake, net_token, &ends->welcome);
    close(ends->asked);
    return NULL;
}

static void *join(void *data)
{
    struct ends *ends = data;

    ends->answer = mpiio_handshake_join(ends->joins, ends->token, &ends->join,
                                        mpiio_clock() + PATIENCE, &ends->got);
    close(ends->joins);
    return NULL;
}

/* Runs both sides of a handshake, with a relay between them. */
static void shake(struct ends *ends)
{
    static const size_t sizes[] = {MPIIO_HELLO_BYTES, MPIIO_JOIN_BYTES, MPIIO_WELCOME_BYTES};
    pthread_t threads[2];
    int left[2], right[2];
    size_t at = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, left), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, right), 0);
    ends->asked = left[0];
    ends->joins = right[0];
    assert_int_equal(pthread_create(&threads[0], NULL, ask, ends), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, join, ends), 0);
    for (int i = 0; i < 3; i++)
        if (!relay(ends, i == 1 ? right[1] : left[1], i == 1 ? left[1] : right[1], sizes[i], &at))
            break;
    close(left[1]);
    close(right[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static struct ends make_ends(void)
{
    struct ends ends = {
        .join = {.purpose = MPIIO_PURPOSE_POOL, .node = 3, .nodes = 70000, .to = 69999},
        .welcome = {.time = 10000},
        .wrong = SIZE_MAX};

    memcpy(ends.token, net_token, sizeof(ends.token));
    memset(ends.join.host, 'j', MPIIO_HOST_MAX);
    memset(ends.welcome.host, 'w', MPIIO_HOST_MAX);
    return ends;
}

TEST(test_who_knows_the_token_is_heard)
{
    struct ends ends = make_ends();

    shake(&ends);
    assert_int_equal(ends.error, 0);
    assert_int_equal(ends.answer, 0);
    assert_memory_equal(&ends.heard, &ends.join, sizeof(ends.join));
    assert_memory_equal(&ends.got, &ends.welcome, sizeof(ends.welcome));
    ends.welcome.status = -EINVAL;
    shake(&ends);
    assert_int_equal(ends.answer, -EINVAL);
    ends.token[15] ^= 1;
    shake(&ends);
    assert_int_equal(ends.error, -EACCES);
    assert_int_equal(ends.answer, -ENOTCONN);
}

/* If any byte is corrupted, the side that reads it or the next one rejects the handshake. */
TEST(test_proofs_depend_on_all_that_was_said)
{
    for (size_t i = 0; i < sizeof(struct mpiio_handshake); i++) {
        struct ends ends = make_ends();

        ends.wrong = i;
        shake(&ends);
        assert_int_not_equal(ends.answer, 0);
        assert_int_equal(ends.error == 0, i >= MPIIO_HELLO_BYTES + MPIIO_JOIN_BYTES);
    }
}

/* Addresses to listen at. */

TEST(test_wrong_addresses_are_refused)
{
    static const char *const wrong[] = {"x",      "1.2.3.4",   "1.2.3.4:",      "1.2.3.4:0",
                                        ":1",     "[::1]",     "[::1:5",        "1.2.3.4:70000",
                                        "::1:80", "[1.2.3]:5", "1.2.3.4:5x y:1"};
    const char *at = "  ";

    assert_int_equal(mpiio_address_dial(&any, &at, 10), -ENOENT);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        at = wrong[i];
        assert_int_equal(mpiio_address_dial(&any, &at, 10), -EINVAL);
    }
}

static int find(const char *where)
{
    struct mpiio_local_address local;

    return mpiio_local_address_find(where, &local);
}

TEST(test_local_addresses)
{
    static const char *const wrong[] = {
        "",           "/8",          "127.0.0.1/33",
        "127.0.0.1/", "127.0.0.1/x", "::1/129",
        "lo/8",       "1.2.3.4/-1",  "an-interface-with-a-long-name"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(find(wrong[i]), -EINVAL);
    assert_int_equal(find("no-such-one"), -EADDRNOTAVAIL);
    assert_int_equal(find("127.0.0.2"), -EADDRNOTAVAIL);
    assert_int_equal(find("240.0.0.0/4"), -EADDRNOTAVAIL); /* reserved: no machine has one */
    assert_int_equal(find("100::/64"), -EADDRNOTAVAIL);
}

/* Listens at one address and connects from it. No other address is used. */
TEST(test_one_local_address)
{
    static const char *const names[] = {"lo", "127.0.0.1", "127.0.0.0/8", "126.0.0.0/7",
                                        "127.0.0.1/32"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct mpiio_local_address local;
        struct sockaddr_in address = {.sin_family = AF_UNSPEC};
        socklen_t size = sizeof(address);
        char *addresses;
        int dialled, accepted;

        assert_int_equal(mpiio_local_address_find(names[i], &local), 0);
        addresses = connect_pair(&local, &dialled, &accepted);
        assert_int_equal(strncmp(addresses, "127.0.0.1:", 10), 0);
        assert_null(strchr(addresses, ' '));
        assert_int_equal(getpeername(accepted, (struct sockaddr *)&address, &size), 0);
        assert_int_equal(address.sin_family, AF_INET);
        assert_int_equal(ntohl(address.sin_addr.s_addr), INADDR_LOOPBACK);
        close(accepted);
        close(dialled);
        free(addresses);
    }
}

TEST(test_the_first_port_that_is_free)
{
    struct mpiio_local_address loopback;
    struct mpiio_ports ports = {.first = 0};
    char *addresses[3];
    int fd[3];

    assert_int_equal(mpiio_local_address_find("127.0.0.1", &loopback), 0);
    /* Finds two adjacent free ports, because another process may use some of them. */
    for (uint16_t first = 20000; ports.first == 0 && first < 30000; first += 2) {
        ports = (struct mpiio_ports){first, (uint16_t)(first + 1)};
        if (mpiio_address_listen(&loopback, &ports, &fd[0], &addresses[0]) != 0) {
            ports.first = 0;
        } else if (mpiio_address_listen(&loopback, &ports, &fd[1], &addresses[1]) != 0) {
            close(fd[0]);
            free(addresses[0]);
            ports.first = 0;
        }
    }
    assert_int_equal(atoi(strchr(addresses[0], ':') + 1), ports.first);
    assert_int_equal(atoi(strchr(addresses[1], ':') + 1), ports.last);
    assert_int_equal(mpiio_address_listen(&loopback, &ports, &fd[2], &addresses[2]), -EADDRINUSE);
    assert_null(addresses[2]);
    /* A former connection does not prevent listening on its port again. */
    close(dial_node(addresses[0]));
    close(fd[0]);
    assert_int_equal(mpiio_address_listen(&loopback, &ports, &fd[0], &addresses[2]), 0);
    assert_string_equal(addresses[0], addresses[2]);
    for (int i = 0; i < 3; i++)
        free(addresses[i]);
    close(fd[0]);
    close(fd[1]);
}

/* Connections that are reused. */

#define NODES 4

static struct group {
    struct mpiio_net *net[NODES];
    struct mpiio_connections connections; /* of node 0 */
    _Atomic int served;
} group;

/* Sends back the byte that it receives. */
static bool echo(void *data, void *desk, int fd)
{
    if (mpiio_talk_receive(fd, desk, 1, PATIENCE) != 0)
        return false;
    atomic_fetch_add(&((struct group *)data)->served, 1);
    return mpiio_talk_send(fd, desk, 1, PATIENCE) == 0;
}

static void start_group(unsigned most, unsigned most_served)
{
    const struct mpiio_listener_calls calls = {
        .serve = echo, .pool = &group, .threads = 2, .desk = 1};
    const char *addresses[NODES];

    group = (struct group){.served = 0};
    for (int i = 0; i < NODES; i++) {
        group.net[i] = make_net(i, NODES, PATIENCE);
        group.net[i]->options.most = i == 0 ? most : most_served;
        addresses[i] = group.net[i]->own;
    }
    for (int i = 0; i < NODES; i++) {
        meet_others(group.net[i], net_token, addresses);
        assert_int_equal(mpiio_net_start(group.net[i], &calls), 0);
    }
    assert_int_equal(mpiio_connections_init(&group.connections, group.net[0]), 0);
}

static void end_group(void)
{
    for (int i = 0; i < NODES; i++)
        mpiio_net_free(group.net[i]);
    mpiio_connections_destroy(&group.connections);
}

static void ask_node(int node)
{
    struct mpiio_connection *connection =
        mpiio_connections_get(&group.connections, node, mpiio_clock() + PATIENCE);
    char byte = (char)('a' + node), answer = 0;

    assert_non_null(connection);
    assert_int_equal(mpiio_talk_send(connection->fd, &byte, 1, PATIENCE), 0);
    assert_int_equal(mpiio_talk_receive(connection->fd, &answer, 1, PATIENCE), 0);
    assert_int_equal(answer, byte);
    mpiio_connections_put(&group.connections, node, connection, 0);
}

TEST(test_connections_are_kept_up_to_a_bound)
{
    struct mpiio_connection *connection;

    start_group(2, 0);
    for (int i = 0; i < 20; i++) {
        ask_node(1 + i % 3);
        assert_int_equal(group.connections.count, i == 0 ? 1 : 2);
    }
    assert_int_equal(group.served, 20);
    connection = mpiio_connections_get(&group.connections, 1, mpiio_clock() + PATIENCE);
    assert_non_null(connection);
    for (int i = 0; i < 20; i++)
        ask_node(2 + i % 2);
    assert_int_equal(group.connections.count, 2);
    mpiio_connections_put(&group.connections, 1, connection, 0);
    end_group();
}

/* Node 1 serves one connection at a time, and closes the one that it served least recently. Node
   0 does not count that as a failure of node 1. */
TEST(test_who_was_served_least_recently_goes)
{
    struct mpiio_connection *connection[2];

    start_group(0, 1);
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 2; j++) {
            connection[j] = mpiio_connections_get(&group.connections, 1, mpiio_clock() + PATIENCE);
            assert_non_null(connection[j]);
        }
        for (int j = 0; j < 2; j++)
            mpiio_connections_put(&group.connections, 1, connection[j], 0);
        usleep(2000);
        ask_node(1);
    }
    end_group();
}

/* A node refuses a connection meant for another node, another purpose or another number of
   nodes. */
TEST(test_who_is_not_meant_is_refused)
{
    static const struct {
        struct mpiio_join join;
        int status;
    } cases[] = {
        {{.purpose = MPIIO_PURPOSE_POOL, .node = 1, .nodes = NODES, .to = 2}, -EINVAL},
        {{.purpose = MPIIO_PURPOSE_POOL, .node = 0, .nodes = NODES, .to = 0}, -EINVAL},
        {{.purpose = MPIIO_PURPOSE_POOL, .node = 1, .nodes = NODES + 1, .to = 0}, -EINVAL},
        {{.purpose = MPIIO_PURPOSE_TREE, .node = 1, .nodes = NODES, .to = 0}, -EOPNOTSUPP},
        {{.purpose = MPIIO_PURPOSE_POOL, .node = 1, .nodes = NODES, .to = 0}, 0},
    };
    int fd;

    start_group(0, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(join_node(group.net[0]->own, &cases[i].join, &fd), cases[i].status);
        close(fd);
    }
    assert_int_equal(group.served, 0);
    end_group();
}

/* Some of a node's addresses may also belong to other machines, or to this node. */
TEST(test_the_first_address_where_the_node_itself_answers)
{
    struct mpiio_welcome welcome;
    char *all;
    int fd;

    start_group(0, 0);
    assert_true(
        asprintf(&all, "%s %s %s", group.net[1]->own, group.net[0]->own, group.net[2]->own) > 0);
    group.net[0]->address[2] = all;
    fd = mpiio_net_connect(group.net[0], 2, MPIIO_PURPOSE_POOL, "", mpiio_clock() + PATIENCE,
                           &welcome);
    assert_true(fd >= 0);
    close(fd);
    group.net[0]->address[2] = group.net[1]->own;
    assert_int_equal(mpiio_net_connect(group.net[0], 2, MPIIO_PURPOSE_POOL, "",
                                       mpiio_clock() + PATIENCE, &welcome),
                     -EINVAL);
    free(all);
    end_group();
}
