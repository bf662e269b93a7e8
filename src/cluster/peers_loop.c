/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer_frame.h"
#include "viewspec/base/line.h"

/* Frames that arrive. */

/* A frame from below that is due. */
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

/* A frame from above that is due. */
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

    /* A process that was stopped finds all in one go: what it missed, and that it is dead. */
    lost = lost || mpiio_member_is_fenced_by(queue);
    while (peers->leaving == MPIIO_PEERS_JOINING && (got = mpiio_queue_next(queue, &frame)) == 1) {
        int error = lost && mpiio_member_begins_work(frame.type) ? 0 : hear(peers, &frame);

        if (error != 0)
            return error;
    }
    return got < 0 ? got : 0;
}

/* The loop. */

#define EVENTS 64
/* ms to let the others read the last word before the connections are closed. */
#define LINGER 500

static void serve(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    bool more = peer->link.fd >= 0;

    mpiio_connection_flush(&peer->link);
    while (more) {
        more = mpiio_connection_fill(&peer->link);
        if (peer->node < 0)
            mpiio_greeted(peers, peer);
        if (peer->node >= 0)
            mpiio_turn_hear(peers, peer);
        more = more && peer->link.error == 0 && peers->leaving == MPIIO_PEERS_JOINING;
    }
}

static int time_to_wait(const struct mpiio_peers *peers)
{
    int64_t next = mpiio_turn_next(peers), now = mpiio_clock();

    return next <= now ? 0 : (int)(next - now);
}

static void handle(struct mpiio_peers *peers, const struct epoll_event *events, int count)
{
    uint64_t ignored;

    for (int i = 0; i < count; i++) {
        void *owner = events[i].data.ptr;

        if (owner == peers)
            mpiio_greet(peers);
        else if (owner != &peers->wake)
            serve(peers, owner);
        else if (read(peers->wake, &ignored, sizeof(ignored)) < 0)
            continue;
    }
    if (peers->greetings.waiting) /* there may be room now */
        mpiio_greet(peers);
    mpiio_greet_expire(peers, mpiio_clock());
}

/* Reads what still comes, until the end. False: it has come. */
static bool outlast(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    if (peer == NULL || peer->link.fd < 0)
        return false;
    mpiio_connection_fill(&peer->link);
    mpiio_queue_free(&peer->link.in);
    if (peer->link.error == 0)
        return true;
    mpiio_roster_close(peers, peer);
    return false;
}

static void shut(struct mpiio_peer *peer)
{
    if (peer != NULL && peer->link.fd >= 0)
        shutdown(peer->link.fd, SHUT_WR);
}

/* Lets the last word arrive: closing at once could make a peer lose what it has not read. */
static void linger(struct mpiio_peers *peers)
{
    struct epoll_event events[EVENTS];
    int64_t end = mpiio_clock() + LINGER;
    int open = 1;

    shut(peers->above);
    for (int i = 1; i < peers->peers; i++)
        shut(peers->peer[i]);
    while (open != 0 && mpiio_clock() < end) {
        open = outlast(peers, peers->above);
        for (int i = 1; i < peers->peers; i++)
            open += outlast(peers, peers->peer[i]);
        if (open != 0)
            epoll_wait(peers->poll, events, EVENTS, 20);
    }
}

static void finish_loop(struct mpiio_peers *peers)
{
    if (peers->leaving != MPIIO_PEERS_STOPPED)
        linger(peers);
    mpiio_greet_end(peers);
    mpiio_turn_end(peers);
    pthread_mutex_lock(&peers->lock);
    peers->ended = true;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
}

void *mpiio_peers_run(void *data)
{
    struct mpiio_peers *peers = data;
    struct epoll_event events[EVENTS];
    int count = 0;

    mpiio_turn_begin(peers);
    while (mpiio_turn(peers)) {
        if (peers->status.state != MPIIO_PEERS_JOINING)
            mpiio_greet_end(peers);
        count = epoll_wait(peers->poll, events, EVENTS, time_to_wait(peers));
        mpiio_turn_look(peers);
        handle(peers, events, count < 0 ? 0 : count);
    }
    finish_loop(peers);
    return NULL;
}
