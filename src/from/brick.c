/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats.h"
#include "viewspec/base/list.h"
#include "viewspec/members/members.h"

/* Blocks of values that text headers describe. */

/* The maximum size of the lines of text at the beginning of a data file. */
#define LINES_MAX (1 << 20)

/* The maximum number of digits in the numbers of a pattern. */
#define WIDTH_MAX 64

void from_brick_free(struct from_brick *brick)
{
    for (size_t i = 0; i < brick->count; i++)
        free(brick->names[i]);
    free(brick->names);
    json_decref(brick->view);
}

int from_brick_add(struct from_brick *brick, struct from_span name)
{
    const char *slash = strrchr(brick->path, '/');
    int folder = slash && (!name.length || *name.at != '/') ? (int)(slash + 1 - brick->path) : 0;
    char **more = vs_list_grow(brick->names, brick->count, &brick->room, sizeof(*more)), *path;

    if (more == NULL)
        return -ENOMEM;
    brick->names = more;
    if (asprintf(&path, "%.*s%.*s", folder, brick->path, (int)name.length, name.at) < 0)
        return -ENOMEM;
    brick->names[brick->count++] = path;
    return 0;
}

/* Expands the one %d of a pattern; it may have a flag 0 and a width, and i and u are synonyms.
   Returns false if the pattern has another form. */
static bool expand_pattern(struct from_span pattern, int64_t number, char *text, size_t size)
{
    size_t length = 0, conversions = 0;

    for (size_t i = 0; i < pattern.length && length + WIDTH_MAX + 1 < size; i++) {
        int width = 0, zeros;
        if (pattern.at[i] != '%' || (i + 1 < pattern.length && pattern.at[i + 1] == '%')) {
            i += pattern.at[i] == '%';
            text[length++] = pattern.at[i];
            continue;
        }
        zeros = ++i < pattern.length && pattern.at[i] == '0';
        for (; i < pattern.length && isdigit((unsigned char)pattern.at[i]); i++)
            width = width < WIDTH_MAX ? 10 * width + pattern.at[i] - '0' : WIDTH_MAX;
        if (i == pattern.length || !strchr("diu", pattern.at[i]) || width >= WIDTH_MAX ||
            conversions++)
            return false;
        length += (size_t)snprintf(text + length, size - length, zeros ? "%0*" PRId64 : "%*" PRId64,
                                   width, number);
    }
    text[length] = '\0';
    return conversions == 1;
}

int from_brick_add_numbered(struct from_brick *brick, struct from_span pattern, int64_t min,
                            int64_t max, int64_t step)
{
    size_t size = pattern.length + 2 * WIDTH_MAX;
    int64_t span;
    int code = 0;

    if (pattern.length >= PATH_MAX || !step || step == INT64_MIN ||
        __builtin_sub_overflow(max, min, &span) || span == INT64_MIN ||
        span / step >= VS_MEMBERS_MAX || span / step < 0)
        return -EINVAL;
    char *text = malloc(size);
    if (text == NULL)
        return -ENOMEM;
    for (int64_t i = 0; !code && i <= span / step; i++)
        code = expand_pattern(pattern, min + i * step, text, size)
                   ? from_brick_add(brick, from_span_of(text))
                   : -EINVAL;
    free(text);
    return code;
}

/* Returns the displacement after a number of lines that begin at byte at. Returns -1 if the file
   has fewer lines, or they have more than LINES_MAX bytes. */
static int64_t skip_lines(const char *path, int64_t at, int64_t lines)
{
    FILE *file = lines ? from_open_text(path) : NULL;
    int c;

    if (!lines)
        return at;
    if (file == NULL || fseeko(file, (off_t)at, SEEK_SET)) {
        at = -1;
        lines = 0;
    }
    for (int64_t read = 0; lines; at++, read++) {
        if (read == LINES_MAX || (c = getc_unlocked(file)) == EOF) {
            at = -1;
            break;
        }
        lines -= c == '\n';
    }
    if (file)
        fclose(file);
    return at;
}

/* Returns the displacement of a block in a file of size bytes, or -1 with the reason, a new
   string (NULL if memory is exhausted). */
static int64_t find_block(const struct from_brick *brick, const char *path, int64_t bytes,
                          int64_t size, char **reason)
{
    int64_t at;
    int n = 0;

    if (brick->disp == FROM_AT_END) {
        if (size >= bytes)
            return size - bytes;
        n = asprintf(reason, "%s is truncated: %" PRId64 " bytes of at least %" PRId64, path, size,
                     bytes);
    } else {
        at = skip_lines(path, brick->start, brick->lines);
        if (at >= 0 && !__builtin_add_overflow(at, brick->disp, &at) && at <= INT64_MAX - bytes)
            return at;
        n = asprintf(reason, "%s has fewer than %" PRId64 " lines to skip", path, brick->lines);
    }
    if (n < 0)
        *reason = NULL;
    return -1;
}

/* Does the same in a data file. Returns -1 also if the file does not exist or, as one of several,
   is too short. */
static int64_t find_in(const struct from_brick *brick, const char *path, int64_t bytes,
                       char **reason)
{
    struct stat st;
    int64_t at;
    const char *why = stat(path, &st)       ? strerror(errno)
                      : S_ISREG(st.st_mode) ? NULL
                                            : "not a regular file";

    if (why) {
        if (asprintf(reason, "%s: %s", path, why) < 0)
            *reason = NULL;
        return -1;
    }
    at = find_block(brick, path, bytes, st.st_size, reason);
    if (brick->count < 2 || at < 0 || at <= st.st_size - bytes)
        return at;
    if (asprintf(reason,
                 "%s is truncated: %lld bytes of at least %" PRId64 " (truncate -s adds zeros)",
                 path, (long long)st.st_size, at + bytes) < 0)
        *reason = NULL;
    return -1;
}

static json_t *members_of(const struct from_brick *brick, int64_t bytes, const json_t *disps)
{
    json_t *names = json_array(), *local;
    json_t *view = json_incref(brick->view);

    for (size_t i = 0; i < brick->count; i++)
        json_array_append_new(names, json_string(brick->names[i]));
    if (view == NULL)
        view = json_pack("{s:o, s:{s:s, s:I}, s:i}", "disp", json_sprintf("rank * %" PRId64, bytes),
                         "filetype", "type", "contiguous", "count", (json_int_t)bytes, "tiles", 1);
    local = json_pack("{s:{s:s, s:I}, s:i}", "filetype", "type", "contiguous", "count",
                      (json_int_t)bytes, "tiles", 1);
    if (disps)
        json_object_set_new(local, "per_rank", json_deep_copy(disps));
    else if (brick->disp)
        json_object_set_new(local, "disp", json_integer(brick->disp));
    if (json_array_size(names) < brick->count) { /* a name is not UTF-8 */
        json_decref(names);
        names = NULL;
    }
    return json_pack("{s:o, s:o, s:o}", "files", names, "view", view, "local", local);
}

/* Makes several files members. Their blocks may begin at different displacements. */
static int make_members(struct from_brick *brick, char **reason)
{
    int64_t bytes = brick->bytes / (int64_t)brick->count;
    bool varies = brick->lines || brick->disp == FROM_AT_END;
    json_t *disps = varies ? json_array() : NULL;

    for (size_t i = 0; i < brick->count && !*reason; i++) {
        int64_t at = find_in(brick, brick->names[i], bytes, reason);
        if (at < 0 && *reason == NULL)
            return -ENOMEM;
        if (varies)
            json_array_append_new(disps, json_pack("{s:I}", "disp", (json_int_t)at));
    }
    brick->file->members = members_of(brick, bytes, disps);
    json_decref(disps);
    return brick->file->members ? 0 : -ENOMEM;
}

/* Adds the block's displacement to the variables' displacements, or refuses the variables. */
static int move_variables(struct from_brick *brick, int64_t at, const char *reason)
{
    for (size_t i = 0; i < brick->file->count; i++) {
        struct from_variable *variable = &brick->file->variables[i];
        if (reason)
            from_refuse(variable, "%s", reason);
        else if (__builtin_add_overflow(variable->at, at, &variable->at) || from_end(variable) < 0)
            return -EOVERFLOW;
    }
    return 0;
}

static int place_brick(struct from_brick *brick, int64_t header, int64_t size,
                       struct vs_error *error)
{
    const char *path = brick->path;
    char *reason = NULL;
    int64_t at = 0;
    int code = brick->count > 1 ? from_add_part_of(brick->file, path, 0, header)
                                : from_add_part(brick->file, 0, header);

    if (brick->count > 1) {
        code |= make_members(brick, &reason);
    } else if (!brick->count) {
        at = find_block(brick, path, brick->bytes, size, &reason);
    } else {
        /* from_open checks later that the file exists and is long enough. */
        brick->file->data = strdup(brick->names[0]);
        code |= brick->file->data ? 0 : -ENOMEM;
        at = brick->lines || brick->disp == FROM_AT_END
                 ? find_in(brick, brick->names[0], brick->bytes, &reason)
                 : brick->disp;
    }
    if (code || (at < 0 && reason == NULL))
        code = from_fail_code(error, -ENOMEM, path);
    else if (move_variables(brick, at, reason))
        code = from_fail(error, -EINVAL, path, "damaged header: more than 2^63-1 bytes");
    free(reason);
    return code;
}

int from_brick_finish(struct from_brick *brick, int code, int64_t header, int64_t size,
                      struct vs_error *error)
{
    if (code)
        from_fail_code(error, code, brick->path);
    if (!error->code)
        place_brick(brick, header, size, error);
    from_brick_free(brick);
    return error->code;
}

struct from_variable *from_brick_variable(const struct from_brick *brick)
{
    const char *slash = strrchr(brick->path, '/'), *name = slash ? slash + 1 : brick->path;
    const char *dot = strrchr(name, '.');

    return from_add(brick->file, name, dot > name ? (size_t)(dot - name) : strlen(name));
}
