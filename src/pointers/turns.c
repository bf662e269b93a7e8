/* SPDX-License-Identifier: MIT */
#include "turns.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS 64

int mpiio_turns_init(struct mpiio_turns *turns)
{
    turns->view = calloc(turns->views + 1, sizeof(*turns->view));
    turns->room = BUCKETS;
    turns->buckets = calloc(turns->room, sizeof(struct mpiio_turns_share *));
    if (turns->view != NULL && turns->buckets != NULL)
        return 0;
    mpiio_turns_free(turns);
    return -ENOMEM;
}

void mpiio_turns_free(struct mpiio_turns *turns)
{
    for (size_t i = 0; turns->view != NULL && i < turns->views; i++) {
        struct mpiio_heap *shares = &turns->view[i].shares;

        for (size_t j = 0; j < shares->count; j++)
            free(shares->items[j].item);
        mpiio_heap_free(shares);
    }
    free(turns->view);
    free(turns->buckets);
    turns->view = NULL;
    turns->buckets = NULL;
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

/* More buckets, if there is memory for them. */
static void grow(struct mpiio_turns *turns)
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

static int add_share(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node)
{
    struct mpiio_heap *shares = &turns->view[view].shares;
    struct mpiio_turns_share *share;

    if (mpiio_heap_reserve(shares, 1) != 0 || (share = malloc(sizeof(*share))) == NULL)
        return -ENOMEM;
    *share = (struct mpiio_turns_share){.number = number, .view = (uint32_t)view, .node = node};
    mpiio_heap_put(shares, number, share);
    enter_share(turns, share);
    turns->view[view].own += (int)node == turns->self;
    turns->node[node].held++;
    if (++turns->count > turns->room)
        grow(turns);
    return 0;
}

/* Forgets the first share that is known of a view. */
static void drop(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_share *share = mpiio_heap_least(&turns->view[view].shares);
    struct mpiio_turns_share **link = bucket(turns, view, share->number);

    while (*link != share)
        link = &(*link)->next;
    *link = share->next;
    turns->view[view].own -= (int)share->node == turns->self;
    turns->node[share->node].held--;
    turns->count--;
    mpiio_heap_drop(&turns->view[view].shares);
    free(share);
}

void mpiio_turns_learn(struct mpiio_turns *turns, size_t view, uint64_t turn)
{
    struct mpiio_turns_view *self = &turns->view[view];
    const struct mpiio_turns_share *share;

    if (turn <= self->turn)
        return;
    self->turn = turn;
    turns->changes++;
    while ((share = mpiio_heap_least(&self->shares)) != NULL && share->number < turn)
        drop(turns, view);
}

int mpiio_turns_hold(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node)
{
    const struct mpiio_turns_share *share;

    if (number < turns->view[view].turn)
        return -ESTALE;
    share = find_share(turns, view, number);
    if (share == NULL)
        return add_share(turns, view, number, node);
    return share->node == node ? 0 : -ESTALE;
}

/* Whether the ranks that are missing before the first share do not come any more. */
static bool skips(const struct mpiio_turns *turns, size_t view)
{
    const struct mpiio_heap *shares = &turns->view[view].shares;
    bool any = false;

    for (int i = 0; i < turns->nodes && !any; i++)
        any = turns->node[i].leaving && turns->node[i].held > 0;
    if (!any)
        return false;
    for (size_t i = 0; i < shares->count; i++)
        if (turns->node[((struct mpiio_turns_share *)shares->items[i].item)->node].leaving)
            return true;
    return false;
}

/* The turn passes over what waits for nothing. */
static void settle(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_view *self = &turns->view[view];
    const struct mpiio_turns_share *share;

    while ((share = mpiio_heap_least(&self->shares)) != NULL)
        if (share->number == self->turn && turns->node[share->node].gone)
            mpiio_turns_learn(turns, view, self->turn + 1);
        else if (share->number > self->turn && skips(turns, view))
            mpiio_turns_learn(turns, view, share->number);
        else
            break;
}

static void settle_all(struct mpiio_turns *turns)
{
    for (size_t view = 0; view < turns->views; view++)
        settle(turns, view);
}

void mpiio_turns_begin(struct mpiio_turns *turns, int64_t now)
{
    turns->looked = now;
    for (int i = 0; i < turns->nodes; i++)
        turns->node[i].heard = now;
    settle_all(turns);
}

void mpiio_turns_hear(struct mpiio_turns *turns, uint32_t node, int64_t now)
{
    int64_t slept = now - turns->looked - turns->patience / 2;

    for (int i = 0; i < turns->nodes && slept > 0; i++)
        turns->node[i].heard += slept;
    turns->looked = now;
    turns->node[node].heard = now;
}

/* The next number of a rank. */
static uint64_t next_number(const struct mpiio_turns *turns, size_t view, uint64_t rank)
{
    uint64_t ranks = (uint64_t)turns->ranks, turn = turns->view[view].turn;
    uint64_t number = turn - turn % ranks + rank;

    number += number < turn ? ranks : 0;
    for (const struct mpiio_turns_share *share = *bucket(turns, view, rank); share != NULL;
         share = share->next)
        if (share->view == view && share->number % ranks == rank && share->number >= number)
            number = share->number + ranks;
    return number;
}

int mpiio_turns_open(struct mpiio_turns *turns, size_t view, int64_t rank, uint32_t node,
                     uint64_t *number)
{
    *number = next_number(turns, view, (uint64_t)rank);
    return add_share(turns, view, *number, node);
}

int mpiio_turns_use(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node)
{
    /* Who comes at its turn knows that those before are over. */
    mpiio_turns_learn(turns, view, number);
    return mpiio_turns_hold(turns, view, number, node);
}

void mpiio_turns_over(struct mpiio_turns *turns, size_t view, uint64_t number, uint32_t node)
{
    if (mpiio_turns_use(turns, view, number, node) != -ESTALE)
        mpiio_turns_learn(turns, view, number + 1);
    settle(turns, view);
}

/* Who has the turn of a view is about to be passed over. */
static void note_passed(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_view *self = &turns->view[view];

    if (!self->passed.any)
        self->passed = (struct mpiio_turns_passed){true, mpiio_turns_owner(turns, view), self->turn,
                                                   turns->values[view].position};
}

struct mpiio_turns_passed mpiio_turns_take_passed(struct mpiio_turns *turns, size_t view)
{
    struct mpiio_turns_passed passed = turns->view[view].passed;

    turns->view[view].passed.any = false;
    return passed;
}

void mpiio_turns_gone(struct mpiio_turns *turns, uint32_t node)
{
    if (turns->node[node].gone)
        return;
    turns->node[node].gone = true;
    for (size_t view = 0; view < turns->views; view++)
        if (mpiio_turns_owner(turns, view) == node)
            note_passed(turns, view);
    settle_all(turns);
}

void mpiio_turns_leave(struct mpiio_turns *turns, uint32_t node)
{
    if (turns->node[node].leaving)
        return;
    turns->node[node].leaving = true;
    settle_all(turns);
}

static bool is_silent(const struct mpiio_turns *turns, uint32_t node, int64_t now)
{
    return (int)node != turns->self && now - turns->node[node].heard > turns->patience;
}

bool mpiio_turns_misses(const struct mpiio_turns *turns, uint32_t node, int64_t now)
{
    const struct mpiio_turns_node *self = &turns->node[node];

    return (int)node != turns->self && self->held > 0 && !self->gone &&
           now - self->heard > turns->patience / 4;
}

void mpiio_turns_pass_silent(struct mpiio_turns *turns, size_t view, int64_t now)
{
    uint32_t owner;

    while ((owner = mpiio_turns_owner(turns, view)) != MPIIO_TURNS_NOBODY &&
           is_silent(turns, owner, now)) {
        note_passed(turns, view);
        mpiio_turns_learn(turns, view, turns->view[view].turn + 1);
        settle(turns, view);
    }
}

uint32_t mpiio_turns_owner(const struct mpiio_turns *turns, size_t view)
{
    const struct mpiio_turns_view *self = &turns->view[view];
    const struct mpiio_turns_share *share = mpiio_heap_least(&self->shares);

    return share != NULL && share->number == self->turn ? share->node : MPIIO_TURNS_NOBODY;
}

static bool is_awaited(const struct mpiio_turns *turns, const struct mpiio_turns_node *node,
                       uint32_t by)
{
    if ((int)by == turns->self)
        return !node->free;
    return node->held > 0 || (node->leaving && !node->done);
}

int64_t mpiio_turns_done(struct mpiio_turns *turns, uint32_t node, int64_t now, uint32_t *first)
{
    int64_t awaited = 0;

    *first = MPIIO_TURNS_NOBODY;
    turns->node[node].done = true;
    for (uint32_t i = (uint32_t)turns->nodes; i-- > 0;) {
        if (i == node || turns->node[i].gone || is_silent(turns, i, now) ||
            !is_awaited(turns, &turns->node[i], node))
            continue;
        *first = i;
        awaited++;
    }
    turns->node[node].free = awaited == 0;
    return awaited;
}

/* How many shares of those that are gone are known. */
static size_t count_gone(const struct mpiio_turns *turns)
{
    size_t count = 0;

    for (int i = 0; i < turns->nodes; i++)
        count += turns->node[i].gone ? turns->node[i].held : 0;
    return count;
}

size_t mpiio_turns_untold(struct mpiio_turns *turns, struct mpiio_pointers_share **shares)
{
    size_t most = count_gone(turns), count = 0;

    *shares = most > 0 ? calloc(most, sizeof(**shares)) : NULL;
    for (size_t i = 0; i < turns->views && *shares != NULL; i++) {
        const struct mpiio_heap *known = &turns->view[i].shares;

        for (size_t j = 0; j < known->count; j++) {
            struct mpiio_turns_share *share = known->items[j].item;

            if (!turns->node[share->node].gone || share->told)
                continue;
            share->told = true;
            (*shares)[count++] =
                (struct mpiio_pointers_share){share->view, share->node, share->number};
        }
    }
    return count;
}
