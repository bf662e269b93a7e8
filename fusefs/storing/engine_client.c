/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "core/base/process.h"
#include "core/base/thread.h"
#include "core/cache/cache.h"
#include "core/store_layers.h"
#include "net/connections.h"
#include "flusher.h"
#include "fusefs/session.h"

/* Monitoring of the engine. */

/* The interval at which a working engine is checked, in ms. */
#define WATCH_INTERVAL 1000

/* Returns true if the engine's process is stopped, for example by SIGSTOP. */
static bool engine_is_stopped(const struct fs_cluster *cluster)
{
    char path[64], text[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)cluster->engine_pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    fclose(file);
    state = strrchr(text, ')');
    return state != NULL && (state[2] == 'T' || state[2] == 't');
}

/*
 * Waits until the engine sends a message. Returns 0 or a negative errno: -ETIMEDOUT if the engine
 * was stopped for timeout ms. Its node then counts as failed. The daemon itself is alive, so no
 * other node would notice.
 */
static int watch_await(const struct fs_cluster *cluster, int timeout)
{
    struct pollfd file = {.fd = mpiio_channel_fd(cluster->channel), .events = POLLIN};
    int stopped = 0;

    for (;;) {
        int changed = poll(&file, 1, WATCH_INTERVAL);

        if (changed > 0)
            return 0;
        if (changed < 0 && errno != EINTR)
            return -errno;
        stopped = changed == 0 && engine_is_stopped(cluster) ? stopped + WATCH_INTERVAL : 0;
        if (stopped >= timeout)
            return -ETIMEDOUT;
    }
}

void fs_nodes_on_progress(void *data, struct mpiio_progress *progress)
{
    const struct fs_cluster *cluster = &((struct fs_session *)data)->cluster;

    mpiio_progress_read(cluster->progress, progress);
    if (progress->waiting && engine_is_stopped(cluster))
        progress->waiting = false;
}

/* Communication with the engine. */

int fs_engine_cannot_talk(struct fs_session *session, int error)
{
    return fs_fail(session->options, 1, "cannot talk to mpiio-engine: %s", strerror(-error));
}

int fs_engine_await(struct fs_session *session, enum mpiio_message_type type,
                    struct mpiio_message *message)
{
    int error = mpiio_channel_receive(session->cluster.channel, message);

    if (error == -EPIPE || (error == 0 && message->type == MPIIO_MESSAGE_QUIT))
        return 1;
    if (error == 0 && message->type != type)
        error = -EPROTO;
    return error != 0 ? fs_engine_cannot_talk(session, error) : 0;
}

/*
 * Finds the local address that the option interface names. Returns 0, or 1 after a line on stderr.
 */
static int find_interface(const struct fs_session *session, struct mpiio_local_address *local)
{
    const char *interface = session->options->interface;
    int error = mpiio_local_address_find(interface, local);

    if (error == 0)
        return 0;
    return fs_fail(session->options, 1, "interface=%s: %s", interface,
                   error == -EADDRNOTAVAIL ? "there is no such address here"
                   : error == -EINVAL      ? "neither an interface nor an address nor a network"
                                           : strerror(-error));
}

/*
 * Descriptors other than the connections of the tree and the pool: files, and up to
 * MPIIO_LISTENER_STRANGERS connections that are not authenticated yet.
 */
#define OTHER_DESCRIPTORS 128
/* The pool's connections with each other node: outgoing and accepted ones. */
#define POOL_CONNECTIONS (2 * MPIIO_CONNECTIONS_MAX)

/*
 * Raises the limit of descriptors for the connections of the tree and the pool. Sets *most to the
 * number of pool connections that the limit allows in each direction; 0: unlimited. With fewer than
 * needed, this node reads more by itself. Returns 0, or 1 after a line on stderr if a node with
 * others below it cannot have enough even for the tree.
 */
static int make_room(const struct fs_session *session, unsigned *most)
{
    const struct fs_cluster *cluster = &session->cluster;
    int below = mpiio_tree_below(cluster->node, cluster->nodes, (int)session->options->fanout);
    uint64_t tree = (uint64_t)below + (cluster->node != 0) + OTHER_DESCRIPTORS;
    uint64_t pool =
        session->options->pool != 0 ? (uint64_t)(cluster->nodes - 1) * POOL_CONNECTIONS : 0;
    uint64_t allowed = mpiio_rlimit_descriptors(tree + pool);

    *most = 0;
    if (allowed < tree + pool)
        *most = allowed > tree + 2 ? (unsigned)((allowed - tree) / 2) : 1;
    if (allowed >= tree || below == 0)
        return 0;
    return fs_fail(session->options, 1,
                   "node %d: its daemon needs %llu open files for %d nodes, and may have %llu "
                   "(raise the limit with ulimit -Hn)",
                   cluster->node, (unsigned long long)tree, cluster->nodes,
                   (unsigned long long)allowed);
}

/* Creates the network of this node. Returns 0, or 1 after a line on stderr. */
static int make_net(struct fs_session *session)
{
    struct mpiio_net_options options = {.node = session->cluster.node,
                                        .nodes = session->cluster.nodes,
                                        .ports = session->options->ports,
                                        .timeout = (int)session->options->peer_timeout};
    int error;

    if (find_interface(session, &options.local) != 0 || make_room(session, &options.most) != 0)
        return 1;
    error = mpiio_net_new(&options, &session->cluster.net);
    return error != 0 ? fs_engine_cannot_talk(session, error) : 0;
}

int fs_cluster_init(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    int fd = session->options->engine_fd;
    struct mpiio_message message;
    int error;

    *cluster = (struct fs_cluster){.nodes = 1, .engine = -1};
    pthread_mutex_init(&cluster->lock, NULL);
    pthread_cond_init(&cluster->changed, NULL);
    if (fd < 0)
        return 0;
    error = mpiio_channel_new(fd, &cluster->channel);
    if (error != 0)
        return fs_engine_cannot_talk(session, error);
    if (fs_engine_await(session, MPIIO_MESSAGE_NODE, &message) != 0)
        return 1;
    cluster->node = (int)message.node.node;
    cluster->nodes = (int)message.node.nodes;
    cluster->engine_pid = message.node.pid;
    cluster->engine = pidfd_open(message.node.pid, 0);
    /* The PID is known to be the engine's as long as the engine is this process's parent. */
    if (cluster->engine < 0 || getppid() != message.node.pid)
        return fs_engine_cannot_talk(session, cluster->engine < 0 ? -errno : -ESRCH);
    return make_net(session);
}

void fs_cluster_free(struct fs_cluster *cluster)
{
    mpiio_net_stop(cluster->net);     /* its threads may pass connections to the peers */
    mpiio_peers_free(cluster->peers); /* the peers' events may close the net */
    mpiio_net_free(cluster->net);
    mpiio_channel_free(cluster->channel);
    if (cluster->engine >= 0)
        close(cluster->engine);
    if (cluster->none.count > 0)
        mpiio_slots_destroy(&cluster->none);
    free(cluster->hints);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->lock);
}

/* Epochs. */

static void add_counters(struct fs_cluster *cluster, const struct mpiio_epoch_counters *more)
{
    uint64_t *sum = (uint64_t *)&cluster->counters;
    const uint64_t *add = (const uint64_t *)more;

    pthread_mutex_lock(&cluster->lock);
    cluster->epochs++;
    for (size_t i = 0; i < sizeof(*more) / sizeof(*add); i++)
        sum[i] += add[i];
    pthread_mutex_unlock(&cluster->lock);
}

/*
 * Hands the listed blocks to the engine, and waits until it has listed their errors. Returns a
 * negative errno if communication fails.
 */
static int exchange(struct fs_session *session, const struct mpiio_message_flush *flush,
                    int *outcome)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message = {.type = MPIIO_MESSAGE_FLUSH, .flush = *flush};
    int error = mpiio_channel_send(cluster->channel, &message);

    if (error == 0)
        error = watch_await(cluster, session->options->peer_timeout);
    if (error == 0)
        error = mpiio_channel_receive(cluster->channel, &message);
    if (error == 0 &&
        (message.type != MPIIO_MESSAGE_RESULT || message.result.epoch != flush->epoch))
        error = -EPROTO;
    if (error != 0)
        return error;
    *outcome = message.result.error;
    add_counters(cluster, &message.result.counters);
    return 0;
}

/* Freezes the dirty blocks, which lists them in cluster->blocks, and counts them in flush. Bytes
   that become dirty later belong to the next epoch. */
static int freeze(struct fs_session *session, bool may_wait, struct mpiio_message_flush *flush)
{
    size_t count;
    int error;

    if (session->cache == NULL)
        return 0;
    error = mpiio_cache_freeze(session->cache, may_wait, &count);
    if (error == 0)
        flush->count = (uint32_t)count;
    return error;
}

/* Sets stored from the errors of blocks, and replaces errors that write-back must not see. */
static void take_errors(const struct mpiio_flush_block *list, uint32_t count, int32_t *errors,
                        struct fs_stored *stored)
{
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i] == -EAGAIN && list[i].may_wait) {
            stored->left = true;
            continue;
        }
        /* -EAGAIN on a block that may not wait would be reported to no one. */
        if (errors[i] == -EAGAIN)
            errors[i] = -EIO;
        if (stored->blocks == 0)
            stored->blocks = errors[i];
    }
}

/*
 * Refreshes this host's pages after an epoch, because homes on other hosts store through their own
 * clients. If that fails, the blocks stay dirty; otherwise reads would return old bytes.
 */
static void refresh_stored(struct fs_session *session, uint32_t count)
{
    int32_t *errors = session->cluster.errors;
    int error = count > 0 ? mpiio_file_refresh(mpiio_store_file(session->store)) : 0;

    for (uint32_t i = 0; i < count && error != 0; i++)
        if (errors[i] == 0)
            errors[i] = error;
}

static const char *why_lost(int error)
{
    if (error == -ETIMEDOUT)
        return "its engine is stopped";
    return error == -EPIPE ? "its engine has ended" : strerror(-error);
}

/*
 * Syncs the file here if the engine does not. Without write-back, the engine has no file. It syncs
 * only those members of an assembled file that it has written. MPI_File_sync does nothing if the
 * engine has not written since the last sync (ROMIO's dirty_write), but this daemon may have.
 */
static int sync_own(struct fs_session *session)
{
    bool own = atomic_exchange(&session->flusher.own, false);
    int error = 0;

    if (own || session->cache == NULL || mpiio_store_has_members(session->store))
        error = fs_sync_file(&session->durable, false);
    if (own && error != 0)
        atomic_store(&session->flusher.own, true);
    return error;
}

int fs_cluster_store(struct fs_session *session, uint64_t epoch, bool sync, bool may_wait,
                     struct fs_stored *stored)
{
    struct fs_cluster *cluster = &session->cluster;
    /*
     * After the epoch a node reads its data from the file, so other clients must have sent theirs.
     */
    struct mpiio_message_flush flush = {
        .epoch = epoch, .sync = sync || !mpiio_file_is_coherent(mpiio_store_file(session->store))};
    int frozen_error = freeze(session, may_wait, &flush);
    int synced = sync ? sync_own(session) : 0;
    int outcome = 0;
    int error = exchange(session, &flush, &outcome);

    *stored = (struct fs_stored){.blocks = frozen_error};
    /* The blocks stay frozen: this node will store them alone. */
    if (error != 0)
        fs_cluster_engine_lost(session, why_lost(error));
    if (error == 0 && frozen_error == 0 && session->cache != NULL) {
        refresh_stored(session, flush.count);
        take_errors(cluster->blocks, flush.count, cluster->errors, stored);
        mpiio_cache_resolve(session->cache, cluster->errors);
    }
    if (error == 0)
        error = synced != 0 ? synced : outcome;
    return error;
}

/* The end of the engine. */

int fs_cluster_engine(struct fs_cluster *cluster)
{
    if (cluster->channel == NULL)
        return -1;
    return MPIIO_LOCKED(&cluster->lock, cluster->lost || cluster->ended)
               ? -1
               : mpiio_channel_fd(cluster->channel);
}

void fs_cluster_engine_lost(struct fs_session *session, const char *why)
{
    struct fs_cluster *cluster = &session->cluster;
    bool known;

    pthread_mutex_lock(&cluster->lock);
    known = cluster->lost || cluster->ended;
    cluster->lost = true;
    pthread_mutex_unlock(&cluster->lock);
    if (!known)
        mpiio_peers_engine_lost(cluster->peers, why);
}
