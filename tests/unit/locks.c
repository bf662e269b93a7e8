/* SPDX-License-Identifier: MIT */
/*
 * Every test checks that a thread holds the mutexes that it unlocks. So a lock that was forgotten
 * shows at once, not only in a race. TSan has a check of its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef __SANITIZE_THREAD__
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static int (*unlock)(pthread_mutex_t * mutex);

    if (unlock == NULL)
        *(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    if (mutex->__data.__owner != gettid())
        abort();
    return unlock(mutex);
}
#endif
