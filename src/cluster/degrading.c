/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/base/line.h"

/*
 * Handling of failed nodes. A node that has lost a peer reports this to node 0, which tells all
 * nodes. They end their engines; each node confirms this once all nodes below it have; node 0 then
 * lets all go on alone. If the node above is lost, a node takes the part of node 0 for the nodes
 * below it, which the others do not reach. Called by the thread only.
 */

static bool is_head(const struct mpiio_peers *peers)
{
    return mpiio_roster_linked(peers, 0) == NULL;
}

/* Makes a frame that reports a failed peer. */
static struct mpiio_peer_frame death(const struct mpiio_peer *peer, const char *why)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_LOST, .node = (uint32_t)peer->node};

    memcpy(frame.host, peer->host, sizeof(frame.host));
    mpiio_peer_frame_set_text(&frame, why);
    return frame;
}

/*
 * Returns true if it is enough to wait for settle after the loss of a peer: it had no other
 * connection, so no other node's lease depends on it, and it has closed this one. It does so only
 * after it has fenced itself, or by exiting, and then its engine exits within settle. An error does
 * not count, because the connection may have failed on this side only.
 */
static bool has_ended(const struct mpiio_peers *peers, const struct mpiio_peer *peer)
{
    int others = mpiio_tree_below(peer->node, peers->nodes, peers->fanout) - (peer->node == 0);

    return peer->link.error == -ENOTCONN && others == 0;
}

/*
 * Delays going on alone after the loss of a peer, because nodes on its side may not know of the
 * failure yet. They notice within settle, unless they are cut off or frozen. In that case their
 * leases end before the promise that this node has given to the peer.
 */
static void await_fencing(struct mpiio_peers *peers, const struct mpiio_peer *peer)
{
    int64_t wait = peer->given - mpiio_lease_clock();

    if (wait < peers->settle || has_ended(peers, peer))
        wait = peers->settle;
    peers->rounds.go_after = vs_max(peers->rounds.go_after, mpiio_clock() + wait);
}

/* Sets the state to DEGRADING, and records the failed node and why it was declared failed. */
static void set_degraded(struct mpiio_peers *peers, const struct mpiio_peer_frame *failure)
{
    struct mpiio_peers_status *status = &peers->status;

    pthread_mutex_lock(&peers->lock);
    status->dead = (int)failure->node;
    memcpy(status->dead_host, failure->host, sizeof(status->dead_host));
    vs_line_copy(status->why, sizeof(status->why), failure->text, failure->text_size);
    pthread_mutex_unlock(&peers->lock);
    mpiio_roster_set_state(peers, MPIIO_PEERS_DEGRADING);
}

void mpiio_degrading_begin(struct mpiio_peers *peers, const struct mpiio_peer_frame *failure)
{
    struct mpiio_rounds *self = &peers->rounds;
    struct mpiio_peer_frame frame = *failure;
    int64_t now = mpiio_clock();

    if (peers->status.state != MPIIO_PEERS_TOGETHER)
        return;
    set_degraded(peers, failure);
    frame.type = MPIIO_DEGRADED;
    mpiio_peer_frame_set_text(&frame, peers->status.why);
    /* Also to the failed node: it may be alive, and must be fenced first of all. This node is
       fenced when the call returns. Close its connections only after that: the other side
       concludes from the end of a connection that this node is fenced (has_ended). */
    mpiio_branch_broadcast(peers, &frame);
    mpiio_branch_expect(peers, &self->fenced, MPIIO_AWAIT_FENCED);
    self->go_before = now + peers->timeout + (is_head(peers) ? 0 : peers->settle);
    self->go_after = vs_max(self->go_after, now);
}

void mpiio_degrading_go(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    mpiio_branch_broadcast(peers, frame);
    peers->rounds.go_after = INT64_MAX; /* sent once */
}

/* Reports to the node above that all nodes below are fenced, or lets them go on alone, once it
   is time. */
void mpiio_degrading_tick(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_rounds *self = &peers->rounds;
    bool fenced = self->fenced.missing == 0;

    if (peers->status.state != MPIIO_PEERS_DEGRADING || now < self->go_after)
        return;
    if (fenced && !is_head(peers) && !self->fenced_said) {
        self->fenced_said = true;
        mpiio_branch_pass_on(peers, &(struct mpiio_peer_frame){.type = MPIIO_FENCED});
    }
    if (now < self->go_before && !(fenced && is_head(peers)))
        return;
    if (!fenced)
        mpiio_roster_log(peers, MPIIO_LOG_WARNING,
                         "degraded: %d nodes have not confirmed that their engines have ended",
                         self->fenced.missing);
    mpiio_degrading_go(peers, &(struct mpiio_peer_frame){.type = MPIIO_GO});
}

void mpiio_degrading_on_fenced(struct mpiio_peers *peers, struct mpiio_peer *peer,
                               const struct mpiio_peer_frame *frame)
{
    (void)frame;
    mpiio_branch_answer(&peers->rounds.fenced, peer, MPIIO_AWAIT_FENCED, 0, 0);
    mpiio_degrading_tick(peers, mpiio_clock());
}

/* Handles the loss of a node below while degrading. The nodes below that one get time to notice. */
static void lose_degrading(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    mpiio_roster_close(peers, peer);
    if (mpiio_branch_answer(&peers->rounds.fenced, peer, MPIIO_AWAIT_FENCED, 0, 0))
        await_fencing(peers, peer);
    mpiio_degrading_tick(peers, mpiio_clock());
}

static void lose_together(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    struct mpiio_peer_frame frame = death(peer, why);

    if (is_head(peers)) {
        mpiio_degrading_begin(peers, &frame);
        lose_degrading(peers, peer);
        return;
    }
    mpiio_branch_pass_on(peers, &frame);
    peers->rounds.bereft = true;
    frame.type = MPIIO_DEGRADED;
    mpiio_branch_say(peers, peer, &frame);
    await_fencing(peers, peer);
    mpiio_roster_close(peers, peer);
}

void mpiio_degrading_lost_below(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    if (peers->status.state == MPIIO_PEERS_TOGETHER)
        lose_together(peers, peer, why);
    else
        lose_degrading(peers, peer);
}

void mpiio_degrading_lost_above(struct mpiio_peers *peers, const char *why)
{
    struct mpiio_peer *above = peers->above;
    const struct mpiio_peer_frame frame = death(above, why);

    mpiio_degrading_begin(peers, &frame);
    mpiio_roster_close(peers, above);
    await_fencing(peers, above);
    peers->rounds.go_before = mpiio_clock() + peers->timeout;
}

/*
 * Adds the silent peers to why. An engine also exits if another node's engine was killed because
 * that node did not hear this one. Then this node does not hear that node either, but the silence
 * is still shorter than peer_timeout.
 */
static void add_silent(struct mpiio_peers *peers, char *why, size_t size)
{
    int64_t now = mpiio_clock();

    for (int i = 1; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];
        int64_t silent = now - vs_max(atomic_load(&peer->link.heard), peers->attentive);
        size_t length = strlen(why);

        if (peer->link.fd >= 0 && silent > peers->timeout / 2)
            snprintf(why + length, size - length, ", and node %d (%s) is not heard of for %.1f s",
                     peer->node, peer->host, (double)silent / 1000);
    }
}

void mpiio_degrading_on_lost(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame)
{
    struct mpiio_peer_frame lost = *frame;
    char why[sizeof(peers->status.why)];

    (void)peer;
    vs_line_copy(why, sizeof(why), frame->text, frame->text_size);
    add_silent(peers, why, sizeof(why));
    mpiio_peer_frame_set_text(&lost, why);
    if (is_head(peers))
        mpiio_degrading_begin(peers, &lost);
    else
        mpiio_branch_pass_on(peers, &lost);
}

int64_t mpiio_degrading_next(const struct mpiio_peers *peers, int64_t before)
{
    const struct mpiio_rounds *self = &peers->rounds;
    int64_t go = self->fenced.missing != 0 || self->fenced_said ? self->go_before : self->go_after;

    if (peers->status.state != MPIIO_PEERS_DEGRADING || self->go_after == INT64_MAX)
        return before;
    return vs_min(vs_max(go, self->go_after), before);
}
