/* SPDX-License-Identifier: MIT */
#ifndef FS_FIFO_H
#define FS_FIFO_H

#include <pthread.h>
#include <stdbool.h>

/* What is to be done: the first member of a structure that says what. */
struct fs_task {
    struct fs_task *next;
};

/* Does a task, and frees it. No lock is held. */
typedef void fs_task_run(void *data, struct fs_task *task);
typedef bool fs_task_test(const void *data, const struct fs_task *task);

/* A thread that does tasks one after another, in the order in which they were put. */
struct fs_fifo {
    fs_task_run *run;
    void *data; /* run's; borrowed */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fs_task *first, **end; /* lock: lock */
    bool closed;                  /* takes no more of them; lock: lock */
    bool ended;                   /* and all are done; lock: lock */
};

/* Sets it up without its thread, which start starts (after any fork): 0 or a negative errno. */
void fs_fifo_init(struct fs_fifo *fifo, fs_task_run *run, void *data);
int fs_fifo_start(struct fs_fifo *fifo);

/* Drains it, and joins its thread, if that was started; before free. */
void fs_fifo_stop(struct fs_fifo *fifo);
void fs_fifo_free(struct fs_fifo *fifo);

/* The rest is thread-safe, from init to free. */

/* Takes a task over: 0, or -ENOTCONN where it takes no more. Does not wait. */
int fs_fifo_put(struct fs_fifo *fifo, struct fs_task *task);

/* Has it take no more tasks, and waits until those that it has are done. */
void fs_fifo_drain(struct fs_fifo *fifo);

/* Whether the test holds for a task that waits; the first such task, taken out, or NULL. */
bool fs_fifo_has(struct fs_fifo *fifo, fs_task_test *test, const void *data);
struct fs_task *fs_fifo_take(struct fs_fifo *fifo, fs_task_test *test, const void *data);

#endif
