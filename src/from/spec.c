/* SPDX-License-Identifier: MIT */
#include "spec.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/header.h"
#include "viewspec/basic.h"

/* Variables of bytes that get a type. */

static const char type_source[] = "--type";

/* Reads a shape such as "4x*x3", with 0 for *. Returns the number of dimensions, or -1. */
static int read_shape(const char *text, int64_t *shape)
{
    int dimensions = 0;

    for (;; text++) {
        char *end = (char *)text + 1;
        if (dimensions == FROM_DIMENSIONS_MAX || (*text != '*' && !isdigit((unsigned char)*text)))
            return -1;
        errno = 0;
        shape[dimensions] = *text == '*' ? 0 : strtoll(text, &end, 10);
        if (errno || (*text != '*' && !shape[dimensions]))
            return -1;
        dimensions++;
        text = end;
        if (!*text)
            return dimensions;
        if (*text != 'x' && *text != ',')
            return -1;
    }
}

/* Replaces * by the size that fits. Returns false if the shape has another number of elements. */
static bool fit_shape(int64_t *shape, int dimensions, int64_t elements)
{
    int64_t product = 1, *open = NULL;

    for (int d = 0; d < dimensions; d++) {
        if (!shape[d] && open)
            return false;
        if (!shape[d])
            open = &shape[d];
        else if (__builtin_mul_overflow(product, shape[d], &product))
            return false;
    }
    if (open && elements % product)
        return false;
    if (open)
        *open = elements / product;
    return open || product == elements;
}

/* Reads TYPE, and sets *behind to the text after it. Returns NULL if there is no such type. */
static const struct vs_basic *read_type(const char *text, const char **behind)
{
    size_t length = strcspn(text, " \t");
    char name[64];

    snprintf(name, sizeof(name), "%.*s", length < sizeof(name) ? (int)length : 0, text);
    *behind = text + length + strspn(text + length, " \t");
    return vs_basic_find(name);
}

int from_retype(const struct from_file *file, struct from_variable *variable, const char *text,
                struct vs_error *error)
{
    const char *type = json_string_value(variable->etype), *behind;
    const struct vs_basic *basic = read_type(text, &behind);
    int64_t shape[FROM_DIMENSIONS_MAX], bytes = from_elements(variable), row = 0;
    int dimensions = variable->dimensions;

    if (basic == NULL)
        return from_fail(error, -EINVAL, type_source,
                         "\"%s\": expected a basic type, such as double, and a "
                         "shape, such as 100x3 or *x3",
                         text);
    if (type == NULL || strcmp(type, "byte") != 0 || !dimensions || variable->boxes.count)
        return from_fail(error, -EINVAL, type_source,
                         "%s already has a type (only variables of bytes can be given one)",
                         variable->name);
    row = variable->shape[dimensions - 1];
    if (row % basic->size)
        return from_fail(error, -EINVAL, type_source,
                         "%s: %" PRId64 " bytes are not a multiple of the size of %s",
                         variable->name, row, basic->name);
    memcpy(shape, variable->shape, sizeof(shape));
    shape[dimensions - 1] = row / basic->size;
    if (*behind && (dimensions = read_shape(behind, shape)) < 0)
        return from_fail(error, -EINVAL, type_source,
                         "\"%s\": expected a shape, such as 100x3 or *x3", behind);
    if (*behind && (!fit_shape(shape, dimensions, bytes / basic->size) ||
                    (variable->stride && shape[0] != variable->shape[0])))
        return from_fail(error, -EINVAL, type_source, "%s: %s is not the shape of %" PRId64 "%s%s",
                         variable->name, behind, bytes / basic->size,
                         variable->stride ? " values in rows of a record each, of " : " of ",
                         basic->name);
    json_decref(variable->etype);
    variable->etype = json_string(basic->name);
    variable->datarep = file->datarep;
    variable->size = basic->size;
    variable->dimensions = dimensions;
    memcpy(variable->shape, shape, sizeof(shape));
    return variable->etype ? 0 : from_fail_code(error, -ENOMEM, type_source);
}

/* Specs. */

/* The maximum size of a view's name, including the NUL; as of a file's. */
#define NAME_SIZE 240

/* Returns true if a view cannot have that name because it is reserved: rankN, self, whole. */
static bool is_taken(const char *name, bool has_members)
{
    return !strcmp(name, "self") || (has_members && !strcmp(name, "whole")) ||
           (!strncmp(name, "rank", 4) && name[4] &&
            strspn(name + 4, "0123456789") == strlen(name + 4));
}

/*
 * Converts a variable's name to a view's name. Characters that a view's name cannot have become _,
 * and the / of HDF5's groups becomes a dot.
 */
static void make_name(const char *name, bool has_members, char *text)
{
    size_t length = 0;

    if (is_taken(name, has_members) || strchr("./", name[0]))
        text[length++] = '_';
    for (; *name && length < NAME_SIZE - 16; name++)
        text[length++] = isalnum((unsigned char)*name) || strchr("_-.", *name) ? *name
                         : *name == '/'                                        ? '.'
                                                                               : '_';
    text[length] = '\0';
}

/* Returns those names of the chosen variables that a view can have unchanged. */
static json_t *unchanged_names(const struct from_file *file, const size_t *chosen, size_t count,
                               bool has_members)
{
    json_t *names = json_object();
    char text[NAME_SIZE];

    for (size_t i = 0; i < count; i++) {
        const char *name = file->variables[chosen[i]].name;
        make_name(name, has_members, text);
        if (!strcmp(name, text))
            json_object_set_new(names, text, json_null());
    }
    return names;
}

/* Makes a unique name for the view of a variable. A changed name gets a number at its end if it is
   taken or an unchanged name equals it. */
static void name_view(const json_t *views, const json_t *unchanged, const char *name,
                      bool has_members, char *text)
{
    size_t length;

    make_name(name, has_members, text);
    length = strlen(text);
    bool changed = strcmp(name, text) != 0;
    for (int i = 2; json_object_get(views, text) || (changed && json_object_get(unchanged, text));
         i++) {
        snprintf(text + length, 16, "-%d", i);
        changed = true;
    }
}

/* Adds a part of a header, with its current checksum. */
static int add_part(json_t *header, const struct from_file *file, const struct from_part *part,
                    bool has_members, struct vs_error *error)
{
    uint32_t sum;
    char text[16];
    const char *path = part->path ? part->path : file->path;
    int code = mpiio_header_sum(path, part->at, part->bytes, &sum);

    if (code)
        return from_fail_code(error, code, path);
    snprintf(text, sizeof(text), "%08" PRIx32, sum);
    json_t *entry = json_pack("{s:I, s:I, s:s}", "at", (json_int_t)part->at, "size",
                              (json_int_t)part->bytes, "crc32", text);
    if (file->data || part->path || has_members)
        json_object_set_new(entry, "file", json_string(path));
    return json_array_append_new(header, entry) ? -ENOMEM : 0;
}

/* Returns the "members" of the spec, borrowed, or NULL if it has none. */
static json_t *members_of(const struct from_file *file, const size_t *chosen, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (file->variables[chosen[i]].is_assembled)
            return file->assembly;
    return file->members;
}

static json_t *make_header(const struct from_file *file, const size_t *chosen, size_t count,
                           bool has_members, struct vs_error *error)
{
    json_t *header = json_array();

    for (size_t i = 0; i < file->part_count && !error->code; i++)
        add_part(header, file, &file->parts[i], has_members, error);
    for (size_t i = 0; i < count && !error->code; i++)
        if (file->variables[chosen[i]].part.bytes)
            add_part(header, file, &file->variables[chosen[i]].part, has_members, error);
    return header;
}

static json_t *make_views(const struct from_file *file, const size_t *chosen, size_t count,
                          bool has_members, const struct from_grid *grid, struct vs_error *error)
{
    json_t *views = json_object();
    json_t *unchanged = unchanged_names(file, chosen, count, has_members);
    char name[NAME_SIZE];

    for (size_t i = 0; i < count && !error->code; i++) {
        const struct from_variable *variable = &file->variables[chosen[i]];
        name_view(views, unchanged, variable->name, has_members, name);
        json_object_set_new(views, name, from_view(variable, grid, error));
    }
    json_decref(unchanged);
    return views;
}

char *from_spec(const struct from_file *file, const size_t *chosen, size_t count, bool named,
                const struct from_grid *grid, struct vs_error *error)
{
    json_t *root = json_object(), *members = members_of(file, chosen, count);
    char *text = NULL;

    json_object_set_new(root, "viewspec", json_integer(1));
    if (members)
        json_object_set(root, "members", members);
    else if (json_object_set_new(root, "file", json_string(file->data ? file->data : file->path)))
        from_fail(error, -EINVAL, file->path, "a file's name is not UTF-8, as a spec must be");
    json_object_set_new(root, "header", make_header(file, chosen, count, members, error));
    json_object_set_new(root, "ranks", json_integer(grid->ranks));
    if (named || count != 1)
        json_object_set_new(root, "views", make_views(file, chosen, count, members, grid, error));
    else
        json_object_set_new(root, "view", from_view(&file->variables[chosen[0]], grid, error));
    if (!error->code)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (!text)
        from_fail_code(error, -ENOMEM, file->path);
    return text;
}
