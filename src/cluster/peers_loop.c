/* SPDX-License-Identifier: MIT */
#include "peers_loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coordinator.h"
#include "greeting.h"
#include "member.h"
#include "renewal.h"

#define EVENTS 64
/* ms to let the others read the last word before the connections are closed. */
#define LINGER 500

static void free_dead(struct mpiio_peers *peers)
{
    struct mpiio_peer *peer;

    while ((peer = peers->dead) != NULL) {
        peers->dead = peer->next;
        free(peer);
    }
}

static void lose(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    if (peers->leaving != MPIIO_PEERS_JOINING) /* all others leave, too */
        return;
    if (peers->node == 0)
        mpiio_coordinator_lost(peers, peer, why);
    else
        mpiio_member_lost(peers, why);
}

/* Sees to connections that have failed, also those that do while it is told of others. */
static void lose_broken(struct mpiio_peers *peers)
{
    char why[128];

    while (peers->broken) {
        peers->broken = false;
        for (int i = 0; i < peers->peers; i++) {
            struct mpiio_peer *peer = peers->peer[i];

            if (peer == NULL || peer->link.fd < 0 || peer->link.error == 0)
                continue;
            /* Reset: its process ended without having read all. */
            if (peer->link.error == -ENOTCONN || peer->link.error == -ECONNRESET)
                snprintf(why, sizeof(why), "its connection has ended");
            else if (peer->link.error == -EPROTO)
                snprintf(why, sizeof(why), "it said what cannot be understood");
            else if (peer->link.error == -ENOBUFS)
                snprintf(why, sizeof(why), "it does not take what it is sent");
            else
                snprintf(why, sizeof(why), "connection: %s", strerror(-peer->link.error));
            lose(peers, peer, why);
        }
    }
}

/*
 * Whoever was not able to listen does not miss others' words. It may have been stopped anywhere:
 * so this is due whenever their silence is looked at.
 */
static void note_absence(struct mpiio_peers *peers, int64_t now)
{
    int64_t gap = now - peers->looked;

    if (gap > peers->interval + peers->timeout / 4) {
        peers->attentive = now;
        peers->absence = peers->status.state == MPIIO_PEERS_TOGETHER ? gap : 0;
    }
    peers->looked = now;
}

static void lose_silent(struct mpiio_peers *peers, int64_t now)
{
    char why[128];

    note_absence(peers, now);
    for (int i = 0; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];
        int64_t heard;

        if (peer == NULL || peer->link.fd < 0)
            continue;
        heard = atomic_load(&peer->link.heard);
        if (now - (heard > peers->attentive ? heard : peers->attentive) <= peers->timeout)
            continue;
        snprintf(why, sizeof(why), "not heard of for %.1f s", (double)(now - heard) / 1000);
        lose(peers, peer, why);
    }
}

static void beat(struct mpiio_peers *peers, int64_t now)
{
    if (now < peers->beat)
        return;
    peers->beat = now + peers->interval;
    mpiio_member_beat(peers);
    for (int i = 0; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];

        if (peer == NULL || peer->link.fd < 0)
            continue;
        mpiio_renewal_beat(peers, peer);
    }
    mpiio_renewal_update(peers);
    if (peers->node == 0)
        mpiio_greet_expire(peers, now);
    lose_silent(peers, now);
}

/* Handles the frames that have come in. */
static void receive(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    struct mpiio_peer_frame frame;
    int error;

    if (peers->node != 0) {
        error = mpiio_member_receive(peers, &peer->link.in, peer->link.error != 0);
    } else {
        while ((error = mpiio_connection_next(&peer->link, &frame)) == 1) {
            error = mpiio_coordinator_receive(peers, peer, &frame);
            if (error != 0)
                break;
        }
    }
    if (error < 0)
        peer->link.error = error;
    peers->broken = peers->broken || peer->link.error != 0;
}

static void serve(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    bool more = peer->link.fd >= 0;

    mpiio_connection_flush(&peer->link);
    while (more) {
        more = mpiio_connection_fill(&peer->link);
        if (peer->node < 0)
            mpiio_greeted(peers, peer);
        if (peer->node >= 0)
            receive(peers, peer);
        more = more && peer->link.error == 0 && peers->leaving == MPIIO_PEERS_JOINING;
    }
}

/* What this node says to the coordinator: to itself, or on its way. */
static void send_outbox(struct mpiio_peers *peers, struct mpiio_queue *outbox)
{
    struct mpiio_peer *peer = peers->peer[0];
    struct mpiio_peer_frame frame;
    ssize_t length;

    if (peers->node != 0) {
        mpiio_connection_put(&peer->link, mpiio_queue_first(outbox), mpiio_queue_size(outbox));
        peers->broken = peers->broken || peer->link.error != 0;
        return;
    }
    while (mpiio_queue_size(outbox) != 0) {
        length =
            mpiio_peer_frame_decode(mpiio_queue_first(outbox), mpiio_queue_size(outbox), &frame);
        mpiio_coordinator_receive(peers, peer, &frame);
        mpiio_queue_drop(outbox, (size_t)length);
    }
}

/* Carries over what this node's own threads, and node 0 to itself, have said, until all is said. */
static void exchange(struct mpiio_peers *peers)
{
    struct mpiio_queue *outbox = &peers->sending, empty;

    do {
        pthread_mutex_lock(&peers->lock);
        empty = *outbox;
        *outbox = peers->outbox;
        peers->outbox = empty;
        if (peers->stop && peers->leaving == MPIIO_PEERS_JOINING)
            peers->leaving = MPIIO_PEERS_STOPPED;
        pthread_mutex_unlock(&peers->lock);
        if (mpiio_queue_size(outbox) != 0)
            send_outbox(peers, outbox);
        else if (mpiio_queue_size(&peers->inbox) == 0)
            break;
        mpiio_queue_drop(outbox, mpiio_queue_size(outbox));
        peers->inbox_failed |= mpiio_member_receive(peers, &peers->inbox, false) != 0;
    } while (peers->leaving == MPIIO_PEERS_JOINING && !peers->inbox_failed);
    if (peers->inbox_failed && !peers->member.degraded)
        mpiio_member_lost(peers, strerror(ENOMEM));
}

static int time_to_wait(const struct mpiio_peers *peers)
{
    int64_t next = peers->beat, now = mpiio_clock();

    if (peers->node == 0)
        next = mpiio_coordinator_next(peers, next);
    if (peers->member.degraded && peers->member.go_before < next)
        next = peers->member.go_before;
    return next <= now ? 0 : (int)(next - now);
}

static void handle(struct mpiio_peers *peers, const struct epoll_event *events, int count)
{
    uint64_t ignored;

    for (int i = 0; i < count; i++) {
        void *owner = events[i].data.ptr;

        if (owner == peers)
            mpiio_greet(peers);
        else if (owner != &peers->wake)
            serve(peers, owner);
        else if (read(peers->wake, &ignored, sizeof(ignored)) < 0)
            continue;
    }
    if (peers->coordinator.waiting) /* there may be room now */
        mpiio_greet(peers);
}

/* Lets the last word arrive: closing at once could make a peer lose what it has not read. */
static void linger(struct mpiio_peers *peers)
{
    struct epoll_event events[EVENTS];
    int64_t end = mpiio_clock() + LINGER;
    int open = 1;

    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i] != NULL && peers->peer[i]->link.fd >= 0)
            shutdown(peers->peer[i]->link.fd, SHUT_WR);
    while (open != 0 && mpiio_clock() < end) {
        open = 0;
        for (int i = 0; i < peers->peers; i++) {
            struct mpiio_peer *peer = peers->peer[i];

            if (peer == NULL || peer->link.fd < 0)
                continue;
            mpiio_connection_fill(&peer->link);
            mpiio_queue_free(&peer->link.in);
            if (peer->link.error != 0)
                mpiio_roster_close(peers, peer);
            else
                open++;
        }
        if (open != 0)
            epoll_wait(peers->poll, events, EVENTS, 20);
    }
}

static void finish(struct mpiio_peers *peers)
{
    if (peers->leaving != MPIIO_PEERS_STOPPED)
        linger(peers);
    mpiio_greet_end(peers);
    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i] != NULL)
            mpiio_roster_close(peers, peers->peer[i]);
    free_dead(peers);
    mpiio_roster_set_state(peers, peers->leaving);
    if (peers->leaving == MPIIO_PEERS_ALONE) {
        mpiio_roster_log(peers, "degraded: going on alone");
        peers->events.on_alone(peers->data);
    } else if (peers->leaving == MPIIO_PEERS_ENDED) {
        peers->events.on_end(peers->data);
    }
    pthread_mutex_lock(&peers->lock);
    peers->ended = true;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
}

/* A round of the loop: what has happened, then what time has come for. */
static void turn(struct mpiio_peers *peers, const struct epoll_event *events, int count)
{
    int64_t now = mpiio_clock();

    note_absence(peers, now);
    handle(peers, events, count);
    lose_broken(peers);
    exchange(peers);
    if (peers->node == 0)
        mpiio_coordinator_tick(peers, mpiio_clock());
    mpiio_member_tick(peers, mpiio_clock());
    beat(peers, mpiio_clock());
    lose_broken(peers);
    exchange(peers);
    free_dead(peers);
    if (peers->absence != 0)
        mpiio_roster_log(peers, "this process did not run for %.1f s",
                         (double)peers->absence / 1000);
    peers->absence = 0;
}

void *mpiio_peers_run(void *data)
{
    struct mpiio_peers *peers = data;
    struct epoll_event events[EVENTS];
    int count = 0;

    peers->looked = peers->attentive = mpiio_clock();
    peers->beat = peers->looked;
    if (peers->node == 0 && peers->coordinator.missing == 0)
        mpiio_coordinator_ready(peers);
    else if (peers->node != 0)
        receive(peers, peers->peer[0]); /* what came with the greeting */
    for (;;) {
        turn(peers, events, count);
        if (peers->leaving != MPIIO_PEERS_JOINING)
            break;
        count = epoll_wait(peers->poll, events, EVENTS, time_to_wait(peers));
        count = count < 0 ? 0 : count;
    }
    finish(peers);
    return NULL;
}
