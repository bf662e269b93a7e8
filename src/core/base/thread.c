/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

/* The arguments of a new thread, and a semaphore with which its creator waits for its start. */
struct beginning {
    void *(*work)(void *argument);
    void *argument;
    sem_t begun;
};

/*
 * The C library assigns an arena to a thread at the thread's first allocation. If there is no
 * memory for one at that time, all later allocations of the thread fail, however small they are and
 * however much memory other arenas have.
 */
static void take_arena(void)
{
    void *volatile first = malloc(1);

    free(first);
}

static void *begin_thread(void *data)
{
    struct beginning *beginning = data;
    void *(*work)(void *argument) = beginning->work;
    void *argument = beginning->argument;

    take_arena();
    sem_post(&beginning->begun);
    return work(argument);
}

static int create_thread(pthread_t *thread, const pthread_attr_t *attributes,
                         struct beginning *beginning)
{
    int error;

    sem_init(&beginning->begun, 0, 0);
    error = pthread_create(thread, attributes, begin_thread, beginning);
    while (error == 0 && sem_wait(&beginning->begun) != 0)
        continue;
    sem_destroy(&beginning->begun);
    return -error;
}

int mpiio_thread_start(pthread_t *thread, void *(*work)(void *argument), void *argument)
{
    struct beginning beginning = {.work = work, .argument = argument};
    sigset_t others, before;
    pthread_attr_t attributes;
    int error;

    sigfillset(&others);
    sigdelset(&others, SIGBUS);
    sigdelset(&others, SIGFPE);
    sigdelset(&others, SIGILL);
    sigdelset(&others, SIGSEGV);
    pthread_attr_init(&attributes);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    error = create_thread(thread, &attributes, &beginning);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Locks. */

void mpiio_rwlock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}
