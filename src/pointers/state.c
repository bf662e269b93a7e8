/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Turns. */

#define BUCKETS 64

/* Sets each view to its first turn, without contributions. */
static void clear_views(struct mpiio_turns *turns)
{
    for (size_t i = 0; i < turns->views && turns->view != NULL; i++) {
        struct mpiio_turns_view *view = &turns->view[i];

        for (size_t j = 0; j < view->shares.count; j++)
            free(view->shares.items[j].item);
        mpiio_heap_free(&view->shares);
        *view = (struct mpiio_turns_view){0};
    }
}

static struct mpiio_turns_share **bucket(const struct mpiio_turns *turns, size_t view,
                                         uint64_t number)
{
    uint64_t rank = number % (uint64_t)turns->ranks;

    return &turns->buckets[(rank + view * 31) % turns->room];
}

static struct mpiio_turns_share *find_share(const struct mpiio_turns *turns, size_t view,
                                            uint64_t number)
{
    struct mpiio_turns_share *share = *bucket(turns, view, number);

    while (share != NULL && (share->view != view || share->number != number))
        share = share->next;
    return share;
}

static void enter_share(struct mpiio_turns *turns, struct mpiio_turns_share *share)
{
    struct mpiio_turns_share **place = bucket(turns, share->view, share->number);

    share->next = *place;
    *place = share;
}

/* Doubles the number of buckets if there is memory for them. */
static void grow_buckets(struct mpiio_turns *turns)
{
    struct mpiio_turns_share **grown = calloc(2 * turns->room, sizeof(struct mpiio_turns_share *));

    if (grown == NULL)
        return;
    free(turns->buckets);
    turns->buckets = grown;
    turns->room *= 2;
    for (size_t i = 0; i < turns->views; i++)
        for (size_t j = 0; j < turns->view[i].shares.count; j++)
            enter_share(turns, turns->view[i].shares.items[j].item);
}

/* Adds change, 1 or -1, to the number of open contributions of a contribution's owner. */
static void count_share(struct mpiio_turns *turns, const struct mpiio_turns_share *share,
                        int change)
{
    turns->node[share->node].held += (size_t)change;
    if ((int)share->node == turns->self)
        turns->view[share->view].own += (size_t)change;
}

static int open_share(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node)
{
    struct mpiio_heap *shares = &turns->view[view].shares;
    struct mpiio_turns_share *share;

    if (number < turns->view[view].turn || find_share(turns, view, number) != NULL)
        return -EPROTO;
    if (mpiio_heap_reserve(shares, 1) != 0 || (share = malloc(sizeof(*share))) == NULL)
        return -ENOMEM;
    *share = (struct mpiio_turns_share){.number = number, .view = (uint32_t)view, .node = node};
    mpiio_heap_put(shares, number, share);
    enter_share(turns, share);
    count_share(turns, share, 1);
    if (++turns->count > turns->room)
        grow_buckets(turns);
    return 0;
}

/* Removes the open contribution of a view with the lowest number. */
static void drop_first(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_share *share = mpiio_heap_least(&turns->view[view].shares);
    struct mpiio_turns_share **link = bucket(turns, view, share->number);

    while (*link != share)
        link = &(*link)->next;
    *link = share->next;
    count_share(turns, share, -1);
    turns->count--;
    mpiio_heap_drop(&turns->view[view].shares);
    free(share);
}

static void set_turn(struct mpiio_turns *turns, size_t view, uint64_t turn)
{
    struct mpiio_turns_view *self = &turns->view[view];
    const struct mpiio_turns_share *share;

    if (turn <= self->turn)
        return;
    self->turn = turn;
    turns->changes++;
    while ((share = mpiio_heap_least(&self->shares)) != NULL && share->number < turn)
        drop_first(turns, view);
}

/* Returns true if a leaving node has an open contribution in the view. Missing ranks before the
   first open contribution are then skipped. */
static bool skips_missing(const struct mpiio_turns *turns, size_t view)
{
    const struct mpiio_heap *shares = &turns->view[view].shares;
    bool any = false;

    for (int i = 0; i < turns->nodes && !any; i++)
        any = turns->node[i].leaving && turns->node[i].held > 0;
    for (size_t i = 0; any && i < shares->count; i++)
        if (turns->node[((struct mpiio_turns_share *)shares->items[i].item)->node].leaving)
            return true;
    return false;
}

/* Advances the turn past contributions of nodes that have exited, and past ranks that are
   skipped. */
static void settle(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_view *self = &turns->view[view];
    const struct mpiio_turns_share *share;

    while ((share = mpiio_heap_least(&self->shares)) != NULL)
        if (share->number == self->turn && turns->node[share->node].exited)
            set_turn(turns, view, self->turn + 1);
        else if (share->number > self->turn && skips_missing(turns, view))
            set_turn(turns, view, share->number);
        else
            break;
}

uint64_t mpiio_turns_next(const struct mpiio_turns *turns, size_t view, int64_t rank)
{
    uint64_t ranks = (uint64_t)turns->ranks, turn = turns->view[view].turn;
    uint64_t number = turn - turn % ranks + (uint64_t)rank;

    number += number < turn ? ranks : 0;
    for (const struct mpiio_turns_share *share = *bucket(turns, view, (uint64_t)rank);
         share != NULL; share = share->next)
        if (share->view == view && share->number % ranks == (uint64_t)rank &&
            share->number >= number)
            number = share->number + ranks;
    return number;
}

uint32_t mpiio_turns_owner(const struct mpiio_turns *turns, size_t view)
{
    const struct mpiio_turns_share *share = mpiio_turns_first(turns, view);

    return share != NULL && share->number == turns->view[view].turn ? share->node
                                                                    : MPIIO_TURNS_NOBODY;
}

bool mpiio_turns_of_others(const struct mpiio_turns *turns)
{
    for (size_t view = 0; view < turns->views; view++) {
        uint32_t owner = mpiio_turns_owner(turns, view);

        if (owner != MPIIO_TURNS_NOBODY && owner != (uint32_t)turns->self)
            return true;
    }
    return false;
}

uint64_t mpiio_turns_distance(const struct mpiio_turns *turns)
{
    uint64_t least = UINT64_MAX;

    for (size_t view = 0; view < turns->views; view++) {
        const struct mpiio_turns_view *self = &turns->view[view];
        bool waits = self->own > 0 && mpiio_turns_owner(turns, view) != (uint32_t)turns->self;

        for (size_t i = 0; waits && i < self->shares.count; i++) {
            const struct mpiio_turns_share *share = self->shares.items[i].item;

            if ((int)share->node == turns->self && share->number - self->turn < least)
                least = share->number - self->turn;
        }
    }
    return least;
}

const struct mpiio_turns_share *mpiio_turns_first(const struct mpiio_turns *turns, size_t view)
{
    return mpiio_heap_least(&turns->view[view].shares);
}

/* Positions, turns and entries. */

int mpiio_state_init(struct mpiio_state *state, size_t views, _Atomic int64_t *words, int self,
                     int nodes, int64_t ranks)
{
    struct mpiio_turns *turns = &state->turns;

    *state = (struct mpiio_state){
        .turns = {.self = self, .nodes = nodes, .ranks = ranks, .views = views, .room = BUCKETS}};
    state->own = words == NULL ? calloc(views + 1, sizeof(*state->own)) : NULL;
    state->position = words == NULL ? state->own : words;
    turns->view = calloc(views + 1, sizeof(*turns->view));
    turns->node = calloc((size_t)nodes, sizeof(*turns->node));
    turns->buckets = calloc(turns->room, sizeof(struct mpiio_turns_share *));
    if (state->position != NULL && turns->view != NULL && turns->node != NULL &&
        turns->buckets != NULL)
        return 0;
    mpiio_state_free(state);
    return -ENOMEM;
}

void mpiio_state_free(struct mpiio_state *state)
{
    clear_views(&state->turns);
    free(state->turns.view);
    free(state->turns.node);
    free(state->turns.buckets);
    free(state->own);
}

void mpiio_state_reset(struct mpiio_state *state)
{
    struct mpiio_turns *turns = &state->turns;

    clear_views(turns);
    memset(turns->node, 0, (size_t)turns->nodes * sizeof(*turns->node));
    memset(turns->buckets, 0, turns->room * sizeof(struct mpiio_turns_share *));
    turns->count = 0;
    for (size_t i = 0; i < turns->views; i++)
        atomic_store(&state->position[i], 0);
}

static int apply_to_view(struct mpiio_state *state, const struct mpiio_entry *entry)
{
    if (entry->view >= state->turns.views)
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
        return open_share(&state->turns, entry->view, entry->value, entry->node);
    set_turn(&state->turns, entry->view, entry->value);
    settle(&state->turns, entry->view);
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
        state->turns.node[entry->node].leaving = true;
        break;
    case MPIIO_ENTRY_EXIT:
        state->turns.node[entry->node].exited = true;
        break;
    default:
        return -EPROTO;
    }
    for (size_t view = 0; view < state->turns.views; view++)
        settle(&state->turns, view);
    return 0;
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
    size_t most = 2 * turns->views + turns->count + 2 * (size_t)turns->nodes;
    struct mpiio_entry *list = calloc(most + 1, sizeof(*list));

    *count = 0;
    for (size_t i = 0; list != NULL && i < turns->views; i++) {
        const struct mpiio_heap *shares = &turns->view[i].shares;

        if (state->position[i] != 0)
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
