/* SPDX-License-Identifier: MIT */
#include "core/load.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/datarep.h"

static int fail_load(struct vs_error *error, int code, const char *path)
{
    *error = (struct vs_error){.code = code};
    snprintf(error->source, sizeof(error->source), "%s", path);
    snprintf(error->reason, sizeof(error->reason), "%s", strerror(-code));
    return code;
}

/* Reads a whole file or pipe, up to somewhat more than the longest spec. The caller frees *text,
   also after an error. */
static int read_all(const char *path, char **text, size_t *length)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -errno;
    size_t room = 1 << 15;
    int error = 0;
    do {
        char *larger = realloc(*text, room *= 2);
        if (larger == NULL) {
            error = -ENOMEM;
            break;
        }
        *text = larger;
        *length += fread(larger + *length, 1, room - *length, file);
    } while (*length == room && *length <= VS_SPEC_MAX_BYTES);
    if (error == 0 && ferror(file))
        error = -errno;
    fclose(file);
    return error;
}

/* Returns the absolute path of a folder, or the given path if it cannot be resolved. A new string.
 */
static char *absolute_path(const char *folder)
{
    char *path = realpath(folder, NULL);
    return path ? path : strdup(folder);
}

/* Returns the folder of path. A new string. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path);
    char *result = copy ? absolute_path(dirname(copy)) : NULL;
    free(copy);
    return result;
}

/* Returns the absolute path of a file that may not exist yet. A new string. */
static char *absolute_file(const char *file)
{
    if (file[0] == '/')
        return strdup(file);
    char *folder = absolute_path("."), *path = NULL;
    if (folder && asprintf(&path, "%s/%s", strcmp(folder, "/") ? folder : "", file) < 0)
        path = NULL;
    free(folder);
    return path;
}

/* Parses text. Adds default callbacks to the overrides, and makes their paths absolute. */
static int parse_spec(const char *text, size_t length, bool shorthand, const char *path,
                      const struct vs_overrides *overrides, struct vs_spec **spec,
                      struct vs_error *error)
{
    struct vs_overrides resolved = {0};
    char *file = NULL, *library = NULL, *folder = folder_of(path);
    if (overrides)
        resolved = *overrides;
    if (!resolved.load_datarep) {
        resolved.load_datarep = mpiio_datarep_load;
        resolved.unload_datarep = mpiio_datarep_unload;
    }
    if (resolved.file)
        file = absolute_file(resolved.file);
    if (resolved.datarep_library)
        library = absolute_file(resolved.datarep_library);
    int code;
    if (folder == NULL || (resolved.file && file == NULL) ||
        (resolved.datarep_library && !library)) {
        code = fail_load(error, -ENOMEM, path);
    } else {
        resolved.file = file;
        resolved.datarep_library = library;
        code = shorthand ? vs_spec_parse_shorthand(text, path, folder, &resolved, spec, error)
                         : vs_spec_parse(text, length, path, folder, &resolved, spec, error);
    }
    free(file);
    free(library);
    free(folder);
    return code;
}

int mpiio_spec_load(const char *path, const struct vs_overrides *overrides, struct vs_spec **spec,
                    struct vs_error *error)
{
    char *text = NULL;
    size_t length = 0;
    int code = read_all(path, &text, &length);
    if (code != 0)
        fail_load(error, code, path);
    else
        code = parse_spec(text, length, false, path, overrides, spec, error);
    free(text);
    return code;
}

int mpiio_spec_load_shorthand(const char *text, const struct vs_overrides *overrides,
                              struct vs_spec **spec, struct vs_error *error)
{
    bool from_options = overrides && overrides->from_options;

    return parse_spec(text, strlen(text), true, from_options ? "--view" : "view", overrides, spec,
                      error);
}

int mpiio_spec_reload(const struct vs_spec *spec, const char *path,
                      const struct vs_overrides *overrides, struct vs_spec **again,
                      struct vs_error *error)
{
    bool shorthand;
    size_t length;
    const char *text = vs_spec_text(spec, &length, &shorthand);
    return parse_spec(text, length, shorthand, path, overrides, again, error);
}
