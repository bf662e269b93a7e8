/* SPDX-License-Identifier: MIT */
#include "from.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewspec/base/list.h"

/* The maximum number of links that are followed for a path, because links may form a cycle. */
#define LINKS_MAX 64

int from_fail(struct vs_error *error, int code, const char *path, const char *format, ...)
{
    va_list args;

    if (error->code)
        return error->code;
    error->code = code;
    snprintf(error->source, sizeof(error->source), "%s", path);
    va_start(args, format);
    vsnprintf(error->reason, sizeof(error->reason), format, args);
    va_end(args);
    return code;
}

int from_fail_code(struct vs_error *error, int code, const char *path)
{
    return from_fail(error, code, path, "%s", strerror(-code));
}

void from_refuse(struct from_variable *variable, const char *format, ...)
{
    va_list args;

    if (variable->reason)
        return;
    va_start(args, format);
    if (vasprintf(&variable->reason, format, args) < 0)
        variable->reason = strdup("out of memory");
    va_end(args);
}

int from_no_memory(const struct from_file *file)
{
    return from_fail_code(file->error, -ENOMEM, file->path);
}

struct from_variable *from_add(struct from_file *file, const char *name, size_t length)
{
    bool room = VS_LIST_ROOM(file->variables, file->count, file->room);
    struct from_variable variable = {.name = room ? strndup(name, length) : NULL};

    if (!variable.name) {
        from_no_memory(file);
        return NULL;
    }
    file->variables[file->count] = variable;
    return &file->variables[file->count++];
}

void from_add_part(struct from_file *file, const char *path, int64_t at, int64_t bytes)
{
    bool room = VS_LIST_ROOM(file->parts, file->part_count, file->part_room);
    struct from_part part = {at, bytes, room && path ? strdup(path) : NULL};

    if (room && (part.path || path == NULL))
        file->parts[file->part_count++] = part;
    else
        from_no_memory(file);
}

void from_add_link(struct from_file *file, const char *name, const char *target)
{
    bool room = VS_LIST_ROOM(file->links, file->link_count, file->link_room);
    struct from_link link = {room ? strdup(name) : NULL, room ? strdup(target) : NULL};

    if (room)
        file->links[file->link_count++] = link;
    if (!link.name || !link.target)
        from_no_memory(file);
}

/* Returns the rest of path after the link's name, or NULL if the path does not begin with it. */
static const char *behind_link(const struct from_link *link, const char *path)
{
    size_t length = strlen(link->name);

    return !strncmp(path, link->name, length) && (path[length] == '/' || !path[length])
               ? path + length
               : NULL;
}

/*
 * Replaces the first link on a path by its target. Returns the new path, a new string, or NULL if
 * the path has no link.
 */
static char *follow_link(const struct from_file *file, const char *path)
{
    const struct from_link *first = NULL;
    char *next = NULL;

    if (path[0] == '/')
        return strdup(path + 1);
    for (size_t i = 0; i < file->link_count; i++)
        if (behind_link(&file->links[i], path) &&
            (first == NULL || strlen(file->links[i].name) < strlen(first->name)))
            first = &file->links[i];
    if (first == NULL)
        return NULL;
    const char *rest = behind_link(first, path);
    if (asprintf(&next, "%s%s", first->target, rest + (!first->target[0] && rest[0])) < 0)
        return NULL;
    return next;
}

long from_find(const struct from_file *file, const char *name)
{
    char *path = strdup(name);
    long found = -1;

    for (int steps = 0; path && found < 0 && steps <= LINKS_MAX; steps++) {
        for (size_t i = 0; i < file->count && found < 0; i++)
            if (!strcmp(file->variables[i].name, path))
                found = (long)i;
        char *next = found < 0 ? follow_link(file, path) : NULL;
        free(path);
        path = next;
    }
    free(path);
    return found;
}

int64_t from_elements(const struct from_variable *variable)
{
    int64_t elements = 1, bytes;

    for (int d = 0; d < variable->dimensions; d++)
        if (!variable->shape[d])
            return 0;
    for (int d = 0; d < variable->dimensions; d++)
        if (__builtin_mul_overflow(elements, variable->shape[d], &elements))
            return -1;
    return __builtin_mul_overflow(elements, variable->size, &bytes) ? -1 : elements;
}

int64_t from_end(const struct from_variable *variable)
{
    int64_t elements = from_elements(variable), rows = variable->stride ? variable->shape[0] : 1;
    int64_t end;

    if (elements <= 0)
        return elements;
    if (__builtin_mul_overflow(rows - 1, variable->stride, &end) ||
        __builtin_add_overflow(end, elements / rows * variable->size, &end) ||
        __builtin_add_overflow(end, variable->at, &end))
        return -1;
    return end - variable->gap;
}

int from_open_regular(const char *path, int64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = 0;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        code = -errno;
    else if (!S_ISREG(st.st_mode))
        code = -EINVAL;
    else
        *size = st.st_size;
    if (code && fd >= 0)
        close(fd);
    return code ? code : fd;
}

int64_t from_read(void *self, void *buffer, size_t length, int64_t at)
{
    const int *fd = self;
    size_t done = 0;

    while (done < length) {
        ssize_t n = pread(*fd, (char *)buffer + done, length - done, (off_t)(at + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

char *from_beside(const char *path, const char *name)
{
    const char *slash = *name == '/' ? NULL : strrchr(path, '/');
    char *beside;

    return asprintf(&beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0
               ? NULL
               : beside;
}

uint64_t from_load(const unsigned char *bytes, int64_t size, bool big)
{
    uint64_t value = 0;

    for (int64_t i = 0; i < size; i++)
        value = value << 8 | bytes[big ? i : size - 1 - i];
    return value;
}

struct from_box from_box(const struct from_boxes *boxes, size_t number)
{
    size_t n = (size_t)boxes->dimensions;
    int64_t *record = boxes->records + number * (1 + 3 * n);

    return (struct from_box){record, record + 1, record + 1 + n, record + 1 + 2 * n};
}

void from_drop(struct from_variable *variable)
{
    free(variable->name);
    free(variable->reason);
    free(variable->boxes.records);
    free(variable->part.path);
    json_decref(variable->etype);
    json_decref(variable->dims);
}

void from_clear(struct from_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        from_drop(&file->variables[i]);
    for (size_t i = 0; i < file->part_count; i++)
        free(file->parts[i].path);
    for (size_t i = 0; i < file->link_count; i++) {
        free(file->links[i].name);
        free(file->links[i].target);
    }
    free(file->variables);
    free(file->parts);
    free(file->links);
    free(file->data);
    free(file->note);
    json_decref(file->members);
    json_decref(file->assembly);
    *file = (struct from_file){
        .error = file->error, .wanted = file->wanted, .format = file->format, .path = file->path};
}

void from_free(struct from_file *file)
{
    if (file == NULL)
        return;
    from_clear(file);
    free(file->path);
    free(file);
}

/* Types of elements. */

json_t *from_number(char kind, int64_t size)
{
    static const struct {
        char kind;
        int64_t size;
        const char *name;
    } numbers[] = {
        {'i', 1, "int8_t"},
        {'i', 2, "int16_t"},
        {'i', 4, "int32_t"},
        {'i', 8, "int64_t"},
        {'u', 1, "uint8_t"},
        {'u', 2, "uint16_t"},
        {'u', 4, "uint32_t"},
        {'u', 8, "uint64_t"},
        {'f', 2, "real2"},
        {'f', 4, "float"},
        {'f', 8, "double"},
        {'f', sizeof(long double), "long_double"},
        {'c', 8, "c_complex"},
        {'c', 16, "c_double_complex"},
        {'c', 2 * sizeof(long double), "c_long_double_complex"},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i].kind == kind && numbers[i].size == size)
            return json_string(numbers[i].name);
    return NULL;
}

void from_set_number(struct from_variable *variable, char kind, int64_t size, char order)
{
    variable->etype = from_number(kind, size);
    variable->size = size;
    variable->datarep = size > 1 ? from_datarep(order) : NULL;
}

json_t *from_contiguous(int64_t count)
{
    return json_pack("{s:s, s:I}", "type", "contiguous", "count", (json_int_t)count);
}

json_t *from_several(json_t *type, int64_t count)
{
    if (count == 1)
        return type;
    return json_pack("{s:s, s:I, s:o}", "type", "contiguous", "count", (json_int_t)count, "oldtype",
                     type);
}

json_t *from_spaced(json_t *type, int64_t extent)
{
    return json_pack("{s:s, s:i, s:I, s:o}", "type", "resized", "lb", 0, "extent",
                     (json_int_t)extent, "oldtype", type);
}

json_t *from_struct(void)
{
    return json_pack("{s:s, s:[], s:[], s:[]}", "type", "struct", "blocklengths", "displacements",
                     "types");
}

int from_member(json_t *structure, int64_t displacement, json_t *type)
{
    return json_array_append_new(json_object_get(structure, "blocklengths"), json_integer(1)) |
           json_array_append_new(json_object_get(structure, "displacements"),
                                 json_integer(displacement)) |
           json_array_append_new(json_object_get(structure, "types"), type);
}

bool from_order(char *order, char more)
{
    if (!*order)
        *order = more;
    return !more || *order == more;
}

const char *from_datarep(char order)
{
    return order == '<' ? "little-endian" : order == '>' ? "big-endian" : NULL;
}
