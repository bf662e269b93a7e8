/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/fd_link.h"

/* The most bytes that Linux moves in one call. */
#define MAX_TRANSFER ((size_t)0x7ffff000)

static int check_kind(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? 0 : -EINVAL;
}

/*
 * Sets the coherence. Refuses mappings unless all hosts share the pages: a mapping writes back
 * whole pages, and with them stale bytes that others have overwritten.
 */
static void set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence)
{
    file->coherence = coherence;
    atomic_store(&file->windows.refused, file->kind != NULL || coherence != MPIIO_COHERENCE_LOCAL);
}

static int init(struct mpiio_file *file, int fd, bool writable)
{
    int error;

    file->fd = fd;
    file->exact = -1;
    file->writable = writable;
    file->filesystem =
        file->kind != NULL ? file->kind->filesystem(file->self) : mpiio_filesystem_of(fd);
    error = mpiio_windows_init(&file->windows, fd, writable);
    if (error != 0)
        return error;
    set_coherence(file, file->filesystem->coherence);
    error = mpiio_write_behind_init(&file->write_behind, fd, &file->windows);
    if (error != 0)
        goto windows;
    pthread_mutex_init(&file->freshness.lock, NULL);
    error = -pthread_mutex_init(&file->grow_lock, NULL);
    if (error == 0)
        return 0;
    mpiio_write_behind_destroy(&file->write_behind);
windows:
    mpiio_windows_destroy(&file->windows);
    return error;
}

int mpiio_file_open(const char *path, int flags, struct mpiio_file **file)
{
    struct mpiio_file *new = NULL;
    /* O_NONBLOCK avoids blocking on a FIFO without a writer; regular files ignore it. */
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    int error;

    if (fd < 0)
        return -errno;
    error = check_kind(fd);
    if (error != 0)
        goto out;
    new = calloc(1, sizeof(*new));
    if (new == NULL) {
        error = -ENOMEM;
        goto out;
    }
    error = init(new, fd, (flags & O_ACCMODE) == O_RDWR);
    if (error != 0)
        goto out;
    *file = new;
    return 0;
out:
    free(new);
    close(fd);
    return error;
}

int mpiio_file_of_kind(const struct mpiio_file_kind *kind, void *self, bool writable,
                       struct mpiio_file **file)
{
    struct mpiio_file *new = calloc(1, sizeof(*new));
    int error = -ENOMEM;

    if (new != NULL) {
        new->kind = kind;
        new->self = self;
        error = init(new, -1, writable);
    }
    if (error != 0) {
        free(new);
        kind->close(self);
        return error;
    }
    *file = new;
    return 0;
}

void mpiio_file_close(struct mpiio_file *file)
{
    if (file != NULL) {
        pthread_mutex_destroy(&file->grow_lock);
        pthread_mutex_destroy(&file->freshness.lock);
        mpiio_write_behind_destroy(&file->write_behind);
        mpiio_windows_destroy(&file->windows);
        if (file->exact >= 0)
            close(file->exact);
        if (file->kind != NULL)
            file->kind->close(file->self);
        else
            close(file->fd);
        free(file);
    }
}

int mpiio_file_lock_place(const struct mpiio_file *file, int64_t *base)
{
    *base = file->kind != NULL ? MPIIO_FILE_LOCK_BASE : 0;
    return file->kind != NULL ? file->kind->lock_fd(file->self) : file->fd;
}

int mpiio_file_stat(struct mpiio_file *file, struct stat *st)
{
    off_t end;

    if (file->kind != NULL)
        return file->kind->stat(file->self, st);
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

/* lseek(2) takes a third of fstat(2)'s time. */
int64_t mpiio_file_size(struct mpiio_file *file)
{
    struct stat st;
    int error;

    if (file->kind != NULL)
        return file->kind->size(file->self);
    if (file->filesystem->exact_size) {
        off_t end = lseek(file->fd, 0, SEEK_END);

        return end < 0 ? -errno : end;
    }
    error = mpiio_file_stat(file, &st);
    return error != 0 ? error : st.st_size;
}

int64_t mpiio_file_seek(struct mpiio_file *file, int64_t displacement, int whence)
{
    off_t found;

    if (file->kind != NULL)
        return file->kind->seek(file->self, displacement, whence);
    found = lseek(file->fd, displacement, whence);
    return found < 0 ? -errno : found;
}

/*
 * A buffered write(2) holds the inode's lock from before it moves the file's times until all bytes
 * are copied. lseek(2) for a hole takes that lock shared on ext4, btrfs and tmpfs, and read(2) does
 * on xfs. Near the end of the file both have the least to do. A waiting lseek(2)
 * holds the lock of its descriptor's position, so others use another descriptor.
 */
int mpiio_file_await_writers(struct mpiio_file *file)
{
    int64_t last;
    int fd, error = 0;
    char byte;

    if (file->kind != NULL)
        return file->kind->await_writers(file->self);
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

void mpiio_file_set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence)
{
    if (coherence == MPIIO_COHERENCE_AUTO)
        return;
    if (file->kind != NULL)
        file->kind->set_coherence(file->self, coherence);
    set_coherence(file, coherence);
}

int mpiio_file_refresh(struct mpiio_file *file)
{
    if (mpiio_file_is_coherent(file))
        return 0;
    return file->kind != NULL ? file->kind->refresh(file->self)
                              : mpiio_freshness_renew(&file->freshness, file->fd, file->coherence);
}

int mpiio_file_statfs(struct mpiio_file *file, struct statvfs *st)
{
    if (file->kind != NULL)
        return file->kind->statfs(file->self, st);
    return fstatvfs(file->fd, st) < 0 ? -errno : 0;
}

static int64_t pread_all(int fd, void *buffer, size_t length, int64_t displacement,
                         struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        size_t rest = length - have;
        ssize_t got = pread(fd, (char *)buffer + have, rest < MAX_TRANSFER ? rest : MAX_TRANSFER,
                            displacement + (int64_t)have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        done->store_reads++;
        if (got == 0)
            break;
        done->store_read_bytes += (uint64_t)got;
        have += (size_t)got;
    }
    return (int64_t)have;
}

int64_t mpiio_file_pread(struct mpiio_file *file, void *buffer, size_t length, int64_t displacement,
                         struct mpiio_counters *done)
{
    if (file->kind != NULL)
        return file->kind->pread(file->self, buffer, length, displacement, done);
    return pread_all(file->fd, buffer, length, displacement, done);
}

int64_t mpiio_file_pread_exactly(struct mpiio_file *file, void *buffer, size_t length,
                                 int64_t displacement, struct mpiio_counters *done)
{
    if (file->exact < 0)
        return mpiio_file_pread(file, buffer, length, displacement, done);
    return pread_all(file->exact, buffer, length, displacement, done);
}

void mpiio_file_be_exact(struct mpiio_file *file)
{
    if (file->kind != NULL) {
        file->kind->be_exact(file->self);
        return;
    }
    file->exact = mpiio_fd_reopen(file->fd, O_RDONLY);
    if (file->exact >= 0)
        posix_fadvise(file->exact, 0, 0, POSIX_FADV_RANDOM);
}

bool mpiio_file_read_cached(struct mpiio_file *file, void *buffer, size_t length,
                            int64_t displacement, struct mpiio_counters *done)
{
    struct iovec part = {.iov_base = buffer, .iov_len = length};

    if (preadv2(file->fd, &part, 1, displacement, RWF_NOWAIT) != (ssize_t)length)
        return false;
    done->store_reads++;
    done->store_read_bytes += length;
    return true;
}

int64_t mpiio_file_pwrite(struct mpiio_file *file, const void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        size_t rest = length - have;
        ssize_t put;

        mpiio_file_check(file);
        put = pwrite(file->fd, (const char *)buffer + have,
                     rest < MAX_TRANSFER ? rest : MAX_TRANSFER, displacement + (int64_t)have);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            /* Zero bytes without an error is not a valid result of writing more than 0. */
            int error = put < 0 ? -errno : -EIO;

            return have > 0 ? (int64_t)have : error;
        }
        done->store_writes++;
        done->store_write_bytes += (uint64_t)put;
        have += (size_t)put;
    }
    return (int64_t)have;
}

int mpiio_file_allocate(struct mpiio_file *file, int64_t displacement, int64_t length)
{
    int result;

    if (file->kind != NULL)
        return -EOPNOTSUPP;
    do {
        result = fallocate(file->fd, 0, displacement, length);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

static bool is_unsupported(int error)
{
    return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODEV;
}

/*
 * Without fallocate, writes a zero as the last byte, but only behind the end. A writer that stores
 * this byte between the check and the write would lose it.
 */
static int grow_by_writing(struct mpiio_file *file, int64_t end)
{
    struct mpiio_counters unused = {0};
    int64_t size = mpiio_file_size(file);
    int64_t put;

    if (size < 0 || size >= end)
        return size < 0 ? (int)size : 0;
    put = mpiio_file_pwrite(file, "", 1, end - 1, &unused);
    return put < 0 ? (int)put : 0;
}

/* Avoids ftruncate(2), which would cut off data that others appended since the check. */
int mpiio_file_grow(struct mpiio_file *file, int64_t end)
{
    int error;

    if (file->kind != NULL)
        return end > mpiio_file_size(file) ? -EFBIG : 0;
    error = mpiio_file_allocate(file, end - 1, 1);
    return is_unsupported(error) ? grow_by_writing(file, end) : error;
}

void mpiio_file_wrote(struct mpiio_file *file, int64_t start, int64_t end)
{
    if (file->kind != NULL)
        file->kind->wrote(file->self, start, end);
    else
        mpiio_write_behind_wrote(&file->write_behind, start, end, end - start);
}

int mpiio_file_sync(struct mpiio_file *file, bool data_only)
{
    int result;

    if (file->kind != NULL)
        return file->kind->sync(file->self, data_only);
    mpiio_write_behind_synced(&file->write_behind);
    mpiio_windows_detach_pages(&file->windows, 0, INT64_MAX);
    do {
        result = data_only ? fdatasync(file->fd) : fsync(file->fd);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && errno == EINVAL)
        return 0; /* the filesystem has no device to sync to, and never will */
    return result < 0 ? -errno : 0;
}

int mpiio_file_publish(struct mpiio_file *file)
{
    return mpiio_file_is_coherent(file) ? 0 : mpiio_file_sync(file, true);
}

int mpiio_file_set_times(struct mpiio_file *file, const struct timespec times[2])
{
    if (file->kind != NULL)
        return file->kind->set_times(file->self, times);
    return futimens(file->fd, times) < 0 ? -errno : 0;
}

static void add(atomic_uint_fast64_t *counter, uint64_t value)
{
    if (value != 0)
        atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

void mpiio_file_count(struct mpiio_file *file, const struct mpiio_counters *done)
{
    add(&file->slice_reads, done->slice_reads);
    add(&file->slice_read_bytes, done->slice_read_bytes);
    add(&file->store_reads, done->store_reads);
    add(&file->store_read_bytes, done->store_read_bytes);
    add(&file->store_map_bytes, done->store_map_bytes);
    add(&file->slice_writes, done->slice_writes);
    add(&file->slice_write_bytes, done->slice_write_bytes);
    add(&file->store_writes, done->store_writes);
    add(&file->store_write_bytes, done->store_write_bytes);
    add(&file->store_map_write_bytes, done->store_map_write_bytes);
}

static uint64_t get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void mpiio_file_counters(const struct mpiio_file *file, struct mpiio_counters *counters)
{
    counters->slice_reads = get(&file->slice_reads);
    counters->slice_read_bytes = get(&file->slice_read_bytes);
    counters->store_reads = get(&file->store_reads);
    counters->store_read_bytes = get(&file->store_read_bytes);
    counters->store_map_bytes = get(&file->store_map_bytes);
    counters->slice_writes = get(&file->slice_writes);
    counters->slice_write_bytes = get(&file->slice_write_bytes);
    counters->store_writes = get(&file->store_writes);
    counters->store_write_bytes = get(&file->store_write_bytes);
    counters->store_map_write_bytes = get(&file->store_map_write_bytes);
}

void mpiio_file_check_changes(struct mpiio_file *file, void (*check)(void *argument),
                              void *argument)
{
    if (file->kind != NULL)
        file->kind->check_changes(file->self, check, argument);
    file->check = check;
    file->check_argument = argument;
}
