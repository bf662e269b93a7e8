/* SPDX-License-Identifier: MIT */
/* Tests that tasks are done in order, each once, and none after the queue has stopped. */
#include <pthread.h>

#include "unit.h"
#include "threads.h"
#include "fusefs/base/fifo.h"

#define PUTTERS 4
#define EACH    2000

/* A task, with the thread that put it and its number there, counted from 0. */
struct numbered {
    struct fs_task task;
    int putter, number;
};

static struct fixture {
    struct fs_fifo fifo;
    /* tasks done, in order, by putter; written by the FIFO's thread, and read when that has
       exited */
    int done[PUTTERS];
    bool mixed;           /* some were out of order; the same */
    pthread_mutex_t gate; /* a test holds it to keep tasks from being done */
} fixture;

static void run(void *data, struct fs_task *task)
{
    struct numbered *numbered = (struct numbered *)task;

    pthread_mutex_lock(&fixture.gate);
    fixture.mixed = fixture.mixed || fixture.done[numbered->putter] != numbered->number;
    fixture.done[numbered->putter]++;
    pthread_mutex_unlock(&fixture.gate);
    free(numbered);
}

static int setup(void **state)
{
    memset(&fixture, 0, sizeof(fixture));
    fs_fifo_init(&fixture.fifo, run, NULL);
    pthread_mutex_init(&fixture.gate, NULL);
    return 0;
}

static int teardown(void **state)
{
    fs_fifo_stop(&fixture.fifo);
    fs_fifo_free(&fixture.fifo);
    pthread_mutex_destroy(&fixture.gate);
    return 0;
}

static int put(int putter, int number)
{
    struct numbered *numbered = malloc(sizeof(*numbered));
    int error;

    assert_non_null(numbered);
    *numbered = (struct numbered){.putter = putter, .number = number};
    error = fs_fifo_put(&fixture.fifo, &numbered->task);
    if (error != 0)
        free(numbered);
    return error;
}

struct putter {
    int number, refused;
};

static void *put_each(void *data)
{
    struct putter *putter = data;

    for (int i = 0; i < EACH; i++)
        putter->refused += put(putter->number, i) != 0;
    return NULL;
}

TEST(keeps_order, setup, teardown)
{
    struct putter putters[PUTTERS];

    assert_int_equal(fs_fifo_start(&fixture.fifo), 0);
    for (int i = 0; i < PUTTERS; i++)
        putters[i] = (struct putter){.number = i};
    run_threads(PUTTERS, put_each, putters, sizeof(*putters));
    fs_fifo_stop(&fixture.fifo);
    assert_false(fixture.mixed);
    for (int i = 0; i < PUTTERS; i++) {
        assert_int_equal(putters[i].refused, 0);
        assert_int_equal(fixture.done[i], EACH);
    }
}

/* Draining while others put tasks: accepted tasks are done, refused ones are not. */
TEST(drains, setup, teardown)
{
    struct putter putter = {0};
    pthread_t thread;

    assert_int_equal(fs_fifo_start(&fixture.fifo), 0);
    assert_int_equal(pthread_create(&thread, NULL, put_each, &putter), 0);
    fs_fifo_drain(&fixture.fifo);
    pthread_mutex_lock(&fixture.gate);
    assert_false(fixture.mixed);
    pthread_mutex_unlock(&fixture.gate);
    pthread_join(thread, NULL);
    assert_int_equal(fixture.done[0] + putter.refused, EACH);
    assert_int_equal(put(0, 0), -ENOTCONN);
    fs_fifo_drain(&fixture.fifo);
}

static void *drain(void *data)
{
    fs_fifo_drain(&fixture.fifo);
    return (void *)(intptr_t)fixture.done[0];
}

/* Draining waits for the task that is in progress. */
TEST(drains_what_is_under_way, setup, teardown)
{
    pthread_t thread;
    void *done;

    pthread_mutex_lock(&fixture.gate);
    assert_int_equal(fs_fifo_start(&fixture.fifo), 0);
    assert_int_equal(put(0, 0), 0);
    usleep(20000); /* gives the thread time; the result is the same if it is late */
    assert_int_equal(pthread_create(&thread, NULL, drain, NULL), 0);
    usleep(20000);
    pthread_mutex_unlock(&fixture.gate);
    pthread_join(thread, &done);
    assert_int_equal((intptr_t)done, 1);
}

static bool is_number(const void *data, const struct fs_task *task)
{
    return ((const struct numbered *)task)->number == *(const int *)data;
}

static void take(int number, bool there)
{
    struct fs_task *task;

    assert_int_equal(fs_fifo_has(&fixture.fifo, is_number, &number), there);
    task = fs_fifo_take(&fixture.fifo, is_number, &number);
    assert_int_equal(task != NULL, there);
    assert_false(fs_fifo_has(&fixture.fifo, is_number, &number));
    free(task);
}

/* Takes out the first task, the last and one between. The others are done in order, with later
   ones. */
TEST(takes_out, setup, teardown)
{
    static const int places[] = {0, 2, 4};

    for (int i = 0; i < 5; i++)
        assert_int_equal(put(0, i), 0);
    for (int i = 0; i < 3; i++) {
        take(places[i], true);
        take(places[i], false);
    }
    take(1, true);
    take(3, true);
    for (int i = 0; i < 3; i++)
        assert_int_equal(put(0, i), 0);
    assert_int_equal(put(1, 7), 0);
    take(7, true);
    assert_int_equal(put(0, 3), 0);
    assert_int_equal(fs_fifo_start(&fixture.fifo), 0);
    fs_fifo_stop(&fixture.fifo);
    assert_false(fixture.mixed);
    assert_int_equal(fixture.done[0], 4);
    assert_int_equal(fixture.done[1], 0);
}

/* Stopping before the thread has been started does not wait. */
TEST(stops_before_start, setup, teardown)
{
    fs_fifo_stop(&fixture.fifo);
    fs_fifo_drain(&fixture.fifo);
    assert_int_equal(put(0, 0), -ENOTCONN);
}
