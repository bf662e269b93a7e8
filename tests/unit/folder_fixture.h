/* SPDX-License-Identifier: MIT */
#ifndef FOLDER_FIXTURE_H
#define FOLDER_FIXTURE_H

/* A folder in $TMPDIR or /tmp for the files of tests. They must leave it empty. */

#include <fcntl.h>

#include "unit.h"

static char folder[256];
static int folder_fd;

static inline int make_folder(void **state)
{
    const char *place = getenv("TMPDIR");

    snprintf(folder, sizeof(folder), "%s/mpiio-test-XXXXXX", place != NULL ? place : "/tmp");
    if (mkdtemp(folder) == NULL)
        return -1;
    folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return folder_fd < 0 ? -1 : 0;
}

static inline int remove_folder(void **state)
{
    close(folder_fd);
    return rmdir(folder);
}

#endif
