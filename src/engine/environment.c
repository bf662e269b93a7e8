/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

/* The number in a variable of the environment, or -1. */
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
    /* All names that MPICH reads it by; the last of them counts. */
    unsetenv("MPICH_ASYNC_PROGRESS");
    unsetenv("MPIR_PARAM_ASYNC_PROGRESS");
    unsetenv("MPIR_CVAR_ASYNC_PROGRESS");
    setenv("OMPI_MCA_io", "^ompio", 0);
}

const char *engine_environment_mpi(void)
{
#ifdef OPEN_MPI
    return "Open MPI";
#else
    return "MPICH";
#endif
}

/* The first of the variables that has a number; -1: none has. */
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
    /* mpiexec's own within a step of Slurm's, which may count something else, comes first. */
    return first_number(
        (const char *const[]){"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", NULL});
}

bool engine_environment_speaks_pmi1(void)
{
#ifdef OPEN_MPI
    return false;
#else
    char built[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (getenv("PMI_FD") == NULL || number_of("MPIR_CVAR_PMI_VERSION") > 1)
        return false;
    /* With MPICH, how it was configured. */
    MPI_Get_library_version(built, &length);
    return strstr(built, "pmi2") == NULL && strstr(built, "pmix") == NULL;
#endif
}

void engine_report(const char *stage, int node)
{
    if (node >= 0) {
        printf("%s %d\n", stage, node);
        fflush(stdout);
    }
}
