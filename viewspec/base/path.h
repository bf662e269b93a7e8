/* SPDX-License-Identifier: MIT */
#ifndef VS_PATH_H
#define VS_PATH_H

/* Private to viewspec/: paths. */

#include <stdio.h>
#include <string.h>

/* Returns name, prefixed by folder if it is relative. A new string; NULL: out of memory. */
static inline char *vs_path_from(const char *folder, const char *name)
{
    char *path = NULL;
    if (name[0] == '/')
        return strdup(name);
    return asprintf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", name) < 0 ? NULL : path;
}

#endif
