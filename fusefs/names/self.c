/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the rank of the process that looks up "self". */

/* Variables in which process managers store a process's rank in MPI_COMM_WORLD, by priority. */
static const char *const rank_variables[] = {
    "PMI_RANK=",
    "PMIX_RANK=",
    "OMPI_COMM_WORLD_RANK=",
    "SLURM_PROCID=",
};

/* The kernel limits an environment to a quarter of the stack limit. This limit is ample. */
#define ENVIRONMENT_MAX ((off_t)16 << 20)

/*
 * Reads the initial environment of a process: strings that end with a zero byte, and one more zero
 * at the end. Returns 0 or a negative errno. The caller frees *environment in either case.
 */
static int read_environment(pid_t process, char **environment, size_t *length)
{
    char path[64], part[4096];
    FILE *file, *copy;
    size_t got;
    int error = 0;

    snprintf(path, sizeof(path), "/proc/%ld/environ", (long)process);
    file = fopen(path, "re");
    if (file == NULL)
        return -errno;
    copy = open_memstream(environment, length);
    if (copy == NULL) {
        fclose(file);
        return -ENOMEM;
    }
    while (ftello(copy) < ENVIRONMENT_MAX && (got = fread(part, 1, sizeof(part), file)) > 0)
        fwrite(part, 1, got, copy);
    if (ferror(file))
        error = -errno;
    fclose(file);
    return fclose(copy) != 0 ? -ENOMEM : error;
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

    /* A process of another PID namespace appears as number 0. */
    if (error != 0)
        rank = error == -ESRCH ? -ENOENT : error;
    else
        rank = rank_in(environment, length, tree->end);
    if (rank >= 0 && rank < tree->first)
        rank = -ENOENT;
    free(environment);
    return rank;
}
