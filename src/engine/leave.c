/* SPDX-License-Identifier: MIT */
#include "leave.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"

/* Seconds for all to come: on a busy machine it may be long until each has its turn. */
#define PATIENCE 10

static volatile sig_atomic_t exit_status;

static void exit_now(int number)
{
    (void)number;
    _exit(exit_status);
}

/*
 * Says a line to the process manager, and waits for its answer, a line too: PMI, version 1, which
 * mpiexec speaks with each process. MPI has no call under way that would use the connection.
 */
static bool tell_manager(int connection, const char *line)
{
    char answer = '\0';

    if (write(connection, line, strlen(line)) != (ssize_t)strlen(line))
        return false;
    while (answer != '\n')
        if (read(connection, &answer, 1) != 1)
            return false;
    return true;
}

/*
 * Whoever ends without having said so is taken for lost, and the others are killed. Nobody closes
 * its connections to the others before all have come. A manager that is gone waits for nobody.
 */
static void leave_manager(int connection)
{
    if (tell_manager(connection, "cmd=barrier_in\n"))
        tell_manager(connection, "cmd=finalize\n");
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
    if (engine_environment_speaks_pmi1())
        leave_manager(atoi(getenv("PMI_FD")));
    else
        MPI_Finalize();
    _exit(status);
}
