/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fusefs/session.h"
#include "mounts/look.h"
#include "viewspec/members/members.h"

/*
 * A check for paths that a mount would hide from its own daemon. The kernel asks the daemon to look
 * up names below the mount point. A daemon that opens such a path waits for itself, and cannot be
 * interrupted.
 */
struct below {
    struct statx mountpoint; /* the folder that is to be the mount point */
    char passed[PATH_MAX];   /* a folder whose lookup does not enter it; empty: none is known yet */
};

/* The device number of /dev/fuse. */
#define FUSE_MAJOR 10
#define FUSE_MINOR 229

/* The maximum number of symbolic links that the kernel follows in one lookup. */
#define LINKS_MAX 40

/*
 * Examines what the first length bytes of a path name, without following a link at their end. Sends
 * no request to a daemon that is mounted there, because it may not answer. Returns false if the
 * lookup fails.
 */
static bool look_at_part(char *path, size_t length, struct statx *st)
{
    char next = path[length];
    int error;

    path[length] = '\0';
    error =
        statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, st);
    path[length] = next;
    return error == 0;
}

/*
 * Replaces the first length bytes of an absolute path, which are a link, by its target. Returns
 * false if the target is unusable.
 */
static bool follow(char path[PATH_MAX], size_t length)
{
    char target[PATH_MAX], rest[PATH_MAX];
    ssize_t size;
    char *from;

    strcpy(rest, path + length);
    path[length] = '\0';
    size = readlink(path, target, sizeof(target) - 1);
    target[size > 0 ? size : 0] = '\0';
    from = *target == '/' ? path : strrchr(path, '/') + 1;
    length = (size_t)(path + PATH_MAX - from);
    return size > 0 && (size_t)snprintf(from, length, "%s%s", target, rest) < length;
}

/*
 * Walks an absolute path like the kernel, component by component and through every link. Starts at
 * the folder that the first length bytes name. Returns true if the walk enters the mount point. A
 * path that exceeds PATH_MAX once its links are replaced is not walked to its end.
 */
static bool below_passes(const struct below *below, const char *path, size_t length)
{
    const struct statx *mountpoint = &below->mountpoint;
    char walked[PATH_MAX];
    struct statx st;
    int links = 0;

    if (snprintf(walked, sizeof(walked), "%s", path) >= PATH_MAX)
        return false;
    while (look_at_part(walked, length, &st)) {
        if (S_ISLNK(st.stx_mode)) {
            if (++links > LINKS_MAX || !follow(walked, length))
                return false;
            length = 1;
            continue;
        }
        if (!S_ISDIR(st.stx_mode))
            return false;
        if (st.stx_ino == mountpoint->stx_ino && st.stx_dev_major == mountpoint->stx_dev_major &&
            st.stx_dev_minor == mountpoint->stx_dev_minor)
            return true;
        if (walked[length] == '\0')
            return false;
        length += strspn(walked + length, "/");
        length += strcspn(walked + length, "/");
    }
    return false;
}

/*
 * Returns true if the lookup of an absolute path enters the mount point: as a component, through a
 * link, or in any bind mount of it. If the path does not exist, the part that does is checked.
 */
static bool below_has(struct below *below, const char *path)
{
    size_t length = (size_t)(strrchr(path, '/') - path) + 1;
    /* Members usually lie in one folder, so the walk to it is not repeated for each. */
    bool known = strlen(below->passed) == length && strncmp(below->passed, path, length) == 0;

    if (below_passes(below, path, known ? length : 1))
        return true;
    snprintf(below->passed, sizeof(below->passed), "%.*s", (int)length, path);
    return false;
}

static int refuse_below(const struct fs_options *options, const char *what, const char *path)
{
    return fs_fail(options, 1,
                   "%s%s: lies below the mount point, %s, and would be hidden by the mount "
                   "(mount elsewhere)",
                   what, path, options->mountpoint);
}

static int check_members(const struct fs_options *options, const struct vs_members *members,
                         struct below *below)
{
    int status = 0;

    for (int64_t i = 0; i < vs_members_count(members) && status == 0; i++) {
        char *path = vs_members_file(members, i);
        char what[40];

        snprintf(what, sizeof(what), "member %lld, ", (long long)i);
        if (path != NULL && below_has(below, path))
            status = refuse_below(options, what, path);
        free(path);
    }
    return status;
}

/*
 * Returns the real path of the file, or of its folder if the file does not exist. Returns NULL if
 * neither exists.
 */
static char *real_path(const char *path)
{
    char *real = realpath(path, NULL), *copy;

    if (real != NULL || errno != ENOENT)
        return real;
    copy = strdup(path);
    if (copy != NULL && asprintf(&real, "%s/.", dirname(copy)) < 0)
        real = NULL;
    free(copy);
    copy = real != NULL ? realpath(real, NULL) : NULL;
    free(real);
    return copy;
}

/*
 * Refuses a path that the mount would hide. The daemon opens the file before it mounts, so it
 * cannot wait for itself, but users could no longer reach the file.
 */
static int check_place(const struct fs_options *options, struct below *below, const char *path)
{
    char *real = path != NULL ? real_path(path) : NULL;
    int status = 0;

    if (real != NULL && below_has(below, real))
        status = refuse_below(options, "", path);
    free(real);
    return status;
}

int fs_places_check(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const struct vs_members *members = vs_spec_members(session->spec);
    const char *paths[] = {options->shorthand == NULL ? options->spec : NULL, options->log,
                           members == NULL ? vs_spec_file(session->spec) : NULL};
    struct below below = {.passed = ""};
    int status = 0;

    /* A later check reports a mount point that does not exist. */
    if (statx(AT_FDCWD, options->mountpoint, AT_STATX_DONT_SYNC, STATX_INO, &below.mountpoint) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && status == 0; i++)
        status = check_place(options, &below, paths[i]);
    if (status == 0 && members != NULL)
        status = check_members(options, members, &below);
    return status;
}

/* The limit for a daemon to report its state, in ms. */
#define STATE_WAIT 2000

/*
 * Refuses to mount over another mount of this program, which would hide it and its daemon. A mount
 * whose daemon has exited is left to the caller. Takes at most 2 seconds, even if a daemon does not
 * answer. Does not ask the daemon of another user's mount. Not thread-safe. Call it before the
 * process holds a lock that a forked child would need.
 */
static int refuse_mounted(const struct fs_options *options)
{
    char stats[MOUNTS_TEXT_MAX] = "";
    struct mounts_mount mount;
    int error = 0;
    bool ours;

    if (mounts_find(options->mountpoint, &mount) != 0)
        return 0;
    ours = strcmp(mount.entry.type, "fuse.mpiio") == 0;
    if (ours && mount.entry.owner == geteuid())
        error = mounts_look_stats(&mount, STATE_WAIT, stats);
    close(mount.parent);
    if (!ours || error == -ENOTCONN || error == -ESTALE)
        return 0;
    return fs_fail(options, 1, "%s: already mounted%s (unmount it first with mpiio-umount)",
                   options->mountpoint,
                   strstr(stats, "\"state\": \"degraded\",\n") != NULL ? ", degraded" : "");
}

/* Checks a descriptor given as the mount point. The caller has opened it, and does the mount. */
static int check_descriptor(const struct fs_options *options, char **mountpoint)
{
    struct stat st;

    if (options->fuse_fd <= STDERR_FILENO || fstat(options->fuse_fd, &st) != 0 ||
        !S_ISCHR(st.st_mode) || st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR))
        return fs_fail(options, 1, "%s: not an open /dev/fuse (mpiio-containers(7) has an example)",
                       options->mountpoint);
    *mountpoint = strdup(options->mountpoint);
    return *mountpoint == NULL ? fs_fail(options, 1, "out of memory") : 0;
}

int fs_places_mountpoint(struct fs_session *session)
{
    const struct fs_options *options = session->options;
    const char *path = options->mountpoint;
    struct stat st;

    if (options->fuse_fd >= 0)
        return check_descriptor(options, &session->mountpoint);
    if (refuse_mounted(options) != 0)
        return 1;
    session->mountpoint = realpath(path, NULL);
    if (session->mountpoint == NULL || stat(session->mountpoint, &st) != 0)
        return fs_fail(options, 1, "%s: %s%s", path,
                       errno == ENOTCONN ? "the daemon of this mount has exited" : strerror(errno),
                       errno == ENOTCONN ? " (unmount it first with mpiio-umount)"
                       : errno == ENOENT ? " (create the folder first)"
                                         : "");
    if (!S_ISDIR(st.st_mode))
        return fs_fail(options, 1, "%s: %s", path, strerror(ENOTDIR));
    return 0;
}
