/* SPDX-License-Identifier: MIT */
#include "path.h"

#include <stdio.h>
#include <string.h>

char *vs_path_from(const char *folder, const char *name)
{
    char *path = NULL;
    if (name[0] == '/')
        return strdup(name);
    return asprintf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", name) < 0 ? NULL : path;
}
