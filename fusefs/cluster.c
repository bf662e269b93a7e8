/* SPDX-License-Identifier: MIT */
#include "cluster.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "core/cache/cache.h"
#include "cluster/handshake_proof.h"
#include "core/base/rlimit.h"
#include "fence.h"
#include "operations.h"
#include "watch.h"

/* For another daemon to be found, and for all to have joined, in ms. */
#define JOIN_TIMEOUT 20000
/*
 * Descriptors that node 0 may need beside a connection to each other node: its files, and 64
 * connections that have not joined yet.
 */
#define OTHER_DESCRIPTORS 128

/* Talking to the engine. */

static int cannot_talk(struct fs_session *session, int error)
{
    fs_complain(session->options, "cannot talk to mpiio-engine: %s", strerror(-error));
    return 1;
}

/* Waits for the message that is due. An exit status; without a word where the engine quits. */
static int await(struct fs_session *session, enum mpiio_message_type type,
                 struct mpiio_message *message)
{
    int failed = mpiio_channel_receive(session->cluster.channel, message);

    if (failed == -EPIPE || (failed == 0 && message->type == MPIIO_MESSAGE_QUIT))
        return 1;
    if (failed == 0 && message->type != type)
        failed = -EPROTO;
    return failed != 0 ? cannot_talk(session, failed) : 0;
}

int fs_cluster_init(struct fs_session *session, int fd)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message;
    int failed;

    *cluster = (struct fs_cluster){.nodes = 1, .engine = -1};
    pthread_mutex_init(&cluster->lock, NULL);
    pthread_cond_init(&cluster->changed, NULL);
    if (fd < 0)
        return 0;
    failed = mpiio_channel_new(fd, &cluster->channel);
    if (failed != 0)
        return cannot_talk(session, failed);
    if (await(session, MPIIO_MESSAGE_NODE, &message) != 0)
        return 1;
    cluster->node = (int)message.node.node;
    cluster->nodes = (int)message.node.nodes;
    cluster->engine_pid = message.node.pid;
    cluster->engine = pidfd_open(message.node.pid, 0);
    /* The process with that number is the engine as long as it is this one's parent. */
    if (cluster->engine < 0 || getppid() != message.node.pid)
        return cannot_talk(session, cluster->engine < 0 ? -errno : -ESRCH);
    return 0;
}

void fs_cluster_free(struct fs_cluster *cluster)
{
    mpiio_peers_free(cluster->peers);
    mpiio_channel_free(cluster->channel);
    if (cluster->engine >= 0)
        close(cluster->engine);
    if (cluster->none.count > 0)
        mpiio_slots_destroy(&cluster->none);
    free(cluster->hints);
    free(cluster->blocks);
    free(cluster->errors);
    pthread_cond_destroy(&cluster->changed);
    pthread_mutex_destroy(&cluster->lock);
}

/* Sets a flag that fs_cluster_leave waits for. */
static void raise_flag(struct fs_cluster *cluster, bool *flag)
{
    pthread_mutex_lock(&cluster->lock);
    *flag = true;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

/* What the other daemons have to say. */

static void on_progress(void *data, struct mpiio_progress *progress)
{
    struct fs_session *session = data;

    fs_watch_progress(&session->cluster, progress);
}

static void on_log(void *data, const char *line)
{
    struct fs_session *session = data;

    fs_log_error(&session->log, "%s", line);
}

static void on_epoch(void *data, uint64_t epoch, bool sync)
{
    struct fs_session *session = data;

    fs_flusher_begin(&session->flusher, epoch, sync);
}

static void on_finished(void *data, uint64_t epoch, bool sync, int status)
{
    struct fs_session *session = data;

    fs_flusher_end(&session->flusher, epoch, sync, status);
}

/* Until all are ready the engines have nothing to store, but are still to say why one is not. */
static void on_degraded(void *data, int node, const char *host, const char *why)
{
    struct fs_session *session = data;
    struct fs_cluster *cluster = &session->cluster;
    bool started;

    (void)node, (void)host, (void)why;
    pthread_mutex_lock(&cluster->lock);
    cluster->lost = cluster->degraded = true;
    started = cluster->started;
    pthread_mutex_unlock(&cluster->lock);
    if (started)
        fs_watch_kill(cluster);
}

static void on_start(struct fs_cluster *cluster)
{
    bool degraded;

    pthread_mutex_lock(&cluster->lock);
    cluster->started = true;
    degraded = cluster->degraded;
    pthread_mutex_unlock(&cluster->lock);
    if (degraded)
        fs_watch_kill(cluster);
}

static void on_alone(void *data)
{
    struct fs_session *session = data;

    fs_fence_await(session);
    fs_flusher_go_alone(&session->flusher);
    raise_flag(&session->cluster, &session->cluster.alone);
}

/* The node that all were unmounted from may still be mounted, for a moment. */
static void on_end(void *data)
{
    struct fs_session *session = data;

    fs_flusher_go_alone(&session->flusher);
    raise_flag(&session->cluster, &session->cluster.ended);
}

/* Meeting. */

static const struct mpiio_peers_events peers_events = {
    .log = on_log,
    .on_epoch = on_epoch,
    .on_finished = on_finished,
    .progress = on_progress,
    .on_lease = fs_fence_on_lease,
    .on_prepare = fs_atomic_on_prepare,
    .on_settled = fs_atomic_on_settled,
    .on_unmount = fs_control_on_unmount,
    .on_end = on_end,
    .on_degraded = on_degraded,
    .on_alone = on_alone,
};

static void fill_options(struct fs_session *session, struct mpiio_peers_options *options)
{
    *options = (struct mpiio_peers_options){.node = session->cluster.node,
                                            .nodes = session->cluster.nodes,
                                            .peer_timeout = (int)session->options->peer_timeout,
                                            .events = peers_events,
                                            .data = session};
}

/* What node 0 has the engines tell the others: the token in hexadecimal, and where it listens. */
static int listen_for_peers(struct fs_session *session, char **address)
{
    struct mpiio_peers_options options;
    uint8_t token[MPIIO_TOKEN_BYTES];
    char text[2 * MPIIO_TOKEN_BYTES + 1];
    char *addresses;
    int failed;

    fill_options(session, &options);
    failed = mpiio_peers_listen(&options, &session->cluster.peers, &addresses, token);
    if (failed != 0)
        return failed;
    for (size_t i = 0; i < sizeof(token); i++)
        sprintf(text + 2 * i, "%02x", token[i]);
    if (asprintf(address, "%s %s", text, addresses) < 0) {
        *address = NULL;
        failed = -ENOMEM;
    }
    free(addresses);
    return failed;
}

/* The connections of all nodes meet at node 0. An exit status, 1 after a line on stderr. */
static int make_room(const struct fs_session *session)
{
    uint64_t needed = (uint64_t)session->cluster.nodes - 1 + OTHER_DESCRIPTORS;
    uint64_t allowed = mpiio_descriptors_allow(needed);

    if (allowed >= needed)
        return 0;
    fs_complain(session->options,
                "%d nodes need %llu open files in the daemon of node 0, which may have %llu "
                "(ulimit -Hn)",
                session->cluster.nodes, (unsigned long long)needed, (unsigned long long)allowed);
    return 1;
}

static int join_peers(struct fs_session *session, const char *address)
{
    struct mpiio_peers_options options;
    uint8_t token[MPIIO_TOKEN_BYTES];

    if (strlen(address) < 2 * sizeof(token) + 1)
        return -EPROTO;
    for (size_t i = 0; i < sizeof(token); i++) {
        unsigned byte;

        if (sscanf(address + 2 * i, "%2x", &byte) != 1)
            return -EPROTO;
        token[i] = (uint8_t)byte;
    }
    fill_options(session, &options);
    return mpiio_peers_join(&options, address + 2 * sizeof(token) + 1, token, JOIN_TIMEOUT,
                            &session->cluster.peers);
}

/* The spec's hints: the first of them, where there are more than a message holds. */
static void fill_hints(const struct vs_spec *spec, struct mpiio_hints *hints)
{
    struct mpiio_hint hint;

    while (hints->count < MPIIO_HINTS_MAX &&
           vs_spec_hint(spec, hints->count, &hint.key, &hint.value))
        hints->hint[hints->count++] = hint;
}

/* 0: no memory. */
static uint64_t hash_spec(const struct vs_spec *spec)
{
    static const uint8_t no_key[16];
    char *text = vs_spec_resolved(spec, false);
    uint64_t hash = text != NULL ? mpiio_siphash(no_key, text, strlen(text)) : 0;

    free(text);
    return hash;
}

static int say_hello(struct fs_session *session, const char *address)
{
    struct mpiio_message hello = {.type = MPIIO_MESSAGE_HELLO,
                                  .hello = {.path = session->back != NULL ? session->file : "",
                                            .store = session->options->store,
                                            .address = address,
                                            .spec = hash_spec(session->spec)}};
    const struct mpiio_slots *slots = &session->cluster.none;
    int failed = 0;

    fill_hints(session->spec, &hello.hello.hints);
    if (session->back != NULL)
        slots = mpiio_back_slots(session->back);
    else
        failed = mpiio_slots_create(&session->cluster.none, 1);
    if (failed != 0)
        return failed;
    session->cluster.progress = mpiio_slots_progress(slots);
    hello.hello.memory = slots->fd;
    return mpiio_channel_send(session->cluster.channel, &hello);
}

/* For all that can be dirty at once: no epoch needs to ask for memory. */
static int make_lists(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    size_t most = session->back != NULL ? (size_t)mpiio_back_slots(session->back)->count : 1;

    cluster->blocks = calloc(most, sizeof(*cluster->blocks));
    cluster->errors = calloc(most, sizeof(*cluster->errors));
    if (cluster->blocks != NULL && cluster->errors != NULL)
        return 0;
    fs_complain(session->options, "%s", strerror(ENOMEM));
    return 1;
}

int fs_cluster_meet(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message;
    char *address = NULL;
    int failed = 0;

    if (make_lists(session) != 0 || (cluster->node == 0 && make_room(session) != 0))
        return 1;
    if (cluster->node == 0)
        failed = listen_for_peers(session, &address);
    if (failed != 0) {
        fs_complain(session->options, "cannot listen for the other nodes: %s", strerror(-failed));
        return 1;
    }
    failed = say_hello(session, address != NULL ? address : "");
    free(address);
    if (failed != 0)
        return cannot_talk(session, failed);
    if (await(session, MPIIO_MESSAGE_PEERS, &message) != 0)
        return 1;
    if (cluster->node != 0)
        failed = join_peers(session, message.peers);
    if (failed != 0) {
        fs_complain(session->options, "cannot join the other nodes: %s", strerror(-failed));
        return 1;
    }
    return 0;
}

/* Members of a JSON object; NULL without memory. */
static char *hints_text(const struct mpiio_hints *hints)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    for (uint32_t i = 0; i < hints->count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        fs_stats_string(out, hints->hint[i].key);
        fputs(": ", out);
        fs_stats_string(out, hints->hint[i].value);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int fs_cluster_await_start(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message = {.type = MPIIO_MESSAGE_READY};
    int failed = mpiio_channel_send(cluster->channel, &message);

    if (failed != 0)
        return cannot_talk(session, failed);
    if (await(session, MPIIO_MESSAGE_START, &message) != 0)
        return 1;
    on_start(cluster);
    cluster->hints = hints_text(&message.start);
    failed = mpiio_peers_wait(cluster->peers, JOIN_TIMEOUT);
    if (failed != 0)
        fs_log_error(&session->log, "the other nodes did not join");
    return failed != 0 ? 1 : 0;
}

/* Epochs. */

static void add_counters(struct fs_cluster *cluster, const struct mpiio_epoch_counters *more)
{
    struct mpiio_epoch_counters *sum = &cluster->counters;

    pthread_mutex_lock(&cluster->lock);
    cluster->epochs++;
    sum->dirty_bytes += more->dirty_bytes;
    sum->sent_bytes += more->sent_bytes;
    sum->received_bytes += more->received_bytes;
    sum->merged_runs += more->merged_runs;
    sum->stored_bytes += more->stored_bytes;
    sum->store_calls += more->store_calls;
    sum->store_map_bytes += more->store_map_bytes;
    sum->store_read_bytes += more->store_read_bytes;
    sum->rounds += more->rounds;
    sum->left_blocks += more->left_blocks;
    pthread_mutex_unlock(&cluster->lock);
}

uint64_t fs_cluster_counters(struct fs_cluster *cluster, struct mpiio_epoch_counters *counters)
{
    uint64_t epochs;

    pthread_mutex_lock(&cluster->lock);
    *counters = cluster->counters;
    epochs = cluster->epochs;
    pthread_mutex_unlock(&cluster->lock);
    return epochs;
}

/* Hands blocks to the engine and gets their errors back. A negative errno: it cannot be talked to.
 */
static int exchange(struct fs_session *session, const struct mpiio_message_run *run,
                    const struct mpiio_run_block *blocks, int32_t *errors, int *status)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message message;
    int failed = mpiio_channel_send_run(cluster->channel, run, blocks);

    if (failed == 0)
        failed = fs_watch_await(cluster, session->options->peer_timeout);
    if (failed == 0)
        failed = mpiio_channel_receive(cluster->channel, &message);
    if (failed == 0 && (message.type != MPIIO_MESSAGE_RESULT ||
                        message.result.epoch != run->epoch || message.result.count != run->count))
        failed = -EPROTO;
    if (failed != 0)
        return failed;
    *status = message.result.error;
    add_counters(cluster, &message.result.counters);
    return mpiio_channel_receive_errors(cluster->channel, errors, run->count);
}

/* What is dirty from now on is for the next epoch. */
static int freeze(struct fs_session *session, bool may_wait, struct mpiio_message_run *run)
{
    const struct mpiio_frozen *frozen;
    size_t count;
    int failed;

    if (session->back == NULL)
        return 0;
    failed = mpiio_back_freeze(session->back, &frozen, &count);
    if (failed != 0)
        return failed;
    for (size_t i = 0; i < count; i++)
        session->cluster.blocks[i] =
            (struct mpiio_run_block){.block = frozen[i].block,
                                     .slot = (uint32_t)frozen[i].slot,
                                     .may_wait = may_wait && !frozen[i].tried};
    run->count = (uint32_t)count;
    return 0;
}

/* What became of the blocks, for write-back and for those who wait. */
static void take_errors(const struct mpiio_run_block *list, uint32_t count, int32_t *errors,
                        struct fs_stored *stored)
{
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i] == -EAGAIN && list[i].may_wait) {
            stored->left = true;
            continue;
        }
        /* Else nobody would be told. */
        if (errors[i] == -EAGAIN)
            errors[i] = -EIO;
        if (stored->blocks == 0)
            stored->blocks = errors[i];
    }
}

static const char *why_lost(int error)
{
    if (error == -ETIMEDOUT)
        return "its engine is stopped";
    return error == -EPIPE ? "its engine has ended" : strerror(-error);
}

int fs_cluster_store(struct fs_session *session, uint64_t epoch, bool sync, bool may_wait,
                     struct fs_stored *stored)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message_run run = {.epoch = epoch, .sync = sync};
    int frozen_error = freeze(session, may_wait, &run);
    /* Without write-back the engine has no file. */
    int status = session->back == NULL && sync ? fs_sync_file(session, false) : 0;
    int result = 0;
    int failed = exchange(session, &run, cluster->blocks, cluster->errors, &result);

    *stored = (struct fs_stored){.blocks = frozen_error};
    /* What is frozen stays so: this node will store it alone. */
    if (failed != 0)
        fs_cluster_engine_lost(session, why_lost(failed));
    if (failed == 0 && frozen_error == 0 && session->back != NULL) {
        take_errors(cluster->blocks, run.count, cluster->errors, stored);
        mpiio_back_resolve(session->back, cluster->errors);
    }
    if (failed == 0)
        failed = status != 0 ? status : result;
    return failed;
}

/* The engine's end. */

int fs_cluster_engine(struct fs_cluster *cluster)
{
    bool lost;

    if (cluster->channel == NULL)
        return -1;
    pthread_mutex_lock(&cluster->lock);
    lost = cluster->lost || cluster->ended;
    pthread_mutex_unlock(&cluster->lock);
    return lost ? -1 : mpiio_channel_fd(cluster->channel);
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

bool fs_cluster_is_degraded(struct fs_cluster *cluster)
{
    bool degraded;

    pthread_mutex_lock(&cluster->lock);
    degraded = cluster->degraded;
    pthread_mutex_unlock(&cluster->lock);
    return degraded;
}

void fs_cluster_leave(struct fs_session *session)
{
    struct fs_cluster *cluster = &session->cluster;
    struct mpiio_message quit = {.type = MPIIO_MESSAGE_QUIT};

    if (session->control.unmounts)
        mpiio_peers_unmounted(cluster->peers, 0, NULL);
    else
        mpiio_peers_goodbye(cluster->peers);
    pthread_mutex_lock(&cluster->lock);
    while (!cluster->ended && !cluster->alone)
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    pthread_mutex_unlock(&cluster->lock);
    mpiio_channel_send(cluster->channel, &quit);
}
