/* SPDX-License-Identifier: MIT */
#include "stay.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int stopping[] = {SIGTERM, SIGINT, SIGHUP};

static pid_t receiver; /* of what hand_on gets */

static void hand_on(int number)
{
    kill(receiver, number);
}

/* A daemon that has no engine any more is a child of this process. */
static void signal_children(int number)
{
    FILE *children = fopen("/proc/thread-self/children", "re");
    int child;

    while (children != NULL && fscanf(children, "%d", &child) == 1)
        kill(child, number);
    if (children != NULL)
        fclose(children);
}

/* Takes up those who have ended. False once nobody is left. */
static bool reap(pid_t engine, int *result)
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

    close_range(STDERR_FILENO + 1, UINT_MAX, 0); /* the connection to the manager is the engine's */
    while (reap(engine, &result))
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
