/* SPDX-License-Identifier: MIT */
#include "coordinator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/line.h"
#include "frame_rules.h"
#include "renewal.h"

static bool living(const struct mpiio_peer *peer)
{
    return peer != NULL && (peer->node == 0 || peer->link.fd >= 0);
}

static void say(struct mpiio_peers *peers, struct mpiio_peer *peer,
                const struct mpiio_peer_frame *frame)
{
    if (peer->node == 0) {
        if (mpiio_queue_frame(&peers->inbox, frame) != 0)
            peers->inbox_failed = true;
        return;
    }
    mpiio_connection_send(&peer->link, frame);
    if (peer->link.error != 0)
        peers->broken = true;
}

static void broadcast(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    for (int i = 0; i < peers->peers; i++)
        if (living(peers->peer[i]))
            say(peers, peers->peer[i], frame);
}

/* Begins to wait for an answer of all that live. */
static void expect(struct mpiio_peers *peers, struct mpiio_round *round, enum mpiio_awaited what)
{
    round->missing = round->status = 0;
    for (int i = 0; i < peers->peers; i++) {
        if (!living(peers->peer[i]))
            continue;
        peers->peer[i]->awaited |= what;
        round->missing++;
    }
}

/* Takes an answer, if it was awaited. */
static bool answer(struct mpiio_round *round, struct mpiio_peer *peer, enum mpiio_awaited what,
                   int status)
{
    if ((peer->awaited & what) == 0)
        return false;
    peer->awaited &= ~(unsigned int)what;
    round->missing--;
    if (status != 0 && (round->status == 0 || peer->node < round->failed_node)) {
        round->status = status;
        round->failed_node = peer->node;
    }
    return true;
}

/* Epochs: one at a time; what is asked for meanwhile is the next. */

static void begin_epoch(struct mpiio_peers *peers)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (!self->wanted || self->epoch.missing != 0)
        return;
    self->epoch.number++;
    self->epoch_sync = self->wanted_sync;
    self->wanted = self->wanted_sync = false;
    self->moved = mpiio_clock();
    expect(peers, &self->epoch, MPIIO_AWAIT_EPOCH);
    broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_EPOCH,
                                                .number = self->epoch.number,
                                                .flag = self->epoch_sync});
}

static void on_ask(struct mpiio_peers *peers, bool sync)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    self->wanted = true;
    self->wanted_sync = self->wanted_sync || sync;
    begin_epoch(peers);
}

static void on_done(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number, int status)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (number != self->epoch.number || !answer(&self->epoch, peer, MPIIO_AWAIT_EPOCH, status))
        return;
    self->moved = mpiio_clock();
    if (self->epoch.missing != 0)
        return;
    broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_FINISHED,
                                                .number = number,
                                                .flag = self->epoch_sync,
                                                .status = self->epoch.status});
    begin_epoch(peers);
}

/*
 * A node's engine has come further, or does something else than to wait for others. One that is
 * through with the epoch does not count any more.
 */
static void on_progress(struct mpiio_peers *peers, struct mpiio_peer *peer,
                        const struct mpiio_peer_frame *frame)
{
    bool known = peer->stall_epoch == frame->number;

    if (frame->number != peers->coordinator.epoch.number ||
        (peer->awaited & MPIIO_AWAIT_EPOCH) == 0)
        return;
    if (!known || !frame->progress.waiting || frame->progress.count != peer->stall.progress.count)
        peers->coordinator.moved = mpiio_clock();
    peer->stall_epoch = frame->number;
    peer->stall.progress = frame->progress;
}

/* Changes: prepared by all, then settled one way or the other by all, then the next one's turn. */

static void say_result(struct mpiio_peers *peers, int node, uint64_t call, int status)
{
    if (living(peers->peer[node]))
        say(peers, peers->peer[node],
            &(struct mpiio_peer_frame){.type = MPIIO_RESULT, .number = call, .status = status});
}

static void begin_change(struct mpiio_peers *peers)
{
    struct mpiio_coordinator *self = &peers->coordinator;
    int first = self->change_node + 1; /* everybody's turn comes */

    for (int i = 0; i < peers->peers && self->change.missing == 0; i++) {
        struct mpiio_peer *peer = peers->peer[(first + i) % peers->peers];

        if (!peer->wants_change)
            continue;
        peer->wants_change = false;
        if (mpiio_clock() >= peer->change_expires) {
            say_result(peers, peer->node, peer->change_call, -ETIMEDOUT);
            continue;
        }
        self->change.number++;
        self->settling = false;
        self->change_node = peer->node;
        self->change_call = peer->change_call;
        self->change_expires = peer->change_expires;
        expect(peers, &self->change, MPIIO_AWAIT_CHANGE);
        broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_PREPARE,
                                                    .number = self->change.number,
                                                    .flag = peer->change_value});
    }
}

static void on_change(struct mpiio_peers *peers, struct mpiio_peer *peer,
                      const struct mpiio_peer_frame *frame)
{
    peer->wants_change = true;
    peer->change_call = frame->number;
    peer->change_value = frame->flag;
    peer->change_expires = mpiio_clock() + frame->time;
    begin_change(peers);
}

static void settle_change(struct mpiio_peers *peers, int status)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    self->settling = true;
    expect(peers, &self->change, MPIIO_AWAIT_CHANGE);
    self->change.status = status;
    broadcast(peers, &(struct mpiio_peer_frame){
                         .type = MPIIO_SETTLE, .number = self->change.number, .flag = status == 0});
}

static void on_vote(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number, int status)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (number != self->change.number || self->settling ||
        !answer(&self->change, peer, MPIIO_AWAIT_CHANGE, status))
        return;
    if (status != 0 || self->change.missing == 0)
        settle_change(peers, status);
}

static void on_settled(struct mpiio_peers *peers, struct mpiio_peer *peer, uint64_t number)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (number != self->change.number || !self->settling ||
        !answer(&self->change, peer, MPIIO_AWAIT_CHANGE, 0) || self->change.missing != 0)
        return;
    say_result(peers, self->change_node, self->change_call, self->change.status);
    begin_change(peers);
}

/* Unmounting: all who are mounted, together or one by one; then it is the end. */

static void set_unmounted(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    pthread_mutex_lock(&peers->lock);
    peer->unmounted = true;
    pthread_mutex_unlock(&peers->lock);
}

/* Once nobody is awaited: tells those who asked, and all if it is the end. */
static void finish_unmount(struct mpiio_peers *peers)
{
    struct mpiio_coordinator *self = &peers->coordinator;
    bool all = true;

    if (self->unmount.missing != 0)
        return;
    for (int i = 0; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];

        all = all && peer->unmounted;
        if (!peer->wants_unmount)
            continue;
        peer->wants_unmount = false;
        say(peers, peer,
            &(struct mpiio_peer_frame){.type = MPIIO_RESULT,
                                       .number = peer->unmount_call,
                                       .status = self->unmount.status,
                                       .text = self->unsaved,
                                       .text_size = (uint32_t)self->unsaved_size});
    }
    self->unsaved_size = 0;
    if (!all)
        return;
    self->ending = true;
    broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_END});
}

/* Has those unmounted that are awaited. */
static void say_unmount(struct mpiio_peers *peers, bool force)
{
    for (int i = 0; i < peers->peers; i++)
        if ((peers->peer[i]->awaited & MPIIO_AWAIT_UNMOUNT) != 0)
            say(peers, peers->peer[i],
                &(struct mpiio_peer_frame){.type = MPIIO_UNMOUNT, .flag = force});
}

static void on_unmount_all(struct mpiio_peers *peers, struct mpiio_peer *peer,
                           const struct mpiio_peer_frame *frame)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    peer->wants_unmount = true;
    peer->unmount_call = frame->number;
    if (self->unmount.missing != 0) { /* it takes part in what is under way */
        if (frame->flag && !self->force)
            say_unmount(peers, true);
        self->force = self->force || frame->flag;
        return;
    }
    self->force = frame->flag;
    expect(peers, &self->unmount, MPIIO_AWAIT_UNMOUNT);
    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i]->unmounted)
            answer(&self->unmount, peers->peer[i], MPIIO_AWAIT_UNMOUNT, 0);
    say_unmount(peers, self->force);
    finish_unmount(peers);
}

/* Adds a line; what is too much, or finds no memory, is left out. */
static void add_unsaved(struct mpiio_coordinator *self, const char *host, const char *text)
{
    size_t size = strlen(host) + strlen(text) + sizeof(": \n");
    char *grown;

    if (self->unsaved_size + size > MPIIO_PEER_TEXT_MAX)
        return;
    grown = realloc(self->unsaved, self->unsaved_size + size);
    if (grown == NULL)
        return;
    self->unsaved = grown;
    self->unsaved_size +=
        (size_t)snprintf(grown + self->unsaved_size, size, "%s: %s\n", host, text);
}

static void on_unmounted(struct mpiio_peers *peers, struct mpiio_peer *peer,
                         const struct mpiio_peer_frame *frame)
{
    struct mpiio_coordinator *self = &peers->coordinator;
    int error = frame->status == -EINPROGRESS ? 0 : frame->status;
    char text[1024];

    if (!answer(&self->unmount, peer, MPIIO_AWAIT_UNMOUNT, error))
        return;
    if (frame->status == 0) {
        set_unmounted(peers, peer);
    } else if (error != 0) {
        vs_line_copy(text, sizeof(text), frame->text, frame->text_size);
        add_unsaved(self, peer->host, text);
    }
    finish_unmount(peers);
}

static void on_goodbye(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    if (peer->unmounted)
        return;
    set_unmounted(peers, peer);
    mpiio_roster_log(peers, "node %d (%s) is unmounted", peer->node, peer->host);
    answer(&peers->coordinator.unmount, peer, MPIIO_AWAIT_UNMOUNT, 0);
    finish_unmount(peers);
}

/* Life and death. */

void mpiio_coordinator_ready(struct mpiio_peers *peers)
{
    /* First of all here: the others may have something to say as soon as they know. */
    mpiio_roster_set_together(peers);
    for (int i = 1; i < peers->peers; i++)
        say(peers, peers->peer[i], &(struct mpiio_peer_frame){.type = MPIIO_READY});
}

/*
 * A node that has not said so itself may still have an engine at work: its daemon lives, and needs
 * that long to notice that nobody hears it, and to fence itself; or it has just died, and its
 * engine is about to hear of it.
 */
static void await_fencing(struct mpiio_peers *peers)
{
    peers->coordinator.go_after = mpiio_clock() + peers->settle;
}

static void degrade(struct mpiio_peers *peers, struct mpiio_peer *dead, const char *why)
{
    struct mpiio_coordinator *self = &peers->coordinator;
    struct mpiio_peer_frame frame = {.type = MPIIO_DEGRADED, .node = (uint32_t)dead->node};
    int64_t now = mpiio_clock();

    mpiio_roster_set_degraded(peers, dead->node, dead->host, why);
    memcpy(frame.host, dead->host, sizeof(frame.host));
    frame.text = why;
    frame.text_size = (uint32_t)strlen(why);
    /* To the dead one too: it may be alive, and must know first of all. */
    broadcast(peers, &frame);
    self->go_before = now + peers->timeout;
    self->go_after = now;
}

static void try_to_go(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (peers->status.state != MPIIO_PEERS_DEGRADING || now < self->go_after ||
        (self->fenced.missing != 0 && now < self->go_before))
        return;
    if (self->fenced.missing != 0)
        mpiio_roster_log(peers, "%d nodes have not said that their engines are gone",
                         self->fenced.missing);
    broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_GO});
    self->go_after = INT64_MAX; /* said once */
}

void mpiio_coordinator_lost(struct mpiio_peers *peers, struct mpiio_peer *peer, const char *why)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (self->ending) { /* as it should */
        mpiio_roster_close(peers, peer);
        return;
    }
    switch (peers->status.state) {
    case MPIIO_PEERS_JOINING: /* it may come back */
        mpiio_roster_log(peers, "node %d (%s) left before all had joined: %s", peer->node,
                         peer->host, why);
        self->missing++;
        mpiio_roster_bury(peers, peer);
        break;
    case MPIIO_PEERS_TOGETHER:
        degrade(peers, peer, why);
        await_fencing(peers);
        mpiio_roster_close(peers, peer);
        expect(peers, &self->fenced, MPIIO_AWAIT_FENCED);
        break;
    case MPIIO_PEERS_DEGRADING:
        if (self->go_after != INT64_MAX)
            await_fencing(peers);
        mpiio_roster_close(peers, peer);
        answer(&self->fenced, peer, MPIIO_AWAIT_FENCED, 0);
        try_to_go(peers, mpiio_clock());
        break;
    default:
        mpiio_roster_close(peers, peer);
    }
}

/*
 * Engines also end because another node's has been killed, which did not hear this one: then that
 * node is not heard either, though not for long enough yet.
 */
static void add_silent(struct mpiio_peers *peers, char *why, size_t size)
{
    int64_t now = mpiio_clock();

    for (int i = 1; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];
        int64_t heard = atomic_load(&peer->link.heard);
        int64_t silent = now - (heard > peers->attentive ? heard : peers->attentive);
        size_t length = strlen(why);

        if (peer->link.fd >= 0 && silent > peers->timeout / 2)
            snprintf(why + length, size - length, ", and node %d (%s) is not heard of for %.1f s",
                     peer->node, peer->host, (double)silent / 1000);
    }
}

static void on_engine_lost(struct mpiio_peers *peers, struct mpiio_peer *peer,
                           const struct mpiio_peer_frame *frame)
{
    char why[sizeof(peers->status.why)];

    vs_line_copy(why, sizeof(why), frame->text, frame->text_size);
    add_silent(peers, why, sizeof(why));
    degrade(peers, peer, why);
    expect(peers, &peers->coordinator.fenced, MPIIO_AWAIT_FENCED);
}

/* What a node has said of its engine, for mpiio_stall_describe. */
static const struct mpiio_stall_node *stall_node(void *data, int i)
{
    struct mpiio_peers *peers = data;
    struct mpiio_peer *peer = peers->peer[i];

    peer->stall.host = peer->host;
    peer->stall.over = (peer->awaited & MPIIO_AWAIT_EPOCH) == 0;
    return &peer->stall;
}

/* All that are not through with the epoch have said that they wait, and for whom. */
static bool all_wait(const struct mpiio_peers *peers)
{
    uint64_t epoch = peers->coordinator.epoch.number;

    for (int i = 0; i < peers->peers; i++) {
        const struct mpiio_peer *peer = peers->peer[i];

        if ((peer->awaited & MPIIO_AWAIT_EPOCH) != 0 &&
            (peer->stall_epoch != epoch || !peer->stall.progress.waiting))
            return false;
    }
    return true;
}

/*
 * Ends an epoch that does not come further. Nobody is dead: but those who do not reach each other
 * cannot store together.
 */
static void end_stall(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_coordinator *self = &peers->coordinator;
    int64_t since = self->moved > peers->attentive ? self->moved : peers->attentive;
    char who[MPIIO_STALL_TEXT], why[sizeof(peers->status.why)];
    int node;

    if (self->epoch.missing == 0 || now - since <= peers->timeout || !all_wait(peers))
        return;
    node = mpiio_stall_describe(stall_node, peers, peers->peers, who, sizeof(who));
    snprintf(why, sizeof(why), "a flush has not come further for %.1f s: %s",
             (double)(now - since) / 1000, who);
    degrade(peers, peers->peer[node < 0 ? 0 : node], why);
    expect(peers, &self->fenced, MPIIO_AWAIT_FENCED);
}

void mpiio_coordinator_tick(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_coordinator *self = &peers->coordinator;

    if (peers->status.state == MPIIO_PEERS_TOGETHER && self->change.missing != 0 &&
        !self->settling && now >= self->change_expires)
        settle_change(peers, -ETIMEDOUT);
    if (peers->status.state == MPIIO_PEERS_TOGETHER)
        end_stall(peers, now);
    try_to_go(peers, now);
}

int64_t mpiio_coordinator_next(const struct mpiio_peers *peers, int64_t before)
{
    const struct mpiio_coordinator *self = &peers->coordinator;
    int64_t next = before;

    if (peers->status.state == MPIIO_PEERS_TOGETHER && self->change.missing != 0 &&
        !self->settling && self->change_expires < next)
        next = self->change_expires;
    if (peers->status.state == MPIIO_PEERS_DEGRADING) {
        int64_t go = self->fenced.missing != 0 ? self->go_before : self->go_after;

        if (go < next && self->go_after != INT64_MAX)
            next = go;
    }
    return next;
}

/* A frame that is due. */
static void work(struct mpiio_peers *peers, struct mpiio_peer *peer,
                 const struct mpiio_peer_frame *frame)
{
    switch (frame->type) {
    case MPIIO_ASK:
        on_ask(peers, frame->flag);
        break;
    case MPIIO_DONE:
        on_done(peers, peer, frame->number, frame->status);
        break;
    case MPIIO_PROGRESS:
        on_progress(peers, peer, frame);
        break;
    case MPIIO_CHANGE:
        on_change(peers, peer, frame);
        break;
    case MPIIO_VOTE:
        on_vote(peers, peer, frame->number, frame->status);
        break;
    case MPIIO_SETTLED:
        on_settled(peers, peer, frame->number);
        break;
    case MPIIO_UNMOUNT_ALL:
        on_unmount_all(peers, peer, frame);
        break;
    case MPIIO_UNMOUNTED:
        on_unmounted(peers, peer, frame);
        break;
    case MPIIO_GOODBYE:
        on_goodbye(peers, peer);
        break;
    case MPIIO_ENGINE_LOST:
        on_engine_lost(peers, peer, frame);
        break;
    case MPIIO_FENCED:
        answer(&peers->coordinator.fenced, peer, MPIIO_AWAIT_FENCED, 0);
        try_to_go(peers, mpiio_clock());
        break;
    default:
        break;
    }
}

int mpiio_coordinator_receive(struct mpiio_peers *peers, struct mpiio_peer *peer,
                              const struct mpiio_peer_frame *frame)
{
    enum mpiio_frame_rule rule = mpiio_frame_rule(frame->type, true, peers->status.state);

    if (rule == MPIIO_FRAME_WRONG)
        return -EPROTO;
    if (frame->type == MPIIO_BEAT)
        return mpiio_renewal_receive(peers, peer, frame);
    if (rule == MPIIO_FRAME_DUE && !peers->coordinator.ending)
        work(peers, peer, frame);
    return 0;
}
