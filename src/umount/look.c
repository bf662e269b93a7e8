/* SPDX-License-Identifier: MIT */
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "child.h"

extern char **environ;

/* What a child is to do. */
struct look {
    const struct umount_mount *mount;
    int (*look)(int root, const char *name, char *text, size_t *length); /* 0 or an errno */
    const char *name;
};

/* An answer: the error, and the text behind it. */
struct answer {
    int error;
    char text[UMOUNT_TEXT_MAX];
};

static void forget_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        explicit_bzero(*variable, strlen(*variable));
    clearenv();
}

/*
 * Root becomes the user who mounted: others, root too, may not look inside. Nothing is executed
 * from here on, and nobody but root may trace what is not dumpable, whatever fs.suid_dumpable says.
 */
static int become(const struct umount_mount *mount)
{
    uid_t uid = mount->entry.owner;
    gid_t gid = mount->entry.group;

    if (geteuid() == 0 && uid != 0 &&
        (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0))
        return errno;
    /* Other ids have it forgotten. */
    return prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? errno : 0;
}

static int look(void *data, int out)
{
    const struct look *look = data;
    struct answer answer = {.error = 0};
    size_t length = 0;
    int root = umount_mount_open(look->mount);

    forget_environment();
    answer.error = root < 0 ? -root : become(look->mount);
    if (answer.error == 0)
        answer.error = look->look(root, look->name, answer.text, &length);
    length += offsetof(struct answer, text);
    return write(out, &answer, length) == (ssize_t)length ? 0 : 1;
}

static int run(const struct look *wanted, int limit, char *text)
{
    struct umount_child child;
    struct answer answer = {.error = 0};
    size_t length;
    int error = umount_child_start(&child, look, (void *)wanted, wanted->mount->parent);

    if (error != 0)
        return error;
    error = umount_child_finish(&child, (char *)&answer, sizeof(answer) - 1, &length, limit);
    if (error < 0)
        return error;
    if (length < offsetof(struct answer, text))
        return -EIO;
    if (text != NULL)
        strcpy(text, answer.text);
    return answer.error >= 0 && answer.error < 4096 ? -answer.error : -EIO;
}

static int read_stats(int root, const char *name, char *text, size_t *length)
{
    int fd = openat(root, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t got = 1;

    if (fd < 0)
        return errno;
    while (got > 0 && *length < UMOUNT_TEXT_MAX - 1) {
        got = read(fd, text + *length, UMOUNT_TEXT_MAX - 1 - *length);
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
    got = fgetxattr(fd, name, text, UMOUNT_TEXT_MAX - 1);
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

int umount_look_stats(const struct umount_mount *mount, int limit, char *text)
{
    const struct look wanted = {mount, read_stats, ".mpiio/stats.json"};

    *text = '\0';
    return run(&wanted, limit, text);
}

int umount_look_attribute(const struct umount_mount *mount, const char *name, int limit, char *text)
{
    const struct look wanted = {mount, read_attribute, name};

    *text = '\0';
    return run(&wanted, limit, text);
}

int umount_look_sync(const struct umount_mount *mount, int limit)
{
    const struct look wanted = {mount, sync_root, "."};

    return run(&wanted, limit, NULL);
}
