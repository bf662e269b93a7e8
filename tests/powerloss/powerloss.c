/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 34
#include "powerloss.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * powerloss [--strict] DISK MOUNTPOINT: a filesystem whose power can be cut. Its one folder has the
 * files of the folder DISK. Writes stay in memory until the power is cut. Then the program stores
 * in DISK the files that would survive on a disk, and exits. A file is durable after fsync or
 * fdatasync. Its name is, too, as on ext4, xfs and btrfs. With --strict, the name is durable only
 * after an fsync of the folder, which is all that POSIX promises.
 *
 * Commands on standard input, a line each:
 *   lose AFTER HOW SEED  cuts the power at request AFTER of those that change or sync something, or
 *                        at once if it is 0. HOW: all, none or some changes that are not durable
 *                        are lost.
 *   hold AFTER           prints "held" at that request, and carries it out after the command go.
 *   go                   also cancels a command whose request has not arrived.
 * At the end of the input, the program unmounts and exits, and DISK stays as it was. It prints
 * "ready" once it is mounted, and "lost" after a loss.
 */

#define ROOT_INODE 1
#define CACHED_S   10.0
#define SIZE_MAX_B (256 << 20)

static struct disk disk;
static struct fuse_session *session;
static int folder; /* DISK */
static enum { NOTHING, LOSE, HOLD } plan;
static long countdown;
static enum loss loss;
static unsigned seed;

static void cut_power(void)
{
    disk_lose(&disk, folder, loss, seed);
    puts("lost");
    exit(0);
}

static void hold(void)
{
    char line[80];

    puts("held");
    plan = NOTHING;
    /* The pipe's bytes are read one by one, because poll(2) must see the next command. */
    for (size_t i = 0; i < sizeof(line) && read(STDIN_FILENO, line + i, 1) == 1; i++)
        if (line[i] == '\n')
            return;
}

/* Counts a request that changes or syncs something. Half of the losses come after it. */
static bool comes_due(void)
{
    if (plan == NOTHING || --countdown > 0)
        return false;
    if (plan == HOLD)
        hold();
    else if (seed % 2 == 0)
        cut_power();
    return plan == LOSE;
}

/* Ends a request that was counted. */
static void finish(bool due)
{
    if (due)
        cut_power();
}

static void obey(const char *line)
{
    char how[8];

    if (sscanf(line, "lose %ld %7s %u", &countdown, how, &seed) == 3) {
        plan = LOSE;
        loss = strcmp(how, "all") == 0    ? LOSE_ALL
               : strcmp(how, "none") == 0 ? LOSE_NONE
                                          : LOSE_SOME;
        if (countdown == 0)
            cut_power();
    } else if (sscanf(line, "hold %ld", &countdown) == 1) {
        plan = HOLD;
    } else {
        plan = NOTHING;
    }
}

/* Requests. */

static void stat_root(struct stat *st)
{
    *st = (struct stat){.st_ino = ROOT_INODE, .st_mode = S_IFDIR | 0777, .st_nlink = 2};
}

static void get_attributes(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    struct file *file = disk_file(&disk, inode);
    struct stat root;

    (void)info;
    stat_root(&root);
    if (file != NULL || inode == ROOT_INODE)
        fuse_reply_attr(request, file != NULL ? &file->st : &root, CACHED_S);
    else
        fuse_reply_err(request, ENOENT);
}

static void set_attributes(fuse_req_t request, fuse_ino_t inode, struct stat *st, int set,
                           struct fuse_file_info *info)
{
    struct file *file = disk_file(&disk, inode);

    if (file == NULL || ((set & FUSE_SET_ATTR_SIZE) && st->st_size > SIZE_MAX_B)) {
        fuse_reply_err(request, file == NULL ? ENOENT : EFBIG);
        return;
    }
    if (set & FUSE_SET_ATTR_SIZE) {
        bool due = comes_due();

        file_resize(file, (size_t)st->st_size);
        finish(due);
    }
    if (set & FUSE_SET_ATTR_MODE)
        file->st.st_mode = S_IFREG | (st->st_mode & 07777);
    if (set & FUSE_SET_ATTR_UID)
        file->st.st_uid = st->st_uid;
    if (set & FUSE_SET_ATTR_GID)
        file->st.st_gid = st->st_gid;
    if (set & FUSE_SET_ATTR_MTIME)
        file->st.st_mtim = st->st_mtim;
    get_attributes(request, inode, info);
}

static struct fuse_entry_param entry_of(const struct file *file)
{
    return (struct fuse_entry_param){.ino = file->st.st_ino,
                                     .attr = file->st,
                                     .attr_timeout = CACHED_S,
                                     .entry_timeout = CACHED_S};
}

static struct name *existing(const char *text)
{
    struct name *name = disk_name(&disk, text);

    return name != NULL && name->now != NULL ? name : NULL;
}

static void look_up(fuse_req_t request, fuse_ino_t parent, const char *text)
{
    struct name *name = existing(text);
    struct fuse_entry_param entry = {0};

    (void)parent;
    if (name != NULL)
        entry = entry_of(name->now);
    if (name != NULL)
        fuse_reply_entry(request, &entry);
    else
        fuse_reply_err(request, ENOENT);
}

static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                 struct fuse_file_info *info)
{
    char *buffer = calloc(1, size);
    size_t used = 0, number = 0;

    (void)inode, (void)info;
    for (struct name *name = disk.names; name != NULL && buffer != NULL; name = name->next) {
        size_t more;

        if (name->now == NULL || (off_t)number++ < offset)
            continue;
        more = fuse_add_direntry(request, buffer + used, size - used, name->text, &name->now->st,
                                 (off_t)number);
        if (more > size - used)
            break;
        used += more;
    }
    fuse_reply_buf(request, buffer, used);
    free(buffer);
}

static void create(fuse_req_t request, fuse_ino_t parent, const char *text, mode_t mode,
                   struct fuse_file_info *info)
{
    const struct fuse_ctx *caller = fuse_req_ctx(request);
    struct name *name = existing(text);
    struct fuse_entry_param entry;

    (void)parent;
    if (name == NULL) {
        bool due = comes_due();

        name = disk_link(&disk, text, disk_create(&disk, mode, caller->uid, caller->gid));
        finish(due);
    } else if (info->flags & O_EXCL) {
        fuse_reply_err(request, EEXIST);
        return;
    }
    info->keep_cache = true;
    entry = entry_of(name->now);
    fuse_reply_create(request, &entry, info);
}

static void link_file(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char *text)
{
    struct file *file = disk_file(&disk, inode);
    struct fuse_entry_param entry;
    bool due;

    (void)parent;
    if (file == NULL || existing(text) != NULL) {
        fuse_reply_err(request, file == NULL ? ENOENT : EEXIST);
        return;
    }
    due = comes_due();
    disk_link(&disk, text, file);
    finish(due);
    entry = entry_of(file);
    fuse_reply_entry(request, &entry);
}

static void unlink_file(fuse_req_t request, fuse_ino_t parent, const char *text)
{
    struct name *name = existing(text);
    bool due;

    (void)parent;
    if (name == NULL) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    due = comes_due();
    disk_unlink(&disk, name);
    finish(due);
    fuse_reply_err(request, 0);
}

static void open_file(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *info)
{
    (void)inode;
    info->keep_cache = true;
    fuse_reply_open(request, info);
}

static void read_file(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    struct file *file = disk_file(&disk, inode);
    off_t rest = file->st.st_size - offset;

    (void)info;
    size = rest < 0 ? 0 : (off_t)size < rest ? size : (size_t)rest;
    fuse_reply_buf(request, file->data + offset, size);
}

static void write_file(fuse_req_t request, fuse_ino_t inode, const char *buffer, size_t size,
                       off_t offset, struct fuse_file_info *info)
{
    bool due = comes_due();

    (void)info;
    if (offset + (off_t)size > SIZE_MAX_B) {
        fuse_reply_err(request, EFBIG);
        return;
    }
    file_write(disk_file(&disk, inode), buffer, size, (size_t)offset);
    finish(due);
    fuse_reply_write(request, size);
}

static void allocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset, off_t length,
                     struct fuse_file_info *info)
{
    struct file *file = disk_file(&disk, inode);

    (void)info;
    if (mode == 0 && offset + length > file->st.st_size && offset + length <= SIZE_MAX_B) {
        bool due = comes_due();

        file_resize(file, (size_t)(offset + length));
        finish(due);
    }
    fuse_reply_err(request, mode != 0 ? EOPNOTSUPP : offset + length <= SIZE_MAX_B ? 0 : EFBIG);
}

static void sync_file(fuse_req_t request, fuse_ino_t inode, int datasync,
                      struct fuse_file_info *info)
{
    bool due = comes_due();

    (void)datasync, (void)info;
    disk_sync_file(&disk, disk_file(&disk, inode));
    finish(due);
    fuse_reply_err(request, 0);
}

static void sync_folder(fuse_req_t request, fuse_ino_t inode, int datasync,
                        struct fuse_file_info *info)
{
    bool due = comes_due();

    (void)inode, (void)datasync, (void)info;
    disk_sync_names(&disk);
    finish(due);
    fuse_reply_err(request, 0);
}

static const struct fuse_lowlevel_ops operations = {
    .lookup = look_up,
    .getattr = get_attributes,
    .setattr = set_attributes,
    .readdir = list,
    .create = create,
    .link = link_file,
    .unlink = unlink_file,
    .open = open_file,
    .read = read_file,
    .write = write_file,
    .fallocate = allocate,
    .fsync = sync_file,
    .fsyncdir = sync_folder,
};

/* Reads a line of standard input. Returns false at its end. */
static bool read_command(void)
{
    char line[80];
    size_t length = 0;

    while (length < sizeof(line) - 1 && read(STDIN_FILENO, line + length, 1) == 1)
        if (line[length++] == '\n')
            break;
    line[length] = '\0';
    obey(line);
    return length > 0;
}

static void serve(void)
{
    struct pollfd files[] = {{.fd = fuse_session_fd(session), .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN}};
    struct fuse_buf buffer = {0};

    while (!fuse_session_exited(session)) {
        if (poll(files, 2, -1) < 0 || (files[1].revents != 0 && !read_command()))
            break;
        if (files[0].revents != 0 && fuse_session_receive_buf(session, &buffer) > 0)
            fuse_session_process_buf(session, &buffer);
    }
    free(buffer.mem);
}

int main(int count, char **words)
{
    char option[] = "-oallow_other,default_permissions,fsname=powerloss";
    char *options[] = {words[0], option};
    struct fuse_args arguments = FUSE_ARGS_INIT(2, options);

    disk.strict = count == 4 && strcmp(words[1], "--strict") == 0;
    if (count != 3 + disk.strict)
        errx(2, "usage: powerloss [--strict] DISK MOUNTPOINT");
    setlinebuf(stdout);
    folder = open(words[count - 2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        err(2, "%s", words[count - 2]);
    disk_load(&disk, folder);
    session = fuse_session_new(&arguments, &operations, sizeof(operations), NULL);
    if (session == NULL || fuse_session_mount(session, words[count - 1]) != 0)
        errx(2, "cannot mount");
    puts("ready");
    serve();
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    return 0;
}
