/* SPDX-License-Identifier: MIT */
#include "guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

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

static struct sigaction previous;
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static atomic_bool stands; /* the handler is installed, and previous is set */

/* Restores the default action. The fault is repeated on return and then ends the process. */
static void step_back(int number)
{
    atomic_store(&stands, false);
    signal(number, SIG_DFL);
}

static void hand_on(int number, siginfo_t *info, void *context)
{
    if ((previous.sa_flags & SA_SIGINFO) != 0) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    } else if (info->si_code > 0) {
        step_back(number);
    } else if (previous.sa_handler == SIG_DFL) {
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

static void install(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    action.sa_sigaction = on_sigbus;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, NULL, &previous);
    sigaction(SIGBUS, &action, NULL);
    atomic_store(&stands, true);
}

bool mpiio_guard_action(const struct sigaction *action, struct sigaction *old)
{
    if (!atomic_load(&stands))
        return false;
    if (old != NULL)
        *old = previous;
    if (action != NULL)
        previous = *action;
    return true;
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
