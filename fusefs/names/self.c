/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds the rank of the process that looks up "self". */

/* Variables in which process managers store a process's rank in MPI_COMM_WORLD, by priority. */
static const char *const rank_variables[] = {
    "PMI_RANK=",
    "PMIX_RANK=",
    "OMPI_COMM_WORLD_RANK=",
    "SLURM_PROCID=",
};

/* The kernel limits an environment to a quarter of the stack limit. This limit is ample. */
#define ENVIRONMENT_MAX ((size_t)16 << 20)

/*
 * Reads the initial environment of a process: strings that end with a zero byte, and one more zero
 * at the end. Returns 0 or a negative errno. The caller frees *environment.
 */
static int read_environment(pid_t process, char **environment, size_t *length)
{
    char path[64];
    char *text = NULL;
    size_t size = 0, used = 0;
    ssize_t got = 1;
    int error = 0;
    int file;

    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)process);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    while (error == 0 && got > 0 && size < ENVIRONMENT_MAX) {
        char *larger;

        size += 65536;
        larger = realloc(text, size);
        if (larger == NULL) {
            error = -ENOMEM;
            break;
        }
        text = larger;
        while (used < size - 1 && (got = read(file, text + used, size - 1 - used)) > 0)
            used += (size_t)got;
        if (got < 0)
            error = -errno;
    }
    close(file);
    if (error != 0) {
        free(text);
        return error;
    }
    text[used] = '\0';
    *environment = text;
    *length = used;
    return 0;
}

static const char *variable(const char *environment, size_t length, const char *name)
{
    const char *entry = environment;

    while (entry < environment + length) {
        if (strncmp(entry, name, strlen(name)) == 0)
            return entry + strlen(name);
        entry += strlen(entry) + 1;
    }
    return NULL;
}

/* Returns the rank that the environment contains, or -ENOENT if there is none in [0, ranks). */
static int64_t rank_in(const char *environment, size_t length, int64_t ranks)
{
    const char *value = NULL;
    char *end;
    long long rank;

    for (size_t i = 0; value == NULL && i < sizeof(rank_variables) / sizeof(char *); i++)
        value = variable(environment, length, rank_variables[i]);
    if (value == NULL || *value < '0' || *value > '9')
        return -ENOENT;
    rank = strtoll(value, &end, 10);
    return *end == '\0' && rank < ranks ? rank : -ENOENT;
}

int64_t fs_self_rank(const struct fs_tree *tree, pid_t process)
{
    char *environment = NULL;
    size_t length = 0;
    int64_t rank;
    int error = read_environment(process, &environment, &length);

    if (error != 0) /* a process of another PID namespace appears as number 0 */
        return error == -ESRCH ? -ENOENT : error;
    rank = rank_in(environment, length, tree->end);
    if (rank >= 0 && rank < tree->first)
        rank = -ENOENT;
    free(environment);
    return rank;
}
