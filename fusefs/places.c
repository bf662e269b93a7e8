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

#include "core/base/complain.h"
#include "fusefs/base/options.h"
#include "mounts/look.h"
#include "viewspec/members/members.h"

/*
 * A check for paths that a mount would hide from its own daemon. The kernel asks the daemon to look
 * up names below the mount point. A daemon that opens such a path waits for itself, and cannot be
 * interrupted.
 */
struct below {
    dev_t device; /* of the folder that is to be the mount point */
    ino_t inode;
    char path[PATH_MAX]; /* a folder that is not below the mount point; empty: none is known yet */
    int folder;          /* that folder, open (O_PATH); -1: none */
};

/* The device number of /dev/fuse. */
#define FUSE_MAJOR 10
#define FUSE_MINOR 229

/* The maximum number of symbolic links that the kernel follows in one lookup. */
#define LINKS_MAX 40

/* A lookup, component by component, as the kernel does it. */
struct walk {
    int folder;          /* the current folder, open (O_PATH); owned */
    int links;           /* number of links followed */
    bool ended;          /* a component could not be looked up */
    char left[PATH_MAX]; /* the remaining components */
};

/*
 * Records the folder at mountpoint, on which nothing is mounted yet. Returns 0 or a negative errno.
 */
static int below_init(struct below *below, const char *mountpoint)
{
    struct statx st;

    *below = (struct below){.folder = -1};
    /*
     * If something is mounted there already, avoid a request to its daemon, which may not answer.
     */
    if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, STATX_INO, &st) != 0)
        return -errno;
    below->device = makedev(st.stx_dev_major, st.stx_dev_minor);
    below->inode = st.stx_ino;
    return 0;
}

static void below_free(struct below *below)
{
    if (below->folder >= 0)
        close(below->folder);
    below->folder = -1;
}

static bool below_is_folder(const struct below *below, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == below->device && st.st_ino == below->inode;
}

static void walk_to(struct walk *walk, int folder)
{
    close(walk->folder);
    walk->folder = folder;
}

/* Removes the next component from the remaining path. Returns false if there is none. */
static bool walk_next(struct walk *walk, char name[NAME_MAX + 1])
{
    size_t skip = strspn(walk->left, "/");
    size_t length = strcspn(walk->left + skip, "/");

    if (length == 0 || length > NAME_MAX)
        return false;
    memcpy(name, walk->left + skip, length);
    name[length] = '\0';
    memmove(walk->left, walk->left + skip + length, strlen(walk->left + skip + length) + 1);
    return true;
}

/* Puts the target of a link before the remaining path. Returns false if the target is unusable. */
static bool walk_follow(struct walk *walk, int link)
{
    char target[PATH_MAX], left[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);

    if (length <= 0 || ++walk->links > LINKS_MAX)
        return false;
    target[length] = '\0';
    memcpy(left, walk->left, sizeof(left));
    if (snprintf(walk->left, sizeof(walk->left), "%s/%s", target, left) >= PATH_MAX)
        return false;
    if (*target == '/')
        walk_to(walk, open("/", O_PATH | O_CLOEXEC));
    return walk->folder >= 0;
}

/* Walks one component. Returns false if it cannot be followed. */
static bool walk_step(struct walk *walk, const char *name)
{
    int fd = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool goes_on = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        walk_to(walk, fd);
        return true;
    }
    goes_on = S_ISLNK(st.st_mode) && walk_follow(walk, fd);
    close(fd);
    return goes_on;
}

/* Walks the remaining components. Returns true if the walk enters the mount point. */
static bool walk_passes(const struct below *below, struct walk *walk)
{
    char name[NAME_MAX + 1];

    while (!walk->ended && !below_is_folder(below, walk->folder) && walk_next(walk, name))
        walk->ended = !walk_step(walk, name);
    return below_is_folder(below, walk->folder);
}

/*
 * Walks to the folder named by the first length bytes of path, and keeps it open for later checks.
 * Returns true if the walk enters the mount point.
 */
static bool below_passes_to(struct below *below, const char *path, size_t length)
{
    struct walk walk = {.folder = open("/", O_PATH | O_CLOEXEC)};
    bool has;

    below_free(below);
    if (snprintf(walk.left, sizeof(walk.left), "%.*s", (int)length, path) >= PATH_MAX)
        walk.ended = true;
    has = walk_passes(below, &walk);
    if (has || walk.ended) {
        close(walk.folder);
        return has;
    }
    below->folder = walk.folder;
    snprintf(below->path, sizeof(below->path), "%.*s", (int)length, path);
    return false;
}

/*
 * Returns true if the lookup of an absolute path enters the mount point: as a component, through a
 * link, or in any bind mount of it. If the path does not exist, the part that does is checked.
 */
static bool below_has(struct below *below, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    struct walk walk = {0};
    bool has = false;

    /* Members usually lie in one folder, so the walk to it is not repeated for each. */
    if (below->folder < 0 || strlen(below->path) != length ||
        strncmp(below->path, path, length) != 0)
        has = below_passes_to(below, path, length);
    if (below->folder < 0)
        return has;
    walk.folder = fcntl(below->folder, F_DUPFD_CLOEXEC, 0);
    snprintf(walk.left, sizeof(walk.left), "%s", path + length);
    has = walk.folder >= 0 && walk_passes(below, &walk);
    if (walk.folder >= 0)
        close(walk.folder);
    return has;
}

static int refuse_below(const struct fs_options *options, const char *what, const char *path)
{
    mpiio_complain(options->name,
                   "%s%s: lies below the mount point, %s, and would be hidden by the mount "
                   "(mount elsewhere)",
                   what, path, options->mountpoint);
    return 1;
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

int fs_places_check(const struct fs_options *options, const struct vs_spec *spec)
{
    const struct vs_members *members = vs_spec_members(spec);
    const char *paths[] = {options->shorthand == NULL ? options->spec : NULL, options->log,
                           members == NULL ? vs_spec_file(spec) : NULL};
    struct below below;
    int status = 0;

    /* A later check reports a mount point that does not exist. */
    if (below_init(&below, options->mountpoint) != 0)
        return 0;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && status == 0; i++)
        status = check_place(options, &below, paths[i]);
    if (status == 0 && members != NULL)
        status = check_members(options, members, &below);
    below_free(&below);
    return status;
}

/* The limit for a daemon to report its state, in ms. */
#define STATE_WAIT 2000

/* The kind of mount that a mount point has. */
enum mounted {
    MOUNTED_NOT, /* no mount, a mount of another program, or one whose daemon has exited */
    MOUNTED,
    MOUNTED_DEGRADED, /* one node of a degraded cluster */
};

/*
 * Returns the state of this program's mount at the place. Takes at most 2 seconds, even if its
 * daemon does not answer. Does not ask the daemon of another user's mount. Not thread-safe. Call it
 * before the process holds a lock that a forked child would need.
 */
static enum mounted mounted_at(const char *place)
{
    char stats[MOUNTS_TEXT_MAX] = "";
    struct mounts_mount mount;
    int error = 0;
    bool ours;

    if (mounts_find(place, &mount) != 0)
        return MOUNTED_NOT;
    ours = strcmp(mount.entry.type, "fuse.mpiio") == 0;
    if (ours && mount.entry.owner == geteuid())
        error = mounts_look_stats(&mount, STATE_WAIT, stats);
    close(mount.parent);
    if (!ours || error == -ENOTCONN || error == -ESTALE)
        return MOUNTED_NOT;
    return strstr(stats, "\"state\": \"degraded\",\n") != NULL ? MOUNTED_DEGRADED : MOUNTED;
}

/* Refuses to mount over another mount, which would hide it and its daemon. */
static int refuse_mounted(const struct fs_options *options)
{
    enum mounted before = mounted_at(options->mountpoint);

    if (before == MOUNTED_NOT)
        return 0;
    mpiio_complain(options->name, "%s: already mounted%s (unmount it first with mpiio-umount)",
                   options->mountpoint, before == MOUNTED_DEGRADED ? ", degraded" : "");
    return 1;
}

/* Checks a descriptor given as the mount point. The caller has opened it, and does the mount. */
static int check_descriptor(const struct fs_options *options, char **mountpoint)
{
    struct stat st;

    if (options->fuse_fd <= STDERR_FILENO || fstat(options->fuse_fd, &st) != 0 ||
        !S_ISCHR(st.st_mode) || st.st_rdev != makedev(FUSE_MAJOR, FUSE_MINOR)) {
        mpiio_complain(options->name,
                       "%s: not an open /dev/fuse (mpiio-containers(7) has an example)",
                       options->mountpoint);
        return 1;
    }
    *mountpoint = strdup(options->mountpoint);
    if (*mountpoint == NULL)
        mpiio_complain(options->name, "out of memory");
    return *mountpoint == NULL;
}

int fs_places_mountpoint(const struct fs_options *options, char **mountpoint)
{
    const char *path = options->mountpoint;
    struct stat st;

    if (options->fuse_fd >= 0)
        return check_descriptor(options, mountpoint);
    if (refuse_mounted(options) != 0)
        return 1;
    *mountpoint = realpath(path, NULL);
    if (*mountpoint == NULL || stat(*mountpoint, &st) != 0) {
        mpiio_complain(options->name, "%s: %s%s", path,
                       errno == ENOTCONN ? "the daemon of this mount has exited" : strerror(errno),
                       errno == ENOTCONN ? " (unmount it first with mpiio-umount)"
                       : errno == ENOENT ? " (create the folder first)"
                                         : "");
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) {
        mpiio_complain(options->name, "%s: %s", path, strerror(ENOTDIR));
        return 1;
    }
    return 0;
}
