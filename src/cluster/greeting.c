/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "address.h"
#include "tree.h"

/* Joining. */

static void tell_above(struct mpiio_peers *peers, bool complete)
{
    mpiio_branch_pass_on(peers, &(struct mpiio_peer_frame){.type = MPIIO_JOINED, .flag = complete});
}

void mpiio_joining_look(struct mpiio_peers *peers)
{
    if (peers->rounds.missing != 0)
        return;
    if (peers->node == 0)
        mpiio_joining_ready(peers);
    else
        tell_above(peers, true);
}

void mpiio_joining_on_joined(struct mpiio_peers *peers, struct mpiio_peer *peer, bool complete)
{
    if (peer->complete == complete)
        return;
    peer->complete = complete;
    peers->rounds.missing += complete ? -1 : 1;
    if (complete)
        mpiio_joining_look(peers);
    else if (peers->rounds.missing == 1)
        tell_above(peers, false);
}

void mpiio_joining_left(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    mpiio_roster_log(peers, MPIIO_LOG_ERROR, "node %d (%s) left before all had joined: %s",
                     peer->node, peer->host, why);
    mpiio_roster_close(peers, peer);
    mpiio_joining_on_joined(peers, peer, false);
}

/* One that has left again, when it was not known above yet, is dead. */
int mpiio_joining_ready(struct mpiio_peers *peers)
{
    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i] == NULL)
            return -EPROTO;
    /* First of all here: the others may have something to say as soon as they know. */
    mpiio_roster_set_together(peers);
    peers->beat = 0;
    for (int i = 1; i < peers->peers; i++)
        if (mpiio_branch_lives(peers, peers->peer[i]))
            mpiio_branch_say(peers, peers->peer[i],
                             &(struct mpiio_peer_frame){.type = MPIIO_READY});
    for (int i = 1; i < peers->peers; i++)
        if (!mpiio_branch_lives(peers, peers->peer[i]))
            mpiio_degrading_lost_below(peers, peers->peer[i], "its connection has ended");
    return 0;
}

/* Greetings. */

/* Connections at a time that may not have proved themselves yet; more wait in the kernel. */
#define PENDING_MAX 64
/* Bytes that such a one may send: a frame to join with fits. */
#define PENDING_BYTES 512
/* ms for it to do so. */
#define PENDING_TIME 5000
/* ms for one address to be connected, and for it then to answer, before the next is tried. */
#define DIAL_TIME  1000
#define SHAKE_TIME 5000
/* ms between two rounds through the addresses. */
#define DIAL_PAUSE 50

static void unlist(struct mpiio_peers *peers, const struct mpiio_peer *peer)
{
    struct mpiio_peer **at = &peers->greetings.pending;

    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    peers->greetings.pending_count--;
}

static void drop_peer(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    unlist(peers, peer);
    mpiio_roster_bury(peers, peer);
}

static void ask_to_join(struct mpiio_peers *peers, int fd)
{
    struct mpiio_peer_frame hello = {.type = MPIIO_HELLO, .number = MPIIO_PROTOCOL};
    struct mpiio_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL) {
        close(fd);
        return;
    }
    peer->node = -1;
    peer->expires = mpiio_clock() + PENDING_TIME;
    peer->next = peers->greetings.pending;
    peers->greetings.pending = peer;
    peers->greetings.pending_count++;
    if (mpiio_connection_open(&peer->link, fd) != 0 ||
        mpiio_random(peer->nonce, sizeof(peer->nonce)) != 0 ||
        mpiio_roster_watch(peers, fd, peer) != 0) {
        drop_peer(peers, peer);
        return;
    }
    memcpy(hello.nonce, peer->nonce, sizeof(hello.nonce));
    mpiio_connection_send(&peer->link, &hello);
}

void mpiio_greet(struct mpiio_peers *peers)
{
    struct mpiio_greetings *self = &peers->greetings;
    int fd;

    self->waiting = true;
    while (self->fd >= 0 && self->pending_count < PENDING_MAX) {
        fd = accept4(self->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            ask_to_join(peers, fd);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            self->waiting = false;
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return; /* out of descriptors or memory: there may be some later */
        }
    }
}

/* 0, or why the connection may not join. */
static int check_greeting(const struct mpiio_peers *peers, const struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame)
{
    struct mpiio_claim claim = {.by = frame->node, .node = frame->node, .nodes = frame->nodes};

    if (frame->number != MPIIO_PROTOCOL)
        return -EPROTONOSUPPORT;
    memcpy(claim.asked, peer->nonce, sizeof(claim.asked));
    memcpy(claim.answered, frame->nonce, sizeof(claim.answered));
    if (mpiio_handshake_proof(peers->token, &claim) != frame->proof)
        return -EACCES;
    /* All are there: that was heard just now, and new connections are not closed yet. */
    if (peers->status.state != MPIIO_PEERS_JOINING)
        return -ENOTCONN;
    return frame->nodes == (uint32_t)peers->nodes && frame->node != 0 &&
                   mpiio_tree_above((int)frame->node, peers->fanout) == peers->node
               ? 0
               : -EINVAL;
}

static void welcome(struct mpiio_peers *peers, struct mpiio_peer *peer,
                    const struct mpiio_peer_frame *join)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_WELCOME, .time = (uint32_t)peers->timeout};
    struct mpiio_claim claim = {
        .by = (uint32_t)peers->node, .node = join->node, .nodes = join->nodes};
    struct mpiio_peer *before = peers->peer[(int)join->node - peers->fanout * peers->node];

    memcpy(claim.asked, peer->nonce, sizeof(claim.asked));
    memcpy(claim.answered, join->nonce, sizeof(claim.answered));
    memcpy(frame.host, peers->host, sizeof(frame.host));
    frame.proof = mpiio_handshake_proof(peers->token, &claim);
    unlist(peers, peer);
    /* It tries again where it did not get our welcome in time: the new connection counts. */
    if (before != NULL) {
        mpiio_joining_on_joined(peers, before, false);
        mpiio_roster_bury(peers, before);
    }
    mpiio_roster_adopt(peers, peer, (int)join->node, join->host);
    mpiio_connection_send(&peer->link, &frame);
    peers->broken = peers->broken || peer->link.error != 0;
}

void mpiio_greeted(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    struct mpiio_peer_frame frame;
    struct mpiio_peer_frame refused = {.type = MPIIO_REFUSED};
    int got = mpiio_connection_next(&peer->link, &frame);

    if (got == 1 && frame.type == MPIIO_JOIN) {
        refused.status = check_greeting(peers, peer, &frame);
        if (refused.status == 0) {
            welcome(peers, peer, &frame);
            return;
        }
        mpiio_roster_log(peers, MPIIO_LOG_WARNING, "refused to let a node join: %s",
                         strerror(-refused.status));
        mpiio_connection_send(&peer->link, &refused);
    } else if (got == 0 && peer->link.error == 0 &&
               mpiio_queue_size(&peer->link.in) <= PENDING_BYTES) {
        return;
    }
    drop_peer(peers, peer);
}

void mpiio_greet_expire(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_peer *next;

    for (struct mpiio_peer *peer = peers->greetings.pending; peer != NULL; peer = next) {
        next = peer->next;
        if (now >= peer->expires)
            drop_peer(peers, peer);
    }
}

void mpiio_greet_end(struct mpiio_peers *peers)
{
    struct mpiio_greetings *self = &peers->greetings;

    while (self->pending != NULL)
        drop_peer(peers, self->pending);
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

/* Waits for a frame of one of two types. */
static int hear(struct mpiio_connection *link, enum mpiio_peer_frame_type type,
                enum mpiio_peer_frame_type other, int64_t end, struct mpiio_peer_frame *frame)
{
    int error;

    for (;;) {
        error = mpiio_connection_next(link, frame);
        if (error > 0)
            return frame->type == type || frame->type == other ? 0 : -EPROTO;
        if (error == 0)
            error = link->error;
        if (error == 0)
            error = mpiio_address_wait(link->fd, POLLIN, end - mpiio_clock());
        if (error != 0)
            return error;
        mpiio_connection_fill(link);
    }
}

/* The greeting, as the one who joins. */
static int shake(struct mpiio_peers *peers, struct mpiio_connection *link, int64_t end,
                 struct mpiio_peer_frame *frame)
{
    struct mpiio_claim claim = {.by = (uint32_t)peers->node,
                                .node = (uint32_t)peers->node,
                                .nodes = (uint32_t)peers->nodes};
    struct mpiio_peer_frame join = {.type = MPIIO_JOIN,
                                    .number = MPIIO_PROTOCOL,
                                    .node = (uint32_t)peers->node,
                                    .nodes = (uint32_t)peers->nodes};
    int error = hear(link, MPIIO_HELLO, MPIIO_HELLO, end, frame);

    if (error != 0)
        return error;
    if (frame->number != MPIIO_PROTOCOL)
        return frame->number >> 32 == MPIIO_PROTOCOL >> 32 ? -EPROTONOSUPPORT : -EPROTO;
    memcpy(claim.asked, frame->nonce, sizeof(claim.asked));
    error = mpiio_random(claim.answered, sizeof(claim.answered));
    if (error != 0)
        return error;
    memcpy(join.nonce, claim.answered, sizeof(join.nonce));
    memcpy(join.host, peers->host, sizeof(join.host));
    join.proof = mpiio_handshake_proof(peers->token_above, &claim);
    mpiio_connection_send(link, &join);
    error = hear(link, MPIIO_WELCOME, MPIIO_REFUSED, end, frame);
    if (error != 0)
        return error;
    if (frame->type == MPIIO_REFUSED)
        return frame->status != 0 ? frame->status : -EPROTO;
    claim.by = (uint32_t)mpiio_tree_above(peers->node, peers->fanout);
    return mpiio_handshake_proof(peers->token_above, &claim) == frame->proof && frame->time > 0
               ? 0
               : -EACCES;
}

/* Takes over fd. */
static int join(struct mpiio_peers *peers, int fd, int64_t end)
{
    struct mpiio_peer_frame frame;
    struct mpiio_peer *peer = calloc(1, sizeof(*peer));
    int error;

    if (peer == NULL) {
        close(fd);
        return -ENOMEM;
    }
    error = mpiio_connection_open(&peer->link, fd);
    if (error == 0)
        error = shake(peers, &peer->link, end, &frame);
    if (error == 0)
        error = mpiio_roster_watch(peers, fd, peer);
    if (error != 0) {
        mpiio_connection_close(&peer->link);
        free(peer);
        return error;
    }
    peers->timeout = frame.time;
    mpiio_roster_adopt(peers, peer, mpiio_tree_above(peers->node, peers->fanout), frame.host);
    return 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int mpiio_greet_join(struct mpiio_peers *peers, const char *addresses, int64_t timeout)
{
    const struct timespec pause = {.tv_nsec = DIAL_PAUSE * 1000000L};
    int64_t end = mpiio_clock() + timeout;
    const char *at = addresses;
    int error = -ETIMEDOUT, refused = 0;
    bool gone = true; /* nobody listens at the addresses that were tried since the first */

    while (mpiio_clock() < end) {
        int fd = mpiio_address_dial(&peers->local, &at, (int)least(end - mpiio_clock(), DIAL_TIME));

        if (fd == -EINVAL || (fd == -ENOENT && at == addresses))
            return -EINVAL;
        if (fd == -ENOENT) { /* all were tried; another one's refusal does not change */
            if (refused != 0 || gone)
                return refused != 0 ? refused : -ECONNREFUSED;
            gone = true;
            at = addresses;
            nanosleep(&pause, NULL);
            continue;
        }
        gone = gone && fd == -ECONNREFUSED;
        error = fd < 0 ? fd : join(peers, fd, least(end, mpiio_clock() + SHAKE_TIME));
        if (error == 0)
            return 0;
        if (error == -EACCES || error == -EINVAL || error == -EPROTONOSUPPORT)
            refused = error;
    }
    return refused != 0 ? refused : error;
}
