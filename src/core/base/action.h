/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ACTION_H
#define MPIIO_ACTION_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MPIIO_ACTION_SLOTS 16

/*
 * The action of a signal, which threads replace as a whole while others, and signal handlers, read
 * it: nobody sees parts of two actions. There is no lock, because sigaction(2) may be called in a
 * signal handler, and a fork(2) while another thread had the lock would leave it locked in the
 * child.
 *
 * A slot with users is not written to. The current one always has a user more, and slot 0, of
 * the default action, is never free. A thread that is no more after a fork may leave a slot in use.
 * More threads at once than there are slots wait for each other.
 */
struct mpiio_action {
    _Atomic uint64_t current; /* a slot's number, and the number of replacements times the slots */
    struct {
        atomic_uint users;
        struct sigaction action;
    } slot[MPIIO_ACTION_SLOTS];
};

/* The default action, as an initial value. */
#define MPIIO_ACTION_INIT                                                                          \
    {                                                                                              \
        .slot = { {.users = 2} }                                                                   \
    }

/* The functions below are thread-safe and async-signal-safe. */

/* Copies the action. Returns its version: another one's differs. */
uint64_t mpiio_action_get(struct mpiio_action *self, struct sigaction *action);

/* Replaces the action, and sets old, if it is not NULL, to the one that it replaces. */
void mpiio_action_set(struct mpiio_action *self, const struct sigaction *action,
                      struct sigaction *old);

/* Replaces the action of that version by the default one, unless that has been replaced already. */
void mpiio_action_reset(struct mpiio_action *self, uint64_t version);

/* Returns true if the action has not been replaced since it had the version. */
static inline bool mpiio_action_is(struct mpiio_action *self, uint64_t version)
{
    return atomic_load(&self->current) == version;
}

#endif
