/* SPDX-License-Identifier: MIT */
#include "assembled.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "assembled_private.h"
#include "core/base/fd_link.h"
#include "core/base/filesystem.h"
#include "core/file/acl.h"
#include "viewspec/base/integer.h"

/* Functions of an assembled file that concern single members. */

/* Finding the member that has a byte. */

static void find_in_member(const struct mpiio_member *member, int64_t displacement,
                           struct mpiio_member_place *place)
{
    const struct vs_map *view = vs_view_map(member->view), *local = vs_view_map(member->local);
    int64_t position = vs_map_lower_bound(view, displacement);
    place->member = (int64_t)member->number;
    place->displacement = vs_map_displacement(local, position);
    place->length = VS_FIRST(length, 1, place->length,
                             !mpiio_assembled_is_run(view, position, length + 1) ||
                                 !mpiio_assembled_is_run(local, position, length + 1));
}

/* Shortens place to the bytes before the next byte of a member that takes precedence. */
static int cut_overlap(struct mpiio_assembled *self, int64_t displacement,
                       struct mpiio_member_place *place)
{
    struct vs_assembly_part *parts;
    size_t count;
    int error =
        vs_assembly_parts(self->places, displacement, displacement + place->length, &parts, &count);

    for (size_t i = 0; i < count && error == 0; i++) {
        int64_t member = (int64_t)parts[i].member;
        int64_t begin = vs_assembly_place(self->places, parts[i].member, parts[i].position);

        if (self->overlap == VS_OVERLAP_FIRST ? member < place->member : member > place->member)
            place->length = vs_min(place->length, begin - displacement);
    }
    free(parts);
    return error;
}

static int find_in_part(struct mpiio_assembled *self, const struct vs_assembly_part *part,
                        int64_t displacement, struct mpiio_member_place *place)
{
    struct mpiio_member *member;
    int error = mpiio_member_acquire(self, part->member, &member);

    if (error != 0)
        return error;
    place->length = vs_assembly_bytes(self->places, part->member) - part->position;
    find_in_member(member, displacement, place);
    mpiio_member_release(self, member);
    return self->overlap == VS_OVERLAP_ERROR ? 0 : cut_overlap(self, displacement, place);
}

int mpiio_assembled_find(struct mpiio_file *file, int64_t displacement,
                         struct mpiio_member_place *place)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;
    struct vs_assembly_part *parts;
    size_t count;
    int error = vs_assembly_parts(self->places, displacement, displacement + 1, &parts, &count);

    if (error != 0)
        return error;
    *place = (struct mpiio_member_place){.member = -1};
    if (count == 0)
        place->length = vs_assembly_seek(self->places, displacement, false) - displacement;
    else
        error = find_in_part(self, &parts[self->overlap == VS_OVERLAP_LAST ? count - 1 : 0],
                             displacement, place);
    free(parts);
    return error;
}

/* Holding all members open. */

/* The number of bytes whose read from the page cache takes as long as the system call itself. */
#define WORTH_CALL (2 << 10)

/* Returns the smallest read of the whole whose part of the member is worth a system call. */
static int64_t grain_of(const struct mpiio_member *member, int64_t bytes)
{
    const struct vs_map *map = vs_view_map(member->view);
    const struct vs_map_facts *facts = vs_map_facts(map);

    if (mpiio_assembled_is_run(map, 0, bytes < WORTH_CALL ? bytes : WORTH_CALL) ||
        facts->tile_size / facts->tile_runs >= WORTH_CALL)
        return 0;
    return vs_mul_capped(facts->tile_extent / facts->tile_size, WORTH_CALL);
}

int mpiio_assembled_hold(struct mpiio_file *file, int64_t *grain)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    *grain = 0;
    for (int64_t i = 0; i < vs_members_count(self->members); i++) {
        struct mpiio_member *member;
        int error;

        if (vs_assembly_bytes(self->places, (size_t)i) == 0)
            continue;
        error = mpiio_member_acquire(self, (size_t)i, &member);
        if (error != 0)
            return error;
        *grain = vs_max(*grain, grain_of(member, vs_assembly_bytes(self->places, (size_t)i)));
    }
    return 0;
}

/* Rights. */

/* Returns true if a member has a list beyond its mode. A member that was removed or replaced may
   have any list. */
static bool has_list(struct mpiio_assembled *self, size_t member)
{
    char link[MPIIO_FD_LINK_SIZE];
    int fd = mpiio_assembled_open_path(&self->file, (int64_t)member);
    bool has;

    if (fd < 0)
        return true;
    mpiio_fd_link(fd, link);
    has = mpiio_acl_is_beyond_mode(link);
    close(fd);
    return has;
}

int64_t mpiio_members_find_list(const struct mpiio_file *file)
{
    struct mpiio_assembled *self = (struct mpiio_assembled *)file;

    for (int64_t i = 0; i < vs_members_count(self->members); i++)
        if (vs_assembly_bytes(self->places, (size_t)i) > 0 && has_list(self, (size_t)i))
            return i;
    return -1;
}

/* Creating missing members. */

/* Returns the length of a file that has the first `bytes` positions of local. */
static int64_t length_of(const struct vs_view *local, int64_t bytes)
{
    const struct vs_map_facts *facts = vs_map_facts(vs_view_map(local));
    int64_t tiles, length;

    bytes = vs_min(bytes, facts->limit);
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
        struct vs_view *view, *local;

        if (vs_assembly_bytes(places, (size_t)i) > 0)
            continue;
        error = vs_members_views(members, i, &view, &local, why);
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
