/* SPDX-License-Identifier: MIT */
#define H5_USE_110_API
#include "hdf5_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a soft link. Its path is relative to the link's own group unless it begins with a /. */
static int add_soft(struct from_file *file, const char *name, const char *path)
{
    const char *slash = strrchr(name, '/');
    char *target = NULL;
    int code;

    if (path[0] == '/')
        return from_add_link(file, name, path + 1);
    if (asprintf(&target, "%.*s%s", slash ? (int)(slash - name) + 1 : 0, name, path) < 0)
        return -ENOMEM;
    code = from_add_link(file, name, target);
    free(target);
    return code;
}

static int add_external(struct from_file *file, const char *name, const char *value, size_t size)
{
    const char *other = "another file", *path = "";
    struct from_variable *variable = from_add(file, name, strlen(name));
    unsigned flags;

    if (variable == NULL)
        return -ENOMEM;
    H5Lunpack_elink_val(value, size, &flags, &other, &path);
    from_refuse(variable, "an external link to %s in %s (give that file to --from)", path, other);
    return 0;
}

int from_hdf5_link(hid_t group, const char *link, const char *name, const H5L_info_t *info,
                   struct from_file *file)
{
    size_t size = info->u.val_size;
    char *value;
    int code = 0;

    if (info->type != H5L_TYPE_SOFT && info->type != H5L_TYPE_EXTERNAL)
        return 0;
    value = calloc(1, size + 1);
    if (value == NULL)
        return -ENOMEM;
    if (H5Lget_val(group, link, value, size, H5P_DEFAULT) >= 0)
        code = info->type == H5L_TYPE_SOFT ? add_soft(file, name, value)
                                           : add_external(file, name, value, size);
    free(value);
    return code;
}
