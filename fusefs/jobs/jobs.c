/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/thread.h"

static void run_job(void *data, struct fs_task *task)
{
    struct fs_job *job = (struct fs_job *)task;

    job->run(data, job);
    free(job);
}

static void *work_apart(void *data)
{
    struct fs_jobs *jobs = ((struct fs_job *)data)->jobs;

    run_job(jobs->session, data);
    pthread_mutex_lock(&jobs->lock);
    jobs->apart--;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* Starts a thread for the job. Returns false if that fails; the job is then queued. Lock held. */
static bool start_apart(struct fs_jobs *jobs, struct fs_job *job)
{
    pthread_t thread;

    assert(mpiio_is_held(&jobs->lock));
    if (mpiio_thread_start(&thread, work_apart, job) != 0)
        return false;
    pthread_detach(thread);
    jobs->apart++;
    return true;
}

void fs_jobs_init(struct fs_jobs *jobs, struct fs_session *session)
{
    *jobs = (struct fs_jobs){.session = session};
    fs_fifo_init(&jobs->fifo, run_job, session);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->changed, NULL);
}

void fs_jobs_free(struct fs_jobs *jobs)
{
    free(jobs->unsaved);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->lock);
    fs_fifo_free(&jobs->fifo);
}

void fs_jobs_stop(struct fs_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stop = true;
    while (jobs->apart > 0)
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    fs_fifo_stop(&jobs->fifo);
}

/* Returns true if the job's meanwhile function is to run now, during a call. Lock held. */
static bool is_due(const void *data, const struct fs_task *task)
{
    const struct fs_jobs *jobs = data;
    const struct fs_job *job = (const struct fs_job *)task;

    assert(mpiio_is_held(&jobs->lock));
    return job->meanwhile != NULL && jobs->call >= job->during;
}

int fs_jobs_run(struct fs_jobs *jobs, const struct fs_job *wanted)
{
    struct fs_job *job = malloc(sizeof(*job));
    bool due, apart;
    int error = 0;

    if (job == NULL)
        return -ENOMEM;
    *job = *wanted;
    job->jobs = jobs;
    pthread_mutex_lock(&jobs->lock);
    due = is_due(jobs, &job->task);
    apart = !due && !jobs->stop && job->apart && start_apart(jobs, job);
    if (!due && !apart)
        error = jobs->stop ? -ENOTCONN : fs_fifo_put(&jobs->fifo, &job->task);
    pthread_mutex_unlock(&jobs->lock);
    if (due)
        job->meanwhile(jobs->session, job);
    if (due || error != 0)
        free(job);
    return error;
}

void fs_jobs_call(struct fs_jobs *jobs, enum fs_call call)
{
    struct fs_task *task;

    pthread_mutex_lock(&jobs->lock);
    jobs->calls += call != FS_CALL_NONE ? 1 : -1;
    if (call > jobs->call || jobs->calls == 0)
        jobs->call = call;
    while ((task = fs_fifo_take(&jobs->fifo, is_due, jobs)) != NULL) {
        struct fs_job *job = (struct fs_job *)task;

        pthread_mutex_unlock(&jobs->lock);
        job->meanwhile(jobs->session, job);
        free(job);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
}
