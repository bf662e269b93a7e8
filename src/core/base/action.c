/* SPDX-License-Identifier: MIT */
#include "action.h"

#include <sched.h>
#include <stddef.h>

#define SLOTS MPIIO_ACTION_SLOTS

/* Adds a user to the current slot. Returns the version. */
static uint64_t hold(struct mpiio_action *self)
{
    for (;;) {
        uint64_t version = atomic_load(&self->current);

        /* Another user keeps a slot that is no longer current from being taken, for a moment. */
        atomic_fetch_add(&self->slot[version % SLOTS].users, 1);
        if (mpiio_action_is(self, version))
            return version;
        atomic_fetch_sub(&self->slot[version % SLOTS].users, 1);
    }
}

static void let_go(struct mpiio_action *self, uint64_t version)
{
    atomic_fetch_sub(&self->slot[version % SLOTS].users, 1);
}

/* Returns the number of a slot that had no user, with one. */
static unsigned take_slot(struct mpiio_action *self)
{
    for (unsigned i = 1;; i++) {
        unsigned none = 0;

        if (i == SLOTS) {
            sched_yield();
            i = 1;
        }
        if (atomic_compare_exchange_strong(&self->slot[i].users, &none, 1))
            return i;
    }
}

/* Makes slot the current one if the version still is. The current slot's user passes over to it. */
static bool replace(struct mpiio_action *self, uint64_t version, unsigned slot)
{
    uint64_t next = (version / SLOTS + 1) * SLOTS + slot;

    if (!atomic_compare_exchange_strong(&self->current, &version, next))
        return false;
    let_go(self, version);
    return true;
}

uint64_t mpiio_action_get(struct mpiio_action *self, struct sigaction *action)
{
    uint64_t version = hold(self);

    *action = self->slot[version % SLOTS].action;
    let_go(self, version);
    return version;
}

void mpiio_action_set(struct mpiio_action *self, const struct sigaction *action,
                      struct sigaction *old)
{
    unsigned slot = take_slot(self);
    uint64_t version;

    self->slot[slot].action = *action;
    for (;;) {
        version = hold(self);
        if (replace(self, version, slot))
            break;
        let_go(self, version);
    }
    if (old != NULL)
        *old = self->slot[version % SLOTS].action;
    let_go(self, version);
}

void mpiio_action_reset(struct mpiio_action *self, uint64_t version)
{
    atomic_fetch_add(&self->slot[0].users, 1);
    if (!replace(self, version, 0))
        let_go(self, 0);
}
