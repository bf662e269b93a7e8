/* SPDX-License-Identifier: MIT */
#ifndef MPIIO_FILE_H
#define MPIIO_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "freshness.h"
#include "reader.h"
#include "window.h"
#include "write_behind.h"

/*
 * The operations of a file that is assembled from others (core/members/), in place of system calls
 * on a descriptor. Such a file has a fixed length and is never mapped. self belongs to the
 * assembly. All functions except close are thread-safe. Each has the contract of the function of
 * this header, read_plan.h or write_plan.h that it implements.
 */
struct mpiio_file_kind {
    void (*close)(void *self);
    int (*stat)(void *self, struct stat *st);
    int64_t (*size)(void *self);
    const struct mpiio_filesystem *(*filesystem)(
        void *self);            /* the least coherent one of its files */
    int (*lock_fd)(void *self); /* a descriptor whose locks stand for the whole file */
    int64_t (*seek)(void *self, int64_t displacement, int whence);
    void (*wrote)(void *self, int64_t start, int64_t end);
    int (*sync)(void *self, bool data_only);
    int (*set_times)(void *self, const struct timespec times[2]);
    int (*await_writers)(void *self);
    int (*refresh)(void *self);
    void (*set_coherence)(void *self, enum mpiio_coherence coherence);
    int (*statfs)(void *self, struct statvfs *st);
    int64_t (*pread)(void *self, void *buffer, size_t length, int64_t displacement,
                     struct mpiio_counters *done);
    void (*write_runs)(void *self, struct mpiio_transfer *transfer);
    void (*write_ranges)(void *self, struct mpiio_transfer *transfer);
    /* Sets bytes to how many of a transfer's may be written, from the first on: fewer before a
       hole, with error set to -ENXIO, or after another error. */
    void (*admit)(void *self, struct mpiio_transfer *transfer);
    void (*be_exact)(void *self); /* reads exactly what is requested, without read-ahead */
    void (*check_changes)(void *self, void (*check)(void *argument), void *argument);
};

/*
 * The shared file as an open descriptor, and the state that its readers and writers share: windows,
 * write-behind, and counters. It knows neither slices nor a cache.
 *
 * Functions return 0 (or a count) or a negative errno, and are thread-safe unless stated otherwise.
 */
struct mpiio_file {
    int fd;    /* -1 with a kind */
    int exact; /* another one, for mpiio_file_pread_exactly; negative: there is none */
    const struct mpiio_file_kind *kind; /* NULL: a descriptor */
    void *self;                         /* of the kind's functions */
    bool writable;
    const struct mpiio_filesystem *filesystem;
    enum mpiio_coherence coherence;   /* how it is treated; set before the file is used */
    struct mpiio_freshness freshness; /* used if not coherent, and without a kind */
    struct mpiio_windows windows; /* for writing too where the file is writable; refused where it
                                     is not coherent */
    struct mpiio_write_behind write_behind;
    void (*check)(
        void *argument); /* called before the file is changed (store_fence.h); NULL: nothing is */
    void *check_argument;
    struct mpiio_reader
        *reader;               /* asked before the file is read (reader.h); borrowed; NULL: none */
    pthread_mutex_t grow_lock; /* held while space behind the end is prepared for scattering */
    atomic_uint_fast64_t slice_reads;
    atomic_uint_fast64_t slice_read_bytes;
    atomic_uint_fast64_t store_reads;
    atomic_uint_fast64_t store_read_bytes;
    atomic_uint_fast64_t store_map_bytes;
    atomic_uint_fast64_t slice_writes;
    atomic_uint_fast64_t slice_write_bytes;
    atomic_uint_fast64_t store_writes;
    atomic_uint_fast64_t store_write_bytes;
    atomic_uint_fast64_t store_map_write_bytes;
};

/*
 * Opens the file at path as mpiio_store_open does (store.h). The caller owns the new file.
 * mpiio_file_close accepts NULL; no other call may be in progress then.
 */
int mpiio_file_open(const char *path, int flags, struct mpiio_file **file);
void mpiio_file_close(struct mpiio_file *file);

/*
 * Makes a file of that kind. Takes over self, also if it fails, with -ENOMEM or another negative
 * errno.
 */
int mpiio_file_of_kind(const struct mpiio_file_kind *kind, void *self, bool writable,
                       struct mpiio_file **file);

/* Returns true if writing never extends the file. */
static inline bool mpiio_file_is_fixed(const struct mpiio_file *file)
{
    return file->kind != NULL;
}

/*
 * Returns the descriptor for locks of the file's bytes (file_lock.h), borrowed, or -1. Sets *base
 * to the offset that is added to their displacements. A file of a kind is locked behind all data of
 * one of its files.
 */
#define MPIIO_FILE_LOCK_BASE ((int64_t)1 << 61)
int mpiio_file_lock_place(const struct mpiio_file *file, int64_t *base);

/* Gets the status of the file, like fstat(2). st_size is the device's size for a block device. */
int mpiio_file_stat(struct mpiio_file *file, struct stat *st);

/* Returns the present size in bytes, or a negative errno. */
int64_t mpiio_file_size(struct mpiio_file *file);

/* Finds data or a hole, like lseek(2): returns a displacement or a negative errno. */
int64_t mpiio_file_seek(struct mpiio_file *file, int64_t displacement, int whence);

/*
 * Waits for the calls of write(2) that other programs are in to return, if the filesystem makes
 * readers wait for writers in some way: ext4, xfs, btrfs, tmpfs, and overlays of them. Does not
 * wait for writes with O_DIRECT or stores through mappings. On other filesystems it returns at
 * once. Returns 0 or a negative errno.
 */
int mpiio_file_await_writers(struct mpiio_file *file);

/*
 * Overrides the coherence that the filesystem's type implies, unless coherence is
 * MPIIO_COHERENCE_AUTO. Must be called before the file is used.
 */
void mpiio_file_set_coherence(struct mpiio_file *file, enum mpiio_coherence coherence);

/* Returns true if all users of the file, on all hosts, see the same pages of it. */
static inline bool mpiio_file_is_coherent(const struct mpiio_file *file)
{
    return file->coherence == MPIIO_COHERENCE_LOCAL;
}

/*
 * Makes this host see what others wrote and closed before this call (freshness.h). Does nothing if
 * the file is coherent. Returns 0 or a negative errno.
 */
int mpiio_file_refresh(struct mpiio_file *file);

/*
 * Makes hosts that refresh after this call see what was written before it: a client may delay
 * sending that to the server, also beyond the release of a lock. Does nothing if the file is
 * coherent. Returns 0 or a negative errno.
 */
int mpiio_file_publish(struct mpiio_file *file);

/* fstatvfs(2). */
int mpiio_file_statfs(struct mpiio_file *file, struct statvfs *st);

/*
 * Adds the counts of one call to the counters. Each call counts for itself and adds once, because
 * all threads share the counters.
 */
void mpiio_file_count(struct mpiio_file *file, const struct mpiio_counters *done);

/* Gets a snapshot of the counters. */
void mpiio_file_counters(const struct mpiio_file *file, struct mpiio_counters *counters);

/* Called right before the file is changed. */
static inline void mpiio_file_check(const struct mpiio_file *file)
{
    if (file->check != NULL)
        file->check(file->check_argument);
}

/*
 * Reads all length bytes at displacement, like pread(2). Returns fewer only at the end of the file,
 * or a negative errno. Adds to the calls and bytes in done, the caller's own counters.
 */
int64_t mpiio_file_pread(struct mpiio_file *file, void *buffer, size_t length, int64_t displacement,
                         struct mpiio_counters *done);

/*
 * Like mpiio_file_pread, but after mpiio_file_be_exact the kernel does not read ahead, as the bytes
 * that follow are for other nodes to read. Reads as mpiio_file_pread if there is no descriptor for
 * it.
 */
int64_t mpiio_file_pread_exactly(struct mpiio_file *file, void *buffer, size_t length,
                                 int64_t displacement, struct mpiio_counters *done);
void mpiio_file_be_exact(struct mpiio_file *file);

/*
 * Reads as mpiio_file_pread if all bytes are in the page cache. Otherwise returns false and counts
 * nothing. On a filesystem that cannot tell, no bytes are in the page cache.
 */
bool mpiio_file_read_cached(struct mpiio_file *file, void *buffer, size_t length,
                            int64_t displacement, struct mpiio_counters *done);

/*
 * Writes all length bytes at displacement, like pwrite(2). Returns how many were written: fewer
 * than length after an error; a negative errno if none were. Adds to the calls and bytes in done,
 * the caller's own counters.
 */
int64_t mpiio_file_pwrite(struct mpiio_file *file, const void *buffer, size_t length,
                          int64_t displacement, struct mpiio_counters *done);

/* Sets bytes to how many of a transfer's may be written: all, unless the file is of a kind. */
static inline void mpiio_file_admit(struct mpiio_file *file, struct mpiio_transfer *transfer)
{
    transfer->bytes = transfer->length;
    if (file->kind != NULL)
        file->kind->admit(file->self, transfer);
}

/*
 * Allocates [displacement, displacement + length), length > 0, like fallocate(2) of mode 0. The
 * file then reaches its end at least. Returns 0 or a negative errno; -EOPNOTSUPP for a file of a
 * kind.
 */
int mpiio_file_allocate(struct mpiio_file *file, int64_t displacement, int64_t length);

/*
 * Makes the file reach end (> 0) at least, and never shorter. Data that another writer stores there
 * meanwhile is preserved (see file.c for filesystems without fallocate). Returns 0 or a negative
 * errno; -EFBIG if its length is fixed.
 */
int mpiio_file_grow(struct mpiio_file *file, int64_t end);

/* As mpiio_store_wrote, mpiio_store_sync and mpiio_store_set_times (store.h). */
void mpiio_file_wrote(struct mpiio_file *file, int64_t start, int64_t end);
int mpiio_file_sync(struct mpiio_file *file, bool data_only);
int mpiio_file_set_times(struct mpiio_file *file, const struct timespec times[2]);

/*
 * Sets a function that is called as check(argument) immediately before each system call, or batch
 * of stores through a mapping, that changes the file (store_fence.h). To be called before the file
 * is used.
 */
void mpiio_file_check_changes(struct mpiio_file *file, void (*check)(void *argument),
                              void *argument);

#endif
