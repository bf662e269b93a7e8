/* SPDX-License-Identifier: MIT */
#define H5_USE_110_API
#include "hdf5_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewspec/base/list.h"

struct links {
    const struct from_hdf5_objects *objects;
    struct from_file *file;
    struct vs_error *error;
};

int from_hdf5_object(struct from_hdf5_objects *objects, const char *name, haddr_t address)
{
    struct from_hdf5_object *more =
        vs_list_grow(objects->list, objects->count, &objects->room, sizeof(*more));
    char *copy = strdup(strcmp(name, ".") ? name : "");

    if (more)
        objects->list = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return -ENOMEM;
    }
    objects->list[objects->count++] = (struct from_hdf5_object){address, copy};
    return 0;
}

void from_hdf5_objects_free(struct from_hdf5_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        free(objects->list[i].name);
    free(objects->list);
}

static int compare(const void *a, const void *b)
{
    const struct from_hdf5_object *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* Adds a hard link, unless the object was listed under this name. */
static int add_hard(const struct links *links, const char *name, haddr_t address)
{
    struct from_hdf5_object key = {.address = address};
    const struct from_hdf5_object *found =
        bsearch(&key, links->objects->list, links->objects->count, sizeof(key), compare);

    return found && strcmp(found->name, name) != 0 ? from_add_link(links->file, name, found->name)
                                                   : 0;
}

/* Adds a soft link. Its path is relative to the link's own group unless it begins with a /. */
static int add_soft(const struct links *links, const char *name, const char *path)
{
    const char *slash = strrchr(name, '/');
    char *target = NULL;
    int code;

    if (path[0] == '/')
        return from_add_link(links->file, name, path + 1);
    if (asprintf(&target, "%.*s%s", slash ? (int)(slash - name) + 1 : 0, name, path) < 0)
        return -ENOMEM;
    code = from_add_link(links->file, name, target);
    free(target);
    return code;
}

static int add_external(const struct links *links, const char *name, const char *value, size_t size)
{
    const char *file = "another file", *path = "";
    struct from_variable *variable = from_add(links->file, name, strlen(name));
    unsigned flags;

    if (variable == NULL)
        return -ENOMEM;
    H5Lunpack_elink_val(value, size, &flags, &file, &path);
    from_refuse(variable, "an external link to %s in %s (give that file to --from)", path, file);
    return 0;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *argument)
{
    const struct links *links = argument;
    int code = 0;

    if (info->type == H5L_TYPE_HARD) {
        code = add_hard(links, name, info->u.address);
    } else if (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL) {
        size_t size = info->u.val_size;
        char *value = calloc(1, size + 1);
        if (value == NULL)
            code = -ENOMEM;
        else if (H5Lget_val(group, name, value, size, H5P_DEFAULT) >= 0)
            code = info->type == H5L_TYPE_SOFT ? add_soft(links, name, value)
                                               : add_external(links, name, value, size);
        free(value);
    }
    return code ? from_fail(links->error, code, links->file->path, "%s", strerror(-code)) : 0;
}

int from_hdf5_links(hid_t root, struct from_hdf5_objects *objects, struct from_file *file,
                    struct vs_error *error)
{
    struct links links = {objects, file, error};

    qsort(objects->list, objects->count, sizeof(*objects->list), compare);
    return H5Lvisit(root, H5_INDEX_NAME, H5_ITER_INC, visit_link, &links) < 0 ? -EINVAL : 0;
}
