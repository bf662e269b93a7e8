/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/fd_link.h"

/* A file with a descriptor: the operations of this kind of file. */

static void close_file(struct mpiio_file *file)
{
    if (file->exact != file->fd)
        close(file->exact);
    close(file->fd);
    free(file);
}

static int get_stat(struct mpiio_file *file, struct stat *st)
{
    off_t end;

    if (fstat(file->fd, st) < 0)
        return -errno;
    if (S_ISBLK(st->st_mode)) {
        end = lseek(file->fd, 0, SEEK_END);
        if (end < 0)
            return -errno;
        st->st_size = end;
    }
    return 0;
}

/* lseek(2) takes a third of the time of fstat(2). */
static int64_t get_size(struct mpiio_source *source)
{
    struct mpiio_file *file = (struct mpiio_file *)source;
    struct stat st;
    int error;

    if (file->filesystem->exact_size) {
        off_t end = lseek(file->fd, 0, SEEK_END);

        return end < 0 ? -errno : end;
    }
    error = get_stat(file, &st);
    return error != 0 ? error : st.st_size;
}

static int64_t seek_file(struct mpiio_source *source, int64_t displacement, int whence)
{
    off_t found = lseek(((struct mpiio_file *)source)->fd, displacement, whence);

    return found < 0 ? -errno : found;
}

/*
 * A buffered write(2) holds the inode's lock from before it sets the file's times until all bytes
 * are copied. lseek(2) with SEEK_HOLE takes that lock shared on ext4, btrfs and tmpfs, and read(2)
 * does on xfs. Both have the least work near the end of the file. A waiting lseek(2) holds the
 * position lock of its open file description, so this function opens its own.
 */
static int await_writers(struct mpiio_file *file)
{
    int64_t last;
    int fd, error = 0;
    char byte;

    if (!file->filesystem->has_inode_lock)
        return 0;
    fd = mpiio_fd_reopen(file->fd, O_RDONLY);
    if (fd < 0)
        return fd;
    last = lseek(fd, 0, SEEK_END);
    last = last > 0 ? last - 1 : 0;
    if ((lseek(fd, last, SEEK_HOLE) < 0 && errno != ENXIO) || pread(fd, &byte, 1, last) < 0)
        error = -errno;
    close(fd);
    return error;
}

static int refresh_file(struct mpiio_file *file)
{
    return mpiio_freshness_renew(&file->freshness, file->fd, file->coherence);
}

static int64_t pread_ahead(struct mpiio_file *file, void *buffer, size_t length,
                           int64_t displacement, struct mpiio_counters *done)
{
    return mpiio_file_pread_all(file->fd, buffer, length, displacement, done);
}

static void be_exact(struct mpiio_file *file)
{
    int fd = mpiio_fd_reopen(file->fd, O_RDONLY);

    if (fd < 0)
        return;
    file->exact = fd;
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
}

static int allocate_space(struct mpiio_file *file, int64_t displacement, int64_t length)
{
    return TEMP_FAILURE_RETRY(fallocate(file->fd, 0, displacement, length)) < 0 ? -errno : 0;
}

static bool is_unsupported(int error)
{
    return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODEV;
}

/*
 * Without fallocate, writes a zero as the last byte, but only after the end. If another writer
 * stores that byte between the check and the write, its byte is lost.
 */
static int grow_by_writing(struct mpiio_file *file, int64_t end)
{
    struct mpiio_counters unused = {0};
    int64_t size = get_size(&file->source);
    int64_t put;

    if (size < 0 || size >= end)
        return size < 0 ? (int)size : 0;
    put = mpiio_file_pwrite(file, "", 1, end - 1, &unused);
    return put < 0 ? (int)put : 0;
}

/* Avoids ftruncate(2), which would cut off data that others have appended since the check. */
static int grow_file(struct mpiio_file *file, int64_t end)
{
    int error = allocate_space(file, end - 1, 1);

    return is_unsupported(error) ? grow_by_writing(file, end) : error;
}

static void note_write(struct mpiio_file *file, int64_t start, int64_t end)
{
    mpiio_write_behind_wrote(file, start, end, end - start);
}

static int sync_file(struct mpiio_file *file, bool data_only)
{
    mpiio_write_behind_synced(file);
    mpiio_windows_detach_pages(&file->windows, 0, INT64_MAX);
    if (TEMP_FAILURE_RETRY(data_only ? fdatasync(file->fd) : fsync(file->fd)) == 0)
        return 0;
    return errno == EINVAL ? 0 : -errno; /* EINVAL: the filesystem has no device to sync to */
}

static int set_times(struct mpiio_file *file, const struct timespec times[2])
{
    return futimens(file->fd, times) < 0 ? -errno : 0;
}

static const struct mpiio_source_ops source_ops = {
    .read_runs = mpiio_read_runs,
    .write_runs = mpiio_write_runs,
    .size = get_size,
    .seek = seek_file,
};

static const struct mpiio_file_ops ops = {
    .close = close_file,
    .stat = get_stat,
    .wrote = note_write,
    .sync = sync_file,
    .set_times = set_times,
    .await_writers = await_writers,
    .refresh = refresh_file,
    .pread = pread_ahead,
    .be_exact = be_exact,
    .write_ranges = mpiio_write_ranges,
    .allocate = allocate_space,
    .grow = grow_file,
};

static int check_kind(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? 0 : -EINVAL;
}

/* Stores the name of a new file on the device. Finds the name by the descriptor, because the path
   that was opened may be a symbolic link. */
static int sync_name(int fd)
{
    char link[MPIIO_FD_LINK_SIZE], name[PATH_MAX];
    ssize_t length;

    mpiio_fd_link(fd, link);
    length = readlink(link, name, sizeof(name) - 1);
    if (length < 0)
        return -errno;
    name[length] = '\0';
    return mpiio_folder_sync(dirname(name));
}

int mpiio_file_open(const char *path, int flags, struct mpiio_file **file)
{
    struct mpiio_file *new;
    /* O_NONBLOCK avoids blocking on a FIFO without a writer; regular files ignore it. */
    int how = flags | O_CLOEXEC | O_NONBLOCK;
    int fd = (flags & O_EXCL) ? -1 : open(path, how & ~O_CREAT);
    bool creates = (flags & O_EXCL) || (fd < 0 && errno == ENOENT && (flags & O_CREAT));
    int error;

    if (creates)
        fd = open(path, how, 0666);
    if (fd < 0)
        return -errno;
    error = check_kind(fd);
    if (error == 0 && creates)
        error = sync_name(fd);
    if (error != 0)
        goto out;
    new = calloc(1, sizeof(*new));
    if (new == NULL) {
        error = -ENOMEM;
        goto out;
    }
    new->source.ops = &source_ops;
    new->ops = &ops;
    new->filesystem = mpiio_filesystem_of(fd);
    new->lock_fd = fd;
    mpiio_file_init(new, fd, (flags & O_ACCMODE) == O_RDWR);
    *file = new;
    return 0;
out:
    close(fd);
    return error;
}
