/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <signal.h>

int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    sigset_t others, before;
    int error;

    sigfillset(&others);
    sigdelset(&others, SIGBUS);
    sigdelset(&others, SIGFPE);
    sigdelset(&others, SIGILL);
    sigdelset(&others, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    error = pthread_create(thread, NULL, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}
