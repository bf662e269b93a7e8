/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "viewspec/base/line.h"

/* ms, maximum: between heartbeats, and for other nodes to notice a failure that this node has
   noticed. */
#define INTERVAL 1000
#define SETTLE   2000
/* Bytes of the frames that the other threads and the events of a node may send between two turns
   without allocating memory. */
#define OUTBOX ((size_t)16 << 10)

void mpiio_roster_log(struct mpiio_peers *peers, enum mpiio_log_level level, const char *format,
                      ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    peers->events.log(peers->data, level, line);
}

void mpiio_roster_log_refusal(struct mpiio_peers *peers, int error)
{
    mpiio_roster_log(peers, MPIIO_LOG_WARNING, "refused a connection: %s", strerror(-error));
}

void mpiio_roster_wake(struct mpiio_peers *peers)
{
    /* This can only fail if the counter is full, and then the thread is awake. */
    eventfd_write(peers->wake, 1);
}

int mpiio_roster_tell_locked(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    enum mpiio_peers_state state = peers->status.state;
    int error;

    assert(mpiio_is_held(&peers->lock));
    if (state != MPIIO_PEERS_TOGETHER &&
        !(state == MPIIO_PEERS_DEGRADING && frame->type == MPIIO_FENCED))
        return -ENOTCONN;
    error = mpiio_queue_frame(&peers->outbox, frame);
    if (error == 0)
        mpiio_roster_wake(peers);
    return error;
}

int mpiio_roster_tell(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    return MPIIO_LOCKED(&peers->lock, mpiio_roster_tell_locked(peers, frame));
}

void mpiio_roster_set_state(struct mpiio_peers *peers, enum mpiio_peers_state state)
{
    pthread_mutex_lock(&peers->lock);
    assert(state > peers->status.state); /* states change in one direction */
    peers->status.state = state;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
}

int mpiio_roster_watch(struct mpiio_peers *peers, int fd, void *owner)
{
    /* Edge-triggered: all available bytes are always read, and queued bytes sent, until EAGAIN. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = owner};

    return epoll_ctl(peers->poll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Returns the slot of a peer, by its number. */
static struct mpiio_peer **place_of(struct mpiio_peers *peers, int node)
{
    if (node == peers->node)
        return &peers->peer[0];
    return node < peers->node ? &peers->above : &peers->peer[node - peers->fanout * peers->node];
}

void mpiio_roster_adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, int node,
                        const char *host)
{
    pthread_mutex_lock(&peers->lock);
    peer->node = node;
    peer->connected = true;
    snprintf(peer->host, sizeof(peer->host), "%s", host);
    *place_of(peers, node) = peer;
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_roster_close(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    mpiio_peer_connection_close(&peer->link);
    peers->beats_awaited -= peer->beat_awaited ? 1 : 0;
    peer->beat_awaited = false;
    pthread_mutex_lock(&peers->lock);
    peer->connected = false;
    pthread_mutex_unlock(&peers->lock);
}

static void free_peer(struct mpiio_peer *peer)
{
    if (peer != NULL)
        mpiio_peer_connection_close(&peer->link);
    free(peer);
}

void mpiio_roster_free(struct mpiio_peers *peers)
{
    free_peer(peers->above);
    for (int i = 0; i < peers->peers && peers->peer != NULL; i++)
        free_peer(peers->peer[i]);
    free(peers->peer);
    if (peers->poll >= 0)
        close(peers->poll);
    if (peers->wake >= 0)
        close(peers->wake);
    mpiio_queue_free(&peers->outbox);
    mpiio_queue_free(&peers->sending);
    free(peers->rounds.unsaved);
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

static bool are_wrong(const struct mpiio_peers_options *options)
{
    return options->nodes < 1 || options->nodes > MPIIO_PEERS_NODES || options->node < 0 ||
           options->node >= options->nodes || options->peer_timeout < 0 || options->fanout < 0;
}

static int allocate(struct mpiio_peers *peers)
{
    struct mpiio_peer *self;

    peers->peer = calloc((size_t)peers->peers, sizeof(struct mpiio_peer *));
    self = calloc(1, sizeof(*self));
    /* The memory is reserved in advance, because other nodes would wait forever for a frame that
       cannot be sent. */
    if (peers->peer == NULL || self == NULL || mpiio_queue_reserve(&peers->outbox, OUTBOX) != 0 ||
        mpiio_queue_reserve(&peers->sending, OUTBOX) != 0) {
        free(self);
        return -ENOMEM;
    }
    self->link.fd = -1;
    self->complete = true;
    mpiio_roster_adopt(peers, self, peers->node, peers->host);
    return 0;
}

void mpiio_roster_set_timeout(struct mpiio_peers *peers, int64_t timeout)
{
    peers->timeout = timeout;
    peers->interval = timeout / 4 < INTERVAL ? timeout / 4 + 1 : INTERVAL;
    peers->settle = timeout < SETTLE ? timeout : SETTLE;
}

int mpiio_roster_create(const struct mpiio_peers_options *options, struct mpiio_peers **created)
{
    struct mpiio_peers *peers;
    int error;

    *created = NULL;
    if (are_wrong(options))
        return -EINVAL;
    peers = calloc(1, sizeof(*peers));
    if (peers == NULL)
        return -ENOMEM;
    peers->node = options->node;
    peers->nodes = options->nodes;
    peers->net = options->net;
    peers->fanout = options->fanout != 0 ? options->fanout : MPIIO_TREE_FANOUT;
    mpiio_roster_set_timeout(peers, options->peer_timeout != 0 ? options->peer_timeout
                                                               : MPIIO_PEERS_TIMEOUT);
    peers->events = options->events;
    peers->data = options->data;
    peers->status.dead = -1;
    STAILQ_INIT(&peers->arrivals);
    peers->rounds.missing = mpiio_tree_below(peers->node, peers->nodes, peers->fanout);
    peers->peers = 1 + peers->rounds.missing;
    peers->poll = peers->wake = -1;
    set_host(peers, options->host);
    pthread_mutex_init(&peers->lock, NULL);
    pthread_cond_init(&peers->changed, NULL);
    error = allocate(peers);
    if (error != 0)
        mpiio_roster_free(peers);
    else
        *created = peers;
    return error;
}
