/* SPDX-License-Identifier: MIT */
#include "joining.h"

#include <errno.h>

#include "branch.h"
#include "degrading.h"

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
