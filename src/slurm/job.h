/* SPDX-License-Identifier: MIT */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A mount of a job or a step, independent of Slurm's API. mpiio-mount(1) and mpiio-umount(1) make
 * and remove it, and print to stderr. The functions run as the job's user, and are not thread-safe.
 */
struct job_mount {
    char *spec;
    char *point;   /* the mount point, an absolute path */
    char *options; /* mount options; NULL: none */
};

/*
 * Reads "SPEC:/MOUNTPOINT[:OPTIONS]". Replaces each %j in the mount point by the job ID. Returns
 * NULL if the text is malformed or memory is short. The caller frees the result by job_mount_free.
 */
struct job_mount *job_mount_read(const char *text, uint32_t job);

/* NULL is allowed. */
void job_mount_free(struct job_mount *mount);

/*
 * Mounts on the hosts of a list as Slurm writes it. An empty list means this host; NULL means all
 * hosts of the job. environment is that of mpiio-mount, and supplies the PATH; NULL means this
 * process's own. Returns when the mount can be used: the exit status of mpiio-mount, or 127 if it
 * cannot be run.
 */
int job_mount(const struct job_mount *mount, const char *hosts, char **environment);

/* The tasks of a step on a node. The last one to end unmounts. */
struct job_tasks {
    const struct job_mount *mount;
    bool node_only;    /* not on other nodes, whose tasks may still run */
    atomic_uint *left; /* tasks on this node that have not ended, in memory that all share */
    char **environment;
};

/*
 * Forks a process that is about to execute a task. Returns in the child, which is to execute the
 * program. The parent forwards signals to the child, and exits as it does. The last parent on the
 * node unmounts before; if data could not be stored and the program succeeded, it exits with status
 * 1. Exits with status 1 if the fork fails.
 */
void job_unmount_after(const struct job_tasks *tasks);

#endif
