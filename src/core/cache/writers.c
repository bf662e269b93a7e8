/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    uint64_t first = ((const struct mpiio_holder *)a)->id;
    uint64_t second = ((const struct mpiio_holder *)b)->id;

    return first < second ? -1 : first > second;
}

struct mpiio_holder *mpiio_holder_find(mpiio_holder_tree *tree, uint64_t id)
{
    const struct mpiio_holder key = {.id = id};
    struct mpiio_holder **found = tfind(&key, tree, compare);

    return found != NULL ? *found : NULL;
}

struct mpiio_holder *mpiio_holder_get(mpiio_holder_tree *tree, uint64_t id)
{
    struct mpiio_holder *holder = mpiio_holder_find(tree, id);

    if (holder != NULL)
        return holder;
    holder = calloc(1, sizeof(*holder));
    if (holder == NULL)
        return NULL;
    holder->id = id;
    if (tsearch(holder, tree, compare) == NULL) {
        free(holder);
        return NULL;
    }
    return holder;
}

void mpiio_holder_free_all(mpiio_holder_tree *tree)
{
    tdestroy(*tree, free);
    *tree = NULL;
}

/* The place of holder in the set, or where it belongs. */
static size_t place_of(const struct mpiio_holders *holders, const struct mpiio_holder *holder)
{
    size_t low = 0, high = holders->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (holders->holder[middle] < holder)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void mpiio_holders_add(struct mpiio_holders *holders, struct mpiio_holder *holder)
{
    size_t place = place_of(holders, holder);

    if (place < holders->count && holders->holder[place] == holder)
        return;
    if (holders->count == holders->room) {
        size_t room = holders->room == 0 ? 4 : 2 * holders->room;
        struct mpiio_holder **more = realloc(holders->holder, room * sizeof(struct mpiio_holder *));

        if (more == NULL) {
            holders->everyone = true;
            return;
        }
        holders->holder = more;
        holders->room = room;
    }
    memmove(holders->holder + place + 1, holders->holder + place,
            (holders->count - place) * sizeof(struct mpiio_holder *));
    holders->holder[place] = holder;
    holders->count++;
}

void mpiio_holders_clear(struct mpiio_holders *holders)
{
    free(holders->holder);
    *holders = (struct mpiio_holders){0};
}
