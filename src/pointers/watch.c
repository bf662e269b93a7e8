/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "viewspec/base/integer.h"

/* A node may be silent at its turn for SILENCE timeouts. Nodes check LOOKS times per timeout. */
#define SILENCE 2
#define LOOKS   8

/* ms between two checks, at least and at most. */
#define INTERVAL_MIN 10
#define INTERVAL_MAX 1000

int mpiio_watch_init(struct mpiio_watch *watch)
{
    watch->node = calloc((size_t)watch->record->nodes, sizeof(*watch->node));
    return watch->node != NULL ? 0 : -ENOMEM;
}

void mpiio_watch_free(struct mpiio_watch *watch)
{
    free(watch->node);
}

/* Returns true if the node has exited, or its heartbeat counter has not changed for too long. */
static bool is_silent(struct mpiio_watch *watch, uint32_t node)
{
    struct mpiio_watch_node *self = &watch->node[node];
    int64_t now = mpiio_lease_clock();
    uint64_t beats;

    if (!mpiio_record_has_node(watch->record, (int)node))
        return true;
    beats = mpiio_record_beats(watch->record, (int)node);
    if (self->since == 0 || beats != self->beats)
        *self = (struct mpiio_watch_node){beats, now};
    return now - self->since > SILENCE * watch->timeout;
}

/* Returns another node's contribution in a view that this node waits for, or NULL. If no node
   opens more contributions, missing ranks before it do not count. */
static const struct mpiio_turns_share *awaited(const struct mpiio_watch *watch, size_t view)
{
    const struct mpiio_turns *turns = &watch->state->turns;
    const struct mpiio_turns_share *share = mpiio_turns_first(turns, view);

    if (share == NULL || share->node == (uint32_t)turns->self)
        return NULL;
    if (watch->all)
        return share;
    return share->number == turns->view[view].turn && turns->view[view].own > 0 ? share : NULL;
}

/* Drops the contribution with that number, which this node waits for in a view. It may have
   finished, and its node may have returned, so both conditions are checked again under the lock. */
static int drop_contribution(struct mpiio_watch *watch, size_t view, uint64_t number, uint32_t node)
{
    const struct mpiio_state *state = watch->state;
    const struct mpiio_entry entry = {.kind = MPIIO_ENTRY_TURN,
                                      .node = (uint32_t)state->turns.self,
                                      .view = (uint32_t)view,
                                      .value = number + 1};
    const struct mpiio_turns_share *share;
    int error = mpiio_record_lock(watch->record, false);

    if (error != 0)
        return error;
    error = mpiio_record_read(watch->record, watch->state);
    share = error == 0 ? awaited(watch, view) : NULL;
    if (share != NULL && share->number == number && is_silent(watch, node)) {
        bool exited = !mpiio_record_has_node(watch->record, (int)node);

        error = mpiio_record_append(watch->record, &entry, 1);
        if (error == 0 && watch->dropped != NULL)
            watch->dropped(watch->data, view, number, (int)node, exited, state->position[view]);
        if (error == 0)
            error = mpiio_state_apply(watch->state, &entry);
    }
    if (error != 0)
        watch->record->generation = 0;
    mpiio_record_unlock(watch->record);
    return error;
}

/* Drops the contributions of silent nodes in a view until the turn of a live node comes, or of a
   contribution that is not open yet. */
static int look_at_view(struct mpiio_watch *watch, size_t view)
{
    const struct mpiio_turns_view *self = &watch->state->turns.view[view];
    const struct mpiio_turns_share *share;
    uint64_t turn;
    int error = 0;

    do {
        turn = self->turn;
        share = awaited(watch, view);
        if (share != NULL && is_silent(watch, share->node))
            error = drop_contribution(watch, view, share->number, share->node);
    } while (error == 0 && self->turn != turn);
    return error;
}

/*
 * Restarts the measurement of all nodes' silence after a long pause between two checks. This
 * process may not have run, or may have waited for the lock, so it cannot know whether the others
 * were silent.
 */
static void forget_pause(struct mpiio_watch *watch, int64_t now)
{
    if (now - watch->looked > SILENCE * watch->timeout / 2)
        for (int i = 0; i < watch->record->nodes; i++)
            watch->node[i].since = 0;
    watch->looked = now;
}

void mpiio_watch_look(struct mpiio_watch *watch)
{
    int64_t now = mpiio_lease_clock();

    if (now < watch->due)
        return;
    watch->due = now + vs_min(vs_max(watch->timeout / LOOKS, INTERVAL_MIN), INTERVAL_MAX);
    forget_pause(watch, now);
    /* A node without contributions does not advance its counter. */
    for (int i = 0; i < watch->record->nodes; i++)
        if (watch->state->turns.node[i].held == 0)
            watch->node[i].since = 0;
    mpiio_record_beat(watch->record);
    /* After a failed read the state says nothing. */
    for (size_t view = 0; view < watch->state->turns.views && watch->record->generation != 0;
         view++)
        if (look_at_view(watch, view) != 0)
            return;
}
