/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

#include "action.h"

struct guard {
    sigjmp_buf back;
    uintptr_t base;
    size_t size;
};

/*
 * The handler must not make the loader allocate this variable for a thread that has never been
 * here: with initial-exec it is part of the block that each thread starts with.
 */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct guard *volatile current;

static struct mpiio_action previous = MPIIO_ACTION_INIT;
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static atomic_bool stands; /* the handler is installed, and previous is set */

/* Restores the default action. The fault is repeated on return and then ends the process. */
static void step_back(int number)
{
    atomic_store(&stands, false);
    signal(number, SIG_DFL);
}

static bool is_handled(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static void hand_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action;
    uint64_t version = mpiio_action_get(&previous, &action);

    if (is_handled(&action)) {
        if ((action.sa_flags & SA_RESETHAND) != 0)
            mpiio_action_reset(&previous, version);
        if ((action.sa_flags & SA_SIGINFO) != 0)
            action.sa_sigaction(number, info, context);
        else
            action.sa_handler(number);
    } else if (info->si_code > 0) {
        step_back(number);
    } else if (action.sa_handler == SIG_DFL) {
        step_back(number);
        raise(number);
    }
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    struct guard *guard = current;

    if (guard != NULL && info->si_code > 0 &&
        (uintptr_t)info->si_addr - guard->base < guard->size) {
        /* The jump leaves the mask alone, so that setting it up costs no system call. */
        pthread_sigmask(SIG_SETMASK, &((const ucontext_t *)context)->uc_sigmask, NULL);
        siglongjmp(guard->back, 1);
    }
    hand_on(number, info, context);
}

/*
 * Puts the handler before previous. It has the flags and the mask of that, so that the program's
 * handler runs on the stack that it expects, with the signals blocked that it asked for. A signal
 * that is ignored interrupts no system call.
 */
static void stand_before(const struct sigaction *behind)
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

/* Installs the handler for the current action, again if another thread has replaced that. */
static void stand(void)
{
    struct sigaction behind;
    uint64_t version;

    do {
        version = mpiio_action_get(&previous, &behind);
        stand_before(&behind);
    } while (!mpiio_action_is(&previous, version));
}

static void install(void)
{
    struct sigaction action;

    sigaction(SIGBUS, NULL, &action);
    mpiio_action_set(&previous, &action, NULL);
    stand();
    atomic_store(&stands, true);
}

bool mpiio_guard_action(const struct sigaction *action, struct sigaction *old)
{
    if (!atomic_load(&stands))
        return false;
    if (action != NULL) {
        mpiio_action_set(&previous, action, old);
        stand();
    } else if (old != NULL) {
        mpiio_action_get(&previous, old);
    }
    return true;
}

bool mpiio_guard_returns_to(const struct __jmp_buf_tag *back)
{
    return current != NULL && back == current->back;
}

void mpiio_guard_abandon(void)
{
    current = NULL;
}

bool mpiio_guard_call(void (*work)(void *argument), void *argument, const void *base, size_t size)
{
    struct guard guard = {.base = (uintptr_t)base, .size = size};

    pthread_once(&installed, install);
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
