/* SPDX-License-Identifier: MIT */
#include "open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunks.h"
#include "formats.h"

/* So much of a file is read at first; then four times as much, until its header is there. */
#define FIRST_BYTES ((size_t)1 << 16)
/* A header that is longer is none. */
#define MOST_BYTES ((size_t)1 << 28)

/* Reads up to length bytes of the file's beginning. Returns how many, or a negative errno. */
static ssize_t read_head(int fd, unsigned char *bytes, size_t length)
{
    size_t done = 0;

    while (done < length) {
        ssize_t n = pread(fd, bytes + done, length - done, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Has the header parsed, by the format that it is of, with so much of the file as it needs. */
static int parse(int fd, struct from_bytes *head, struct from_file *file, struct vs_error *error)
{
    unsigned char *bytes = NULL;
    int code = -EAGAIN;

    for (size_t room = FIRST_BYTES; code == -EAGAIN; room *= 4) {
        unsigned char *larger = realloc(bytes, room);
        ssize_t length = larger ? read_head(fd, larger, room) : -ENOMEM;
        bytes = larger ? larger : bytes;
        if (length < 0) {
            code = from_fail(error, (int)length, head->path, "%s", strerror((int)-length));
            break;
        }
        head->bytes = bytes;
        head->length = (size_t)length;
        const struct from_format *format = from_format_of(head);
        if (format == NULL) {
            code = from_fail(error, -EINVAL, head->path, "not a file that describes itself (%s)",
                             from_format_names());
            break;
        }
        from_clear(file);
        file->format = format->name;
        code =
            format->list ? format->list(head->path, file, error) : format->parse(head, file, error);
        if (code == -EAGAIN && ((size_t)length < room || room >= MOST_BYTES))
            code = from_fail(error, -EINVAL, head->path, "damaged %s header: %s", format->name,
                             (size_t)length < room ? "the file ends in it" : "it does not end");
    }
    free(bytes);
    return code;
}

/* In an order of its own a slice shows gaps, which an element has not for NumPy. */
static void refuse_disorder(struct from_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        if (variable->has_gaps && variable->chunks.count && !from_chunks_in_order(variable))
            from_refuse(variable, "structures with gaps, in chunks that do not lie in the order "
                                  "of the array");
    }
}

/* Returns the end of a variable without chunks. Its format has ruled out overflow. */
static int64_t end_of(const struct from_variable *variable)
{
    int64_t elements = from_elements(variable);

    if (elements == 0)
        return 0;
    if (variable->stride)
        return variable->at + (variable->shape[0] - 1) * variable->stride +
               elements / variable->shape[0] * variable->size;
    return variable->at + elements * variable->size;
}

/* Refuses variables that extend beyond the end of the file, whose slices would be short. */
static void refuse_cut(struct from_file *file, int64_t size)
{
    const char *why = NULL;
    struct stat st;

    if (file->members)
        return;
    if (file->data && stat(file->data, &st) != 0)
        why = strerror(errno);
    else if (file->data)
        size = st.st_size;
    for (size_t i = 0; i < file->count; i++) {
        struct from_variable *variable = &file->variables[i];
        if (why)
            from_refuse(variable, "%s: %s", file->data, why);
        else if (!variable->reason && !variable->chunks.count && end_of(variable) > size)
            from_refuse(
                variable, "%s is truncated: %lld bytes of at least %lld (truncate -s adds zeros)",
                file->data ? file->data : "the file", (long long)size, (long long)end_of(variable));
    }
}

/* The path itself, or that of the file which describes what goes by this name. A new string. */
static char *path_of(const char *name)
{
    char *found = access(name, F_OK) && errno == ENOENT ? from_format_find(name) : NULL;

    return found ? found : strdup(name);
}

int from_open(const char *name, struct from_file **result, struct vs_error *error)
{
    struct from_file *file = calloc(1, sizeof(*file));
    char *path = path_of(name);
    struct from_bytes head = {.path = path};
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1, code = 0;
    struct stat st;

    if (file == NULL || path == NULL)
        code = from_fail(error, -ENOMEM, name, "%s", strerror(ENOMEM));
    else if (fd < 0 || fstat(fd, &st))
        code = from_fail(error, -errno, path, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        code = from_fail(error, -EINVAL, path, "not a regular file");
    if (file)
        file->path = path;
    else
        free(path);
    if (!code) {
        head.size = st.st_size;
        code = parse(fd, &head, file, error);
        if (!code) {
            refuse_disorder(file);
            refuse_cut(file, head.size);
        }
    }
    if (fd >= 0)
        close(fd);
    if (code) {
        from_free(file);
        return code;
    }
    *result = file;
    return 0;
}
