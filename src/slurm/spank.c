/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job.h"

/*
 * Implements Slurm's option --mpiio=SPEC:/MOUNTPOINT[:OPTIONS] (mpiio-slurm(7)). For a batch
 * script, the process that becomes the script first mounts on all nodes of the job. For a step,
 * srun mounts before it starts the tasks. Each task keeps a parent process; the last one on a node
 * unmounts, and can fail the task if data is lost. All of it runs as the user.
 */
#define VISIBLE __attribute__((visibility("default")))

VISIBLE extern const char plugin_name[], plugin_type[];
VISIBLE extern const unsigned int plugin_version, spank_plugin_version;
SPANK_PLUGIN(mpiio, 1)

VISIBLE spank_f slurm_spank_init, slurm_spank_local_user_init, slurm_spank_user_init,
    slurm_spank_task_init;

/*
 * The variable that tells programs where the mount is. Steps get it even if the user has Slurm pass
 * on no variables (--export=NONE).
 */
#define VARIABLE "SLURM_MPIIO_MOUNT"

/*
 * Variables by which steps would inherit the option of their script or srun. They are removed,
 * because the mount exists already.
 */
#define OPTION_OF_SCRIPT "SLURM_SPANK__SLURM_SPANK_OPTION_mpiio_mpiio"
#define OPTION_OF_SRUN   "_SLURM_SPANK_OPTION_mpiio_mpiio"

static char *wanted;      /* the option's value; NULL: not given */
static atomic_uint *left; /* tasks on this node that have not ended; shared with them */

static int take_option(int value, const char *text, int remote)
{
    struct job_mount *mount = job_mount_read(text, 0);

    (void)value;
    (void)remote;
    if (mount == NULL) {
        slurm_error("--mpiio=%s: expected SPEC:/MOUNTPOINT[:OPTIONS]", text);
        return -1;
    }
    job_mount_free(mount);
    free(wanted);
    wanted = strdup(text);
    return wanted ? 0 : -1;
}

static char name[] = "mpiio", syntax[] = "SPEC:/MOUNTPOINT[:OPTIONS]";
static char usage[] = "mount MPI file views on the nodes while the tasks run";
static struct spank_option option = {name, syntax, usage, 1, 0, take_option};

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    spank_context_t context = spank_context();

    (void)argc;
    (void)argv;
    if (context != S_CTX_LOCAL && context != S_CTX_REMOTE && context != S_CTX_ALLOCATOR)
        return 0;
    return spank_option_register(spank, &option);
}

/* Returns the mount that the option asks for; NULL if out of memory. */
static struct job_mount *find_mount(spank_t spank)
{
    uint32_t job = 0;

    spank_get_item(spank, S_JOB_ID, &job);
    return job_mount_read(wanted, job);
}

/*
 * Returns a new list of the nodes of srun's step. Sets the variables for the job and its nodes,
 * because srun sets them later if it made the allocation itself. Returns NULL after a message.
 */
static char *find_nodes(spank_t spank)
{
    job_step_info_response_msg_t *found = NULL;
    uint32_t job = 0, step = 0;
    char number[16], *nodes = NULL;

    spank_get_item(spank, S_JOB_ID, &job);
    spank_get_item(spank, S_JOB_STEPID, &step);
    snprintf(number, sizeof(number), "%" PRIu32, job);
    if (slurm_get_job_steps(0, job, step, &found, SHOW_ALL) == 0) {
        if (found->job_step_count > 0 && found->job_steps[0].nodes)
            nodes = strdup(found->job_steps[0].nodes);
        slurm_free_job_step_info_response_msg(found);
    }
    if (nodes && setenv("SLURM_JOB_ID", number, 0) == 0 &&
        setenv("SLURM_JOB_NODELIST", nodes, 0) == 0)
        return nodes;
    free(nodes);
    slurm_error("--mpiio: the nodes of step %" PRIu32 ".%" PRIu32 " are unknown", job, step);
    return NULL;
}

/* Returns true if a list of nodes is the one that this process runs on. */
static bool is_here(const char *nodes)
{
    const char *here = getenv("SLURMD_NODENAME");

    return here && !strcmp(nodes, here);
}

/*
 * Runs in srun before it starts the tasks. After a failed mount, which has been reported, the
 * variable is unset, and the tasks exit. Returning an error would make Slurm print more lines, and
 * go on if the plugin is "optional".
 */
int slurm_spank_local_user_init(spank_t spank, int argc, char **argv)
{
    struct job_mount *mount;
    char *nodes;

    (void)argc;
    (void)argv;
    if (wanted == NULL)
        return 0;
    nodes = find_nodes(spank);
    mount = find_mount(spank);
    unsetenv(VARIABLE);
    unsetenv(OPTION_OF_SRUN); /* mpiio-mount uses srun, too */
    if (nodes && mount && job_mount(mount, is_here(nodes) ? "" : nodes, NULL) == 0)
        setenv(VARIABLE, mount->point, 1);
    job_mount_free(mount);
    free(nodes);
    return 0;
}

/* Runs in slurmstepd before it makes the tasks. */
int slurm_spank_user_init(spank_t spank, int argc, char **argv)
{
    uint32_t tasks = 0;
    void *memory;

    (void)argc;
    (void)argv;
    if (wanted == NULL)
        return 0;
    memory = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks)) {
        slurm_error("--mpiio: the tasks cannot be counted");
        return -1;
    }
    left = memory;
    atomic_init(left, tasks);
    return 0;
}

/* Mounts for a batch script. Returns true on success, or if srun has mounted for the step. */
static bool ensure_mounted(spank_t spank, const struct job_tasks *tasks)
{
    char point[PATH_MAX] = "";

    if (!tasks->node_only)
        return job_mount(tasks->mount, NULL, tasks->environment) == 0;
    spank_getenv(spank, VARIABLE, point, sizeof(point));
    return !strcmp(point, tasks->mount->point);
}

/*
 * Runs in the process that becomes a task. On failure it exits at once, so that Slurm adds no lines
 * to the message.
 */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    struct job_tasks tasks = {.left = left};
    struct job_mount *mount;
    uint32_t step = 0;

    (void)argc;
    (void)argv;
    if (wanted == NULL)
        return 0;
    mount = find_mount(spank);
    tasks.mount = mount;
    tasks.node_only = spank_get_item(spank, S_JOB_STEPID, &step) || step != SLURM_BATCH_SCRIPT;
    spank_unsetenv(spank, OPTION_OF_SCRIPT);
    if (!tasks.node_only && mount)
        spank_setenv(spank, VARIABLE, mount->point, 1);
    if (left == NULL || mount == NULL || spank_get_item(spank, S_JOB_ENV, &tasks.environment) ||
        !ensure_mounted(spank, &tasks))
        _exit(1);
    job_unmount_after(&tasks);
    job_mount_free(mount);
    return 0;
}
