/* SPDX-License-Identifier: MIT */
#include "environment.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
}

int engine_environment_rank(void)
{
    return number_of("PMI_RANK");
}

void engine_report(const char *stage, int node)
{
    if (node >= 0) {
        printf("%s %d\n", stage, node);
        fflush(stdout);
    }
}
