/* SPDX-License-Identifier: MIT */
#include "formats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reading the beginnings of files, and folders. */

/* The size of the first read. Each further read is four times as large, until it has the header. */
#define FIRST_BYTES ((size_t)1 << 16)
/* The maximum size of a header in bytes. */
#define MOST_BYTES ((size_t)1 << 28)

FILE *from_open_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *file = NULL;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        errno = EINVAL;
    else
        file = fdopen(fd, "r");
    if (file == NULL) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}

DIR *from_open_folder(const char *path, size_t *base)
{
    const char *slash = strrchr(path, '/');

    *base = slash ? (size_t)(slash + 1 - path) : 0;
    char *name = slash ? strndup(path, *base) : strdup(".");
    DIR *folder = name ? opendir(name) : NULL;
    int why = errno;

    free(name);
    errno = why;
    return folder;
}

char *from_first(const char *name,
                 bool (*is_one)(const char *entry, const char *base, const char *path))
{
    size_t base;
    DIR *folder = from_open_folder(name, &base);
    const struct dirent *entry;
    char *first = NULL, *path;

    while (folder && (entry = readdir(folder))) {
        if (asprintf(&path, "%.*s%s", (int)base, name, entry->d_name) < 0)
            continue;
        if ((first == NULL || strcmp(path, first) < 0) &&
            is_one(entry->d_name, name + base, path)) {
            free(first);
            first = path;
        } else {
            free(path);
        }
    }
    if (folder)
        closedir(folder);
    return first;
}

int from_head(const struct from_source *source, struct from_bytes *head,
              int (*parse)(void *argument, const struct from_bytes *head, struct vs_error *error),
              void *argument, const char *const *what, struct vs_error *error)
{
    unsigned char *bytes = NULL;
    int code = -EAGAIN;

    for (size_t room = FIRST_BYTES; code == -EAGAIN; room *= 4) {
        unsigned char *larger = realloc(bytes, room);
        int64_t length = larger ? source->read(source->self, larger, room, 0) : -ENOMEM;
        bytes = larger ? larger : bytes;
        if (length < 0) {
            code = from_fail_code(error, (int)length, head->path);
            break;
        }
        head->bytes = bytes;
        head->length = (size_t)length;
        code = parse(argument, head, error);
        if (code == -EAGAIN && ((size_t)length < room || room >= MOST_BYTES))
            code = from_fail(error, -EINVAL, head->path, "damaged %s header: %s", *what,
                             (size_t)length < room ? "the file ends in the header"
                                                   : "the header is too long");
    }
    head->bytes = NULL;
    free(bytes);
    return code;
}
