/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cluster/peers.h"
#include "core/base/thread.h"
#include "core/base/process.h"
#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "fusefs/session.h"
#include "fusefs/storing/flusher.h"
#include "pool.h"
#include "viewspec/members/members.h"

/* The time limit for finding another daemon, and for all nodes to join, in ms. */
#define JOIN_TIMEOUT 20000

/* Sets a flag for which fs_nodes_leave waits. */
static void raise_flag(struct fs_cluster *cluster, bool *flag)
{
    pthread_mutex_lock(&cluster->lock);
    *flag = true;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

/*
 * Sets a flag, started or degraded, and kills the engine once both are set. Until all nodes are
 * ready, engines store nothing, and one may still have to report why its node is not ready. When
 * this returns, the killed engine no longer writes to the file.
 */
static void kill_degraded(struct fs_cluster *cluster, bool *flag)
{
    struct pollfd gone = {.fd = cluster->engine, .events = POLLIN};
    bool kills;

    pthread_mutex_lock(&cluster->lock);
    *flag = true;
    cluster->lost = cluster->lost || cluster->degraded;
    kills = cluster->started && cluster->degraded;
    pthread_mutex_unlock(&cluster->lock);
    if (!kills)
        return;
    pidfd_send_signal(cluster->engine, SIGKILL, NULL, 0);
    while (poll(&gone, 1, -1) < 0 && errno == EINTR)
        continue;
}

void fs_nodes_on_degraded(void *data, int node, const char *host, const char *why)
{
    struct fs_session *session = data;
    struct fs_cluster *cluster = &session->cluster;

    (void)node, (void)host, (void)why;
    /* This node now reads everything by itself, and serves no other node. */
    if (session->pool.pool != NULL) {
        mpiio_pool_alone(session->pool.pool);
        mpiio_net_close(cluster->net);
    }
    kill_degraded(cluster, &cluster->degraded);
}

void fs_nodes_on_lease(void *data, int64_t until)
{
    struct fs_session *session = data;

    if (session->cache != NULL)
        mpiio_lease_set(mpiio_slots_lease(mpiio_cache_slots(session->cache)), until);
}

static void log_await(void *data)
{
    struct fs_session *session = data;

    fs_log_line(&session->log, MPIIO_LOG_WARNING,
                "degraded: waiting for a store of another node's engine to end");
}

/*
 * Waits, before this node stores alone, until no other node's engine is in a store, but not longer
 * than peer_timeout. The engine of a failed node may still run (src/DESIGN.md, "The fence around
 * stores").
 */
static void await_stores(struct fs_session *session)
{
    int error;

    if (session->cache == NULL)
        return;
    error =
        mpiio_store_fence_await(session->store, session->options->peer_timeout, log_await, session);
    if (error == -ETIMEDOUT)
        fs_log_line(
            &session->log, MPIIO_LOG_ERROR,
            "degraded: the store of another node's engine has not ended, and may undo what is "
            "stored now (check the file)");
    else if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_WARNING,
                    "degraded: cannot tell whether another engine stores: %s", strerror(-error));
}

void fs_nodes_on_alone(void *data)
{
    struct fs_session *session = data;

    await_stores(session);
    /*
     * Engines may have written members without a sync. Mark all as written, so that syncs of this
     * node include them.
     */
    if (mpiio_store_has_members(session->store))
        mpiio_store_wrote(session->store, 0, INT64_MAX);
    fs_flusher_go_alone(&session->flusher);
    raise_flag(&session->cluster, &session->cluster.alone);
}

/* The node from which all were unmounted may remain mounted for a moment. It then stores alone. */
void fs_nodes_on_end(void *data)
{
    struct fs_session *session = data;

    fs_flusher_go_alone(&session->flusher);
    raise_flag(&session->cluster, &session->cluster.ended);
}

static int open_peers(struct fs_session *session, const struct mpiio_peers_events *events)
{
    struct mpiio_peers_options options = {.node = session->cluster.node,
                                          .nodes = session->cluster.nodes,
                                          .fanout = (int)session->options->fanout,
                                          .peer_timeout = (int)session->options->peer_timeout,
                                          .net = session->cluster.net,
                                          .events = *events,
                                          .data = session};

    return mpiio_peers_open(&options, &session->cluster.peers);
}

/* Returns true if other nodes connect to this one: the nodes below it, or users of its pool. */
static bool is_asked(const struct fs_session *session)
{
    const struct fs_cluster *cluster = &session->cluster;

    return mpiio_tree_below(cluster->node, cluster->nodes, (int)session->options->fanout) > 0 ||
           (cluster->nodes > 1 && session->pool.pool != NULL);
}

/* Starts to listen. Returns an exit status, 1 after a line on stderr. */
static int listen_for_others(struct fs_session *session)
{
    const struct mpiio_ports *ports = &session->options->ports;
    int error = is_asked(session) ? mpiio_net_listen(session->cluster.net) : 0;

    if (error == -EADDRINUSE && ports->first != 0)
        return fs_fail(session->options, 1,
                       "no TCP port from %d to %d is free (each mount on a machine needs its own: "
                       "-o port=PORT-PORT)",
                       ports->first, ports->last);
    if (error != 0)
        return fs_fail(session->options, 1, "cannot listen for the other nodes: %s",
                       strerror(-error));
    return 0;
}

/* Joins the node above, and then accepts connections of the tree and the pool. */
static int join_peers(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_listener_calls calls = {.join = mpiio_peers_arrive,
                                         .refused = mpiio_peers_refused,
                                         .tree = cluster->peers,
                                         .threads = 1};
    int error = cluster->node != 0 ? mpiio_peers_join(cluster->peers, JOIN_TIMEOUT) : 0;

    if (session->pool.pool != NULL)
        mpiio_pool_answer(session->pool.pool, &calls);
    return error != 0 ? error : mpiio_net_start(cluster->net, &calls);
}

/* Receives the addresses of all nodes and the settings that they share. */
static int meet_others(struct fs_session *session, const struct mpiio_message_peers *peers)
{
    struct fs_cluster *cluster = &session->cluster;
    size_t size;
    char *addresses = mpiio_channel_unpack(peers->addresses, &size);
    int error = peers->homes.nodes != cluster->nodes ? -EPROTO : -ENOMEM;

    close(peers->addresses);
    if (error == -EPROTO || addresses == NULL) {
        free(addresses);
        return error;
    }
    error = mpiio_net_meet(cluster->net, peers->token, addresses, size);
    free(addresses);
    cluster->homes = peers->homes;
    fs_pointers_meet(session, peers->mount);
    if (error == 0 && session->pool.pool != NULL)
        error = mpiio_pool_meet(session->pool.pool, &cluster->homes);
    return error;
}

/* Copies the spec's hints, at most as many as a message holds. */
static void fill_hints(const struct vs_spec *spec, struct mpiio_hints *hints)
{
    struct mpiio_hint hint;

    while (hints->count < MPIIO_HINTS_MAX &&
           vs_spec_hint(spec, hints->count, &hint.key, &hint.value))
        hints->hint[hints->count++] = hint;
}

/* Returns a hash of the spec, or 0 if out of memory. */
static uint64_t hash_spec(const struct vs_spec *spec)
{
    static const uint8_t no_key[16];
    char *text = vs_spec_resolved(spec, false);
    uint64_t hash = text != NULL ? mpiio_siphash(no_key, text, strlen(text)) : 0;

    free(text);
    return hash;
}

/* Passes the members' spec to the engine in a memfd. Returns 0 or a negative errno. */
static int add_members(const struct fs_session *session, struct mpiio_message_hello *hello)
{
    char *text;

    hello->assembled = mpiio_store_has_members(session->store);
    hello->members = -1;
    if (!hello->assembled)
        return 0;
    hello->held = mpiio_assembled_digest(mpiio_store_file(session->store));
    text = vs_members_spec(session->spec);
    if (text == NULL)
        return -ENOMEM;
    hello->members = mpiio_channel_pack(text, strlen(text));
    free(text);
    return hello->members < 0 ? hello->members : 0;
}

/* Adds the identity of the open file, so that the engine cannot open another one. */
static int add_identity(const struct fs_session *session, struct mpiio_message_hello *hello)
{
    struct stat st = {0};
    int error = 0;

    if (hello->assembled) {
        hello->inode = mpiio_assembled_identity(mpiio_store_file(session->store));
    } else {
        error = mpiio_store_stat(session->store, &st);
        hello->device = st.st_dev;
        hello->inode = st.st_ino;
    }
    return error;
}

static int say_hello(struct fs_session *session)
{
    struct mpiio_message hello = {
        .type = MPIIO_MESSAGE_HELLO,
        .hello = {.path = session->cache != NULL ? session->file : "",
                  .store = session->options->store,
                  .coherence = mpiio_store_file(session->store)->coherence,
                  .address = session->cluster.net->own,
                  .fanout = (uint32_t)session->options->fanout,
                  .spec = hash_spec(session->spec),
                  .members = -1}};
    const struct mpiio_slots *slots = &session->cluster.none;
    int error = 0;

    memcpy(hello.hello.token, session->cluster.net->token, sizeof(hello.hello.token));
    fs_pointers_offer(session, hello.hello.mount);
    fill_hints(session->spec, &hello.hello.hints);
    if (session->cache != NULL)
        slots = mpiio_cache_slots(session->cache);
    else
        error = mpiio_slots_create(&session->cluster.none, 1);
    if (error == 0)
        error = add_members(session, &hello.hello);
    if (error == 0)
        error = add_identity(session, &hello.hello);
    if (error == 0) {
        session->cluster.progress = mpiio_slots_progress(slots);
        session->cluster.blocks = mpiio_slots_blocks(slots);
        session->cluster.errors = mpiio_slots_errors(slots);
        hello.hello.memory = slots->fd;
        error = mpiio_channel_send(session->cluster.channel, &hello);
    }
    if (hello.hello.members >= 0)
        close(hello.hello.members);
    return error;
}

int fs_nodes_meet(struct fs_session *session, const struct mpiio_peers_events *events)
{
    struct mpiio_message message;
    int error;

    if (listen_for_others(session) != 0)
        return 1;
    error = open_peers(session, events);
    if (error != 0)
        return fs_fail(session->options, 1, "cannot begin to meet the other nodes: %s",
                       mpiio_rlimit_text(error));
    error = say_hello(session);
    if (error != 0)
        return fs_engine_cannot_talk(session, error);
    if (fs_engine_await(session, MPIIO_MESSAGE_PEERS, &message) != 0)
        return 1;
    error = meet_others(session, &message.peers);
    if (error == 0)
        error = join_peers(session);
    if (error != 0)
        return fs_fail(session->options, 1, "cannot join the other nodes: %s",
                       mpiio_rlimit_text(error));
    return 0;
}

void fs_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < ' ' || byte >= 0x7f)
            fprintf(out, "\\u%04x", byte);
        else
            fprintf(out, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
    }
    fputc('"', out);
}

/* Returns the hints as members of a JSON object, or NULL if out of memory. */
static char *hints_text(const struct mpiio_hints *hints)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < hints->count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        fs_json_string(out, hints->hint[i].key);
        fputs(": ", out);
        fs_json_string(out, hints->hint[i].value);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int fs_nodes_await_start(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message = {.type = MPIIO_MESSAGE_READY};
    int error = mpiio_channel_send(cluster->channel, &message);

    if (error != 0)
        return fs_engine_cannot_talk(session, error);
    if (fs_engine_await(session, MPIIO_MESSAGE_START, &message) != 0)
        return 1;
    kill_degraded(cluster, &cluster->started);
    cluster->hints = hints_text(&message.start);
    error = mpiio_peers_wait(cluster->peers, JOIN_TIMEOUT);
    if (session->pool.pool == NULL) /* all connections of the tree exist */
        mpiio_net_close(cluster->net);
    if (error != 0)
        fs_log_line(&session->log, MPIIO_LOG_ERROR, "the other nodes did not join");
    return error != 0 ? 1 : 0;
}

bool fs_nodes_is_degraded(struct fs_cluster *cluster)
{
    return MPIIO_LOCKED(&cluster->lock, cluster->degraded);
}

bool fs_nodes_all_unmounted(struct fs_cluster *cluster)
{
    return MPIIO_LOCKED(&cluster->lock, cluster->ended) || !fs_cluster_is_on(cluster);
}

void fs_nodes_leave(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;

    if (atomic_load(&session->jobs.unmounts))
        mpiio_peers_unmounted(cluster->peers, 0, NULL);
    else
        mpiio_peers_goodbye(cluster->peers);
    pthread_mutex_lock(&cluster->lock);
    while (!cluster->ended && !cluster->alone)
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    pthread_mutex_unlock(&cluster->lock);
}

void fs_nodes_quit(struct fs_session *session)
{
    struct mpiio_message quit = {.type = MPIIO_MESSAGE_QUIT};

    mpiio_channel_send(session->cluster.channel, &quit);
}
