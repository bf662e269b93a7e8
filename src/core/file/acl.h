/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_ACL_H
#define MPIIO_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Access control lists in extended attributes: POSIX lists (acl(5)), which the kernel evaluates,
 * and lists of NFSv4, which only the file's server evaluates. All functions are local and
 * thread-safe.
 */
#define MPIIO_ACL_POSIX "system.posix_acl_access"
#define MPIIO_ACL_NFS4  "system.nfs4_acl"

/*
 * Reads the list of that name of an open file. Returns its length in bytes, without copying it if
 * size is 0. Errors: -ENODATA if the file has none or its filesystem has no such lists, -ERANGE if
 * the list is longer than size, or another negative errno.
 */
ssize_t mpiio_acl_read(int fd, const char *name, void *list, size_t size);

/* Returns true if the file at path has, or may have, a list that goes beyond its mode. */
bool mpiio_acl_is_beyond_mode(const char *path);

/*
 * Restricts all entries of a POSIX list to the lowest three bits of mode. Returns 0, or -EINVAL
 * without changes if the bytes are not a POSIX list.
 */
int mpiio_acl_limit(void *list, size_t size, unsigned mode);

/*
 * Returns true if a list of NFSv4 (RFC 7530, 6.2.1 and 16.4, as the server sent it) has entries for
 * the owner, the group and everyone only. The file's mode is then equivalent. Returns false if it
 * names any other user or group, or if the bytes are not such a list.
 */
bool mpiio_acl_is_mode(const void *list, size_t size);

#endif
