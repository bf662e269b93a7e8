/* SPDX-License-Identifier: MIT */
#include "renewal.h"

#include <errno.h>

#include "core/base/lease.h"

/*
 * The lease by which this node's engine stores. What counts is not when a peer's words are read,
 * which may have waited while this process was stopped, but what they answer: a peer that echoes a
 * heartbeat had heard it, and does not take its sender for dead for peer_timeout from then on.
 */

/* So many peers are all looked at with each heartbeat that comes; of more, a few times an interval.
 */
#define FEW_PEERS 64

void mpiio_renewal_beat(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    const struct mpiio_peer_frame frame = {
        .type = MPIIO_BEAT, .number = (uint64_t)mpiio_lease_clock(), .echo = peer->beaten};

    mpiio_connection_send(&peer->link, &frame);
    peers->broken = peers->broken || peer->link.error != 0;
}

/* When the first of the peers' echoes was sent: none of them has heard of this node later. */
static int64_t oldest_echo(const struct mpiio_peers *peers)
{
    int64_t oldest = MPIIO_LEASE_FOREVER;

    for (int i = 0; i < peers->peers; i++) {
        const struct mpiio_peer *peer = peers->peer[i];

        if (peer != NULL && peer->link.fd >= 0 && peer->acknowledged < oldest)
            oldest = peer->acknowledged;
    }
    return oldest;
}

void mpiio_renewal_update(struct mpiio_peers *peers)
{
    int64_t now = mpiio_lease_clock(), oldest;

    /* Peers that are still to come would be forgotten. */
    if (peers->member.degraded || (peers->node == 0 && peers->coordinator.missing > 0) ||
        (peers->peers > FEW_PEERS && now - peers->renewed < peers->interval / 8))
        return;
    peers->renewed = now;
    oldest = oldest_echo(peers);
    if (oldest == MPIIO_LEASE_FOREVER)
        peers->events.on_lease(peers->data, oldest);
    else if (oldest > 0)
        peers->events.on_lease(peers->data, oldest + peers->timeout - peers->timeout / 4);
}

void mpiio_renewal_revoke(struct mpiio_peers *peers)
{
    peers->events.on_lease(peers->data, 0);
}

int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame)
{
    bool first = peer->beaten == 0 && frame->number != 0;

    if (frame->echo > (uint64_t)mpiio_lease_clock())
        return -EPROTO;
    peer->beaten = frame->number;
    if ((int64_t)frame->echo > peer->acknowledged)
        peer->acknowledged = (int64_t)frame->echo;
    /* At once, so that nobody waits for his first lease until the next is due. */
    if (first)
        mpiio_renewal_beat(peers, peer);
    mpiio_renewal_update(peers);
    return 0;
}
