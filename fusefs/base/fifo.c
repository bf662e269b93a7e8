/* SPDX-License-Identifier: MIT */
#include "fifo.h"

#include <errno.h>
#include <stddef.h>

#include "core/base/thread.h"

void fs_fifo_init(struct fs_fifo *fifo, fs_task_run *run, void *data)
{
    *fifo = (struct fs_fifo){.run = run, .data = data, .end = &fifo->first};
    pthread_mutex_init(&fifo->lock, NULL);
    pthread_cond_init(&fifo->changed, NULL);
}

void fs_fifo_free(struct fs_fifo *fifo)
{
    pthread_cond_destroy(&fifo->changed);
    pthread_mutex_destroy(&fifo->lock);
}

/* Removes and returns the task at link. Lock held. */
static struct fs_task *take_task(struct fs_fifo *fifo, struct fs_task **link)
{
    struct fs_task *task = *link;

    assert(mpiio_is_held(&fifo->lock));
    *link = task->next;
    if (*link == NULL)
        fifo->end = link;
    return task;
}

static void *run_tasks(void *data)
{
    struct fs_fifo *fifo = data;
    struct fs_task *task;

    pthread_mutex_lock(&fifo->lock);
    while (fifo->first != NULL || !fifo->closed) {
        if (fifo->first == NULL) {
            pthread_cond_wait(&fifo->changed, &fifo->lock);
            continue;
        }
        task = take_task(fifo, &fifo->first);
        pthread_mutex_unlock(&fifo->lock);
        fifo->run(fifo->data, task);
        pthread_mutex_lock(&fifo->lock);
    }
    fifo->ended = true;
    pthread_cond_broadcast(&fifo->changed);
    pthread_mutex_unlock(&fifo->lock);
    return NULL;
}

int fs_fifo_start(struct fs_fifo *fifo)
{
    int error = mpiio_thread_start(&fifo->thread, run_tasks, fifo);

    fifo->started = error == 0;
    return error;
}

void fs_fifo_stop(struct fs_fifo *fifo)
{
    if (!fifo->started)
        return;
    fs_fifo_drain(fifo);
    pthread_join(fifo->thread, NULL);
    fifo->started = false;
}

void fs_fifo_drain(struct fs_fifo *fifo)
{
    pthread_mutex_lock(&fifo->lock);
    fifo->closed = true;
    pthread_cond_broadcast(&fifo->changed);
    while (fifo->started && !fifo->ended)
        pthread_cond_wait(&fifo->changed, &fifo->lock);
    pthread_mutex_unlock(&fifo->lock);
}

int fs_fifo_put(struct fs_fifo *fifo, struct fs_task *task)
{
    bool closed;

    task->next = NULL;
    pthread_mutex_lock(&fifo->lock);
    closed = fifo->closed;
    if (!closed) {
        *fifo->end = task;
        fifo->end = &task->next;
        pthread_cond_signal(&fifo->changed);
    }
    pthread_mutex_unlock(&fifo->lock);
    return closed ? -ENOTCONN : 0;
}

/* Returns the link to the first task that passes the test, or the final link. Lock held. */
static struct fs_task **find_task(struct fs_fifo *fifo, fs_task_test *test, const void *data)
{
    struct fs_task **link = &fifo->first;

    assert(mpiio_is_held(&fifo->lock));
    while (*link != NULL && !test(data, *link))
        link = &(*link)->next;
    return link;
}

bool fs_fifo_has(struct fs_fifo *fifo, fs_task_test *test, const void *data)
{
    return MPIIO_LOCKED(&fifo->lock, *find_task(fifo, test, data) != NULL);
}

struct fs_task *fs_fifo_take(struct fs_fifo *fifo, fs_task_test *test, const void *data)
{
    struct fs_task **link, *task;

    pthread_mutex_lock(&fifo->lock);
    link = find_task(fifo, test, data);
    task = *link != NULL ? take_task(fifo, link) : NULL;
    pthread_mutex_unlock(&fifo->lock);
    return task;
}
