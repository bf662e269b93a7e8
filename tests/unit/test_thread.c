/* SPDX-License-Identifier: MIT */
/* Tests threads that are started by thread.h. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

#include "unit.h"
#include "core/base/thread.h"

/* Fewer than the C library's limit of arenas, so that each thread gets an arena of its own. */
#define THREADS 4

static sem_t go;

static void *allocate(void *data)
{
    void *volatile memory;

    while (sem_wait(&go) != 0)
        continue;
    memory = malloc(8);
    *(bool *)data = memory != NULL;
    free(memory);
    return NULL;
}

/* A sanitizer allocates memory of its own and aborts the process if it gets none, so no limit is
   set. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMIT RLIM_INFINITY
#else
#define LIMIT 0
#endif

/* A started thread has the memory for small allocations. Its first allocation needs none from
   the kernel. */
TEST(test_first_allocation)
{
    struct rlimit before, none;
    pthread_t thread[THREADS];
    bool got[THREADS];

    sem_init(&go, 0, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(mpiio_thread_start(&thread[i], allocate, &got[i]), 0);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    none = before;
    none.rlim_cur = LIMIT;
    assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
    for (int i = 0; i < THREADS; i++)
        sem_post(&go);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    setrlimit(RLIMIT_AS, &before);
    for (int i = 0; i < THREADS; i++)
        assert_true(got[i]);
    sem_destroy(&go);
}
