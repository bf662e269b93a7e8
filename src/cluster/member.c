/* SPDX-License-Identifier: MIT */
#include "member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame_rules.h"
#include "renewal.h"
#include "viewspec/line.h"

/*
 * Fences this node. Its engine goes first, before anything else is done or said: it must not write
 * over what daemons store once they are alone.
 */
static void degrade(struct mpiio_peers *peers, int node, const char *host, const char *why)
{
    struct mpiio_member *member = &peers->member;
    uint64_t change = member->change;

    if (member->degraded)
        return;
    member->degraded = true;
    mpiio_renewal_revoke(peers);
    mpiio_roster_set_degraded(peers, node, host, why);
    peers->events.on_degraded(peers->data, node, host, why);
    mpiio_roster_log(peers, "degraded: node %d (%s): %s", node, host, why);
    member->change = 0;
    if (change != 0)
        peers->events.on_settled(peers->data, change, member->change_value, false);
    mpiio_roster_tell(peers, &(struct mpiio_peer_frame){.type = MPIIO_FENCED});
    member->go_before = mpiio_clock() + peers->timeout + peers->settle;
}

void mpiio_member_lost(struct mpiio_peers *peers, const char *why)
{
    struct mpiio_member *member = &peers->member;
    struct mpiio_peer *peer = peers->peer[0];
    int64_t alone;

    if (peers->status.state == MPIIO_PEERS_JOINING) {
        mpiio_roster_log(peers, "node 0 (%s) is lost before all have joined: %s", peer->host, why);
        peers->leaving = MPIIO_PEERS_STOPPED;
        return;
    }
    degrade(peers, 0, peer->host, why);
    /* Closed after the fencing: the end of it tells node 0, if it lives, that this engine is gone.
     */
    mpiio_roster_close(peers, peer);
    alone = mpiio_clock() + peers->settle;
    if (alone < member->go_before)
        member->go_before = alone;
}

void mpiio_member_tick(struct mpiio_peers *peers, int64_t now)
{
    if (peers->leaving == MPIIO_PEERS_JOINING && peers->member.degraded &&
        now >= peers->member.go_before)
        peers->leaving = MPIIO_PEERS_ALONE;
}

void mpiio_member_beat(struct mpiio_peers *peers)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_PROGRESS, .number = peers->member.epoch};

    if (frame.number == 0 || peers->member.degraded)
        return;
    peers->events.progress(peers->data, &frame.progress);
    mpiio_roster_tell(peers, &frame);
}

static void on_epoch(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    peers->member.epoch = frame->number;
    /* Before the event: a request made from now on may already be too late for this epoch. */
    pthread_mutex_lock(&peers->lock);
    peers->status.begun = frame->number;
    peers->asked = peers->asked_sync = false;
    pthread_mutex_unlock(&peers->lock);
    peers->events.on_epoch(peers->data, frame->number, frame->flag);
}

static void on_finished(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    peers->member.epoch = 0;
    pthread_mutex_lock(&peers->lock);
    peers->status.finished = frame->number;
    if (frame->flag)
        peers->status.finished_sync = frame->number;
    pthread_mutex_unlock(&peers->lock);
    peers->events.on_finished(peers->data, frame->number, frame->flag, frame->status);
}

static void on_settle(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_member *member = &peers->member;

    if (member->change != frame->number)
        return;
    member->change = 0;
    peers->events.on_settled(peers->data, frame->number, member->change_value, frame->flag);
    mpiio_roster_tell(peers,
                      &(struct mpiio_peer_frame){.type = MPIIO_SETTLED, .number = frame->number});
}

static void on_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_call *call = &peers->call;

    pthread_mutex_lock(&peers->lock);
    /* The result of a call that was given up is for nobody. */
    if (call->busy && !call->done && call->number == frame->number) {
        call->done = true;
        call->status = frame->status;
        call->text = frame->text_size == 0 ? NULL : strndup(frame->text, frame->text_size);
        pthread_cond_broadcast(&peers->changed);
    }
    pthread_mutex_unlock(&peers->lock);
}

static void on_unmount(struct mpiio_peers *peers, bool force)
{
    bool gone;

    pthread_mutex_lock(&peers->lock);
    gone = peers->gone;
    pthread_mutex_unlock(&peers->lock);
    if (gone)
        mpiio_roster_tell(peers, &(struct mpiio_peer_frame){.type = MPIIO_UNMOUNTED});
    else
        peers->events.on_unmount(peers->data, force);
}

static void on_degraded(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    char why[sizeof(peers->status.why)];

    vs_line_copy(why, sizeof(why), frame->text, frame->text_size);
    degrade(peers, (int)frame->node, frame->host, why);
}

/* A frame that is due. */
static void work(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    switch (frame->type) {
    case MPIIO_READY:
        mpiio_roster_set_together(peers);
        break;
    case MPIIO_EPOCH:
        on_epoch(peers, frame);
        break;
    case MPIIO_FINISHED:
        on_finished(peers, frame);
        break;
    case MPIIO_PREPARE:
        peers->member.change = frame->number;
        peers->member.change_value = frame->flag;
        peers->events.on_prepare(peers->data, frame->number, frame->flag);
        break;
    case MPIIO_SETTLE:
        on_settle(peers, frame);
        break;
    case MPIIO_RESULT:
        on_result(peers, frame);
        break;
    case MPIIO_UNMOUNT:
        on_unmount(peers, frame->flag);
        break;
    case MPIIO_END:
        peers->leaving = MPIIO_PEERS_ENDED;
        break;
    case MPIIO_DEGRADED:
        on_degraded(peers, frame);
        break;
    case MPIIO_GO:
        peers->leaving = MPIIO_PEERS_ALONE;
        break;
    default:
        break;
    }
}

/* The state as this member knows it: the coordinator, at node 0, may know of a death already. */
static enum mpiio_peers_state known_state(const struct mpiio_peers *peers)
{
    if (peers->status.state == MPIIO_PEERS_JOINING)
        return MPIIO_PEERS_JOINING;
    return peers->member.degraded ? MPIIO_PEERS_DEGRADING : MPIIO_PEERS_TOGETHER;
}

static int receive(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    enum mpiio_frame_rule rule = mpiio_frame_rule(frame->type, false, known_state(peers));

    if (rule == MPIIO_FRAME_WRONG)
        return -EPROTO;
    if (frame->type == MPIIO_BEAT)
        return mpiio_renewal_receive(peers, peers->peer[0], frame);
    if (rule == MPIIO_FRAME_DUE)
        work(peers, frame);
    return 0;
}

static bool begins_work(enum mpiio_peer_frame_type type)
{
    return type == MPIIO_EPOCH || type == MPIIO_PREPARE || type == MPIIO_UNMOUNT;
}

/* True if a frame in queue says that this node must be fenced. */
static bool says_degraded(const struct mpiio_queue *queue)
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

int mpiio_member_receive(struct mpiio_peers *peers, struct mpiio_queue *queue, bool lost)
{
    struct mpiio_peer_frame frame;
    ssize_t length = 0;

    /* A process that was stopped finds all in one go: what it missed, and that it is dead. */
    lost = lost || says_degraded(queue);
    while (peers->leaving == MPIIO_PEERS_JOINING && mpiio_queue_size(queue) != 0) {
        length = mpiio_peer_frame_decode(mpiio_queue_first(queue), mpiio_queue_size(queue), &frame);
        if (length <= 0)
            break;
        if (!lost || !begins_work(frame.type)) {
            int error = receive(peers, &frame);

            if (error != 0)
                return error;
        }
        mpiio_queue_drop(queue, (size_t)length);
    }
    return length < 0 ? (int)length : 0;
}
