/* SPDX-License-Identifier: MIT */
#include "below.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Symbolic links that the kernel follows in one lookup. */
#define LINKS_MAX 40

/* A lookup, component by component, as the kernel does it. */
struct walk {
    int folder;          /* the current folder, open (O_PATH) */
    int links;           /* number of links followed */
    bool ended;          /* it stopped before all components were taken: no such folder */
    char left[PATH_MAX]; /* the components that are left */
};

int fs_below_init(struct fs_below *below, const char *mountpoint)
{
    struct statx st;

    *below = (struct fs_below){.folder = -1};
    /* If something is mounted there already, its daemon is not asked: it may not answer. */
    if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, STATX_INO, &st) != 0)
        return -errno;
    below->device = makedev(st.stx_dev_major, st.stx_dev_minor);
    below->inode = st.stx_ino;
    return 0;
}

void fs_below_free(struct fs_below *below)
{
    if (below->folder >= 0)
        close(below->folder);
    below->folder = -1;
}

static bool is_folder(const struct fs_below *below, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == below->device && st.st_ino == below->inode;
}

static void go_to(struct walk *walk, int folder)
{
    close(walk->folder);
    walk->folder = folder;
}

/* Takes the next component of the rest. Returns false if there is none. */
static bool next(struct walk *walk, char name[NAME_MAX + 1])
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

/* Puts the target of a link before the rest. Returns false if it leads nowhere. */
static bool follow(struct walk *walk, int link)
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
        go_to(walk, open("/", O_PATH | O_CLOEXEC));
    return walk->folder >= 0;
}

/* Takes one component. Returns false if the path leads no further. */
static bool step(struct walk *walk, const char *name)
{
    int fd = openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool goes_on = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        go_to(walk, fd);
        return true;
    }
    goes_on = S_ISLNK(st.st_mode) && follow(walk, fd);
    close(fd);
    return goes_on;
}

/* Goes on until nothing is left. Returns true if it has passed through the folder. */
static bool passes(const struct fs_below *below, struct walk *walk)
{
    char name[NAME_MAX + 1];

    while (!walk->ended && !is_folder(below, walk->folder) && next(walk, name))
        walk->ended = !step(walk, name);
    return is_folder(below, walk->folder);
}

/* Goes to the folder that the first length bytes of path name, and keeps it. */
static bool passes_to_folder(struct fs_below *below, const char *path, size_t length)
{
    struct walk walk = {.folder = open("/", O_PATH | O_CLOEXEC)};
    bool has;

    fs_below_free(below);
    if (snprintf(walk.left, sizeof(walk.left), "%.*s", (int)length, path) >= PATH_MAX)
        walk.ended = true;
    has = passes(below, &walk);
    if (has || walk.ended) {
        close(walk.folder);
        return has;
    }
    below->folder = walk.folder;
    snprintf(below->path, sizeof(below->path), "%.*s", (int)length, path);
    return false;
}

bool fs_below_has(struct fs_below *below, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    struct walk walk = {0};
    bool has = false;

    /* Members lie in one folder, as a rule: the walk to it is not repeated for each. */
    if (below->folder < 0 || strlen(below->path) != length ||
        strncmp(below->path, path, length) != 0)
        has = passes_to_folder(below, path, length);
    if (below->folder < 0)
        return has;
    walk.folder = fcntl(below->folder, F_DUPFD_CLOEXEC, 0);
    snprintf(walk.left, sizeof(walk.left), "%s", path + length);
    has = walk.folder >= 0 && passes(below, &walk);
    if (walk.folder >= 0)
        close(walk.folder);
    return has;
}
