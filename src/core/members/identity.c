/* SPDX-License-Identifier: MIT */
#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct timespec time_of(struct statx_timestamp time)
{
    return (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_nsec};
}

static void take_statx(const struct statx *from, struct stat *st,
                       struct mpiio_member_identity *identity)
{
    *st = (struct stat){.st_dev = makedev(from->stx_dev_major, from->stx_dev_minor),
                        .st_ino = from->stx_ino,
                        .st_mode = from->stx_mode,
                        .st_nlink = from->stx_nlink,
                        .st_uid = from->stx_uid,
                        .st_gid = from->stx_gid,
                        .st_rdev = makedev(from->stx_rdev_major, from->stx_rdev_minor),
                        .st_size = (off_t)from->stx_size,
                        .st_blksize = (blksize_t)from->stx_blksize,
                        .st_blocks = (blkcnt_t)from->stx_blocks,
                        .st_atim = time_of(from->stx_atime),
                        .st_mtim = time_of(from->stx_mtime),
                        .st_ctim = time_of(from->stx_ctime)};
    identity->device = st->st_dev;
    identity->inode = st->st_ino;
    identity->owner = st->st_uid;
    identity->birth = 0;
    if ((from->stx_mask & STATX_BTIME) != 0)
        identity->birth =
            (int64_t)((uint64_t)from->stx_btime.tv_sec * 1000000000 + from->stx_btime.tv_nsec);
    identity->known = S_ISREG(from->stx_mode);
}

/* Gets the state and identity of a file. An empty path means the file of the descriptor. */
static int look_at_file(int fd, const char *path, struct stat *st,
                        struct mpiio_member_identity *identity)
{
    struct statx found;

    if (statx(fd, path, *path == '\0' ? AT_EMPTY_PATH : AT_NO_AUTOMOUNT,
              STATX_BASIC_STATS | STATX_BTIME, &found) != 0)
        return -errno;
    take_statx(&found, st, identity);
    return 0;
}

/* Opens the file at path, and gets its state and identity. Returns a descriptor (O_PATH). */
static int open_file(const char *path, struct stat *st, struct mpiio_member_identity *identity)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    int error = fd < 0 ? -errno : look_at_file(fd, "", st, identity);

    if (error == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return error;
}

/*
 * Returns false on overlayfs: the first write to a file of a lower layer replaces it by a copy with
 * a new time of birth.
 */
static bool keeps_birth(int fd)
{
    struct statfs filesystem;

    return fstatfs(fd, &filesystem) == 0 && filesystem.f_type != OVERLAYFS_SUPER_MAGIC;
}

int mpiio_member_identify(const char *path, struct stat *st, struct mpiio_member_identity *identity)
{
    int fd = open_file(path, st, identity);

    if (fd >= 0 && !identity->known) {
        close(fd);
        return -EINVAL;
    }
    if (fd >= 0 && !keeps_birth(fd))
        identity->birth = 0;
    return fd;
}

static bool is_same(const struct mpiio_member_identity *identity,
                    const struct mpiio_member_identity *now)
{
    return identity->known && now->known && identity->device == now->device &&
           identity->inode == now->inode &&
           (identity->birth != 0 ? identity->birth == now->birth : identity->owner == now->owner);
}

int mpiio_member_look(const char *path, const struct mpiio_member_identity *identity,
                      struct stat *st)
{
    struct mpiio_member_identity now = {.known = false};
    int error = look_at_file(AT_FDCWD, path, st, &now);

    return error == 0 && !is_same(identity, &now) ? -ESTALE : error;
}

int mpiio_member_find(const char *path, const struct mpiio_member_identity *identity)
{
    struct mpiio_member_identity now;
    struct stat st;
    int fd = open_file(path, &st, &now);

    if (fd >= 0 && !is_same(identity, &now)) {
        close(fd);
        return -ESTALE;
    }
    return fd;
}

static int compare_identities(const void *left, const void *right)
{
    const struct mpiio_member_identity *a = *(const struct mpiio_member_identity *const *)left;
    const struct mpiio_member_identity *b = *(const struct mpiio_member_identity *const *)right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return a < b ? -1 : a > b; /* by address: all lie in one array, in the order of the members */
}

int mpiio_member_find_twins(const struct mpiio_member_identity *identities, int64_t count,
                            struct mpiio_member_twins *twins)
{
    const struct mpiio_member_identity **sorted = calloc((size_t)count, sizeof(*sorted));
    size_t known = 0;
    int found = 0;

    if (sorted == NULL)
        return -ENOMEM;
    for (int64_t i = 0; i < count; i++)
        if (identities[i].known)
            sorted[known++] = &identities[i];
    qsort(sorted, known, sizeof(*sorted), compare_identities);
    for (size_t i = 1; i < known; i++) {
        const struct mpiio_member_identity *a = sorted[i - 1], *b = sorted[i];

        if (a->device != b->device || a->inode != b->inode ||
            (found && b - identities >= twins->second))
            continue;
        *twins = (struct mpiio_member_twins){.first = a - identities, .second = b - identities};
        found = 1;
    }
    free(sorted);
    return found;
}
