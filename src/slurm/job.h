/* SPDX-License-Identifier: MIT */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The mount of a job or a step, apart from Slurm's own interface. It is made and ended by
 * mpiio-mount(1) and mpiio-umount(1), which print their messages to stderr. Functions are local,
 * and not thread-safe. They run as the job's user.
 */
struct job_mount {
    char *spec;
    char *point;   /* the mount point */
    char *options; /* mount options; NULL: none */
};

/*
 * Reads "SPEC:MOUNTPOINT[:OPTIONS]". Replaces %j in the mount point by the number of the job.
 * Returns NULL if the text is something else, or if out of memory. The caller frees the result by
 * job_mount_free.
 */
struct job_mount *job_mount_read(const char *text, uint32_t job);

/* NULL is allowed. */
void job_mount_free(struct job_mount *mount);

/*
 * Mounts on the hosts of a list as Slurm writes it. "": on this one; NULL: on the job's. The
 * programs get the environment, and are searched for in its PATH; NULL: this process's environment.
 * Waits until the mount can be used. Returns the exit status of mpiio-mount, or 127 if it cannot be
 * run.
 */
int job_mount(const struct job_mount *mount, const char *hosts, char **environment);

/* The tasks of a step on a node. The last of them unmounts. */
struct job_tasks {
    const struct job_mount *mount;
    bool alone;        /* unmount this node only, because tasks of other nodes may go on */
    atomic_uint *left; /* tasks on this node that have not ended, in memory that all share */
    char **environment;
};

/*
 * Divides a process that is about to become a task. Returns true in a child, which is to execute
 * the task's program. This process stays: it passes signals on to the child, and ends as the child
 * does. If it is the last of the node's tasks, it unmounts before; if something could not be
 * stored, it then ends with status 1 even if the program has succeeded. Returns false, in this
 * process, if it cannot be divided.
 */
bool job_unmount_after(const struct job_tasks *tasks);

#endif
