/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/thread.h"
#include "fusefs/session.h"

static void *work(void *data)
{
    struct fs_jobs *control = data;
    struct fs_job *job;

    pthread_mutex_lock(&control->lock);
    for (;;) {
        while (control->first == NULL && !control->stop)
            pthread_cond_wait(&control->wake, &control->lock);
        job = control->first;
        if (job == NULL)
            break;
        control->first = job->next;
        pthread_mutex_unlock(&control->lock);
        job->run(control->session, job);
        free(job);
        pthread_mutex_lock(&control->lock);
    }
    pthread_mutex_unlock(&control->lock);
    return NULL;
}

/* A job with a thread of its own. */
struct apart {
    struct fs_jobs *control;
    struct fs_job job;
};

static void *work_apart(void *data)
{
    struct apart *apart = data;
    struct fs_jobs *control = apart->control;

    apart->job.run(control->session, &apart->job);
    free(apart);
    pthread_mutex_lock(&control->lock);
    control->apart--;
    pthread_cond_broadcast(&control->wake);
    pthread_mutex_unlock(&control->lock);
    return NULL;
}

/* Lock held. False where there is no memory, or no thread: the job is to wait for its turn. */
static bool start_apart(struct fs_jobs *control, const struct fs_job *job)
{
    struct apart *apart = malloc(sizeof(*apart));
    pthread_t thread;

    if (apart == NULL)
        return false;
    *apart = (struct apart){control, *job};
    if (mpiio_thread_start(&thread, work_apart, apart) != 0) {
        free(apart);
        return false;
    }
    pthread_detach(thread);
    control->apart++;
    return true;
}

void fs_jobs_init(struct fs_jobs *control, struct fs_session *session)
{
    *control = (struct fs_jobs){.session = session};
    pthread_mutex_init(&control->lock, NULL);
    pthread_cond_init(&control->wake, NULL);
}

void fs_jobs_free(struct fs_jobs *control)
{
    free(control->unsaved);
    pthread_cond_destroy(&control->wake);
    pthread_mutex_destroy(&control->lock);
}

int fs_jobs_start(struct fs_jobs *control)
{
    int error;

    error = mpiio_thread_start(&control->thread, work, control);
    control->started = error == 0;
    return error;
}

void fs_jobs_stop(struct fs_jobs *control)
{
    if (!control->started)
        return;
    pthread_mutex_lock(&control->lock);
    control->stop = true;
    pthread_cond_broadcast(&control->wake);
    while (control->apart > 0)
        pthread_cond_wait(&control->wake, &control->lock);
    pthread_mutex_unlock(&control->lock);
    pthread_join(control->thread, NULL);
    control->started = false;
}

/* Lock held. */
static bool is_due(const struct fs_jobs *control, const struct fs_job *job)
{
    return job->meanwhile != NULL && control->call >= job->during;
}

int fs_jobs_run(struct fs_jobs *control, const struct fs_job *wanted)
{
    struct fs_job *job = calloc(1, sizeof(*job));
    bool stopped, due, apart;

    if (job == NULL)
        return -ENOMEM;
    *job = *wanted;
    pthread_mutex_lock(&control->lock);
    stopped = control->stop;
    due = is_due(control, job);
    apart = !stopped && !due && job->apart && start_apart(control, job);
    if (!stopped && !due && !apart) {
        if (control->first == NULL)
            control->first = job;
        else
            control->last->next = job;
        control->last = job;
        pthread_cond_broadcast(&control->wake);
    }
    pthread_mutex_unlock(&control->lock);
    if (due)
        job->meanwhile(control->session, job);
    if (stopped || due || apart)
        free(job);
    return stopped && !due ? -ENOTCONN : 0;
}

/* Takes out the jobs that are due. Lock held. */
static struct fs_job *take_due(struct fs_jobs *control)
{
    struct fs_job *due = NULL, **end = &due, **link = &control->first, *job;

    while ((job = *link) != NULL) {
        if (is_due(control, job)) {
            *link = job->next;
            *end = job;
            end = &job->next;
        } else {
            control->last = job;
            link = &job->next;
        }
    }
    *end = NULL;
    return due;
}

void fs_jobs_call(struct fs_jobs *control, enum fs_call call)
{
    struct fs_job *job, *next;

    pthread_mutex_lock(&control->lock);
    control->calls += call != FS_CALL_NONE ? 1 : -1;
    if (call > control->call || control->calls == 0)
        control->call = call;
    job = take_due(control);
    pthread_mutex_unlock(&control->lock);
    for (; job != NULL; job = next) {
        next = job->next;
        job->meanwhile(control->session, job);
        free(job);
    }
}
