/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "netcdf_header.h"
#include "netcdf_set.h"
#include "viewspec/base/integer.h"

/* netCDF's classic formats: a single file, or a tile of a set that a model's processes wrote. */

/*
 * Makes the file the member of a whole of the length that the header requires. Files are too short
 * if programs have not written all values. The netCDF library reads zeros there.
 */
static int lengthen(const struct from_bytes *head, struct from_file *file, int64_t end,
                    struct vs_error *error)
{
    file->members = json_pack("{s:[s], s:{s:I}, s:s}", "files", head->path, "view", "tiles",
                              (json_int_t)end, "missing", "zero");
    if (asprintf(&file->note,
                 "the file is truncated: bytes %" PRId64 " to %" PRId64
                 " read as zeros (truncate -s %" PRId64 " lets them be written)",
                 head->size, end - 1, end) < 0)
        file->note = NULL;
    if (!file->members)
        return from_fail(error, -EINVAL, head->path,
                         "it is truncated, and its name is not UTF-8, as a spec must be");
    return file->note ? 0 : -ENOMEM;
}

/* Completes a file that is not a tile. */
static int complete(const struct from_bytes *head, struct from_file *file, int64_t header_bytes,
                    struct vs_error *error)
{
    int64_t end = 0;
    int code = 0;

    for (size_t i = 0; i < file->count; i++)
        if (!file->variables[i].reason)
            end = vs_max(end, from_end(&file->variables[i]));
    if (end > head->size)
        code = lengthen(head, file, end, error);
    if (!code && file->members)
        return from_add_part_of(file, head->path, 0, header_bytes);
    return code ? code : from_add_part(file, 0, header_bytes);
}

static int parse_netcdf(const struct from_bytes *head, struct from_file *file,
                        struct vs_error *error)
{
    struct from_nc_header header;
    int code = from_nc_read(head, file, &header, error);

    if (!code && from_nc_is_tile(head->path, file, &header))
        code = from_nc_set(head->path, file, error);
    else if (!code && complete(head, file, header.bytes, error))
        code = from_fail(error, -ENOMEM, head->path, "%s", strerror(ENOMEM));
    from_nc_free(&header);
    return code;
}

const struct from_format from_netcdf = {
    .name = "netCDF classic",
    .is_it = from_nc_is_it,
    .parse = parse_netcdf,
    .find = from_nc_set_find,
};
