/* SPDX-License-Identifier: MIT */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "hold.h"

#include <pthread.h>
#include <stddef.h>

_Thread_local int run_inside __attribute__((tls_model("initial-exec")));

void run_hold(struct run_held *held)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
    sigset_t signals;

    sigfillset(&signals);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(&signals, faults[i]);
    pthread_sigmask(SIG_BLOCK, &signals, &held->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held->cancellation);
    run_inside++;
}

void run_unhold(const struct run_held *held)
{
    run_inside--;
    pthread_setcancelstate(held->cancellation, NULL);
    pthread_sigmask(SIG_SETMASK, &held->signals, NULL);
}
