/* SPDX-License-Identifier: MIT */
#include "roster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "viewspec/base/line.h"

/*
 * Epochs: one at a time. Requests that arrive during an epoch are for the next one. Node 0 begins
 * and ends epochs. Called by the thread only.
 */

void mpiio_epochs_begin(struct mpiio_peers *peers, const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;

    self->epoch.number = frame->number;
    self->epoch_sync = frame->flag;
    self->asked = self->asked_sync = false;
    self->moved = mpiio_clock();
    mpiio_branch_expect(peers, &self->epoch, MPIIO_AWAIT_EPOCH);
    mpiio_branch_broadcast(peers, frame);
}

/* At node 0: begins the next epoch if one is requested and none is under way. */
static void begin_wanted(struct mpiio_peers *peers)
{
    struct mpiio_rounds *self = &peers->rounds;
    const struct mpiio_peer_frame frame = {
        .type = MPIIO_EPOCH, .number = self->epoch.number + 1, .flag = self->wanted_sync};

    if (!self->wanted || self->epoch.missing != 0)
        return;
    self->wanted = self->wanted_sync = false;
    mpiio_epochs_begin(peers, &frame);
}

/* Nodes other than node 0 do not pass on a request twice. */
void mpiio_epochs_on_ask(struct mpiio_peers *peers, struct mpiio_peer *peer,
                         const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    bool sync = frame->flag;

    (void)peer;
    if (peers->node == 0) {
        self->wanted = true;
        self->wanted_sync = self->wanted_sync || sync;
        begin_wanted(peers);
    } else if (sync ? !self->asked_sync : !self->asked) {
        self->asked = true;
        self->asked_sync = self->asked_sync || sync;
        mpiio_branch_pass_on(peers, frame);
    }
}

void mpiio_epochs_on_done(struct mpiio_peers *peers, struct mpiio_peer *peer,
                          const struct mpiio_peer_frame *frame)
{
    struct mpiio_rounds *self = &peers->rounds;
    const struct mpiio_round *epoch = &self->epoch;

    if (frame->number != epoch->number ||
        !mpiio_branch_answer(&self->epoch, peer, MPIIO_AWAIT_EPOCH, frame->status, frame->node))
        return;
    self->moved = mpiio_clock();
    if (epoch->missing != 0)
        return;
    if (peers->node != 0) {
        mpiio_branch_pass_on(peers, &(struct mpiio_peer_frame){.type = MPIIO_DONE,
                                                               .number = epoch->number,
                                                               .status = epoch->status,
                                                               .node = epoch->failed_node});
        return;
    }
    mpiio_branch_broadcast(peers, &(struct mpiio_peer_frame){.type = MPIIO_FINISHED,
                                                             .number = epoch->number,
                                                             .flag = self->epoch_sync,
                                                             .status = epoch->status});
    begin_wanted(peers);
}

/* Records the progress of a node's engine, or that it does something other than waiting for other
   nodes. Nodes that have finished the epoch do not count. */
static void note(struct mpiio_peers *peers, struct mpiio_peer *peer, bool waits, uint64_t count)
{
    if (peer->stall_epoch != peers->rounds.epoch.number || !waits || count != peer->stall_count)
        peers->rounds.moved = mpiio_clock();
    peer->stall_epoch = peers->rounds.epoch.number;
    peer->stall_waits = waits;
    peer->stall_count = count;
}

int mpiio_epochs_on_progress(struct mpiio_peers *peers, struct mpiio_peer *peer,
                             const struct mpiio_peer_frame *frame)
{
    if (frame->number != peers->rounds.epoch.number || (peer->awaited & MPIIO_AWAIT_EPOCH) == 0)
        return 0;
    note(peers, peer, frame->flag, frame->count);
    return mpiio_stall_decode(frame->text, frame->text_size, &peer->stall);
}

static void note_own(struct mpiio_peers *peers)
{
    struct mpiio_peer *self = peers->peer[0];
    struct mpiio_stall_node node = {.node = (uint32_t)peers->node};

    if (peers->member.epoch != peers->rounds.epoch.number ||
        (self->awaited & MPIIO_AWAIT_EPOCH) == 0)
        return;
    peers->events.progress(peers->data, &node.progress);
    vs_line_copy(node.host, sizeof(node.host), peers->host, strlen(peers->host));
    note(peers, self, node.progress.waiting, node.progress.count);
    self->stall.count = 0;
    mpiio_stall_add(&self->stall, &node);
}

/* Returns true if all nodes that have not finished the epoch wait. Sets *stall to the waiting
   nodes, and *count to a sum that changes when one of them makes progress. */
static bool all_wait(const struct mpiio_peers *peers, struct mpiio_stall *stall, uint64_t *count)
{
    stall->count = 0;
    *count = 0;
    for (int i = 0; i < peers->peers; i++) {
        const struct mpiio_peer *peer = peers->peer[i];

        if ((peer->awaited & MPIIO_AWAIT_EPOCH) == 0)
            continue;
        if (peer->stall_epoch != peers->rounds.epoch.number || !peer->stall_waits)
            return false;
        *count += peer->stall_count;
        mpiio_stall_merge(stall, &peer->stall);
    }
    return true;
}

void mpiio_epochs_beat(struct mpiio_peers *peers)
{
    struct mpiio_peer_frame frame = {.type = MPIIO_PROGRESS, .number = peers->rounds.epoch.number};
    struct mpiio_stall stall;
    uint8_t bytes[MPIIO_STALL_BYTES];

    if (peers->rounds.epoch.missing == 0 || peers->status.state != MPIIO_PEERS_TOGETHER)
        return;
    note_own(peers);
    frame.flag = all_wait(peers, &stall, &frame.count);
    if (!frame.flag)
        stall.count = 0;
    frame.text = (const char *)bytes;
    frame.text_size = (uint32_t)mpiio_stall_encode(&stall, bytes);
    mpiio_branch_pass_on(peers, &frame);
}

/* Returns the name of a host that node 0 knows: its own, or the host of a node directly below.
   NULL: unknown. */
static const char *find_host(void *data, uint32_t node)
{
    const struct mpiio_peers *peers = data;

    return node < (uint32_t)peers->peers ? peers->peer[node]->host : NULL;
}

/* Copies the name of a node to host, which has MPIIO_HOST_MAX + 1 bytes. */
static void find_name(struct mpiio_peers *peers, const struct mpiio_stall *stall, uint32_t node,
                      char *host)
{
    const char *known = find_host(peers, node);

    for (uint32_t i = 0; i < stall->count && known == NULL; i++)
        if (stall->nodes[i].node == node)
            known = stall->nodes[i].host;
    snprintf(host, MPIIO_HOST_MAX + 1, "%s", known != NULL ? known : "?");
}

/* Acts at node 0 only. All engines in an epoch may wait without progress because some nodes do not
   reach each other. None of them has failed, but they cannot store together. */
void mpiio_epochs_tick(struct mpiio_peers *peers, int64_t now)
{
    struct mpiio_rounds *self = &peers->rounds;
    int64_t since = vs_max(self->moved, peers->attentive);
    struct mpiio_peer_frame frame = {0};
    struct mpiio_stall stall;
    char who[MPIIO_STALL_TEXT], why[sizeof(peers->status.why)];
    uint64_t count;
    int node;

    if (peers->node != 0 || peers->status.state != MPIIO_PEERS_TOGETHER ||
        self->epoch.missing == 0 || now - since <= peers->timeout ||
        !all_wait(peers, &stall, &count))
        return;
    node = mpiio_stall_describe(&stall, find_host, peers, who, sizeof(who));
    frame.node = node < 0 ? 0 : (uint32_t)node;
    find_name(peers, &stall, frame.node, frame.host);
    snprintf(why, sizeof(why), "a flush has not come further for %.1f s: %s",
             (double)(now - since) / 1000, who);
    mpiio_peer_frame_set_text(&frame, why);
    mpiio_degrading_begin(peers, &frame);
}
