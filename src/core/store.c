/* SPDX-License-Identifier: MIT */
#include "store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cache/cache.h"

/* Linux moves at most this much in one call. */
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

/* A writer is not to starve where others never stop to write whole elements. */
static int init_elements_lock(struct mpiio_store *store)
{
    pthread_rwlockattr_t attributes;
    int error = pthread_rwlockattr_init(&attributes);

    if (error != 0)
        return -error;
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    error = pthread_rwlock_init(&store->elements_lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return -error;
}

static int init(struct mpiio_store *store, int fd, bool writable)
{
    int error;

    store->fd = fd;
    store->writable = writable;
    error = mpiio_windows_init(&store->windows, fd, writable);
    if (error != 0)
        return error;
    error = mpiio_behind_init(&store->behind, fd, &store->windows);
    if (error != 0)
        goto windows;
    error = mpiio_locks_init(&store->locks, fd, writable);
    if (error != 0)
        goto behind;
    error = init_elements_lock(store);
    if (error != 0)
        goto locks;
    error = -pthread_mutex_init(&store->append_lock, NULL);
    if (error != 0)
        goto elements_lock;
    error = -pthread_mutex_init(&store->grow_lock, NULL);
    if (error == 0)
        return 0;
    pthread_mutex_destroy(&store->append_lock);
elements_lock:
    pthread_rwlock_destroy(&store->elements_lock);
locks:
    mpiio_locks_destroy(&store->locks);
behind:
    mpiio_behind_destroy(&store->behind);
windows:
    mpiio_windows_destroy(&store->windows);
    return error;
}

int mpiio_store_open(const char *path, int flags, struct mpiio_store **store)
{
    struct mpiio_store *new = NULL;
    /* Not to hang on a FIFO that has no writer before its kind is known; files don't care. */
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
    *store = new;
    return 0;
out:
    free(new);
    close(fd);
    return error;
}

void mpiio_store_close(struct mpiio_store *store)
{
    if (store != NULL) {
        pthread_mutex_destroy(&store->grow_lock);
        pthread_mutex_destroy(&store->append_lock);
        pthread_rwlock_destroy(&store->elements_lock);
        mpiio_locks_destroy(&store->locks);
        mpiio_behind_destroy(&store->behind);
        mpiio_windows_destroy(&store->windows);
        close(store->fd);
        free(store);
    }
}

int mpiio_store_stat(struct mpiio_store *store, struct stat *st)
{
    off_t end;

    if (fstat(store->fd, st) < 0)
        return -errno;
    if (S_ISBLK(st->st_mode)) {
        end = lseek(store->fd, 0, SEEK_END);
        if (end < 0)
            return -errno;
        st->st_size = end;
    }
    return 0;
}

int mpiio_store_fd(const struct mpiio_store *store)
{
    return store->fd;
}

int64_t mpiio_store_file_size(struct mpiio_store *store)
{
    struct stat st;
    int error = mpiio_store_stat(store, &st);

    return error != 0 ? error : st.st_size;
}

/* What is not dirty any more when the file's size is looked at is in the file. */
int64_t mpiio_store_size(struct mpiio_store *store)
{
    struct mpiio_back *back = store->back;
    int64_t end = back != NULL ? mpiio_back_end(back) : 0;
    int64_t size = mpiio_store_file_size(store);

    return size < 0 || size > end ? size : end;
}

int64_t mpiio_store_pread(struct mpiio_store *store, void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        size_t rest = length - have;
        ssize_t got =
            pread(store->fd, (char *)buffer + have, rest < MAX_TRANSFER ? rest : MAX_TRANSFER,
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

int64_t mpiio_store_pwrite(struct mpiio_store *store, const void *buffer, size_t length,
                           int64_t displacement, struct mpiio_counters *done)
{
    size_t have = 0;

    while (have < length) {
        size_t rest = length - have;
        ssize_t put;

        mpiio_store_check(store);
        put = pwrite(store->fd, (const char *)buffer + have,
                     rest < MAX_TRANSFER ? rest : MAX_TRANSFER, displacement + (int64_t)have);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            /* Nothing written without an error is no answer that a write of bytes may have. */
            int error = put < 0 ? -errno : -EIO;

            return have > 0 ? (int64_t)have : error;
        }
        done->store_writes++;
        done->store_write_bytes += (uint64_t)put;
        have += (size_t)put;
    }
    return (int64_t)have;
}

int mpiio_store_allocate(struct mpiio_store *store, int64_t displacement, int64_t length)
{
    int result;

    do {
        result = fallocate(store->fd, 0, displacement, length);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : 0;
}

static bool is_unsupported(int error)
{
    return error == -EOPNOTSUPP || error == -ENOSYS || error == -ENODEV;
}

/*
 * Without fallocate the last byte is written as zero, but only behind the end: a writer that
 * stores just that byte between the look and the write would lose it.
 */
static int grow_by_writing(struct mpiio_store *store, int64_t end)
{
    struct mpiio_counters unused = {0};
    int64_t size = mpiio_store_file_size(store);
    int64_t put;

    if (size < 0 || size >= end)
        return size < 0 ? (int)size : 0;
    put = mpiio_store_pwrite(store, "", 1, end - 1, &unused);
    return put < 0 ? (int)put : 0;
}

/* ftruncate(2) would cut what others appended since the size was looked at. */
int mpiio_store_grow(struct mpiio_store *store, int64_t end)
{
    int error = mpiio_store_allocate(store, end - 1, 1);

    return is_unsupported(error) ? grow_by_writing(store, end) : error;
}

void mpiio_store_wrote(struct mpiio_store *store, int64_t start, int64_t end)
{
    mpiio_behind_wrote(&store->behind, start, end, end - start);
}

int mpiio_store_sync(struct mpiio_store *store, bool data_only)
{
    int result;

    mpiio_behind_synced(&store->behind);
    mpiio_windows_detach_pages(&store->windows, 0, INT64_MAX);
    do {
        result = data_only ? fdatasync(store->fd) : fsync(store->fd);
    } while (result < 0 && errno == EINTR);
    if (result < 0 && errno == EINVAL)
        return 0; /* the file's filesystem has nothing to sync to, and never will */
    return result < 0 ? -errno : 0;
}

int mpiio_store_set_times(struct mpiio_store *store, const struct timespec times[2])
{
    return futimens(store->fd, times) < 0 ? -errno : 0;
}

static void add(atomic_uint_fast64_t *counter, uint64_t value)
{
    if (value != 0)
        atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

void mpiio_store_count(struct mpiio_store *store, const struct mpiio_counters *done)
{
    add(&store->slice_reads, done->slice_reads);
    add(&store->slice_read_bytes, done->slice_read_bytes);
    add(&store->store_reads, done->store_reads);
    add(&store->store_read_bytes, done->store_read_bytes);
    add(&store->store_map_bytes, done->store_map_bytes);
    add(&store->slice_writes, done->slice_writes);
    add(&store->slice_write_bytes, done->slice_write_bytes);
    add(&store->store_writes, done->store_writes);
    add(&store->store_write_bytes, done->store_write_bytes);
    add(&store->store_map_write_bytes, done->store_map_write_bytes);
}

static uint64_t get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void mpiio_store_counters(const struct mpiio_store *store, struct mpiio_counters *counters)
{
    counters->slice_reads = get(&store->slice_reads);
    counters->slice_read_bytes = get(&store->slice_read_bytes);
    counters->store_reads = get(&store->store_reads);
    counters->store_read_bytes = get(&store->store_read_bytes);
    counters->store_map_bytes = get(&store->store_map_bytes);
    counters->slice_writes = get(&store->slice_writes);
    counters->slice_write_bytes = get(&store->slice_write_bytes);
    counters->store_writes = get(&store->store_writes);
    counters->store_write_bytes = get(&store->store_write_bytes);
    counters->store_map_write_bytes = get(&store->store_map_write_bytes);
}
