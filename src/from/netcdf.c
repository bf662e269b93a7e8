/* SPDX-License-Identifier: MIT */
#include "netcdf.h"

#include <errno.h>
#include <string.h>

#include "netcdf_header.h"
#include "netcdf_set.h"

/* netCDF's classic formats: a file, or one of a set that the processes of a model wrote. */

static int parse(const struct from_bytes *head, struct from_file *file, struct vs_error *error)
{
    struct from_nc_header header;
    int code = from_nc_read(head, file, &header, error);

    if (!code && from_nc_is_tile(head->path, file, &header))
        code = from_nc_set(head->path, file, error);
    else if (!code && from_add_part(file, 0, header.bytes))
        code = from_fail(error, -ENOMEM, head->path, "%s", strerror(ENOMEM));
    from_nc_free(&header);
    return code;
}

const struct from_format from_netcdf = {
    .name = "netCDF classic",
    .is_it = from_nc_is_it,
    .parse = parse,
    .find = from_nc_set_find,
};
