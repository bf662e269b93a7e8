/* SPDX-License-Identifier: MIT */
/*
 * A filesystem of an unprivileged user that pretends to be a mount of mpiio-fused, to attack
 * programs that look into it:
 *
 *     hostile MOUNTPOINT [WORD[=VALUE]]...
 *
 *   stats=FILE    .mpiio/stats.json has the contents of FILE
 *   endless       .mpiio/stats.json never ends
 *   link=TARGET   .mpiio/stats.json is a symbolic link to TARGET
 *   other         other users have access, which /etc/fuse.conf must allow
 *   value=TEXT    the value of each attribute user.mpiio.* of the root
 *   refuse        the attribute user.mpiio.unmount gives EBUSY instead
 *   hang=CALL     never answers this call: read, fsync or getxattr
 *   leave=TARGET  unmounts itself when stats.json is read; a symbolic link to TARGET stays
 *   log=FILE      logs a line for each of these calls
 *
 * It stays in the foreground, and exits when it is unmounted.
 */
#define FUSE_USE_VERSION 31
#include <fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATS_MAX 65536

extern char **environ;

static struct {
    const char *mountpoint;
    char stats[STATS_MAX];
    size_t length;
    bool endless;
    bool other;
    const char *link;
    const char *value;
    bool refuse;
    const char *hang;
    const char *leave;
    FILE *log;
} hostile;

static void note(const char *call)
{
    if (hostile.log != NULL) {
        fprintf(hostile.log, "%s\n", call);
        fflush(hostile.log);
    }
}

/* Logs a call. Never returns if the call is to hang. */
static void enter(const char *call)
{
    note(call);
    while (hostile.hang != NULL && strcmp(hostile.hang, call) == 0)
        pause();
}

static bool is_stats(const char *path)
{
    return strcmp(path, "/.mpiio/stats.json") == 0;
}

static bool is_folder(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/.mpiio") == 0;
}

static int hostile_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    if (!is_folder(path) && !is_stats(path))
        return -ENOENT;
    st->st_mode = is_folder(path) ? S_IFDIR | 0555 : S_IFREG | 0444;
    if (!is_folder(path) && hostile.link != NULL)
        st->st_mode = S_IFLNK | 0777;
    st->st_nlink = 1;
    st->st_uid = getuid();
    st->st_size = is_folder(path) ? 0 : (off_t)hostile.length;
    return 0;
}

static int hostile_readlink(const char *path, char *target, size_t size)
{
    snprintf(target, size, "%s", hostile.link);
    return 0;
}

static int hostile_open(const char *path, struct fuse_file_info *info)
{
    info->direct_io = 1;
    return is_stats(path) ? 0 : -ENOENT;
}

/* Unmounts the filesystem while a process is looking inside. The name that it knows now leads
   elsewhere. */
static void leave(void)
{
    const char *arguments[] = {"fusermount3", "-uz", "--", hostile.mountpoint, NULL};
    pid_t child;
    int status = posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)arguments, environ);

    if (status == 0)
        waitpid(child, &status, 0);
    if (rmdir(hostile.mountpoint) != 0 || symlink(hostile.leave, hostile.mountpoint) != 0)
        note(strerror(errno));
    else
        note("left");
}

static int hostile_read(const char *path, char *data, size_t size, off_t offset,
                        struct fuse_file_info *info)
{
    size_t left;

    enter("read");
    if (hostile.leave != NULL && offset == 0)
        leave();
    if (hostile.endless) {
        memset(data, ' ', size);
        return (int)size;
    }
    left = (size_t)offset < hostile.length ? hostile.length - (size_t)offset : 0;
    size = size < left ? size : left;
    memcpy(data, hostile.stats + offset, size);
    return (int)size;
}

static int hostile_fsyncdir(const char *path, int datasync, struct fuse_file_info *info)
{
    enter("fsync");
    return 0;
}

static int hostile_getxattr(const char *path, const char *name, char *value, size_t size)
{
    size_t length = hostile.value != NULL ? strlen(hostile.value) : 0;

    if (strncmp(name, "user.mpiio.", strlen("user.mpiio.")) != 0 || hostile.value == NULL)
        return -ENODATA;
    enter("getxattr");
    if (hostile.refuse && strcmp(name, "user.mpiio.unmount") == 0)
        return -EBUSY;
    if (size == 0)
        return (int)length;
    if (size < length)
        return -ERANGE;
    memcpy(value, hostile.value, length);
    return (int)length;
}

static int hostile_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                           struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    fill(buffer, strcmp(path, "/") == 0 ? ".mpiio" : "stats.json", NULL, 0, 0);
    return 0;
}

static const struct fuse_operations operations = {
    .getattr = hostile_getattr,
    .readlink = hostile_readlink,
    .open = hostile_open,
    .read = hostile_read,
    .fsyncdir = hostile_fsyncdir,
    .getxattr = hostile_getxattr,
    .readdir = hostile_readdir,
};

static void load_stats(const char *path)
{
    FILE *in = fopen(path, "r");

    if (in == NULL) {
        perror(path);
        exit(2);
    }
    hostile.length = fread(hostile.stats, 1, sizeof(hostile.stats), in);
    fclose(in);
}

static void take_word(const char *word)
{
    const char *value = strchr(word, '=');

    value = value != NULL ? value + 1 : "";
    if (strncmp(word, "stats=", 6) == 0) {
        load_stats(value);
    } else if (strcmp(word, "endless") == 0) {
        hostile.endless = true;
    } else if (strcmp(word, "other") == 0) {
        hostile.other = true;
    } else if (strncmp(word, "link=", 5) == 0) {
        hostile.link = value;
    } else if (strncmp(word, "value=", 6) == 0) {
        hostile.value = value;
    } else if (strcmp(word, "refuse") == 0) {
        hostile.refuse = true;
    } else if (strncmp(word, "hang=", 5) == 0) {
        hostile.hang = value;
    } else if (strncmp(word, "leave=", 6) == 0) {
        hostile.leave = value;
    } else if (strncmp(word, "log=", 4) == 0) {
        hostile.log = fopen(value, "w");
    } else {
        fprintf(stderr, "hostile: what is %s?\n", word);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    char options[] = "subtype=mpiio,fsname=field.json", open[] = "subtype=mpiio,allow_other";
    char foreground[] = "-f", o[] = "-o";
    char *arguments[] = {argv[0], foreground, o, options, argv[1], NULL};

    if (argc < 2)
        return 2;
    hostile.mountpoint = argv[1];
    for (int i = 2; i < argc; i++)
        take_word(argv[i]);
    if (hostile.other)
        arguments[3] = open;
    return fuse_main(5, arguments, &operations, NULL);
}
