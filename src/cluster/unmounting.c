/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/line.h"

/* Unmounting: all nodes that are mounted, together or one by one. When all are unmounted, the
   peers end. Called by the thread only. */

static void set_unmounted(struct mpiio_peers *peers, struct mpiio_peer *peer)
{
    pthread_mutex_lock(&peers->lock);
    peer->unmounted = true;
    pthread_mutex_unlock(&peers->lock);
}

/* Returns true if this node and all below it are unmounted. */
static bool all_unmounted(const struct mpiio_peers *peers)
{
    for (int i = 0; i < peers->peers; i++)
        if (!peers->peer[i]->all_unmounted)
            return false;
    return true;
}

void mpiio_unmounting_end(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    peers->rounds.ending = true;
    mpiio_branch_broadcast(peers, frame);
}

void mpiio_unmounting_result(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    struct mpiio_peer_frame result = *frame;

    if (frame->number >= self->unmount_asked)
        self->asked_unmount = self->asked_force = false;
    for (int i = 0; i < peers->peers; i++) {
        struct mpiio_peer *peer = peers->peer[i];

        if (!peer->wants_unmount || peer->unmount_ask > frame->number)
            continue;
        peer->wants_unmount = false;
        result.number = peer->unmount_call;
        mpiio_branch_say(peers, peer, &result);
    }
}

/* Once all answers have arrived: reports the result to the node above, or at node 0 to the
   callers. If all nodes are unmounted, node 0 ends the peers. */
static void finish_unmounting(struct mpiio_peers *peers)
{
    struct mpiio_rounds *self = &peers->rounds;
    struct mpiio_peer_frame frame = {.type = peers->node == 0 ? MPIIO_RESULT : MPIIO_UNMOUNTED,
                                     .number = self->unmount_asked,
                                     .status = self->unmount.status,
                                     .node = self->unmount.failed_node,
                                     .flag = peers->node == 0 || all_unmounted(peers),
                                     .text = self->unsaved,
                                     .text_size = (uint32_t)self->unsaved_size};

    if (self->unmount.missing != 0)
        return;
    if (peers->node == 0)
        mpiio_unmounting_result(peers, &frame);
    else
        mpiio_branch_pass_on(peers, &frame);
    self->unsaved_size = 0;
    if (peers->node == 0 && all_unmounted(peers))
        mpiio_unmounting_end(peers, &(struct mpiio_peer_frame){.type = MPIIO_END});
}

/* Sends UNMOUNT to all peers whose answer is awaited. */
static void say_unmount(struct mpiio_peers *peers)
{
    const struct mpiio_peer_frame frame = {.type = MPIIO_UNMOUNT, .flag = peers->rounds.force};

    for (int i = 0; i < peers->peers; i++)
        if ((peers->peer[i]->awaited & MPIIO_AWAIT_UNMOUNT) != 0)
            mpiio_branch_say(peers, peers->peer[i], &frame);
}

void mpiio_unmounting_begin(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    bool force = frame->flag;

    if (self->unmount.missing != 0) { /* the request joins the current round */
        bool more = force && !self->force;

        self->force = self->force || force;
        if (more)
            say_unmount(peers);
        return;
    }
    self->force = force;
    mpiio_branch_expect(peers, &self->unmount, MPIIO_AWAIT_UNMOUNT);
    for (int i = 0; i < peers->peers; i++)
        if (peers->peer[i]->all_unmounted)
            mpiio_branch_answer(&self->unmount, peers->peer[i], MPIIO_AWAIT_UNMOUNT, 0, 0);
    say_unmount(peers);
    finish_unmounting(peers);
}

/*
 * At node 0, begins the unmounting. Other nodes pass the request up, unless one with the same force
 * is still unanswered.
 */
void mpiio_unmounting_on_all(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    bool asks = !self->asked_unmount || (frame->flag && !self->asked_force);

    peer->wants_unmount = true;
    peer->unmount_call = frame->number;
    if (peers->node == 0) {
        mpiio_unmounting_begin(peers, frame);
        return;
    }
    if (asks) {
        self->asked_unmount = true;
        self->asked_force = self->asked_force || frame->flag;
        mpiio_branch_pass_on(peers, &(struct mpiio_peer_frame){.type = MPIIO_UNMOUNT_ALL,
                                                               .number = ++self->unmount_asked,
                                                               .flag = frame->flag});
    }
    peer->unmount_ask = self->unmount_asked;
}

/* Adds lines about unsaved data. Leaves out lines that are too long, or for which there is no
   memory. */
static void add_unsaved(struct mpiio_rounds *self, const char *lines, size_t size)
{
    char *grown;

    if (size == 0 || self->unsaved_size + size > MPIIO_PEER_TEXT_MAX)
        return;
    grown = realloc(self->unsaved, self->unsaved_size + size);
    if (grown == NULL)
        return;
    memcpy(grown + self->unsaved_size, lines, size);
    self->unsaved = grown;
    self->unsaved_size += size;
}

/* Adds a line about this node's own unsaved data. */
static void add_own(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    char text[1024], line[sizeof(text) + MPIIO_HOST_MAX + 3];

    vs_line_copy(text, sizeof(text), frame->text, frame->text_size);
    add_unsaved(&peers->rounds, line,
                (size_t)snprintf(line, sizeof(line), "%s: %s\n", peers->host, text));
}

/* A node that unmounts itself last has not failed (-EINPROGRESS). */
void mpiio_unmounting_on_unmounted(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                   const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    int error = frame->status == -EINPROGRESS ? 0 : frame->status;

    if (!mpiio_branch_answer(&self->unmount, peer, MPIIO_AWAIT_UNMOUNT, error, frame->node))
        return;
    if (frame->flag) {
        set_unmounted(peers, peer);
        peer->all_unmounted = true;
    }
    if (peer->node != peers->node)
        add_unsaved(self, frame->text, frame->text_size);
    else if (error != 0)
        add_own(peers, frame);
    finish_unmounting(peers);
}

void mpiio_unmounting_on_goodbye(struct mpiio_peers *peers, struct mpiio_peer *peer,
                                 const struct mpiio_peer_frame *frame)
{
    bool self = peer->node == peers->node, known = peer->unmounted, answered;

    if (peer->all_unmounted)
        return;
    set_unmounted(peers, peer);
    peer->all_unmounted = frame->flag;
    if (!known && (!self || peers->node == 0))
        mpiio_roster_log(peers, MPIIO_LOG_INFO, "node %d (%s) is unmounted", peer->node,
                         peer->host);
    answered =
        frame->flag && mpiio_branch_answer(&peers->rounds.unmount, peer, MPIIO_AWAIT_UNMOUNT, 0, 0);
    if (self || all_unmounted(peers))
        mpiio_branch_pass_on(
            peers, &(struct mpiio_peer_frame){.type = MPIIO_GOODBYE, .flag = all_unmounted(peers)});
    if (answered || peers->node == 0)
        finish_unmounting(peers);
}
