/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <errno.h>
#include <stdlib.h>

static void set_starts(struct mpiio_state *state)
{
    for (size_t i = 0; i < state->views; i++)
        atomic_store(&state->position[i], state->start[i]);
}

int mpiio_state_init(struct mpiio_state *state, size_t views, const int64_t *start,
                     _Atomic int64_t *words, int self, int nodes, int64_t ranks)
{
    *state = (struct mpiio_state){
        .views = views,
        .start = start,
        .turns = {.self = self, .nodes = nodes, .ranks = ranks, .views = views}};
    state->own = words == NULL ? calloc(views + 1, sizeof(*state->own)) : NULL;
    state->position = words == NULL ? state->own : words;
    if (state->position == NULL || mpiio_turns_init(&state->turns) != 0) {
        free(state->own);
        return -ENOMEM;
    }
    set_starts(state);
    return 0;
}

void mpiio_state_free(struct mpiio_state *state)
{
    mpiio_turns_free(&state->turns);
    free(state->own);
}

void mpiio_state_reset(struct mpiio_state *state)
{
    mpiio_turns_reset(&state->turns);
    set_starts(state);
}

static int apply_to_view(struct mpiio_state *state, const struct mpiio_entry *entry)
{
    if (entry->view >= state->views)
        return -EPROTO;
    if (entry->kind == MPIIO_ENTRY_POSITION) {
        if (entry->value > INT64_MAX)
            return -EPROTO;
        atomic_store(&state->position[entry->view], (int64_t)entry->value);
        return 0;
    }
    if (state->turns.ranks == 0)
        return -EPROTO;
    if (entry->kind == MPIIO_ENTRY_OPEN)
        return mpiio_turns_open(&state->turns, entry->view, entry->value, entry->node);
    mpiio_turns_advance(&state->turns, entry->view, entry->value);
    return 0;
}

int mpiio_state_apply(struct mpiio_state *state, const struct mpiio_entry *entry)
{
    if (entry->node >= (uint32_t)state->turns.nodes)
        return -EPROTO;
    switch (entry->kind) {
    case MPIIO_ENTRY_POSITION:
    case MPIIO_ENTRY_OPEN:
    case MPIIO_ENTRY_TURN:
        return apply_to_view(state, entry);
    case MPIIO_ENTRY_LEAVE:
        mpiio_turns_leave(&state->turns, entry->node);
        return 0;
    case MPIIO_ENTRY_EXIT:
        mpiio_turns_exit(&state->turns, entry->node);
        return 0;
    }
    return -EPROTO;
}

/* Adds an entry to a list. The list must have room for it. */
static void add_entry(struct mpiio_entry *list, size_t *count, enum mpiio_entry_kind kind,
                      uint32_t node, size_t view, uint64_t value)
{
    list[(*count)++] =
        (struct mpiio_entry){.kind = kind, .node = node, .view = (uint32_t)view, .value = value};
}

/* The LEAVE and EXIT entries come last, so that no rank is skipped before all contributions are
   open again. */
struct mpiio_entry *mpiio_state_snapshot(const struct mpiio_state *state, size_t *count)
{
    const struct mpiio_turns *turns = &state->turns;
    size_t most = 2 * state->views + turns->count + 2 * (size_t)turns->nodes;
    struct mpiio_entry *list = calloc(most + 1, sizeof(*list));

    *count = 0;
    for (size_t i = 0; list != NULL && i < state->views; i++) {
        const struct mpiio_heap *shares = &turns->view[i].shares;

        if (state->position[i] != state->start[i])
            add_entry(list, count, MPIIO_ENTRY_POSITION, 0, i, (uint64_t)state->position[i]);
        if (turns->view[i].turn > 0)
            add_entry(list, count, MPIIO_ENTRY_TURN, 0, i, turns->view[i].turn);
        for (size_t j = 0; j < shares->count; j++) {
            const struct mpiio_turns_share *share = shares->items[j].item;

            add_entry(list, count, MPIIO_ENTRY_OPEN, share->node, i, share->number);
        }
    }
    for (uint32_t i = 0; list != NULL && i < (uint32_t)turns->nodes; i++) {
        if (turns->node[i].leaving)
            add_entry(list, count, MPIIO_ENTRY_LEAVE, i, 0, 0);
        if (turns->node[i].exited)
            add_entry(list, count, MPIIO_ENTRY_EXIT, i, 0, 0);
    }
    return list;
}
