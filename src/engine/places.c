/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mpi.h>

/* Where a node mounts: in one namespace of mounts of one running kernel, a path is one place. */
struct place {
    char kernel[40];
    ino_t mounts;
    char folder[PATH_MAX]; /* where the path begins, if it does not say so itself */
    char path[PATH_MAX];
};

static void find_place(const struct engine *engine, struct place *place)
{
    FILE *kernel = fopen("/proc/sys/kernel/random/boot_id", "re");
    char *const *last = engine->options->arguments;
    struct stat st;

    memset(place, 0, sizeof(*place));
    if (kernel != NULL) {
        if (fgets(place->kernel, sizeof(place->kernel), kernel) == NULL)
            place->kernel[0] = '\0';
        fclose(kernel);
    }
    if (stat("/proc/self/ns/mnt", &st) == 0)
        place->mounts = st.st_ino;
    while (last[1] != NULL)
        last++;
    snprintf(place->path, sizeof(place->path), "%s", *last);
    if (place->path[0] != '/' && getcwd(place->folder, sizeof(place->folder)) == NULL)
        place->folder[0] = '\0';
}

bool engine_places_are_apart(const struct engine *engine, char *text, size_t size)
{
    struct place own, *all;
    int before = engine->nodes;

    find_place(engine, &own);
    /* With its number in it, each node has a place of its own. */
    if (engine->nodes == 1 || strstr(own.path, "%n") != NULL)
        return true;
    all = calloc((size_t)engine->nodes, sizeof(*all));
    if (all == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&own, (int)sizeof(own), MPI_BYTE, all, (int)sizeof(own), MPI_BYTE,
                  MPI_COMM_WORLD);
    for (int node = engine->node - 1; node >= 0; node--)
        if (memcmp(&all[node], &own, sizeof(own)) == 0)
            before = node;
    free(all);
    if (before == engine->nodes)
        return true;
    snprintf(text, size,
             "nodes %d and %d are on this machine: the mount point needs %%n, the node's number",
             before, engine->node);
    return false;
}
