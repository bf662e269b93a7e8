/* SPDX-License-Identifier: MIT */
#include "unmount.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mounts/child.h"
#include "process.h"

/* Unmounting on several hosts at once. */

#define OUTPUT_MAX 16384
#define LIST_MAX   (1 << 20)
#define WORDS_MAX  64
/* ms that -f may take on a host, including the connection to it. */
#define FORCE_LIMIT 120000
/* ms that an mpiexec has to report that it has lost a host. */
#define LOST_LIMIT 2000
#define PREFIX     "mpiio-umount: "

struct host {
    const char *name;
    char place[PATH_MAX];
    struct mounts_child child;
    bool started;
};

/* The way to start a program on a host. */
struct run {
    const char *argv[WORDS_MAX]; /* the launcher's arguments; "%h" stands for the host */
    char self[PATH_MAX];         /* this program */
    bool by_srun;                /* srun exits by itself when it has lost the host */
};

/* Runs mpiio-mount, which can parse host lists, to get the launcher and the hosts. */
static int expand_list(const char *list, const char *mountpoint, char *text, const char *self)
{
    char program[PATH_MAX + 16], option[4096];
    const char *argv[] = {program, option, "--list-launch", "--", mountpoint, NULL};
    struct mounts_child child;
    size_t length = 0;
    int error;

    snprintf(program, sizeof(program), "%.*s/mpiio-mount", (int)(strrchr(self, '/') - self), self);
    if (access(program, X_OK) != 0)
        strcpy(program, "mpiio-mount");
    if (snprintf(option, sizeof(option), "--hosts=%s", list) >= (int)sizeof(option))
        return -E2BIG;
    error = mounts_child_start(&child, mounts_child_exec, argv, -1);
    if (error == 0)
        error = mounts_child_finish(&child, text, LIST_MAX - 1, &length, 60000);
    text[length] = '\0';
    return error;
}

/* Builds the mount point of the host with that number. It is absolute, because the remote
   program may start in another folder. */
static bool place_of(const char *mountpoint, size_t number, char *place, size_t size)
{
    const char *mark;
    size_t length = 0;

    if (*mountpoint != '/') {
        if (getcwd(place, size - 1) == NULL)
            return false;
        length = strlen(place);
        place[length++] = '/';
    }
    while ((mark = strstr(mountpoint, "%n")) != NULL && length < size) {
        length += (size_t)snprintf(place + length, size - length, "%.*s%zu",
                                   (int)(mark - mountpoint), mountpoint, number);
        mountpoint = mark + 2;
    }
    if (length < size)
        length += (size_t)snprintf(place + length, size - length, "%s", mountpoint);
    return length < size;
}

/*
 * Splits the launcher's arguments from text: they are its first lines, up to an empty one. Returns
 * the rest, the hosts, or NULL.
 */
static char *take_launcher(struct run *run, char *text)
{
    size_t count = 0;
    char *end;

    for (; (end = strchr(text, '\n')) != NULL && end != text; text = end + 1) {
        *end = '\0';
        if (count >= WORDS_MAX - 5)
            return NULL;
        run->by_srun = run->by_srun || strcmp(text, "srun") == 0;
        run->argv[count++] = text;
    }
    run->argv[count] = NULL;
    return end != NULL && count > 0 ? text + 1 : NULL;
}

static void start_host(struct host *host, const struct run *run, bool force)
{
    const char *argv[WORDS_MAX];
    size_t count = 0;
    int error;

    for (; run->argv[count] != NULL; count++)
        argv[count] = strcmp(run->argv[count], "%h") == 0 ? host->name : run->argv[count];
    argv[count++] = run->self;
    if (force)
        argv[count++] = "-f";
    argv[count++] = "--";
    argv[count++] = host->place;
    argv[count] = NULL;
    error = mounts_child_start(&host->child, mounts_child_exec, argv, -1);
    host->started = error == 0;
    if (error != 0)
        unmount_say(host->name, "%s: %s", host->place, strerror(-error));
}

/* Returns true if the connection of mpiexec to the host, such as ssh, has exited. mpiexec then
   waits forever. */
static bool is_lost(pid_t mpiexec)
{
    char children[256], stat[512], path[64];
    const char *at;
    int pid;

    snprintf(path, sizeof(path), "task/%d/children", (int)mpiexec);
    if (umount_process_file(mpiexec, path, children, sizeof(children)) <= 0 ||
        sscanf(children, "%d", &pid) != 1 ||
        umount_process_file(pid, "stat", stat, sizeof(stat)) <= 0)
        return false;
    at = strrchr(stat, ')');
    return at != NULL && strncmp(at, ") Z", 3) == 0;
}

/* Waits until the host's program has exited, or can no longer be expected to. */
static void await_host(const struct host *host, const struct run *run, bool force)
{
    long long begun = mounts_now(), lost = -1;

    while (!mounts_process_ends_within(host->child.process, 100)) {
        long long now = mounts_now();

        if (lost < 0 && !run->by_srun && is_lost(host->child.pid))
            lost = now;
        if ((lost >= 0 && now - lost > LOST_LIMIT) || (force && now - begun > FORCE_LIMIT))
            break;
    }
}

/*
 * Prints the lines of the host's mpiio-umount, or else the first line of any other output. Sets
 * *mounted if there was something to unmount. Returns 0 if nothing is left there, UNMOUNT_LOST if
 * nothing is left and data was lost, else 1.
 */
static int report_host(const struct host *host, char *output, int error, bool *mounted)
{
    char *save = NULL, *first = NULL;
    bool said = false, absent = false;

    for (char *line = strtok_r(output, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        size_t length = strlen(line);

        if (strncmp(line, PREFIX, strlen(PREFIX)) != 0) {
            first = first == NULL && line[strspn(line, " =")] != '\0' ? line : first;
        } else if (length > 13 && strcmp(line + length - 13, ": not mounted") == 0) {
            absent = true;
        } else {
            unmount_say(host->name, "%s", line + strlen(PREFIX));
            said = true;
        }
    }
    *mounted = *mounted || !absent;
    if (error != 0 && !said && !absent)
        unmount_say(host->name, "%s: %s", host->place, first != NULL ? first : "no answer");
    if (error == UNMOUNT_LOST && said)
        return UNMOUNT_LOST;
    return error != 0 && (said || !absent);
}

static int finish_host(struct host *host, const struct run *run, bool force, bool *mounted)
{
    char output[OUTPUT_MAX];
    size_t length;
    pid_t pid = host->child.pid;
    int error;

    if (!host->started)
        return 1;
    await_host(host, run, force);
    error = mounts_child_finish(&host->child, output, sizeof(output) - 1, &length, 500);
    if (error < 0)
        kill(-pid, SIGKILL); /* including its children */
    output[length] = '\0';
    return report_host(host, output, error, mounted);
}

static int unmount_each(char *names, const char *mountpoint, const struct run *run, bool force)
{
    struct host *hosts = NULL;
    size_t count = 0, room = 1;
    bool mounted = false;
    int status = 0;
    char *save = NULL;

    for (const char *at = names; *at != '\0'; at++)
        room += *at == '\n';
    hosts = calloc(room, sizeof(*hosts));
    for (char *name = strtok_r(names, "\n", &save); hosts != NULL && name != NULL;
         name = strtok_r(NULL, "\n", &save)) {
        hosts[count].name = name;
        if (place_of(mountpoint, count, hosts[count].place, sizeof(hosts->place)))
            start_host(&hosts[count], run, force);
        count++;
    }
    for (size_t i = 0; i < count; i++)
        status = umount_worse(status, finish_host(&hosts[i], run, force, &mounted));
    free(hosts);
    if (status != 0 || mounted)
        return status;
    unmount_say(mountpoint, "not mounted");
    return 1;
}

int unmount_hosts(const char *list, const char *mountpoint, bool force)
{
    char *text = calloc(1, LIST_MAX), *hosts = NULL;
    struct run run = {.argv = {NULL}};
    ssize_t length = readlink("/proc/self/exe", run.self, sizeof(run.self) - 1);
    int status = 2;

    if (text == NULL || length < 0) {
        unmount_say(mountpoint, "%s", strerror(errno));
        free(text);
        return 1;
    }
    setenv("SLURM_OVERLAP", "1", 0); /* so that an mpiexec's srun does not wait for other steps */
    if (expand_list(list, mountpoint, text, run.self) == 0)
        hosts = take_launcher(&run, text);
    else
        text[strcspn(text, "\n")] = '\0';
    if (hosts != NULL)
        status = unmount_each(hosts, mountpoint, &run, force);
    else if (strncmp(text, "mpiio-mount: ", 13) == 0)
        fprintf(stderr, PREFIX "%s\n", text + 13);
    else
        unmount_say(list, "%s", *text != '\0' ? text : "not a list of hosts");
    free(text);
    return status;
}
