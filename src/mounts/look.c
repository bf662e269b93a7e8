/* SPDX-License-Identifier: MIT */
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

extern char **environ;

/* The task of a child. */
struct look {
    const struct mounts_mount *mount; /* NULL: the child finds the mount at place */
    const char *place;
    int (*look)(int root, const char *name, char *text, size_t *length); /* returns 0 or an errno */
    const char *name;
};

/* An answer: the error, followed by the text. */
struct answer {
    int error;
    char text[MOUNTS_TEXT_MAX];
};

static void forget_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        explicit_bzero(*variable, strlen(*variable));
    clearenv();
}

/*
 * Changes root's ids to the ids of the user who mounted, because FUSE denies access to all others,
 * even to root. From here on nothing is executed. Only root can trace a process that is not
 * dumpable, whatever fs.suid_dumpable is.
 */
static int become_user(const struct mounts_mount *mount)
{
    uid_t uid = mount->entry.owner;
    gid_t gid = mount->entry.group;

    if (geteuid() == 0 && uid != 0 &&
        (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0))
        return errno;
    /* Changing ids resets both attributes, so set them after that. */
    return prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? errno : 0;
}

/* Opens the root of the mount and stores the mount in *mount. Returns a descriptor or a negative
   errno. */
static int open_root(const struct look *look, struct mounts_mount *mount)
{
    int error = 0;

    if (look->mount != NULL)
        *mount = *look->mount;
    else
        error = mounts_find(look->place, mount);
    if (error == 0 && strcmp(mount->entry.type, "fuse.mpiio") != 0)
        error = -ESTALE;
    return error != 0 ? error : mounts_open(mount);
}

static int look_at_mount(void *data, int out)
{
    const struct look *look = data;
    struct answer answer = {.error = 0};
    struct mounts_mount mount;
    size_t length = 0;
    int root = open_root(look, &mount);

    forget_environment();
    answer.error = root < 0 ? -root : become_user(&mount);
    if (answer.error == 0)
        answer.error = look->look(root, look->name, answer.text, &length);
    length += offsetof(struct answer, text);
    return write(out, &answer, length) == (ssize_t)length ? 0 : 1;
}

static int finish_look(struct mounts_child *child, int limit, char *text)
{
    struct answer answer = {.error = 0};
    size_t length;
    int error = mounts_child_finish(child, (char *)&answer, sizeof(answer) - 1, &length, limit);

    if (error < 0)
        return error;
    if (length < offsetof(struct answer, text))
        return -EIO;
    if (text != NULL)
        strcpy(text, answer.text);
    return answer.error >= 0 && answer.error < 4096 ? -answer.error : -EIO;
}

/* Runs a look in a child, which may take limit ms. text may be NULL. */
static int run_look(const struct look *wanted, int limit, char *text)
{
    struct mounts_child child;
    int error = mounts_child_start(&child, look_at_mount, (void *)wanted, wanted->mount->parent);

    if (text != NULL)
        *text = '\0';
    return error != 0 ? error : finish_look(&child, limit, text);
}

/* Opens .mpiio/stats.json, which must be a regular file, without following links. Returns a
   descriptor, or -1 and errno. */
static int open_stats(int root)
{
    int folder = openat(root, ".mpiio", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int fd;

    if (folder < 0)
        return -1;
    fd = openat(folder, "stats.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    errno = EINVAL;
    return -1;
}

static int read_stats(int root, const char *name, char *text, size_t *length)
{
    int fd = open_stats(root);
    ssize_t got = 1;

    (void)name;
    if (fd < 0)
        return errno;
    while (got > 0 && *length < MOUNTS_TEXT_MAX - 1) {
        got = read(fd, text + *length, MOUNTS_TEXT_MAX - 1 - *length);
        if (got > 0)
            *length += (size_t)got;
    }
    return got < 0 ? errno : 0;
}

static int read_attribute(int root, const char *name, char *text, size_t *length)
{
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return errno;
    got = fgetxattr(fd, name, text, MOUNTS_TEXT_MAX - 1);
    if (got < 0)
        return errno;
    *length = (size_t)got;
    return 0;
}

static int sync_root(int root, const char *name, char *text, size_t *length)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)text;
    (void)length;
    return fd < 0 || fsync(fd) != 0 ? errno : 0;
}

int mounts_look_stats(const struct mounts_mount *mount, int limit, char *text)
{
    return run_look(&(struct look){.mount = mount, .look = read_stats}, limit, text);
}

int mounts_look_attribute(const struct mounts_mount *mount, const char *name, int limit, char *text)
{
    return run_look(&(struct look){.mount = mount, .look = read_attribute, .name = name}, limit,
                    text);
}

int mounts_look_sync(const struct mounts_mount *mount, int limit)
{
    return run_look(&(struct look){.mount = mount, .look = sync_root, .name = "."}, limit, NULL);
}

int mounts_look_start(struct mounts_child *child, const char *place)
{
    const struct look wanted = {.place = place, .look = read_stats};

    return mounts_child_start(child, look_at_mount, (void *)&wanted, -1);
}

int mounts_look_take(struct mounts_child *child, char *text)
{
    /*
     * Once the child has exited, the complete answer is in the pipe and can be read without
     * waiting. Before that, the user may have stopped the child half-way.
     */
    *text = '\0';
    return mounts_process_ends_within(child->process, 0) ? finish_look(child, 0, text)
                                                         : -EINPROGRESS;
}
