/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <sched.h>
#include <signal.h>

/* This thread is kept on one processor; where it might run before. */
static _Thread_local bool is_bound;
static _Thread_local cpu_set_t unbound;

bool mpiio_thread_bind(unsigned processor)
{
    cpu_set_t there;

    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    is_bound = sched_getaffinity(0, sizeof(unbound), &unbound) == 0 &&
               sched_setaffinity(0, sizeof(there), &there) == 0;
    return is_bound;
}

int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    sigset_t others, before;
    pthread_attr_t attributes;
    int error;

    sigfillset(&others);
    sigdelset(&others, SIGBUS);
    sigdelset(&others, SIGFPE);
    sigdelset(&others, SIGILL);
    sigdelset(&others, SIGSEGV);
    pthread_attr_init(&attributes);
    if (is_bound)
        pthread_attr_setaffinity_np(&attributes, sizeof(unbound), &unbound);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    error = pthread_create(thread, &attributes, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}
