/* SPDX-License-Identifier: MIT */
/*
 * A filesystem of an unprivileged user with one file, rank0, that forges grants of
 * core/base/grant.h:
 *
 *     forger MOUNTPOINT SPEC [WORD=VALUE]...
 *
 *   answer=FILE   answers a request for a grant with the current contents of FILE
 *   relay=SLICE   forwards the request to a slice of a real mount, and returns its answer
 *   file=FILE     grants FILE, as SPEC describes it, with a page that this process made
 *   shown=FILE    the same, but the page is a file of this filesystem: its owner is root, and
 *                 its link in /proc has the name of memory for grants
 *
 * rank0 contains "mine"; writes to it are discarded. The program stays in the foreground, and
 * exits when it is unmounted.
 */
#define FUSE_USE_VERSION 35
#include <fuse.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/grant.h"

#define CONTENTS "mine\n"
/* the target of the link of real memory */
#define MEMORY   "/memfd:" MPIIO_GRANT_MEMORY " (deleted)"
#define TEXT_MAX 65536

static struct {
    const char *mountpoint;
    const char *answer, *relay, *file, *shown;
    char text[TEXT_MAX];
    size_t length;
    struct mpiio_grant_page *page;
    struct mpiio_grant_request where; /* the answer that names the page */
    int holder; /* a pipe from the process that holds the page; 0: the answer was sent */
} forger;

static size_t load(const char *path, void *data, size_t size)
{
    FILE *in = fopen(path, "r");
    size_t length = in != NULL ? fread(data, 1, size, in) : 0;

    if (in != NULL)
        fclose(in);
    return length;
}

/* Returns st_dev without a request to the filesystem, because this process serves it. */
static dev_t device_of(const char *path)
{
    struct statx st = {0};

    statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
    return makedev(st.stx_dev_major, st.stx_dev_minor);
}

/* Makes a page that is correct except for its owner. */
static void make_page(void)
{
    const char *file = forger.file != NULL ? forger.file : forger.shown;
    struct mpiio_grant_mount mount = {.mount = device_of(forger.mountpoint)};
    struct stat st = {0};

    if (forger.page != NULL)
        return;
    stat(file, &st);
    mount.device = st.st_dev;
    mount.inode = st.st_ino;
    snprintf(mount.file, sizeof(mount.file), "%s", file);
    forger.page = mpiio_grant_page_new(&mount, forger.text, forger.length, &forger.where.memory);
    if (forger.page == NULL)
        exit(2);
    forger.where.token = forger.page->token;
    if (forger.file != NULL)
        forger.where.process = getpid();
}

static int grant(struct mpiio_grant_request *request)
{
    struct mpiio_grant grant = {.rights = MPIIO_GRANT_BOTH};
    uint64_t nonce = request->nonce;

    forger.page->words[0] = grant.value = MPIIO_GRANT_BOTH;
    mpiio_grant_put(forger.page, 0, nonce, &grant);
    if (forger.holder != 0) {
        if (read(forger.holder, &forger.where.memory, sizeof(forger.where.memory)) <= 0)
            return -EIO;
        close(forger.holder);
        forger.holder = 0;
    }
    *request = forger.where;
    return 0;
}

static int relay(unsigned command, void *data)
{
    int fd = open(forger.relay, O_RDWR);
    int error = fd < 0 || ioctl(fd, command, data) != 0 ? -errno : 0;

    close(fd);
    return error;
}

static int forger_ioctl(const char *path, unsigned command, void *argument,
                        struct fuse_file_info *info, unsigned flags, void *data)
{
    (void)path, (void)argument, (void)info, (void)flags;
    if (_IOC_TYPE(command) != 'm')
        return -ENOTTY;
    if (forger.answer != NULL) {
        load(forger.answer, data, _IOC_SIZE(command));
        return 0;
    }
    if (forger.relay != NULL)
        return relay(command, data);
    if (command != MPIIO_GRANT_ASK)
        return -ENOTTY;
    make_page();
    return grant(data);
}

static int forger_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    st->st_nlink = 1;
    if (strcmp(path, "/") == 0) {
        st->st_mode = S_IFDIR | 0777;
    } else if (strcmp(path, "/rank0") == 0) {
        st->st_mode = S_IFREG | 0666;
        st->st_size = sizeof(CONTENTS) - 1;
    } else if (strcmp(path, MEMORY) == 0 && forger.shown != NULL) {
        make_page();
        st->st_mode = S_IFREG | 0777;
        st->st_size = (off_t)(sizeof(*forger.page) + forger.length);
    } else {
        return -ENOENT;
    }
    return 0;
}

static int forger_open(const char *path, struct fuse_file_info *info)
{
    (void)path, (void)info;
    return 0;
}

static int forger_truncate(const char *path, off_t length, struct fuse_file_info *info)
{
    (void)path, (void)length, (void)info;
    return 0;
}

static int forger_read(const char *path, char *data, size_t size, off_t offset,
                       struct fuse_file_info *info)
{
    bool is_memory = strcmp(path, MEMORY) == 0;
    size_t length = is_memory ? sizeof(*forger.page) + forger.length : sizeof(CONTENTS) - 1;
    size_t left = (size_t)offset < length ? length - (size_t)offset : 0;

    size = size < left ? size : left;
    memcpy(data, (is_memory ? (const char *)forger.page : CONTENTS) + offset, size);
    return (int)size;
}

static int forger_write(const char *path, const char *data, size_t size, off_t offset,
                        struct fuse_file_info *info)
{
    (void)path, (void)data, (void)offset, (void)info;
    return (int)size;
}

static const struct fuse_operations operations = {
    .getattr = forger_getattr,
    .open = forger_open,
    .truncate = forger_truncate,
    .read = forger_read,
    .write = forger_write,
    .ioctl = forger_ioctl,
};

static void must(int result, const char *what)
{
    if (result != 0) {
        perror(what);
        _exit(2);
    }
}

/*
 * Opens the page's file with the filesystem as the process's root. The link in /proc then looks
 * like that of memory. Keeps the file open.
 */
static void hold_shown(dev_t before, int pipe)
{
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (device_of(forger.mountpoint) == before)
        usleep(10000);
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
    must(mount(forger.mountpoint, forger.mountpoint, NULL, MS_BIND, NULL), "bind");
    must(chdir(forger.mountpoint), "chdir");
    must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root");
    must(umount2(".", MNT_DETACH), "umount2");
    fd = open(MEMORY, O_RDONLY);
    must(fd < 0 || write(pipe, &fd, sizeof(fd)) != sizeof(fd), MEMORY);
    for (;;)
        pause();
}

static void start_holder(void)
{
    dev_t before = device_of(forger.mountpoint);
    int ends[2];

    must(pipe(ends), "pipe");
    forger.where.process = fork();
    if (forger.where.process == 0)
        hold_shown(before, ends[1]);
    close(ends[1]);
    forger.holder = ends[0];
}

static void take_word(const char *word)
{
    static const struct {
        const char *name;
        const char **value;
    } words[] = {{"answer=", &forger.answer},
                 {"relay=", &forger.relay},
                 {"file=", &forger.file},
                 {"shown=", &forger.shown}};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strncmp(word, words[i].name, strlen(words[i].name)) == 0) {
            *words[i].value = word + strlen(words[i].name);
            return;
        }
    }
    fprintf(stderr, "forger: what is %s?\n", word);
    exit(2);
}

int main(int argc, char **argv)
{
    char options[] = "subtype=mpiio,allow_other";
    char foreground[] = "-f", single[] = "-s", o[] = "-o";
    char *arguments[] = {argv[0], foreground, single, o, options, argv[1], NULL};

    if (argc < 4)
        return 2;
    forger.mountpoint = argv[1];
    forger.length = load(argv[2], forger.text, sizeof(forger.text));
    for (int i = 3; i < argc; i++)
        take_word(argv[i]);
    if (forger.shown != NULL)
        start_holder();
    return fuse_main(6, arguments, &operations, NULL);
}
