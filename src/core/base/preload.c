/* SPDX-License-Identifier: MIT */
#include "preload.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int find_library(const char *const *places, size_t count, char path[PATH_MAX])
{
    char self[PATH_MAX], near[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (length < 0)
        return -errno;
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(near, sizeof(near), "%s/%s", self, places[i]);
        if (realpath(near, path) != NULL)
            return 0;
    }
    return -ENOENT;
}

/* Appends the library to those that are preloaded already. */
static int preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *both;
    int result;

    if (before == NULL || !*before)
        return setenv("LD_PRELOAD", library, 1);
    if (asprintf(&both, "%s:%s", before, library) < 0)
        return -1;
    result = setenv("LD_PRELOAD", both, 1);
    free(both);
    return result;
}

const char *mpiio_preload(const char *installed, const char *built)
{
    const char *const places[] = {installed, built};
    static char library[PATH_MAX], why[PATH_MAX + 64];
    int error = find_library(places, 2, library);

    if (error != 0)
        snprintf(why, sizeof(why), "%s: %s", strrchr(installed, '/') + 1, strerror(-error));
    else if (strpbrk(library, ": ") != NULL)
        snprintf(why, sizeof(why), "%s: a path with blanks or colons cannot be preloaded", library);
    else if (preload(library) != 0)
        snprintf(why, sizeof(why), "%s", strerror(errno));
    else
        return NULL;
    return why;
}
