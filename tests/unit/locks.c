/* SPDX-License-Identifier: MIT */
/*
 * Replaces pthread_mutex_unlock(3) in every unit test, also for libraries: aborts if the calling
 * thread does not hold the mutex. A missing lock thus fails the test in each run, not only in a
 * race. A child of fork(2) does not hold its parent's mutexes, so it must not unlock them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__

static int (*unlock)(pthread_mutex_t *mutex);

__attribute__((constructor)) static void find_unlock(void)
{
    void *found = dlsym(RTLD_NEXT, "pthread_mutex_unlock");

    memcpy(&unlock, &found, sizeof(unlock));
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (unlock == NULL) /* called by the constructor of a library */
        find_unlock();
    if (mutex->__data.__owner != gettid()) {
        fprintf(stderr, "locks.c: a thread unlocks a mutex that it does not hold\n");
        abort();
    }
    return unlock(mutex);
}

#endif
