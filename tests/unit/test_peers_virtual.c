/* SPDX-License-Identifier: MIT */
#include "peers_fixture.h"

#include <fcntl.h>

#include "../scale/world.h"

/*
 * Tests daemons over the virtual clock and network of tests/scale, so that a test decides what a
 * node has received at each time. The program is linked with --wrap for the clocks.
 */

#define NODES   7
#define TIMEOUT 10000 /* ms: peer_timeout */
#define SECOND  1e6   /* us, the unit of the world's clock */

static struct node *const daemons = cluster.node;

static struct mpiio_peers_options options_of(int node)
{
    static char host[16];

    snprintf(host, sizeof(host), "host%d", node);
    return make_options(&daemons[node], world.nodes, TIMEOUT, host);
}

/* Processes all events before a time in seconds. */
static void run_until(double second)
{
    while (world_step(second * SECOND))
        continue;
    world.now = second * SECOND;
}

/* Frees the previous nodes. Starts nodes, runs them until a time in seconds, and checks
   that all have joined. */
static void begin_world(int nodes, int width, double second)
{
    world_free();
    cluster_init(nodes);
    fanout = width;
    world.costs = (struct world_costs){.processor = 1, .latency = 10, .bandwidth = 1000};
    world_create(nodes, width, options_of);
    for (int i = 0; i < nodes; i++) {
        daemons[i].peers = world.node[i].peers;
        daemons[i].hold_epochs = true;
        world_begin(i, i * 1000);
    }
    run_until(second);
    for (int i = 0; i < nodes; i++) {
        assert_int_equal(world.node[i].peers->status.state, MPIIO_PEERS_TOGETHER);
        assert_int_equal(world.node[i].peers->status.dead, -1);
    }
}

/* Checks that a node has degraded because the node dead has failed, and for the reason why unless
   that is NULL. */
static void check_degraded(int node, int dead, const char *why)
{
    char host[16];

    snprintf(host, sizeof(host), "host%d", dead);
    assert_true(daemons[node].degraded);
    assert_int_equal(daemons[node].dead, dead);
    assert_string_equal(daemons[node].dead_host, host);
    if (why != NULL)
        assert_string_equal(daemons[node].why, why);
}

/* Reports of lost engines name the peers that are silent. */

static void lose_engine(int node, uint64_t argument)
{
    const char *why = argument != 0 ? (const char *)(uintptr_t)argument : "killed";

    assert_int_equal(mpiio_peers_engine_lost(world.node[node].peers, why), 0);
}

/* Silences node 2 at 3 s, node 3 at 4 s, and loses node 1's engine some seconds after 3 s. */
static void lose_after_silence(double seconds)
{
    begin_world(4, 3, 3);
    world_cut(2, true, false);
    run_until(4);
    world_cut(3, true, false);
    world_call(1, (3 + seconds) * SECOND, lose_engine, 0);
    run_until(3 + seconds + 0.1);
}

TEST(test_the_reason_names_silent_nodes)
{
    char why[200];
    double second, third;

    lose_after_silence(7);
    assert_int_equal(sscanf(daemons[0].why,
                            "killed, and node 2 (host2) is not heard of for %lf s"
                            ", and node 3 (host3) is not heard of for %lf s",
                            &second, &third),
                     2);
    assert_true(second >= 7 && second <= 8.1); /* heartbeats come each second */
    assert_true(third >= 6 && third <= 7.1);
    snprintf(why, sizeof(why),
             "killed, and node 2 (host2) is not heard of for %.1f s"
             ", and node 3 (host3) is not heard of for %.1f s",
             second, third);
    for (int i = 0; i < 4; i++)
        check_degraded(i, 1, why);
}

/* A node that is silent for less than half of peer_timeout is not named. */
TEST(test_the_reason_does_not_name_other_nodes)
{
    lose_after_silence(3);
    for (int i = 0; i < 4; i++)
        check_degraded(i, 1, "killed");
}

/* The silence of others while node 0 itself was stopped does not count. */
TEST(test_the_reason_does_not_count_a_pause)
{
    begin_world(3, 2, 3);
    world_cut(2, true, false);
    world_stop(0, 9 * SECOND);
    world_call(1, 8.9 * SECOND, lose_engine, 0);
    run_until(9.1);
    for (int i = 0; i < 3; i++)
        check_degraded(i, 1, "killed");
}

/* The reason is no format string. Its line break is replaced. */
TEST(test_all_nodes_get_the_reason_as_one_line)
{
    struct mpiio_peers_status status;
    struct mpiio_peer_status peer;

    begin_world(4, 1, 3);
    world_call(2, 3 * SECOND, lose_engine, (uintptr_t) "100 %s of %n, %d\n");
    run_until(3.1);
    for (int i = 0; i < 4; i++) {
        check_degraded(i, 2, "100 %s of %n, %d?");
        mpiio_peers_status(world.node[i].peers, &status);
        assert_int_equal(status.dead, 2);
        assert_string_equal(status.why, daemons[i].why);
    }
    /* Once all nodes are alone, no connection is left. */
    run_until(6);
    for (int i = 0; i < 4; i++) {
        assert_true(daemons[i].alone);
        world.current = i; /* the node whose clock is read */
        for (int k = 0; mpiio_peers_peer(world.node[i].peers, k, &peer) == 0; k++)
            assert_string_equal(peer.state, "closed");
    }
}

/* A peer does not receive. */

/* The node whose queue to its peer is full after its next message. -1: none. */
static int full_node;

static void fill_queue(int node)
{
    struct mpiio_peers *peers = world.node[node].peers;

    if (node != full_node)
        return;
    full_node = -1;
    (node == 0 ? peers->peer[1] : peers->above)->link.error = -ENOBUFS;
}

/* The node detects it in the same turn of the loop. */
TEST(test_a_peer_whose_queue_is_full_is_declared_failed)
{
    for (int node = 0; node < 2; node++) {
        begin_world(2, 2, 3);
        full_node = node;
        world.on_message = fill_queue;
        while (full_node >= 0)
            assert_true(world_step(10 * SECOND));
        check_degraded(node, 1 - node, "it does not receive what it is sent");
    }
}

/* Leases. */

/* Each node answers a heartbeat each second. A lease lasts for 3/4 of peer_timeout after the
   heartbeat, whatever the node's distance from node 0. */
TEST(test_all_nodes_have_fresh_leases)
{
    begin_world(NODES, 1, 3);
    for (int tenth = 30; tenth < 100; tenth++) {
        run_until(tenth / 10.0);
        for (int i = 0; i < NODES; i++) {
            world.current = i; /* the node whose clock is read */
            assert_true(daemons[i].lease - mpiio_lease_clock() > TIMEOUT / 4 * 3 - 2100);
        }
    }
}

/* They still receive each other's messages. */
TEST(test_degraded_nodes_grant_no_leases)
{
    int64_t given[3];

    begin_world(4, 1, 3);
    world_call(0, 3 * SECOND, lose_engine, 0);
    world_cut(3, true, false); /* so that the others wait for it */
    run_until(3.1);
    for (int i = 0; i < 3; i++) {
        check_degraded(i, 0, "killed");
        given[i] = world.node[i].peers->peer[1]->given;
        assert_true(given[i] > 0);
    }
    run_until(8);
    for (int i = 0; i < 3; i++) {
        assert_false(daemons[i].alone);
        assert_int_equal(world.node[i].peers->peer[1]->given, given[i]);
    }
}

/* Makes a node receive peer 1's answer to the heartbeat with that number. */
static void echo(int node, uint64_t number)
{
    const struct mpiio_peer_frame frame = {.type = MPIIO_BEAT, .number = 1, .echo = number};
    struct mpiio_peer *peer = world.node[node].peers->peer[1];

    assert_int_equal(mpiio_queue_frame(&peer->link.in, &frame), 0);
    mpiio_turn_hear(world.node[node].peers, peer);
}

TEST(test_only_an_answer_to_the_last_heartbeat_counts)
{
    struct mpiio_peers *peers;
    uint64_t now;

    begin_world(2, 2, 3);
    world_cut(1, true, false);
    run_until(5.5);
    peers = world.node[0].peers;
    assert_int_equal(peers->beats_awaited, 1);
    world.current = 0;
    now = (uint64_t)mpiio_lease_clock();
    world_call(0, 5.5 * SECOND, echo, now - 1001); /* to the heartbeat before */
    run_until(5.51);
    assert_int_equal(peers->beats_awaited, 1);
    world_call(0, 5.51 * SECOND, echo, now);
    run_until(5.52);
    assert_int_equal(peers->beats_awaited, 0);
}

/* Requests to unmount. */

/* Requests an unmount of all nodes, without waiting for the result. */
static void unmount_all(int node, uint64_t force)
{
    char *unsaved;

    assert_int_equal(mpiio_peers_unmount_all(world.node[node].peers, force != 0, 0, &unsaved),
                     -ETIMEDOUT);
}

static void report_unmounted(int node, uint64_t argument)
{
    assert_int_equal(mpiio_peers_unmounted(world.node[node].peers, 0, NULL), 0);
}

/* Requests an unmount while nodes 0, 1 and 4 are busy and node 5 does not answer. */
static void begin_unmounting(void)
{
    begin_world(NODES, 2, 1);
    daemons[0].unmount = daemons[1].unmount = daemons[4].unmount = -EBUSY;
    daemons[5].unmount = 1;
    world_call(6, 1 * SECOND, unmount_all, false);
    run_until(2);
}

/* Checks how many requests have reached a node, and how many of them with force. */
static void check_requests(int node, int unmounts, int forced)
{
    assert_int_equal(daemons[node].unmounts, unmounts);
    assert_int_equal(daemons[node].forced, forced);
}

TEST(test_force_reaches_only_nodes_that_have_not_answered)
{
    begin_unmounting();
    for (int i = 0; i < NODES; i++)
        check_requests(i, 1, 0);
    for (int second = 2; second < 6; second++) {
        world_call(second == 2 ? 6 : second % 3, second * SECOND, unmount_all, second != 2);
        run_until(second + 1);
        for (int i = 0; i < NODES; i++)
            check_requests(i, 1 + (i == 5 && second > 2), i == 5 && second > 2);
    }
    /* Once node 5 has answered, the next request reaches all nodes that are still mounted. */
    world_call(5, 6 * SECOND, report_unmounted, 0);
    daemons[0].unmount = daemons[1].unmount = 0;
    world_call(3, 7 * SECOND, unmount_all, false);
    run_until(8);
    for (int i = 0; i < NODES; i++)
        check_requests(i, i == 5 || i < 2 || i == 4 ? 2 : 1, i == 5);
    assert_false(daemons[0].ended);
    daemons[4].unmount = 0;
    world_call(5, 8 * SECOND, unmount_all, true);
    run_until(9);
    for (int i = 0; i < NODES; i++)
        assert_true(daemons[i].ended && !daemons[i].degraded);
    check_requests(4, 3, 1);
}

/* Several frames arrive at once. */

/* Sends frames to a peer at once. */
static void send_frames(struct mpiio_peer *to, const struct mpiio_peer_frame *frames, int count)
{
    struct mpiio_queue queue = {0};

    for (int i = 0; i < count; i++)
        assert_int_equal(mpiio_queue_frame(&queue, &frames[i]), 0);
    mpiio_peer_connection_put(&to->link, mpiio_queue_first(&queue), mpiio_queue_size(&queue));
    mpiio_queue_free(&queue);
}

/* Sends a heartbeat, an invalid frame, and another heartbeat, to a peer, or with argument 0 to the
   node above. */
static void send_invalid(int node, uint64_t argument)
{
    const struct mpiio_peers *peers = world.node[node].peers;
    const struct mpiio_peer_frame frames[] = {{.type = MPIIO_BEAT},
                                              {.type = argument == 0 ? MPIIO_READY : MPIIO_FENCED},
                                              {.type = MPIIO_BEAT}};

    send_frames(argument == 0 ? peers->above : peers->peer[argument], frames, 3);
}

/* The valid frame behind the invalid one must not hide it. */
TEST(test_an_invalid_frame_among_others_is_an_error)
{
    begin_world(3, 2, 3);
    world_call(1, 3 * SECOND, send_invalid, 0); /* to node 0 */
    run_until(3.1);
    for (int i = 0; i < 3; i += 2)
        check_degraded(i, 1, "it sent an invalid message");

    begin_world(3, 2, 3);
    world_call(0, 3 * SECOND, send_invalid, 1); /* to node 1 */
    run_until(3.1);
    check_degraded(1, 0, "it sent an invalid message");
}

/* Sends EPOCH to peer 1, and DEGRADED right behind it if argument is not 0. */
static void send_epoch(int node, uint64_t argument)
{
    const struct mpiio_peer_frame frames[] = {
        {.type = MPIIO_EPOCH, .number = 1},
        {.type = MPIIO_DEGRADED, .node = 2, .host = "host2", .text = "gone", .text_size = 4}};

    send_frames(world.node[node].peers->peer[1], frames, argument != 0 ? 2 : 1);
}

/* A node that was stopped may read both frames at once. */
TEST(test_an_epoch_does_not_begin_if_degraded_follows)
{
    for (int degrades = 0; degrades < 2; degrades++) {
        begin_world(3, 2, 3);
        world_call(0, 3 * SECOND, send_epoch, (uint64_t)degrades);
        run_until(3.1);
        assert_int_equal(daemons[1].begun, degrades ? 0 : 1);
        assert_int_equal(daemons[1].degraded, degrades);
        if (degrades)
            check_degraded(1, 2, "gone");
    }
}

/* Creation. */

/* A peer that was never connected must not close descriptor 0. */
TEST(test_peers_close_only_their_own_descriptors)
{
    int null = open("/dev/null", O_RDWR), saved = dup(STDIN_FILENO);

    assert_true(null >= 0);
    assert_int_equal(dup2(null, STDIN_FILENO), STDIN_FILENO);
    begin_world(2, 2, 1);
    world_free();
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
    close(null);
}

TEST(test_the_host_defaults_to_the_machines_name)
{
    struct mpiio_peers_options options = make_options(&daemons[0], 1, TIMEOUT, NULL);
    struct mpiio_peers *peers;
    char machine[256] = "";

    assert_int_equal(gethostname(machine, sizeof(machine) - 1), 0);
    assert_int_equal(mpiio_roster_create(&options, &peers), 0);
    assert_string_equal(peers->host, machine[0] != '\0' ? machine : "?");
    mpiio_roster_free(peers);
}
