/* SPDX-License-Identifier: MIT */
#include "acl.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/xattr.h>

#define POSIX_VERSION 2

/* An entry as in linux/posix_acl_xattr.h, which is in a package of its own. Little-endian. */
struct posix_entry {
    uint16_t tag;
    uint16_t allowed;
    uint32_t id;
};

ssize_t mpiio_acl_read(int fd, const char *name, void *list, size_t size)
{
    ssize_t length = fgetxattr(fd, name, list, size);

    if (length >= 0)
        return length;
    return errno == EOPNOTSUPP || errno == ENOSYS ? -ENODATA : -errno;
}

int mpiio_acl_limit(void *list, size_t size, unsigned mode)
{
    unsigned char *bytes = list;
    struct posix_entry entry;
    uint32_t version;

    if (size < sizeof(version) || (size - sizeof(version)) % sizeof(entry) != 0)
        return -EINVAL;
    memcpy(&version, bytes, sizeof(version));
    if (version != htole32(POSIX_VERSION))
        return -EINVAL;
    for (size_t at = sizeof(version); at < size; at += sizeof(entry)) {
        memcpy(&entry, bytes + at, sizeof(entry));
        entry.allowed &= htole16(mode & 7);
        memcpy(bytes + at, &entry, sizeof(entry));
    }
    return 0;
}

/* A reader of an NFSv4 list, which consists of big-endian 32-bit numbers and strings. */
struct reader {
    const unsigned char *at;
    size_t left;
};

static bool read_number(struct reader *reader, uint32_t *number)
{
    if (reader->left < sizeof(*number))
        return false;
    memcpy(number, reader->at, sizeof(*number));
    *number = be32toh(*number);
    reader->at += sizeof(*number);
    reader->left -= sizeof(*number);
    return true;
}

/* Reads who an entry applies to; returns true for the owner, the group or everyone. */
static bool is_class(struct reader *reader)
{
    static const char *const classes[] = {"OWNER@", "GROUP@", "EVERYONE@"};
    const char *who = NULL;
    uint32_t length;
    size_t padded;

    if (!read_number(reader, &length) || length > reader->left)
        return false;
    who = (const char *)reader->at;
    padded = ((size_t)length + 3) / 4 * 4;
    if (padded > reader->left)
        return false;
    reader->at += padded;
    reader->left -= padded;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (strlen(classes[i]) == length && memcmp(classes[i], who, length) == 0)
            return true;
    return false;
}

bool mpiio_acl_is_mode(const void *list, size_t size)
{
    struct reader reader = {.at = list, .left = size};
    uint32_t entries, type, flags, mask;

    if (!read_number(&reader, &entries))
        return false;
    for (uint32_t i = 0; i < entries; i++)
        if (!read_number(&reader, &type) || !read_number(&reader, &flags) ||
            !read_number(&reader, &mask) || !is_class(&reader))
            return false;
    return reader.left == 0;
}

static bool is_none(int error)
{
    return error == ENODATA || error == EOPNOTSUPP || error == ENOSYS;
}

bool mpiio_acl_is_beyond_mode(const char *path)
{
    char list[4096];
    ssize_t length = getxattr(path, MPIIO_ACL_POSIX, NULL, 0);

    if (length >= 0 || !is_none(errno))
        return true;
    length = getxattr(path, MPIIO_ACL_NFS4, list, sizeof(list));
    return length < 0 ? !is_none(errno) : !mpiio_acl_is_mode(list, (size_t)length);
}
