/* SPDX-License-Identifier: MIT */
#include "hdf5_private.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Listing a file. First its soft and external links. */

/* Adds a soft link. Its path is relative to the link's own group unless it begins with a /. */
static void add_soft(struct from_file *file, const char *name, const char *path)
{
    char *target = from_beside(name, path);

    if (target == NULL)
        from_no_memory(file);
    else
        from_add_link(file, name, target + (*target == '/'));
    free(target);
}

static void add_external(struct from_file *file, const char *name, const char *value, size_t size)
{
    const char *other = "another file", *path = "";
    struct from_variable *variable = from_add(file, name, strlen(name));
    unsigned flags;

    H5Lunpack_elink_val(value, size, &flags, &other, &path);
    if (variable)
        from_refuse(variable, "an external link to %s in %s (give that file to --from)", path,
                    other);
}

/*
 * Adds a soft link of a group to file. name is the path of the link in the HDF5 file. An external
 * link becomes a variable that cannot be a view. Ignores links of other types.
 */
static void add_link(hid_t group, const char *link, const char *name, const H5L_info_t *info,
                     struct from_file *file)
{
    size_t size = info->u.val_size;
    char *value = calloc(1, size + 1);
    bool found = value && (info->type == H5L_TYPE_SOFT || info->type == H5L_TYPE_EXTERNAL) &&
                 H5Lget_val(group, link, value, size, H5P_DEFAULT) >= 0;

    if (value == NULL)
        from_no_memory(file);
    else if (found && info->type == H5L_TYPE_SOFT)
        add_soft(file, name, value);
    else if (found)
        add_external(file, name, value, size);
    free(value);
}

/* The maximum depth of nested groups. */
#define DEPTH_MAX 1000

#define REASON_SIZE 256

struct visit {
    struct from_file *file;
    struct from_hdf5_file in;
    struct from_whole whole;
    bool is_plain; /* all bytes are in one file, so specs can have members */
    void *seen;    /* visited objects: a tsearch(3) tree of struct object */
};

/*
 * Returns true if a dataset represents a netCDF-4 dimension without values. netCDF-4 stores such a
 * dimension as a dataset with the dimension's name.
 */
static bool is_dimension_alone(hid_t set)
{
    return from_hdf5_says(set, "NAME", "This is a netCDF dimension but not a netCDF variable");
}

static bool is_wanted(const struct from_wanted *wanted, const char *name)
{
    for (size_t i = 0; i < wanted->count; i++)
        if (!strcmp(wanted->names[i], name))
            return true;
    return wanted->all;
}

/* Adds a variable for a dataset. If it is not wanted, a temporary whole, which is discarded,
   shows if it can be a view. */
static void read_set(struct visit *visit, const char *name, hid_t set, const H5O_info_t *info)
{
    struct from_whole scratch = {0};
    struct from_hdf5_set it = {.file = visit->file,
                               .in = &visit->in,
                               .set = set,
                               .properties = H5Dget_create_plist(set),
                               .wanted = is_wanted(&visit->file->wanted, name),
                               .variable = from_add(visit->file, name, strlen(name))};

    if (visit->is_plain)
        it.whole = it.wanted ? &visit->whole : &scratch;
    if (it.whole == &scratch && from_whole_add(&scratch, visit->in.path) < 0)
        from_fail(visit->file->error, -EIO, visit->in.path, "it is no longer there");
    if (it.variable && from_hdf5_read(&it, visit->in.base + (int64_t)info->addr) == H5D_VIRTUAL)
        from_hdf5_virtual(&it);
    H5Pclose(it.properties);
    from_whole_clear(&scratch);
}

static herr_t take_first(unsigned number, const H5E_error2_t *error, void *argument)
{
    char *text = argument;

    (void)number;
    snprintf(text, REASON_SIZE, "%s", error->desc ? error->desc : "");
    return 1;
}

/* Adds an object that libhdf5 cannot open. The reason is the innermost error on its stack. */
static void add_broken(struct visit *visit, const char *name)
{
    struct from_variable *variable = from_add(visit->file, name, strlen(name));
    char reason[REASON_SIZE] = "";

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, reason);
    for (char *at = reason; *at; at++)
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    if (variable)
        from_refuse(variable, "libhdf5 cannot open it%s%s", reason[0] ? ": " : "", reason);
}

/* An object of the file, and the name under which it is listed. */
struct object {
    haddr_t address;
    char name[];
};

static int compare_addresses(const void *a, const void *b)
{
    const struct object *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* Returns true on the first visit to an object. On later ones, adds the name as a link. */
static bool is_new(struct visit *visit, const char *name, haddr_t address)
{
    struct object *key = malloc(sizeof(*key) + strlen(name) + 1), **found = NULL;
    bool first;

    if (key) {
        key->address = address;
        strcpy(key->name, name);
        found = tsearch(key, &visit->seen, compare_addresses);
    }
    first = found && *found == key;
    if (found == NULL)
        from_no_memory(visit->file);
    else if (!first)
        from_add_link(visit->file, name, (*found)->name);
    if (!first)
        free(key);
    return first;
}

/* A group whose links are being visited. */
struct group {
    struct visit *visit;
    const char *name; /* followed by a slash; "" for the root group */
    int depth;
};

static void visit_set(struct visit *visit, const char *name, const H5O_info_t *info)
{
    hid_t set = H5Dopen2(visit->in.root, name, H5P_DEFAULT);

    if (set < 0)
        add_broken(visit, name);
    else if (!is_dimension_alone(set))
        read_set(visit, name, set, info);
    if (set >= 0)
        H5Dclose(set);
}

static herr_t visit_link(hid_t from, const char *link, const H5L_info_t *info, void *argument);

static void visit_group(const struct group *up, const char *name)
{
    struct visit *visit = up->visit;
    hid_t self = up->depth < DEPTH_MAX ? H5Gopen2(visit->in.root, name, H5P_DEFAULT) : -1;
    char *prefix = NULL;

    if (asprintf(&prefix, "%s/", name) < 0) {
        from_no_memory(visit->file);
    } else {
        struct group group = {visit, prefix, up->depth + 1};
        if (self < 0 ||
            (H5Literate(self, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, &group) < 0 &&
             !visit->file->error->code))
            add_broken(visit, name);
        free(prefix);
    }
    if (self >= 0)
        H5Gclose(self);
}

static void visit_object(const struct group *group, const char *name, const H5O_info_t *object)
{
    if (object->type == H5O_TYPE_GROUP)
        visit_group(group, name);
    else if (object->type == H5O_TYPE_DATASET)
        visit_set(group->visit, name, object);
}

/* Visits the object that a hard link refers to, or adds the link. Goes on after an object that
   libhdf5 cannot open, unlike H5Ovisit(). */
static herr_t visit_link(hid_t from, const char *link, const H5L_info_t *info, void *argument)
{
    const struct group *group = argument;
    struct visit *visit = group->visit;
    char *name = NULL;
    H5O_info_t object;

    if (asprintf(&name, "%s%s", group->name, link) < 0)
        return from_no_memory(visit->file);
    if (info->type != H5L_TYPE_HARD)
        add_link(from, link, name, info, visit->file);
    else if (H5Oget_info_by_name2(from, link, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        add_broken(visit, name);
    else if (is_new(visit, name, object.addr))
        visit_object(group, name, &object);
    free(name);
    return visit->file->error->code ? -1 : 0;
}

static void list_datasets(struct visit *visit)
{
    struct group group = {.visit = visit, .name = ""};
    H5O_info_t object;

    if (H5Oget_info2(visit->in.root, &object, H5O_INFO_BASIC) < 0 ||
        (is_new(visit, "", object.addr) &&
         H5Literate(visit->in.root, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, &group) < 0))
        from_wrong(visit->file, "damaged HDF5 file");
    else
        from_add_part(visit->file, NULL, visit->in.base, visit->in.super);
}

/* Lists an open file. Sets its assembly if any variable needs bytes that are not in the file. */
static void list_all(struct visit *visit)
{
    struct from_file *file = visit->file;
    int64_t code = visit->is_plain ? from_whole_add(&visit->whole, visit->in.path) : 0;

    if (code < 0)
        from_fail_code(file->error, (int)code, visit->in.path);
    else
        list_datasets(visit);
    for (size_t i = 0; i < file->count && !file->error->code && !file->assembly; i++)
        if (file->variables[i].is_assembled &&
            !(file->assembly = from_whole_members(&visit->whole)))
            from_no_memory(file);
    tdestroy(visit->seen, free);
    from_whole_clear(&visit->whole);
}

int mpiio_hdf5_list(const struct from_source *source, struct from_file *file)
{
    struct visit visit = {.file = file, .is_plain = source == NULL};
    int code;

    H5dont_atexit(); /* its exit handler crashes if a damaged file is still open */
    setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    code = from_hdf5_file_open(&visit.in, file->path, source);
    if (code)
        from_fail(file->error, code, file->path, "%s",
                  code == -EINVAL ? "damaged HDF5 file, or one that is being written"
                                  : strerror(-code));
    else
        list_all(&visit);
    from_hdf5_file_close(&visit.in);
    return file->error->code;
}
