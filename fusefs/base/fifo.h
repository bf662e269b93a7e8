/* SPDX-License-Identifier: MIT */
#ifndef FS_FIFO_H
#define FS_FIFO_H

#include <pthread.h>
#include <stdbool.h>

/* A task. It is the first member of a structure with the task's arguments. */
struct fs_task {
    struct fs_task *next;
};

/* Runs a task and frees it. Called without locks. */
typedef void fs_task_run(void *data, struct fs_task *task);
typedef bool fs_task_test(const void *data, const struct fs_task *task);

/* A thread that runs tasks one after another, in the order in which they were added. */
struct fs_fifo {
    fs_task_run *run;
    void *data; /* argument of run; borrowed */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fs_task *first, **end; /* lock: lock */
    bool closed;                  /* accepts no more tasks; lock: lock */
    bool ended;                   /* all tasks have finished; lock: lock */
};

/* Init does not start the thread. Call start after any fork. Returns 0 or a negative errno. */
void fs_fifo_init(struct fs_fifo *fifo, fs_task_run *run, void *data);
int fs_fifo_start(struct fs_fifo *fifo);

/* Drains the queue and joins its thread, if that was started. Call it before free. */
void fs_fifo_stop(struct fs_fifo *fifo);
void fs_fifo_free(struct fs_fifo *fifo);

/* The functions below are thread-safe from init to free. */

/*
 * Adds a task and takes ownership. Does not wait. Returns 0, or -ENOTCONN if the queue is closed.
 */
int fs_fifo_put(struct fs_fifo *fifo, struct fs_task *task);

/* Closes the queue, and waits until all its tasks have finished. */
void fs_fifo_drain(struct fs_fifo *fifo);

/*
 * Has returns true if a waiting task passes the test. Take removes and returns the first such task,
 * or returns NULL.
 */
bool fs_fifo_has(struct fs_fifo *fifo, fs_task_test *test, const void *data);
struct fs_task *fs_fifo_take(struct fs_fifo *fifo, fs_task_test *test, const void *data);

#endif
