/* SPDX-License-Identifier: MIT */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "address.h"
#include "viewspec/line.h"
#include "core/base/thread.h"
#include "greeting.h"
#include "peers_loop.h"
#include "roster.h"

/* ms: between heartbeats, and for others to notice what this node has noticed; at most. */
#define INTERVAL 1000
#define SETTLE   2000
/* What may be said to node 0, and by it to itself, between two turns without asking for memory. */
#define OUTBOX ((size_t)16 << 10)
#define INBOX  ((size_t)256 << 10)

/* Frees what no thread uses any more. */
static void destroy(struct mpiio_peers *peers)
{
    for (int i = 0; i < peers->peers; i++) {
        if (peers->peer != NULL && peers->peer[i] != NULL) {
            mpiio_connection_close(&peers->peer[i]->link);
            free(peers->peer[i]);
        }
    }
    free(peers->peer);
    if (peers->poll >= 0)
        close(peers->poll);
    if (peers->wake >= 0)
        close(peers->wake);
    if (peers->coordinator.fd >= 0)
        close(peers->coordinator.fd);
    mpiio_queue_free(&peers->inbox);
    mpiio_queue_free(&peers->outbox);
    mpiio_queue_free(&peers->sending);
    free(peers->coordinator.unsaved);
    pthread_cond_destroy(&peers->changed);
    pthread_mutex_destroy(&peers->lock);
    free(peers);
}

static void set_host(struct mpiio_peers *peers, const char *host)
{
    char machine[MPIIO_HOST_MAX + 1] = "";

    if (host == NULL && gethostname(machine, sizeof(machine) - 1) == 0)
        host = machine;
    if (host == NULL || host[0] == '\0')
        host = "?";
    vs_line_copy(peers->host, sizeof(peers->host), host, strlen(host));
}

/* What cannot be said would be waited for for ever. */
static int reserve(struct mpiio_queue *queue, size_t size)
{
    queue->bytes = malloc(size);
    queue->capacity = queue->bytes != NULL ? size : 0;
    return queue->bytes != NULL ? 0 : -ENOMEM;
}

static int create(const struct mpiio_peers_options *options, struct mpiio_peers **created)
{
    struct mpiio_peers *peers;
    pthread_condattr_t attributes;

    if (options->nodes < 1 || options->nodes > MPIIO_PEERS_NODES || options->node < 0 ||
        options->node >= options->nodes || options->peer_timeout < 0)
        return -EINVAL;
    peers = calloc(1, sizeof(*peers));
    if (peers == NULL)
        return -ENOMEM;
    peers->node = options->node;
    peers->nodes = options->nodes;
    peers->timeout = options->peer_timeout != 0 ? options->peer_timeout : MPIIO_PEERS_TIMEOUT;
    peers->events = options->events;
    peers->data = options->data;
    peers->status.dead = -1;
    peers->peers = options->node == 0 ? options->nodes : 1;
    peers->coordinator.fd = -1;
    peers->coordinator.missing = options->nodes - 1;
    set_host(peers, options->host);
    pthread_mutex_init(&peers->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&peers->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    peers->peer = calloc((size_t)peers->peers, sizeof(struct mpiio_peer *));
    peers->poll = epoll_create1(EPOLL_CLOEXEC);
    peers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *created = peers;
    if (peers->peer == NULL || reserve(&peers->outbox, OUTBOX) != 0 ||
        reserve(&peers->sending, OUTBOX) != 0)
        return -ENOMEM;
    return peers->poll < 0 || peers->wake < 0
               ? -errno
               : mpiio_roster_watch(peers, peers->wake, &peers->wake);
}

static int start(struct mpiio_peers *peers)
{
    peers->interval = peers->timeout / 4 < INTERVAL ? peers->timeout / 4 + 1 : INTERVAL;
    peers->settle = peers->timeout < SETTLE ? peers->timeout : SETTLE;
    return mpiio_thread_start(&peers->thread, mpiio_peers_run, peers);
}

/* Node 0 as its own peer. */
static int add_self(struct mpiio_peers *peers)
{
    struct mpiio_peer *self = calloc(1, sizeof(*self));

    if (self == NULL)
        return -ENOMEM;
    self->link.fd = -1;
    mpiio_roster_adopt(peers, self, 0, peers->host);
    return reserve(&peers->inbox, INBOX);
}

int mpiio_peers_listen(const struct mpiio_peers_options *options, struct mpiio_peers **created,
                       char **addresses, uint8_t token[MPIIO_TOKEN_BYTES])
{
    struct mpiio_peers *peers = NULL;
    int error = options->node == 0 ? create(options, &peers) : -EINVAL;

    *addresses = NULL;
    if (error == 0)
        error = add_self(peers);
    if (error == 0)
        error = mpiio_random(peers->token, sizeof(peers->token));
    if (error == 0)
        error = mpiio_address_listen(&peers->coordinator.fd, addresses);
    if (error == 0)
        error = mpiio_roster_watch(peers, peers->coordinator.fd, peers);
    if (error == 0) {
        memcpy(token, peers->token, sizeof(peers->token));
        error = start(peers);
    }
    if (error != 0) {
        free(*addresses);
        *addresses = NULL;
        if (peers != NULL)
            destroy(peers);
        peers = NULL;
    }
    *created = peers;
    return error;
}

int mpiio_peers_join(const struct mpiio_peers_options *options, const char *addresses,
                     const uint8_t token[MPIIO_TOKEN_BYTES], int timeout,
                     struct mpiio_peers **created)
{
    struct mpiio_peers *peers = NULL;
    int error = options->node != 0 ? create(options, &peers) : -EINVAL;

    if (error == 0) {
        memcpy(peers->token, token, sizeof(peers->token));
        error = mpiio_greet_join(peers, addresses, timeout);
    }
    if (error == 0)
        error = start(peers);
    if (error != 0 && peers != NULL) {
        destroy(peers);
        peers = NULL;
    }
    *created = peers;
    return error;
}

/* Waits for a change, with lock held. False once the time, of mpiio_clock, is over. */
static bool wait_until(struct mpiio_peers *peers, int64_t end)
{
    const struct timespec when = {.tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000};

    return pthread_cond_timedwait(&peers->changed, &peers->lock, &when) != ETIMEDOUT;
}

int mpiio_peers_wait(struct mpiio_peers *peers, int timeout)
{
    int64_t end = mpiio_clock() + timeout;
    enum mpiio_peers_state state;

    pthread_mutex_lock(&peers->lock);
    while (peers->status.state == MPIIO_PEERS_JOINING && wait_until(peers, end))
        continue;
    state = peers->status.state;
    pthread_mutex_unlock(&peers->lock);
    if (state == MPIIO_PEERS_STOPPED)
        return -ENOTCONN;
    return state == MPIIO_PEERS_JOINING ? -ETIMEDOUT : 0;
}

int mpiio_peers_request_flush(struct mpiio_peers *peers, bool sync, uint64_t *after)
{
    int error = 0;

    pthread_mutex_lock(&peers->lock);
    *after = peers->status.begun;
    if (peers->status.state != MPIIO_PEERS_TOGETHER) {
        error = -ENOTCONN;
    } else if (sync ? !peers->asked_sync : !peers->asked) {
        error = mpiio_roster_tell_locked(
            peers, &(struct mpiio_peer_frame){.type = MPIIO_ASK, .flag = sync});
        peers->asked = peers->asked || error == 0;
        peers->asked_sync = peers->asked_sync || (sync && error == 0);
    }
    pthread_mutex_unlock(&peers->lock);
    return error;
}

int mpiio_peers_epoch_done(struct mpiio_peers *peers, uint64_t epoch, int status)
{
    return mpiio_roster_tell(
        peers, &(struct mpiio_peer_frame){.type = MPIIO_DONE, .number = epoch, .status = status});
}

int mpiio_peers_vote(struct mpiio_peers *peers, uint64_t change, int status)
{
    return mpiio_roster_tell(
        peers, &(struct mpiio_peer_frame){.type = MPIIO_VOTE, .number = change, .status = status});
}

/* With lock held: why a call cannot go on. */
static int call_error(const struct mpiio_peers *peers)
{
    return peers->status.state == MPIIO_PEERS_TOGETHER ? -ETIMEDOUT : -ENOTCONN;
}

/* With lock held: sends a call, and waits for its result. */
static int carry_out(struct mpiio_peers *peers, struct mpiio_peer_frame *frame, int64_t end,
                     char **text)
{
    struct mpiio_call *call = &peers->call;
    int error;

    while (call->busy && peers->status.state == MPIIO_PEERS_TOGETHER && wait_until(peers, end))
        continue;
    if (call->busy || peers->status.state != MPIIO_PEERS_TOGETHER)
        return call_error(peers);
    call->busy = true;
    call->done = false;
    frame->number = ++call->number;
    error = mpiio_roster_tell_locked(peers, frame);
    while (error == 0 && !call->done && peers->status.state == MPIIO_PEERS_TOGETHER &&
           wait_until(peers, end))
        continue;
    if (error == 0)
        error = call->done ? call->status : call_error(peers);
    if (call->done && text != NULL)
        *text = call->text;
    else if (call->done)
        free(call->text);
    call->text = NULL;
    call->busy = false;
    pthread_cond_broadcast(&peers->changed);
    return error;
}

static int call(struct mpiio_peers *peers, struct mpiio_peer_frame *frame, int timeout, char **text)
{
    int64_t end = mpiio_clock() + timeout;
    int error;

    if (timeout < 0)
        return -EINVAL;
    if (pthread_equal(pthread_self(), peers->thread))
        return -EDEADLK;
    pthread_mutex_lock(&peers->lock);
    error = carry_out(peers, frame, end, text);
    if (peers->status.state == MPIIO_PEERS_ENDED && frame->type == MPIIO_UNMOUNT_ALL &&
        error == -ENOTCONN)
        error = 0;
    pthread_mutex_unlock(&peers->lock);
    return error;
}

int mpiio_peers_set_atomicity(struct mpiio_peers *peers, bool value, int timeout)
{
    struct mpiio_peer_frame frame = {
        .type = MPIIO_CHANGE, .flag = value, .time = timeout > 0 ? (uint32_t)timeout / 4 * 3 : 0};

    return call(peers, &frame, timeout, NULL);
}

int mpiio_peers_unmount_all(struct mpiio_peers *peers, bool force, int timeout, char **unsaved)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_UNMOUNT_ALL, .flag = force};

    *unsaved = NULL;
    return call(peers, &frame, timeout, unsaved);
}

/* Says that this node is unmounted, or why not. */
static int say_unmounted(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    int error;

    pthread_mutex_lock(&peers->lock);
    error = mpiio_roster_tell_locked(peers, frame);
    peers->gone = peers->gone || (error == 0 && frame->status == 0);
    pthread_mutex_unlock(&peers->lock);
    return error;
}

/* Borrows a line for a frame, cut where it is too long. */
static void set_text(struct mpiio_peer_frame *frame, const char *text)
{
    frame->text = text;
    frame->text_size = (uint32_t)strnlen(text, 1023);
}

int mpiio_peers_unmounted(struct mpiio_peers *peers, int error, const char *unsaved)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_UNMOUNTED, .status = error};

    if (error != 0 && error != -EINPROGRESS)
        set_text(&frame, unsaved);
    return say_unmounted(peers, &frame);
}

int mpiio_peers_goodbye(struct mpiio_peers *peers)
{
    return say_unmounted(peers, &(struct mpiio_peer_frame){.type = MPIIO_GOODBYE});
}

int mpiio_peers_engine_lost(struct mpiio_peers *peers, const char *why)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_ENGINE_LOST};

    set_text(&frame, why);
    return mpiio_roster_tell(peers, &frame);
}

void mpiio_peers_status(struct mpiio_peers *peers, struct mpiio_peers_status *status)
{
    pthread_mutex_lock(&peers->lock);
    *status = peers->status;
    pthread_mutex_unlock(&peers->lock);
}

static const char *describe(const struct mpiio_peer *peer)
{
    if (!peer->connected)
        return "closed";
    return peer->unmounted ? "unmounted" : "connected";
}

int mpiio_peers_peer(struct mpiio_peers *peers, int index, struct mpiio_peer_status *status)
{
    int node = peers->node == 0 ? index + 1 : index;
    const struct mpiio_peer *peer;

    if (index < 0 || index >= MPIIO_PEERS_NODES || node >= peers->peers)
        return -ENOENT;
    *status = (struct mpiio_peer_status){.node = node, .state = "absent", .age = -1};
    pthread_mutex_lock(&peers->lock);
    peer = peers->peer[node];
    if (peer != NULL) {
        status->state = describe(peer);
        memcpy(status->host, peer->host, sizeof(status->host));
        status->age = mpiio_clock() - atomic_load(&peer->link.heard);
        status->received = atomic_load(&peer->link.received);
        status->sent = atomic_load(&peer->link.sent);
    }
    pthread_mutex_unlock(&peers->lock);
    return 0;
}

void mpiio_peers_stop(struct mpiio_peers *peers)
{
    pthread_mutex_lock(&peers->lock);
    peers->stop = true;
    mpiio_roster_wake(peers);
    while (!peers->ended && !pthread_equal(pthread_self(), peers->thread))
        pthread_cond_wait(&peers->changed, &peers->lock);
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_peers_free(struct mpiio_peers *peers)
{
    if (peers == NULL)
        return;
    mpiio_peers_stop(peers);
    pthread_join(peers->thread, NULL);
    destroy(peers);
}
