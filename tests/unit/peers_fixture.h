/* SPDX-License-Identifier: MIT */
#ifndef PEERS_FIXTURE_H
#define PEERS_FIXTURE_H

/* A fixture for the tests of peers: daemons that only record their events. */

#include <pthread.h>
#include <time.h>

#include "net_fixture.h"
#include "cluster/peer_frame.h"

#define NODES_MAX  8
#define EPOCHS_MAX 4096
/* ms: a silence that never happens, and the longest wait for an event. */
#define LONG_TIMEOUT 60000
#define PATIENCE     60000

/* How the nodes of all clusters are connected: 0, the default, in which all are right below node 0.
 */
static int fanout;

static inline int tree_width(void)
{
    return fanout != 0 ? fanout : MPIIO_TREE_FANOUT;
}

/* A daemon of one thread, or of a process of its own. */
struct node {
    struct mpiio_peers *peers;
    int number;
    struct mpiio_net *net;
    int report; /* the descriptor to which some events are printed; 0: none */

    /* The node's behaviour and answers. Set these while no request is in progress, or with the
       cluster's lock held. */
    bool hold_epochs;   /* an epoch does not finish before the test releases it */
    bool hold_fence;    /* the node counts as not fenced before the test releases it */
    int epoch_status;   /* the result of its part of an epoch */
    int vote;           /* on a change; 1: does not vote */
    int unmount;        /* the result of unmounting */
    bool stop_in_event; /* calls mpiio_peers_stop in its last event */

    struct mpiio_progress progress; /* of its engine; guarded by the cluster's lock */

    /* The events so far; guarded by the cluster's lock. */
    uint64_t begun, finished, finished_sync;
    int status; /* of the last epoch that has finished */
    uint64_t written, frozen[EPOCHS_MAX], stored, stored_sync;
    uint64_t change;
    int settled, committed;
    bool atomic;
    int unmounts, forced;
    bool ended, degraded, alone;
    int64_t lease;
    int dead;
    char dead_host[256], why[512];
};

/* The daemons of the program's tests. A child process has only its own. */
static struct cluster {
    int nodes;
    struct node node[NODES_MAX];

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int done[EPOCHS_MAX]; /* nodes that have finished their part; guarded by lock */
    int fenced;           /* guarded by lock */
    bool wrong;           /* an event came out of order; guarded by lock */
} cluster;

static inline void note_change(struct node *node)
{
    pthread_cond_broadcast(&cluster.changed);
    pthread_mutex_unlock(&cluster.lock);
}

static inline void ignore_log(void *data, enum mpiio_log_level level, const char *line)
{
    if (getenv("PEERS_LOG") != NULL)
        fprintf(stderr, "# node %d: %s\n", ((struct node *)data)->number, line);
}

/* Prints an event as a line. */
__attribute__((format(printf, 2, 3))) static inline void report(const struct node *node,
                                                                const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (node->report != 0)
        vdprintf(node->report, format, arguments);
    va_end(arguments);
}

static inline void finish_part(struct node *node, uint64_t epoch)
{
    pthread_mutex_lock(&cluster.lock);
    cluster.done[epoch % EPOCHS_MAX]++;
    note_change(node);
    mpiio_peers_epoch_done(node->peers, epoch, node->epoch_status);
}

static inline void on_epoch(void *data, uint64_t epoch, bool sync)
{
    struct node *node = data;
    bool hold;

    report(node, "epoch %" PRIu64 "\n", epoch);
    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= epoch != node->begun + 1 || node->finished != node->begun || node->degraded ||
                     node->alone || node->ended;
    node->begun = epoch;
    node->frozen[epoch % EPOCHS_MAX] = node->written;
    hold = node->hold_epochs;
    note_change(node);
    if (!hold)
        finish_part(node, epoch);
}

static inline void on_finished(void *data, uint64_t epoch, bool sync, int status)
{
    struct node *node = data;

    report(node, "finished %" PRIu64 "\n", epoch);
    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= epoch != node->begun || node->degraded;
    if (cluster.nodes > 0)
        cluster.wrong |= cluster.done[epoch % EPOCHS_MAX] != cluster.nodes;
    node->finished = epoch;
    node->status = status;
    node->stored = node->frozen[epoch % EPOCHS_MAX];
    if (sync) {
        node->finished_sync = epoch;
        node->stored_sync = node->stored;
    }
    note_change(node);
}

static inline void on_progress(void *data, struct mpiio_progress *progress)
{
    struct node *node = data;

    pthread_mutex_lock(&cluster.lock);
    *progress = node->progress;
    pthread_mutex_unlock(&cluster.lock);
}

static inline void on_lease(void *data, int64_t until)
{
    struct node *node = data;

    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= until != 0 && (node->degraded || until < node->lease);
    node->lease = until;
    note_change(node);
}

static inline void on_prepare(void *data, uint64_t change, bool value)
{
    struct node *node = data;

    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= node->change != 0;
    node->change = change;
    note_change(node);
    if (node->vote <= 0)
        mpiio_peers_vote(node->peers, change, node->vote);
}

static inline void on_settled(void *data, uint64_t change, bool value, bool committed)
{
    struct node *node = data;

    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= node->change != change;
    node->change = 0;
    node->settled++;
    if (committed) {
        node->committed++;
        node->atomic = value;
    }
    note_change(node);
}

static inline void on_unmount(void *data, bool force)
{
    struct node *node = data;

    pthread_mutex_lock(&cluster.lock);
    node->unmounts++;
    node->forced += force;
    note_change(node);
    if (node->unmount <= 0)
        mpiio_peers_unmounted(node->peers, force ? 0 : node->unmount, "5 bytes\nof rank3");
}

static inline void on_end(void *data)
{
    struct node *node = data;

    report(node, "end\n");
    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= node->ended || node->alone;
    node->ended = true;
    note_change(node);
    if (node->stop_in_event)
        mpiio_peers_stop(node->peers);
}

static inline void on_degraded(void *data, int dead, const char *host, const char *why)
{
    struct node *node = data;

    report(node, "degraded %d %s %s\n", dead, host, why);
    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= node->degraded || node->ended;
    node->dead = dead;
    snprintf(node->dead_host, sizeof(node->dead_host), "%s", host);
    snprintf(node->why, sizeof(node->why), "%s", why);
    node->degraded = true;
    pthread_cond_broadcast(&cluster.changed);
    while (node->hold_fence)
        pthread_cond_wait(&cluster.changed, &cluster.lock);
    cluster.fenced++;
    note_change(node);
}

static inline void on_alone(void *data)
{
    struct node *node = data;

    report(node, "alone\n");
    pthread_mutex_lock(&cluster.lock);
    cluster.wrong |= !node->degraded || node->alone || node->ended;
    node->alone = true;
    note_change(node);
}

static inline void cluster_init(int nodes)
{
    pthread_condattr_t attributes;

    memset(&cluster, 0, sizeof(cluster));
    cluster.nodes = nodes;
    for (int i = 0; i < NODES_MAX; i++) {
        cluster.node[i].number = i;
        cluster.node[i].dead = -1;
    }
    pthread_mutex_init(&cluster.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cluster.changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline struct mpiio_peers_options make_options(struct node *node, int nodes, int timeout,
                                                      const char *host)
{
    return (struct mpiio_peers_options){
        .node = node->number,
        .nodes = nodes,
        .fanout = fanout,
        .peer_timeout = timeout,
        .host = host,
        .net = node->net,
        .events = {.log = ignore_log,
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
        .data = node,
    };
}

static inline struct node *above(const struct node *node)
{
    return &cluster.node[mpiio_tree_above(node->number, tree_width())];
}

/* Starts a thread that answers connections to the node. */
static inline int start_net(struct mpiio_net *net, struct mpiio_peers *peers)
{
    const struct mpiio_listener_calls calls = {
        .join = mpiio_peers_arrive, .refused = mpiio_peers_refused, .tree = peers, .threads = 1};

    return mpiio_net_start(net, &calls);
}

/* Joins the node above, which must have been started before, and answers connections. */
static inline int open_node(struct node *node, int nodes, int timeout)
{
    char host[16];
    struct mpiio_peers_options options;
    int error;

    snprintf(host, sizeof(host), "host%d", node->number);
    options = make_options(node, nodes, timeout, host);
    error = mpiio_peers_open(&options, &node->peers);
    if (error == 0 && node->number != 0)
        error = mpiio_peers_join(node->peers, PATIENCE);
    return error == 0 ? start_net(node->net, node->peers) : error;
}

/* Starts a node. It knows the addresses of the nodes that exist already. */
static inline int start_node(int number, int timeout)
{
    struct node *node = &cluster.node[number];
    const char *addresses[NODES_MAX] = {NULL};

    node->net = make_net(number, cluster.nodes, PATIENCE);
    for (int i = 0; i < NODES_MAX; i++)
        if (cluster.node[i].net != NULL)
            addresses[i] = cluster.node[i].net->own;
    meet_others(node->net, net_token, addresses);
    return open_node(node, cluster.nodes, timeout);
}

/* Frees a node. It can be started again. */
static inline void free_node(struct node *node)
{
    mpiio_net_free(node->net);
    mpiio_peers_free(node->peers);
    node->peers = NULL;
    node->net = NULL;
}

/* Starts the nodes from first on, and waits until all have joined. */
static inline void start_nodes(int first, int timeout)
{
    for (int i = first; i < cluster.nodes; i++)
        assert_int_equal(start_node(i, timeout), 0);
    for (int i = 0; i < cluster.nodes; i++)
        assert_int_equal(mpiio_peers_wait(cluster.node[i].peers, PATIENCE), 0);
}

static inline void start_cluster(int nodes, int timeout)
{
    cluster_init(nodes);
    start_nodes(0, timeout);
}

static inline bool is_wrong(void)
{
    bool wrong;

    pthread_mutex_lock(&cluster.lock);
    wrong = cluster.wrong;
    pthread_mutex_unlock(&cluster.lock);
    return wrong;
}

static inline void free_cluster(void)
{
    for (int i = 0; i < NODES_MAX; i++)
        free_node(&cluster.node[i]);
    pthread_cond_destroy(&cluster.changed);
    pthread_mutex_destroy(&cluster.lock);
    assert_false(cluster.wrong);
}

/* Waits until condition holds, with the cluster's lock held; fails the test if it never does. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        struct timespec when;                                                                      \
        bool in_time = true;                                                                       \
        clock_gettime(CLOCK_MONOTONIC, &when);                                                     \
        when.tv_sec += PATIENCE / 1000;                                                            \
        pthread_mutex_lock(&cluster.lock);                                                         \
        while (!(condition) && in_time)                                                            \
            in_time = pthread_cond_timedwait(&cluster.changed, &cluster.lock, &when) == 0;         \
        pthread_mutex_unlock(&cluster.lock);                                                       \
        assert_true(in_time);                                                                      \
    } while (0)

/* Sets a field of a node with the lock held, and wakes the node. */
#define SET(node, field, value)                                                                    \
    do {                                                                                           \
        pthread_mutex_lock(&cluster.lock);                                                         \
        (node)->field = (value);                                                                   \
        note_change(node);                                                                         \
    } while (0)

static inline enum mpiio_peers_state state_of(const struct node *node)
{
    struct mpiio_peers_status status;

    mpiio_peers_status(node->peers, &status);
    return status.state;
}

/* Sets the fan-out of a test, whose initial state it is. */
static inline int set_fanout(void **state)
{
    fanout = (int)(intptr_t)*state;
    return 0;
}

/* TEST_FANOUTS(name, count) { ... }: a test that runs with each fan-out below count: 0 (all nodes
   are right below node 0), 1 (a chain), 2 (a tree). */
#define TEST_FANOUTS(name, count)                                                                  \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        for (intptr_t i = 0; i < (count); i++)                                                     \
            unit_add((struct CMUnitTest){#name, name, set_fanout, NULL, (void *)i}, __LINE__);     \
    }                                                                                              \
    static void name(void **state)

#endif
