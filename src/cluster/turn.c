/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The turns of the loop: handle the frames that have arrived and the time that has passed. All
   messages of a node are sent from here. Only its connections and clocks make system calls.
   Called by the thread only. */

/* Frames that have arrived go to the parts that handle them. */

static mpiio_from_below *const from_below[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_JOINED] = mpiio_joining_on_joined,
    [MPIIO_ASK] = mpiio_epochs_on_ask,
    [MPIIO_DONE] = mpiio_epochs_on_done,
    [MPIIO_CHANGE] = mpiio_changes_on_change,
    [MPIIO_VOTE] = mpiio_changes_on_vote,
    [MPIIO_SETTLED] = mpiio_changes_on_settled,
    [MPIIO_UNMOUNT_ALL] = mpiio_unmounting_on_all,
    [MPIIO_UNMOUNTED] = mpiio_unmounting_on_unmounted,
    [MPIIO_GOODBYE] = mpiio_unmounting_on_goodbye,
    [MPIIO_LOST] = mpiio_degrading_on_lost,
    [MPIIO_FENCED] = mpiio_degrading_on_fenced,
};

static void on_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    if (frame->flag)
        mpiio_unmounting_result(peers, frame);
    else
        mpiio_changes_result(peers, frame);
}

static mpiio_from_above *const from_above[MPIIO_PEER_FRAME_TYPES] = {
    [MPIIO_EPOCH] = mpiio_epochs_begin,   [MPIIO_FINISHED] = mpiio_branch_broadcast,
    [MPIIO_PREPARE] = mpiio_changes_pass, [MPIIO_SETTLE] = mpiio_changes_pass,
    [MPIIO_RESULT] = on_result,           [MPIIO_UNMOUNT] = mpiio_unmounting_begin,
    [MPIIO_END] = mpiio_unmounting_end,   [MPIIO_DEGRADED] = mpiio_degrading_begin,
    [MPIIO_GO] = mpiio_degrading_go,
};

/* Handles a frame from the node above, from a node below, or from this node itself. Returns 0 or
   -EPROTO. */
static int hear(struct mpiio_peers *peers, struct mpiio_peer *peer,
                const struct mpiio_peer_frame *frame)
{
    bool up = peer != peers->above;
    enum mpiio_frame_rule rule = mpiio_frame_rule(frame->type, up, peers->status.state);

    if (rule == MPIIO_FRAME_WRONG)
        return -EPROTO;
    if (frame->type == MPIIO_BEAT)
        return mpiio_renewal_receive(peers, peer, frame);
    if (rule != MPIIO_FRAME_DUE || peers->rounds.ending)
        return 0;
    /* Only these two can turn out to be wrong while they are handled. */
    if (frame->type == MPIIO_PROGRESS)
        return mpiio_epochs_on_progress(peers, peer, frame);
    if (frame->type == MPIIO_READY)
        return mpiio_joining_ready(peers);
    if (up)
        from_below[frame->type](peers, peer, frame);
    else
        from_above[frame->type](peers, frame);
    return 0;
}

static bool begins_work(enum mpiio_peer_frame_type type)
{
    return type == MPIIO_EPOCH || type == MPIIO_PREPARE || type == MPIIO_UNMOUNT;
}

/* Returns true if a frame in queue says that this node must be fenced. */
static bool is_fenced_by(const struct mpiio_queue *queue)
{
    struct mpiio_peer_frame frame;
    size_t at = 0;
    ssize_t length;

    for (; at < mpiio_queue_size(queue); at += (size_t)length) {
        length = mpiio_peer_frame_decode(mpiio_queue_first(queue) + at,
                                         mpiio_queue_size(queue) - at, &frame);
        if (length <= 0)
            return false;
        if (frame.type == MPIIO_DEGRADED)
            return true;
    }
    return false;
}

/*
 * From the node above, a process that was stopped reads everything at once: the frames that it
 * missed, and the frame that declares it failed or the end of the connection. Then it skips the
 * frames that begin new work.
 */
void mpiio_turn_hear(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    struct mpiio_queue *queue = &peer->link.in;
    bool lost = peer == peers->above && (peer->link.error != 0 || is_fenced_by(queue));
    struct mpiio_peer_frame frame;
    int error = 0;

    while (error == 0 && peers->leaving == MPIIO_PEERS_JOINING &&
           (error = mpiio_queue_next(queue, &frame)) == 1)
        error = lost && begins_work(frame.type) ? 0 : hear(peers, peer, &frame);
    if (error != 0)
        peer->link.error = error;
    peers->broken = peers->broken || peer->link.error != 0;
}

/* Connections that have failed. */

static void lose(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    bool joining = peers->status.state == MPIIO_PEERS_JOINING;

    if (peers->leaving != MPIIO_PEERS_JOINING) /* the others leave, too */
        return;
    if (peers->rounds.ending) /* as expected */
        mpiio_roster_close(peers, peer);
    else if (joining && peer == peers->above) {
        mpiio_roster_log(peers, MPIIO_LOG_ERROR, "node %d (%s) is lost before all have joined: %s",
                         peer->node, peer->host, why);
        peers->leaving = MPIIO_PEERS_STOPPED;
    } else if (joining) {
        mpiio_joining_left(peers, peer, why);
    } else if (peer == peers->above) {
        mpiio_degrading_lost_above(peers, why);
    } else {
        mpiio_degrading_lost_below(peers, peer, why);
    }
}

static void lose_if_broken(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    char why[128];

    if (peer == NULL || peer->link.error == 0)
        return;
    /* A reset means that the peer's process ended without having read everything. */
    if (peer->link.error == -ENOTCONN || peer->link.error == -ECONNRESET)
        snprintf(why, sizeof(why), "its connection has ended");
    else if (peer->link.error == -EPROTO)
        snprintf(why, sizeof(why), "it sent an invalid message");
    else if (peer->link.error == -ENOBUFS)
        snprintf(why, sizeof(why), "it does not receive what it is sent");
    else
        snprintf(why, sizeof(why), "connection: %s", strerror(-peer->link.error));
    lose(peers, peer, why);
}

/* Handles connections that have failed, including those that fail while others are being
   informed. */
static void lose_broken(struct mpiio_peers *peers)
{
    while (peers->broken) {
        peers->broken = false;
        for (int i = 0; i < peers->peers; i++)
            lose_if_broken(peers, mpiio_roster_linked(peers, i));
    }
}

/* Detects that this node was not running: then the silence of its peers in the meantime must not
   count. The process may have been stopped at any point, so this is called before each check for
   silence. */
void mpiio_turn_look(struct mpiio_peers *peers)
{
    int64_t now = mpiio_clock(), gap = now - peers->looked;

    if (gap > peers->interval + peers->timeout / 4) {
        peers->attentive = now;
        peers->absence = peers->status.state == MPIIO_PEERS_TOGETHER ? gap : 0;
    }
    peers->looked = now;
}

static void lose_if_silent(struct mpiio_peers *peers, struct mpiio_peer *peer, int64_t now)
{
    char why[128];
    int64_t heard;

    if (peer == NULL)
        return;
    heard = atomic_load(&peer->link.heard);
    if (now - vs_max(heard, peers->attentive) <= peers->timeout)
        return;
    snprintf(why, sizeof(why), "not heard of for %.1f s", (double)(now - heard) / 1000);
    lose(peers, peer, why);
}

static void lose_silent(struct mpiio_peers *peers, int64_t now)
{
    mpiio_turn_look(peers);
    for (int i = 0; i < peers->peers; i++)
        lose_if_silent(peers, mpiio_roster_linked(peers, i), now);
}

static void answer_beat(struct mpiio_peers *peers)
{
    peers->beat_answer = false;
    mpiio_epochs_beat(peers);
    mpiio_renewal_beat_above(peers);
}

/*
 * Sends heartbeats. They go down from node 0: each node forwards a heartbeat at once, and answers
 * it as soon as the nodes below have answered. So promises are as fresh far from node 0 as near it.
 * If none comes from above, or a node below does not answer, this node sends its own heartbeats
 * anyway: the others must not declare it failed.
 */
static void beat(struct mpiio_peers *peers, int64_t now)
{
    bool heard = peers->beat_heard;

    if (!heard && now < peers->beat)
        return;
    if (peers->beat_answer || (!heard && peers->node != 0))
        answer_beat(peers);
    peers->beat_answer = heard;
    peers->beat_heard = false;
    peers->beat = now + peers->interval + (peers->node != 0 ? peers->interval / 4 : 0);
    if (peers->node == 0)
        mpiio_epochs_beat(peers);
    peers->beat_open = true;
    mpiio_renewal_beat_below(peers);
    mpiio_renewal_update(peers);
    lose_silent(peers, now);
}

/* Answers the node above once all nodes below have answered the last heartbeat. */
static void be_answered(struct mpiio_peers *peers)
{
    if (peers->beats_awaited != 0 || !peers->beat_open)
        return;
    peers->beat_open = false;
    if (peers->beat_answer)
        answer_beat(peers);
    mpiio_renewal_update(peers);
    /* Send the second heartbeat at once, so that no node waits an interval for its first lease. */
    if (peers->node == 0 && !peers->hurried && peers->status.state == MPIIO_PEERS_TOGETHER) {
        peers->hurried = true;
        peers->beat = 0;
    }
}

/* Handles the frames that this node's other threads have queued, and those that its events queue
   meanwhile, until there are none left. */
static void exchange(struct mpiio_peers *peers)
{
    struct mpiio_queue *outbox = &peers->sending, empty;
    struct mpiio_peer_frame frame;
    bool any;

    do {
        pthread_mutex_lock(&peers->lock);
        empty = *outbox;
        *outbox = peers->outbox;
        peers->outbox = empty;
        if (peers->stop && peers->leaving == MPIIO_PEERS_JOINING)
            peers->leaving = MPIIO_PEERS_STOPPED;
        pthread_mutex_unlock(&peers->lock);
        any = mpiio_queue_size(outbox) != 0;
        while (mpiio_queue_next(outbox, &frame) == 1)
            hear(peers, peers->peer[0], &frame);
    } while (any && peers->leaving == MPIIO_PEERS_JOINING);
}

void mpiio_turn_begin(struct mpiio_peers *peers)
{
    peers->looked = peers->attentive = mpiio_clock();
    peers->beat = peers->looked;
    mpiio_joining_look(peers);
}

bool mpiio_turn(struct mpiio_peers *peers)
{
    lose_broken(peers);
    exchange(peers);
    mpiio_changes_tick(peers, mpiio_clock());
    mpiio_epochs_tick(peers, mpiio_clock());
    mpiio_degrading_tick(peers, mpiio_clock());
    beat(peers, mpiio_clock());
    be_answered(peers);
    lose_broken(peers);
    exchange(peers);
    if (peers->absence != 0)
        mpiio_roster_log(peers, MPIIO_LOG_WARNING, "this process did not run for %.1f s",
                         (double)peers->absence / 1000);
    peers->absence = 0;
    return peers->leaving == MPIIO_PEERS_JOINING;
}

int64_t mpiio_turn_next(const struct mpiio_peers *peers)
{
    return mpiio_degrading_next(peers, mpiio_changes_next(peers, peers->beat));
}

void mpiio_turn_end(struct mpiio_peers *peers)
{
    /* Revoke the lease first: others conclude from the end of a connection that this daemon is
       fenced (has_ended in degrading.c). */
    if (peers->leaving == MPIIO_PEERS_STOPPED)
        peers->events.on_lease(peers->data, 0);
    for (int i = 0; i < peers->peers; i++)
        if (mpiio_roster_linked(peers, i) != NULL)
            mpiio_roster_close(peers, mpiio_roster_linked(peers, i));
    mpiio_roster_set_state(peers, peers->leaving);
    if (peers->leaving == MPIIO_PEERS_ALONE) {
        mpiio_roster_log(peers, MPIIO_LOG_WARNING, "degraded: going on alone");
        peers->events.on_alone(peers->data);
    } else if (peers->leaving == MPIIO_PEERS_ENDED) {
        peers->events.on_end(peers->data);
    }
}
