/* SPDX-License-Identifier: MIT */
#include "peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "roster.h"

#define EVENTS 64
/* ms in which the peers can read the last frames before the connections are closed */
#define LINGER 500

/* The thread that serves the connections of a node. */

static void serve(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    bool more = peer->link.fd >= 0;

    mpiio_peer_connection_flush(&peer->link);
    while (more) {
        more = mpiio_peer_connection_fill(&peer->link);
        mpiio_turn_hear(peers, peer);
        more = more && peer->link.error == 0 && peers->leaving == MPIIO_PEERS_JOINING;
    }
}

static void handle(struct mpiio_peers *peers, const struct epoll_event *events, int count)
{
    eventfd_t ignored;

    for (int i = 0; i < count; i++) {
        void *owner = events[i].data.ptr;

        if (owner != &peers->wake)
            serve(peers, owner);
        else
            eventfd_read(peers->wake, &ignored);
    }
    mpiio_greet(peers);
}

/* Reads and drops what still arrives. Returns false once the stream has ended. */
static bool outlast(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    if (peer == NULL)
        return false;
    mpiio_peer_connection_fill(&peer->link);
    mpiio_queue_free(&peer->link.in);
    if (peer->link.error == 0)
        return true;
    mpiio_roster_close(peers, peer);
    return false;
}

/* Lets the last frames arrive: closing at once could make a peer lose data that it has not read. */
static void linger(struct mpiio_peers *peers)
{
    struct epoll_event events[EVENTS];
    int64_t end = mpiio_clock() + LINGER;
    int open = 1;

    for (int i = 0; i < peers->peers; i++)
        if (mpiio_roster_linked(peers, i) != NULL)
            shutdown(mpiio_roster_linked(peers, i)->link.fd, SHUT_WR);
    while (open != 0 && mpiio_clock() < end) {
        open = 0;
        for (int i = 0; i < peers->peers; i++)
            open += outlast(peers, mpiio_roster_linked(peers, i));
        if (open != 0)
            epoll_wait(peers->poll, events, EVENTS, 20);
    }
}

static void finish_loop(struct mpiio_peers *peers)
{
    if (peers->leaving != MPIIO_PEERS_STOPPED)
        linger(peers);
    mpiio_turn_end(peers);
    pthread_mutex_lock(&peers->lock);
    peers->ended = true;
    pthread_cond_broadcast(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
    mpiio_greet_end(peers);
}

static void *run_peers(void *data)
{
    struct mpiio_peers *peers = data;
    struct epoll_event events[EVENTS];
    int count = 0;

    mpiio_turn_begin(peers);
    while (mpiio_turn(peers)) {
        count = epoll_wait(peers->poll, events, EVENTS,
                           (int)vs_max(mpiio_turn_next(peers) - mpiio_clock(), 0));
        mpiio_turn_look(peers);
        handle(peers, events, count < 0 ? 0 : count);
    }
    finish_loop(peers);
    return NULL;
}

/* The interface. */

static int watch(struct mpiio_peers *peers)
{
    peers->poll = epoll_create1(EPOLL_CLOEXEC);
    peers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return peers->poll < 0 || peers->wake < 0
               ? -errno
               : mpiio_roster_watch(peers, peers->wake, &peers->wake);
}

static int start_peers(struct mpiio_peers *peers)
{
    int error = mpiio_thread_start(&peers->thread, run_peers, peers);

    peers->started = error == 0;
    return error;
}

int mpiio_peers_open(const struct mpiio_peers_options *options, struct mpiio_peers **created)
{
    struct mpiio_peers *peers;
    int error = mpiio_roster_create(options, &peers);

    if (error == 0)
        error = watch(peers);
    if (error == 0 && peers->node == 0)
        error = start_peers(peers);
    if (error != 0) {
        mpiio_peers_free(peers);
        peers = NULL;
    }
    *created = peers;
    return error;
}

void mpiio_peers_refused(void *tree, int error)
{
    mpiio_roster_log_refusal(tree, error);
}

void mpiio_peers_arrive(void *tree, int fd, const struct mpiio_handshake *handshake,
                        const struct mpiio_join *join)
{
    struct mpiio_peers *peers = tree;
    struct mpiio_arrival *arrival = malloc(sizeof(*arrival));
    bool waits;

    pthread_mutex_lock(&peers->lock);
    waits = arrival != NULL && !peers->ended;
    if (waits) {
        *arrival = (struct mpiio_arrival){.fd = fd, .handshake = *handshake, .join = *join};
        STAILQ_INSERT_TAIL(&peers->arrivals, arrival, others);
        mpiio_roster_wake(peers);
    }
    pthread_mutex_unlock(&peers->lock);
    if (!waits) {
        close(fd);
        free(arrival);
    }
}

int mpiio_peers_join(struct mpiio_peers *peers, int timeout)
{
    int error;

    if (peers->node == 0 || peers->started)
        return -EINVAL;
    error = mpiio_greet_join(peers, timeout);
    return error != 0 ? error : start_peers(peers);
}

int mpiio_peers_wait(struct mpiio_peers *peers, int timeout)
{
    int64_t end = mpiio_clock() + timeout;
    enum mpiio_peers_state state;

    pthread_mutex_lock(&peers->lock);
    while (peers->status.state == MPIIO_PEERS_JOINING &&
           mpiio_wait_until(&peers->changed, &peers->lock, end))
        continue;
    state = peers->status.state;
    pthread_mutex_unlock(&peers->lock);
    if (state == MPIIO_PEERS_STOPPED)
        return -ENOTCONN;
    return state == MPIIO_PEERS_JOINING ? -ETIMEDOUT : 0;
}

int mpiio_peers_request_flush(struct mpiio_peers *peers, bool sync, uint64_t *after)
{
    int error = 0;

    pthread_mutex_lock(&peers->lock);
    *after = peers->status.begun;
    if (peers->status.state != MPIIO_PEERS_TOGETHER) {
        error = -ENOTCONN;
    } else if (sync ? !peers->asked_sync : !peers->asked) {
        error = mpiio_roster_tell_locked(
            peers, &(struct mpiio_peer_frame){.type = MPIIO_ASK, .flag = sync});
        peers->asked = peers->asked || error == 0;
        peers->asked_sync = peers->asked_sync || (sync && error == 0);
    }
    pthread_mutex_unlock(&peers->lock);
    return error;
}

int mpiio_peers_epoch_done(struct mpiio_peers *peers, uint64_t epoch, int status)
{
    return mpiio_roster_tell(peers, &(struct mpiio_peer_frame){.type = MPIIO_DONE,
                                                               .number = epoch,
                                                               .status = status,
                                                               .node = (uint32_t)peers->node});
}

int mpiio_peers_vote(struct mpiio_peers *peers, uint64_t change, int status)
{
    return mpiio_roster_tell(
        peers, &(struct mpiio_peer_frame){.type = MPIIO_VOTE, .number = change, .status = status});
}

/* Returns the error of a call that cannot continue. With lock held. */
static int call_error(const struct mpiio_peers *peers)
{
    assert(mpiio_is_held(&peers->lock));
    return peers->status.state == MPIIO_PEERS_TOGETHER ? -ETIMEDOUT : -ENOTCONN;
}

/* Sends a call and waits for its result. With lock held. */
static int carry_out(struct mpiio_peers *peers, struct mpiio_peer_frame *frame, int64_t end,
                     char **text)
{
    struct mpiio_call *call = &peers->call;
    int error;

    assert(mpiio_is_held(&peers->lock));
    while (call->busy && peers->status.state == MPIIO_PEERS_TOGETHER &&
           mpiio_wait_until(&peers->changed, &peers->lock, end))
        continue;
    if (call->busy || peers->status.state != MPIIO_PEERS_TOGETHER)
        return call_error(peers);
    call->busy = true;
    call->done = false;
    frame->number = ++call->number;
    error = mpiio_roster_tell_locked(peers, frame);
    while (error == 0 && !call->done && peers->status.state == MPIIO_PEERS_TOGETHER &&
           mpiio_wait_until(&peers->changed, &peers->lock, end))
        continue;
    if (error == 0)
        error = call->done ? call->status : call_error(peers);
    if (call->done && text != NULL)
        *text = call->text;
    else if (call->done)
        free(call->text);
    call->text = NULL;
    call->busy = false;
    pthread_cond_broadcast(&peers->changed);
    return error;
}

static int call(struct mpiio_peers *peers, struct mpiio_peer_frame *frame, int timeout, char **text)
{
    int64_t end = mpiio_clock() + timeout;
    int error;

    if (timeout < 0)
        return -EINVAL;
    if (pthread_equal(pthread_self(), peers->thread))
        return -EDEADLK;
    pthread_mutex_lock(&peers->lock);
    error = carry_out(peers, frame, end, text);
    if (peers->status.state == MPIIO_PEERS_ENDED && frame->type == MPIIO_UNMOUNT_ALL &&
        error == -ENOTCONN)
        error = 0;
    pthread_mutex_unlock(&peers->lock);
    return error;
}

int mpiio_peers_set_atomicity(struct mpiio_peers *peers, bool value, int timeout)
{
    struct mpiio_peer_frame frame = {
        .type = MPIIO_CHANGE, .flag = value, .time = timeout > 0 ? (uint32_t)timeout / 4 * 3 : 0};

    return call(peers, &frame, timeout, NULL);
}

int mpiio_peers_unmount_all(struct mpiio_peers *peers, bool force, int timeout, char **unsaved)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_UNMOUNT_ALL, .flag = force};

    *unsaved = NULL;
    return call(peers, &frame, timeout, unsaved);
}

/* Reports that this node is unmounted, or the error that prevented it. */
static int say_unmounted(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    int error;

    pthread_mutex_lock(&peers->lock);
    error = mpiio_roster_tell_locked(peers, frame);
    peers->gone = peers->gone || (error == 0 && frame->status == 0);
    pthread_mutex_unlock(&peers->lock);
    return error;
}

int mpiio_peers_unmounted(struct mpiio_peers *peers, int error, const char *unsaved)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_UNMOUNTED,
                                     .status = error,
                                     .node = (uint32_t)peers->node,
                                     .flag = error == 0};

    if (error != 0 && error != -EINPROGRESS)
        mpiio_peer_frame_set_text(&frame, unsaved);
    return say_unmounted(peers, &frame);
}

int mpiio_peers_goodbye(struct mpiio_peers *peers)
{
    return say_unmounted(peers, &(struct mpiio_peer_frame){.type = MPIIO_GOODBYE, .flag = true});
}

int mpiio_peers_engine_lost(struct mpiio_peers *peers, const char *why)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_LOST, .node = (uint32_t)peers->node};

    memcpy(frame.host, peers->host, sizeof(frame.host));
    mpiio_peer_frame_set_text(&frame, why);
    return mpiio_roster_tell(peers, &frame);
}

void mpiio_peers_status(struct mpiio_peers *peers, struct mpiio_peers_status *status)
{
    *status = MPIIO_LOCKED(&peers->lock, peers->status);
}

static const char *describe(const struct mpiio_peer *peer)
{
    if (!peer->connected)
        return "closed";
    return peer->unmounted ? "unmounted" : "connected";
}

/* Returns the peer of an index: the node above if there is one, then those below. With lock
   held. */
static const struct mpiio_peer *neighbour(const struct mpiio_peers *peers, int index, int *node)
{
    if (peers->node == 0)
        index++;
    *node = index == 0 ? mpiio_tree_above(peers->node, peers->fanout)
                       : peers->fanout * peers->node + index;
    return index == 0 ? peers->above : peers->peer[index];
}

int mpiio_peers_peer(struct mpiio_peers *peers, int index, struct mpiio_peer_status *status)
{
    int neighbours = peers->peers - (peers->node == 0 ? 1 : 0);
    const struct mpiio_peer *peer;

    if (index < 0 || index >= neighbours)
        return -ENOENT;
    *status = (struct mpiio_peer_status){.state = "absent", .age = -1};
    pthread_mutex_lock(&peers->lock);
    peer = neighbour(peers, index, &status->node);
    if (peer != NULL) {
        status->state = describe(peer);
        memcpy(status->host, peer->host, sizeof(status->host));
        status->age = mpiio_clock() - atomic_load(&peer->link.heard);
        status->received = atomic_load(&peer->link.received);
        status->sent = atomic_load(&peer->link.sent);
    }
    pthread_mutex_unlock(&peers->lock);
    return 0;
}

void mpiio_peers_stop(struct mpiio_peers *peers)
{
    pthread_mutex_lock(&peers->lock);
    peers->stop = true;
    mpiio_roster_wake(peers);
    while (peers->started && !peers->ended && !pthread_equal(pthread_self(), peers->thread))
        pthread_cond_wait(&peers->changed, &peers->lock);
    pthread_mutex_unlock(&peers->lock);
}

void mpiio_peers_free(struct mpiio_peers *peers)
{
    if (peers == NULL)
        return;
    mpiio_peers_stop(peers);
    if (peers->started)
        pthread_join(peers->thread, NULL);
    mpiio_greet_end(peers);
    mpiio_roster_free(peers);
}
