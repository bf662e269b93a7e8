/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

void mpiio_roster_log(struct mpiio_peers *peers, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    peers->events.log(peers->data, line);
}

void mpiio_roster_wake(struct mpiio_peers *peers)
{
    const uint64_t one = 1;

    /* It cannot fail but where it is awake already. */
    if (write(peers->wake, &one, sizeof(one)) < 0)
        return;
}

int mpiio_roster_tell_locked(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    enum mpiio_peers_state state = peers->status.state;
    int error;

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
    int error;

    pthread_mutex_lock(&peers->lock);
    error = mpiio_roster_tell_locked(peers, frame);
    pthread_mutex_unlock(&peers->lock);
    return error;
}

void mpiio_roster_set_state(struct mpiio_peers *peers, enum mpiio_peers_state state)
{
    pthread_mutex_lock(&peers->lock);
    peers->status.state = state;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_roster_set_together(struct mpiio_peers *peers)
{
    mpiio_roster_set_state(peers, MPIIO_PEERS_TOGETHER);
    mpiio_roster_log(peers, "all %d nodes are connected", peers->nodes);
}

void mpiio_roster_set_degraded(struct mpiio_peers *peers, int node, const char *host,
                               const char *why)
{
    struct mpiio_peers_status *status = &peers->status;

    if (status->state != MPIIO_PEERS_TOGETHER)
        return;
    pthread_mutex_lock(&peers->lock);
    status->dead = node;
    snprintf(status->dead_host, sizeof(status->dead_host), "%s", host);
    snprintf(status->why, sizeof(status->why), "%s", why);
    pthread_mutex_unlock(&peers->lock);
    mpiio_roster_set_state(peers, MPIIO_PEERS_DEGRADING);
}

int mpiio_roster_watch(struct mpiio_peers *peers, int fd, void *owner)
{
    /* Edges: what there is is always read, and sent, to the end. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = owner};

    return epoll_ctl(peers->poll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void mpiio_roster_adopt(struct mpiio_peers *peers, struct mpiio_peer *peer, int node,
                        const char *host)
{
    pthread_mutex_lock(&peers->lock);
    peer->node = node;
    peer->connected = true;
    snprintf(peer->host, sizeof(peer->host), "%s", host);
    peers->peer[node] = peer;
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_roster_close(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    mpiio_connection_close(&peer->link);
    pthread_mutex_lock(&peers->lock);
    peer->connected = false;
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_roster_bury(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    mpiio_roster_close(peers, peer);
    pthread_mutex_lock(&peers->lock);
    if (peer->node >= 0 && peers->peer[peer->node] == peer)
        peers->peer[peer->node] = NULL;
    pthread_mutex_unlock(&peers->lock);
    peer->next = peers->dead;
    peers->dead = peer;
}
