/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before MPI begins. */

/* Returns the number in an environment variable, or -1. */
static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    long number;

    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    number = strtol(text, &end, 10);
    return *end == '\0' && number <= INT_MAX ? (int)number : -1;
}

void engine_environment_prepare(void)
{
    int kept = number_of("PMI_FD");

    if (kept > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned)kept - 1, 0);
    close_range(kept > STDERR_FILENO ? (unsigned)kept + 1 : STDERR_FILENO + 1, UINT_MAX, 0);
    /* MPICH reads all these names; the last one that is set wins. */
    unsetenv("MPICH_ASYNC_PROGRESS");
    unsetenv("MPIR_PARAM_ASYNC_PROGRESS");
    unsetenv("MPIR_CVAR_ASYNC_PROGRESS");
    setenv("OMPI_MCA_io", "^ompio", 0);
}

/* Returns the first variable's value that is a number, or -1. */
static int first_number(const char *const *variables)
{
    int number = -1;

    while (*variables != NULL && number < 0)
        number = number_of(*variables++);
    return number;
}

int engine_environment_rank(void)
{
    return first_number((const char *const[]){"PMI_RANK", "PMIX_RANK", NULL});
}

int engine_environment_size(void)
{
    /* mpiexec's own count comes first: inside a Slurm step, Slurm's variable may count something
       else. */
    return first_number(
        (const char *const[]){"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", NULL});
}

/*
 * Returns true if MPI uses PMI version 1 on PMI_FD, as text lines. MPICH does so unless its build
 * or environment says otherwise. Call it after MPI_Init.
 */
static bool speaks_pmi1(void)
{
#ifdef OPEN_MPI
    return false;
#else
    char built[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (getenv("PMI_FD") == NULL || number_of("MPIR_CVAR_PMI_VERSION") > 1)
        return false;
    /* In MPICH, this text includes the configure options. */
    MPI_Get_library_version(built, &length);
    return strstr(built, "pmi2") == NULL && strstr(built, "pmix") == NULL;
#endif
}

void engine_report(const struct engine_options *options, const char *stage, int node)
{
    if (options->report && node >= 0) {
        printf("%s %d\n", stage, node);
        fflush(stdout);
    }
}

/* Staying for a process manager. */

static const int stopping[] = {SIGTERM, SIGINT, SIGHUP};

static pid_t receiver; /* gets the signals of hand_on */

static void hand_on(int number)
{
    kill(receiver, number);
}

/* A daemon becomes a child of this process when its engine exits. */
static void signal_children(int number)
{
    FILE *children = fopen("/proc/thread-self/children", "re");
    int child;

    while (children != NULL && fscanf(children, "%d", &child) == 1)
        kill(child, number);
    if (children != NULL)
        fclose(children);
}

/* Reaps exited children. Returns false once none is left. */
static bool reap_children(pid_t engine, int *result)
{
    int status;
    pid_t ended;

    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == engine && WIFEXITED(status))
            *result = WEXITSTATUS(status);
    return ended == 0;
}

static _Noreturn void wait_for_all(pid_t engine, const sigset_t *signals)
{
    int result = EXIT_FAILURE;
    int number;

    /* only the engine keeps the connection to the manager */
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    while (reap_children(engine, &result))
        if (sigwait(signals, &number) == 0 && number != SIGCHLD)
            signal_children(number);
    _exit(result);
}

void engine_stay(void)
{
    sigset_t signals, before;
    pid_t engine;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
        sigaddset(&signals, stopping[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    engine = fork();
    if (engine > 0)
        wait_for_all(engine, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

void engine_stay_on(pid_t daemon)
{
    struct sigaction action = {.sa_handler = hand_on, .sa_flags = SA_RESTART};

    receiver = daemon;
    for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
        sigaction(stopping[i], &action, NULL);
}

/* Exiting. */

/* Seconds for all processes to arrive: on a busy machine, some may be scheduled late. */
#define PATIENCE 10

static volatile sig_atomic_t exit_status;

static void exit_now(int number)
{
    (void)number;
    _exit(exit_status);
}

/*
 * Sends a line to the process manager and waits for its answer, also a line, in PMI version 1. No
 * MPI call that uses the connection is active.
 */
static bool tell_manager(const char *line)
{
    int connection = number_of("PMI_FD");
    char answer = '\0';

    if (write(connection, line, strlen(line)) != (ssize_t)strlen(line))
        return false;
    while (answer != '\n')
        if (read(connection, &answer, 1) != 1)
            return false;
    return true;
}

void engine_leave_soon(int status)
{
    exit_status = status;
    signal(SIGALRM, exit_now);
    alarm(PATIENCE);
}

void engine_leave(struct engine_collective *group, int status)
{
    engine_leave_soon(status);
    engine_collective_join(group);
    fflush(NULL);
    /*
     * A process that exits without finalize is considered failed, and the manager kills the others.
     * The barrier keeps connections to other processes open until all have arrived. If the manager
     * has exited, the process does not wait.
     */
    if (!speaks_pmi1())
        MPI_Finalize();
    else if (tell_manager("cmd=barrier_in\n"))
        tell_manager("cmd=finalize\n");
    _exit(status);
}
