/* SPDX-License-Identifier: MIT */
#include "branch.h"

bool mpiio_branch_lives(const struct mpiio_peers *peers, const struct mpiio_peer *peer)
{
    return peer != NULL && (peer->node == peers->node || peer->link.fd >= 0);
}

static void send(struct mpiio_peers *peers, struct mpiio_peer *peer,
                 const struct mpiio_peer_frame *frame)
{
    mpiio_connection_send(&peer->link, frame);
    if (peer->link.error != 0)
        peers->broken = true;
}

void mpiio_branch_say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame)
{
    if (peer->node != peers->node)
        send(peers, peer, frame);
    else if (mpiio_queue_frame(&peers->inbox, frame) != 0)
        peers->inbox_failed = true;
}

void mpiio_branch_broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    for (int i = 0; i < peers->peers; i++)
        if (mpiio_branch_lives(peers, peers->peer[i]))
            mpiio_branch_say(peers, peers->peer[i], frame);
}

void mpiio_branch_pass_on(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    if (peers->above != NULL && peers->above->link.fd >= 0)
        send(peers, peers->above, frame);
}

void mpiio_branch_expect(struct mpiio_peers *peers, struct mpiio_round *round,
                         enum mpiio_awaited what)
{
    round->missing = round->status = 0;
    for (int i = 0; i < peers->peers; i++) {
        if (what == MPIIO_AWAIT_FENCED && !mpiio_branch_lives(peers, peers->peer[i]))
            continue;
        peers->peer[i]->awaited |= what;
        round->missing++;
    }
}

bool mpiio_branch_answer(struct mpiio_round *round, struct mpiio_peer *peer,
                         enum mpiio_awaited what, int status, uint32_t node)
{
    if ((peer->awaited & what) == 0)
        return false;
    peer->awaited &= ~(unsigned int)what;
    round->missing--;
    if (status != 0 && (round->status == 0 || node < round->failed_node)) {
        round->status = status;
        round->failed_node = node;
    }
    return true;
}
