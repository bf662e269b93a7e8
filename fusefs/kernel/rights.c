/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/file/acl.h"
#include "core/store_layers.h"
#include "fusefs/session.h"
#include "viewspec/members/members.h"

/* The maximum size of a list on any filesystem (XATTR_SIZE_MAX). */
#define LIST_MAX 65536

/*
 * Returns 0 if the kernel can evaluate the file's access control list, or -EACCES if only the
 * file's own filesystem can. The lists of several members cannot be combined, so any of them is
 * refused.
 */
static int check_list(const struct fs_rights *rights)
{
    char list[4096];
    ssize_t length;

    if (mpiio_store_has_members(rights->store))
        return mpiio_members_find_list(mpiio_store_file(rights->store)) < 0 ? 0 : -EACCES;
    length = mpiio_acl_read(mpiio_store_fd(rights->store), MPIIO_ACL_NFS4, list, sizeof(list));
    if (length == -ENODATA)
        return 0;
    return length >= 0 && mpiio_acl_is_mode(list, (size_t)length) ? 0 : -EACCES;
}

/*
 * Reads the mode and the list of the spec. The spec may be a pipe, which has no list. Returns 0 or
 * a negative errno.
 */
static int read_spec_list(struct fs_rights *rights)
{
    ssize_t length;

    if (rights->options->shorthand != NULL)
        return 0;
    if (rights->options->spec_digest != NULL) {
        /*
         * A spec that was generated for this mount belongs to the mounting user, whatever file is
         * at its path now.
         */
        rights->spec.st_mode = S_IFREG | 0600;
        rights->spec.st_uid = geteuid();
        rights->spec.st_gid = getegid();
        return 0;
    }
    if (stat(rights->options->spec, &rights->spec) != 0)
        return -errno;
    rights->spec_list = malloc(LIST_MAX);
    if (rights->spec_list == NULL)
        return -ENOMEM;
    length = getxattr(rights->options->spec, MPIIO_ACL_POSIX, rights->spec_list, LIST_MAX);
    if (length < 0)
        return errno == ENODATA || errno == EOPNOTSUPP ? 0 : -errno;
    rights->spec_length = (size_t)length;
    return mpiio_acl_limit(rights->spec_list, rights->spec_length, R_OK);
}

/*
 * Refuses allow_other if there are too many members to check at each access, or if one has a list.
 * Returns an exit status.
 */
static int check_members(const struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const struct vs_members *members = vs_spec_members(session->spec);
    int64_t member;
    char *path;

    if (vs_members_count(members) > MPIIO_MEMBERS_JUDGED)
        return fs_fail(options, 1,
                       "%s: allow_other: the file has %lld members, and at most %d are possible",
                       session->file, (long long)vs_members_count(members), MPIIO_MEMBERS_JUDGED);
    member = mpiio_members_find_list(mpiio_store_file(session->store));
    if (member < 0)
        return 0;
    path = vs_members_file(members, member);
    fs_fail(options, 1,
            "member %lld, %s: allow_other: a member with an access control list is not "
            "possible",
            (long long)member, path != NULL ? path : "?");
    free(path);
    return 1;
}

/*
 * Returns the number that represents users (or groups) outside this process's user namespace, or -1
 * if there is none. map, such as /proc/self/uid_map, lists the ranges inside.
 */
static unsigned find_unmapped(const char *map, const char *overflow)
{
    FILE *file = fopen(overflow, "re");
    unsigned number = UINT_MAX, first, outside, count;

    if (file == NULL || fscanf(file, "%u", &number) != 1)
        number = UINT_MAX;
    if (file != NULL)
        fclose(file);
    file = fopen(map, "re");
    while (file != NULL && fscanf(file, "%u %u %u", &first, &outside, &count) == 3)
        if (number - first < count)
            number = UINT_MAX;
    if (file != NULL)
        fclose(file);
    return number;
}

int fs_rights_init(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    struct fs_rights *rights = &session->rights;
    bool members = mpiio_store_has_members(session->store);
    int error;

    rights->options = options;
    rights->store = session->store;
    rights->unmapped_user = find_unmapped("/proc/self/uid_map", "/proc/sys/kernel/overflowuid");
    rights->unmapped_group = find_unmapped("/proc/self/gid_map", "/proc/sys/kernel/overflowgid");
    rights->for_others = options->allow_other || options->default_permissions;
    if (options->allow_other && members && check_members(session) != 0)
        return 1;
    if (options->allow_other && !members && check_list(rights) != 0)
        return fs_fail(options, 1,
                       "%s: allow_other: the file has an access control list that only its own "
                       "filesystem can evaluate (%s)",
                       session->file, MPIIO_ACL_NFS4);
    error = read_spec_list(rights);
    return error != 0 ? fs_fail(options, 1, "%s: %s", options->spec_name, strerror(-error)) : 0;
}

void fs_rights_free(struct fs_rights *rights)
{
    free(rights->spec_list);
}

mode_t fs_rights_mode(const struct fs_rights *rights, mode_t mode)
{
    /* If the file has a list that is not evaluated, the group bits are not the group's rights. */
    return rights->for_others && !rights->evaluated ? mode & ~(mode_t)(S_IRWXG | S_IRWXO) : mode;
}

void fs_rights_set_owner(const struct fs_rights *rights, const struct stat *file, struct stat *st)
{
    st->st_uid = file->st_uid == rights->unmapped_user ? geteuid() : file->st_uid;
    st->st_gid = file->st_gid == rights->unmapped_group ? getegid() : file->st_gid;
}

void fs_rights_of_spec(const struct fs_rights *rights, const struct stat *file, struct stat *st)
{
    const struct stat *from = rights->options->shorthand != NULL ? file : &rights->spec;

    fs_rights_set_owner(rights, from, st);
    st->st_mode = S_IFREG | (fs_rights_mode(rights, from->st_mode) & 0444);
}

static ssize_t list_of_spec(const struct fs_rights *rights, void *list, size_t size)
{
    if (rights->spec_length == 0)
        return -ENODATA;
    if (size == 0)
        return (ssize_t)rights->spec_length;
    if (size < rights->spec_length)
        return -ERANGE;
    memcpy(list, rights->spec_list, rights->spec_length);
    return (ssize_t)rights->spec_length;
}

static ssize_t list_of_file(const struct fs_rights *rights, unsigned mode, void *list, size_t size)
{
    int error = check_list(rights);
    ssize_t length;

    if (error != 0)
        return error;
    if (mpiio_store_has_members(rights->store))
        return -ENODATA;
    length = mpiio_acl_read(mpiio_store_fd(rights->store), MPIIO_ACL_POSIX, list, size);
    if (length > 0 && size > 0)
        error = mpiio_acl_limit(list, (size_t)length, mode);
    return error != 0 ? error : length;
}

ssize_t fs_rights_list(const struct fs_rights *rights, struct fs_node node, unsigned mode,
                       void *list, size_t size)
{
    if (!rights->evaluated)
        return -EOPNOTSUPP;
    if (node.kind == FS_SPEC && rights->options->shorthand == NULL)
        return list_of_spec(rights, list, size);
    if (node.kind == FS_SPEC || node.kind == FS_SLICE)
        return list_of_file(rights, mode, list, size);
    return -ENODATA;
}
