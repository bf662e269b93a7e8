/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

/* The guard. Its handler keeps the action that it has replaced. */

#define ACTION_SLOTS 16

/*
 * The action of a signal. Threads replace it as a whole while others, and signal handlers, read it:
 * no reader sees parts of two actions. There is no lock, because sigaction(2) may be called in a
 * signal handler. Also, a fork(2) while another thread held the lock would leave it locked in the
 * child.
 *
 * A slot with users is never written. The current slot has an additional user, and slot 0, which
 * has the default action, is never free. After a fork, a thread that does not exist in the child
 * may leave a slot in use. If there are more threads than slots, they wait for each other.
 */
struct action {
    _Atomic uint64_t current; /* a slot's number, and the number of replacements times the slots */
    struct {
        atomic_uint users;
        struct sigaction action;
    } slot[ACTION_SLOTS];
};

/* The functions below are thread-safe and async-signal-safe. */

/* Returns true if the action has not been replaced since it had the version. */
static inline bool action_is(struct action *self, uint64_t version)
{
    return atomic_load(&self->current) == version;
}

/* Adds a user to the current slot. Returns the version. */
static uint64_t action_hold(struct action *self)
{
    for (;;) {
        uint64_t version = atomic_load(&self->current);

        /* If the slot is no longer current, this user merely delays its reuse for a moment. */
        atomic_fetch_add(&self->slot[version % ACTION_SLOTS].users, 1);
        if (action_is(self, version))
            return version;
        atomic_fetch_sub(&self->slot[version % ACTION_SLOTS].users, 1);
    }
}

static void action_release(struct action *self, uint64_t version)
{
    atomic_fetch_sub(&self->slot[version % ACTION_SLOTS].users, 1);
}

/* Takes a slot that has no user, adds one, and returns the slot's number. */
static unsigned action_take_slot(struct action *self)
{
    for (unsigned i = 1;; i++) {
        unsigned none = 0;

        if (i == ACTION_SLOTS) {
            sched_yield();
            i = 1;
        }
        if (atomic_compare_exchange_strong(&self->slot[i].users, &none, 1))
            return i;
    }
}

/* Makes slot the current one if version is still current. The current slot's additional user
   moves to it. */
static bool action_replace(struct action *self, uint64_t version, unsigned slot)
{
    uint64_t next = (version / ACTION_SLOTS + 1) * ACTION_SLOTS + slot;

    if (!atomic_compare_exchange_strong(&self->current, &version, next))
        return false;
    action_release(self, version);
    return true;
}

/* Copies the action. Returns its version. No two actions have the same version. */
static uint64_t action_get(struct action *self, struct sigaction *action)
{
    uint64_t version = action_hold(self);

    *action = self->slot[version % ACTION_SLOTS].action;
    action_release(self, version);
    return version;
}

/* Replaces the action. If old is not NULL, sets it to the previous action. */
static void action_set(struct action *self, const struct sigaction *action, struct sigaction *old)
{
    unsigned slot = action_take_slot(self);
    uint64_t version;

    self->slot[slot].action = *action;
    for (;;) {
        version = action_hold(self);
        if (action_replace(self, version, slot))
            break;
        action_release(self, version);
    }
    if (old != NULL)
        *old = self->slot[version % ACTION_SLOTS].action;
    action_release(self, version);
}

/* Replaces the action of a version by the default action, unless it has been replaced already. */
static void action_reset(struct action *self, uint64_t version)
{
    atomic_fetch_add(&self->slot[0].users, 1);
    if (!action_replace(self, version, 0))
        action_release(self, 0);
}

/* The guard. */

struct guard {
    sigjmp_buf back;
    uintptr_t base;
    size_t size;
};

/*
 * A signal handler must not cause the loader to allocate this variable in a thread that has not
 * used it yet. With initial-exec it is part of the block that each thread starts with.
 */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct guard *volatile current;

static struct action previous = {.slot = {{.users = 2}}}; /* the default action */
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static atomic_bool stands; /* the handler is installed and previous is set */

/* Restores the default action. The fault is repeated on return and then ends the process. */
static void guard_step_back(int number)
{
    atomic_store(&stands, false);
    signal(number, SIG_DFL);
}

static bool is_handled(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void guard_forward(int number, siginfo_t *info, void *context)
{
    struct sigaction action;
    uint64_t version = action_get(&previous, &action);

    if (is_handled(&action)) {
        if ((action.sa_flags & SA_RESETHAND) != 0)
            action_reset(&previous, version);
        if ((action.sa_flags & SA_SIGINFO) != 0)
            action.sa_sigaction(number, info, context);
        else
            action.sa_handler(number);
    } else if (info->si_code > 0) {
        guard_step_back(number);
    } else if (action.sa_handler == SIG_DFL) {
        guard_step_back(number);
        raise(number);
    }
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    struct guard *guard = current;

    if (guard != NULL && info->si_code > 0 &&
        (uintptr_t)info->si_addr - guard->base < guard->size) {
        /* sigsetjmp does not save the mask, which would cost a system call. So restore it here. */
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(guard->back, 1);
    }
    guard_forward(number, info, context);
}

/*
 * Installs the handler in front of previous, with that action's flags and mask. So the program's
 * handler runs on the stack, and with the blocked signals, that it expects. A signal that the
 * program ignores interrupts no system call.
 */
static void guard_install_before(const struct sigaction *behind)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

    sigemptyset(&action.sa_mask);
    if (is_handled(behind)) {
        action.sa_mask = behind->sa_mask;
        action.sa_flags = SA_SIGINFO | (behind->sa_flags & ~SA_RESETHAND);
    }
    action.sa_sigaction = on_sigbus;
    sigaction(SIGBUS, &action, NULL);
}

/* Installs the handler for the current action. Repeats that if another thread has replaced the
   action. */
static void guard_reinstall(void)
{
    struct sigaction behind;
    uint64_t version;

    do {
        version = action_get(&previous, &behind);
        guard_install_before(&behind);
    } while (!action_is(&previous, version));
}

static void guard_install(void)
{
    struct sigaction action;

    sigaction(SIGBUS, NULL, &action);
    action_set(&previous, &action, NULL);
    guard_reinstall();
    atomic_store(&stands, true);
}

bool mpiio_guard_action(const struct sigaction *action, struct sigaction *old)
{
    if (!atomic_load(&stands))
        return false;
    if (action != NULL) {
        action_set(&previous, action, old);
        guard_reinstall();
    } else if (old != NULL) {
        action_get(&previous, old);
    }
    return true;
}

bool mpiio_guard_call(void (*work)(void *argument), void *argument, const void *base, size_t size)
{
    struct guard guard = {.base = (uintptr_t)base, .size = size};

    pthread_once(&installed, guard_install);
    if (sigsetjmp(guard.back, 0) != 0) {
        current = NULL;
        return false;
    }
    current = &guard;
    atomic_signal_fence(memory_order_seq_cst);
    work(argument);
    atomic_signal_fence(memory_order_seq_cst);
    current = NULL;
    return true;
}
