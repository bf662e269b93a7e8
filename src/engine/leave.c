/* SPDX-License-Identifier: MIT */
#include "leave.h"

#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
 * its connections to the others before all have come.
 */
static bool leave_manager(void)
{
    const char *connection = getenv("PMI_FD");

    return connection != NULL && tell_manager(atoi(connection), "cmd=barrier_in\n") &&
           tell_manager(atoi(connection), "cmd=finalize\n");
}

void engine_leave(int status)
{
    exit_status = status;
    signal(SIGALRM, exit_now);
    alarm(1);
    MPI_Barrier(MPI_COMM_WORLD);
    fflush(NULL);
    if (!leave_manager())
        MPI_Finalize();
    _exit(status);
}
