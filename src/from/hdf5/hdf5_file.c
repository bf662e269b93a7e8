/* SPDX-License-Identifier: MIT */
#include "hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t read_descriptor(void *self, void *buffer, size_t length, int64_t at)
{
    size_t done = 0;

    while (done < length) {
        ssize_t got = pread(*(int *)self, (char *)buffer + done, length - done, at + (int64_t)done);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return (int64_t)done;
}

static int open_plain(struct from_hdf5_file *file)
{
    struct stat st;

    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &st) != 0)
        return -errno;
    /* libhdf5 holds an exclusive lock while it writes. */
    if (!S_ISREG(st.st_mode) || (flock(file->fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK))
        return -EINVAL;
    file->plain = (struct from_source){read_descriptor, &file->fd, st.st_size};
    file->source = &file->plain;
    return 0;
}

int from_hdf5_file_open(struct from_hdf5_file *file, const char *path,
                        const struct from_source *source)
{
    hsize_t block = 0;
    H5F_info2_t info;

    *file = (struct from_hdf5_file){.path = path, .root = -1, .source = source, .fd = -1};
    int code = source ? 0 : open_plain(file);
    if (code)
        return code;
    file->root = from_hdf5_open(path, file->source, &file->watch);
    if (file->root < 0 || H5Fget_info2(file->root, &info) < 0)
        return -EINVAL;
    hid_t properties = H5Fget_create_plist(file->root);
    H5Pget_userblock(properties, &block);
    H5Pclose(properties);
    file->base = (int64_t)block;
    file->super = (int64_t)info.super.super_size;
    return 0;
}

void from_hdf5_file_close(struct from_hdf5_file *file)
{
    if (file->root >= 0)
        H5Fclose(file->root);
    if (file->fd >= 0)
        close(file->fd);
}

/*
 * Version 1 has a prefix of 16 bytes, with the length of the messages at byte 8. Version 2 has the
 * length after fields whose presence the flags tell, and a checksum after the messages.
 */
int64_t from_hdf5_header_size(const struct from_hdf5_file *file, int64_t at)
{
    unsigned char head[32] = {0};
    int64_t length = 0;

    if (file->source->read(file->source->self, head, sizeof(head), at) < 16)
        return 0;
    if (head[0] == 1)
        return 16 + (head[8] | head[9] << 8 | head[10] << 16 | (int64_t)head[11] << 24);
    if (memcmp(head, "OHDR", 4) != 0)
        return 0;
    int start = 6 + (head[5] & 0x20 ? 16 : 0) + (head[5] & 0x10 ? 4 : 0),
        bytes = 1 << (head[5] & 3);
    if (start + bytes > (int)sizeof(head))
        return 0;
    for (int i = bytes - 1; i >= 0; i--)
        length = length << 8 | head[start + i];
    return length < 0 || length > INT32_MAX ? 0 : start + bytes + length + 4;
}

char *from_hdf5_beside(const char *path, const char *name, bool beside_first)
{
    const char *slash = strrchr(path, '/');
    char *beside = NULL;

    if (slash == NULL || (*name == '/' && access(name, F_OK) == 0))
        return strdup(name);
    if (*name == '/') { /* both may have been moved: libhdf5 looks beside the file, too */
        name = strrchr(name, '/') + 1;
        beside_first = true;
    }
    if (asprintf(&beside, "%.*s%s", (int)(slash - path) + 1, path, name) < 0)
        return NULL;
    if (access(beside, F_OK) != 0 || (!beside_first && access(name, F_OK) == 0)) {
        free(beside);
        return strdup(name);
    }
    return beside;
}
