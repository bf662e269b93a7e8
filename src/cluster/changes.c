/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>

/*
 * Changes: all nodes prepare a change, then all commit it or all abort it. Then the next change
 * begins. A node passes on one change at a time, and takes its peers in turn, itself included.
 * Called by the thread only.
 */

static void say_result(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t call,
                       int status)
{
    mpiio_branch_say(
        peers, peer,
        &(struct mpiio_peer_frame){.type = MPIIO_RESULT, .number = call, .status = status});
}

void mpiio_changes_pass(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;

    self->change.number = frame->number;
    self->settling = frame->type == MPIIO_SETTLE;
    self->voted = false;
    mpiio_branch_expect(peers, &self->change, MPIIO_AWAIT_CHANGE);
    mpiio_branch_broadcast(peers, frame);
}

/* Begins the change that a peer asks for: here if this is node 0, else at the node above, with
   the time that is left for it. */
static void begin_change(struct mpiio_peers *peers, struct mpiio_peer *peer, int64_t now)
{
    struct mpiio_rounds *self = &peers->rounds;
    struct mpiio_peer_frame frame = {.flag = peer->change_value};

    self->changing = true;
    self->change_call = peer->change_call;
    self->change_expires = peer->change_expires;
    if (peers->node == 0) {
        frame.type = MPIIO_PREPARE;
        frame.number = self->change.number + 1;
        mpiio_changes_pass(peers, &frame);
    } else {
        frame.type = MPIIO_CHANGE;
        frame.number = peer->change_call;
        frame.time = (uint32_t)(peer->change_expires - now);
        mpiio_branch_pass_on(peers, &frame);
    }
}

static void begin_next(struct mpiio_peers *peers)
{
    struct mpiio_rounds *self = &peers->rounds;
    int first = self->change_peer + 1; /* round robin */
    int64_t now = mpiio_clock();

    for (int i = 0; i < peers->peers && !self->changing; i++) {
        int index = (first + i) % peers->peers;
        struct mpiio_peer *peer = peers->peer[index];

        if (!peer->wants_change)
            continue;
        peer->wants_change = false;
        if (now >= peer->change_expires) {
            say_result(peers, peer, peer->change_call, -ETIMEDOUT);
            continue;
        }
        self->change_peer = index;
        begin_change(peers, peer, now);
    }
}

static void end_change(struct mpiio_peers *peers, int status)
{
    struct mpiio_rounds *self = &peers->rounds;

    self->changing = false;
    say_result(peers, peers->peer[self->change_peer], self->change_call, status);
    begin_next(peers);
}

void mpiio_changes_on_change(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame)
{
    peer->wants_change = true;
    peer->change_call = frame->number;
    peer->change_value = frame->flag;
    peer->change_expires = mpiio_clock() + frame->time;
    begin_next(peers);
}

/* At node 0: settles the change once all nodes have agreed, or one has refused. */
static void decide(struct mpiio_peers *peers, int status)
{
    struct mpiio_rounds *self = &peers->rounds;

    mpiio_changes_pass(peers, &(struct mpiio_peer_frame){.type = MPIIO_SETTLE,
                                                         .number = self->change.number,
                                                         .flag = status == 0});
    self->change.status = status;
}

void mpiio_changes_on_vote(struct mpiio_peers *peers, struct mpiio_peer *peer,
                           const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;

    if (frame->number != self->change.number || self->settling ||
        !mpiio_branch_answer(&self->change, peer, MPIIO_AWAIT_CHANGE, frame->status, 0) ||
        self->voted || (frame->status == 0 && self->change.missing != 0))
        return;
    if (peers->node == 0) {
        decide(peers, frame->status);
        return;
    }
    self->voted = true;
    mpiio_branch_pass_on(peers, frame);
}

void mpiio_changes_on_settled(struct mpiio_peers *peers, struct mpiio_peer *peer,
                              const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;

    if (frame->number != self->change.number || !self->settling ||
        !mpiio_branch_answer(&self->change, peer, MPIIO_AWAIT_CHANGE, 0, 0) ||
        self->change.missing != 0)
        return;
    if (peers->node == 0)
        end_change(peers, self->change.status);
    else
        mpiio_branch_pass_on(peers, frame);
}

void mpiio_changes_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    if (peers->rounds.changing && peers->rounds.change_call == frame->number)
        end_change(peers, frame->status);
}

/* Returns true if node 0 has asked for a change that not all nodes have agreed to, and that may
   still be given up. */
static bool is_open(const struct mpiio_peers *peers)
{
    return peers->node == 0 && peers->status.state == MPIIO_PEERS_TOGETHER &&
           peers->rounds.changing && !peers->rounds.settling;
}

void mpiio_changes_tick(struct mpiio_peers *peers, int64_t now)
{
    if (is_open(peers) && now >= peers->rounds.change_expires)
        decide(peers, -ETIMEDOUT);
}

int64_t mpiio_changes_next(const struct mpiio_peers *peers, int64_t before)
{
    return is_open(peers) ? vs_min(peers->rounds.change_expires, before) : before;
}
