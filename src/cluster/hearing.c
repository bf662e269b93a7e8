/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>

#include "viewspec/base/line.h"

/* Dispatches incoming frames to the parts that handle them. */

/* Handles a frame from below that is due. */
static int work(struct mpiio_peers *peers, struct mpiio_peer *peer,
                const struct mpiio_peer_frame *frame)
{
    switch (frame->type) {
    case MPIIO_JOINED:
        mpiio_joining_on_joined(peers, peer, frame->flag);
        break;
    case MPIIO_ASK:
        mpiio_epochs_on_ask(peers, frame->flag);
        break;
    case MPIIO_DONE:
        mpiio_epochs_on_done(peers, peer, frame);
        break;
    case MPIIO_PROGRESS:
        return mpiio_epochs_on_progress(peers, peer, frame);
    case MPIIO_CHANGE:
        mpiio_changes_on_change(peers, peer, frame);
        break;
    case MPIIO_VOTE:
        mpiio_changes_on_vote(peers, peer, frame->number, frame->status);
        break;
    case MPIIO_SETTLED:
        mpiio_changes_on_settled(peers, peer, frame->number);
        break;
    case MPIIO_UNMOUNT_ALL:
        mpiio_unmounting_on_all(peers, peer, frame);
        break;
    case MPIIO_UNMOUNTED:
        mpiio_unmounting_on_unmounted(peers, peer, frame);
        break;
    case MPIIO_GOODBYE:
        mpiio_unmounting_on_goodbye(peers, peer, frame->flag);
        break;
    case MPIIO_LOST:
        mpiio_degrading_on_lost(peers, frame);
        break;
    case MPIIO_FENCED:
        mpiio_degrading_on_fenced(peers, peer);
        break;
    default:
        break;
    }
    return 0;
}

int mpiio_hearing_below(struct mpiio_peers *peers, struct mpiio_peer *peer,
                        const struct mpiio_peer_frame *frame)
{
    enum mpiio_frame_rule rule = mpiio_frame_rule(frame->type, true, peers->status.state);

    if (rule == MPIIO_FRAME_WRONG)
        return -EPROTO;
    if (frame->type == MPIIO_BEAT)
        return mpiio_renewal_receive(peers, peer, frame);
    if (rule == MPIIO_FRAME_DUE && !peers->rounds.ending)
        return work(peers, peer, frame);
    return 0;
}

static void on_degraded(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    char why[sizeof(peers->status.why)];

    vs_line_copy(why, sizeof(why), frame->text, frame->text_size);
    mpiio_degrading_begin(peers, (int)frame->node, frame->host, why);
}

static void on_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    if (frame->flag)
        mpiio_unmounting_result(peers, frame);
    else
        mpiio_changes_result(peers, frame);
}

/* Handles a frame from above that is due. */
static int obey(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    switch (frame->type) {
    case MPIIO_READY:
        return mpiio_joining_ready(peers);
    case MPIIO_EPOCH:
        mpiio_epochs_begin(peers, frame);
        break;
    case MPIIO_FINISHED:
        mpiio_epochs_finish(peers, frame);
        break;
    case MPIIO_PREPARE:
        mpiio_changes_prepare(peers, frame);
        break;
    case MPIIO_SETTLE:
        mpiio_changes_settle(peers, frame);
        break;
    case MPIIO_RESULT:
        on_result(peers, frame);
        break;
    case MPIIO_UNMOUNT:
        mpiio_unmounting_begin(peers, frame->flag);
        break;
    case MPIIO_END:
        mpiio_unmounting_end(peers);
        break;
    case MPIIO_DEGRADED:
        on_degraded(peers, frame);
        break;
    case MPIIO_GO:
        mpiio_degrading_go(peers);
        break;
    default:
        break;
    }
    return 0;
}

static int hear(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    enum mpiio_frame_rule rule = mpiio_frame_rule(frame->type, false, peers->status.state);

    if (rule == MPIIO_FRAME_WRONG)
        return -EPROTO;
    if (frame->type == MPIIO_BEAT)
        return mpiio_renewal_receive(peers, peers->above, frame);
    if (rule == MPIIO_FRAME_DUE && !peers->rounds.ending)
        return obey(peers, frame);
    return 0;
}

int mpiio_hearing_above(struct mpiio_peers *peers, struct mpiio_queue *queue, bool lost)
{
    struct mpiio_peer_frame frame;
    int got = 0;

    /* A process that was stopped reads everything at once: the frames that it missed, and the
       frame that declares it failed. */
    lost = lost || mpiio_member_is_fenced_by(queue);
    while (peers->leaving == MPIIO_PEERS_JOINING && (got = mpiio_queue_next(queue, &frame)) == 1) {
        int error = lost && mpiio_member_begins_work(frame.type) ? 0 : hear(peers, &frame);

        if (error != 0)
            return error;
    }
    return got < 0 ? got : 0;
}
