/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/base/integer.h"
#include "viewspec/members/members.h"

/* Blocks of values that text headers describe. */

/* The maximum size of the lines of text at the beginning of a data file. */
#define LINES_MAX (1 << 20)

/* The maximum number of digits in the numbers of a pattern. */
#define WIDTH_MAX 64

void from_brick_add(struct from_brick *brick, struct from_span name)
{
    char *text = strndup(name.at, name.length);

    if (text == NULL || from_paths_add(&brick->names, from_beside(brick->lines.file->path, text)))
        from_no_memory(brick->lines.file);
    free(text);
}

void from_brick_add_list(struct from_brick *brick)
{
    struct from_span line;

    while (from_lines_next(&brick->lines, &line))
        if (line.length)
            from_brick_add(brick, line);
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

void from_brick_add_numbered(struct from_brick *brick, struct from_span pattern, int64_t min,
                             int64_t max, int64_t step, const char *what)
{
    size_t size = pattern.length + 2 * WIDTH_MAX;
    int64_t span;

    if (pattern.length >= PATH_MAX || !step || step == INT64_MIN ||
        __builtin_sub_overflow(max, min, &span) || span == INT64_MIN ||
        span / step >= VS_MEMBERS_MAX || span / step < 0) {
        from_lines_fail(&brick->lines, "%s", what);
        return;
    }
    char *text = malloc(size);
    if (text == NULL)
        from_no_memory(brick->lines.file);
    for (int64_t i = 0; !brick->lines.file->error->code && i <= span / step; i++)
        if (expand_pattern(pattern, min + i * step, text, size))
            from_brick_add(brick, from_span_of(text));
        else
            from_lines_fail(&brick->lines, "%s", what);
    free(text);
}

/* Returns the displacement after a number of lines that begin at byte at. Returns -1 if the file
   has fewer lines, or they have more than LINES_MAX bytes. */
static int64_t skip_lines(const char *path, int64_t at, int64_t lines)
{
    int64_t end = at + LINES_MAX, length = 1, size;
    char text[LINES_MAX / 256];
    int fd = lines ? from_open_regular(path, &size) : -1;

    while (fd >= 0 && lines && length > 0) {
        length = at < end ? from_read(&fd, text, sizeof(text), at) : 0;
        for (int64_t i = 0; i < length && lines; i++, at++)
            lines -= text[i] == '\n';
    }
    if (fd >= 0)
        close(fd);
    return lines ? -1 : at;
}

/* Refuses all variables of the header. Returns -1. */
__attribute__((format(printf, 2, 3))) static int64_t refuse_all(const struct from_brick *brick,
                                                                const char *format, ...)
{
    const struct from_file *file = brick->lines.file;
    char reason[PATH_MAX + 128];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    for (size_t i = 0; i < file->count; i++)
        from_refuse(&file->variables[i], "%s", reason);
    return -1;
}

/* Returns the displacement of a block in a file of size bytes, or INT64_MAX if that is larger.
   Returns -1 after refusing all variables if it has none. */
static int64_t find_block(const struct from_brick *brick, const char *path, int64_t bytes,
                          int64_t size)
{
    int64_t at;

    if (brick->disp == FROM_AT_END)
        return size >= bytes
                   ? size - bytes
                   : refuse_all(brick, "%s is truncated: %" PRId64 " bytes of at least %" PRId64,
                                path, size, bytes);
    at = skip_lines(path, brick->start, brick->skipped);
    if (at < 0)
        return refuse_all(brick, "%s has fewer than %" PRId64 " lines to skip", path,
                          brick->skipped);
    return vs_add_capped(at, brick->disp);
}

/* Does the same in a data file. Returns -1 also if the file does not exist or, as one of several,
   is too short. */
static int64_t find_in(const struct from_brick *brick, const char *path, int64_t bytes)
{
    struct stat st;
    int64_t at;
    const char *why = stat(path, &st)       ? strerror(errno)
                      : S_ISREG(st.st_mode) ? NULL
                                            : "not a regular file";

    if (why)
        return refuse_all(brick, "%s: %s", path, why);
    at = find_block(brick, path, bytes, st.st_size);
    if (brick->names.count < 2 || at < 0 || at <= st.st_size - bytes)
        return at;
    return refuse_all(
        brick, "%s is truncated: %lld bytes of at least %" PRId64 " (truncate -s adds zeros)", path,
        (long long)st.st_size, vs_add_capped(at, bytes));
}

static json_t *members_of(const struct from_brick *brick, int64_t bytes, json_t *disps)
{
    json_t *view = json_incref(brick->view);
    json_t *local = json_pack("{s:o, s:i}", "filetype", from_contiguous(bytes), "tiles", 1);

    if (view == NULL)
        view = json_pack("{s:o, s:o, s:i}", "disp", json_sprintf("rank * %" PRId64, bytes),
                         "filetype", from_contiguous(bytes), "tiles", 1);
    if (disps)
        json_object_set(local, "per_rank", disps);
    else if (brick->disp)
        json_object_set_new(local, "disp", json_integer(brick->disp));
    return json_pack("{s:o, s:o, s:o}", "files", from_paths_json(&brick->names), "view", view,
                     "local", local);
}

/* Makes several files members. Their blocks may begin at different displacements. Returns 0, or -1
   after refusing all variables. */
static int64_t make_members(struct from_brick *brick)
{
    int64_t bytes = brick->bytes / (int64_t)brick->names.count, at = 0;
    bool varies = brick->skipped || brick->disp == FROM_AT_END;
    json_t *disps = varies ? json_array() : NULL;

    for (size_t i = 0; i < brick->names.count && at >= 0; i++) {
        at = find_in(brick, brick->names.list[i], bytes);
        if (varies)
            json_array_append_new(disps, json_pack("{s:I}", "disp", (json_int_t)at));
    }
    brick->lines.file->members = members_of(brick, bytes, disps);
    json_decref(disps);
    if (!brick->lines.file->members)
        from_no_memory(brick->lines.file);
    return at < 0 ? -1 : 0;
}

static void place_brick(struct from_brick *brick, const struct from_bytes *head)
{
    struct from_file *file = brick->lines.file;
    int64_t at;

    if (brick->reason)
        refuse_all(brick, "%s", brick->reason);
    from_add_part(file, brick->names.count > 1 ? file->path : NULL, 0,
                  brick->lines.at - (const char *)head->bytes);
    if (brick->names.count > 1) {
        at = make_members(brick);
    } else if (!brick->names.count) {
        at = find_block(brick, file->path, brick->bytes, head->size);
    } else {
        /* from_open checks later that the file exists and is long enough. */
        file->data = brick->names.list[0];
        brick->names.count = 0;
        at = brick->skipped || brick->disp == FROM_AT_END ? find_in(brick, file->data, brick->bytes)
                                                          : brick->disp;
    }
    for (size_t i = 0; i < file->count && at >= 0; i++) {
        struct from_variable *variable = &file->variables[i];
        if (__builtin_add_overflow(variable->at, at, &variable->at) || from_end(variable) < 0)
            from_wrong(file, "damaged header: more than 2^63-1 bytes");
    }
}

int from_brick_finish(struct from_brick *brick, const struct from_bytes *head)
{
    if (!brick->lines.file->error->code)
        place_brick(brick, head);
    from_paths_free(&brick->names);
    json_decref(brick->view);
    return brick->lines.file->error->code;
}

void from_brick_variable(struct from_brick *brick, struct from_span name,
                         const struct from_values *values)
{
    if (!name.length) {
        name = from_span_of(basename(brick->lines.file->path));
        const char *dot = strrchr(name.at, '.');
        name.length = dot > name.at ? (size_t)(dot - name.at) : name.length;
    }
    struct from_variable *variable = from_add(brick->lines.file, name.at, name.length);
    if (variable == NULL)
        return;
    from_set_number(variable, values->kind, values->size, values->order);
    for (int d = values->dimensions - 1; d >= 0; d--)
        variable->shape[variable->dimensions++] = values->shape[d];
    if (values->components > 1)
        variable->shape[variable->dimensions++] = values->components;
    int64_t elements = from_elements(variable);
    if (elements < 0)
        from_lines_fail(&brick->lines, "more than 2^63-1 bytes");
    brick->bytes = elements * values->size;
}
