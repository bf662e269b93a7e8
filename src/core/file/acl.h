/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ACL_H
#define MPIIO_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Access control lists as extended attributes hold them: POSIX lists (acl(5)), which the kernel
 * evaluates, and those of NFSv4, which only the file's server does. Local; all functions are
 * thread-safe.
 */
#define MPIIO_ACL_POSIX "system.posix_acl_access"
#define MPIIO_ACL_NFS4  "system.nfs4_acl"

/*
 * The list of that name that an open file has: its length, of which nothing is copied where size
 * is 0, or a negative errno: -ENODATA where the file has none or its filesystem has no such lists,
 * -ERANGE where it is longer than size.
 */
ssize_t mpiio_acl_read(int fd, const char *name, void *list, size_t size);

/* Whether the file at path has a list of either kind that its mode does not say, or may have. */
bool mpiio_acl_is_beyond_mode(const char *path);

/*
 * Takes away from all entries of a POSIX list what is not in mode's lowest three bits. 0, or
 * -EINVAL where the bytes are no such list, and then they are as they were.
 */
int mpiio_acl_limit(void *list, size_t size, unsigned mode);

/*
 * True where a list of NFSv4 (RFC 7530, 6.2.1 and 16.4, as the server sent it) speaks of the
 * owner, the group and everyone only: then the file's mode says the same. False where it names
 * somebody, and where the bytes are no such list.
 */
bool mpiio_acl_is_mode(const void *list, size_t size);

#endif
