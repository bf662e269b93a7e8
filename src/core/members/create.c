/* SPDX-License-Identifier: MIT */
#include "assembled_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/filesystem.h"
#include "viewspec/members/members.h"

/* Creating missing members. */

/* Returns the length of a file that has the first `bytes` positions of local. */
static int64_t length_of(const struct vs_view *local, int64_t bytes)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(local));
    int64_t tiles, length;

    if (bytes > facts->limit)
        bytes = facts->limit;
    if (bytes == 0)
        return 0;
    if (vs_view_facts(local)->array == NULL)
        return vs_map_displacement(vs_view_map(local), bytes - 1) + 1;
    /* Include the ghost cells around the last data. */
    tiles = (bytes - 1) / facts->tile_size + 1;
    if (__builtin_mul_overflow(tiles, facts->tile_extent, &length) ||
        __builtin_add_overflow(length, facts->displacement, &length))
        return INT64_MAX;
    return length;
}

/* Returns true if the view determines where the whole ends. */
static bool has_end(const struct vs_view *view)
{
    return vs_map_facts(vs_view_map(view))->tiles < INT64_MAX || vs_view_facts(view)->array != NULL;
}

static int fill_file(int fd, int64_t length)
{
    int error = ftruncate(fd, length) < 0 ? -errno : 0;

    return close(fd) < 0 && error == 0 ? -errno : error;
}

/* Gives a file of a folder its final name there. Another process may have created that name
   meanwhile. */
static int publish_member(int folder, const char *from, const char *name)
{
    int error = 0;

    if (linkat(folder, from, folder, name, 0) == 0 || errno == EEXIST)
        return 0;
    /* The filesystem has no hard links. */
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
        error = -errno;
    else if (renameat2(folder, from, folder, name, RENAME_NOREPLACE) < 0 && errno != EEXIST)
        error = -errno;
    return error;
}

/* Creates the file under a temporary name, so that it appears only when it is complete. */
static int make_in(int folder, const char *name, int64_t length)
{
    uint64_t number = 0;
    char *hidden;
    int fd, error;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return -EIO;
    if (asprintf(&hidden, "%s.%016" PRIx64, name, number) < 0)
        return -ENOMEM;
    fd = openat(folder, hidden, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = fd < 0 ? -errno : fill_file(fd, length);
    if (error == 0)
        error = publish_member(folder, hidden, name);
    if (fd >= 0)
        unlinkat(folder, hidden, 0);
    free(hidden);
    return error;
}

/*
 * Goes on to another folder, or to none. First stores the names in the previous one, all at once,
 * because storing each separately takes milliseconds. Filesystems store a file's length with its
 * name.
 */
static int change_folder(char **folder, char *next)
{
    int error = *folder != NULL ? mpiio_folder_sync(*folder) : 0;

    free(*folder);
    *folder = next;
    return error;
}

/*
 * Does everything in one folder, even if its path leads to another one meanwhile. *last is the
 * folder of the previous file.
 */
static int make_file(const char *path, int64_t length, char **last)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int folder = parent != NULL ? open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int error = parent != NULL ? -errno : -ENOMEM;

    if (folder >= 0) {
        error = make_in(folder, slash != NULL ? slash + 1 : path, length);
        close(folder);
    }
    if (error == 0 && (*last == NULL || strcmp(*last, parent) != 0))
        return change_folder(last, parent);
    free(parent);
    return error;
}

static int fail_create(const struct vs_members *members, int64_t member, const char *path,
                       int error, struct vs_error *why)
{
    return vs_members_fail(
        members, error, why, "member %" PRId64 ", %s: cannot be created: %s", member, path,
        error == -EINVAL ? "the view does not say where the whole ends (use \"tiles\", a "
                           "subarray or a darray)"
                         : strerror(-error));
}

/* Returns 1 if the member was missing, 0 if it exists or is not needed. */
static int create_member(const struct vs_members *members, int64_t member, int64_t size,
                         const struct vs_view *view, const struct vs_view *local, char **folder,
                         struct vs_error *why)
{
    char *path = vs_members_file(members, member);
    struct stat st;
    int error = -ENOMEM;

    if (path != NULL && (vs_map_facts(vs_view_map(view))->tile_size == 0 || stat(path, &st) == 0 ||
                         errno != ENOENT)) {
        free(path);
        return 0;
    }
    if (path != NULL)
        error = has_end(view)
                    ? make_file(path, length_of(local, vs_view_positions(view, size)), folder)
                    : -EINVAL;
    if (error != 0)
        fail_create(members, member, path != NULL ? path : "?", error, why);
    free(path);
    return error != 0 ? error : 1;
}

int64_t mpiio_members_create(const struct vs_members *members, const struct vs_assembly *places,
                             struct vs_error *why)
{
    char *folder = NULL;
    int64_t made = 0;
    int error = 0;

    for (int64_t i = 0; i < vs_members_count(members) && error >= 0; i++) {
        struct vs_view *view = NULL, *local = NULL;

        if (vs_assembly_bytes(places, (size_t)i) > 0)
            continue;
        error = vs_members_view(members, i, &view, why);
        if (error == 0)
            error = vs_members_local(members, i, &local, why);
        if (error == 0)
            error = create_member(members, i, vs_assembly_size(places), view, local, &folder, why);
        vs_view_unref(view);
        vs_view_unref(local);
        made += error > 0;
    }
    if (error < 0) {
        free(folder);
        return error;
    }
    error = change_folder(&folder, NULL);
    return error == 0 ? made : vs_members_fail(members, error, why, "%s", strerror(-error));
}
