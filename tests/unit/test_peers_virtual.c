/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "../scale/world.h"
#include "core/base/clock.h"

/*
 * Tests daemons over the virtual clock and network of tests/scale, so that a test decides what a
 * node has received at each time. The program is linked with --wrap for the clocks.
 */

#define NODES   7
#define TIMEOUT 10000 /* ms: peer_timeout */
#define SECOND  1e6   /* us, the unit of the world's clock */

/* The events of a daemon. */
struct daemon {
    int unmount; /* its answer to UNMOUNT; 1: it does not answer */
    int unmounts, forced;
    bool ended, degraded, alone;
    int dead;
    char dead_host[256], why[512];
};

static struct daemon daemons[NODES];

static int number_of(const struct daemon *daemon)
{
    return (int)(daemon - daemons);
}

static void on_log(void *data, enum mpiio_log_level level, const char *line)
{
}

static void on_epoch(void *data, uint64_t epoch, bool sync)
{
}

static void on_finished(void *data, uint64_t epoch, bool sync, int status)
{
}

static void on_progress(void *data, struct mpiio_progress *progress)
{
    *progress = (struct mpiio_progress){0};
}

static void on_prepare(void *data, uint64_t change, bool value)
{
}

static void on_settled(void *data, uint64_t change, bool value, bool committed)
{
}

static void on_unmount(void *data, bool force)
{
    struct daemon *daemon = data;

    daemon->unmounts++;
    daemon->forced += force;
    if (daemon->unmount <= 0)
        mpiio_peers_unmounted(world.node[number_of(daemon)].peers, daemon->unmount, "unsaved");
}

static void on_end(void *data)
{
    ((struct daemon *)data)->ended = true;
}

static void on_degraded(void *data, int dead, const char *host, const char *why)
{
    struct daemon *daemon = data;

    daemon->degraded = true;
    daemon->dead = dead;
    snprintf(daemon->dead_host, sizeof(daemon->dead_host), "%s", host);
    snprintf(daemon->why, sizeof(daemon->why), "%s", why);
}

static void on_alone(void *data)
{
    ((struct daemon *)data)->alone = true;
}

static void on_lease(void *data, int64_t until)
{
}

static struct mpiio_peers_options make_options(int node)
{
    static char host[16];

    snprintf(host, sizeof(host), "host%d", node);
    return (struct mpiio_peers_options){
        .node = node,
        .nodes = world.nodes,
        .fanout = world.fanout,
        .peer_timeout = TIMEOUT,
        .host = host,
        .events = {.log = on_log,
                   .on_epoch = on_epoch,
                   .on_finished = on_finished,
                   .progress = on_progress,
                   .on_prepare = on_prepare,
                   .on_settled = on_settled,
                   .on_unmount = on_unmount,
                   .on_end = on_end,
                   .on_degraded = on_degraded,
                   .on_alone = on_alone,
                   .on_lease = on_lease},
        .data = &daemons[node],
    };
}

/* Processes all events before this second. */
static void run_until(double second)
{
    while (world_step(second * SECOND))
        continue;
    world.now = second * SECOND;
}

/* Starts nodes, and runs them until this second. */
static void begin_world(int nodes, int fanout, double second)
{
    memset(daemons, 0, sizeof(daemons));
    world.costs = (struct world_costs){.processor = 1, .latency = 10, .bandwidth = 1000};
    world_create(nodes, fanout, make_options);
    for (int i = 0; i < nodes; i++)
        world_begin(i, i * 1000);
    run_until(second);
    for (int i = 0; i < nodes; i++)
        assert_int_equal(world.node[i].peers->status.state, MPIIO_PEERS_TOGETHER);
}

/* Checks that a node has degraded because of dead. */
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
    assert_int_equal(mpiio_peers_engine_lost(world.node[node].peers, "killed"), 0);
}

/* Nodes 2 and 3 of a tree fall silent in turn, and then node 1's engine is killed. */
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
    world_free();
}

/* A node that is silent for less than half of peer_timeout is not named. */
TEST(test_the_reason_does_not_name_other_nodes)
{
    lose_after_silence(3);
    for (int i = 0; i < 4; i++)
        check_degraded(i, 1, "killed");
    world_free();
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
    world_free();
}

/* Requests to unmount. */

/* Requests it without waiting for the result. */
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

/* Nodes 0, 1 and 4 are in use, and node 5 does not answer. */
static void begin_unmounting(void)
{
    begin_world(NODES, 2, 1);
    daemons[0].unmount = daemons[1].unmount = daemons[4].unmount = -EBUSY;
    daemons[5].unmount = 1;
    world_call(6, 1 * SECOND, unmount_all, false);
    run_until(2);
}

static void check_requests(int node, int unmounts, int forced)
{
    assert_int_equal(daemons[node].unmounts, unmounts);
    assert_int_equal(daemons[node].forced, forced);
}

/* A later request with force reaches the node that has not answered, and no other. */
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
    /* Once it has answered, the next request reaches all nodes that are still mounted. */
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
        assert_true(daemons[i].ended);
    check_requests(4, 3, 1);
    world_free();
}

/* Frames that break the protocol. */

/* Sends a heartbeat, an invalid frame, and a heartbeat again, which arrive at once. */
static void send_invalid(int node, uint64_t argument)
{
    struct mpiio_peers *peers = world.node[node].peers;
    struct mpiio_peer *to = argument == 0 ? peers->above : peers->peer[argument];
    const enum mpiio_peer_frame_type invalid = argument == 0 ? MPIIO_READY : MPIIO_FENCED;
    struct mpiio_queue queue = {0};

    for (int i = 0; i < 3; i++)
        assert_int_equal(
            mpiio_queue_frame(&queue,
                              &(struct mpiio_peer_frame){.type = i == 1 ? invalid : MPIIO_BEAT}),
            0);
    mpiio_connection_put(&to->link, mpiio_queue_first(&queue), mpiio_queue_size(&queue));
    mpiio_queue_free(&queue);
}

/* A valid frame behind the invalid one does not hide it. */
TEST(test_an_invalid_frame_among_others_is_an_error)
{
    begin_world(3, 2, 3);
    world_call(1, 3 * SECOND, send_invalid, 0); /* to node 0 */
    run_until(3.1);
    for (int i = 0; i < 3; i += 2)
        check_degraded(i, 1, "it sent an invalid message");
    world_free();

    begin_world(3, 2, 3);
    world_call(0, 3 * SECOND, send_invalid, 1); /* to node 1 */
    run_until(3.1);
    check_degraded(1, 0, "it sent an invalid message");
    world_free();
}
