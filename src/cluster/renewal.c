/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>

/* The peer whose promise ends first, when it ends, and when the next one ends. */
struct least {
    const struct mpiio_peer *peer; /* NULL: there is none */
    int64_t first, second;
};

static void look_at(struct least *least, const struct mpiio_peer *peer)
{
    if (peer == NULL)
        return;
    if (peer->promised < least->first) {
        least->second = least->first;
        least->first = peer->promised;
        least->peer = peer;
    } else if (peer->promised < least->second) {
        least->second = peer->promised;
    }
}

static struct least find_least(const struct mpiio_peers *peers)
{
    struct least least = {.first = MPIIO_LEASE_FOREVER, .second = MPIIO_LEASE_FOREVER};

    for (int i = 0; i < peers->peers; i++)
        look_at(&least, mpiio_roster_linked(peers, i));
    return least;
}

/* Returns true if this node may promise anything: all nodes have joined and none below is lost.
   A node that has not joined yet, or is lost, gives no promise, and may act at any time. */
static bool knows_all(const struct mpiio_peers *peers)
{
    return peers->status.state == MPIIO_PEERS_TOGETHER && !peers->rounds.bereft;
}

/*
 * Returns the time until which this node promises a peer that no node on this side goes on alone,
 * by mpiio_lease_clock. That is the earliest promise of the other peers, but at most peer_timeout
 * after this node last heard that peer. Returns 0 if it promises nothing.
 */
static int64_t promise(const struct mpiio_peers *peers, const struct mpiio_peer *peer,
                       const struct least *least)
{
    int64_t until = least->peer == peer ? least->second : least->first;
    int64_t own = mpiio_lease_clock() - (mpiio_clock() - atomic_load(&peer->link.heard));

    if (peer->beaten == 0 || !knows_all(peers))
        return 0;
    return vs_min(until, own + peers->timeout);
}

/*
 * Sends a heartbeat with a promise, in ms since the peer's last heartbeat arrived. Records the
 * latest end of all promises to the peer, because a shorter promise does not revoke a longer one.
 */
static void beat(struct mpiio_peers *peers, struct mpiio_peer *peer, const struct least *least)
{
    int64_t until = promise(peers, peer, least);
    const struct mpiio_peer_frame frame = {
        .type = MPIIO_BEAT,
        .number = (uint64_t)mpiio_lease_clock(),
        .echo = peer->beaten,
        .time = until > peer->beaten_at ? (uint32_t)(until - peer->beaten_at) : 0};

    peer->given = vs_max(peer->given, until);
    mpiio_peer_connection_send(&peer->link, &frame);
    peers->broken = peers->broken || peer->link.error != 0;
}

void mpiio_renewal_beat_below(struct mpiio_peers *peers)
{
    struct least least = find_least(peers);

    peers->beaten = mpiio_lease_clock();
    for (int i = 1; i < peers->peers; i++) {
        struct mpiio_peer *peer = mpiio_roster_linked(peers, i);

        if (peer == NULL)
            continue;
        beat(peers, peer, &least);
        peers->beats_awaited += peer->beat_awaited ? 0 : 1;
        peer->beat_awaited = true;
    }
}

void mpiio_renewal_beat_above(struct mpiio_peers *peers)
{
    struct least least = find_least(peers);

    if (mpiio_roster_linked(peers, 0) != NULL)
        beat(peers, peers->above, &least);
}

void mpiio_renewal_update(struct mpiio_peers *peers)
{
    int64_t least;

    if (!knows_all(peers))
        return;
    least = find_least(peers).first;
    if (least == MPIIO_LEASE_FOREVER)
        peers->events.on_lease(peers->data, least);
    else if (least > peers->timeout / 4)
        peers->events.on_lease(peers->data, least - peers->timeout / 4);
}

int mpiio_renewal_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame)
{
    int64_t promised = (int64_t)frame->echo + vs_min(frame->time, peers->timeout);

    if (frame->echo > (uint64_t)mpiio_lease_clock())
        return -EPROTO;
    peer->beaten = frame->number;
    peer->beaten_at = mpiio_lease_clock();
    if (frame->echo != 0 && frame->time != 0)
        peer->promised = vs_max(peer->promised, promised);
    if (peer == peers->above) {
        peers->beat_heard = true;
    } else if (peer->beat_awaited && (int64_t)frame->echo >= peers->beaten) {
        peer->beat_awaited = false;
        peers->beats_awaited--;
    }
    return 0;
}
