/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <string.h>

#include "core/base/thread.h"

/* Branches of the tree. */

static void send(struct mpiio_peers *peers, struct mpiio_peer *peer,
                 const struct mpiio_peer_frame *frame)
{
    mpiio_peer_connection_send(&peer->link, frame);
    if (peer->link.error != 0)
        peers->broken = true;
}

void mpiio_branch_say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame)
{
    if (peer->node == peers->node)
        mpiio_member_receive(peers, frame);
    else if (peer->link.fd >= 0)
        send(peers, peer, frame);
}

void mpiio_branch_broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    for (int i = peers->peers - 1; i >= 0; i--) /* this node last: its event may take long */
        mpiio_branch_say(peers, peers->peer[i], frame);
}

void mpiio_branch_pass_on(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    if (mpiio_roster_linked(peers, 0) != NULL)
        send(peers, peers->above, frame);
}

void mpiio_branch_expect(struct mpiio_peers *peers, struct mpiio_round *round,
                         enum mpiio_awaited what)
{
    round->missing = round->status = 0;
    for (int i = 0; i < peers->peers; i++) {
        if (what == MPIIO_AWAIT_FENCED && i != 0 && mpiio_roster_linked(peers, i) == NULL)
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

/* The member: this node in its role of following node 0. */

/* Revokes the lease and kills the engine before this node reports FENCED: the engine must not
   overwrite what daemons store once they are alone. */
static void on_degraded(struct mpiio_peers *peers)
{
    const struct mpiio_peers_status *status = &peers->status;
    struct mpiio_member *member = &peers->member;
    uint64_t change = member->change;

    peers->events.on_lease(peers->data, 0);
    peers->events.on_degraded(peers->data, status->dead, status->dead_host, status->why);
    mpiio_roster_log(peers, MPIIO_LOG_ERROR, "degraded: node %d (%s): %s", status->dead,
                     status->dead_host, status->why);
    member->change = 0;
    if (change != 0)
        peers->events.on_settled(peers->data, change, member->change_value, false);
    mpiio_roster_tell(peers, &(struct mpiio_peer_frame){.type = MPIIO_FENCED});
}

static void on_epoch(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    peers->member.epoch = frame->number;
    /* Set this before the event, because a request made from now on may be too late for this
       epoch. */
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
    /* Drop the result of a call that has timed out. */
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
    if (MPIIO_LOCKED(&peers->lock, peers->gone))
        mpiio_roster_tell(peers, &(struct mpiio_peer_frame){.type = MPIIO_UNMOUNTED, .flag = true});
    else
        peers->events.on_unmount(peers->data, force);
}

void mpiio_member_receive(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    switch (frame->type) {
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
        on_degraded(peers);
        break;
    case MPIIO_GO:
        peers->leaving = MPIIO_PEERS_ALONE;
        break;
    default:
        break;
    }
}
