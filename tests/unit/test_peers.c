/* SPDX-License-Identifier: MIT */
#include "peers_fixture.h"

#include <endian.h>
#include <stdatomic.h>

#include "threads.h"

/* Tests several daemons in one process. */

#define TEST_TREES(name) TEST_FANOUTS(name, 3)

static void end_cluster(void)
{
    char *unsaved;

    assert_int_equal(mpiio_peers_unmount_all(cluster.node[0].peers, false, PATIENCE, &unsaved), 0);
    assert_null(unsaved);
    for (int i = 0; i < cluster.nodes; i++)
        AWAIT(cluster.node[i].ended);
    /* Unmounting again finds the work done. */
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[0].peers, false, PATIENCE, &unsaved), 0);
    for (int i = 0; i < cluster.nodes; i++) {
        assert_int_equal(cluster.node[i].unmounts, 1);
        assert_int_equal(state_of(&cluster.node[i]), MPIIO_PEERS_ENDED);
        assert_int_equal(mpiio_peers_goodbye(cluster.node[i].peers), -ENOTCONN);
    }
    free_cluster();
}

/* Returns how many connections a node has. */
static int neighbours(int node, int nodes)
{
    return mpiio_tree_below(node, nodes, tree_width()) + (node == 0 ? 0 : 1);
}

/* Checks both ends of the connection between a node and the one above it. */
static void check_connection(const struct node *node)
{
    int index = (node->number - 1) % tree_width() + (above(node)->number == 0 ? 0 : 1);
    struct mpiio_peer_status peer;

    assert_int_equal(mpiio_peers_peer(above(node)->peers, index, &peer), 0);
    assert_int_equal(peer.node, node->number);
    assert_int_equal(peer.host[4], '0' + node->number);
    assert_string_equal(peer.state, "connected");
    assert_in_range(peer.age, 0, LONG_TIMEOUT);
    assert_true(peer.received > 0 && peer.sent > 0);
    assert_int_equal(mpiio_peers_peer(node->peers, 0, &peer), 0);
    assert_int_equal(peer.node, above(node)->number);
    assert_int_equal(peer.host[4], '0' + above(node)->number);
}

TEST_TREES(test_one_to_eight_nodes_come_together)
{
    struct mpiio_peer_status peer;

    for (int nodes = 1; nodes <= NODES_MAX; nodes++) {
        start_cluster(nodes, LONG_TIMEOUT);
        for (int i = 0; i < nodes; i++)
            AWAIT(cluster.node[i].lease > mpiio_lease_clock());
        for (int i = 1; i < nodes; i++)
            check_connection(&cluster.node[i]);
        for (int i = 0; i < nodes; i++)
            assert_int_equal(mpiio_peers_peer(cluster.node[i].peers, neighbours(i, nodes), &peer),
                             -ENOENT);
        cluster.node[nodes - 1].stop_in_event = true;
        end_cluster();
    }
}

/* Joins as a node, and leaves again. Returns the error of joining. */
static int join_as(struct mpiio_peers_options *options, const uint8_t token[MPIIO_TOKEN_BYTES])
{
    const char *addresses[NODES_MAX] = {cluster.node[0].net->own};
    struct mpiio_peers *peers;
    int error;

    options->net = make_net(options->node, options->nodes, PATIENCE);
    meet_others(options->net, token, addresses);
    assert_int_equal(mpiio_peers_open(options, &peers), 0);
    error = mpiio_peers_join(peers, PATIENCE);
    mpiio_peers_free(peers);
    mpiio_net_free(options->net);
    return error;
}

static int dial(void)
{
    return dial_node(cluster.node[0].net->own);
}

/* Waits until the other side has closed a connection. */
static void await_end(int fd)
{
    char bytes[256];
    ssize_t got;

    do {
        assert_int_equal(mpiio_address_wait(fd, POLLIN, PATIENCE), 0);
        got = recv(fd, bytes, sizeof(bytes), 0);
    } while (got > 0);
    close(fd);
}

/* Sends node 0 a request that node may join. Checks that the answer has node 0's name host, or that
   there is no answer if host is empty. Returns the error of the handshake. */
static int ask_to_join(int node, const char *host)
{
    const struct mpiio_join join = {.purpose = MPIIO_PURPOSE_TREE,
                                    .node = (uint32_t)node,
                                    .nodes = (uint32_t)cluster.nodes,
                                    .host = "host"};
    struct mpiio_welcome welcome = {0};
    int fd = dial();
    int error = mpiio_handshake_join(fd, net_token, &join, mpiio_clock() + PATIENCE, &welcome);

    assert_string_equal(welcome.host, host);
    await_end(fd);
    return error;
}

TEST_TREES(test_nothing_waits_for_ever_for_those_who_do_not_come)
{
    struct mpiio_peers_options options;
    int64_t begun;
    uint64_t after;

    cluster_init(3);
    assert_int_equal(start_node(0, LONG_TIMEOUT), 0);
    assert_int_equal(start_node(1, LONG_TIMEOUT), 0);
    assert_int_equal(mpiio_peers_wait(cluster.node[0].peers, 50), -ETIMEDOUT);
    assert_int_equal(mpiio_peers_wait(cluster.node[1].peers, 50), -ETIMEDOUT);
    assert_int_equal(mpiio_peers_request_flush(cluster.node[1].peers, true, &after), -ENOTCONN);
    assert_int_equal(mpiio_peers_set_atomicity(cluster.node[0].peers, true, 1000), -ENOTCONN);
    /* A node that leaves before the mount is complete may join again. It has not failed. */
    free_node(&cluster.node[1]);
    assert_int_equal(start_node(1, LONG_TIMEOUT), 0);
    mpiio_peers_stop(cluster.node[0].peers);
    mpiio_peers_stop(cluster.node[0].peers);
    /* A node that has left closes new connections at once. */
    assert_int_not_equal(ask_to_join(2, ""), -ETIMEDOUT);
    mpiio_net_close(cluster.node[0].net);
    assert_int_equal(mpiio_peers_wait(cluster.node[1].peers, PATIENCE), -ENOTCONN);
    /* Nobody listens there. */
    options = make_options(&cluster.node[2], 3, 0, NULL);
    begun = mpiio_clock();
    assert_int_equal(join_as(&options, net_token), -ECONNREFUSED);
    assert_true(mpiio_clock() - begun < PATIENCE);
    cluster.nodes = 2;
    free_cluster();
}

/* Sends wrong first bytes, messages that are too short or too long, a wrong proof, and another
   version. */
static void send_garbage(void)
{
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "MPIO", ""};
    uint8_t bytes[4096] = {0};
    uint64_t protocol = htobe64(MPIIO_PROTOCOL);
    int fd[7];

    for (int i = 0; i < 7; i++)
        fd[i] = dial();
    for (int i = 0; i < 3; i++)
        assert_true(send(fd[i], texts[i], strlen(texts[i]), MSG_NOSIGNAL) >= 0);
    assert_true(send(fd[3], bytes, sizeof(bytes), MSG_NOSIGNAL) == sizeof(bytes));
    for (int i = 4; i < 7; i++) {
        memcpy(bytes, &protocol, sizeof(protocol));
        bytes[7] += i == 4;
        assert_true(send(fd[i], bytes, MPIIO_JOIN_BYTES - (i == 6), MSG_NOSIGNAL) > 0);
    }
    for (int i = 0; i < 7; i++)
        await_end(fd[i]);
}

TEST_TREES(test_strangers_have_no_effect)
{
    struct mpiio_peers_options options;
    uint8_t wrong[MPIIO_TOKEN_BYTES];
    int silent[100];

    cluster_init(3);
    assert_int_equal(start_node(0, LONG_TIMEOUT), 0);
    send_garbage();
    options = make_options(&cluster.node[1], 3, 0, "host1");
    memcpy(wrong, net_token, sizeof(wrong));
    wrong[15] ^= 1;
    assert_int_equal(join_as(&options, wrong), -EACCES);
    options.nodes = 4;
    assert_int_equal(join_as(&options, net_token), -EINVAL);

    /* More connections than may be pending. Later ones are accepted once these have closed. */
    for (int i = 0; i < 100; i++)
        silent[i] = dial();
    for (int i = 0; i < 100; i++)
        close(silent[i]);
    assert_int_equal(start_node(1, LONG_TIMEOUT), 0);
    /* Also if no new connection arrives. */
    for (int i = 0; i < 100; i++)
        silent[i] = dial();
    for (int i = 0; i < 99; i++)
        close(silent[i]);
    assert_int_equal(mpiio_address_wait(silent[99], POLLIN, PATIENCE), 0);
    close(silent[99]);
    silent[0] = dial();
    start_nodes(2, LONG_TIMEOUT);
    await_end(silent[0]); /* closed, because all nodes have joined */
    end_cluster();
}

TEST_TREES(test_refused_nodes_learn_why)
{
    cluster_init(NODES_MAX);
    assert_int_equal(start_node(0, LONG_TIMEOUT), 0);
    for (int i = 1; i < NODES_MAX; i++)
        if (mpiio_tree_above(i, tree_width()) != 0)
            assert_int_equal(ask_to_join(i, "host0"), -EINVAL);
    start_nodes(1, LONG_TIMEOUT);
    /* All nodes have joined. A late node cannot replace one of them. */
    for (int i = 1; i < NODES_MAX; i++)
        assert_int_equal(ask_to_join(i, "host0"),
                         mpiio_tree_above(i, tree_width()) != 0 ? -EINVAL : -ENOTCONN);
    end_cluster();
}

/*
 * Epochs. Each thread writes, requests a flush, and waits. Its bytes must be in an epoch that has
 * finished, and one with sync if the request had it.
 */

#define THREADS  3 /* of each node */
#define REQUESTS 150

struct writer {
    struct node *node;
    unsigned int seed;
    bool wrong;
};

static void *write_and_flush(void *argument)
{
    struct writer *writer = argument;
    struct node *node = writer->node;

    for (int i = 0; i < REQUESTS; i++) {
        bool sync = rand_r(&writer->seed) % 2 == 0;
        uint64_t mine, after;

        pthread_mutex_lock(&cluster.lock);
        mine = ++node->written;
        pthread_mutex_unlock(&cluster.lock);
        if (mpiio_peers_request_flush(node->peers, sync, &after) != 0) {
            writer->wrong = true;
            break;
        }
        AWAIT((sync ? node->finished_sync : node->finished) > after);
        pthread_mutex_lock(&cluster.lock);
        writer->wrong |= (sync ? node->stored_sync : node->stored) < mine;
        pthread_mutex_unlock(&cluster.lock);
    }
    return NULL;
}

TEST_TREES(test_every_request_is_covered)
{
    struct writer writers[4 * THREADS];
    struct mpiio_peers_status status;

    start_cluster(4, LONG_TIMEOUT);
    for (int i = 0; i < 4 * THREADS; i++)
        writers[i] = (struct writer){.node = &cluster.node[i % 4], .seed = (unsigned int)i};
    run_threads(4 * THREADS, write_and_flush, writers, sizeof(*writers));
    for (int i = 0; i < 4 * THREADS; i++)
        assert_false(writers[i].wrong);
    for (int i = 0; i < 4; i++) {
        mpiio_peers_status(cluster.node[i].peers, &status);
        assert_in_range(status.finished, REQUESTS, 4 * THREADS * REQUESTS);
        assert_true(status.finished_sync <= status.finished && status.finished_sync > 0);
        assert_int_equal(status.dead, -1);
    }
    end_cluster();
}

static void let_epochs_go(int node)
{
    uint64_t epoch;

    pthread_mutex_lock(&cluster.lock);
    cluster.node[node].hold_epochs = false;
    epoch = cluster.node[node].begun;
    pthread_mutex_unlock(&cluster.lock);
    finish_part(&cluster.node[node], epoch);
}

TEST_TREES(test_requests_share_epochs)
{
    uint64_t after, last = 0;

    start_cluster(3, LONG_TIMEOUT);
    SET(&cluster.node[2], hold_epochs, true);
    assert_int_equal(mpiio_peers_request_flush(cluster.node[1].peers, false, &after), 0);
    AWAIT(cluster.node[2].begun == 1);
    for (int i = 0; i < 3; i++)
        AWAIT(cluster.node[i].begun == 1);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(mpiio_peers_request_flush(cluster.node[i % 3].peers, i % 7 == 0, &after),
                         0);
        assert_int_equal(after, 1);
    }
    assert_int_equal(cluster.node[0].finished, 0);
    let_epochs_go(2);
    for (int i = 0; i < 3; i++)
        AWAIT(cluster.node[i].finished_sync > after);
    /* One epoch serves all requests. A request that arrives after it has begun starts another
       one. */
    pthread_mutex_lock(&cluster.lock);
    last = cluster.node[0].begun;
    pthread_mutex_unlock(&cluster.lock);
    assert_in_range(last, 2, 4);
    end_cluster();
}

TEST_TREES(test_who_wants_sync_gets_it)
{
    uint64_t after;

    start_cluster(3, LONG_TIMEOUT);
    for (int i = 0; i < 12; i++) {
        struct node *node = &cluster.node[i % 3];

        assert_int_equal(mpiio_peers_request_flush(node->peers, i % 4 != 0, &after), 0);
        AWAIT((i % 4 != 0 ? node->finished_sync : node->finished) > after);
    }
    end_cluster();
}

TEST_TREES(test_a_nodes_failure_reaches_all)
{
    uint64_t after;

    start_cluster(3, LONG_TIMEOUT);
    cluster.node[1].epoch_status = -ENOSPC;
    cluster.node[2].epoch_status = -EIO;
    assert_int_equal(mpiio_peers_request_flush(cluster.node[0].peers, true, &after), 0);
    for (int i = 0; i < 3; i++) {
        AWAIT(cluster.node[i].finished == 1);
        assert_int_equal(cluster.node[i].status, -ENOSPC);
    }
    /* An unexpected answer and a repeated one are ignored. */
    cluster.node[1].epoch_status = cluster.node[2].epoch_status = 0;
    assert_int_equal(mpiio_peers_epoch_done(cluster.node[1].peers, 1, -EIO), 0);
    assert_int_equal(mpiio_peers_epoch_done(cluster.node[1].peers, 7, -EIO), 0);
    assert_int_equal(mpiio_peers_request_flush(cluster.node[1].peers, true, &after), 0);
    for (int i = 0; i < 3; i++) {
        AWAIT(cluster.node[i].finished == 2);
        assert_int_equal(cluster.node[i].status, 0);
    }
    end_cluster();
}

/* Changes of atomicity. */

static void check_settled(int settled, int committed, bool atomic)
{
    pthread_mutex_lock(&cluster.lock);
    for (int i = 0; i < cluster.nodes; i++) {
        cluster.wrong |= cluster.node[i].settled != settled;
        cluster.wrong |= cluster.node[i].committed != committed;
        cluster.wrong |= cluster.node[i].atomic != atomic || cluster.node[i].change != 0;
    }
    pthread_mutex_unlock(&cluster.lock);
    assert_false(is_wrong());
}

TEST_TREES(test_atomicity_changes_everywhere_or_nowhere)
{
    start_cluster(3, LONG_TIMEOUT);
    assert_int_equal(mpiio_peers_set_atomicity(cluster.node[2].peers, true, PATIENCE), 0);
    check_settled(1, 1, true);
    cluster.node[1].vote = -EBUSY;
    assert_int_equal(mpiio_peers_set_atomicity(cluster.node[0].peers, false, PATIENCE), -EBUSY);
    check_settled(2, 1, true);
    /* One node does not vote in time: nothing changes, and its late vote is ignored. */
    cluster.node[1].vote = 1;
    assert_int_equal(mpiio_peers_set_atomicity(cluster.node[2].peers, false, 200), -ETIMEDOUT);
    cluster.node[1].vote = 0;
    for (int i = 0; i < 3; i++)
        AWAIT(cluster.node[i].settled == 3);
    check_settled(3, 1, true);
    assert_int_equal(mpiio_peers_vote(cluster.node[1].peers, 3, 0), 0);
    assert_int_equal(mpiio_peers_set_atomicity(cluster.node[1].peers, false, PATIENCE), 0);
    check_settled(4, 2, false);
    end_cluster();
}

static atomic_int changes_made;

static void *change_often(void *argument)
{
    struct node *node = argument;

    for (int i = 0; i < 20; i++)
        if (mpiio_peers_set_atomicity(node->peers, i % 2 == 0, PATIENCE) == 0)
            atomic_fetch_add(&changes_made, 1);
    return NULL;
}

TEST_TREES(test_changes_take_turns)
{
    pthread_t threads[6];

    start_cluster(3, LONG_TIMEOUT);
    atomic_store(&changes_made, 0);
    for (int i = 0; i < 6; i += 3)
        start_threads(&threads[i], 3, change_often, cluster.node, sizeof(*cluster.node));
    join_threads(threads, 6);
    assert_int_equal(atomic_load(&changes_made), 120);
    check_settled(120, 120, cluster.node[0].atomic);
    end_cluster();
}

/* Unmounting. */

TEST_TREES(test_what_is_unsaved_is_told)
{
    char *unsaved;

    start_cluster(4, LONG_TIMEOUT);
    cluster.node[1].unmount = -ENOSPC;
    cluster.node[3].unmount = -EIO;
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[2].peers, false, PATIENCE, &unsaved),
                     -ENOSPC);
    assert_non_null(unsaved);
    assert_non_null(strstr(unsaved, "host1: 5 bytes?of rank3\n"));
    assert_non_null(strstr(unsaved, "host3: 5 bytes?of rank3\n"));
    assert_null(strstr(unsaved, "host0"));
    free(unsaved);
    assert_int_equal(state_of(&cluster.node[0]), MPIIO_PEERS_TOGETHER);
    /* With force, the nodes that are still mounted are asked, and then all end. */
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[3].peers, true, PATIENCE, &unsaved), 0);
    for (int i = 0; i < 4; i++) {
        AWAIT(cluster.node[i].ended);
        assert_int_equal(cluster.node[i].unmounts, 1 + i % 2);
    }
    free_cluster();
}

/* The requesting node unmounts last, by itself. Two nodes may both request it. */
TEST_TREES(test_who_comes_last_has_not_failed)
{
    char *unsaved;

    start_cluster(3, LONG_TIMEOUT);
    cluster.node[0].unmount = -EINPROGRESS;
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[0].peers, false, PATIENCE, &unsaved), 0);
    assert_null(unsaved);
    assert_int_equal(state_of(&cluster.node[0]), MPIIO_PEERS_TOGETHER);
    assert_int_equal(mpiio_peers_goodbye(cluster.node[0].peers), 0);
    for (int i = 0; i < 3; i++)
        AWAIT(cluster.node[i].ended);
    free_cluster();
}

static void *unmount_late(void *argument)
{
    char *unsaved = NULL;
    intptr_t rc = mpiio_peers_unmount_all(argument, true, PATIENCE, &unsaved);

    free(unsaved);
    return (void *)rc;
}

TEST_TREES(test_force_helps_who_is_stuck)
{
    struct node *stuck = &cluster.node[1];
    pthread_t thread;
    char *unsaved;
    void *rc;

    start_cluster(3, LONG_TIMEOUT);
    stuck->unmount = 1;
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[2].peers, false, 100, &unsaved),
                     -ETIMEDOUT);
    assert_null(unsaved);
    AWAIT(stuck->unmounts == 1);
    assert_int_equal(pthread_create(&thread, NULL, unmount_late, cluster.node[2].peers), 0);
    AWAIT(stuck->unmounts == 2);
    assert_int_equal(mpiio_peers_unmounted(stuck->peers, 0, NULL), 0);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_null(rc);
    for (int i = 0; i < 3; i++)
        AWAIT(cluster.node[i].ended);
    free_cluster();
}

TEST_TREES(test_who_has_said_goodbye_stays)
{
    struct mpiio_peer_status peer;
    uint64_t after;
    char *unsaved;

    start_cluster(3, LONG_TIMEOUT);
    assert_int_equal(mpiio_peers_goodbye(cluster.node[1].peers), 0);
    assert_int_equal(mpiio_peers_request_flush(cluster.node[1].peers, true, &after), 0);
    AWAIT(cluster.node[1].finished == 1);
    assert_int_equal(mpiio_peers_peer(cluster.node[0].peers, 0, &peer), 0);
    assert_string_equal(peer.state, "unmounted");
    assert_int_equal(mpiio_peers_goodbye(cluster.node[0].peers), 0);
    assert_int_equal(mpiio_peers_unmount_all(cluster.node[1].peers, false, PATIENCE, &unsaved), 0);
    for (int i = 0; i < 3; i++) {
        AWAIT(cluster.node[i].ended);
        assert_int_equal(cluster.node[i].unmounts, i == 2);
    }
    free_cluster();
}

TEST_TREES(test_the_last_goodbye_is_the_end)
{
    start_cluster(3, LONG_TIMEOUT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mpiio_peers_goodbye(cluster.node[i].peers), 0);
    for (int i = 0; i < 3; i++) {
        AWAIT(cluster.node[i].ended);
        assert_int_equal(cluster.node[i].unmounts, 0);
    }
    free_cluster();
}
