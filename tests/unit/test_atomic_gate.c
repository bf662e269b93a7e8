/* SPDX-License-Identifier: MIT */
/* Tests that no slice is opened while the atomic mode changes, and that workers which wait for
   the change are paused. */
#include <pthread.h>
#include <semaphore.h>

#include "unit.h"
#include "fusefs/base/atomic_gate.h"

#define THIS_NODE UINT64_MAX

static atomic_int under_way;
static sem_t paused;

void fs_workers_pause(struct fs_workers *workers)
{
    atomic_fetch_add(&under_way, 1);
    sem_post(&paused);
}

void fs_workers_resume(struct fs_workers *workers)
{
    atomic_fetch_sub(&under_way, 1);
}

static void *enter(void *data)
{
    fs_atomic_enter(data);
    return NULL;
}

TEST(an_open_waits_for_a_change)
{
    struct fs_atomic atomic;
    pthread_t opener;

    sem_init(&paused, 0, 0);
    fs_atomic_init(&atomic, NULL);
    fs_atomic_enter(&atomic);
    assert_int_equal(fs_atomic_close_door(&atomic, THIS_NODE), -EBUSY);
    fs_atomic_leave(&atomic);
    assert_int_equal(sem_trywait(&paused), -1);
    assert_int_equal(fs_atomic_close_door(&atomic, THIS_NODE), 0);
    assert_int_equal(pthread_create(&opener, NULL, enter, &atomic), 0);
    assert_int_equal(sem_wait(&paused), 0);
    assert_int_equal(atomic_load(&under_way), 1);
    fs_atomic_open_door(&atomic, THIS_NODE);
    assert_int_equal(pthread_join(opener, NULL), 0);
    assert_int_equal(atomic_load(&under_way), 0);
    assert_int_equal(atomic.open, 1);
    fs_atomic_leave(&atomic);
    fs_atomic_free(&atomic);
    sem_destroy(&paused);
}
