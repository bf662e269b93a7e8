/* SPDX-License-Identifier: MIT */
/*
 * slowfs SOURCE MOUNTPOINT MIB COUNTER: shows the files of a directory, and reads at most MIB MiB a
 * second (0: no limit). The file COUNTER has the number of bytes that it has read, as a number of
 * 64 bits. In tests and in scripts/bench each node has its own slowfs, and thus its own page cache,
 * as with a network filesystem. It exits with the process that started it.
 */
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL

static int source;
static int64_t rate; /* bytes a second */
static _Atomic uint64_t *counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t busy; /* when the device becomes idle, in ns; guarded by lock */

/* Returns the name as openat(2) expects it. */
static const char *below(const char *path)
{
    return path[1] == '\0' ? "." : path + 1;
}

static int outcome(int result)
{
    return result < 0 ? -errno : 0;
}

/* Serves readers one by one. Each takes as long as its bytes need. */
static void take_time(int64_t bytes)
{
    struct timespec now, until;
    int64_t end;

    atomic_fetch_add(counter, (uint64_t)bytes);
    if (rate == 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    end = now.tv_sec * SECOND_NS + now.tv_nsec;
    if (busy < end)
        busy = end;
    busy += bytes * SECOND_NS / rate;
    end = busy;
    pthread_mutex_unlock(&lock);
    until = (struct timespec){.tv_sec = end / SECOND_NS, .tv_nsec = end % SECOND_NS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    config->use_ino = 1;
    config->attr_timeout = config->entry_timeout = 0;
    return NULL;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    if (info != NULL)
        return outcome(fstat((int)info->fh, st));
    return outcome(fstatat(source, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    int fd = openat(source, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;

    (void)offset, (void)info, (void)flags;
    if (folder == NULL)
        return -errno;
    while ((entry = readdir(folder)) != NULL)
        fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(folder);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    int fd = openat(source, below(path), (info->flags & ~O_NOFOLLOW) | O_CLOEXEC);

    info->fh = (uint64_t)fd;
    return outcome(fd);
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    int fd = openat(source, below(path), info->flags | O_CREAT | O_CLOEXEC, mode);

    info->fh = (uint64_t)fd;
    return outcome(fd);
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
    close((int)info->fh);
    return 0;
}

static int slow_read(const char *path, char *buffer, size_t size, off_t offset,
                     struct fuse_file_info *info)
{
    ssize_t got = pread((int)info->fh, buffer, size, offset);

    if (got < 0)
        return -errno;
    take_time(got);
    return (int)got;
}

static int slow_write(const char *path, const char *buffer, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    ssize_t put = pwrite((int)info->fh, buffer, size, offset);

    return put < 0 ? -errno : (int)put;
}

static int slow_fsync(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)path, (void)data_only;
    return outcome(fsync((int)info->fh));
}

static int slow_fallocate(const char *path, int mode, off_t offset, off_t length,
                          struct fuse_file_info *info)
{
    return outcome(fallocate((int)info->fh, mode, offset, length));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    int fd = info != NULL ? (int)info->fh : openat(source, below(path), O_WRONLY | O_CLOEXEC);
    int error = fd < 0 ? -errno : outcome(ftruncate(fd, size));

    if (info == NULL && fd >= 0)
        close(fd);
    return error;
}

static int slow_utimens(const char *path, const struct timespec times[2],
                        struct fuse_file_info *info)
{
    return outcome(utimensat(source, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int slow_unlink(const char *path)
{
    return outcome(unlinkat(source, below(path), 0));
}

static const struct fuse_operations operations = {
    .init = slow_init,
    .getattr = slow_getattr,
    .readdir = slow_readdir,
    .open = slow_open,
    .create = slow_create,
    .release = slow_release,
    .read = slow_read,
    .write = slow_write,
    .fsync = slow_fsync,
    .fallocate = slow_fallocate,
    .truncate = slow_truncate,
    .utimens = slow_utimens,
    .unlink = slow_unlink,
};

int main(int argc, char **argv)
{
    char foreground[] = "-f", option[] = "-odefault_permissions,subtype=slow";
    char *words[] = {argv[0], foreground, option, argv[2], NULL};
    int file;

    if (argc != 5) {
        fprintf(stderr, "usage: slowfs SOURCE MOUNTPOINT MIB COUNTER\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    rate = atoll(argv[3]) << 20;
    source = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    file = open(argv[4], O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (source < 0 || file < 0 || ftruncate(file, sizeof(*counter)) != 0) {
        perror("slowfs");
        return 1;
    }
    counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (counter == MAP_FAILED) {
        perror("slowfs");
        return 1;
    }
    return fuse_main(4, words, &operations, NULL);
}
