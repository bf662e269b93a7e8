/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* The thread that serves the connections of a node. */

#define EVENTS 64
/* ms in which the peers can read the last frames before the connections are closed */
#define LINGER 500

static void serve(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    bool more = peer->link.fd >= 0;

    mpiio_connection_flush(&peer->link);
    while (more) {
        more = mpiio_connection_fill(&peer->link);
        mpiio_turn_hear(peers, peer);
        more = more && peer->link.error == 0 && peers->leaving == MPIIO_PEERS_JOINING;
    }
}

static int time_to_wait(const struct mpiio_peers *peers)
{
    int64_t next = mpiio_turn_next(peers), now = mpiio_clock();

    return next <= now ? 0 : (int)(next - now);
}

static void handle(struct mpiio_peers *peers, const struct epoll_event *events, int count)
{
    uint64_t ignored;

    for (int i = 0; i < count; i++) {
        void *owner = events[i].data.ptr;

        if (owner != &peers->wake)
            serve(peers, owner);
        else if (read(peers->wake, &ignored, sizeof(ignored)) < 0)
            continue;
    }
    mpiio_greet(peers);
}

/* Reads and drops what still arrives. Returns false once the stream has ended. */
static bool outlast(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    if (peer == NULL || peer->link.fd < 0)
        return false;
    mpiio_connection_fill(&peer->link);
    mpiio_queue_free(&peer->link.in);
    if (peer->link.error == 0)
        return true;
    mpiio_roster_close(peers, peer);
    return false;
}

static void shut(struct mpiio_peer *peer)
{
    if (peer != NULL && peer->link.fd >= 0)
        shutdown(peer->link.fd, SHUT_WR);
}

/* Lets the last frames arrive: closing at once could make a peer lose data that it has not read. */
static void linger(struct mpiio_peers *peers)
{
    struct epoll_event events[EVENTS];
    int64_t end = mpiio_clock() + LINGER;
    int open = 1;

    shut(peers->above);
    for (int i = 1; i < peers->peers; i++)
        shut(peers->peer[i]);
    while (open != 0 && mpiio_clock() < end) {
        open = outlast(peers, peers->above);
        for (int i = 1; i < peers->peers; i++)
            open += outlast(peers, peers->peer[i]);
        if (open != 0)
            epoll_wait(peers->poll, events, EVENTS, 20);
    }
}

static void finish_loop(struct mpiio_peers *peers)
{
    if (peers->leaving != MPIIO_PEERS_STOPPED)
        linger(peers);
    mpiio_turn_end(peers);
    pthread_mutex_lock(&peers->lock);
    peers->ended = true;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
    mpiio_greet_end(peers);
}

void *mpiio_peers_run(void *data)
{
    struct mpiio_peers *peers = data;
    struct epoll_event events[EVENTS];
    int count = 0;

    mpiio_turn_begin(peers);
    while (mpiio_turn(peers)) {
        count = epoll_wait(peers->poll, events, EVENTS, time_to_wait(peers));
        mpiio_turn_look(peers);
        handle(peers, events, count < 0 ? 0 : count);
    }
    finish_loop(peers);
    return NULL;
}
