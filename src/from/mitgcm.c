/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pieces.h"

/* The .meta files of MITgcm. Each describes the .data file beside it. */

/* Adds a variable with some records, beginning with number first. */
static int add_records(const struct from_meta *meta, struct from_file *file, const char *name,
                       size_t length, int64_t first, int64_t records)
{
    struct from_variable *variable = from_add(file, name, length);
    int64_t values = 1;

    if (variable == NULL)
        return -ENOMEM;
    variable->size = meta->size;
    variable->etype = from_float(variable->size);
    variable->datarep = "big-endian";
    if (records > 1)
        variable->shape[variable->dimensions++] = records;
    for (int d = meta->dimensions - 1; d >= 0; d--) {
        values *= meta->list[3 * d];
        if (variable->dimensions < FROM_DIMENSIONS_MAX)
            variable->shape[variable->dimensions++] = meta->list[3 * d];
        else
            from_refuse(variable, "more than %d dimensions", FROM_DIMENSIONS_MAX);
    }
    variable->at = first * values * variable->size;
    if (!from_meta_is_whole(meta) && !file->members)
        from_refuse(variable, "the file has a part of the array only, and is not named as a tile "
                              "is (NAME.001.001.meta)");
    return variable->etype ? 0 : -ENOMEM;
}

/* Adds a variable for each field if they have names; else one with that name. */
static int add_variables(const struct from_meta *meta, struct from_file *file, const char *name,
                         size_t length)
{
    if (meta->field_count != meta->records)
        return add_records(meta, file, name, length, 0, meta->records);
    for (int64_t i = 0; i < meta->records; i++)
        if (add_records(meta, file, meta->fields[i], strlen(meta->fields[i]), i, 1))
            return -ENOMEM;
    return 0;
}

static bool is_mitgcm(const struct from_bytes *head)
{
    size_t length = strlen(head->path);

    return length > 5 && !strcmp(head->path + length - 5, ".meta") &&
           memmem(head->bytes, head->length, "dimList", 7);
}

/* Finds NAME.meta, or the first tile of NAME, because programs for such files accept NAME. */
static char *find_meta(const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s.meta", name) < 0)
        return NULL;
    if (!access(path, F_OK))
        return path;
    free(path);
    return from_pieces_find(name);
}

/* Describes the .data file beside the .meta file, or the pieces that belong together. */
static int describe_data(const struct from_bytes *head, const struct from_meta *meta,
                         struct from_file *file, struct vs_error *error)
{
    size_t length = strlen(head->path) - 5, piece = from_pieces_name(head->path);
    const char *slash = strrchr(head->path, '/'), *name = slash ? slash + 1 : head->path;
    int code = 0;

    if (piece && !from_meta_is_whole(meta)) {
        if (from_pieces(head->path, meta, file, error))
            return error->code;
        length = piece;
    } else {
        code = from_add_part(file, 0, head->size);
        if (asprintf(&file->data, "%.*s.data", (int)length, head->path) < 0)
            file->data = NULL;
    }
    code |= add_variables(meta, file, name, (size_t)(head->path + length - name));
    if (code || (!file->data && !file->members))
        return from_fail_code(error, -ENOMEM, head->path);
    return 0;
}

static int parse_mitgcm(const struct from_bytes *head, struct from_file *file,
                        struct vs_error *error)
{
    struct from_meta meta;
    int code;

    if ((int64_t)head->length < head->size)
        return -EAGAIN;
    code = from_meta((const char *)head->bytes, head->length, head->path, &meta, error);
    if (!code)
        code = describe_data(head, &meta, file, error);
    from_meta_free(&meta);
    return code;
}

const struct from_format from_mitgcm = {
    .name = ".meta",
    .is_it = is_mitgcm,
    .parse = parse_mitgcm,
    .find = find_meta,
};
