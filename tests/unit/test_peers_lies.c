/* SPDX-License-Identifier: MIT */
#include "peers_fixture.h"

#include <stdatomic.h>
#include <sys/wait.h>

#include "cluster/roster.h"
#include "cluster/stall.h"

/*
 * Tests a member and a coordinator that know the token, but break the protocol. The program is
 * linked with --wrap=mpiio_clock, so that the tests can stop the nodes' clock
 * and set it forward.
 */

/* ms; longer than the time between two heartbeats */
#define BEAT_TIME 1001

static struct mpiio_peer_connection liar; /* the connection over which a test lies to a node */
static struct mpiio_peer_frame heard;     /* the last frame that arrived on it */

/* SAY(fields...): sends a frame. */
#define SAY(...) mpiio_peer_connection_send(&liar, &(struct mpiio_peer_frame){__VA_ARGS__})

static _Atomic int64_t clock_ahead;   /* ms */
static _Atomic int64_t clock_stopped; /* the time in ms at which the clock is stopped; 0: it runs */

WRAP(int64_t, mpiio_clock, void)
{
    int64_t stopped = atomic_load(&clock_stopped);

    return stopped != 0 ? stopped : __real_mpiio_clock() + atomic_load(&clock_ahead);
}

static uint32_t below(unsigned int *seed, uint32_t bound)
{
    return (uint32_t)rand_r(seed) % bound;
}

static void lie(unsigned int *seed, int first, int last)
{
    struct mpiio_peer_frame frame = {.type = (enum mpiio_peer_frame_type)(
                                         first + (int)below(seed, (uint32_t)(last - first + 1))),
                                     .number = below(seed, 4),
                                     .node = below(seed, 3),
                                     .time = below(seed, 5),
                                     .status = -(int32_t)below(seed, 3),
                                     .flag = below(seed, 2) == 1,
                                     .host = "liar",
                                     .text = "lies\nlies",
                                     .text_size = below(seed, 10)};
    uint8_t noise[16];

    if (below(seed, 100) != 0) {
        mpiio_peer_connection_send(&liar, &frame);
        return;
    }
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)below(seed, 256);
    mpiio_peer_connection_put(&liar, noise, sizeof(noise));
}

/* Waits for a frame of this type. Heartbeats may come before it. */
static void hear(enum mpiio_peer_frame_type type)
{
    int rc;

    do {
        while ((rc = mpiio_queue_next(&liar.in, &heard)) == 0) {
            assert_int_equal(liar.error, 0);
            assert_int_equal(mpiio_address_wait(liar.fd, POLLIN, PATIENCE), 0);
            mpiio_peer_connection_fill(&liar);
        }
        assert_int_equal(rc, 1);
    } while (heard.type == MPIIO_BEAT && type != MPIIO_BEAT);
    assert_int_equal(heard.type, type);
}

/* Waits for the answer to a heartbeat. */
static void hear_echo(uint64_t number)
{
    do {
        hear(MPIIO_BEAT);
    } while (heard.echo != number);
}

/* Starts node 0, and joins it as node 1. */
static void join_as_liar(int timeout)
{
    const struct mpiio_join join = {
        .purpose = MPIIO_PURPOSE_TREE, .node = 1, .nodes = 2, .host = "liar"};
    int fd;

    assert_int_equal(start_node(0, timeout), 0);
    liar = (struct mpiio_peer_connection){.fd = -1};
    assert_int_equal(join_node(cluster.node[0].net->own, &join, &fd), 0);
    mpiio_peer_connection_open(&liar, fd);
    SAY(.type = MPIIO_JOINED, .flag = true);
}

/* Checks that all frames are read, that nothing crashes, and that the cluster ends. */
static void end_lies(struct node *node, bool together)
{
    shutdown(liar.fd, SHUT_WR);
    if (together)
        AWAIT(node->alone || node->ended);
    else
        assert_int_equal(mpiio_peers_wait(node->peers, PATIENCE), -ENOTCONN);
    mpiio_peer_connection_close(&liar);
    cluster.nodes = 0;
    free_node(node);
    cluster.wrong = false;
    free_cluster();
}

/* ms. Node 0 waits for this long for a liar that has failed, because its engine may have a
   lease. */
#define LIES_TIMEOUT 5000

static void lie_as_member(unsigned int number)
{
    unsigned int seed = number;
    uint64_t after;

    cluster_init(2);
    join_as_liar(LIES_TIMEOUT);
    cluster.nodes = 0;
    assert_int_equal(mpiio_peers_wait(cluster.node[0].peers, PATIENCE), 0);
    mpiio_peers_request_flush(cluster.node[0].peers, true, &after);
    for (int k = 0; k < 200 && liar.error == 0; k++)
        lie(&seed, MPIIO_BEAT, number % 2 == 0 ? MPIIO_FENCED : MPIIO_GO);
    end_lies(&cluster.node[0], true);
}

/* Node 0 waits until each liar is gone. So they all run at once, in processes of their own. */
TEST(test_a_member_that_lies)
{
    pid_t liars[40];
    int status;

    for (unsigned int i = 0; i < 40; i++) {
        liars[i] = fork();
        assert_true(liars[i] >= 0);
        if (liars[i] == 0) {
            lie_as_member(i);
            _exit(0);
        }
    }
    for (unsigned int i = 0; i < 40; i++) {
        assert_int_equal(waitpid(liars[i], &status, 0), liars[i]);
        assert_int_equal(status, 0);
    }
}

/* Sends a heartbeat. Returns the lease that node 0 grants in return: the time in ms for which it
   declares no node failed. */
static int64_t get_promise(void)
{
    hear(MPIIO_READY);
    SAY(.type = MPIIO_BEAT, .number = 1);
    hear_echo(1);
    return heard.time;
}

/*
 * Joins as node 1, gets a lease, and closes the connection. Returns the time in ms from before the
 * grant until node 0 goes on alone.
 */
static int64_t leave(int timeout, struct linger linger, int64_t *promise)
{
    int64_t begun;

    cluster_init(2);
    join_as_liar(timeout);
    begun = mpiio_clock();
    *promise = get_promise();
    assert_int_equal(setsockopt(liar.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    mpiio_peer_connection_close(&liar);
    AWAIT(cluster.node[0].alone);
    begun = mpiio_clock() - begun;
    cluster.nodes = 1;
    free_cluster();
    return begun;
}

/* The member's daemon may have just died. Its engine learns that before the others store alone. */
TEST(test_a_member_that_leaves_without_a_word)
{
    int64_t promise, time = leave(LONG_TIMEOUT, (struct linger){0}, &promise);

    assert_in_range(promise, LONG_TIMEOUT / 2, LONG_TIMEOUT);
    assert_in_range(time, 2000, LONG_TIMEOUT / 2);
}

/* A reset may have happened on this side alone, so node 0 only acts once its lease has expired. */
TEST(test_a_member_whose_connection_is_reset)
{
    int64_t promise, time = leave(LIES_TIMEOUT, (struct linger){.l_onoff = 1}, &promise);

    assert_in_range(promise, LIES_TIMEOUT / 2, LIES_TIMEOUT);
    assert_true(time >= promise);
}

static _Atomic bool joined; /* a node has joined the liar */

/* Acts as node 0 of two. Accepts any node, because it knows the token. */
static void welcome_as_liar(void *argument, int fd, const struct mpiio_handshake *said,
                            const struct mpiio_join *join)
{
    const struct mpiio_welcome welcome = {.time = 100, /* if it fails, nobody waits long for it */
                                          .host = "liar"};
    struct mpiio_handshake handshake = *said;

    mpiio_handshake_answer(fd, &handshake, net_token, &welcome);
    mpiio_peer_connection_open(&liar, fd);
    atomic_store(&joined, true);
}

static void start_liar(void)
{
    const struct mpiio_listener_calls calls = {.join = welcome_as_liar, .threads = 1};
    const char *nowhere[2] = {NULL};
    struct mpiio_net *net = make_net(0, 2, PATIENCE);

    liar = (struct mpiio_peer_connection){.fd = -1};
    atomic_store(&joined, false);
    meet_others(net, net_token, nowhere);
    assert_int_equal(mpiio_net_start(net, &calls), 0);
    cluster.node[0].net = net;
}

TEST(test_a_coordinator_that_lies)
{
    for (unsigned int i = 0; i < 40; i++) {
        unsigned int seed = i;

        cluster_init(2);
        start_liar();
        assert_int_equal(start_node(1, LONG_TIMEOUT), 0);
        while (!atomic_load(&joined))
            usleep(1000);
        cluster.nodes = 0;
        if (i % 4 != 0)
            SAY(.type = MPIIO_READY);
        for (int k = 0; k < 200 && liar.error == 0; k++)
            lie(&seed, i % 2 == 0 ? MPIIO_EPOCH : MPIIO_BEAT,
                i % 3 == 0 ? MPIIO_UNMOUNT : MPIIO_GO);
        end_lies(&cluster.node[1], i % 4 != 0);
    }
}

static void stop_clock(void)
{
    atomic_store(&clock_stopped, mpiio_clock());
}

/* Sets the stopped clock forward, lets it run again, and wakes node 0 up. */
static void restart_clock(int64_t ms)
{
    atomic_store(&clock_ahead, atomic_load(&clock_stopped) + ms - __real_mpiio_clock());
    atomic_store(&clock_stopped, 0);
    SAY(.type = MPIIO_BEAT);
}

/*
 * Sets node 0's stopped clock forward by ms: 2 * BEAT_TIME to LONG_TIMEOUT / 4, because node 0
 * takes a longer gap for its own absence. Each step wakes node 0 and waits for its heartbeat. After
 * two of them it has acted on the new time. While the clock is stopped, node 0 sends no other
 * heartbeats. One from before the step could be mistaken for the answer; the steps would then add
 * up to a long gap.
 */
static void set_clock_forward(int64_t ms)
{
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&clock_stopped, i == 0 ? ms - BEAT_TIME : BEAT_TIME);
        SAY(.type = MPIIO_BEAT);
        hear(MPIIO_BEAT);
    }
}

/* Leaves node 0 alone, and frees the cluster. */
static void end_liar(void)
{
    if (atomic_load(&clock_stopped) != 0)
        restart_clock(0);
    mpiio_peer_connection_close(&liar);
    AWAIT(cluster.node[0].alone);
    cluster.nodes = 1;
    free_cluster();
}

/* The member stays connected, but never reports its engine's end. Node 0 releases the others in
   the end. */
TEST(test_a_member_that_is_never_fenced)
{
    stop_clock();
    cluster_init(2);
    join_as_liar(LONG_TIMEOUT);
    hear(MPIIO_READY);
    SAY(.type = MPIIO_LOST, .node = 1, .host = "liar");
    hear(MPIIO_DEGRADED);
    set_clock_forward(LONG_TIMEOUT / 4);
    set_clock_forward(LONG_TIMEOUT / 4);
    restart_clock(LONG_TIMEOUT / 2);
    hear(MPIIO_GO);
    AWAIT(cluster.node[0].alone);
    end_liar();
}

/* Reports that its engine has made count steps of the first epoch. */
static void say_progress(uint64_t count, bool waiting)
{
    struct mpiio_stall stall = {
        .count = waiting,
        .nodes[0] = {.node = 1, .host = "liar", .progress = {.step = 3, .from_count = 1}}};
    uint8_t bytes[MPIIO_STALL_BYTES];
    struct mpiio_peer_frame frame = {.type = MPIIO_PROGRESS,
                                     .number = 1,
                                     .flag = waiting,
                                     .count = count,
                                     .text = (const char *)bytes,
                                     .text_size = (uint32_t)mpiio_stall_encode(&stall, bytes)};

    mpiio_peer_connection_send(&liar, &frame);
}

/* Stops the clock, and begins an epoch in which node 0's engine waits for node 1's. */
static void begin_stall(void)
{
    struct node *node = &cluster.node[0];
    uint64_t after;

    stop_clock();
    cluster_init(2);
    node->hold_epochs = true;
    node->progress = (struct mpiio_progress){
        .count = 7, .step = 3, .waiting = true, .from_count = 1, .from = {1}};
    join_as_liar(LONG_TIMEOUT);
    hear(MPIIO_READY);
    assert_int_equal(mpiio_peers_wait(node->peers, PATIENCE), 0);
    assert_int_equal(mpiio_peers_request_flush(node->peers, false, &after), 0);
    hear(MPIIO_EPOCH);
    assert_int_equal(heard.number, 1);
}

/* All nodes wait, and none makes progress for peer_timeout. Both report the nodes that do not
   hear each other. */
TEST(test_an_epoch_that_does_not_end)
{
    begin_stall();
    say_progress(1, true);
    set_clock_forward(2 * BEAT_TIME); /* node 0 learns which node its own engine waits for */
    for (int i = 0; i < 3; i++) {
        say_progress(1, true);
        set_clock_forward(LONG_TIMEOUT / 4);
    }
    set_clock_forward(LONG_TIMEOUT / 4 - 2 * BEAT_TIME);
    assert_int_equal(state_of(&cluster.node[0]), MPIIO_PEERS_TOGETHER);
    restart_clock(4 * BEAT_TIME);
    hear(MPIIO_DEGRADED);
    assert_int_equal(heard.node, 0);
    assert_non_null(strstr(heard.text, "node 0 (host0) and node 1 (liar) do not reach each other"));
    SAY(.type = MPIIO_FENCED);
    hear(MPIIO_GO);
    AWAIT(cluster.node[0].alone);
    assert_non_null(strstr(cluster.node[0].why, "do not reach each other"));
    end_liar();
}

/* A node that has finished the epoch does not wait, so only the other one counts. */
TEST(test_an_epoch_that_ends_for_some)
{
    int64_t begun;

    begin_stall();
    begun = mpiio_clock();
    SAY(.type = MPIIO_DONE, .number = 1);
    /* node 0 learns that, and which node its own engine waits for */
    set_clock_forward(2 * BEAT_TIME);
    for (int i = 0; i < 3; i++) {
        say_progress(9, false);
        set_clock_forward(LONG_TIMEOUT / 4);
    }
    set_clock_forward(LONG_TIMEOUT / 4 - 2 * BEAT_TIME);
    say_progress(9, false);
    restart_clock(4 * BEAT_TIME);
    hear(MPIIO_DEGRADED);
    assert_non_null(strstr(heard.text, "node 0 (host0) does not hear node 1 (liar)"));
    assert_in_range(mpiio_clock() - begun, LONG_TIMEOUT, LONG_TIMEOUT / 4 * 5);
    end_liar();
}

/* A node stores, makes progress, or reports nothing for six times the timeout. It is not
   declared failed. */
TEST(test_an_epoch_that_takes_long)
{
    begin_stall();
    for (uint64_t i = 0; i < 24; i++) {
        if (i < 8)
            say_progress(i, true); /* in small steps */
        else if (i < 16)
            say_progress(8, false); /* in a store that takes long */
        set_clock_forward(LONG_TIMEOUT / 4);
    }
    assert_int_equal(state_of(&cluster.node[0]), MPIIO_PEERS_TOGETHER);
    /* Before DONE is sent, because the epoch may finish immediately. */
    pthread_mutex_lock(&cluster.lock);
    cluster.done[1]++;
    pthread_mutex_unlock(&cluster.lock);
    SAY(.type = MPIIO_DONE, .number = 1);
    SET(&cluster.node[0], hold_epochs, false);
    finish_part(&cluster.node[0], 1);
    hear(MPIIO_FINISHED);
    end_liar();
}

static void echo(uint64_t number, uint64_t echo)
{
    SAY(.type = MPIIO_BEAT, .number = number, .echo = echo, .time = LONG_TIMEOUT);
}

static bool lease_is(int64_t until)
{
    bool is;

    pthread_mutex_lock(&cluster.lock);
    is = cluster.node[0].lease == until;
    pthread_mutex_unlock(&cluster.lock);
    return is;
}

/* The lease starts when the echoed heartbeat was sent, not when the echo arrives. A node that
   was stopped may find many old echoes. */
TEST(test_a_lease_counts_from_what_is_echoed)
{
    int64_t until;

    cluster_init(2);
    join_as_liar(LONG_TIMEOUT);
    hear(MPIIO_READY);
    echo(1, 0);
    hear_echo(1);
    assert_true(lease_is(0));
    until = (int64_t)heard.number + LONG_TIMEOUT / 4 * 3;
    echo(2, heard.number);
    AWAIT(cluster.node[0].lease == until);
    for (uint64_t number = 3; number < 5; number++) {
        echo(number, (uint64_t)until - LONG_TIMEOUT / 4 * 3);
        hear_echo(number);
        assert_true(lease_is(until));
    }
    /* An echo of a heartbeat that was never sent is rejected. */
    echo(5, UINT64_MAX);
    AWAIT(cluster.node[0].degraded);
    /* Set the clock forward until the lease that node 0 granted to the liar has expired. Node 0
       computes its end only after it has reported the failure, so the first step may be early. */
    for (int i = 0; i < 100 && state_of(&cluster.node[0]) == MPIIO_PEERS_DEGRADING; i++) {
        atomic_fetch_add(&clock_ahead, LONG_TIMEOUT);
        mpiio_roster_wake(cluster.node[0].peers);
        usleep(10000);
    }
    AWAIT(cluster.node[0].alone);
    assert_true(lease_is(0));
    end_liar();
}
